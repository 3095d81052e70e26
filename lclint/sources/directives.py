"""Comments that speak to lclint.

``# lclint: gpu=gb200 gpus=128`` gives options, ``# lclint: ignore[rule, other/case] reason`` silences findings: behind a value or key,
those of its line and of the block below the key; on a line of its own, those of the next key of its block with all below it. ``ignore-file[rule]``
silences them in the whole file. An ignore without brackets means every rule.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lclint.sources.document import Document

LINE_BREAK = re.compile(r"\r\n|\r|\n")
MOST_NAMES = 100
IGNORES = ("ignore", "ignore-file")

_COMMENT = re.compile(r"#[^\r\n]*")
_HEADER = re.compile(r"(?:[&!][^\s]*[ \t]+)*(?:[|>][-+0-9]*[ \t]+)?")
_DIRECTIVE = re.compile(r"#[ \t]*lclint:[ \t]*([^#\r\n]*(?:#(?![ \t]*lclint:)[^#\r\n]*)*)")
_IGNORE = re.compile(r"(ignore(?:-file)?)(?:[ \t]*\[([^\]]*)\])?(?=[ \t:]|$)[ \t]*(.*)")
_ENTRY = re.compile(r"[\w.*?-]+(?:/[\w.*?-]+)?")
_NO_COLON = re.compile(r"#[ \t]*lclint(?=[ \t]+ignore(?:-file)?\[)[^\r\n]*")
_WORD = re.compile(r"[A-Za-z_-]+(?=[ \t\[:]|$)")
_OPTION = re.compile(r"([A-Za-z][\w.-]*)=(\"[^\"]*\"|'[^']*'|[^\s\"']+)(?=\s|$)")
_HOW = "write ignore[rule-name] reason"


class Directive:
    """One ``# lclint: …``.

    ``kind`` is options, ignore, ignore-file or invalid (``reason`` then says what is wrong, and ``correction`` is the edit
    ``(start, end, text)`` that mends a misspelled word). ``rules`` are rule names, codes, patterns or ``rule/case``, empty for all, and
    ``spans`` where they stand. ``line`` is the comment's, ``target`` the line it speaks of (1-based). ``scope`` is ``own-line`` or
    ``trailing``; ``leading`` tells that nothing but comments stands before it. ``span`` are offsets.
    """

    __slots__ = ("kind", "line", "target", "rules", "spans", "options", "reason", "correction", "span", "scope", "leading")

    def __init__(self, kind: str, line: int, target: int, span: tuple[int, int], scope: str, leading: bool) -> None:
        self.kind = kind
        self.line = line
        self.target = target
        self.rules: tuple[str, ...] = ()
        self.spans: tuple[tuple[int, int], ...] = ()
        self.options: dict[str, str] = {}
        self.reason = ""
        self.correction: tuple[int, int, str] | None = None
        self.span = span
        self.scope = scope
        self.leading = leading

    def __repr__(self) -> str:
        return f"Directive({self.kind!r}, line {self.line}, {self.rules!r}, {self.options!r}, {self.reason!r})"


def scan(document: Document) -> list[Directive]:
    """The directives of a document, in the order of its text."""
    found: list[Directive] = []
    lines = (line.strip() for line in LINE_BREAK.split(document.text))
    filled = [number for number, line in enumerate(lines, 1) if line and not line.startswith("#")]
    for start, end in comments(document):
        for match in _DIRECTIVE.finditer(document.text, start, end):
            found.append(_read(document, match, start, filled))
        without = _NO_COLON.match(document.text, start, end)
        if without is not None:
            found.append(_without_colon(document, without, filled))
    return found


def removal(text: str, directive: Directive, entry: int | None = None) -> tuple[int, int]:
    """The offsets of what goes with a directive: the comment with the blanks before it, one that has its line to itself with the line.

    With ``entry`` only that one of several rules goes, with its comma.
    """
    if entry is not None and len(directive.spans) > 1:
        if entry == 0:
            return directive.spans[0][0], directive.spans[1][0]
        return directive.spans[entry - 1][1], directive.spans[entry][1]
    start, end = directive.span
    while start and text[start - 1] in " \t":
        start -= 1
    while end < len(text) and text[end] in " \t":
        end += 1
    if text[end : end + 1] not in ("", "\r", "\n"):
        # another directive of the same comment follows: the blanks before the first are kept for it
        return directive.span[0], end
    if start and text[start - 1] not in "\r\n":
        return start, end
    line_break = LINE_BREAK.match(text, end)
    return start, line_break.end() if line_break else end


def comments(document: Document) -> list[tuple[int, int]]:
    """The spans of all comments; a ``#`` inside of a scalar starts none."""
    text = document.text
    leaves: list[tuple[int, int]] = []
    stack = [document.root] if document.root is not None else []
    while stack:
        node = stack.pop()
        if node.kind in ("scalar", "alias"):
            leaves.append((node.start, node.end))
        for key, value in node.pairs:
            stack.append(key)
            stack.append(value)
        stack.extend(node.items)
    leaves.sort()
    starts = [start for start, _ in leaves]
    spans: list[tuple[int, int]] = []
    position = 0
    while True:
        match = _COMMENT.search(text, position)
        if match is None:
            return spans
        index = bisect_right(starts, match.start()) - 1
        if index >= 0 and match.start() < leaves[index][1]:
            # of a scalar only its first line can hold a comment: behind a block's | or >, or between a tag or anchor and the value
            header = _HEADER.match(text, leaves[index][0])
            match = _COMMENT.match(text, header.end()) if header is not None else None
            if match is None or match.start() < position or match.start() >= leaves[index][1]:
                position = leaves[index][1]
                continue
        spans.append(match.span())
        position = match.end()


