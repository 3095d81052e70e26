"""OmegaConf interpolation: ``${a.b}``, ``${.sibling}``, ``${..parents_sibling}``, ``${resolver:arguments}``.

Node references are resolved where their target is known. Whatever depends on something outside of the values at hand
(a resolver such as ``oc.env``, a key that only the base config has) becomes an ``Unresolved``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lclint.sources.document import Unresolved

Path = tuple[Any, ...]

# bounds the stack: what is deeper is looked at first, by itself
_MAX_CHAIN = 50
_MAX_NESTED = 100
_MAX_HEIGHT = 50
_MAX_TEXT = 100_000
_MAX_VALUES = 100_000

_KEY = re.compile(r"[^\\{}()\[\]:. \t'\"]+")
_RESOLVER = re.compile(r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*(?=[ \t]*:)", re.ASCII)
_ENVIRONMENT = re.compile(r"[ \t]*:[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*[,}]")


class BadInterpolation(ValueError):
    """An interpolation that OmegaConf refuses: a syntax error, or a cycle."""


class _Missing(Exception):
    """The value depends on something that is not here; ``args`` say what."""


class _First(Exception):
    """The chain of references is too long for the stack: the value at ``path`` is wanted first."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path


def collect(data: Any) -> dict[Path, str]:
    """The strings in ``data`` that hold an interpolation, by path. Containers that occur twice are visited twice."""
    found: dict[Path, str] = {}
    stack: list[tuple[Path, Any]] = [((), data)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, str):
            if "${" in value:
                found[path] = value
        else:
            for key, child in _children(value):
                if isinstance(child, (str, dict, list)):
                    stack.append(((*path, key), child))
    return found


def resolve(data: Any, pending: dict[Path, str]) -> list[tuple[Path, str]]:
    """Put the values of the interpolations ``pending`` into ``data``, in place; returns (path, reason) of those OmegaConf refuses.

    No container of ``data`` that holds an interpolation may be shared between two paths.
    """
    resolver = _Resolver(data, pending)
    problems: list[tuple[Path, str]] = []
    for path in pending:
        try:
            value = resolver.resolved(path)
        except BadInterpolation as error:
            problems.append((path, str(error)))
            value = Unresolved(pending[path])
        if path:
            _get(data, path[:-1])[path[-1]] = value
    if resolver.places:
        problems.extend(_bound(data, pending))
    return problems


def unshare(data: Any) -> Any:
    """A copy of ``data`` in which no container occurs twice; the caller has bounded its expanded size."""
    root: list[Any] = [data]
    stack: list[tuple[Any, Any]] = [(root, 0)]
    while stack:
        holder, key = stack.pop()
        value = holder[key]
        if isinstance(value, dict):
            value = dict(value)
        elif isinstance(value, list):
            value = list(value)
        else:
            continue
        holder[key] = value
        stack.extend((value, child) for child, _ in _children(value))
    return root[0]


def _bound(data: Any, pending: dict[Path, str]) -> list[tuple[Path, str]]:
    """Cut the references to containers that make ``data`` endless or absurdly large."""
    places: dict[tuple[int, Any], Path] = {}
    for path in pending:
        if path:
            places[(id(_get(data, path[:-1])), path[-1])] = path
    problems: list[tuple[Path, str]] = []
    measures: dict[int, tuple[int, int] | None] = {}  # values below and height; None while open
    stack: list[tuple[Any, Iterator[tuple[Any, Any]]]] = [(data, iter(list(_children(data))))]
    measures[id(data)] = None
    while stack:
        holder, children = stack[-1]
        for key, child in children:
            if not isinstance(child, (dict, list)):
                continue
            if id(child) not in measures:
                measures[id(child)] = None
                stack.append((child, iter(list(_children(child)))))
                break
            place = places.get((id(holder), key))
            if measures[id(child)] is None and place is not None:
                problems.append((place, "refers to a section that contains it"))
                holder[key] = Unresolved(pending[place])
        else:
            stack.pop()
            size, height = 1, 1
            for key, child in _children(holder):
                below, deep = (measures.get(id(child)) or (1, 1)) if isinstance(child, (dict, list)) else (1, 0)
                place = places.get((id(holder), key))
                if place is not None and (size + below > _MAX_VALUES or deep > _MAX_HEIGHT):
                    problems.append((place, "expands to more values than lclint follows"))
                    holder[key] = Unresolved(pending[place])
                    continue
                size += below
                height = max(height, deep + 1)
            measures[id(holder)] = (size, height)
    return problems


