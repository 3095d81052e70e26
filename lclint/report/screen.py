"""Text as it stands on a screen: columns of wide characters and tabs, wrapping, harmless control characters."""

from __future__ import annotations

TAB = 4
# What moves the cursor, starts an escape sequence, ends a line for some readers or reorders the text around it.
_ESCAPED = (
    {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if code != 0x09}
    | {code: f"\\u{code:04x}" for code in (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF)}
)  # fmt: skip


def printable(text: str) -> str:
    """``text`` with every control character escaped, but the tab."""
    return text if text.isascii() and text.isprintable() else text.translate(_ESCAPED)


def columns(text: str) -> int:
    """The number of screen columns that ``text`` takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def layout(line: str) -> tuple[str, list[int]]:
    """A source line as shown, and for every code point of ``line`` (and its end) the screen column it starts at."""
    if line.isascii() and line.isprintable():
        return line, list(range(len(line) + 1))
    shown: list[str] = []
    starts: list[int] = []
    column = 0
    for character in line:
        starts.append(column)
        if character == "\t":
            text = " " * (TAB - column % TAB)
        else:
            text = printable(character)
        shown.append(text)
        column += columns(text)
    starts.append(column)
    return "".join(shown), starts


def cut(text: str, first: int, room: int) -> tuple[str, int]:
    """At most ``room`` columns of ``text`` around column ``first``, and by how many columns that moved it left."""
    if columns(text) <= room:
        return text, 0
    skip = 0 if first < room - 12 else first - room // 4
    prefix = "..." if skip else ""
    kept: list[str] = []
    column = 0
    used = len(prefix)
    moved = None
    for character in text:
        size = _columns(character)
        if column >= skip:
            if moved is None:
                moved = column - used
            if used + size > room - 3:
                kept.append("...")
                break
            kept.append(character)
            used += size
        column += size
    return prefix + "".join(kept), moved or 0


def wrap(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """``text`` as lines of at most ``width`` columns where words allow, starting with ``first``, then with ``rest``."""
    lines: list[str] = []
    line = first
    empty = True
    for word in text.split():
        word = printable(word)
        if not empty and columns(line) + 1 + columns(word) > width:
            lines.append(line)
            line = rest
            empty = True
        line += word if empty else f" {word}"
        empty = False
    lines.append(line)
    return lines


def count(number: int, noun: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _columns(character: str) -> int:
    if character.isascii():
        return 1
    from unicodedata import combining, east_asian_width

    if combining(character) or character in "\u200b\u200c\u200d\ufe0f":
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
