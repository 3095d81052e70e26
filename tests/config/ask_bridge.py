"""Run by an interpreter that has Megatron Bridge: what its start-up leaves in each recorded config, one line of JSON each.

    ask_bridge.py RECORDED.json ANSWERS.jsonl

``LCLINT_ORACLE_PATH`` holds ``oracle_core``, whose ``run_case`` gives the verdict and the config; ``LCLINT_ORACLE_CONFIGS`` the saved recipes.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import Any

import yaml

from lclint.config import values


def ask(oracle: Any, case: dict[str, Any]) -> dict[str, Any]:
    """The flat fields of the config after start-up, normalised as lclint normalises a file's."""
    file = os.path.join(os.environ["LCLINT_ORACLE_CONFIGS"], f"{case['recipe']}.yaml")
    question = {"file": file, "world_size": case["gpus"], "gpu": case["gpu"], "set": case["set"], "env": case["env"]}
    verdict, config = oracle.run_case(question, stages=("config",))
    if not verdict["ok"]:
        raise SystemExit(f"{case['recipe']} with {case['set']} is refused: {verdict['message']}")
    with tempfile.NamedTemporaryFile("w+", suffix=".yaml") as saved:
        config.to_yaml(saved.name)
        saved.seek(0)
        data = yaml.safe_load(saved)
    flat: dict[str, Any] = {}
    values.flatten({str(key): value for key, value in data.items() if key != "_target_"}, flat)
    return {name: "<mapping>" if value.__class__ is dict else value for name, value in flat.items()}


def main(recorded: str, answers: str) -> None:
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.environ["LCLINT_ORACLE_PATH"])
    import oracle_core

    with open(recorded, encoding="utf-8") as file:
        cases = json.load(file)["configs"]
    with open(answers, "w", encoding="utf-8") as file:
        for case in cases:
            file.write(json.dumps(ask(oracle_core, case), default=sorted) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