def _children(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _get(data: Any, path: Path) -> Any:
    for key in path:
        data = data[key]
    return data


class _Resolver:
    def __init__(self, data: Any, pending: dict[Path, str]) -> None:
        self.data = data
        self.pending = pending
        self.place: Path = ()  # of the value that the last reference gave
        self.done: dict[Path, Any] = {}
        self.failed: dict[Path, str] = {}
        self.active: list[Path] = []
        self.places: dict[Path, Path] = {}  # of a reference to a container: where that container really stands

    def resolved(self, path: Path) -> Any:
        """The value of the interpolation at ``path``, however long the chain of references behind it is. Raises BadInterpolation."""
        waiting = [path]
        wanted = {path}
        while waiting:
            try:
                self.value_at(waiting[-1])
            except _First as first:
                if first.path in wanted:
                    self.failed[first.path] = "refers to itself"
                else:
                    waiting.append(first.path)
                    wanted.add(first.path)
                continue
            except BadInterpolation as error:
                self.failed[waiting[-1]] = str(error)
            wanted.discard(waiting.pop())
        return self.value_at(path)

    def value_at(self, path: Path) -> Any:
        """The value of the interpolation at ``path``. Raises BadInterpolation, and ``_First`` where the stack would grow too long."""
        if path in self.done:
            return self.done[path]
        if path in self.failed:
            raise BadInterpolation(self.failed[path])
        if path in self.active:
            raise BadInterpolation("refers to itself")
        text = self.pending[path]
        if len(self.active) >= _MAX_CHAIN:
            raise _First(path)
        self.active.append(path)
        try:
            value = self._evaluate(text, path)
        finally:
            self.active.pop()
        self.done[path] = value
        return value

    def _evaluate(self, text: str, path: Path) -> Any:
        parts: list[Any] = []
        needs: dict[str, None] = {}  # in order, each once
        position = length = 0
        while True:
            start = text.find("${", position)
            if start < 0:
                parts.append(text[position:])
                break
            slashes = start
            while slashes > position and text[slashes - 1] == "\\":
                slashes -= 1
            count = start - slashes
            parts.append(text[position:slashes] + "\\" * (count // 2))
            if count % 2:  # \${ is the literal text
                parts.append("${")
                position = start + 2
                continue
            try:
                end, value = self._reference(text, start, path)
            except _Missing as missing:
                needs.update((str(need), None) for need in missing.args)
                end, value = _skip(text, start), ""
            if isinstance(value, Unresolved):
                needs.update((need, None) for need in value.needs or (value.text,))
            if start == 0 and end == len(text):
                if needs:
                    return Unresolved(text, tuple(needs))
                if isinstance(value, (dict, list)):
                    self.places[path] = self.place
                return value
            parts.append(value)
            length += len(value) if isinstance(value, (str, list, dict)) else 1
            if length > _MAX_TEXT:
                raise BadInterpolation(f"gives a text of more than {_MAX_TEXT} characters")
            position = end
        if needs:
            return Unresolved(text, tuple(needs))
        joined = "".join(part if isinstance(part, str) else str(part) for part in parts)
        if len(joined) > _MAX_TEXT:
            raise BadInterpolation(f"gives a text of more than {_MAX_TEXT} characters")
        return joined

    def _reference(self, text: str, start: int, path: Path, depth: int = 0) -> tuple[int, Any]:
        """The reference that starts at ``${``: its end and its value."""
        if depth > _MAX_NESTED:
            raise BadInterpolation("is nested more deeply than lclint follows")
        position = _blank(text, start + 2)
        resolver = _RESOLVER.match(text, position)
        if resolver is not None:
            environment = _ENVIRONMENT.match(text, resolver.end()) if resolver.group() == "oc.env" else None
            _skip(text, start)
            raise _Missing(f"env.{environment.group(1)}" if environment else resolver.group())
        dots = 0
        while text[position : position + 1] == ".":
            dots += 1
            position += 1
        if dots > len(path):
            _skip(text, start)
            raise BadInterpolation("has more leading dots than there are parents")
        keys: list[str] = []
        while True:
            bracket = text[position : position + 1] == "["
            if bracket:
                position += 1
            elif keys:
                if text[position : position + 1] != ".":
                    break
                position += 1
            if text.startswith("${", position):
                position, key = self._reference(text, position, path, depth + 1)
                if isinstance(key, Unresolved):
                    raise _Missing(*(key.needs or (key.text,)))
                if not isinstance(key, str):
                    raise BadInterpolation("uses a value that is not a string as a key")
            else:
                match = _KEY.match(text, position)
                if match is None:
                    raise BadInterpolation("is not closed by '}'" if "}" not in text[position:] else "has an empty or illegal key")
                key = match.group()
                position = match.end()
            keys.extend(key.split("."))
            if bracket:
                if text[position : position + 1] != "]":
                    raise BadInterpolation("has a '[' without ']'")
                position += 1
        position = _blank(text, position)
        if text[position : position + 1] != "}":
            raise BadInterpolation("is not closed by '}'" if "}" not in text[position:] else "has an illegal character")
        base = path[: len(path) - dots] if dots else ()
        return position + 1, self._look_up(base, keys)

    def _look_up(self, base: Path, keys: list[str]) -> Any:
        path = base
        value = _get(self.data, base)
        for key in keys:
            step: Any = key
            if isinstance(value, list) and re.fullmatch(r"-?[0-9]+", key):
                index = int(key)
                step = index + len(value) if index < 0 else index
                known = 0 <= step < len(value)
            else:
                known = isinstance(value, dict) and key in value
            if isinstance(value, Unresolved) or not known:
                raise _Missing(".".join(str(part) for part in (*base, *keys)))
            path = (*path, step)
            value = self.value_at(path) if path in self.pending else value[step]
            path = self.places.get(path, path)
        self.place = path
        if value == "???":
            raise _Missing(".".join(str(part) for part in (*base, *keys)))
        return value


def _blank(text: str, position: int) -> int:
    while text[position : position + 1] in (" ", "\t"):
        position += 1
    return position


def _skip(text: str, start: int) -> int:
    """The end of the reference that starts at ``${``: its closing brace, quotes and nested braces taken into account."""
    depths = [0]
    quotes = [""]
    position = start
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 1
        elif quotes[-1]:
            if character == quotes[-1]:
                quotes[-1] = ""
            elif text.startswith("${", position):
                # inside of quotes a reference begins anew, with quotes of its own
                depths.append(1)
                quotes.append("")
                position += 1
        elif character in "'\"":
            quotes[-1] = character
        elif character == "{":
            depths[-1] += 1
        elif character == "}":
            depths[-1] -= 1
            if depths[-1] == 0:
                depths.pop()
                quotes.pop()
                if not depths:
                    return position + 1
        position += 1
    raise BadInterpolation("is not closed by '}'")
