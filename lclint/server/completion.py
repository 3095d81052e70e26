"""Keys, values and words of lclint's own comments that can stand at the cursor."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from lsprotocol import types

from lclint.catalog import recipes, tables
from lclint.config import build
from lclint.config.header import OPTIONS
from lclint.config.identify import identify
from lclint.config.release import NEWEST
from lclint.config.run import Run
from lclint.core.errors import LclintError
from lclint.core.states import UNKNOWN
from lclint.report.text import literal
from lclint.server import fields
from lclint.server.analysis import Analysis
from lclint.server.cursor import MARK, Cursor, find

# more than a person reads; the client asks again when another letter narrows them down
MOST_ITEMS = 200
_OPTION = re.compile(r"([\w-]+)=$")
_IGNORED = re.compile(r"ignore(?:-file)?\[[^\]]*$")
Kind = types.CompletionItemKind
# a label, what is inserted for it, its kind, and what is said beside it
Offer = tuple[str, str, types.CompletionItemKind, str]


def complete(analysis: Analysis, offset: int) -> types.CompletionList | None:
    """What can stand at the offset; None where nothing of Megatron's can."""
    cursor = find(analysis.text, offset, analysis.path)
    if cursor is None:
        return None
    if cursor.kind == "comment":
        offers = _comment(analysis, cursor)
    else:
        run = _run(analysis, cursor)
        if run is None:
            return None
        offers = _keys(run, cursor) if cursor.kind == "key" else _values(run, cursor)
    fitting = [offer for offer in offers if _fits(cursor.typed, offer[0])]
    place = analysis.text.range(cursor.start, cursor.end)
    # what begins as typed comes first; the order within is the catalogue's
    fitting.sort(key=lambda offer: not offer[0].startswith(cursor.typed))
    items = [
        types.CompletionItem(label, kind=kind, detail=detail or None, sort_text=f"{number:04}", text_edit=types.TextEdit(place, insert))
        for number, (label, insert, kind, detail) in enumerate(fitting[:MOST_ITEMS])
    ]
    return types.CompletionList(len(fitting) > MOST_ITEMS, items)


def _fits(typed: str, label: str) -> bool:
    """Whether the letters typed occur in the label in their order, as editors match them."""
    rest = iter(label.lower())
    return all(letter in rest for letter in typed.lower())


def _run(analysis: Analysis, cursor: Cursor) -> Run | None:
    """The run of the text with the mark in it; None when it is no config, not even one that has just been begun."""
    assert cursor.document is not None
    data = cursor.document.data
    if data.__class__ is not dict:
        return None
    try:
        options = analysis.options
        if analysis.run is not None:
            # the mark is no field of any release: what the text is, it is without it
            kind, release = analysis.run.kind, analysis.run.release
        else:
            release = build.release_of(options, data)
            kind = identify(data, release)[0]
        if kind == "none":
            keys = [key for key in data if key != MARK]
            begun = bool(keys) and all(key in tables.sections(release) for key in keys)
            if not begun and not (analysis.is_config or cursor.document.directives()):
                return None
            kind = "override"
        run = build.from_document(cursor.document, options, analysis.per_file.base(options), kind, release, tolerant=True)[0]
    except LclintError:
        return None
    return None if run is None or run.kind == "megatron-args" else run


def _keys(run: Run, cursor: Cursor) -> Iterator[Offer]:
    assert cursor.document is not None
    holder = cursor.document.data
    for part in cursor.path:
        holder = holder[part]
    present = {str(key) for key in holder} if holder.__class__ is dict else set()
    name = ".".join(str(part) for part in cursor.path)
    end = "" if cursor.colon else ": "
    if not name:
        for section in tables.sections(run.release):
            if section not in present:
                yield section, section + end.rstrip(), Kind.Module, "section"
        return
    for key, field in fields.below(run, name).items():
        if key not in present and field.init and field.deprecated is None:
            default = "required" if field.required else "" if field.default is UNKNOWN else f" = {literal(field.default)}"
            yield key, key + end, Kind.Field, f"{field.type}{default}"[:100]
    if fields.values(run, f"{name}._target_") and "_target_" not in present:
        yield "_target_", "_target_" + end, Kind.Field, "class"


def _values(run: Run, cursor: Cursor) -> Iterator[Offer]:
    name = ".".join(str(part) for part in cursor.path if part.__class__ is not int)
    in_list = bool(cursor.path) and cursor.path[-1].__class__ is int
    for value in fields.values(run, name):
        if in_list and (value is None or value.__class__ is bool):
            continue
        kind = Kind.Class if name.endswith("_target_") else Kind.Keyword if value is None or value.__class__ is bool else Kind.EnumMember
        yield literal(value), literal(value), kind, ""


def _comment(analysis: Analysis, cursor: Cursor) -> Iterable[Offer]:
    option = _OPTION.search(cursor.comment)
    if option is not None:
        return _option(option.group(1))
    if _IGNORED.search(cursor.comment):
        try:
            rules = analysis.rules
        except LclintError:
            return ()
        return [(rule.name, rule.name, Kind.Reference, rule.title) for rule in rules]
    if cursor.comment.strip():
        words: list[Any] = [f"{name}=" for name in OPTIONS] if "=" in cursor.comment else []
    else:
        words = [*(f"{name}=" for name in OPTIONS), "ignore[", "ignore-file["]
    return [(word, word, Kind.Keyword, "") for word in words if word not in cursor.comment]


def _option(name: str) -> Iterable[Offer]:
    if name == "recipe":
        return [(recipe, recipe, Kind.Value, "") for recipe in recipes.names(NEWEST)]
    if name == "gpu":
        return [(key, key, Kind.Value, gpu.name) for key, gpu in tables.gpus().items() if key == gpu.key]
    return ()
