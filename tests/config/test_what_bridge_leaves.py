"""Every value that lclint claims, against what the real start-up leaves in the config: recorded, and asked anew where Bridge is installed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lclint.config import build
from lclint.core.options import Options
from lclint.core.states import NOT_APPLICABLE, UNKNOWN

HERE = Path(__file__).resolve().parent
RECORDED: dict[str, Any] = json.loads((HERE / "data" / "resolved.json").read_text(encoding="utf-8"))
CASES: list[dict[str, Any]] = RECORDED["configs"]
NEEDED = ("LCLINT_ORACLE_PYTHON", "LCLINT_ORACLE_PATH", "LCLINT_ORACLE_CONFIGS")
# what the checking harness or the Hugging Face library fills in, not Bridge
FOREIGN = ("checkpoint.pretrained_checkpoint", "model.hf_text_config.", "model.vision_config.", "env_vars.")


def claims(case: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """``(field, written, value)`` of every value that lclint claims to know; what a preset's name stands for was not written."""
    sets = [f"{field}={json.dumps(value)}" for field, value in case["set"].items()]
    options = Options(recipe=case["recipe"], gpu=case["gpu"], gpus=case["gpus"], sets=sets, env_complete=True)
    run = build.from_overrides(options)
    assert not run.problems
    for field, value in run.resolved.items():
        known = value is not UNKNOWN and value is not NOT_APPLICABLE and value.__class__ is not dict
        if known and not field.endswith("_target_") and not field.startswith(FOREIGN):
            yield field, run.written.get(field, UNKNOWN), value


@pytest.mark.parametrize("case", CASES, ids=[f"{number}-{case['recipe']}" for number, case in enumerate(CASES)])
def test_claims_are_what_was_recorded(case: dict[str, Any]) -> None:
    becomes = {field: value for field, value in RECORDED["usually"].items() if field not in case["untouched"]} | case["becomes"]
    wrong = {}
    known = set()
    for field, written, value in claims(case):
        known.add(field)
        real = becomes.get(field, written)
        if real is not UNKNOWN and (value != real or (value is True or value is False) != (real is True or real is False)):
            wrong[field] = f"lclint says {value!r}, Bridge {real!r}"
    assert not wrong
    assert len(known & becomes.keys()) >= 15
    assert len(known) > 500


def test_almost_everything_is_known() -> None:
    for case in CASES:
        options = Options(recipe=case["recipe"], gpu=case["gpu"], gpus=case["gpus"], env_complete=True)
        unknown = [field for field, value in build.from_overrides(options).resolved.items() if value is UNKNOWN]
        assert unknown in ([], ["model.attention_backend"]), case["recipe"]


@pytest.mark.oracle
@pytest.mark.skipif(
    not all(os.environ.get(name) for name in NEEDED),
    reason=f"needs {', '.join(NEEDED)}: an interpreter, a folder with a module oracle_core that runs Bridge's start-up, and a folder of saved recipes",
)
def test_claims_are_what_bridge_says_today(environment: dict[str, str], tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    arguments = [os.environ["LCLINT_ORACLE_PYTHON"], str(HERE / "ask_bridge.py"), str(HERE / "data" / "resolved.json"), str(answers)]
    subprocess.run(arguments, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wrong = {}
    compared = 0
    for case, line in zip(CASES, answers.read_text(encoding="utf-8").splitlines(), strict=True):
        real = json.loads(line)
        for field, _, value in claims(case):
            if field in real and real[field] != "<mapping>":
                compared += 1
                if value != real[field]:
                    wrong[case["recipe"], field] = (value, real[field])
    assert not wrong
    assert compared > 20_000
