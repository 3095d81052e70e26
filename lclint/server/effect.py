"""What another value of a field would do to the memory of the run."""

from __future__ import annotations

from typing import Any

from lclint.catalog.tables import Field
from lclint.checking import Checked
from lclint.config.changes import changed
from lclint.config.run import Run
from lclint.core.states import State
from lclint.engine.evaluate import evaluate
from lclint.facts.context import Facts
from lclint.memory.estimate import estimate
from lclint.memory.result import Estimate, Stage

GRAVE = ("crash",)
GIB = 2**30
# what is less than this is no reason to choose a value
LEAST_BYTES = GIB // 10
MOST_VALUES = 4


class Effect:
    """The largest stage's peak with ``value`` instead of the present one: its change in bytes, and that of the component that moves most."""

    __slots__ = ("value", "bytes", "component", "component_bytes")

    def __init__(self, value: Any, before: Stage, after: Stage) -> None:
        moved = {name: after.components.get(name, 0) - before.components.get(name, 0) for name in before.components.keys() | after.components.keys()}
        self.value = value
        self.bytes = after.peak_bytes - before.peak_bytes
        self.component = max(sorted(moved), key=lambda name: abs(moved[name]), default="")
        self.component_bytes = moved.get(self.component, 0)


def effects(checked: Checked, name: str, field: Field) -> list[Effect]:
    """The effects of the values beside the present one that the start-up would take; none where nothing moves or it cannot be said."""
    run, facts = checked.run, checked.facts
    values = _others(field, run.resolved.get(name, run.missing(name)))
    if not values or isinstance(facts["memory.peak_gib"], State):
        return []
    now = estimate(run).worst
    if now is None:
        return []
    found = []
    present = None
    for value in values[:MOST_VALUES]:
        after = changed(run, {name: value})
        then = _worst(after)
        if then is None or abs(then.peak_bytes - now.peak_bytes) < LEAST_BYTES:
            continue
        if present is None:
            present = _complaints(checked, run)
        if _complaints(checked, after) <= present:
            found.append(Effect(value, now, then))
    return found


def _worst(run: Run) -> Stage | None:
    found: Estimate = estimate(run)
    return found.worst


def _complaints(checked: Checked, run: Run) -> set[tuple[str, str]]:
    """What stops the run: the cases of all crash findings, those too that another case of their rule hides."""
    return {(hit.rule.name, hit.case.id) for hit in evaluate(checked.rules, Facts(run), GRAVE, hidden=True)}


def _others(field: Field, value: Any) -> list[Any]:
    """The values to compare with: the other side of a switch, half and twice a number, the other choices."""
    if value.__class__ is bool:
        return [not value]
    if field.choices is not None:
        choices = [*field.choices, *([None] if "null" in field.kinds else [])]
        return [choice for choice in choices if choice != value and (choice is None or choice.__class__ is str)] if value in choices else []
    if value.__class__ is int and "int" in field.kinds and value > 0:
        return [value * 2] if value % 2 else [value // 2, value * 2]
    return []
