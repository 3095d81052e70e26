"""What must hold for every fix of every file, as a list of complaints."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from fuzzing import seconds
from lclint import api
from lclint.config import build
from lclint.core.errors import InputError
from lclint.core.finding import FileReport, Finding, Fix
from lclint.core.options import Options
from lclint.engine.rules import RuleSet
from lclint.fixes.rounds import fix_text
from lclint.sources import document as documents
from lclint.sources import edits, yaml_nodes
from lclint.sources.document import Document

Path = tuple[Any, ...]


class File:
    """One text under test; ``tried`` counts the fixes that were made, ``refused`` those that have a reason instead of edits."""

    def __init__(self, text: str, options: Options, base: Document | None, rules: RuleSet) -> None:
        self.text = text
        self.options = options
        self.base = base
        self.rules = rules
        self.tried = 0
        self.refused: Counter[str] = Counter()

    def check(self, text: str) -> FileReport:
        run, reason = build.from_document(documents.from_text(text, "run.yaml"), self.options, self.base, named=True)
        if run is None:
            raise InputError(reason)
        return api.check_run(run, self.rules)

    def complaints(self, draw: random.Random) -> Iterator[str]:
        report = self.check(self.text)
        document = documents.from_text(self.text, "run.yaml")
        for finding in report.findings:
            for fix in finding.fixes:
                if fix.edits:
                    self.tried += 1
                    yield from _of_a_fix(document, finding, fix)
                elif fix.action and "edit by hand: " in fix.action:
                    self.refused[fix.action.partition("edit by hand: ")[2]] += 1
        yield from self.of_operations(document, draw)
        if any(fix.edits for finding in report.findings for fix in finding.fixes):
            yield from _of_rounds(document, self.check, draw)


    def of_operations(self, document: Document, draw: random.Random) -> Iterator[str]:
        """Changes that no rule makes today, at random places."""
        for _ in range(4):
            operation = _operation(document.data, draw)
            if operation is None:
                continue
            try:
                changes = edits.change(document, [operation])
            except edits.EditRefused as reason:
                self.refused[str(reason)] += 1
                continue
            self.tried += 1
            new_text = edits.apply(document.text, changes)
            fault = edits.verify(document, [operation], new_text)
            if fault is not None:
                yield f"{operation}: {fault}"
                continue
            yield from (f"{operation}: {fault}" for fault in compared(document, new_text))
            allowed = _allowed(document, documents.from_text(new_text, "run.yaml", document.loader))
            if operation[0] in ("rename", "move"):
                allowed |= set(_entry_lines(document, operation[1]))
            for line in sorted(_touched(document, changes) - allowed):
                yield f"{operation}: line {line} is touched: {document.line_text(line)!r}"


def _operation(data: Any, draw: random.Random) -> tuple[Any, ...] | None:
    """One operation at a place of the data."""
    paths = list(_paths((), data))
    if not paths:
        return None
    path = draw.choice(paths)
    kind = draw.choice(("set", "set", "null", "remove", "remove", "rename", "move", "add", "list", "list"))
    if kind == "set":
        return ("set", path, draw.choice((1, True, "two words", "x", [1, "b"], {"k": 1, "l": [2]}, 0.5)))
    if kind == "null":
        return ("set", path, None)
    if kind == "add":
        return ("set", (*[part for part in path if isinstance(part, str)][:1], "new", "deep"), draw.choice((1, [1, 2])))
    if kind == "rename" and isinstance(path[-1], str):
        return ("rename", path, "renamed")
    if kind == "move" and len(path) > 1 and all(isinstance(part, str) for part in path):
        return ("move", path, (draw.choice(list(data)), "moved"))
    lists = [path for path in paths if isinstance(_value(data, path), list)]
    if kind == "list" and lists:
        path = draw.choice(lists)
        items = [item for item in _value(data, path) if draw.random() < 0.6]
        for _ in range(draw.randint(0, 2)):
            items.insert(draw.randint(0, len(items)), draw.choice(("new", 7)))
        return ("set", path, items)
    return ("remove", path)


def _paths(path: Path, value: Any) -> Iterator[Path]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from _paths((*path, key), item)


def _value(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data


def _entry_lines(document: Document, path: Path) -> Iterator[int]:
    span = document.span(path, "entry")
    return _lines(document, span) if span is not None else iter(())


def _of_a_fix(document: Document, finding: Finding, fix: Fix) -> Iterator[str]:
    changes = [(edit.start, edit.end, edit.text) for edit in fix.edits]
    new_text = edits.apply(document.text, changes)
    name = f"{finding.rule} '{fix.title}'"
    yield from (f"{name}: {fault}" for fault in compared(document, new_text))
    allowed = _allowed(document, documents.from_text(new_text, "run.yaml", document.loader))
    for line in sorted(_touched(document, changes) - allowed):
        yield f"{name}: line {line} is touched: {document.line_text(line)!r}"


def compared(document: Document, new_text: str) -> Iterator[str]:
    """Complaints about comments and values of ``new_text``, an edited ``document``."""
    before = seconds.comments(document.text)
    for comment, number in (before - seconds.comments(new_text)).items():
        if "lclint: ignore" not in comment:
            yield f"{number} comment {comment!r} is gone"
    new = documents.from_text(new_text, "run.yaml", document.loader)
    if any(problem.kind == "duplicate-key" for problem in document.problems) or not new.data:
        return  # of a key that is given twice ruamel.yaml takes the first, and of a text without a value no comment
    try:
        seen = seconds.ruamel_comments(document.text)
    except Exception:  # what ruamel.yaml cannot read or write, it has no opinion on
        seen = None
    if seen is not None:
        try:
            lost = seen - seconds.ruamel_comments(new_text)
        except Exception as error:
            yield f"ruamel.yaml cannot read the new text: {type(error).__name__}: {str(error)[:200]}"
        else:
            dropped = seconds.dropped(new_text)
            for comment in lost:
                if "lclint: ignore" not in comment and comment not in dropped:
                    yield f"ruamel.yaml no longer sees {comment!r}"
    try:
        old_data = seconds.ruamel_data(document.text)
    except Exception:
        return
    if not alike(old_data, document.data):
        return
    try:
        data = seconds.ruamel_data(new_text)
    except Exception as error:
        yield f"ruamel.yaml cannot read the new values: {str(error)[:200]}"
        return
    if not alike(data if data is not None else {}, new.data):
        yield "ruamel.yaml reads other values"


def alike(a: Any, b: Any) -> bool:
    """Whether two readers agree: same keys and values, numbers by value, texts that one reads as numbers left out."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(value, b[key]) for key, value in a.items())
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, str) and isinstance(b, float):
        try:
            a = float(a)
        except ValueError:
            return False
    return bool(a == b) or (a != a and b != b)


