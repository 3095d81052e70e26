"""Which rules can find something else once a run has changed."""

from __future__ import annotations

from typing import Any

from lclint.config.run import Run
from lclint.engine.rules import Rule, RuleSet
from lclint.facts.registry import FACTS

# Facts that read more of a run than the needs that they declare (tests/facts/test_needs.py holds all others to theirs).
BEYOND_THEIR_NEEDS = (
    "checkpoint.loaded_",
    "comments.",
    "crash.",
    "data.hf_sources",
    "environment.",
    "keys.",
    "memory.",
    "overlap.",
    "pipeline.layout_",
    "precision.",
    "recompute.effective",
    "router.",
    "silent.",
)


def affected_rules(rules: RuleSet, old: Run, new: Run) -> frozenset[str]:
    """The names of the rules that read something in which the runs differ, directly or through facts."""
    if rules.readers is None:
        rules.readers = _readers(rules)
    always, by_name, below = rules.readers
    chosen = always
    for name in _differences(old, new):
        chosen |= by_name.get(name, 0)
        if old.is_open(name) is not new.is_open(name):
            chosen |= below.get(name, 0)
    found = rules.chosen.get(chosen)
    if found is None:
        if len(rules.chosen) > 1_000:
            rules.chosen.clear()
        found = rules.chosen[chosen] = frozenset(rule.name for number, rule in enumerate(rules.rules) if chosen >> number & 1)
    return found


def _readers(rules: RuleSet) -> tuple[int, dict[str, int], dict[str, int]]:
    """Rules as the bits of numbers: those that may read anything, the readers of each field, and the readers of what lies below it."""
    always = 0
    by_name: dict[str, int] = {}
    below: dict[str, int] = {}
    for number, rule in enumerate(rules.rules):
        bit = 1 << number
        if _reads_anything(rule):
            always |= bit
        for field in rule.fields:
            by_name[field] = by_name.get(field, 0) | bit
            parent = field.rpartition(".")[0]
            while parent:
                below[parent] = below.get(parent, 0) | bit
                parent = parent.rpartition(".")[0]
    return always, by_name, below


def _reads_anything(rule: Rule) -> bool:
    todo = [*rule.fields, *(name for case in rule.cases for name in case.names)]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name.startswith(BEYOND_THEIR_NEEDS) and (name in FACTS or name.startswith("config.")):
            return True
        if name not in seen:
            seen.add(name)
            todo += FACTS[name].needs if name in FACTS else ()
    return False


def _differences(old: Run, new: Run) -> set[str]:
    """The names of all fields and variables that are not the same in both runs: before or after Bridge's changes, or in their origin."""
    found = {f"env.{name}" for name in _unlike(old.environment, new.environment)}
    for before, after in ((old.written, new.written), (old.resolved, new.resolved), (old.origins, new.origins)):
        found |= _unlike(before, after)
    return found


def _unlike(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    found = before.keys() ^ after.keys()
    for name, value in after.items():
        other = before.get(name)
        if other is not value and (other.__class__ is not value.__class__ or other != value):
            found.add(name)
    return found
