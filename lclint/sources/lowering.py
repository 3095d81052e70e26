"""One change to a document as edits at exact offsets of its text.

The layout of the neighbours is kept: indentation, list style, line breaks, quotes. A removed entry takes the comment behind it
along; comment lines above it stay. Own lines are removed whole. What cannot be done exactly is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lclint.sources import render
from lclint.sources.document import Document
from lclint.sources.yaml_nodes import Node, content_start

Edit = tuple[int, int, str]
Operation = tuple[Any, ...]

_BREAK = re.compile(r"\r\n|\r|\n")
_COLON = re.compile(r"[ \t]*:")
_COMMA = re.compile(r"\s*,")
_GAP = re.compile(r"(?:\s+|(?<=\s)#[^\r\n]*|^#[^\r\n]*)*")
_REST = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)")
_COMMENT_LINE = re.compile(r"([ \t]*)#[^\r\n]*(?:\r\n|\r|\n|\Z)")


class EditRefused(Exception):
    """A change that cannot be made exactly; ``str()`` is the reason."""


def equal(a: Any, b: Any) -> bool:
    """Equality that tells 1, 1.0 and True apart, and finds nan equal to itself."""
    if isinstance(a, tuple):
        a = list(a)
    if isinstance(b, tuple):
        b = list(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return len(a) == len(b) and all(key in b and equal(value, b[key]) for key, value in a.items())
    if isinstance(a, list):
        return len(a) == len(b) and all(map(equal, a, b))
    return bool(a == b) or (a != a and b != b)


def list_after(old: list[Any], operation: Operation) -> list[Any]:
    """A list after one list operation."""
    kind, value = operation[0], operation[2]
    if kind == "append":
        return [*old, value]
    if kind == "discard":
        return [item for item in old if not equal(item, value)]
    return [value[1] if equal(item, value[0]) else item for item in old]


class _Place:
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


def newline_of(text: str) -> str:
    """The line break that a text uses, by its first one."""
    match = _BREAK.search(text)
    return match.group() if match else "\n"


class Lowering:
    """Lowers operations against one document; ``newline`` is the line break of new lines."""

    def __init__(self, document: Document, newline: str) -> None:
        self.document = document
        self.text = document.text
        self.loader = document.loader
        self.newline = newline

    def lower(self, operation: Operation) -> tuple[list[Edit], list[Operation]]:
        """The edits for one operation, and operations that remain to be lowered after them."""
        kind, path = operation[0], operation[1]
        if kind == "set":
            return self.lower_set(path, operation[2])
        if kind == "remove":
            return self.lower_remove(path)
        if kind == "rename":
            return self.lower_rename(path, operation[2]), []
        if kind in ("append", "discard", "replace"):
            return self.lower_list(operation)
        if kind == "insert":
            return self.lower_insert(path, operation[2]), []
        raise ValueError(f"unknown operation {kind!r}")

    # Operations ----------------------------------------------------------------------------------------------------------------

    def lower_set(self, path: tuple[Any, ...], value: Any) -> tuple[list[Edit], list[Operation]]:
        present, old = self.data_at(path)
        if present and equal(old, value):
            return [], []
        place = self.locate(path)
        node = place.node
        if place.state == "found":
            assert node is not None
            if isinstance(value, dict) and isinstance(old, dict) and node.kind == "mapping" and 2 * len(old.keys() & value) > len(old):
                return [], _mapping_steps(path, old, value)
            if isinstance(value, (list, tuple)) and value and isinstance(old, list) and node.kind == "sequence" and node.items:
                return [], _list_steps(path, old, list(value))
            moved = self.move_anchor(node) if node.anchor is not None and node.kind == "scalar" else []
            return self.replace(place, value, keep_anchor=not moved) + moved, []
        below = path[place.depth :]
        if place.state == "absent":
            assert node is not None
            return self.add(node, place.in_flow, below[0], _nested(below[1:], value)), []
        if place.state == "null":
            return self.replace(place, _nested(below, value)), []
        if place.state == "merged":
            assert node is not None
            _, inherited = self.data_at(path[: place.depth + 1])
            return self.add(node, place.in_flow, below[0], _with(inherited, below[1:], value)), []
        if place.state == "alias":
            assert node is not None
            assert node.target is not None
            if len(below) == 1 and node.target.kind == "mapping" and place.parent is not None and place.parent.kind == "mapping":
                return self.override_alias(place, below[0], value), []
            _, shared = self.data_at(path[: place.depth])
            return self.replace(place, _with(shared, below, value)), []
        raise EditRefused(f"{'.'.join(map(str, path[: place.depth])) or 'the file'} is not a section")

    def lower_remove(self, path: tuple[Any, ...]) -> tuple[list[Edit], list[Operation]]:
        if not path:
            raise EditRefused("the whole file cannot be removed")
        present, _ = self.data_at(path)
        if not present:
            return [], []
        place = self.locate(path)
        if place.state == "found":
            assert place.parent is not None
            edits = self.remove_entry(path, place)
            again = isinstance(path[-1], str) and self.occurrences(place.parent, path[-1]) > 1
            return edits, [("remove", path)] if again else []
        if place.state == "alias":
            _, shared = self.data_at(path[: place.depth])
            return self.replace(place, _without(shared, path[place.depth :])), []
        if place.state == "merged":
            raise EditRefused(f"{_dotted(path)} comes through a merge key")
        raise EditRefused(f"{_dotted(path)} comes through an interpolation")

    def lower_rename(self, path: tuple[Any, ...], new_key: Any) -> list[Edit]:
        present, _ = self.data_at(path)
        if not present or equal(path[-1], new_key):
            return []
        place = self.locate(path)
        if place.state != "found" or place.key is None or place.parent is None:
            raise EditRefused(f"{_dotted(path)} is not written at its place: an alias, a merge key or an interpolation brings it in")
        taken, _ = self.data_at((*path[:-1], new_key))
        if taken:
            raise EditRefused(f"{_dotted((*path[:-1], new_key))} exists already")
        if self.occurrences(place.parent, path[-1]) > 1:
            raise EditRefused(f"{_dotted(path)} is given twice")
        key = place.key
        if key.kind != "scalar" or key.tag is not None:
            raise EditRefused(f"{_dotted(path)} is an unusual key")
        style = key.style if key.style in ("'", '"') and isinstance(new_key, str) else None
        text = render.quote(new_key, style) if isinstance(new_key, str) else render.render_key(new_key)
        return [(content_start(self.text, key), key.end, text)]

    def lower_list(self, operation: Operation) -> tuple[list[Edit], list[Operation]]:
        path = operation[1]
        present, old = self.data_at(path)
        if not present or old is None:
            return ([], [("set", path, [operation[2]])]) if operation[0] == "append" else ([], [])
        if not isinstance(old, list):
            raise EditRefused(f"{_dotted(path)} is not a list")
        return [], [("set", path, list_after(old, operation))]

    def lower_insert(self, path: tuple[Any, ...], value: Any) -> list[Edit]:
        """Insert an element so that it stands at the path, which ends in its index."""
        place = self.locate(path[:-1])
        node, index = place.node, path[-1]
        if place.state != "found" or node is None or node.kind != "sequence" or not node.items:
            raise EditRefused(f"{_dotted(path[:-1])} is not a list that can be extended")
        text = render.render(value, self.loader)
        if node.flow:
            spans = [(item.start, item.end) for item in node.items]
            if index < len(spans):
                return [(spans[index][0], spans[index][0], text + ", ")]
            return self.append_flow(node, spans, text)
        first = content_start(self.text, node)
        line = self.line_start(first)
        indent = self.text[line:first]
        if indent.strip():
            indent = " " * (first - line)
        if index < len(node.items):
            dash = self.dash(node, index)
            return [(dash, dash, f"- {text}{self.newline}{indent}")]
        end = self.line_end(node.items[-1].end)
        return [(end, end, f"{self.newline}{indent}- {text}")]

    # Parts of a change ---------------------------------------------------------------------------------------------------------

    def replace(self, place: _Place, value: Any, keep_anchor: bool = True) -> list[Edit]:
        """Give the node at ``place`` another value."""
        node = place.node
        if node is None:  # a file without a value
            if not isinstance(value, dict):
                raise EditRefused("the file is empty")
            return self.append_lines(self.block_lines(value, "")) if value else []
        block_node = not node.flow and (node.kind in ("mapping", "sequence") or node.style in ("|", ">"))
        if node.anchor is not None and node.kind != "scalar" and self.uses(node):
            raise EditRefused(f"its value has the anchor &{node.anchor}, which is used elsewhere")
        anchor = f"&{node.anchor} " if node.anchor is not None and keep_anchor else ""
        if place.parent is None:
            start = content_start(self.text, node)
            if node.kind == "scalar" and start == node.end and isinstance(value, dict) and value:
                return self.append_lines(self.block_lines(value, ""))
            lines = self.block_lines(value, "") if isinstance(value, dict) and value else [render.render(value, self.loader)]
            if len(lines) > 1 and self.line_start(node.start) != node.start:
                lines.insert(0, "")
            return [(node.start, node.end, self.newline.join(lines))]
        mapping = place.parent.kind == "mapping"
        lists = self.list_style(node, value)
        if mapping and not place.in_flow and render.is_block(value, lists[0]):
            assert place.key is not None
            return self.replace_by_block(place, node, anchor, value, lists)
        style = node.style if node.style in ("'", '"') and isinstance(value, str) else None
        text = anchor + render.render(value, self.loader, style)
        if block_node and mapping and node.kind != "scalar":
            # The value moves behind its key; a comment there stays.
            assert place.key is not None
            colon = self.colon(place.key)
            start = content_start(self.text, node)
            head_end = colon
            if node.start < start:  # "key: &x" stands on the key's line
                head_end = node.start + len(self.text[node.start : start].split("#", 1)[0].rstrip())
            line_end = self.line_end(head_end)
            return [(colon, head_end, " " + text), (line_end, self.line_end(node.end), "")]
        start, end = node.start, node.end
        if start == end or (node.kind == "scalar" and not node.value and content_start(self.text, node) == end):
            if mapping and place.key is not None and ":" not in self.text[place.key.end : start]:
                if not place.in_flow:
                    raise EditRefused("its key is written in an unusual way")
                return [(place.key.end, place.key.end, ": " + text)]
            before = self.text[start - 1 : start]
            return [(start, end, (" " if before and not before.isspace() else "") + text)]
        if block_node and _BREAK.search(self.text, start, end):
            end = self.line_end(end)  # what stands behind its last line was about that line
        return [(start, end, text)]

    def replace_by_block(self, place: _Place, node: Node, anchor: str, value: Any, lists: tuple[bool, int]) -> list[Edit]:
        """Give a key of a block mapping a value in block style, on the lines below it."""
        key: Node = place.key  # type: ignore[assignment]
        colon = self.colon(key)
        step = self.unit() if isinstance(value, dict) else lists[1]
        indent = self.indent_of(place.parent) + " " * step  # type: ignore[arg-type]
        lines = self.newline + self.newline.join(render.block(value, indent, self.loader, self.unit(), *lists))
        head = f" {anchor.rstrip()}" if anchor else ""
        if not node.flow and node.kind in ("mapping", "sequence"):
            start = content_start(self.text, node)
            if node.start < start:
                properties_end = node.start + len(self.text[node.start : start].split("#", 1)[0].rstrip())
                return [(colon, properties_end, head), (self.line_end(properties_end), self.line_end(node.end), lines)]
            return [(self.line_end(colon), self.line_end(node.end), lines)]
        if node.style in ("|", ">"):
            return [(colon, node.end, head + lines)]
        line_end = self.line_end(node.end)
        if not self.text[node.end : line_end].strip():
            return [(colon, line_end, head + lines)]
        return [(colon, max(node.end, colon), head), (line_end, line_end, lines)]

    def add(self, mapping: Node, in_flow: bool, key: Any, value: Any) -> list[Edit]:
        """Add a key to a mapping that has others, or is an empty ``{}``."""
        if mapping.flow:
            text = f"{render.render_key(key)}: {render.render(value, self.loader)}"
            if mapping.pairs:
                if self.text[mapping.end - 1] != "}":
                    raise EditRefused("a single pair in a list cannot take another key")
                return self.append_flow(mapping, [(pair[0].start, pair[1].end) for pair in mapping.pairs], text)
            place = self.place_of(mapping)
            start = content_start(self.text, mapping)
            if "#" in self.text[start : mapping.end]:
                return [(start + 1, start + 1, text)]
            if not in_flow and place is not None and place.parent is not None and place.parent.kind == "mapping":
                return self.replace(place, {key: value})
            if place is not None and place.parent is None:
                return self.replace(place, {key: value})
            return [(start, mapping.end, "{" + text + "}")]
        indent = self.indent_of(mapping)
        lines = render.block({key: value}, indent, self.loader, self.unit(), *self.list_style(None, value))
        end = self.line_end(mapping.end)
        if mapping is self.document.root:
            tail = _GAP.match(self.text, end)
            if tail is not None and tail.end() == len(self.text):
                return self.append_lines(lines)
        end = self.after_own_comments(end, len(indent))
        return [(end, end, self.newline + self.newline.join(lines))]

    def append_flow(self, node: Node, spans: list[tuple[int, int]], text: str) -> list[Edit]:
        """Add an entry to a flow collection behind its last one, on a line of its own when that has one."""
        start, end = spans[-1]
        line = self.line_start(start)
        indent = self.text[line:start]
        comma = _COMMA.match(self.text, end)
        closing = comma.end() if comma else end
        rest = _REST.match(self.text, closing)
        if indent.strip() or line <= node.start or rest is None:
            return [(end, end, ", " + text)]
        new_line = f"{self.newline}{indent}{text}{',' if comma else ''}"
        if comma:
            return [(rest.end(), rest.end(), new_line)]
        return [(end, end, ","), (rest.end(), rest.end(), new_line)] if rest.end() > end else [(end, end, "," + new_line)]

    def remove_entry(self, path: tuple[Any, ...], place: _Place) -> list[Edit]:
        parent: Node = place.parent  # type: ignore[assignment]
        mapping = parent.kind == "mapping"
        spans = [(pair[0].start, pair[1].end) for pair in parent.pairs] if mapping else [(item.start, item.end) for item in parent.items]
        removed: Node = place.node  # type: ignore[assignment]
        if self.uses_below(removed):
            raise EditRefused(f"{_dotted(path)} has an anchor that is used elsewhere")
        index = place.index
        if parent.flow:
            return self.remove_from_flow(parent, spans, index)
        if len(spans) == 1:
            if parent is self.document.root and self.loader == "omegaconf":
                return self.remove_lines(*spans[0])  # an empty override file is an empty mapping
            holder = self.place_of(parent)
            if holder is None:
                raise EditRefused("the place of its section is unclear")
            return self.replace(holder, {} if mapping else [])
        start, end = spans[index]
        if not mapping:
            start = self.dash(parent, index)
        before = self.text[self.line_start(start) : start]
        if not before.strip():
            return self.remove_lines(start, end)
        if before.replace("-", "").strip() or index + 1 == len(spans):
            raise EditRefused(f"{_dotted(path)} stands on a line with something else")
        # The first entry of a list item: what follows moves up behind the dash.
        line_end = self.line_end(end)
        after = _BREAK.match(self.text, line_end)
        follow = after.end() if after else line_end
        while self.text[follow : follow + 1] in (" ", "\t"):
            follow += 1
        return [(start, follow, "")]

    def remove_from_flow(self, node: Node, spans: list[tuple[int, int]], index: int) -> list[Edit]:
        start, end = spans[index]
        comma = _COMMA.match(self.text, end)
        closing = comma.end() if comma else end
        content = content_start(self.text, node)
        if len(spans) == 1 and "#" not in self.text[content : node.end]:
            return [(content + 1, node.end - 1, "")]
        rest = _REST.match(self.text, closing)
        line = self.line_start(start)
        if not self.text[line:start].strip() and line > content and rest is not None:
            return self.remove_lines(start, closing)
        if len(spans) == 1:
            return [(start, closing, "")]
        if index + 1 < len(spans):
            following = spans[index + 1][0]
            if not _BREAK.search(self.text, closing, following):
                return [(start, following, "")]
            return [(start, closing, "")]
        previous = spans[index - 1][1]
        if "#" in self.text[previous:start]:
            return [(start, closing if comma else end, "")]
        return [(previous, end, "")]

    def override_alias(self, place: _Place, key: Any, value: Any) -> list[Edit]:
        """Put a mapping that merges the alias and overrides one key in the alias's place."""
        alias: Node = place.node  # type: ignore[assignment]
        if place.in_flow:
            text = f"{{<<: *{alias.value}, {render.render_key(key)}: {render.render(value, self.loader)}}}"
            return [(alias.start, alias.end, text)]
        colon = self.colon(place.key)  # type: ignore[arg-type]
        indent = self.indent_of(place.parent) + " " * self.unit()  # type: ignore[arg-type]
        lines = [f"{indent}<<: *{alias.value}"]
        lines += render.block({key: value}, indent, self.loader, self.unit(), *self.list_style(None, value))
        block = self.newline + self.newline.join(lines)
        line_end = self.line_end(alias.end)
        if not self.text[alias.end : line_end].strip():
            return [(colon, line_end, block)]
        return [(colon, alias.end, ""), (line_end, line_end, block)]

    def move_anchor(self, node: Node) -> list[Edit]:
        """Move the anchor of a scalar that is about to change to its first alias, so that the aliases keep the old value."""
        aliases = self.uses(node)
        if not aliases:
            return []
        written = self.text[content_start(self.text, node) : node.end]
        if _BREAK.search(written) or node.tag is not None:
            raise EditRefused(f"its value has the anchor &{node.anchor}, which is used elsewhere")
        first = min(aliases, key=lambda alias: alias.start)
        return [(first.start, first.end, f"&{node.anchor} {written}".rstrip())]

    def append_lines(self, lines: list[str]) -> list[Edit]:
        """Add lines at the end of the file, which keeps its final line break or its lack of one."""
        text = self.newline.join(lines)
        end = len(self.text)
        if not self.text:
            return [(0, 0, text + self.newline)]
        if self.text.endswith(("\n", "\r")):
            return [(end, end, text + self.newline)]
        return [(end, end, self.newline + text)]

    def remove_lines(self, start: int, end: int) -> list[Edit]:
        """Remove the whole lines of a span; its line holds nothing else but a comment behind it."""
        first = self.line_start(start)
        last = self.line_end(end)
        after = _BREAK.match(self.text, last)
        if after is not None:
            return [(first, after.end(), "")]
        if first > 0:
            first -= 2 if self.text.endswith("\r\n", 0, first) else 1
        return [(first, last, "")]

    # What the document looks like ----------------------------------------------------------------------------------------------

    def data_at(self, path: tuple[Any, ...]) -> tuple[bool, Any]:
        value = self.document.data
        for part in path:
            if (isinstance(value, dict) and part in value) or (
                isinstance(value, list) and isinstance(part, int) and -len(value) <= part < len(value)
            ):
                value = value[part]
            else:
                return False, None
        return True, value

    def locate(self, path: tuple[Any, ...]) -> _Place:
        node = self.document.root
        parent: Node | None = None
        key: Node | None = None
        index = 0
        in_flow = False
        if node is None:
            return _Place("null", 0, None, None, None, 0, False)
        for depth, part in enumerate(path):
            if node.kind == "alias":
                return _Place("alias", depth, parent, key, node, index, in_flow)
            if node.kind == "mapping":
                own = [number for number, pair in enumerate(node.pairs) if self.is_key(pair[0], part)]
                if not own:
                    merged, _ = self.data_at(path[: depth + 1])
                    return _Place("merged" if merged else "absent", depth, parent, key, node, index, in_flow)
                index = own[-1]
                in_flow = in_flow or node.flow
                parent, (key, node) = node, node.pairs[index]
            elif node.kind == "sequence" and isinstance(part, int) and -len(node.items) <= part < len(node.items):
                index = part % len(node.items)
                in_flow = in_flow or node.flow
                parent, key, node = node, None, node.items[index]
            else:
                _, value = self.data_at(path[:depth])
                return _Place("null" if value is None else "other", depth, parent, key, node, index, in_flow)
        return _Place("found", len(path), parent, key, node, index, in_flow)

    def is_key(self, node: Node, part: Any) -> bool:
        try:
            value = self.document.scalar(node)
        except (ValueError, TypeError):
            return False
        return bool(value == part) and node.value != "<<"

    def occurrences(self, mapping: Node, part: Any) -> int:
        return sum(self.is_key(pair[0], part) for pair in mapping.pairs)

    def place_of(self, wanted: Node) -> _Place | None:
        """The place of a collection in the tree."""
        root = self.document.root
        if root is wanted:
            return _Place("found", 0, None, None, root, 0, False)
        stack: list[tuple[Node, bool]] = [(root, False)] if root is not None else []
        while stack:
            node, in_flow = stack.pop()
            in_flow = in_flow or node.flow
            children: list[tuple[Node | None, Node]] = [*node.pairs, *((None, item) for item in node.items)]
            for index, (key, child) in enumerate(children):
                if child is wanted:
                    return _Place("found", 0, node, key, child, index, in_flow)
                stack.append((child, in_flow))
        return None

    def nodes(self) -> Iterator[Node]:
        return _below(self.document.root)

    def uses(self, target: Node) -> list[Node]:
        return [node for node in self.nodes() if node.target is target]

    def uses_below(self, node: Node) -> bool:
        """Whether an alias outside of ``node`` refers to something in it."""
        inside = {id(child) for child in _below(node)}
        if not any(child.anchor for child in _below(node)):
            return False
        return any(alias.target is not None and id(alias.target) in inside and id(alias) not in inside for alias in self.nodes())

    def colon(self, key: Node) -> int:
        """The offset behind the colon of a block mapping's key."""
        match = _COLON.match(self.text, key.end)
        if match is None:
            raise EditRefused("its key is written in an unusual way")
        return match.end()

    def dash(self, sequence: Node, index: int) -> int:
        if index == 0:
            return content_start(self.text, sequence)
        match = _GAP.match(self.text, sequence.items[index - 1].end)
        offset = match.end() if match else 0
        if self.text[offset : offset + 1] != "-":
            raise EditRefused("a list item is written in an unusual way")
        return offset

    def line_start(self, offset: int) -> int:
        return max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset)) + 1

    def line_end(self, offset: int) -> int:
        match = _BREAK.search(self.text, offset)
        return match.start() if match else len(self.text)

    def after_own_comments(self, end: int, column: int) -> int:
        """The end of the comment lines right below ``end`` that are indented at least to ``column``."""
        while True:
            after = _BREAK.match(self.text, end)
            comment = _COMMENT_LINE.match(self.text, after.end()) if after and column else None
            if comment is None or len(comment.group(1)) < column:
                return end
            end = self.line_end(after.end())  # type: ignore[union-attr]

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