def _of_rounds(document: Document, check: Callable[[str], FileReport], draw: random.Random) -> Iterator[str]:
    for unsafe in (False, True):
        text, _, _ = fix_text(document.text, check, unsafe)
        yield from (f"--fix{' --unsafe-fixes' if unsafe else ''}: {fault}" for fault in compared(document, text))
        again, _, _ = fix_text(text, check, unsafe)
        if again != text:
            yield f"--fix{' --unsafe-fixes' if unsafe else ''} changes its own outcome"
    chosen = draw.random()

    def some(text: str) -> FileReport:
        report = check(text)
        report.findings = [finding for finding in report.findings if random.Random(f"{finding.rule}{chosen}").random() < 0.5]
        return report

    text, _, _ = fix_text(document.text, some, True)
    if fix_text(text, some, True)[0] != text:
        yield "--fix of some rules changes its own outcome"


def _touched(document: Document, changes: list[edits.Edit]) -> set[int]:
    """The lines (1-based) of which an edit changes a character; inserting or removing whole lines touches no other."""
    text = document.text
    lines = set()
    for start, end, new in changes:
        removed = text[start:end]
        if start == end and (not text[start - 1 : start].strip("\r\n") or (new[:1] in "\r\n" and not text[start : start + 1].strip("\r\n"))):
            continue
        position = start
        for part in removed.splitlines(keepends=True) if removed.isascii() else _split(removed):
            if part.strip("\r\n"):
                lines.add(document.position(position)[0])
            position += len(part)
        if start == end:
            lines.add(document.position(start)[0])
    return lines


def _split(text: str) -> list[str]:
    import re

    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)


