"""Adding a key to a mapping and an element to a list, laid out as their neighbours are."""

from __future__ import annotations

import re
from typing import Any

from lclint.sources import render
from lclint.sources.lines import Edit
from lclint.sources.page import COMMA, GAP, Page
from lclint.sources.replacing import replace
from lclint.sources.steps import EditRefused, dotted
from lclint.sources.yaml_nodes import Node, content_start

_REST = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)")


def add(page: Page, mapping: Node, in_flow: bool, key: Any, value: Any) -> list[Edit]:
    """Add a key to a mapping that has others, or is an empty ``{}``."""
    if mapping.flow:
        return _add_to_flow(page, mapping, in_flow, key, value)
    indent = page.indent_of(mapping)
    lines = render.block({key: value}, indent, page.loader, page.unit(), *page.list_style(None, value))
    end = page.line_end(mapping.end)
    if mapping is page.document.root:
        tail = GAP.match(page.text, end)
        if tail is not None and tail.end() == len(page.text):
            return page.append_lines(lines)
    end = page.after_own_comments(end, len(indent))
    return [(end, end, page.newline + page.newline.join(lines))]


def _add_to_flow(page: Page, mapping: Node, in_flow: bool, key: Any, value: Any) -> list[Edit]:
    text = f"{render.render_key(key)}: {render.render(value, page.loader)}"
    if mapping.pairs:
        if page.text[mapping.end - 1] != "}":
            raise EditRefused("a single pair in a list cannot take another key")
        return _append_flow(page, mapping, [(pair[0].start, pair[1].end) for pair in mapping.pairs], text)
    place = page.place_of(mapping)
    start = content_start(page.text, mapping)
    if "#" in page.text[start : mapping.end]:
        return [(start + 1, start + 1, text)]
    if not in_flow and place is not None and place.parent is not None and place.parent.kind == "mapping":
        return replace(page, place, {key: value})
    if place is not None and place.parent is None:
        return replace(page, place, {key: value})
    return [(start, mapping.end, "{" + text + "}")]


def insert(page: Page, path: tuple[Any, ...], value: Any) -> list[Edit]:
    """Insert an element so that it stands at the path, which ends in its index."""
    place = page.locate(path[:-1])
    node, index = place.node, path[-1]
    if place.state != "found" or node is None or node.kind != "sequence" or not node.items:
        raise EditRefused(f"{dotted(path[:-1])} is not a list that can be extended")
    text = render.render(value, page.loader)
    if node.flow:
        spans = [(item.start, item.end) for item in node.items]
        return _insert_into_flow(page, spans, index, text) if index < len(spans) else _append_flow(page, node, spans, text)
    first = content_start(page.text, node)
    line = page.line_start(first)
    indent = page.text[line:first]
    if index == 0:
        if indent.strip():  # "- - x": the list starts behind something else
            return [(first, first, f"- {text}{page.newline}{' ' * len(indent)}")]
        top = page.above_own_comments(line, len(indent))
        return [(top, top, f"{indent}- {text}{page.newline}")]
    # comment lines above the element that moves down are its own
    end = page.after_own_comments(page.line_end(node.items[index - 1].end), len(indent) + 1)
    return [(end, end, f"{page.newline}{' ' * len(indent)}- {text}")]


def _insert_into_flow(page: Page, spans: list[tuple[int, int]], index: int, text: str) -> list[Edit]:
    start = spans[index][0]
    indent = page.text[page.line_start(start) : start]
    comma = COMMA.match(page.text, spans[index - 1][1]) if index and not indent.strip() else None
    rest = _REST.match(page.text, comma.end()) if comma else None
    if rest is not None:  # each has its line: on one of its own
        return [(rest.end(), rest.end(), f"{page.newline}{indent}{text},")]
    return [(start, start, text + ", ")]


def _append_flow(page: Page, node: Node, spans: list[tuple[int, int]], text: str) -> list[Edit]:
    """Add an entry to a flow collection behind its last one, on a line of its own when that has one."""
    start, end = spans[-1]
    line = page.line_start(start)
    indent = page.text[line:start]
    comma = COMMA.match(page.text, end)
    closing = comma.end() if comma else end
    rest = _REST.match(page.text, closing)
    if indent.strip() or line <= node.start or rest is None:
        return [(end, end, ", " + text)]
    new_line = f"{page.newline}{indent}{text}{',' if comma else ''}"
    if comma:
        return [(rest.end(), rest.end(), new_line)]
    return [(end, end, ","), (rest.end(), rest.end(), new_line)] if rest.end() > end else [(end, end, "," + new_line)]
