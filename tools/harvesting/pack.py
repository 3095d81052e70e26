"""Write what was read as the compact files that ``lclint.catalog.tables`` loads.

A section's file holds each class as a difference to the ancestor that it resembles most:

    {"section": {...}, "owners": [import path, ...], "shapes": [[text, kinds, items, choices, nested], ...],
     "classes": {import path: [base or null, {field: [shape, owner, flags, default?, note?]}, [fields of base not here]]}}

``shape`` and ``owner`` are indices; of ``flags``, 1 means that the constructor does not take the field; a row without a
default is a required field. Bytes depend on the input alone: JSON without spaces, one class a line, no clock, no paths.
"""

from __future__ import annotations

import csv
import json
import pathlib
from collections.abc import Iterable
from typing import Any

from harvesting import shapes

Json = Any
NOT_INIT = 1


class Deprecations:
    """The hand-written notes on old names, ``tools/deprecations.csv``, as one release sees them."""

    def __init__(self, path: pathlib.Path, release: str) -> None:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [r for r in csv.DictReader(file) if version(r["since"]) <= version(release)]
        self._notes = {(r["class"], r["field"]): r["note"] for r in rows}
        self.used: set[tuple[str, str]] = set()

    def note(self, classes: Iterable[str], field: str) -> str | None:
        """Note on ``field`` of the first of ``classes`` (a class and its ancestors) that has one."""
        for name in classes:
            key = (simple(name), field)
            if key in self._notes:
                self.used.add(key)
                return self._notes[key]
        return None

    def unused(self) -> list[str]:
        """Notes on fields that no class of the release has: each is a slip of the pen."""
        return sorted(".".join(k) for k in self._notes.keys() - self.used)


class Tolerances:
    """``tools/tolerances.csv``: what Bridge takes beyond a field's annotation, as its own recipes show."""

    def __init__(self, path: pathlib.Path) -> None:
        with path.open(encoding="utf-8", newline="") as file:
            self._rows = {r["field"]: (r["kinds"].split(), r["choices"].split()) for r in csv.DictReader(file)}

    def widen(self, field: str, shape: dict[str, Json]) -> dict[str, Json]:
        """``shape`` with the tolerated kinds and values."""
        kinds, choices = self._rows.get(field, ([], []))
        if kinds and "any" not in shape["kinds"]:
            shape = {**shape, "kinds": shapes.in_order({*shape["kinds"], *kinds})}
        if choices and shape["choices"]:
            shape = {**shape, "choices": list(dict.fromkeys([*shape["choices"], *choices]))}
        return shape


def simple(name: str) -> str:
    """Last part of an import path."""
    return name.rpartition(".")[2]


def version(release: str) -> tuple[int, ...]:
    """``"0.6"`` -> ``(0, 6)``."""
    return tuple(int(p) for p in release.split("."))


def rows_of(raw: Json, name: str, notes: Deprecations, tolerances: Tolerances) -> dict[str, Json]:
    """Rows of a class by field name, with the shape and the owner still spelled out."""
    record = raw["classes"][name]
    lineage = [name, *record["mro"]]
    rows: dict[str, Json] = {}
    for field in record["fields"]:
        shape = tolerances.widen(field["name"], field["shape"])
        packed = [shape[k] or None for k in ("text", "kinds", "items", "choices", "nested")]
        row = [packed, field["owner"], 0 if field["init"] else NOT_INIT]
        note = notes.note(lineage, field["name"])
        if "default" in field:
            row.append(field["default"])
        if note is not None:
            row.extend([None] * (4 - len(row)) + [note])
        rows[field["name"]] = row
    for alias in record["aliases"]:
        note = notes.note(lineage, alias) or "an old name, settable as an attribute only"
        rows[alias] = [["old name", ["any"], None, None, None], name, NOT_INIT, None, note]
    return rows


def delta(rows: dict[str, Json], base: dict[str, Json]) -> tuple[dict[str, Json], list[str]]:
    """What makes ``rows`` out of ``base``: the rows that differ or are new, and the names that are gone."""
    return {f: r for f, r in rows.items() if base.get(f) != r}, [f for f in base if f not in rows]


