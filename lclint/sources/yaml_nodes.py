"""YAML text to a tree of nodes that know their exact place in the text.

libyaml's events are read into own nodes: half the time of composing PyYAML's, and offsets instead of mark objects.
The tree keeps what is written (style, tags, anchors, aliases); ``document`` turns it into values.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml import events as _events

from lclint.core.errors import InputError

try:
    from yaml.cyaml import CParser as _Parser  # type: ignore[attr-defined]
except ImportError:  # PyYAML built without libyaml
    from yaml import SafeLoader as _Parser  # type: ignore[assignment]

# Where libyaml and PyYAML's own parser, which both loaders of record use, part: PyYAML refuses a tab between tokens (``a:\t1``), a
# comment right behind a ``|``, and in brackets a question mark within a plain word and a comma right behind a tag; and the others they
# count differently. Such a text is read by PyYAML's, at a fortieth of the speed, and so is one that libyaml refuses.
_CONTESTED = re.compile("[\t\ufeff\x85\u2028\u2029]|[|>][-+0-9]*#")
_IN_BRACKETS = re.compile(r"(?<![^\r\n])[^#\r\n]*(?:\S\?|![^\s,\]}]*[,\]}])|\?\s*[]},:]")
_TO_COLON = re.compile(r"(?:\s+|#[^\r\n]*)*:")
_SLOW_LIMIT = 500_000

MAX_DEPTH = 200
# a saved config has some 2,500, a blend of ten thousand data files 20,000
MAX_NODES = 100_000


class Node:
    """A node of the tree. ``start`` and ``end`` are offsets in the decoded text; ``start`` stands before an anchor or tag.

    The end of a block collection is the end of its last value, the end of a block scalar that of its last line of text
    (with ``+``: of its last blank line). Attributes that a kind of node does not have are None or empty.
    """

    __slots__ = ()
    kind: str = ""
    start: int
    end: int
    tag: str | None = None
    value: str | None = None
    style: str | None = None
    flow: bool = False
    anchor: str | None = None
    target: Node | None = None
    pairs: list[tuple[Node, Node]] = []
    items: list[Node] = []

    def __repr__(self) -> str:
        return f"<{self.kind} {self.start}:{self.end}>"


class Scalar(Node):
    """A scalar: ``value`` is its text after unquoting, ``style`` its quoting (None when plain)."""

    __slots__ = ("start", "end", "tag", "value", "style", "anchor")
    kind = "scalar"

    def __init__(self, start: int, end: int, tag: str | None, value: str, style: str | None, anchor: str | None) -> None:
        self.start = start
        self.end = end
        self.tag = tag
        self.value = value
        self.style = style
        self.anchor = anchor


class Mapping(Node):
    """A mapping: ``pairs`` in the order of the text, duplicates and merge keys included."""

    __slots__ = ("start", "end", "tag", "flow", "anchor", "pairs")
    kind = "mapping"

    def __init__(self, start: int, tag: str | None, flow: bool, anchor: str | None) -> None:
        self.start = start
        self.end = start
        self.tag = tag
        self.flow = flow
        self.anchor = anchor
        self.pairs = []


class Sequence(Node):
    """A sequence."""

    __slots__ = ("start", "end", "tag", "flow", "anchor", "items")
    kind = "sequence"

    def __init__(self, start: int, tag: str | None, flow: bool, anchor: str | None) -> None:
        self.start = start
        self.end = start
        self.tag = tag
        self.flow = flow
        self.anchor = anchor
        self.items = []


class Alias(Node):
    """``*name``: ``value`` is the name, ``target`` the node with that anchor (never an alias)."""

    __slots__ = ("start", "end", "value", "target")
    kind = "alias"

    def __init__(self, start: int, end: int, value: str, target: Node) -> None:
        self.start = start
        self.end = end
        self.value = value
        self.target = target


class Tree:
    """The first document of a text. ``more`` is the offset of a second one, ``repeated`` the nodes that reuse an anchor's name."""

    __slots__ = ("root", "more", "repeated", "aliases")

    def __init__(self) -> None:
        self.root: Node | None = None
        self.more: int | None = None
        self.repeated: list[Node] = []
        self.aliases = 0


