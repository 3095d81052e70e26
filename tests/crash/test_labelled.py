"""Logs of invented runs with what a person reads in them: wordings, prefixes, launchers and phases mixed, and texts that only look like errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lclint import api
from lclint.core.options import Options
from lclint.crash import summary
from lclint.diagnosing import of_crash
from lclint.engine.rules import RuleSet
from lclint.report.diagnose_json import data

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "logs" / "labelled"
LABELS: list[dict[str, Any]] = json.loads((FOLDER / "labels.json").read_text())
SIZES = ("requested_bytes", "capacity_bytes", "allocated_bytes", "reserved_unallocated_bytes")
DEFAULTS = {"fatal": True, "first_rank": None, "phase": "unknown", "iteration": None, **dict.fromkeys(SIZES)}


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    return api.load_rules(Options())


@pytest.fixture(scope="module")
def schema() -> Any:
    return jsonschema.Draft202012Validator(json.loads((FOLDER.parents[2] / "schemas" / "diagnose.schema.json").read_text()))


def fields(fix: dict[str, Any]) -> set[str]:
    return set(fix.get("set") or {}) | {f"env.{name}" for name in fix.get("env") or {}}


@pytest.mark.parametrize("label", LABELS, ids=lambda label: label["file"])
def test_what_a_person_reads(label, rules, schema) -> None:
    diagnosis = of_crash(summary.diagnose([str(FOLDER / label["file"])]), None, None, Options(), rules)
    found = data(diagnosis)
    schema.validate(found)
    accepted = label.get("accept", {})
    for name in ("kind", *DEFAULTS):
        want = label.get(name, DEFAULTS.get(name))
        if want is None and name in SIZES and label["kind"] == "context_only":
            continue
        near = want is not None and name in SIZES and found[name] is not None and abs(found[name] - want) <= want * 1e-3
        assert near or found[name] == want or found[name] in accepted.get(name, ()), name
    recovered = label.get("recovered_config", {})
    assert {field: found["recovered_config"].get(field) for field in recovered} == recovered
    offered = [fields(fix) for finding in found["findings"] for fix in finding["fixes"]]
    right = set().union(*(fields(fix) for fix in label.get("right_fixes", ())))
    wrong = set().union(*(fields(fix) for fix in label.get("wrong_fixes", ()))) - right
    assert not right or offered[0] & right
    assert not any(fix & wrong for fix in offered)


@pytest.mark.parametrize("label", [label for label in LABELS if (FOLDER / label["file"]).is_file()], ids=lambda label: label["file"])
def test_evidence_names_the_line(label) -> None:
    """What is shown as evidence stands on the line that is named."""
    crash = summary.diagnose([str(FOLDER / label["file"])])
    lines = (FOLDER / label["file"]).read_bytes().decode("utf-8", "replace").replace("\0", "").split("\n")
    for item in crash.evidence:
        assert 1 <= item.line <= len(lines)
    if crash.line is not None and crash.error:
        words = crash.error.split()[:3]
        assert all(word in lines[crash.line - 1] or word in " ".join(lines[max(0, crash.line - 2) : crash.line]) for word in words), (crash.line, words)
