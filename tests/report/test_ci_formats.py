"""GitHub, GitLab, JUnit and reviewdog: what their own readers make of our output."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import junitparser
import pytest

from lclint.core.finding import Report
from lclint.core.options import Options
from lclint.report import github, gitlab, junit, rdjson

HERE = Path(__file__).parent


class Annotation(NamedTuple):
    """What GitHub's runner makes of a line of output."""

    command: str
    properties: dict[str, str]
    data: str


def unescape(text: str, *more: tuple[str, str]) -> str:
    for escaped, character in (("%0D", "\r"), ("%0A", "\n"), *more, ("%25", "%")):
        text = text.replace(escaped, character)
    return text


def read(line: str) -> Annotation:
    """By the rules of the runner: ``::name key=value,key=value::data`` at the start of a line."""
    assert line.startswith("::")
    head, mark, data = line[2:].partition("::")
    assert mark
    name, _, listed = head.partition(" ")
    assert name in ("error", "warning", "notice")
    properties = {}
    for pair in filter(None, listed.strip().split(",")):
        key, equals, value = pair.partition("=")
        assert equals
        assert value
        properties[key] = unescape(value, ("%3A", ":"), ("%2C", ","))
    return Annotation(name, properties, unescape(data))


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def annotations(odd: Report) -> list[Annotation]:
    return [read(line) for line in github.render(odd, Options()).splitlines()]


def test_github_reads_every_finding(annotations: list[Annotation], odd: Report) -> None:
    assert [found.command for found in annotations] == ["error", "notice", "warning", "error", "error", "error", "warning", "notice", "error", "error", "error"]
    first = annotations[0]
    assert first.properties == {
        "file": odd.files[0].path.replace("\udcff", "\ufffd"),
        "line": "2",
        "col": "17",
        "endLine": "2",
        "endColumn": "22",
        "title": "cuda-graphs-with-variable-length-batches [LC003]",
    }
    assert first.data.startswith("says <b>|`x`|</b> & *this* _that_ @someone #12 http://example.org 50%, ]]> [a](1) {0} ::error::no ##[error]\\x1b[31m\ufffd")
    assert first.data.split("\n")[1:] == [
        "fix [safe]: Say *yes* to `it`: b.v: true",
        "fix [unsafe]: Two places: b.v: true; a: 名𐐀",
    ]


def test_github_takes_columns_of_one_line_only(annotations: list[Annotation]) -> None:
    for found in annotations:
        if "col" in found.properties:
            assert found.properties["line"] == found.properties["endLine"]
            assert int(found.properties["endColumn"]) > int(found.properties["col"])
    assert "col" not in annotations[2].properties
    assert (annotations[2].properties["line"], annotations[2].properties["endLine"]) == ("1", "2")


def test_github_shows_what_is_in_no_file_on_the_run(annotations: list[Annotation]) -> None:
    assert [set(found.properties) for found in annotations[4:9]] == [{"title"}] * 5
    assert annotations[5].data == "is 3 [model.x = 3 (--set)]"


def test_github_hears_of_unreadable_files(annotations: list[Annotation]) -> None:
    assert annotations[9].properties == {"file": "bad\nname.yaml", "title": "cannot be checked"}
    assert annotations[9].data == "is not\\x07 UTF-8 (a|b)"


