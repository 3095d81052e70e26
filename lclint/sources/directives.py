"""Comments that speak to lclint.

``# lclint: gpu=gb200 gpus=128`` gives options, ``# lclint: ignore[rule, other/case] reason`` suppresses findings on its line
(behind a value) or on the next line that is not a comment (on a line of its own), ``# lclint: ignore-file[rule] reason`` in the
whole file. An ignore without brackets means every rule.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lclint.sources.document import Document

_COMMENT = re.compile(r"#[^\r\n]*")
_DIRECTIVE = re.compile(r"#[ \t]*lclint:[ \t]*([^#\r\n]*(?:#(?![ \t]*lclint:)[^#\r\n]*)*)")
_IGNORE = re.compile(r"(ignore(?:-file)?)(?:[ \t]*\[([^\]]*)\])?(?=[ \t:]|$)[ \t]*(.*)")
_OPTION = re.compile(r"([A-Za-z][\w.-]*)=(\"[^\"]*\"|'[^']*'|[^\s\"']+)(?=\s|$)")


class Directive:
    """One ``# lclint: …``.

    ``kind`` is options, ignore, ignore-file or invalid (``reason`` then says what is wrong). ``rules`` are rule names, codes or
    ``rule/case``, empty for all. ``line`` is the comment's, ``target`` the line it speaks of (1-based). ``scope`` is ``own-line``
    or ``trailing``; ``leading`` tells that nothing but comments stands before it. ``span`` are offsets.
    """

    __slots__ = ("kind", "line", "target", "rules", "options", "reason", "span", "scope", "leading")

    def __init__(self, kind: str, line: int, target: int, span: tuple[int, int], scope: str, leading: bool) -> None:
        self.kind = kind
        self.line = line
        self.target = target
        self.rules: tuple[str, ...] = ()
        self.options: dict[str, str] = {}
        self.reason = ""
        self.span = span
        self.scope = scope
        self.leading = leading

    def __repr__(self) -> str:
        return f"Directive({self.kind!r}, line {self.line}, {self.rules!r}, {self.options!r}, {self.reason!r})"


def scan(document: Document) -> list[Directive]:
    """The directives of a document, in the order of its text."""
    found: list[Directive] = []
    for start, end in comments(document):
        for match in _DIRECTIVE.finditer(document.text, start, end):
            found.append(_read(document, match, start))
    return found


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
            header = _header_comment(text, *leaves[index], match.start())
            if header:
                spans.append(match.span())
                position = match.end()
            else:
                position = match.start() + 1
            continue
        spans.append(match.span())
        position = match.end()


def _header_comment(text: str, start: int, end: int, hash_at: int) -> bool:
    """Whether the ``#`` stands behind a block scalar's ``|`` or ``>``, or between a tag or anchor and the value."""
    line_start = max(text.rfind("\n", start, hash_at), text.rfind("\r", start, hash_at)) + 1 or start
    return re.fullmatch(r"(?:[&!][^\s]*[ \t]+)*(?:[|>][-+0-9]*[ \t]+)?", text[line_start:hash_at]) is not None and line_start == start


def _read(document: Document, match: re.Match[str], comment_start: int) -> Directive:
    text = document.text
    line = document.position(match.start())[0]
    first_line_text = document.line_text(line)
    own_line = not first_line_text[: document.position(comment_start)[1] - 1].strip()
    target = line
    if own_line:
        while True:
            target += 1
            content = document.line_text(target).strip()
            if content and not content.startswith("#"):
                break
            if not content and document.position(len(text))[0] <= target:
                target = line
                break
    leading = document.root is None or match.start() < document.root.start
    span = (match.start(), match.start() + len(match.group().rstrip()))
    directive = Directive("invalid", line, target, span, "own-line" if own_line else "trailing", leading)
    body = match.group(1).strip()
    ignore = _IGNORE.fullmatch(body)
    if ignore is not None:
        rules = [name.strip() for name in ignore.group(2).split(",")] if ignore.group(2) is not None else []
        if ignore.group(2) is not None and not all(re.fullmatch(r"[\w.*-]+(?:/[\w.*-]+)?", name) for name in rules):
            directive.reason = "the brackets take rule names, separated by commas"
            return directive
        directive.kind = ignore.group(1)
        directive.rules = tuple(rules)
        directive.reason = ignore.group(3).lstrip("-: ").strip()
        return directive
    if body.startswith("ignore"):
        directive.reason = "write ignore[rule-name] reason"
        return directive
    position = 0
    while position < len(body):
        option = _OPTION.match(body, position)
        if option is None:
            directive.reason = "write options as name=value, or ignore[rule-name] reason"
            directive.options = {}
            return directive
        value = option.group(2)
        directive.options[option.group(1)] = value[1:-1] if value[0] in "\"'" else value
        position = option.end()
        while position < len(body) and body[position].isspace():
            position += 1
    if not directive.options:
        directive.reason = "is empty: write options as name=value, or ignore[rule-name] reason"
        return directive
    directive.kind = "options"
    return directive