def section_file(raw: Json, name: str, notes: Deprecations, tolerances: Tolerances) -> Json:
    """The file of one section: its classes, their ancestors and every config class that a field of theirs may hold."""
    section = raw["sections"][name]
    wanted: list[str] = []
    queue = list(section["classes"])
    while queue:
        one = queue.pop(0)
        if one in wanted:
            continue
        wanted.append(one)
        queue.extend(c for f in raw["classes"][one]["fields"] for c in f["shape"]["nested"])
    tables = {c: rows_of(raw, c, notes, tolerances) for c in wanted}
    for name_of_class in list(tables):
        for ancestor in raw["classes"][name_of_class]["mro"]:
            if ancestor not in tables:
                tables[ancestor] = rows_of(raw, ancestor, notes, tolerances)
    owners: dict[str, int] = {}
    shape_ids: dict[str, int] = {}
    kept: dict[str, Json] = {}
    needed = list(wanted)
    while needed:
        one = needed.pop(0)
        if one in kept:
            continue
        base, changed, gone = _smallest(raw, one, tables)
        for field, row in changed.items():
            shape_id = shape_ids.setdefault(json.dumps(row[0]), len(shape_ids))
            changed[field] = [shape_id, owners.setdefault(row[1], len(owners)), *row[2:]]
        kept[one] = [base, changed, gone] if gone else [base, changed]
        if base is not None:
            needed.append(base)
    return {
        "section": {"classes": section["classes"], "nested": [c for c in wanted if c not in section["classes"]]},
        "owners": list(owners),
        "shapes": [json.loads(s) for s in shape_ids],
        "classes": kept,
    }


def _smallest(raw: Json, name: str, tables: dict[str, Json]) -> tuple[str | None, dict[str, Json], list[str]]:
    changed, gone = delta(tables[name], {})
    best: tuple[str | None, dict[str, Json], list[str]] = (None, changed, gone)
    for ancestor in raw["classes"][name]["mro"]:
        changed, gone = delta(tables[name], tables[ancestor])
        if len(changed) + len(gone) < len(best[1]) + len(best[2]):
            best = (ancestor, changed, gone)
    return best


def index_file(raw: Json, versions: dict[str, str]) -> Json:
    """Sections by name with what a config without them gets, and the versions that were read."""
    sections = {}
    for name, section in raw["sections"].items():
        sections[name] = [section["default"], section["shape"]["kinds"], section["required"]]
    return {"versions": versions, "sections": sections}


def names_file(raw: Json) -> Json:
    """Field names grouped by the sections that have them: ``[[sections], [fields]]`` pairs."""
    where: dict[str, list[str]] = {}
    for name, section in raw["sections"].items():
        for cls in section["classes"]:
            record = raw["classes"][cls]
            for field in [*(f["name"] for f in record["fields"]), *record["aliases"]]:
                if name not in where.setdefault(field, []):
                    where[field].append(name)
    groups: dict[tuple[str, ...], list[str]] = {}
    for field in sorted(where):
        groups.setdefault(tuple(where[field]), []).append(field)
    return [[list(k), v] for k, v in sorted(groups.items())]


def presets_file(raw: Json) -> Json:
    """Mixed-precision presets: every field of the first, then for each the fields that differ from it."""
    presets = raw["presets"]
    first = presets[next(iter(presets))]
    return {"base": first, "presets": {n: {f: v for f, v in p.items() if v != first[f]} for n, p in presets.items()}}


def write(path: pathlib.Path, content: Json, levels: int = 2) -> None:
    """Write JSON, a line for each entry of the first levels: small, yet reviewable as a diff."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_render(content, levels) + "\n", encoding="utf-8")


def _render(content: Json, levels: int) -> str:
    if levels and isinstance(content, dict) and content:
        return "{" + ",".join(f"\n{json.dumps(k)}:{_render(v, levels - 1)}" for k, v in content.items()) + "}"
    if levels and isinstance(content, list) and content:
        return "[" + ",".join("\n" + _render(v, 0) for v in content) + "]"
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def write_release(raw: Json, versions: dict[str, str], release: str, tools: pathlib.Path, out: pathlib.Path) -> list[str]:
    """Write every file of ``release`` below ``out``, remove what the release no longer has; returns unused notes."""
    notes = Deprecations(tools / "deprecations.csv", release)
    tolerances = Tolerances(tools / "tolerances.csv")
    files = {"index.json": index_file(raw, versions), "names.json": names_file(raw), "presets.json": presets_file(raw)}
    for name in raw["sections"]:
        files[f"{name}.json"] = section_file(raw, name, notes, tolerances)
    for name, content in files.items():
        write(out / release / name, content)
    for path in (out / release).glob("*.json"):
        if path.name not in files:
            path.unlink()
    return notes.unused()