def test_github_wants_paths_of_the_repository(full: Report, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert read(github.render(full, Options()).splitlines()[0]).properties["file"] == "sub/conf/sft.yaml"


# https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format; GitLab leaves out what is not of this form
GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": {"type": "string", "minLength": 1, "pattern": "^[^\n]+$"},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "additionalProperties": False,
                "properties": {
                    "path": {"type": "string", "minLength": 1, "pattern": "^(?![/.])"},
                    "lines": {
                        "type": "object",
                        "required": ["begin", "end"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}, "end": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}


@pytest.mark.parametrize("which", ["full", "odd"])
def test_gitlab(which: str, request: pytest.FixtureRequest) -> None:
    issues = json.loads(gitlab.render(request.getfixturevalue(which), Options()))
    jsonschema.Draft202012Validator(GITLAB).validate(issues)
    assert len(issues) == len({issue["fingerprint"] for issue in issues}) == (3 if which == "full" else 9)


def test_gitlab_weighs_by_what_happens(odd: Report) -> None:
    odd.files[0].findings[3].impact = "silent"
    assert [issue["severity"] for issue in json.loads(gitlab.render(odd, Options()))][:4] == ["critical", "info", "minor", "major"]


def test_gitlab_wants_paths_of_the_project(full: Report, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path))
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert json.loads(gitlab.render(full, Options()))[0]["location"]["path"] == "sub/conf/sft.yaml"


def test_junit(odd: Report) -> None:
    text = junit.render(odd, Options())
    top = junitparser.JUnitXml.fromstring(text.encode())
    suites = list(top)
    assert [suite.tests for suite in suites] == [4, 1, 4, 1, 1, 1]
    assert [suite.failures for suite in suites] == [3, 1, 3, 0, 0, 0]
    assert [suite.errors for suite in suites] == [0, 0, 0, 0, 1, 1]
    for suite in suites:
        cases = list(suite)
        assert len(cases) == suite.tests
        assert sum(any(isinstance(result, junitparser.Failure) for result in case.result) for case in cases) == suite.failures
        assert sum(any(isinstance(result, junitparser.Error) for result in case.result) for case in cases) == suite.errors
        assert all(case.name and case.classname for case in cases)
    first = next(iter(suites[0]))
    (failure,) = first.result
    assert failure.message.startswith("says <b>|`x`|</b> & *this* _that_ @someone #12 http://example.org 50%, ]]> [a](1) {0} ::error::no")
    assert failure.message.endswith("\ufffd\ufffd𐐀 end")
    assert failure.type == "error"
    assert "fix [safe]: Say *yes* to `it`: b.v: true" in failure.text
    assert (top.tests, top.failures, top.errors) == (12, 7, 2)
    assert not re.search("[\x00-\x08\x0b-\x1f\ufffe\uffff]", text)


def test_junit_of_nothing() -> None:
    assert list(junitparser.JUnitXml.fromstring(junit.render(Report(), Options()).encode())) == []


@pytest.fixture(scope="module")
def rdjson_validator() -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads((HERE / "schemas" / "rdjson.json").read_text(encoding="utf-8")))


def part(data: bytes, span: dict[str, Any]) -> tuple[int, int]:
    """Where in a file's bytes a range of the Reviewdog Diagnostic Format lies."""
    lines = data.split(b"\n")
    start, end = (sum(len(line) + 1 for line in lines[: at["line"] - 1]) + at["column"] - 1 for at in (span["start"], span["end"]))
    return start, end


@pytest.mark.parametrize("which", ["full", "odd"])
def test_rdjson(which: str, request: pytest.FixtureRequest, rdjson_validator: jsonschema.Draft7Validator) -> None:
    result = json.loads(rdjson.render(request.getfixturevalue(which), Options()))
    rdjson_validator.validate(result)
    assert len(result["diagnostics"]) == (3 if which == "full" else 9)


def test_rdjson_counts_bytes(odd: Report) -> None:
    file = odd.files[0]
    data = (file.mark + (file.text or "")).encode()
    diagnostics = json.loads(rdjson.render(odd, Options()))["diagnostics"]
    start, end = part(data, diagnostics[0]["location"]["range"])
    assert data[start:end] == b"false"
    start, end = part(data, diagnostics[2]["location"]["range"])
    assert data[start:end].decode() == "'é𐐀' # x\r\nb:"
    (suggestion,) = diagnostics[0]["suggestions"]
    start, end = part(data, suggestion["range"])
    assert data[:start] + suggestion["text"].encode() + data[end:] == data.replace(b"false", b"true")


def test_rdjson_offers_a_whole_fix_or_none(odd: Report) -> None:
    file = odd.files[0]
    fix = file.findings[0].fixes[1]
    fix.applicability = "safe"
    file.findings[0].fixes = [fix]
    (first, *_) = json.loads(rdjson.render(odd, Options()))["diagnostics"]
    assert "suggestions" not in first  # it changes lines that the finding is not on
    place = file.findings[0].place
    place.line, place.column, place.end_line, place.end_column = 1, 1, 3, 5
    (first, *_) = json.loads(rdjson.render(odd, Options()))["diagnostics"]
    data = (file.mark + (file.text or "")).encode()
    start, end = part(data, first["suggestions"][0]["range"])
    expected = (file.text or "").replace("true", "no").replace("false", "true").replace("'é𐐀'", "'名𐐀'")
    assert (data[:start] + first["suggestions"][0]["text"].encode() + data[end:]).decode() == file.mark + expected


def test_rdjson_names_what_is_in_no_file(odd: Report) -> None:
    diagnostics = json.loads(rdjson.render(odd, Options()))["diagnostics"]
    assert [found["location"]["path"] for found in diagnostics[4:6]] == ["<stdin>", "<command line>"]
    assert "range" not in diagnostics[5]["location"]
