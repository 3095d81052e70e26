"""Changes to a config file as text edits that leave every other byte alone.

Operations: ``("set", path, value)``, ``("remove", path)``, ``("rename", path, new_key)``, ``("move", path, new_path)``, and for lists
``("append", path, value)``, ``("discard", path, value)``, ``("replace", path, (old, new))``; a path is a tuple of keys. ``set`` and
``append`` create what is missing; the others change nothing when there is nothing.

Operations are lowered one after the other, each against the text that the ones before it gave, and the outcome is read again:
it has to hold the old values plus exactly the changes, and every comment.
"""

from __future__ import annotations

from typing import Any

from lclint.core.errors import InputError
from lclint.sources import keeping
from lclint.sources.document import Document, from_text
from lclint.sources.interpolation import unshare
from lclint.sources.lines import newline_of
from lclint.sources.lowering import lower
from lclint.sources.render import NotYaml, render
from lclint.sources.steps import EditRefused, equal, list_after

__all__ = ["EditRefused", "apply", "change", "equal", "render", "verify"]

Edit = tuple[int, int, str]
Operation = tuple[Any, ...]

_MAX_STEPS = 10_000


def change(document: Document, operations: list[Operation]) -> list[Edit]:
    """The edits ``(start, end, text)`` that make ``operations``, sorted and disjoint; none when nothing changes.

    Raises EditRefused when the changes cannot be made exactly.
    """
    current = document
    newline = newline_of(document.text)
    pieces: list[tuple[int, int] | str] = [(0, len(document.text))]
    todo = list(reversed(operations))
    steps = 0
    near_comments = False
    while todo:
        steps += 1
        if steps > _MAX_STEPS:
            raise EditRefused("it takes too many steps")
        operation = todo.pop()
        try:
            edits, rest = lower(current, newline, operation)
        except NotYaml as error:
            raise EditRefused(str(error)) from None
        todo.extend(reversed(rest))
        if edits:
            near_comments = near_comments or any("#" in current.text[start:end] for start, end, _ in edits)
            pieces = _splice(pieces, edits)
            try:
                current = from_text(apply(current.text, edits), document.path, document.loader, document.bom)
            except InputError as error:
                raise EditRefused(f"the result would not be valid YAML: {error.message}") from None
    reason = _difference(document, operations, current)
    if reason is not None:
        raise EditRefused(reason)
    if _first_difference(document.data, current.data) is None:
        return []
    if near_comments:
        keeping.check(document, current)
    made = _edits(pieces, document.text)
    if apply(document.text, made) != current.text:
        raise EditRefused("its parts do not add up")
    return made


def apply(text: str, edits: list[Edit]) -> str:
    """``text`` with disjoint ``edits`` made."""
    parts: list[str] = []
    position = 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        if start < position or end < start:
            raise ValueError("overlapping edits")
        parts.append(text[position:start])
        parts.append(new)
        position = end
    parts.append(text[position:])
    return "".join(parts)


def verify(document: Document, operations: list[Operation], new_text: str) -> str | None:
    """Why ``new_text`` is not ``document`` with exactly ``operations`` made; None when it is."""
    try:
        new = from_text(new_text, document.path, document.loader, document.bom)
    except InputError as error:
        return f"the result would not be valid YAML: {error.message}"
    return _difference(document, operations, new)


def _difference(document: Document, operations: list[Operation], new: Document) -> str | None:
    try:
        expected = unshare(document.data)
        for operation in operations:
            expected = _expect(expected, operation)
    except EditRefused as error:
        return str(error)
    at = _first_difference(expected, new.data)
    if at is not None:
        where = ".".join(str(part) for part in at) or "the file"
        return f"{where} would not be as intended: it shares its value with another place, or refers to it"
    if len(new.problems) > len(document.problems):
        return f"the result would have a new problem: {new.problems[-1].message}"
    return None


