"""``lclint check --statistics``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema

from lclint.engine.rulefile import shipped

Run = Callable[..., Any]

FILES = {
    "a.yaml": "model:\n  context_parallel_size: 2\n  tensor_parallel_size: 8\n  zigzag_of_mine_x: 3\n",
    "b.yaml": "model:\n  context_parallel_size: two\n  zigzag_of_mine_x: 3  # lclint: ignore[unknown-key] ours\n",
}


def test_counts(cli: Run, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = cli("check", ".", "--statistics")
    assert done.status == 1
    assert done.out.splitlines() == [
        "2  error    LC010   unknown-key  fixable: 1 safe",
        "1  error    LC013   wrong-type",
        "3 findings of 2 rules in 2 files",
    ]
    done = cli("check", ".", "--statistics", "--format", "json", "--fail-on", "never")
    data = json.loads(done.out)
    jsonschema.validate(data, json.loads(Path(shipped("schemas"), "statistics.schema.json").read_text(encoding="utf-8")))
    assert (done.status, data["files"], data["suppressed"]) == (0, 2, 1)
    assert [(row["rule"], row["count"], row["error"], row["fixable"]) for row in data["rules"]] == [
        ("unknown-key", 2, 2, {"safe": 1, "unsafe": 0}),
        ("wrong-type", 1, 1, {"safe": 0, "unsafe": 0}),
    ]


def test_no_findings(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("model: {context_parallel_size: 2}\n", encoding="utf-8")
    assert cli("check", ".", "--statistics").out == "0 findings of 0 rules in 1 file\n"
