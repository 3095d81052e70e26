"""Reading fields of a run, keeping book of what was assumed, what is missing and what cannot be."""

from __future__ import annotations

from typing import Any

from lclint.config.run import Run
from lclint.core.states import NOT_APPLICABLE, UNKNOWN

# no count of a real run is larger: vocabulary, tokens, GPUs
MOST = 10**9


class Reader:
    """Reads fields of a run, keeping book of what was assumed and what is missing."""

    __slots__ = ("run", "assumptions", "needs", "wrong")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.assumptions: list[str] = []
        self.needs: list[str] = []
        self.wrong: list[str] = []

    def raw(self, name: str) -> Any:
        """The resolved value, or UNKNOWN or NOT_APPLICABLE."""
        value = self.run.resolved.get(name, self)
        return self.run.missing(name) if value is self else value

    def value(self, name: str, default: Any) -> Any:
        """The value, or what stands in for null, unknown and not applicable."""
        value = self.raw(name)
        if value is UNKNOWN:
            said = f"{name} is not known: {_shown(default)} assumed"
            if said not in self.assumptions:
                self.assumptions.append(said)
            return default
        return default if value is None or value is NOT_APPLICABLE else value

    def number(self, name: str, default: int) -> int:
        """A count; zero is none. What is no count makes the estimate impossible."""
        value = self.value(name, default)
        if value.__class__ is not int or not 0 <= value <= MOST:
            self._refuse(name, value, "a whole number" if value.__class__ is not int or value < 0 else "in the range of real runs")
            return default
        return value or default

    def flag(self, name: str, default: bool = False) -> bool:
        return bool(self.value(name, default))

    def text(self, name: str, default: str) -> str:
        value = self.value(name, default)
        return value if value.__class__ is str else default

    def factor(self, name: str, default: float) -> float:
        """A share between 0 and 1."""
        value = self.value(name, default)
        if value.__class__ not in (int, float) or not 0 <= value <= 1:
            self._refuse(name, value, "between 0 and 1")
            return default
        return float(value)

    def names(self, name: str) -> tuple[str, ...]:
        value = self.value(name, ())
        return tuple(str(item) for item in value) if value.__class__ is list else (value,) if value.__class__ is str else ()

    def essential(self, name: str, stand_in: int = 1) -> int:
        """A positive integer without which there is no estimate."""
        value = self.raw(name)
        if value.__class__ is int and 0 < value <= MOST:
            return int(value)
        if value is UNKNOWN or value is NOT_APPLICABLE or value is None:
            self.needs.append(name)
        else:
            self._refuse(name, value, "a positive whole number" if value.__class__ is not int or value < 1 else "in the range of real runs")
        return stand_in

    def _refuse(self, name: str, value: Any, wanted: str) -> None:
        said = f"{name} is {'the text ' if value.__class__ is str else ''}{_shown(value)}, not {wanted}"
        if said not in self.wrong:
            self.wrong.append(said)

    def environment(self, name: str) -> str:
        """An environment variable, empty where it is not set or not known."""
        value = self.run.missing(f"env.{name}")
        return value if value.__class__ is str else ""


def _shown(value: Any) -> str:
    if value.__class__ is bool or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    text = (str(value) or "none") if value.__class__ is not int or -(10**18) < value < 10**18 else "an integer of more than 18 digits"
    return text if len(text) <= 40 else f"{text[:37]}..."
