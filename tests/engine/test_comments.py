"""``# lclint:`` comments: what they silence, and what is said of those that do not work."""

from __future__ import annotations

from typing import Any

import pytest

from lclint import api
from lclint.config import build
from lclint.core.errors import InputError
from lclint.core.finding import FileReport
from lclint.core.options import Options
from lclint.fixes.rounds import fix_text
from lclint.sources import document as documents
from lclint.sources import edits

WRONG = "tensor_parallel_size: 8"
COMMENTS = ("malformed-comment", "unknown-rule-in-comment", "unused-ignore")


def check(text: str, **given: Any) -> FileReport:
    options = Options(**given)
    run, reason = build.from_document(documents.from_text(text, "run.yaml"), options, named=True, tolerant=True)
    assert run is not None, reason
    return api.check_run(run, api.load_rules(options))


def about_comments(report: FileReport) -> list[tuple[str, str, int | None]]:
    return [(f.rule, f.case, f.place.line) for f in report.findings if f.rule in COMMENTS]


@pytest.mark.parametrize(
    "text",
    [
        f"model:\n  context_parallel_size: 2\n  {WRONG}  # lclint: ignore[unknown-key] why\n",
        f"model:\n  context_parallel_size: 2\n  # lclint: ignore[LC010] why\n  # more of it\n\n  {WRONG}\n",
        f"# lclint: ignore[unknown-*] why\nmodel:\n  context_parallel_size: 2\n  {WRONG}\n",
        f"model:  # lclint: ignore[unknown-key/misspelled] why\n  context_parallel_size: 2\n  {WRONG}\n",
        f"model: {{context_parallel_size: 2, {WRONG}}}  # lclint: ignore[unknown-key] why\n",
        f"model:\n  context_parallel_size: 2\n  {WRONG}\n# lclint: ignore-file[unknown-key] why\n",
    ],
)
def test_a_comment_speaks_of_its_key_with_the_block_below(text: str) -> None:
    report = check(text)
    assert report.findings == []
    (why,) = report.suppressions
    assert (why.finding.rule, why.by, why.reason) == ("unknown-key", "comment", "why")
    assert "lclint: ignore" in text.split("\n")[(why.line or 0) - 1]


@pytest.mark.parametrize(
    "text",
    [
        f"model:\n  context_parallel_size: 2  # lclint: ignore[unknown-key]\n  {WRONG}\n",
        f"model:\n  # lclint: ignore[unknown-key]\n  context_parallel_size: 2\n  {WRONG}\n",
        f"# lclint: ignore[unknown-key]\ntrain: {{micro_batch_size: 1}}\nmodel:\n  context_parallel_size: 2\n  {WRONG}\n",
        f"model:\n  context_parallel_size: 2\n  {WRONG}  # lclint: ignore[unknown-key/unknown]\n",
        f"train:\n  micro_batch_size: 1\n  # lclint: ignore[unknown-key]\nmodel:\n  context_parallel_size: 2\n  {WRONG}\n",
    ],
)
def test_a_comment_does_not_speak_of_its_neighbours(text: str) -> None:
    assert [f.rule for f in check(text).findings if f.rule not in COMMENTS] == ["unknown-key"]


def test_an_ignore_at_a_related_place_counts_when_it_names_the_rule() -> None:
    text = "model:\n  num_attention_heads: 6{}\n  tensor_model_parallel_size: 4\n"
    rule = "heads-not-divisible-by-tensor-parallelism"
    finding = next(f for f in check(text.format("")).findings if f.rule == rule)
    assert 2 in {place.line for place in [finding.place, *finding.related]}
    assert rule not in {f.rule for f in check(text.format(f"  # lclint: ignore[{rule}]")).findings}
    assert (finding.place.line != 2) is (rule in {f.rule for f in check(text.format("  # lclint: ignore")).findings})


