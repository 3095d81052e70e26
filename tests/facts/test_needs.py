"""Every fact declares what it reads: rules are passed over, and not asked again after a fix, by what their facts need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from lclint.config import build
from lclint.config.run import Run
from lclint.core.options import Options
from lclint.facts.context import Facts
from lclint.facts.registry import FACTS, Fact
from lclint.fixes.delta import BEYOND_THEIR_NEEDS
from lclint.sources import document as documents

HELD_TO_IT = sorted(name for name in FACTS if not name.startswith(BEYOND_THEIR_NEEDS))
RULES = Path(__file__).resolve().parents[2] / "rules"


class Watched(Facts):
    """Facts that note what is read of them; other facts are computed apart."""

    __slots__ = ("reads", "_run")

    def __init__(self, run: Run) -> None:
        self.reads: set[str] = set()
        super().__init__(run)

    @property
    def run(self) -> Run:  # type: ignore[override]
        self.reads.add("the run itself")
        return self._run

    @run.setter
    def run(self, run: Run) -> None:
        self._run = run

    def __getitem__(self, name: str) -> Any:
        self.reads.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.reads.add(str(name))
        return super().__contains__(name)

    def __iter__(self) -> Any:
        self.reads.add("all names")
        return super().__iter__()

    def get(self, name: str, default: Any = None) -> Any:
        self.reads.add(name)
        return super().get(name, default)

    def __missing__(self, name: str) -> Any:
        return Facts(self._run)[name]


def _field(name: str) -> str:
    return name.partition(".")[2] if name.startswith(("written.", "user.")) else name


def _behind(fact: Fact) -> set[str]:
    """The names that a fact may read: its needs, and what is behind them."""
    found: set[str] = set()
    todo = list(fact.needs)
    while todo:
        name = todo.pop()
        if _field(name) not in found:
            found.add(_field(name))
            todo += FACTS[name].needs if name in FACTS else ()
    return found


def _examples() -> list[tuple[str, dict[str, Any]]]:
    rules = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(RULES.glob("*/*.yaml")) if path.parent.name != "bundles"]
    return [(example["config"], example.get("given", {})) for rule in rules for example in rule["examples"] if "log" not in example]


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    found = []
    for text, given in _examples():
        options = Options(gpus=given.get("gpus"), gpu=given.get("gpu"), recipe=given.get("recipe"), sets=given.get("set", []))
        run, _ = build.from_document(documents.load(text.encode(), "run.yaml"), options, named=True, tolerant=True)
        if run is not None:
            found.append(run)
    return found


def test_facts_read_what_they_need(runs: list[Run]) -> None:
    assert len(runs) > 300
    undeclared: dict[str, set[str]] = {}
    for run in runs:
        for name in HELD_TO_IT:
            watched = Watched(run)
            watched.reads.clear()
            FACTS[name].value(watched)
            beyond = {read for read in watched.reads if _field(read) not in _behind(FACTS[name]) and not read.startswith("pipeline._")}
            if beyond:
                undeclared.setdefault(name, set()).update(beyond)
    assert undeclared == {}
