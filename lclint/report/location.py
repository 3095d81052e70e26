"""Where a finding stands, as programs outside lclint have to be told: path, lines, and columns in their own unit."""

from __future__ import annotations

import os
from bisect import bisect_right

from lclint.core.errors import LclintError
from lclint.core.finding import FileReport, Finding, Place, Record
from lclint.core.options import Options
from lclint.report.excerpt import described
from lclint.report.screen import printable


class Spot(Record):
    """``path`` is None where there is no file (standard input, overrides alone); ``line`` is None where no line says it.

    Lines and columns are 1-based, columns code points, the end exclusive.
    """

    __slots__ = ("path", "line", "column", "end_line", "end_column")
    path: str | None
    line: int | None
    column: int | None
    end_line: int | None
    end_column: int | None
    defaults = {"path": None, "line": None, "column": None, "end_line": None, "end_column": None}


def spot(file: FileReport, place: Place) -> Spot:
    """The spot of a place; one that is in no line (an override, a base, the environment) is at the checked file."""
    if place.line is None:
        return Spot(path=_file(file.path))
    return Spot(
        path=_file(place.path or file.path),
        line=place.line,
        column=place.column or 1,
        end_line=place.end_line or place.line,
        end_column=place.end_column or (place.column or 1),
    )


def _file(path: str) -> str | None:
    return None if not path or (path[0] == "<" and path[-1] == ">") else path


def message(file: FileReport, finding: Finding, options: Options) -> str:
    """The message in one line; where no line of a file shows what it is about, it says what that is."""
    text = one_line(finding.message)
    if finding.place.line is None and finding.place.at != "file":
        text += f" [{one_line(described(finding.place, file, options))}]"
    return text


def failure(error: LclintError) -> str:
    """What is wrong with a file that could not be read, in one line, without the file's name."""
    return one_line(error.message + (f" ({error.hint})" if error.hint else ""))


def one_line(text: str) -> str:
    """``text`` without line breaks and control characters, and without what is no character (of undecodable names)."""
    return whole(printable(" ".join(text.split())))


def whole(text: str) -> str:
    """``text`` with U+FFFD for every lone surrogate, which stands for a byte that is not UTF-8: no other program reads those."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def relative(path: str, root: str | None = None) -> str:
    """``path`` below ``root`` (the working directory when None) with forward slashes, or as it is when it lies elsewhere."""
    try:
        here = os.getcwd()
        inside = os.path.relpath(os.path.join(here, path), root or here) if root or os.path.isabs(path) else path
    except (OSError, ValueError):  # no working directory, or another drive
        inside = path
    if inside == os.pardir or inside.startswith(os.pardir + os.sep):
        inside = path
    slashed = inside.replace(os.sep, "/")
    while slashed.startswith("./"):
        slashed = slashed[2:].lstrip("/")
    return slashed


class Lines:
    """Turns offsets of a text into lines and columns; a line ends at its line feed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0]
        found = text.find("\n")
        while found >= 0:
            self._starts.append(found + 1)
            found = text.find("\n", found + 1)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, 1-based, in code points."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def byte_column(self, line: int, column: int) -> int:
        """The column of a code point of the line as a 1-based count of UTF-8 bytes."""
        if line > len(self._starts):
            return column
        start = self._starts[line - 1]
        return len(self._text[start : start + column - 1].encode("utf-8", "surrogatepass")) + 1
