"""lclint against recorded verdicts of the real start-up: it calls a crash exactly what was refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lclint import api
from lclint.config import build
from lclint.core.options import Options

CASES = "fixtures/verdicts/random-changes.jsonl"


def cases() -> dict[str, list[dict[str, Any]]]:
    """The recorded cases by recipe."""
    found: dict[str, list[dict[str, Any]]] = {}
    with (Path(__file__).parents[2] / CASES).open(encoding="utf-8") as file:
        for line in file:
            case = json.loads(line)
            found.setdefault(case["recipe"], []).append(case)
    return found


@pytest.fixture(scope="module")
def rules() -> Any:
    return api.load_rules(Options())


def called_refused(case: dict[str, Any], rules: Any) -> list[str]:
    """The crash findings for a case."""
    options = Options(
        recipe=case["recipe"],
        gpu=case["gpu"],
        gpus=case["gpus"],
        sets=[f"{field}={json.dumps(value)}" for field, value in case["set"].items()],
        env=case.get("env", {}),
        env_complete=True,
    )
    report = api.check_run(build.from_overrides(options), rules)
    return [f"{finding.rule}/{finding.case}" for finding in report.findings if finding.impact == "crash"]


def test_verdicts(rules: Any) -> None:
    wrong = []
    count = refused = 0
    for group in cases().values():
        for case in group:
            said = called_refused(case, rules)
            count += 1
            refused += case["refused"] is not None
            if bool(said) != (case["refused"] is not None):
                wrong.append(f"{case['recipe']} {case['set']} {case.get('env', '')}: refused at {case['refused']}, lclint says {said or 'nothing'}")
    assert count > 600
    assert refused > 200
    assert not wrong, "\n".join(wrong)
