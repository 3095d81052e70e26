"""The text report: what people see."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from syrupy.assertion import SnapshotAssertion

from lclint.core.finding import Finding, Fix, Place, Report
from lclint.core.options import Options
from lclint.report.screen import columns
from lclint.report.text import TextReport, changes, literal, outcome

OPTIONS = Options(sets=["model.tensor_model_parallel_size=3"], base="base.yaml")


def test_report(full: Report, snapshot: SnapshotAssertion) -> None:
    assert TextReport(OPTIONS).render(full) == snapshot


def test_verbose(full: Report, snapshot: SnapshotAssertion) -> None:
    assert TextReport(OPTIONS, verbose=True).render(full) == snapshot


def test_quiet_ends_with_the_last_finding(full: Report) -> None:
    assert "checked" not in TextReport(OPTIONS, quiet=True).render(full)


def test_colour_adds_nothing_but_colour(full: Report) -> None:
    coloured = TextReport(OPTIONS, colour=True, verbose=True).render(full)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == TextReport(OPTIONS, verbose=True).render(full)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_prose_and_source_lines_keep_to_the_width(width: int, full: Report) -> None:
    lines = TextReport(OPTIONS, width=width).render(full).splitlines()[:-1]
    assert [line for line in lines if line.startswith("  ") and columns(line) > width] == []


def test_the_reason_of_a_rule_is_told_once(finding: Callable[..., Finding], one: Callable[..., Report]) -> None:
    text = TextReport(Options()).render(one(finding(), finding(message="again")))
    assert text.count("why: ") == 1


def test_lines_that_end_in_a_lone_carriage_return(finding: Callable[..., Finding], one: Callable[..., Report]) -> None:
    report = one(finding(place=Place(at="b", path="run.yaml", line=2, column=4, end_line=2, end_column=5)))
    report.files[0].text, report.files[0].path = "a: 1\rb: 2\rc: 3\r", "run.yaml"
    assert "  2 | b: 2\n    |    ^ b\n" in TextReport(Options()).render(report)


def test_clean(one: Callable[..., Report]) -> None:
    assert TextReport(Options()).render(one()) == "1 file checked: no findings\n"


def test_nothing_checked() -> None:
    report = Report(skipped={"a.yaml": "not a Megatron config"})
    assert TextReport(Options()).render(report).startswith("0 files checked: no findings; 1 file skipped ")


def test_long_line_is_cut_around_the_value(finding: Callable[..., Finding], one: Callable[..., Report]) -> None:
    text = "x: [" + "1, " * 100 + "BAD" + ", 2" * 100 + "]"
    column = text.index("BAD") + 1
    where = Place(at="x[100]", path="conf/sft.yaml", line=1, column=column, end_line=1, end_column=column + 3)
    rows = TextReport(Options()).render(one(finding(place=where, reason=""), text=text)).splitlines()
    source, marks = next((rows[i], rows[i + 1]) for i in range(len(rows)) if "BAD" in rows[i])
    assert columns(source) <= 80
    assert marks.index("^^^") == source.index("BAD")


@pytest.mark.parametrize(
    ("line", "needle"),
    [("\tkey: bad", "bad"), ("名前: bad", "bad"), ("e\u0301: bad # x", "bad"), ("a: [é, 'ü', bad]", "bad"), ("🚀: bad", "bad")],
)
def test_caret_stands_under_the_value(line: str, needle: str, finding: Callable[..., Finding], one: Callable[..., Report]) -> None:
    column = line.index(needle) + 1
    where = Place(at="x", path="conf/sft.yaml", line=1, column=column, end_line=1, end_column=column + len(needle))
    rows = TextReport(Options()).render(one(finding(place=where), text=line)).splitlines()
    source, marks = next((rows[i], rows[i + 1]) for i in range(len(rows)) if needle in rows[i] and "|" in rows[i])
    assert columns(source[: source.index(needle)]) == marks.index("^")
    assert "\t" not in source


def test_values_over_several_lines_are_marked_on_the_first(finding: Callable[..., Finding], one: Callable[..., Report]) -> None:
    where = Place(at="model", path="conf/sft.yaml", line=1, column=1, end_line=3, end_column=1)
    assert "    | ^^^^^^ model" in TextReport(Options()).render(one(finding(place=where)))


def test_control_characters_cannot_reach_the_terminal(finding: Callable[..., Finding], one: Callable[..., Report]) -> None:
    hostile = "\x1b]0;owned\x07\u202e\x9b31m"
    where = Place(at="x" + hostile, path="conf/sft.yaml", line=1, column=1, end_line=1, end_column=2)
    report = one(
        finding(message=hostile, reason=hostile, place=where, fixes=[Fix(title=hostile, applicability="safe", set={hostile: hostile})]),
        text=f"a: {hostile}",
        path=f"conf/{hostile}.yaml",
    )
    report.skipped = {hostile: "not a Megatron config"}
    text = TextReport(Options(), verbose=True).render(report)
    assert not set(text) & set("\x1b\x07\u202e\x9b")


@pytest.mark.parametrize("line", [1, 99])
def test_places_outside_the_text_do_not_break_the_report(line: int, finding: Callable[..., Finding], one: Callable[..., Report]) -> None:
    where = Place(at="file", path="conf/sft.yaml", line=line, column=500, end_line=line, end_column=501)
    assert f"conf/sft.yaml:{line}:500" in TextReport(Options()).render(one(finding(place=where), text=""))


@pytest.mark.parametrize(
    ("option", "at", "under"),
    [
        ("model.x=3", "model.x", "3"),
        ("++model.x=3", "model.x", "3"),
        ("model={x: 3}", "model.x", "{x: 3}"),
        ("~model.x", "model.x", "~model.x"),
        ("model.list=[1,2]", "model.list[1]", "[1,2]"),
    ],
)
def test_an_option_is_shown_with_a_caret(option: str, at: str, under: str, finding: Callable[..., Finding], one: Callable[..., Report]) -> None:
    report = one(finding(place=Place(at=at, origin="set")))
    rows = TextReport(Options(sets=[option])).render(report).splitlines()
    shown = rows.index(f"    --set {option}")
    assert rows[shown + 1].index("^") == rows[shown].index(under)
    assert rows[shown + 1].count("^") == len(under)


def test_the_last_of_two_options_for_a_key_is_shown(finding: Callable[..., Finding], one: Callable[..., Report]) -> None:
    report = one(finding(place=Place(at="model.x", origin="set")))
    text = TextReport(Options(sets=["model.x=3", "model.x=5"])).render(report)
    assert "--set model.x=5" in text
    assert "--set model.x=3" not in text


def test_a_variable_and_a_default_are_named(finding: Callable[..., Finding], one: Callable[..., Report]) -> None:
    place = Place(at="env.NVTE_FUSED_ATTN", origin="env")
    report = one(finding(place=place, related=[Place(at="model.seq_length", origin="default")]))
    text = TextReport(Options(env={"NVTE_FUSED_ATTN": "0"})).render(report)
    assert "    --env NVTE_FUSED_ATTN=0\n                          ^" in text
    assert "see model.seq_length (Bridge's default)" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (1e-5, "1e-05"),
        ("bf16", "bf16"),
        ("", '""'),
        ([1, [False]], "[1, [false]]"),
        ({"a": None}, "{a: null}"),
    ],
)
def test_literal(value: object, text: str) -> None:
    assert literal(value) == text


def test_a_fix_says_each_change_once() -> None:
    fix = Fix(
        title="",
        applicability="safe",
        rename={"model.old": "model.new"},
        set={"model.new": 1, "model.names": ["b"], "model.other": 2},
        remove=["model.old", "model.gone"],
    )
    fix.lists = [("replace", "model.names", ("a", "b"))]
    assert changes(fix) == ["model.names: [b]", "model.other: 2", "remove model.gone", "rename model.old to model.new"]


def test_an_error_says_when_it_strikes(finding: Callable[..., Finding]) -> None:
    assert outcome(finding(impact="crash", strikes="start-up")) == "crash at start-up"
    assert outcome(finding(impact="advice", strikes="model-build")) == "fails at model build"
    assert outcome(finding(impact="advice", strikes="model-build", severity="warning")) == "advice"
    assert outcome(finding(impact="silent", strikes="training")) == "silent"
