"""One change to a document as edits at exact offsets of its text.

The layout of the neighbours is kept: indentation, list style, line breaks, quotes. Own lines are removed whole; what becomes of comments
says ``keeping``. What cannot be done exactly is refused.
"""

from __future__ import annotations

from typing import Any

from lclint.sources import keeping, render
from lclint.sources.adding import add, insert
from lclint.sources.document import Document
from lclint.sources.lines import Edit
from lclint.sources.page import Page
from lclint.sources.removing import remove
from lclint.sources.replacing import move_anchor, override_alias, replace
from lclint.sources.steps import EditRefused, Operation, Path, dotted, equal, list_after, list_steps, mapping_steps, nested, with_value, without
from lclint.sources.yaml_nodes import content_start

Lowered = tuple[list[Edit], list[Operation]]


def lower(document: Document, newline: str, operation: Operation) -> Lowered:
    """The edits for one operation, and operations that remain to be lowered after them.

    ``newline`` is the line break of new lines. Raises EditRefused.
    """
    page = Page(document, newline)
    kind, path = operation[0], operation[1]
    if kind == "set":
        return _set(page, path, operation[2])
    if kind == "remove":
        return _remove(page, path)
    if kind == "rename":
        return _rename(page, path, operation[2]), []
    if kind == "move":
        return _move(page, path, operation[2])
    if kind in ("append", "discard", "replace"):
        return _change_list(page, operation)
    if kind == "insert":
        return insert(page, path, operation[2]), []
    if kind == "comment":
        return _comment(page, path, operation[2], operation[3]), []
    raise ValueError(f"unknown operation {kind!r}")


def _set(page: Page, path: Path, value: Any) -> Lowered:
    present, old = page.data_at(path)
    if present and equal(old, value):
        return [], []
    place = page.locate(path)
    twice = page.given_twice(path)
    if twice is not None and page.loader == "omegaconf":
        raise EditRefused(f"{dotted(twice)} is given twice")  # which the user means is not ours to say; a dump's loader takes the last
    node = place.node
    below = path[place.depth :]
    entry = page.entry_start(place)
    if place.state == "found":
        assert node is not None
        if isinstance(value, dict) and isinstance(old, dict) and node.kind == "mapping" and 2 * len(old.keys() & value) > len(old):
            return [], mapping_steps(path, old, value)
        if isinstance(value, (list, tuple)) and value and isinstance(old, list) and node.kind == "sequence" and node.items:
            return [], list_steps(path, old, list(value))
        moved = move_anchor(page, node) if node.anchor is not None and node.kind == "scalar" else []
        edits = replace(page, place, value, keep_anchor=not moved) + moved
    elif place.state == "absent":
        assert node is not None
        edits = add(page, node, place.in_flow, below[0], nested(below[1:], value))
    elif place.state == "null":
        edits = replace(page, place, nested(below, value))
    elif place.state == "merged":
        assert node is not None
        _, inherited = page.data_at(path[: place.depth + 1])
        edits = add(page, node, place.in_flow, below[0], with_value(inherited, below[1:], value))
    elif place.state == "alias":
        assert node is not None
        assert node.target is not None
        if len(below) == 1 and node.target.kind == "mapping" and place.parent is not None and place.parent.kind == "mapping":
            edits = override_alias(page, place, below[0], value)
        else:
            _, shared = page.data_at(path[: place.depth])
            edits = replace(page, place, with_value(shared, below, value))
    else:
        raise EditRefused(f"{dotted(path[: place.depth]) or 'the file'} is not a section")
    return keeping.keep(page, edits, entry), []


def _remove(page: Page, path: Path) -> Lowered:
    if not path:
        raise EditRefused("the whole file cannot be removed")
    present, _ = page.data_at(path)
    if not present:
        return [], []
    place = page.locate(path)
    if place.state == "found":
        assert place.parent is not None
        entry = page.entry_start(place)
        edits = keeping.keep(page, remove(page, path, place), entry)
        again = isinstance(path[-1], str) and page.occurrences(place.parent, path[-1]) > 1
        return keeping.drop_ignores(page, edits, entry), [("remove", path)] if again else []
    if place.state == "alias":
        _, shared = page.data_at(path[: place.depth])
        return replace(page, place, without(shared, path[place.depth :])), []
    if place.state == "merged":
        raise EditRefused(f"{dotted(path)} comes through a merge key")
    raise EditRefused(f"{dotted(path)} comes through an interpolation")


def _rename(page: Page, path: Path, new_key: Any) -> list[Edit]:
    present, _ = page.data_at(path)
    if not present or equal(path[-1], new_key):
        return []
    place = page.locate(path)
    if place.state != "found" or place.key is None or place.parent is None:
        raise EditRefused(f"{dotted(path)} is not written at its place: an alias, a merge key or an interpolation brings it in")
    taken, _ = page.data_at((*path[:-1], new_key))
    if taken:
        raise EditRefused(f"{dotted((*path[:-1], new_key))} exists already")
    if page.occurrences(place.parent, path[-1]) > 1:
        raise EditRefused(f"{dotted(path)} is given twice")
    key = place.key
    if key.kind != "scalar" or key.tag is not None:
        raise EditRefused(f"{dotted(path)} is an unusual key")
    style = key.style if key.style in ("'", '"') and isinstance(new_key, str) else None
    text = render.quote(new_key, style) if isinstance(new_key, str) else render.render_key(new_key)
    return [(content_start(page.text, key), key.end, text)]


def _move(page: Page, path: Path, new_path: Path) -> Lowered:
    """Take an entry out and give it another place, with its comments; within its section it is renamed and stays where it is."""
    present, value = page.data_at(path)
    if not present:
        return [], []
    if page.data_at(new_path)[0]:
        raise EditRefused(f"{dotted(new_path)} exists already")
    if path[:-1] == new_path[:-1]:
        return [], [("rename", path, new_path[-1])]
    place = page.locate(path)
    if place.state != "found" or place.parent is None or page.occurrences(place.parent, path[-1]) > 1:
        raise EditRefused(f"{dotted(path)} is not written once at its place")
    entry = page.entry_start(place)
    edits, above, behind = keeping.take(page, remove(page, path, place), entry)
    rest: list[Operation] = [("set", new_path, value)]
    return keeping.drop_ignores(page, edits, entry), [*rest, ("comment", new_path, above, behind)] if above or behind else rest


def _comment(page: Page, path: Path, above: list[str], behind: str) -> list[Edit]:
    place = page.locate(path)
    if place.state != "found" or place.node is None:
        raise EditRefused(f"the comments of {dotted(path)} find no place")
    return keeping.give(page, above, behind, page.entry_start(place), place.node.end)


def _change_list(page: Page, operation: Operation) -> Lowered:
    path = operation[1]
    present, old = page.data_at(path)
    if not present or old is None:
        return ([], [("set", path, [operation[2]])]) if operation[0] == "append" else ([], [])
    if not isinstance(old, list):
        raise EditRefused(f"{dotted(path)} is not a list")
    return [], [("set", path, list_after(old, operation))]
