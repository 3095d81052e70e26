"""Colour for a terminal. Nothing is said by colour alone: the words are the same without it."""

from __future__ import annotations

_CODES = {
    "error": "1;31",
    "warning": "1;33",
    "info": "1;36",
    "strong": "1",
    "faint": "2",
    "related": "34",
    "fix": "32",
}


class Style:
    """Paints text, or leaves it alone when ``colour`` is false."""

    __slots__ = ("colour",)

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def paint(self, text: str, role: str) -> str:
        """``text`` as a severity, ``strong``, ``faint``, ``related`` or ``fix``."""
        return f"\x1b[{_CODES[role]}m{text}\x1b[0m" if self.colour and text else text