def parse(text: str, path: str) -> Tree:
    """The node tree of ``text``; raises InputError for a syntax error, an undefined or recursive alias, and absurd sizes."""
    if "\0" in text:
        raise InputError("is a binary file", path, hint="give a YAML file")
    own = len(text) < _SLOW_LIMIT and (
        _CONTESTED.search(text) is not None or (("?" in text or "!" in text) and _IN_BRACKETS.search(text) is not None)
    )
    try:
        return _build(yaml.SafeLoader(text) if own else _Parser(text), text, path)
    except yaml.YAMLError as error:
        fault = error
    if not own and len(text) < _SLOW_LIMIT:
        # what libyaml refuses its users may still run, and its words and places differ
        try:
            return _build(yaml.SafeLoader(text), text, path)
        except yaml.YAMLError as error:
            fault = error
    raise _explain(fault, text, path)


def _build(parser: Any, text: str, path: str) -> Tree:
    get = parser.get_event
    tree = Tree()
    scalar, mapping_start, mapping_end = _events.ScalarEvent, _events.MappingStartEvent, _events.MappingEndEvent
    sequence_start, sequence_end, alias = _events.SequenceStartEvent, _events.SequenceEndEvent, _events.AliasEvent
    stream_end, document_start = _events.StreamEndEvent, _events.DocumentStartEvent
    anchors: dict[str, Node] = {}
    # For each anchor the nodes below it with aliases expanded, and its height: what a reader of the values will walk.
    sizes: dict[str, tuple[int, int]] = {}
    open_nodes: list[Any] = []  # [node, key that waits for its value, size when opened, height]
    frame: list[Any] = [None, None, 0, 0]
    size = 0
    node: Node
    while True:
        event = get()
        kind = event.__class__
        if kind is scalar:
            style = event.style
            start = event.start_mark.index
            end = event.end_mark.index
            if start == end and frame[1] is not None:
                # a missing value in brackets: libyaml places it at the next token, PyYAML behind the colon
                colon = _TO_COLON.match(text, frame[1].end, start)
                if colon is not None:
                    start = end = colon.end()
            if style is None or style == "'" or style == '"':
                node = Scalar(start, end, event.tag, event.value, style or None, event.anchor)
            elif style == "":
                node = Scalar(start, end, event.tag, event.value, None, event.anchor)
            else:
                node = Scalar(start, _block_scalar_end(text, start, end), event.tag, event.value, style, event.anchor)
        elif kind is mapping_start or kind is sequence_start:
            make = Mapping if kind is mapping_start else Sequence
            node = make(event.start_mark.index, event.tag, bool(event.flow_style), event.anchor)
            size += 1
            if node.anchor is not None:
                if node.anchor in anchors:
                    tree.repeated.append(node)
                anchors[node.anchor] = node
                sizes.pop(node.anchor, None)
            open_nodes.append(frame)
            if size > MAX_NODES:
                raise _too_many(path, event)
            if len(open_nodes) > MAX_DEPTH:
                raise InputError(f"is nested more than {MAX_DEPTH} levels deep", path, _line(event.start_mark), "this is not a config")
            frame = [node, None, size, 0]
            continue
        elif kind is mapping_end or kind is sequence_end:
            closed: Any = frame[0]
            node = closed
            end = event.end_mark.index
            if not node.flow or end == event.start_mark.index:
                last = (node.pairs[-1][1] if node.pairs else node) if kind is mapping_end else (node.items[-1] if node.items else node)
                end = max(last.end, node.start)
            closed.end = end
            height = frame[3] + 1
            if node.anchor is not None:
                sizes[node.anchor] = (size - frame[2], height)
            frame = open_nodes.pop()
            if height > frame[3]:
                frame[3] = height
            _attach(tree, frame, node)
            continue
        elif kind is alias:
            name = event.anchor
            target = anchors.get(name)
            line = _line(event.start_mark)
            if target is None:
                raise InputError(f"the alias *{name} refers to no anchor before it", path, line, "define it above, or quote the value")
            if target.kind != "scalar":
                if name not in sizes:
                    raise InputError(f"the alias *{name} stands inside its own value", path, line, "write the value out")
                below, height = sizes[name]
                size += below
                if height > frame[3]:
                    frame[3] = height
                if height + len(open_nodes) > MAX_DEPTH:
                    raise InputError(f"is nested more than {MAX_DEPTH} levels deep", path, line, "write aliased values out")
            node = Alias(event.start_mark.index, event.end_mark.index, name, target)
            tree.aliases += 1
        elif kind is stream_end:
            return tree
        elif kind is document_start:
            if tree.root is not None:
                tree.more = event.start_mark.index
                return tree
            continue
        else:
            continue
        size += 1
        if size > MAX_NODES:
            raise _too_many(path, event)
        if kind is scalar and event.anchor is not None:
            if event.anchor in anchors:
                tree.repeated.append(node)
            anchors[event.anchor] = node
        parent = frame[0]
        if parent is None:
            tree.root = node
        elif parent.kind == "mapping":
            key = frame[1]
            if key is None:
                frame[1] = node
            else:
                parent.pairs.append((key, node))
                frame[1] = None
        else:
            parent.items.append(node)