def _below(node: Node | None) -> Iterator[Node]:
    """A node and all nodes in it, in the order of the text; aliases are not followed."""
    stack = [node] if node is not None else []
    while stack:
        found = stack.pop()
        yield found
        stack.extend(reversed([child for pair in found.pairs for child in pair] or found.items))


def _mapping_steps(path: tuple[Any, ...], old: dict[Any, Any], new: dict[Any, Any]) -> list[Operation]:
    steps: list[Operation] = [("set", (*path, key), value) for key, value in new.items()]
    steps.extend(("remove", (*path, key)) for key in old if key not in new)
    return steps


def _list_steps(path: tuple[Any, ...], old: list[Any], new: list[Any]) -> list[Operation]:
    """Set, insert and remove the elements between the common head and tail."""
    head = 0
    while head < min(len(old), len(new)) and equal(old[head], new[head]):
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and equal(old[-1 - tail], new[-1 - tail]):
        tail += 1
    kept = min(len(old), len(new)) - tail
    # An element that goes is removed with its comment, rather than all behind it being moved up.
    gone = _removed_only(old, new)
    if gone is not None:
        return [("remove", (*path, index)) for index in reversed(gone)]
    steps: list[Operation] = [("set", (*path, index), new[index]) for index in range(head, kept)]
    steps.extend(("insert", (*path, index), new[index]) for index in range(kept, len(new) - tail))
    steps.extend(("remove", (*path, index)) for index in reversed(range(kept, len(old) - tail)))
    return steps


