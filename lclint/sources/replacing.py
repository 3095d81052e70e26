"""Giving something that is written another value: in its line, below its key, or in the place of an alias."""

from __future__ import annotations

from typing import Any

from lclint.sources import render
from lclint.sources.lines import BREAK, Edit
from lclint.sources.page import Page, Place
from lclint.sources.steps import EditRefused
from lclint.sources.yaml_nodes import Node, content_start


def replace(page: Page, place: Place, value: Any, keep_anchor: bool = True) -> list[Edit]:
    """Give the node at ``place`` another value."""
    node = place.node
    text = page.text
    if node is None:  # a file without a value
        if not isinstance(value, dict):
            raise EditRefused("the file is empty")
        return page.append_lines(page.block_lines(value, "")) if value else []
    block_node = not node.flow and (node.kind in ("mapping", "sequence") or node.style in ("|", ">"))
    if node.anchor is not None and node.kind != "scalar" and page.uses(node):
        raise EditRefused(f"its value has the anchor &{node.anchor}, which is used elsewhere")
    anchor = f"&{node.anchor} " if node.anchor is not None and keep_anchor else ""
    if place.parent is None:
        return _replace_root(page, node, value)
    mapping = place.parent.kind == "mapping"
    lists = page.list_style(node, value)
    if mapping and not place.in_flow and render.is_block(value, lists[0]):
        assert place.key is not None
        return _replace_by_block(page, place, node, anchor, value, lists)
    style = node.style if node.style in ("'", '"') and isinstance(value, str) else None
    new = anchor + render.render(value, page.loader, style)
    if block_node and mapping and node.kind != "scalar":
        # The value moves behind its key; a comment there stays.
        assert place.key is not None
        colon = page.colon(place.key)
        start = content_start(text, node)
        head_end = colon
        if node.start < start:  # "key: &x" stands on the key's line
            head_end = node.start + len(text[node.start : start].split("#", 1)[0].rstrip())
        line_end = page.line_end(head_end)
        return [(colon, head_end, " " + new), (line_end, page.line_end(node.end), "")]
    start, end = node.start, node.end
    if start == end or (node.kind == "scalar" and not node.value and content_start(text, node) == end):
        if mapping and place.key is not None and ":" not in text[place.key.end : start]:
            if not place.in_flow:
                raise EditRefused("its key is written in an unusual way")
            return [(place.key.end, place.key.end, ": " + new)]
        before = text[start - 1 : start]
        return [(start, end, (" " if before and not before.isspace() else "") + new)]
    if block_node and BREAK.search(text, start, end):
        end = page.line_end(end)  # what stands behind its last line was about that line
    return [(start, end, new)]


def _replace_root(page: Page, node: Node, value: Any) -> list[Edit]:
    start = content_start(page.text, node)
    if node.kind == "scalar" and start == node.end and isinstance(value, dict) and value:
        return page.append_lines(page.block_lines(value, ""))
    lines = page.block_lines(value, "") if isinstance(value, dict) and value else [render.render(value, page.loader)]
    if len(lines) > 1 and page.line_start(node.start) != node.start:
        lines.insert(0, "")
    return [(node.start, node.end, page.newline.join(lines))]


def _replace_by_block(page: Page, place: Place, node: Node, anchor: str, value: Any, lists: tuple[bool, int]) -> list[Edit]:
    """Give a key of a block mapping a value in block style, on the lines below it."""
    text = page.text
    colon = page.colon(place.key)  # type: ignore[arg-type]
    step = page.unit() if isinstance(value, dict) else lists[1]
    indent = page.indent_of(place.parent) + " " * step  # type: ignore[arg-type]
    lines = page.newline + page.newline.join(render.block(value, indent, page.loader, page.unit(), *lists))
    head = f" {anchor.rstrip()}" if anchor else ""
    if not node.flow and node.kind in ("mapping", "sequence"):
        start = content_start(text, node)
        if node.start < start:
            properties_end = node.start + len(text[node.start : start].split("#", 1)[0].rstrip())
            return [(colon, properties_end, head), (page.line_end(properties_end), page.line_end(node.end), lines)]
        return [(page.line_end(colon), page.line_end(node.end), lines)]
    if node.style in ("|", ">"):
        return [(colon, node.end, head + lines)]
    line_end = page.line_end(node.end)
    if not text[node.end : line_end].strip():
        return [(colon, line_end, head + lines)]
    return [(colon, max(node.end, colon), head), (line_end, line_end, lines)]


def override_alias(page: Page, place: Place, key: Any, value: Any) -> list[Edit]:
    """Put a mapping that merges the alias and overrides one key in the alias's place."""
    alias: Node = place.node  # type: ignore[assignment]
    if place.in_flow:
        text = f"{{<<: *{alias.value}, {render.render_key(key)}: {render.render(value, page.loader)}}}"
        return [(alias.start, alias.end, text)]
    colon = page.colon(place.key)  # type: ignore[arg-type]
    indent = page.indent_of(place.parent) + " " * page.unit()  # type: ignore[arg-type]
    lines = [f"{indent}<<: *{alias.value}"]
    lines += render.block({key: value}, indent, page.loader, page.unit(), *page.list_style(None, value))
    block = page.newline + page.newline.join(lines)
    line_end = page.line_end(alias.end)
    if not page.text[alias.end : line_end].strip():
        return [(colon, line_end, block)]
    return [(colon, alias.end, ""), (line_end, line_end, block)]


def move_anchor(page: Page, node: Node) -> list[Edit]:
    """Move the anchor of a scalar that is about to change to its first alias, so that the aliases keep the old value."""
    aliases = page.uses(node)
    if not aliases:
        return []
    written = page.text[content_start(page.text, node) : node.end]
    if BREAK.search(written) or node.tag is not None:
        raise EditRefused(f"its value has the anchor &{node.anchor}, which is used elsewhere")
    first = min(aliases, key=lambda alias: alias.start)
    return [(first.start, first.end, f"&{node.anchor} {written}".rstrip())]
