"""The lines of a text: where they start and end, what is added to them."""

from __future__ import annotations

import re

Edit = tuple[int, int, str]

BREAK = re.compile(r"\r\n|\r|\n")
COMMENT_LINE = re.compile(r"([ \t]*)#[^\r\n]*(?:\r\n|\r|\n|\Z)")


def newline_of(text: str) -> str:
    """The line break that a text uses, by its first one."""
    match = BREAK.search(text)
    return match.group() if match else "\n"


class Lines:
    """A text of which every line ends in ``\\n``, ``\\r\\n`` or ``\\r``; ``newline`` is the line break of new lines."""

    def __init__(self, text: str, newline: str) -> None:
        self.text = text
        self.newline = newline

    def line_start(self, offset: int) -> int:
        return max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset)) + 1

    def line_end(self, offset: int) -> int:
        match = BREAK.search(self.text, offset)
        return match.start() if match else len(self.text)

    def break_before(self, line: int) -> int:
        """The start of the line break that ends right before ``line``, the start of a line; 0 for the first line."""
        return max(0, line - (2 if self.text.endswith("\r\n", 0, line) else 1))

    def margin(self, line: int) -> str:
        """The blanks that a line starts with."""
        end = line
        while self.text[end : end + 1] in (" ", "\t") and end < len(self.text):
            end += 1
        return self.text[line:end]

    def after_own_comments(self, end: int, column: int) -> int:
        """The end of the comment lines right below ``end`` that are indented at least to ``column``."""
        while True:
            after = BREAK.match(self.text, end)
            comment = COMMENT_LINE.match(self.text, after.end()) if after and column else None
            if comment is None or len(comment.group(1)) < column:
                return end
            end = self.line_end(after.end())  # type: ignore[union-attr]

    def append_lines(self, lines: list[str]) -> list[Edit]:
        """Add lines at the end of the file, which keeps its final line break or its lack of one."""
        text = self.newline.join(lines)
        end = len(self.text)
        if not self.text:
            return [(0, 0, text + self.newline)]
        if self.text.endswith(("\n", "\r")):
            return [(end, end, text + self.newline)]
        return [(end, end, self.newline + text)]
