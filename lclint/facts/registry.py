"""How a fact is declared: a named quantity computed from fields and other facts.

    @fact("layout.dp", needs=("cluster.gpus", "layout.model_parallel"), unit="ranks", source="Bridge training/config.py:1024")
    def data_parallel(gpus: int, model_parallel: int) -> Any: ...

The function is called only when every need is known: an unknown need makes the fact unknown, one that is not applicable
(or null, unless it is listed in ``nullable``) makes it not applicable. A fact that wants to decide with less than
everything takes the facts themselves (``raw=True``). A fact without a function is declared before it can be computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lclint.core.states import NOT_APPLICABLE, UNKNOWN, State


class Fact:
    """One declared quantity: what it needs, its unit and where its formula comes from."""

    __slots__ = ("name", "needs", "unit", "source", "meaning", "_compute", "_nullable", "_raw")

    def __init__(
        self,
        name: str,
        needs: tuple[str, ...],
        unit: str,
        source: str,
        meaning: str,
        compute: Callable[..., Any] | None,
        nullable: tuple[str, ...],
        raw: bool,
    ) -> None:
        self.name = name
        self.needs = needs
        self.unit = unit
        self.source = source
        self.meaning = meaning
        self._compute = compute
        self._nullable = nullable
        self._raw = raw

    def value(self, g: Any) -> Any:
        """The fact's value over the facts ``g``."""
        if self._compute is None:
            return UNKNOWN
        if self._raw:
            return self._guarded(g)
        values = []
        unknown = False
        for need in self.needs:
            value = g[need]
            if value.__class__ is State:
                if value is NOT_APPLICABLE:
                    return value
                unknown = True
            elif value is None and need not in self._nullable:
                return NOT_APPLICABLE
            values.append(value)
        if unknown:
            return UNKNOWN
        return self._guarded(*values)

    def _guarded(self, *arguments: Any) -> Any:
        try:
            return self._compute(*arguments) if self._compute is not None else UNKNOWN
        except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError):
            # a field of a wrong type is a finding of its own
            return NOT_APPLICABLE


FACTS: dict[str, Fact] = {}


def fact(
    name: str, *, needs: tuple[str, ...], unit: str, source: str, nullable: tuple[str, ...] = (), raw: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the decorated function as the fact ``name``; its docstring says what the fact means."""

    def register(compute: Callable[..., Any]) -> Callable[..., Any]:
        if name in FACTS:
            raise ValueError(f"the fact {name} is declared twice")
        FACTS[name] = Fact(name, needs, unit, source, compute.__doc__ or "", compute, nullable, raw)
        return compute

    return register


def declare(name: str, *, needs: tuple[str, ...], unit: str, source: str, meaning: str) -> None:
    """Declare a fact that cannot be computed yet: it is unknown, and so are the conditions that need it."""
    if name in FACTS:
        raise ValueError(f"the fact {name} is declared twice")
    FACTS[name] = Fact(name, needs, unit, source, meaning, None, (), False)