def _too_many(path: str, event: Any) -> InputError:
    return InputError(f"holds more than {MAX_NODES} values, aliases expanded", path, _line(event.start_mark), "this is not a config")


def _attach(tree: Tree, frame: list[Any], node: Node) -> None:
    parent = frame[0]
    if parent is None:
        tree.root = node
    elif parent.kind == "sequence":
        parent.items.append(node)
    elif frame[1] is None:
        frame[1] = node
    else:
        parent.pairs.append((frame[1], node))
        frame[1] = None


def _block_scalar_end(text: str, start: int, end: int) -> int:
    """libyaml ends a block scalar where the next token starts; blank lines belong to it only when it keeps them (``|+``)."""
    header_end = start
    while header_end < end and text[header_end] not in "\r\n":
        header_end += 1
    header = text[start:header_end].split(" #", 1)[0]
    if "+" in header.rsplit(None, 1)[-1]:
        if text.endswith("\r\n", start, end):
            return end - 2
        return end - 1 if text.endswith(("\n", "\r"), start, end) else end
    return start + len(text[start:end].rstrip())


def content_start(text: str, node: Node) -> int:
    """Where the node's content starts, after its anchor and tag."""
    offset = node.start
    while offset < node.end and text[offset] in "&!":
        while offset < node.end and not text[offset].isspace():
            offset += 1
        after = offset
        while after < node.end and text[after].isspace():
            after += 1
        if after == node.end:
            return offset
        if text[after] == "#":  # a comment between the properties and a block collection
            break
        offset = after
    if node.kind in ("mapping", "sequence") and not node.flow:
        children = [pair[0] for pair in node.pairs] if node.kind == "mapping" else node.items
        if node.kind == "mapping" and children:
            return children[0].start
    return offset


def _line(mark: Any) -> int:
    return int(mark.line) + 1


# What libyaml and PyYAML say, what it means, what to do.
_REASONS: tuple[tuple[str, str, str], ...] = (
    ("mapping values are not allowed", "a ':' stands where no key can be", "check the indentation, or quote a value that contains ': '"),
    ("could not find expected ':'", "neither 'key: value' nor a list item", "add the ':' or check the indentation"),
    ("expected ',' or ']'", "a '[' list is not closed or lacks a comma", "close it with ']'"),
    ("expected ',' or '}'", "a '{' mapping is not closed or lacks a comma", "close it with '}'"),
    ("unexpected end of stream", "a quote or bracket is opened and never closed", "close it"),
    ("document indicator", "a quote is opened and never closed", "close it"),
    ("block end", "the indentation does not match the lines above", "align it with its siblings"),
    ("expected key", "the indentation does not match the lines above", "align it with its siblings"),
    ("expected '-' indicator", "the indentation does not match the list above", "align it with its siblings"),
    ("document start", "text stands after the end of the document", "check the indentation, or remove it"),
    ("block sequence entries are not allowed", "a '- ' stands where no list item can be", "put the list on its own lines"),
    ("nesting depth", "it is nested too deeply", "this is not a config"),
    ("escape", "an unknown escape in double quotes", "double the backslash or use single quotes"),
    ("tag handle", "an unknown tag", "remove the '!…' or quote the value"),
    ("block scalar", "a wrong '|' or '>' block", "indent its text with spaces, below the key"),
)


def _explain(error: yaml.YAMLError, text: str, path: str) -> InputError:
    mark = getattr(error, "problem_mark", None)
    context_mark = getattr(error, "context_mark", None)
    if mark is None:
        return InputError("is not text: it holds control characters", path, hint="give a YAML file")
    problem = str(getattr(error, "problem", "") or "")
    context = str(getattr(error, "context", "") or "")
    if "quoted scalar" in context and context_mark is not None and "escape" not in problem:
        mark = context_mark
    line, column = _line(mark), int(mark.column) + 1
    character = text[mark.index : mark.index + 1]
    if character == "\t" or "tab character" in problem:
        return InputError("not valid YAML: a tab is used as indentation", path, line, "indent with spaces", column)
    if "cannot start any token" in problem:
        return InputError(f"not valid YAML: a value cannot start with {character!r}", path, line, "quote the value", column)
    for needle, reason, hint in _REASONS:
        if needle in problem or needle in context:
            return InputError(f"not valid YAML: {reason}", path, line, hint, column)
    return InputError(f"not valid YAML: {problem or context}", path, line, "correct the line", column)
