"""Rules over configs: what fires, where it points, what could not be decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., Any]

DUMP = """\
_target_: megatron.bridge.training.config.ConfigContainer
model:
  _target_: megatron.bridge.models.gpt_provider.GPTModelProvider
  num_layers: 8
  recompute_granularity: null
"""


def found(report: Any) -> list[tuple[str, str, int | None]]:
    return [(finding.case, finding.at, finding.place.line) for finding in report.findings]


def test_a_case_that_holds(ruleset: Make, report_of: Make) -> None:
    rules = ruleset({"cases": [{"when": "model.num_layers > 3", "message": "{model.num_layers} layers"}]})
    report = report_of(rules, "model:\n  num_layers: 8\n  moe_router_topk: 2\n")
    assert found(report) == [("case-0", "model.num_layers", 2)]
    (finding,) = report.findings
    assert (finding.rule, finding.code, finding.message, finding.severity, finding.impact) == ("rule-0", "TT000", "8 layers", "error", "crash")
    assert (finding.place.column, finding.place.end_column, finding.place.origin) == (15, 16, "file")
    assert finding.reason == "A reason that is long enough for the schema of rule files."
    assert found(report_of(rules, "model:\n  num_layers: 3\n  moe_router_topk: 2\n")) == []


CASES = [{"when": "model.num_layers > 1"}, {"when": "model.num_layers > 2"}, {"when": "model.num_layers > 99"}]


@pytest.mark.parametrize(("report", "expected"), [("first", ["case-0"]), ("all", ["case-0", "case-1"])])
def test_first_or_every_case(ruleset: Make, report_of: Make, report: str, expected: list[str]) -> None:
    rules = ruleset({"report": report, "cases": CASES})
    assert [case for case, _, _ in found(report_of(rules, "model: {num_layers: 8, moe_router_topk: 2}"))] == expected


@pytest.mark.parametrize(
    ("where", "text", "expected", "undecided"),
    [
        (True, "num_layers: 8", 1, []),
        (False, "num_layers: 8", 0, []),
        ("model.context_parallel_size > 1", "num_layers: 8, context_parallel_size: 2", 1, []),
        ("model.context_parallel_size > 1", "num_layers: 8, context_parallel_size: 1", 0, []),
        ("model.context_parallel_size > 1", "num_layers: 8", 0, [["model.context_parallel_size"]]),
        ("model.context_parallel_size > 1", "num_layers: 2", 0, []),
        ("model.context_parallel_size > cluster.gpus", "num_layers: 8, context_parallel_size: 2", 0, [["--gpus"]]),
        ("env.NCCL_X == '1'", "num_layers: 8", 0, [["env.NCCL_X"]]),
        ("gpu.memory_gib > 1 and te.version == '2'", "num_layers: 8", 0, [["--gpu", "--te-version"]]),
    ],
)
def test_where(ruleset: Make, report_of: Make, where: Any, text: str, expected: int, undecided: list[list[str]]) -> None:
    rules = ruleset({"where": where, "cases": [{"when": "model.num_layers > 3"}]})
    report = report_of(rules, f"model: {{{text}, moe_router_topk: 2}}")
    assert len(report.findings) == expected
    assert [entry.needs for entry in report.undecided] == undecided


def test_not_applicable_is_neither_found_nor_undecided(ruleset: Make, report_of: Make) -> None:
    rules = ruleset({"cases": [{"when": "model.recompute_num_layers > 1"}]}, {"cases": [{"when": "model.recompute_granularity > 1"}]})
    report = report_of(rules, DUMP)
    assert (report.findings, report.undecided) == ([], [])


@pytest.mark.parametrize(
    ("releases", "expected"),
    [(None, (1, 0, 0)), ("any", (1, 1, 1)), ("at_least(bridge.release, '0.5')", (1, 1, 0)), ("bridge.release == '0.3'", (0, 0, 1))],
)
def test_releases(ruleset: Make, report_of: Make, releases: str | None, expected: tuple[int, ...]) -> None:
    rule: dict[str, Any] = {"cases": [{"when": "model.num_layers > 3"}]}
    rules = ruleset(rule if releases is None else rule | {"releases": releases})
    text = "model: {num_layers: 8, moe_router_topk: 2}"
    versions = ("0.6.2", "0.5.1", "0.3")
    assert tuple(len(report_of(rules, text, bridge_version=version).findings) for version in versions) == expected
    assert len(report_of(rules, text).findings) == expected[0]


EACH = {
    "each": "model.recompute_modules",
    "cases": [{"when": "startswith(item, 'm')", "at": "model.recompute_modules[{index}]", "message": "{item} at {index}"}],
}


def test_each_element(ruleset: Make, report_of: Make) -> None:
    text = "model:\n  recompute_granularity: selective\n  recompute_modules:\n  - mlp\n  - core_attn\n  - moe\n"
    report = report_of(ruleset(EACH), text)
    assert found(report) == [("case-0", "model.recompute_modules[0]", 4), ("case-0", "model.recompute_modules[2]", 6)]
    assert [finding.message for finding in report.findings] == ["mlp at 0", "moe at 2"]


@pytest.mark.parametrize("value", ["mlp", "null", "3", "{a: 1}", "[]", "[1, null, true]"])
def test_each_over_something_else(ruleset: Make, report_of: Make, value: str) -> None:
    report = report_of(ruleset(EACH), f"model: {{recompute_granularity: selective, recompute_modules: {value}}}")
    assert found(report) == []


def test_each_over_something_unknown(ruleset: Make, report_of: Make) -> None:
    case: Any = EACH["cases"][0]
    rules = ruleset({**EACH, "where": "model.recompute_granularity == 'selective'", "cases": [case, {**case, "impact": "slow"}]})
    report = report_of(rules, "model: {recompute_granularity: selective, moe_router_topk: 2}")
    assert [(entry.case, entry.needs) for entry in report.undecided] == [(f"case-{n}", ["model.recompute_modules"]) for n in (0, 1)]
    report = report_of(rules, "model: {recompute_granularity: selective, recompute_modules: [mlp, '${oc.env:NOWHERE}']}")
    assert [entry.needs for entry in report.undecided] == [["model.recompute_modules"]] * 2
    assert len(report.findings) == 1


def test_each_over_records(ruleset: Make, report_of: Make) -> None:
    case = {"when": "item.key == 'tp' and item.nothing is not null or item.index is null", "at": "{item.path}#key", "message": "x"}
    rules = ruleset({"each": "keys.unknown", "cases": [case, {**case, "when": True, "message": "{item.key} {item.suggestion}"}]})
    report = report_of(rules, "model:\n  tp: 2\n  moe_router_topk: 2\n")
    assert [(f.case, f.at, f.message, f.place.line, f.place.column) for f in report.findings] == [("case-1", "model.tp", "tp tensor_model_parallel_size", 2, 3)]
    assert report.undecided == []


def test_prefixes(ruleset: Make, report_of: Make) -> None:
    """``model.x`` is what Bridge makes of it, ``written.model.x`` what stands there, ``user.model.x`` what a person wrote."""
    rules = ruleset(
        {"cases": [{"when": "written.model.sequence_parallel and not model.sequence_parallel"}]},
        {"cases": [{"when": "user.model.sequence_parallel"}]},
    )
    text = "tensor_model_parallel_size: 1, sequence_parallel: true"
    assert [f.rule for f in report_of(rules, f"model: {{{text}}}").findings] == ["rule-0", "rule-1"]
    dump = DUMP.replace("num_layers: 8", "sequence_parallel: true\n  tensor_model_parallel_size: 1")
    assert [f.rule for f in report_of(rules, dump).findings] == ["rule-0"]
    assert [f.rule for f in report_of(rules, dump, sets=["model.sequence_parallel=true"]).findings] == ["rule-0", "rule-1"]
    assert [f.rule for f in report_of(rules, "model: {num_layers: 8, moe_router_topk: 2}", base=dump).findings] == ["rule-0"]


def test_rules_see_what_a_preset_gives(ruleset: Make, report_of: Make) -> None:
    """Nobody wrote ``model.bf16``, yet it is known."""
    rules = ruleset({"cases": [{"when": "model.bf16", "at": "model.bf16"}]})
    assert len(report_of(rules, "mixed_precision: bf16_mixed\nmodel: {moe_router_topk: 2}").findings) == 1


def test_rules_about_versions_alone(ruleset: Make, report_of: Make) -> None:
    rules = ruleset({"cases": [{"when": "below(te.version, '2.0')", "at": "file"}]})
    report = report_of(rules, "model: {num_layers: 8, moe_router_topk: 2}", te_version="1.9")
    assert found(report) == [("case-0", "file", 1)]


def test_places(ruleset: Make, report_of: Make) -> None:
    at = ["train.global_batch_size", "model.num_layers", "model.seq_length"]
    rules = ruleset({"cases": [{"when": "model.num_layers > 3", "at": at}]})
    text = "train: {micro_batch_size: 1}\nmodel: {num_layers: 8}"
    (finding,) = report_of(rules, text).findings
    assert finding.at == "model.num_layers"
    assert [(place.at, place.origin) for place in finding.related] == [("train.global_batch_size", "default"), ("model.seq_length", "default")]
    (finding,) = report_of(rules, text, sets=["model.seq_length=64"]).findings
    assert (finding.at, finding.place.origin, finding.place.line) == ("model.seq_length", "set", None)


def test_findings_stand_in_the_order_of_the_file(ruleset: Make, report_of: Make) -> None:
    fields = ["model.seq_length", "train.micro_batch_size", "model.num_layers", "file", "model.hidden_size"]
    rules = ruleset(*({"cases": [{"when": "model.num_layers > 3", "at": field}]} for field in fields))
    report = report_of(rules, "train: {micro_batch_size: 1}\nmodel:\n  num_layers: 8\n  seq_length: 64\n")
    assert [f.at for f in report.findings] == ["model.hidden_size", "file", "train.micro_batch_size", "model.num_layers", "model.seq_length"]


@pytest.mark.parametrize(
    ("comment", "line", "left"),
    [
        ("# lclint: ignore[rule-0] because", 3, ["rule-1"]),
        ("# lclint: ignore[TT000]", 3, ["rule-1"]),
        ("# lclint: ignore[rule-0/case-0]", 3, ["rule-1"]),
        ("# lclint: ignore[rule-0/case-1]", 3, ["rule-0", "rule-1"]),
        ("# lclint: ignore", 3, []),
        ("# lclint: ignore[rule-0]", 4, ["rule-0", "rule-1"]),
        ("# lclint: ignore-file[rule-0, rule-1]", 1, []),
        ("# lclint: ignore[rule-1]", 2, ["rule-0"]),
    ],
)
def test_suppression(ruleset: Make, report_of: Make, comment: str, line: int, left: list[str]) -> None:
    rules = ruleset(*({"cases": [{"when": "model.num_layers > 3"}]} for _ in range(2)))
    lines = ["# a comment", "model:", "  num_layers: 8", "  moe_router_topk: 2"]
    if line in (1, 2):
        lines.insert(line - 1, comment)
    else:
        lines[line - 1] += f"  {comment}"
    report = report_of(rules, "\n".join(lines))
    assert [f.rule for f in report.findings] == left
    assert report.suppressed == 2 - len(left)
