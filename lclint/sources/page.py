"""A document as something to edit: where a path leads in its tree, and how it is laid out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lclint.sources import render
from lclint.sources.document import Document
from lclint.sources.lines import COMMENT_LINE, Lines
from lclint.sources.steps import EditRefused
from lclint.sources.yaml_nodes import Node, content_start

COMMA = re.compile(r"\s*,")
GAP = re.compile(r"(?:\s+|(?<=\s)#[^\r\n]*|^#[^\r\n]*)*")
_COLON = re.compile(r"[ \t]*:")


class Place:
    """Where a path leads in the tree.

    ``state`` is found, absent (``node`` lacks the key), merged (``node`` has it through a merge key), null (``node`` is null), alias
    (``node`` is one) or other (``node`` holds no keys); ``depth`` counts the path's parts that lead to ``node``.
    """

    __slots__ = ("state", "depth", "parent", "key", "node", "index", "in_flow")

    def __init__(self, state: str, depth: int, parent: Node | None, key: Node | None, node: Node | None, index: int, in_flow: bool) -> None:
        self.state = state
        self.depth = depth
        self.parent = parent
        self.key = key
        self.node = node
        self.index = index
        self.in_flow = in_flow


class Page(Lines):
    """One document under edit; ``newline`` is the line break of new lines."""

    def __init__(self, document: Document, newline: str) -> None:
        super().__init__(document.text, newline)
        self.document = document
        self.loader = document.loader

    # Paths ---------------------------------------------------------------------------------------------------------------------

    def data_at(self, path: tuple[Any, ...]) -> tuple[bool, Any]:
        """Whether the values hold a path, and its value."""
        value = self.document.data
        for part in path:
            if (isinstance(value, dict) and part in value) or (isinstance(value, list) and isinstance(part, int) and -len(value) <= part < len(value)):
                value = value[part]
            else:
                return False, None
        return True, value

    def locate(self, path: tuple[Any, ...]) -> Place:
        node = self.document.root
        parent: Node | None = None
        key: Node | None = None
        index = 0
        in_flow = False
        if node is None:
            return Place("null", 0, None, None, None, 0, False)
        for depth, part in enumerate(path):
            if node.kind == "alias":
                return Place("alias", depth, parent, key, node, index, in_flow)
            if node.kind == "mapping":
                own = [number for number, pair in enumerate(node.pairs) if self.is_key(pair[0], part)]
                if not own:
                    merged, _ = self.data_at(path[: depth + 1])
                    return Place("merged" if merged else "absent", depth, parent, key, node, index, in_flow)
                index = own[-1]
                in_flow = in_flow or node.flow
                parent, (key, node) = node, node.pairs[index]
            elif node.kind == "sequence" and isinstance(part, int) and -len(node.items) <= part < len(node.items):
                index = part % len(node.items)
                in_flow = in_flow or node.flow
                parent, key, node = node, None, node.items[index]
            else:
                _, value = self.data_at(path[:depth])
                return Place("null" if value is None else "other", depth, parent, key, node, index, in_flow)
        return Place("found", len(path), parent, key, node, index, in_flow)

    def is_key(self, node: Node, part: Any) -> bool:
        try:
            value = self.document.scalar(node)
        except (ValueError, TypeError):
            return False
        return bool(value == part) and node.value != "<<"

    def occurrences(self, mapping: Node, part: Any) -> int:
        return sum(self.is_key(pair[0], part) for pair in mapping.pairs)

    def given_twice(self, path: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The first part of a path of which the file has the key more than once."""
        for length in range(1, len(path) + 1):
            holder = self.locate(path[: length - 1])
            if holder.state != "found" and length > 1:
                return None
            if holder.node is not None and holder.node.kind == "mapping" and self.occurrences(holder.node, path[length - 1]) > 1:
                return path[:length]
        return None

    def place_of(self, wanted: Node) -> Place | None:
        """The place of a collection in the tree."""
        root = self.document.root
        if root is wanted:
            return Place("found", 0, None, None, root, 0, False)
        stack: list[tuple[Node, bool]] = [(root, False)] if root is not None else []
        while stack:
            node, in_flow = stack.pop()
            in_flow = in_flow or node.flow
            children: list[tuple[Node | None, Node]] = [*node.pairs, *((None, item) for item in node.items)]
            for index, (key, child) in enumerate(children):
                if child is wanted:
                    return Place("found", 0, node, key, child, index, in_flow)
                stack.append((child, in_flow))
        return None

    def entry_start(self, place: Place) -> int:
        """Where the entry that ``place`` found starts: at its key, its dash, or itself."""
        if place.key is not None:
            return place.key.start
        if place.parent is not None and place.parent.kind == "sequence" and not place.parent.flow:
            return self.dash(place.parent, place.index)
        return place.node.start if place.node is not None else 0

    # Anchors -------------------------------------------------------------------------------------------------------------------

    def nodes(self) -> Iterator[Node]:
        return below(self.document.root)

    def uses(self, target: Node) -> list[Node]:
        return [node for node in self.nodes() if node.target is target]

    def uses_below(self, node: Node) -> bool:
        """Whether an alias outside of ``node`` refers to something in it."""
        inside = {id(child) for child in below(node)}
        if not any(child.anchor for child in below(node)):
            return False
        return any(alias.target is not None and id(alias.target) in inside and id(alias) not in inside for alias in self.nodes())

    # Lines ---------------------------------------------------------------------------------------------------------------------

    def colon(self, key: Node) -> int:
        """The offset behind the colon of a block mapping's key."""
        match = _COLON.match(self.text, key.end)
        if match is None:
            raise EditRefused("its key is written in an unusual way")
        return match.end()

    def dash(self, sequence: Node, index: int) -> int:
        if index == 0:
            return content_start(self.text, sequence)
        match = GAP.match(self.text, sequence.items[index - 1].end)
        offset = match.end() if match else 0
        if self.text[offset : offset + 1] != "-":
            raise EditRefused("a list item is written in an unusual way")
        return offset

    def free_line(self, offset: int) -> int:
        """The start of the line of ``offset``, or of the nearest one above it that does not start within a scalar."""
        start = self.line_start(offset)
        while start:
            over = [node.start for node in self.nodes() if node.kind == "scalar" and node.start < start < node.end]
            if not over:
                break
            start = self.line_start(over[0])
        return start

    def above_own_comments(self, line: int, column: int) -> int:
        """The start of the comment lines right above the line that starts at ``line``, as far as they are indented to ``column``."""
        while line:
            start = self.line_start(self.break_before(line))
            comment = COMMENT_LINE.match(self.text, start)
            if comment is None or len(comment.group(1)) != column or self.free_line(start) != start:
                break
            line = start
        return line

    # Layout --------------------------------------------------------------------------------------------------------------------

    def indent_of(self, mapping: Node) -> str:
        start = mapping.pairs[0][0].start
        return " " * (start - self.line_start(start))

    def unit(self) -> int:
        """The indentation of nested mappings in this file."""
        for node in self.nodes():
            if node.kind == "mapping" and not node.flow and node.pairs:
                outer = len(self.indent_of(node))
                for _, value in node.pairs:
                    if value.kind == "mapping" and not value.flow and value.pairs:
                        return max(1, len(self.indent_of(value)) - outer)
        return 2

    def list_style(self, old: Node | None, value: Any) -> tuple[bool, int]:
        """Whether lists are in block style here, and how far their dashes are indented below their key."""
        flow = block = 0
        indent = -1
        for node in self.nodes():
            if node.kind == "sequence" and node.items:
                flow, block = flow + node.flow, block + (not node.flow)
            if node.kind == "mapping" and not node.flow and node.pairs and indent < 0:
                for _, child in node.pairs:
                    if child.kind == "sequence" and not child.flow and child.items:
                        first = content_start(self.text, child)
                        indent = first - self.line_start(first) - len(self.indent_of(node))
                        break
        as_block = block > flow
        if old is not None and old.kind == "sequence" and old.items and isinstance(value, (list, tuple)):
            as_block = not old.flow
        return as_block, indent if indent >= 0 else self.unit()

    def block_lines(self, value: Any, indent: str) -> list[str]:
        return render.block(value, indent, self.loader, self.unit(), *self.list_style(None, value))


def below(node: Node | None) -> Iterator[Node]:
    """A node and all nodes in it, in the order of the text; aliases are not followed."""
    stack = [node] if node is not None else []
    while stack:
        found = stack.pop()
        yield found
        stack.extend(reversed([child for pair in found.pairs for child in pair] or found.items))
