"""The values as they stand while Bridge works through its start-up, and logic over values that may be unknown."""

from __future__ import annotations

import math
from typing import Any

from lclint.catalog import tables
from lclint.config.run import NO_SECTIONS, Change, Run
from lclint.core.states import NOT_APPLICABLE, UNKNOWN, State

COMMON_CLASSES = {"model": "megatron.bridge.models.gpt_provider.GPTModelProvider"}


class Resolution:
    """The values as they stand while Bridge works through its start-up."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.values = dict(run.written)
        self._absent: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        value = self.values.get(name, self)
        if value is not self:
            return value
        # what run.missing gives: for a field of a section it is the same for all that the section does not have
        section, _, field = name.partition(".")
        if not field or "." in field or section in NO_SECTIONS:
            return self.run.missing(name)
        if section not in self._absent:
            self._absent[section] = self.run.missing(name)
        return self._absent[section]

    def has(self, name: str) -> bool:
        """Whether the section's class has the field, as far as can be told."""
        if name in self.values:
            return True
        if self.run.complete:
            return False
        section, _, field = name.partition(".")
        table = tables.section(self.run.release, section)
        # of the many model classes one that has what all of them share
        return field in (table.fields(COMMON_CLASSES.get(section)) or {})

    def set(self, name: str, value: Any, why: str) -> None:
        """Bridge sets ``name``. Not recorded where nothing changes or the field does not exist."""
        old = self.get(name)
        if old is NOT_APPLICABLE or old is value or (old.__class__ is value.__class__ and old.__class__ is not State and old == value):
            return
        self.values[name] = value
        self.run.changes.append(Change(name, old, value, why))

    def default(self, name: str, value: Any, why: str) -> None:
        """Bridge sets ``name`` when it is null."""
        old = self.get(name)
        if old is None:
            self.set(name, value, why)

    def when(self, condition: Any, name: str, value: Any, why: str) -> None:
        """Bridge sets ``name`` if the condition holds; what the field is, is unknown where that cannot be told."""
        if condition is True:
            self.set(name, value, why)
        elif condition is UNKNOWN and name in self.values and self.values[name] is not value:
            self.set(name, UNKNOWN, why)

    def blur(self, *names: str) -> None:
        """What these fields become cannot be told. One that is not in the config is that anyway."""
        for name in names:
            if name in self.values:
                self.set(name, UNKNOWN, "depends on what is not known here")

    def class_name(self, section: str) -> Any:
        """The short name of the section's class; UNKNOWN or NOT_APPLICABLE where no ``_target_`` names it."""
        target = self.get(f"{section}._target_")
        return target.rpartition(".")[2] if target.__class__ is str else target if target.__class__ is State else NOT_APPLICABLE


def more(left: Any, right: Any) -> Any:
    """``left > right`` for numbers, false for what is no number."""
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    numbers = left.__class__ in (int, float) and right.__class__ in (int, float)
    return left > right if numbers else False


def equal(left: Any, right: Any) -> Any:
    """``left == right`` for a value that may be unknown, or not be there."""
    return UNKNOWN if left is UNKNOWN else left == right


def truth(value: Any) -> Any:
    """The value as Python's truth: UNKNOWN stays, null and what is not there are false."""
    return value if value is UNKNOWN else bool(value)


def both(left: Any, right: Any) -> Any:
    left, right = truth(left), truth(right)
    if left is False or right is False:
        return False
    return UNKNOWN if left is UNKNOWN or right is UNKNOWN else True


def either(left: Any, right: Any) -> Any:
    left, right = truth(left), truth(right)
    if left is True or right is True:
        return True
    return UNKNOWN if left is UNKNOWN or right is UNKNOWN else False


def negate(value: Any) -> Any:
    return value if value is UNKNOWN else not value


def times(left: Any, right: Any) -> Any:
    numbers = left.__class__ in (int, float) and right.__class__ in (int, float)
    return left * right if numbers else UNKNOWN


def quotient(left: Any, right: Any) -> Any:
    return left // right if left.__class__ is int and right.__class__ is int and right else UNKNOWN


def data_parallel(s: Resolution) -> Any:
    """Ranks of data parallelism (bridge training/config.py:1020); UNKNOWN without a world size or where it does not divide."""
    sizes = [s.get(f"model.{name}_parallel_size") for name in ("tensor_model", "pipeline_model", "context")]
    gpus = s.run.missing("cluster.gpus")
    if gpus.__class__ is not int or any(size.__class__ is not int or size < 1 for size in sizes):
        return UNKNOWN
    product = math.prod(sizes)
    return gpus // product if gpus % product == 0 else UNKNOWN
