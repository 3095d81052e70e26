"""What is being typed at the cursor: a key of which section, a value of which field, or a comment for lclint.

The text around a cursor is seldom valid. So the word at the cursor is replaced by a mark, in the few ways that could make it valid, and
where the mark turns up in the parsed text says what the word is.
"""

from __future__ import annotations

import re

from lclint.core.errors import InputError
from lclint.server.positions import Text
from lclint.sources import document as documents
from lclint.sources.document import Document, Path
from lclint.sources.yaml_nodes import Node

MARK = "lclint0cursor"
_WORD_BEFORE = re.compile(r"[\w.-]*$")
_WORD_AFTER = re.compile(r"[\w.-]*")
_COMMENT = re.compile(r"(?:^|\s)#[ \t]*lclint:[ \t]*(.*)$")


class Cursor:
    """A word that is being typed: ``start`` and ``end`` are its offsets, ``typed`` what stands before the cursor.

    ``kind`` is key, value, or comment. ``path`` is that of the mapping for a key, that of the field for a value. ``comment`` is what
    stands between ``lclint:`` and the word. ``document`` is the text with the mark in it; ``colon`` tells that one follows the word already.
    """

    __slots__ = ("kind", "start", "end", "typed", "path", "document", "colon", "comment")

    def __init__(self, kind: str, start: int, end: int, typed: str) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.typed = typed
        self.path: Path = ()
        self.document: Document | None = None
        self.colon = False
        self.comment = ""


def find(text: Text, offset: int, path: str) -> Cursor | None:
    """What is typed at the offset; None where the rest of the text is too far from YAML to tell."""
    content = text.content
    line_start, line_end = text.line(text.position(offset).line + 1)
    before, after = content[line_start:offset], content[offset:line_end]
    head = _WORD_BEFORE.search(before)
    tail = _WORD_AFTER.match(after)
    assert head is not None
    assert tail is not None
    start, end = offset - len(head.group()), offset + tail.end()
    comment = _COMMENT.search(before)
    if comment is not None:
        cursor = Cursor("comment", start, end, head.group())
        cursor.comment = comment.group(1)[: len(comment.group(1)) - len(head.group())]
        return cursor
    lead, rest = content[line_start:start], content[end:line_end]
    cursor = Cursor("value", start, end, head.group())
    cursor.colon = rest.lstrip().startswith(":")
    alone = not lead.strip() and not cursor.colon
    for middle in (f"{MARK}: 0", MARK) if alone else (MARK,):
        # what follows may be broken in its own way
        for whole in (content[:start] + middle + content[end:], content[:start] + middle + rest):
            try:
                document = documents.from_text(whole, path, None)
            except InputError:
                continue
            if _locate(cursor, document):
                return cursor
    return None


def _locate(cursor: Cursor, document: Document) -> bool:
    """Find the mark in the parsed text."""
    todo: list[tuple[Path, Node]] = [] if document.root is None else [((), document.root)]
    while todo:
        path, node = todo.pop()
        if node.kind == "scalar" and node.value is not None and MARK in node.value:
            cursor.path, cursor.document = path, document
            return True
        for key, value in node.pairs:
            if key.kind == "scalar" and key.value is not None:
                if MARK in key.value:
                    cursor.kind, cursor.path, cursor.document = "key", path, document
                    return True
                todo.append(((*path, key.value), value))
        todo += [((*path, index), item) for index, item in enumerate(node.items)]
    return False