def _removed_only(old: list[Any], new: list[Any]) -> list[int] | None:
    """The indices of ``old`` that ``new`` lacks, when it is ``old`` without some elements."""
    gone: list[int] = []
    position = 0
    for index, item in enumerate(old):
        if position < len(new) and equal(item, new[position]):
            position += 1
        else:
            gone.append(index)
    return gone if position == len(new) else None


def _nested(path: tuple[Any, ...], value: Any) -> Any:
    for part in reversed(path):
        if not isinstance(part, str):
            raise EditRefused(f"{part} is not an element of the list")
        value = {part: value}
    return value


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy of ``value`` with ``new`` at ``path``."""
    if not path:
        return new
    if isinstance(value, list) and isinstance(path[0], int) and -len(value) <= path[0] < len(value):
        copy = list(value)
        copy[path[0]] = _with(value[path[0]], path[1:], new)
        return copy
    if value is None or isinstance(value, dict):
        value = value or {}
        return {**value, path[0]: _with(value.get(path[0]), path[1:], new)}
    raise EditRefused(f"{path[0]} is not in a section")


def _without(value: Any, path: tuple[Any, ...]) -> Any:
    """A copy of ``value`` without what stands at ``path``."""
    if len(path) > 1:
        return _with(value, path[:1], _without(value[path[0]], path[1:]))
    if isinstance(value, list):
        index = path[0] % len(value)
        return value[:index] + value[index + 1 :]
    return {key: item for key, item in value.items() if key != path[0]}


def _dotted(path: tuple[Any, ...]) -> str:
    return ".".join(str(part) for part in path)
