"""Colour and links for a terminal. Nothing is said by them alone: the words are the same without."""

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
    """Paints text, or leaves it alone when ``colour`` is false; links it to a page when ``links`` is true."""

    __slots__ = ("colour", "links")

    def __init__(self, colour: bool, links: bool = False) -> None:
        self.colour = colour
        self.links = links

    def paint(self, text: str, role: str) -> str:
        """``text`` as a severity, ``strong``, ``faint``, ``related`` or ``fix``."""
        return f"\x1b[{_CODES[role]}m{text}\x1b[0m" if self.colour and text else text

    def link(self, text: str, address: str | None) -> str:
        """``text`` that opens the page when it is clicked (OSC 8), where there is a page and the terminal can."""
        return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\" if self.links and address else text
