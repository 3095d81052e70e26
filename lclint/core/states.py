"""The two states of a value that is neither known nor null.

A quantity is *known* (null counts as known), *unknown* (nothing that lclint was given decides it) or
*not applicable* (the config has no such thing, or its master switch is off).
"""

from __future__ import annotations


class State:
    """A marker that is false in a boolean context and only equal to itself."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return self.name

    def __copy__(self) -> State:
        return self

    def __deepcopy__(self, memo: object) -> State:
        return self


UNKNOWN = State("unknown")
NOT_APPLICABLE = State("not applicable")