@pytest.mark.parametrize(
    ("text", "given"),
    [
        # another release, not selected, GPUs not said, a field of the base, a rule about logs, no base for a blanket ignore
        ("model:\n  context_parallel_size: 2  # lclint: ignore[attention-kernel-settings]\n", {"bridge_version": "0.3"}),
        ("model:\n  context_parallel_size: 2  # lclint: ignore[unknown-key]\n", {"select": ["wrong-type"]}),
        ("model:\n  context_parallel_size: 2  # lclint: ignore[unknown-key]\n", {"select": ["unknown-key/unknown"]}),
        ("model: {context_parallel_size: 2}\ntrain:\n  global_batch_size: 7  # lclint: ignore[global-batch-not-divisible]\n", {}),
        ("model:\n  tensor_model_parallel_size: 3  # lclint: ignore[heads-not-divisible-by-tensor-parallelism]\n", {}),
        ("model:\n  context_parallel_size: 2  # lclint: ignore[graph-memory]\n", {}),
        ("model:\n  context_parallel_size: 2  # lclint: ignore\n", {}),
        (f"model:\n  context_parallel_size: 2\n  {WRONG}  # lclint: ignore[unknown-key/unknown]\n", {}),
    ],
)
def test_a_rule_that_was_not_asked_leaves_its_ignore_alone(text: str, given: dict[str, Any]) -> None:
    assert about_comments(check(text, **given)) == []


def test_unused() -> None:
    assert about_comments(check("model:\n  context_parallel_size: 2  # lclint: ignore[unknown-key]\n")) == [("unused-ignore", "unused", 2)]


@pytest.mark.parametrize(("given", "applicability"), [({}, "safe"), ({"sets": ["model.seq_length=8"]}, "unsafe"), ({"recipe": "llama3_8b_pretrain"}, "unsafe")])
def test_taking_an_unused_ignore_out_is_safe_where_only_the_file_decides(given: dict[str, Any], applicability: str) -> None:
    report = check("model:\n  context_parallel_size: 2  # lclint: ignore[unknown-key]\n", **given)
    finding = next(f for f in report.findings if f.rule == "unused-ignore")
    assert [fix.applicability for fix in finding.fixes] == [applicability]


def test_where_the_cluster_decides_another_command_may_need_the_ignore() -> None:
    text = "model:\n  tensor_model_parallel_size: 3  # lclint: ignore[global-batch-not-divisible]\n  pipeline_model_parallel_size: 1\n"
    text += "  context_parallel_size: 1\ntrain: {global_batch_size: 6, micro_batch_size: 1}\n"
    finding = next(f for f in check(text, gpus=6).findings if f.rule == "unused-ignore")
    assert [fix.applicability for fix in finding.fixes] == ["unsafe"]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model:\n  seq_length: 8   # lclint: ignore[unknown-key] x \n  a_b_c_d: 1\n", "model:\n  seq_length: 8\n  a_b_c_d: 1\n"),
        ("model:\n  # lclint: ignore[unknown-key] x\n  seq_length: 8\n", "model:\n  seq_length: 8\n"),
        ("model:\n  seq_length: 8\n  # lclint: ignore-file[unknown-key]", "model:\n  seq_length: 8\n"),
        ("# why # lclint: ignore[unknown-key]\nmodel:\n  seq_length: 8\n", "# why\nmodel:\n  seq_length: 8\n"),
        (
            "model:\n  seq_length: 8  # lclint: ignore[unknown-key] x # lclint: ignore[wrong-type] y\n",
            "model:\n  seq_length: 8\n",
        ),
        ("model:\n  seq_length: é  # lclint: ignore[unknown-key , wrong-type] y\n", "model:\n  seq_length: é  # lclint: ignore[wrong-type] y\n"),
    ],
)
def test_taking_out_is_exact(before: str, after: str, newline: str) -> None:
    before, after = before.replace("\n", newline), after.replace("\n", newline)
    before = before.replace("a_b_c_d: 1", "micro: 1 # lclint: ignore[unknown-key]")
    after = after.replace("a_b_c_d: 1", "micro: 1 # lclint: ignore[unknown-key]")
    text, report, notes = fix_text(before, lambda text: check(text), False)
    assert text == after
    assert notes == []
    assert "unused-ignore" not in {f.rule for f in report.findings}


