"""Hand-made findings that hold everything a report has to show."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lclint.core.errors import InputError
from lclint.core.finding import Edit, FileReport, Finding, Fix, Place, Report, Suppressed, Undecided

TEXT = """\
model:
  cuda_graph_impl: local
  recompute_modules: [mlp, core_attn]
dataset:
  enable_offline_packing: true
\tpad_to_max_length: false   # 日本語
env_vars: {名前: "値", x: 1}
"""


def _place(at: str, line: int, needle: str, path: str = "conf/sft.yaml") -> Place:
    column = TEXT.split("\n")[line - 1].index(needle) + 1
    return Place(at=at, path=path, line=line, column=column, end_line=line, end_column=column + len(needle))


def _finding(**changes: object) -> Finding:
    values: dict[str, object] = {
        "rule": "cuda-graphs-with-variable-length-batches",
        "code": "LC003",
        "case": "packed-without-padding",
        "severity": "error",
        "impact": "crash",
        "message": "Bridge refuses packed data under local graphs unless every pack is padded to 4096 tokens",
        "reason": "A captured graph replays the shapes that it was captured with, so every batch has to have the same ones.",
        "place": _place("dataset.pad_to_max_length", 6, "false"),
        "docs": "rules/cuda-graphs-with-variable-length-batches",
    }
    return Finding(**{**values, **changes})


@pytest.fixture
def place() -> Callable[..., Place]:
    """Make a place from a field, a line of the sample and the text that stands there."""
    return _place


@pytest.fixture
def finding() -> Callable[..., Finding]:
    """Make a finding about the sample that differs from the usual one in the given attributes."""
    return _finding


@pytest.fixture
def one() -> Callable[..., Report]:
    """Make a report about the sample with the given findings."""

    def make(*findings: Finding, **changes: object) -> Report:
        file = {"path": "conf/sft.yaml", "kind": "override", "bridge_version": "0.6", "findings": list(findings), "text": TEXT}
        return Report(files=[FileReport(**{**file, **changes})])

    return make


@pytest.fixture
def full() -> Report:
    """Two files with one finding of each kind that the text and the JSON have to tell apart."""
    start = TEXT.index("false")
    pad = Fix(
        name="pad",
        title="Pad packs to the full length",
        applicability="safe",
        set={"dataset.pad_to_max_length": True},
        edits=[Edit(path="conf/sft.yaml", start=start, end=start + 5, text="true")],
    )
    off = Fix(
        name="graphs-off",
        title="Turn CUDA graphs off",
        applicability="unsafe",
        set={"model.cuda_graph_impl": "none", "optimizer.lr": float("inf")},
        remove=["model.cuda_graph_scope"],
        edits=[Edit(path="conf/sft.yaml", start=0, end=0, text="")],
    )
    by_hand = Fix(
        name="export",
        title="Set the variable in the launch script",
        applicability="display-only",
        env={"CUDA_DEVICE_MAX_CONNECTIONS": "1"},
        action="Add it to the launch script, or give --env",
    )
    on_option = Place(at="model.tensor_model_parallel_size", origin="set")
    findings = [
        _finding(fixes=[pad, off], related=[_place("model.cuda_graph_impl", 2, "local")]),
        _finding(
            rule="tensor-parallel-size-divides-attention-heads",
            code="LC012",
            case="heads",
            severity="warning",
            impact="oom",
            message="3 does not divide 32",
            reason="",
            place=on_option,
            related=[Place(at="model.num_attention_heads", origin="base", path="base.yaml")],
            fixes=[by_hand],
        ),
        _finding(
            rule="recompute-module-without-effect",
            code="LC020",
            case="module",
            severity="info",
            impact="advice",
            message="recomputing mlp gives nothing here",
            place=_place("model.recompute_modules[0]", 3, "mlp"),
            fixes=[
                Fix(
                    title="Drop the module",
                    applicability="unsafe",
                    lists=[
                        ("discard", "model.recompute_modules", "mlp"),
                        ("replace", "model.recompute_modules", ("core_attn", "mla_up_proj")),
                    ],
                    rename={"model.old": "model.new"},
                    edits=[Edit(path="conf/sft.yaml", start=0, end=0, text="")],
                )
            ],
        ),
    ]
    return Report(
        files=[
            FileReport(
                path="conf/sft.yaml",
                kind="override",
                bridge_version="0.6",
                gpu="h100",
                gpus=32,
                findings=findings,
                undecided=[
                    Undecided(rule="fits-in-memory", case="peak", severity="error", impact="oom", needs=["--gpu", "--gpus"]),
                    Undecided(rule="layout", case="dp", severity="error", impact="crash", needs=["--gpus"]),
                ],
                suppressions=[Suppressed(finding=findings[0], by="comment", line=9, reason="measured: faster")],
                text=TEXT,
            ),
            FileReport(
                path="run_config.yaml",
                kind="dump",
                bridge_version="0.6",
                undecided=[Undecided(rule="layout", case="dp", severity="error", impact="crash", needs=["--gpus"])],
                text="",
            ),
        ],
        skipped={"ci/deploy.yaml": "not a Megatron config", "docs/x.yaml": "not a Megatron config", "empty.yaml": "empty"},
    )


# what a report must survive: marks, astral characters, Windows line ends, tabs, what would be markup or a command somewhere
ODD_NAME = "conf/a b,c:d%20;[é]|`x`\n::error::\udcff.yaml"
ODD_TEXT = "\ta: 'é𐐀' # x\r\nb: {k: '𐐀名', v: false}\r\n\tc: true\r\n"
ODD_MESSAGE = "says <b>|`x`|</b> & *this* _that_ @someone #12 http://example.org 50%, ]]> [a](1) {0}\n::error::no\r\n##[error]\x1b[31m\udc80\ufffe𐐀 end"


def odd_place(needle: str, line: int, **changes: object) -> Place:
    column = ODD_TEXT.split("\n")[line - 1].index(needle) + 1
    values = {"at": "b.v", "path": ODD_NAME, "line": line, "column": column, "end_line": line, "end_column": column + len(needle)}
    return Place(**{**values, **changes})


@pytest.fixture
def odd() -> Report:
    """A report with everything that can break an output: names, texts, places in no file, files that could not be read."""
    at = ODD_TEXT.index("false")
    safe = Fix(title="Say *yes*\nto `it`", applicability="safe", set={"b.v": True}, edits=[Edit(path=ODD_NAME, start=at, end=at + 5, text="true")])
    two = Fix(
        title="Two places",
        applicability="unsafe",
        set={"b.v": True, "a": "名𐐀"},
        edits=[
            Edit(path=ODD_NAME, start=at, end=at + 5, text="true"),
            Edit(path=ODD_NAME, start=ODD_TEXT.index("'é"), end=ODD_TEXT.index(" #"), text="'名𐐀'"),
            Edit(path=ODD_NAME, start=ODD_TEXT.index("true"), end=ODD_TEXT.index("true") + 4, text="no"),
        ],
    )
    findings = [
        _finding(message=ODD_MESSAGE, place=odd_place("false", 2), fixes=[safe, two], related=[odd_place("'é𐐀'", 1, at="a")]),
        _finding(message=ODD_MESSAGE, place=odd_place("false", 2), severity="info", impact="advice"),
        _finding(place=odd_place("'é𐐀'", 1, at="a", end_line=2, end_column=3), severity="warning", impact="slow", url="https://example.org/#x"),
        _finding(place=Place(at="file", path=ODD_NAME)),
    ]
    elsewhere = [
        _finding(place=Place(at="model.x", origin="set", value=3), message="is 3"),
        _finding(place=Place(at="env.A,B", origin="env", value="1"), severity="warning"),
        _finding(place=Place(at="model.y", origin="recipe"), severity="info"),
        _finding(place=Place(at="model.z", origin="default", value=None), rule="other"),
    ]
    piped = _finding(place=odd_place("false", 2, path="<stdin>"), fixes=[safe])
    return Report(
        files=[
            FileReport(path=ODD_NAME, kind="override", bridge_version="0.6", findings=findings, text=ODD_TEXT, mark="\ufeff"),
            FileReport(path="<stdin>", kind="override", bridge_version="0.6", findings=[piped], text=ODD_TEXT),
            FileReport(path="<command line>", kind="overrides", bridge_version="0.6", findings=elsewhere, recipe="llama"),
            FileReport(path="clean.yaml", kind="override", bridge_version="0.6", text="a: 1\n"),
        ],
        errors=[InputError("is not\x07 UTF-8", "bad\nname.yaml", hint="a|b"), InputError("is empty", None)],
    )
