"""Write what became of fields and classes between releases: ``tools/renames.csv`` and ``tools/classes.csv`` against the field tables.

    {"fields": {"section.field": [last release, new name or null, how, note]}, "classes": {import path: [the same]}}

A class may stand for all others of its module (``module.*``).
"""

from __future__ import annotations

import csv
import pathlib
from typing import Any

from lclint.catalog import tables

Json = Any


def read(tools: pathlib.Path) -> Json:
    """The content of ``history.json``. Raises SystemExit for a row that the field tables contradict."""
    faults: list[str] = []
    fields = {}
    for row in _rows(tools / "renames.csv"):
        name = f"{row['section']}.{row['field']}"
        faults += _field_faults(name, row)
        fields[name] = [row["last"], row["new"] or None, row["how"], row["note"]]
    classes = {}
    for row in _rows(tools / "classes.csv"):
        faults += _class_faults(row)
        classes[row["class"]] = [row["last"], row["new"] or None, row["how"], row["note"]]
    if faults:
        raise SystemExit("\n".join(faults))
    return {"fields": fields, "classes": classes}


def _rows(path: pathlib.Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _field_faults(name: str, row: dict[str, str]) -> list[str]:
    faults = []
    if row["last"] not in _with_field(name):
        faults.append(f"{name}: release {row['last']} does not have it")
    if row["new"] and tables.releases()[-1] not in _with_field(row["new"]):
        faults.append(f"{name}: the newest release has no {row['new']}")
    if row["how"] not in ("rename", "convert", "gone") or (row["how"] == "gone") == bool(row["new"]):
        faults.append(f"{name}: {row['how']} to {row['new'] or 'nothing'}")
    return faults


def _with_field(name: str) -> list[str]:
    section, _, field = name.partition(".")
    return [r for r in tables.releases() if section in tables.sections(r) and _declares(tables.section(r, section), field)]


def _declares(section: tables.Section, field: str) -> bool:
    return any((found := (section.fields(name) or {}).get(field)) is not None and found.init for name in section.classes)


def _class_faults(row: dict[str, str]) -> list[str]:
    name, newest = row["class"], tables.releases()[-1]
    known = {release: _classes(release) for release in tables.releases()}
    faults = []
    here = [c for c in known[row["last"]] if c == name or (name.endswith(".*") and c.startswith(name[:-1]))]
    if not here:
        faults.append(f"{name}: release {row['last']} does not have it")
    if row["new"] and row["new"] not in known[newest]:
        faults.append(f"{name}: the newest release has no {row['new']}")
    if name in known[newest]:
        faults.append(f"{name}: the newest release still has it")
    if row["how"] not in ("alias", "moved", "like", "gone"):
        faults.append(f"{name}: {row['how']} is no way to go")
    return faults


def _classes(release: str) -> set[str]:
    found: set[str] = set()
    for section in tables.sections(release):
        known = tables.section(release, section)
        found.update(known.classes, known.nested)
    return found


def missing() -> list[str]:
    """Fields and classes that some release had and the newest has not, and of which the tables say nothing."""
    newest = tables.releases()[-1]
    history = tables.history()
    left = []
    for release in tables.releases()[:-1]:
        for name in sorted(_classes(release) - _classes(newest)):
            if name not in history["classes"] and f"{name.rpartition('.')[0]}.*" not in history["classes"]:
                left.append(name)
        for section in tables.sections(release):
            for field in tables.section(release, section).fields() or {}:
                name = f"{section}.{field}"
                if release in _with_field(name) and newest not in _with_field(name) and name not in history["fields"]:
                    left.append(name)
    return sorted(set(left))