@pytest.mark.parametrize(
    ("comment", "message", "corrected"),
    [
        ("# lclint: ignroe[unknown-key] x", "did you mean ignore?", "# lclint: ignore[unknown-key] x"),
        ("# lclint: Ignore-File[unknown-key]", "did you mean ignore-file?", "# lclint: ignore-file[unknown-key]"),
        ("# lclint ignore[unknown-key] x", "the colon is missing", "# lclint: ignore[unknown-key] x"),
        ("# lclint: ignore unknown-key", "without brackets it silences every rule", "# lclint: ignore[unknown-key]"),
        ("# lclint: ignore: LC010, agreed", "write ignore[LC010]", None),
        ("# lclint: ignore[unknown-key", "the bracket is not closed", None),
        ("# lclint: ignore[]", "a rule name is missing", None),
        ("# lclint: ignore[a b]", "'a b' is no rule name", None),
        ("# lclint: noqa", "noqa is nothing that lclint knows", None),
        ("# lclint:", "says nothing", None),
        ("# lclint: gpu=h100 gpus", "gpus is no option", None),
    ],
)
def test_what_cannot_be_read_is_a_finding(comment: str, message: str, corrected: str | None) -> None:
    text = f"model:\n  context_parallel_size: 2\n  seq_length: 8192  {comment}\n"
    report = check(text)
    assert about_comments(report) == [("malformed-comment", "comment", 3)]
    (finding,) = report.findings
    assert message in finding.message
    assert finding.severity == "warning"
    assert text.split("\n")[2][(finding.place.column or 0) - 1 :].startswith("# lclint")
    for fix in finding.fixes:
        new = edits.apply(text, [(edit.start, edit.end, edit.text) for edit in fix.edits])
        assert about_comments(check(new)) in ([], [("unused-ignore", "unused", 3)])
        if corrected is not None:
            assert new == text.replace(comment, corrected)
    assert bool(finding.fixes) >= (corrected is not None)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("gpus=x", "is not a number"),
        ("gpu=h1000", "no such GPU: h1000"),
        ("gpuss=8", "did you mean gpus?"),
        ("disable=unknown-key", "knows no option disable"),
    ],
)
def test_an_option_at_fault_is_an_error(option: str, message: str) -> None:
    text = f"# lclint: {option} gpus_per_node=8\nmodel:\n  context_parallel_size: 2\n"
    (finding,) = check(text).findings
    assert (finding.rule, finding.case, finding.severity, finding.place.line) == ("malformed-comment", "option", "error", 1)
    assert finding.message.startswith(option)
    assert message in finding.message
    # where no rule is asked that would say so, the check cannot go on as if it had been read
    with pytest.raises(InputError, match=message.rstrip("?") if "did" not in message else "knows no option"):
        check(text, select=["unknown-key"])


def test_unknown_rules() -> None:
    text = "model:\n  context_parallel_size: 2  # lclint: ignore[{}]\n"
    (finding,) = check(text.format("unkown-key, LC010")).findings[:1]
    assert (finding.case, finding.severity, finding.fixes[0].title) == ("misspelled", "warning", "Write unknown-key")
    (finding,) = check(text.format("house-rule")).findings
    assert (finding.case, finding.severity) == ("unknown", "info")
    (finding,) = check(text.format("unknown-key/mispelled")).findings
    assert "has no case mispelled" in finding.message


def test_comments_about_comments() -> None:
    quiet = "# lclint: ignore-file[unused-ignore] we keep them\nmodel:\n  context_parallel_size: 2  # lclint: ignore[unknown-key]\n"
    report = check(quiet)
    assert report.findings == []
    assert [(why.finding.rule, why.reason) for why in report.suppressions] == [("unused-ignore", "we keep them")]
    # an ignore of everything does not silence what is said about comments
    assert about_comments(check("# lclint: ignore-file\nmodel:\n  context_parallel_size: 2  # lclint: ignroe[x]\n")) == [("malformed-comment", "comment", 3)]