def _expect(data: Any, operation: Operation) -> Any:
    """``data``, in which nothing is shared, with one operation made on the plain values."""
    kind, path = operation[0], operation[1]
    if kind == "move":
        return _expect_move(data, path, operation[2])
    if not path:
        if kind != "set":
            raise EditRefused("the whole file can only be set")
        return _copy(operation[2])
    creates = kind in ("set", "append")
    if data is None and creates:
        data = {}
    holder = data
    for part in path[:-1]:
        if isinstance(holder, list) and isinstance(part, int) and -len(holder) <= part < len(holder):
            inner = holder[part]
        elif isinstance(holder, dict):
            inner = holder.get(part)
        else:
            inner = None
        if inner is None or not isinstance(inner, (dict, list)):
            if not creates:
                return data
            if inner is not None or not isinstance(holder, dict):
                raise EditRefused(f"{part} is not a section")
            inner = holder[part] = {}
        holder = inner
    key = path[-1]
    present = key in holder if isinstance(holder, dict) else isinstance(key, int) and -len(holder) <= key < len(holder)
    if kind == "set":
        if not present and not isinstance(holder, dict):
            raise EditRefused(f"{key} is not an element of the list")
        holder[key] = _copy(operation[2])
    elif kind == "remove":
        if present:
            del holder[key]
    elif kind == "rename":
        if present and isinstance(holder, dict) and not equal(key, operation[2]):
            holder[operation[2]] = holder.pop(key)
    else:
        old = holder[key] if present else None
        if old is None and kind == "append":
            holder[key] = [_copy(operation[2])]
        elif isinstance(old, list):
            holder[key] = _copy(list_after(old, operation))
    return data


def _expect_move(data: Any, path: tuple[Any, ...], new_path: tuple[Any, ...]) -> Any:
    value = data
    for part in path:
        if not isinstance(value, dict) or part not in value:
            return data
        value = value[part]
    return _expect(_expect(data, ("remove", path)), ("set", new_path, value))


def _copy(value: Any) -> Any:
    """A copy that shares nothing with ``value``; tuples become lists."""
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, (list, tuple)) else value


def _first_difference(expected: Any, actual: Any) -> tuple[Any, ...] | None:
    stack: list[tuple[tuple[Any, ...], Any, Any]] = [((), expected, actual)]
    while stack:
        path, a, b = stack.pop()
        if isinstance(a, tuple):
            a = list(a)
        if isinstance(a, dict) and isinstance(b, dict):
            for key in a.keys() | b.keys():
                if key not in a or key not in b:
                    return (*path, key)
                stack.append(((*path, key), a[key], b[key]))
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return path
            stack.extend(((*path, index), x, y) for index, (x, y) in enumerate(zip(a, b, strict=True)))
        elif not equal(a, b):
            return path
    return None


def _splice(pieces: list[tuple[int, int] | str], edits: list[Edit]) -> list[tuple[int, int] | str]:
    """Make ``edits``, which count the text that ``pieces`` add up to; a pair of numbers is a part of the first text."""
    result: list[tuple[int, int] | str] = []
    todo = sorted(edits, key=lambda edit: edit[:2])
    offset = 0  # of the piece at hand
    index = 0
    for piece in pieces:
        length = len(piece) if isinstance(piece, str) else piece[1] - piece[0]
        position = 0
        while True:
            if index == len(todo):
                break
            start, end, text = todo[index]
            if start >= offset + length:
                break
            if start >= offset:
                if start - offset > position:
                    result.append(_part(piece, position, start - offset))
                    position = start - offset
                result.append(text)
            if end > offset + length:
                position = length
                break
            position = max(position, end - offset)
            index += 1
        if position < length:
            result.append(_part(piece, position, length))
        offset += length
    result.extend(text for start, _, text in todo[index:] if start == offset)
    return [piece for piece in result if piece]


def _part(piece: tuple[int, int] | str, start: int, end: int) -> tuple[int, int] | str:
    return piece[start:end] if isinstance(piece, str) else (piece[0] + start, piece[0] + end)


def _edits(pieces: list[tuple[int, int] | str], text: str) -> list[Edit]:
    edits: list[Edit] = []
    position = 0
    inserted: list[str] = []
    for piece in [*pieces, (len(text), len(text))]:
        if isinstance(piece, str):
            inserted.append(piece)
            continue
        start, end = piece
        new = "".join(inserted)
        if text[position:start] != new:
            edits.append((position, start, new))
        inserted = []
        position = end
    return edits