def _read(document: Document, match: re.Match[str], comment_start: int, filled: list[int]) -> Directive:
    line, target, own_line = _lines(document, match.start(), comment_start, filled)
    leading = document.root is None or match.start() < document.root.start
    span = (match.start(), match.start() + len(match.group().rstrip()))
    directive = Directive("invalid", line, target, span, "own-line" if own_line else "trailing", leading)
    body = match.group(1).strip()
    ignore = _IGNORE.fullmatch(body)
    if ignore is not None:
        _read_ignore(directive, ignore, match.start(1))
        return directive
    word = _WORD.match(body)
    if word is not None:
        _name_what_was_meant(directive, word, match.start(1))
        return directive
    position = 0
    while position < len(body):
        option = _OPTION.match(body, position)
        if option is None:
            directive.reason = f"{body[position : position + 40]} is no option: write options as name=value, or ignore[rule-name] reason"
            directive.options = {}
            return directive
        value = option.group(2)
        directive.options[option.group(1)] = value[1:-1] if value[0] in "\"'" else value
        position = option.end()
        while position < len(body) and body[position].isspace():
            position += 1
    if not directive.options:
        directive.reason = "the comment says nothing: write options as name=value, or ignore[rule-name] reason"
        return directive
    directive.kind = "options"
    return directive


def _without_colon(document: Document, match: re.Match[str], filled: list[int]) -> Directive:
    line, target, own_line = _lines(document, match.start(), match.start(), filled)
    span = (match.start(), match.start() + len(match.group().rstrip()))
    directive = Directive("invalid", line, target, span, "own-line" if own_line else "trailing", False)
    directive.reason = "the colon is missing: write # lclint: ignore[rule-name] reason"
    behind = document.text.index("lclint", match.start()) + len("lclint")
    directive.correction = (behind, behind, ":")
    return directive


def _lines(document: Document, start: int, comment_start: int, filled: list[int]) -> tuple[int, int, bool]:
    """The line of a directive, the line that it speaks of, and whether its comment has a line to itself.

    ``filled`` are the lines that are neither blank nor comments.
    """
    line = document.position(start)[0]
    own_line = not document.line_text(line)[: document.position(comment_start)[1] - 1].strip()
    following = bisect_right(filled, line)
    if not own_line or following == len(filled):
        return line, line, own_line
    text = document.line_text(filled[following])
    if document.position(comment_start)[1] - 1 > len(text) - len(text.lstrip()):
        # it stands at the end of the block above, and there is no next key in it
        return line, line, own_line
    return line, filled[following], own_line


def _read_ignore(directive: Directive, ignore: re.Match[str], offset: int) -> None:
    """An ignore's rules and reason; ``offset`` is where the match starts in the text."""
    listed = ignore.group(2)
    if listed is not None:
        if listed.count(",") >= MOST_NAMES:
            directive.reason = f"the brackets hold more than {MOST_NAMES} names: without brackets every rule is meant"
            return
        rules: list[str] = []
        spans: list[tuple[int, int]] = []
        position = offset + ignore.start(2)
        for part in listed.split(","):
            name = part.strip()
            if _ENTRY.fullmatch(name) is None:
                what = f"{name[:40]!r} is no rule name" if name else "a rule name is missing"
                directive.reason = f"{what}: the brackets take rule names, separated by commas"
                return
            start = position + len(part) - len(part.lstrip())
            rules.append(name)
            spans.append((start, start + len(name)))
            position += len(part) + 1
        directive.rules, directive.spans = tuple(rules), tuple(spans)
    directive.kind = ignore.group(1)
    directive.reason = ignore.group(3).lstrip("-: ").strip()


def _name_what_was_meant(directive: Directive, word: re.Match[str], offset: int) -> None:
    """Say what is wrong with a directive that begins with a word of its own."""
    import difflib

    written = word.group()
    if written in IGNORES:
        directive.reason = f"the bracket is not closed: {_HOW}" if "[" in word.string else _HOW
        return
    close = difflib.get_close_matches(written.lower(), IGNORES, 1, 0.7)
    if not close:
        directive.reason = f"{written[:40]} is nothing that lclint knows: {_HOW}, or options as name=value"
        return
    directive.reason = f"{written} is no word of lclint's; did you mean {close[0]}?"
    directive.correction = (offset + word.start(), offset + word.end(), close[0])
