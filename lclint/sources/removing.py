"""Taking out an entry: its lines when it has lines of its own, else what stands between its neighbours."""

from __future__ import annotations

import re
from typing import Any

from lclint.sources.lines import BREAK, Edit
from lclint.sources.page import COMMA, Page, Place
from lclint.sources.replacing import move_anchor, replace
from lclint.sources.steps import EditRefused, dotted
from lclint.sources.yaml_nodes import Node, content_start

_REST = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)")


def remove(page: Page, path: tuple[Any, ...], place: Place) -> list[Edit]:
    """The edits that take out the entry which ``place`` found; its comments are not seen to here."""
    parent: Node = place.parent  # type: ignore[assignment]
    mapping = parent.kind == "mapping"
    spans = [(pair[0].start, pair[1].end) for pair in parent.pairs] if mapping else [(item.start, item.end) for item in parent.items]
    removed: Node = place.node  # type: ignore[assignment]
    if page.uses_below(removed):
        if removed.kind != "scalar":
            raise EditRefused(f"{dotted(path)} has an anchor that is used elsewhere")
        return [*_take_out(page, path, place, spans), *move_anchor(page, removed)]
    return _take_out(page, path, place, spans)


def _take_out(page: Page, path: tuple[Any, ...], place: Place, spans: list[tuple[int, int]]) -> list[Edit]:
    parent: Node = place.parent  # type: ignore[assignment]
    mapping = parent.kind == "mapping"
    index = place.index
    if parent.flow:
        return _remove_from_flow(page, parent, spans, index)
    if len(spans) == 1:
        if parent is page.document.root and page.loader == "omegaconf":
            return _remove_lines(page, *spans[0])  # an empty override file is an empty mapping
        holder = page.place_of(parent)
        if holder is None:
            raise EditRefused("the place of its section is unclear")
        return replace(page, holder, {} if mapping else [])
    start, end = spans[index]
    if not mapping:
        start = page.dash(parent, index)
    before = page.text[page.line_start(start) : start]
    if not before.strip():
        # comments below that are indented deeper are part of it
        return _remove_lines(page, start, page.after_own_comments(page.line_end(end), len(before) + 1))
    if before.replace("-", "").strip() or index + 1 == len(spans):
        raise EditRefused(f"{dotted(path)} stands on a line with something else")
    # The first entry of a list item: what follows moves up behind the dash.
    line_end = page.line_end(end)
    after = BREAK.match(page.text, line_end)
    follow = after.end() if after else line_end
    while page.text[follow : follow + 1] in (" ", "\t"):
        follow += 1
    return [(start, follow, "")]


def _remove_from_flow(page: Page, node: Node, spans: list[tuple[int, int]], index: int) -> list[Edit]:
    text = page.text
    start, end = spans[index]
    comma = COMMA.match(text, end)
    closing = comma.end() if comma else end
    content = content_start(text, node)
    if len(spans) == 1 and "#" not in text[content : node.end]:
        return [(content + 1, node.end - 1, "")]
    rest = _REST.match(text, closing)
    line = page.line_start(start)
    if not text[line:start].strip() and line > content and rest is not None:
        return _remove_lines(page, start, closing)
    if len(spans) == 1:
        return [(start, closing, "")]
    if index + 1 == len(spans) and not text[line:start].strip() and line > content:
        # the bracket closes on its line: the comma on the line above may stay
        return [(start, closing + len(text[closing : node.end]) - len(text[closing : node.end].lstrip(" \t")), "")]
    if index + 1 < len(spans):
        following = spans[index + 1][0]
        if not BREAK.search(text, closing, following):
            return [(start, following, "")]
        return [(start, closing, "")]
    previous = spans[index - 1][1]
    if "#" in text[previous:start]:
        return [(start, closing if comma else end, "")]
    return [(previous, end, "")]


def _remove_lines(page: Page, start: int, end: int) -> list[Edit]:
    """Remove the whole lines of a span; its line holds nothing else but a comment behind it."""
    first = page.line_start(start)
    last = page.line_end(end)
    after = BREAK.match(page.text, last)
    if after is not None:
        return [(first, after.end(), "")]
    return [(page.break_before(first), last, "")]
