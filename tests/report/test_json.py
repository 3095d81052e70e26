"""The JSON report keeps to its schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

from lclint.core.finding import Finding, Fix, Place, Report
from lclint.report import json_report


@pytest.fixture
def schema(checkout: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((checkout / "schemas" / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(loaded)
    return loaded


def test_report(full: Report, schema: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    data = json.loads(json_report.render(full))
    jsonschema.Draft202012Validator(schema).validate(data)
    assert json.dumps(data, indent=1, ensure_ascii=False) == snapshot


def test_empty_report(schema: dict[str, Any]) -> None:
    data = json.loads(json_report.render(Report()))
    jsonschema.Draft202012Validator(schema).validate(data)
    assert data == {"schema": 1, "files": [], "summary": {"error": 0, "warning": 0, "info": 0}}


def test_one_line_of_ascii(full: Report) -> None:
    text = json_report.render(full)
    assert text.isascii()
    assert text.count("\n") == 1


def test_values_that_json_lacks(finding: Callable[..., Finding], one: Callable[..., Report]) -> None:
    values = {"a": float("nan"), "b": [float("-inf")], "c": {1: b"x"}, "d": 10**400}
    report = one(finding(fixes=[Fix(title="t", applicability="safe", set=values)]))
    made = json.loads(json_report.render(report), parse_constant=lambda name: pytest.fail(name))
    assert made["files"][0]["findings"][0]["fixes"][0]["set"] == {"a": "nan", "b": ["-inf"], "c": {"1": "b'x'"}, "d": 10**400}


def test_an_undecodable_file_name_survives(one: Callable[..., Report]) -> None:
    name = b"\xff.yaml".decode("utf-8", "surrogateescape")
    assert json.loads(json_report.render(one(path=name)))["files"][0]["path"] == name


def test_the_schema_is_strict(schema: dict[str, Any]) -> None:
    def objects(part: Any) -> Iterator[dict[str, Any]]:
        if isinstance(part, dict):
            if part.get("type") == "object":
                yield part
            for inner in part.values():
                yield from objects(inner)
        elif isinstance(part, list):
            for inner in part:
                yield from objects(inner)

    for found in objects(schema):
        if "properties" in found:
            assert found["additionalProperties"] is False
            assert set(found["required"]) == set(found["properties"])


@pytest.mark.parametrize(
    "change", [{"severity": "fatal"}, {"impact": "bad"}, {"place": Place(at="a.b", origin="set", line=3)}, {"message": ""}]
)
def test_the_schema_refuses(
    change: dict[str, Any], finding: Callable[..., Finding], one: Callable[..., Report], schema: dict[str, Any]
) -> None:
    data = json_report.data(one(finding(**change)))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(data)