def _allowed(document: Document, new: Document) -> set[int]:
    """The lines that a change of these values may touch: theirs, with the comments around them, and their section's last one."""
    lines: set[int] = set()
    for path in _differences((), document.data, new.data):
        lines.update(_passed(document, path))
        if path and document.span(path, "entry") is None:
            # an entry that is added stands behind the last one
            while path and document.node(path) is None:
                path = path[:-1]
            holder = document.node(path)
            if holder is not None and holder.kind == "mapping" and holder.pairs:
                lines.update(_lines(document, (holder.pairs[-1][0].start, holder.pairs[-1][1].end)))
                continue
        span = document.span(path, "entry") if path else (0, len(document.text))
        node = document.node(path)
        if span is None or node is None:
            lines.update(range(1, document.position(len(document.text))[0] + 1))
            continue
        lines.update(_lines(document, span))
        nodes = [node]
        holder = document.node(path[:-1])
        for key, value in holder.pairs if holder is not None else ():
            if path and key.value == str(path[-1]):  # the other places of a key that is given twice
                lines.update(_lines(document, (key.start, value.end)))
                nodes.append(value)
        anchored = {id(below) for node in nodes for below in _below(node) if below.anchor}
        for other in _below(document.root):
            if other.target is not None and id(other.target) in anchored:
                lines.update(_lines(document, (other.start, other.end)))
    return lines


def _passed(document: Document, path: Path) -> Iterator[int]:
    """The lines of the aliases and merge keys through which a path leads."""
    for length in range(1, len(path) + 1):
        holder, node = document.node(path[: length - 1]), document.node(path[:length])
        if node is not None and node.kind == "alias":
            yield from _lines(document, (node.start, node.end))
        if holder is not None and holder.kind == "mapping" and node is not None and not any(value is node for _, value in holder.pairs):
            yield from _lines(document, (holder.start, holder.end))
            return


def _lines(document: Document, span: tuple[int, int]) -> Iterator[int]:
    first, last = document.position(span[0])[0], document.position(span[1])[0]
    while first > 1 and document.line_text(first - 1).strip().startswith("#"):
        first -= 1
    while document.line_text(last + 1).strip().startswith("#"):
        last += 1
    return iter(range(first, last + 1))


def _differences(path: Path, old: Any, new: Any) -> Iterator[Path]:
    """The paths that differ; the section itself when nothing of it is left or was there."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys().isdisjoint(new):
        if old != new:
            yield path
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            if key in old and key in new:
                yield from _differences((*path, key), old[key], new[key])
            else:
                yield (*path, key)
    elif not edits.equal(old, new):
        yield path


def _below(node: Any) -> Iterator[Any]:
    stack = [node]
    while stack:
        found = stack.pop()
        if found is not None:
            yield found
            stack.extend(child for pair in found.pairs for child in pair)
            stack.extend(found.items)


def reading(text: str) -> Any:
    """All that reading a text gives: the error with its line, or values, problems and the place of every node."""
    try:
        document = documents.from_text(text, "run.yaml")
    except InputError as error:
        return ("error", str(error), error.hint)
    nodes = [(n.kind, n.start, n.end, n.tag, n.value, n.style, n.flow, n.anchor) for n in _below(document.root)]
    return (repr(document.data), [(p.kind, p.path, p.start, p.end, p.message) for p in document.problems], nodes)


def parser_difference(text: str) -> str | None:
    """How reading differs between libyaml and PyYAML's own parser; None when it does not."""
    import yaml

    fast = reading(text)
    kept = yaml_nodes._Parser
    yaml_nodes._Parser = yaml.SafeLoader  # type: ignore[misc, assignment]
    try:
        slow = reading(text)
    finally:
        yaml_nodes._Parser = kept
    if fast == slow:
        return None
    for a, b in zip(fast, slow, strict=False):
        if isinstance(a, list) and isinstance(b, list):
            for x, y in zip([*a, None], [*b, None], strict=False):
                if x != y:
                    return f"{x} but {y} without libyaml"
        if a != b:
            return f"{str(a)[:200]} but {str(b)[:200]} without libyaml"
    return f"{str(fast)[:200]} but {str(slow)[:200]} without libyaml"
