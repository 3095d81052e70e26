"""An open text, and its places in the two ways of counting: offsets in code points, and the client's lines and code units."""

from __future__ import annotations

import re
from bisect import bisect_right

from lsprotocol import types

# what ends a line for the protocol, and for nobody else: str.splitlines knows eight more
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Text:
    """The text of an open file. ``mark`` is 1 when it starts with a byte order mark, which the offsets of a ``Document`` leave out.

    A surrogate without its other half, which no file can hold, is a replacement character here: positions stay as they are.
    """

    __slots__ = ("value", "encoding", "mark", "_starts")

    def __init__(self, value: str, encoding: str) -> None:
        self.value = _SURROGATE.sub("\ufffd", value) if not value.isascii() and _SURROGATE.search(value) else value
        self.encoding = encoding
        self.mark = int(value.startswith("\ufeff"))
        self._starts = [0, *(match.end() for match in _LINE_BREAK.finditer(value))]

    def changed(self, changes: list[types.TextDocumentContentChangeEvent]) -> Text:
        """The text after the client's changes, each of which counts what the ones before it left."""
        text = self
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                start, end = sorted((text._raw(change.range.start), text._raw(change.range.end)))
                text = Text(text.value[:start] + change.text + text.value[end:], self.encoding)
            else:
                text = Text(change.text, self.encoding)
        return text

    @property
    def content(self) -> str:
        """The text without its byte order mark."""
        return self.value[self.mark :]

    def offset(self, position: types.Position) -> int:
        """The offset in ``content`` of a position; one behind the end of a line or inside a character is moved back to it."""
        return max(self._raw(position) - self.mark, 0)

    def position(self, offset: int) -> types.Position:
        """The position of an offset in ``content``."""
        offset = min(offset + self.mark, len(self.value))
        line = bisect_right(self._starts, offset) - 1
        return types.Position(line, self._units(self.value[self._starts[line] : offset]))

    def range(self, start: int, end: int) -> types.Range:
        """The range between two offsets in ``content``."""
        return types.Range(self.position(start), self.position(end))

    def at(self, line: int, column: int) -> int:
        """The offset in ``content`` of a line and column as findings have them: 1-based, in code points."""
        if line > len(self._starts):
            return len(self.value) - self.mark
        # the byte order mark is no column of the first line
        start = self._starts[line - 1] - (self.mark if line > 1 else 0)
        return min(start + column - 1, len(self.value) - self.mark)

    def line(self, number: int) -> tuple[int, int]:
        """Where a line (1-based) starts and ends in ``content``, without its line break; the last one for a number beyond it."""
        number = min(max(number, 1), len(self._starts))
        start = self._starts[number - 1]
        end = self._starts[number] if number < len(self._starts) else len(self.value)
        while end > start and self.value[end - 1] in "\r\n":
            end -= 1
        return max(start - self.mark, 0), max(end - self.mark, 0)

    def _raw(self, position: types.Position) -> int:
        """The offset in ``value``."""
        if position.line >= len(self._starts):
            return len(self.value)
        start = self._starts[position.line]
        end = self._starts[position.line + 1] if position.line + 1 < len(self._starts) else len(self.value)
        line = self.value[start:end].rstrip("\r\n")
        if self.encoding == "utf-32" or line.isascii():
            return start + min(position.character, len(line))
        units = 0
        for index, character in enumerate(line):
            units += self._units(character)
            if units > position.character:
                return start + index
        return start + len(line)

    def _units(self, text: str) -> int:
        if self.encoding == "utf-32" or text.isascii():
            return len(text)
        if self.encoding == "utf-8":
            return len(text.encode())
        return len(text) + sum(character > "\uffff" for character in text)
