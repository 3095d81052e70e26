"""What the catalogue knows of the fields that may stand in an open file."""

from __future__ import annotations

import re
from typing import Any

from lclint.catalog import tables
from lclint.catalog.tables import Field
from lclint.config.keys import fields_below
from lclint.config.resolving.state import COMMON_CLASSES
from lclint.config.run import Run
from lclint.facts import offload, recompute

# words of Field.type that name a kind of value and no value
_KINDS = frozenset(("str", "int", "float", "bool", "null", "list", "dict", "dtype", "function", "anything", "path", "old name"))
_VALUE = re.compile(r"[a-z][a-z0-9_-]*")
# the annotation says text, the start-up takes these names
MODULES = {"model.recompute_modules": recompute.ALLOWED, "model.offload_modules": offload.ALLOWED}


def below(run: Run, parent: str) -> dict[str, Field]:
    """The fields that may stand below a section or a nested object, by its class where that is known; empty where any key may."""
    section = parent.partition(".")[0]
    if section not in tables.sections(run.release):
        return {}
    table = tables.section(run.release, section)
    if not table.classes:
        return {}
    known = fields_below(run, table, parent) or {}
    usual = COMMON_CLASSES.get(section)
    if usual is not None and parent == section and f"{section}._target_" not in run.written:
        # the class is not said: what most have comes first, and as most have it
        return (table.fields(usual) or {}) | {name: field for name, field in known.items() if name not in (table.fields(usual) or {})}
    return known


def field(run: Run, name: str) -> Field | None:
    """The field of that name."""
    parent, _, key = name.rpartition(".")
    return below(run, parent).get(key) if parent else None


def values(run: Run, name: str) -> list[Any]:
    """The values that the catalogue names for a field, a section's preset or a class; empty where any may be."""
    section, _, key = name.partition(".")
    if name.endswith("._target_"):
        return _classes(run, name.rpartition(".")[0])
    if not key:
        return [preset for preset in tables.precision_presets(run.release) if "-" not in preset] if section == "mixed_precision" else []
    found = field(run, name)
    if found is None:
        return []
    known: list[Any] = list(found.choices or ())
    if found.choices is None:
        # a field that takes more than these: its type still names them
        words = [word.removeprefix("list of ") for word in found.type.split(" | ")]
        words += MODULES.get(name, ())
        known += [word for word in dict.fromkeys(words) if word not in _KINDS and _VALUE.fullmatch(word) and word not in ("true", "false")]
    if "bool" in found.kinds:
        known += [True, False]
    if "null" in found.kinds:
        known.append(None)
    return known


def _classes(run: Run, parent: str) -> list[Any]:
    section = parent.partition(".")[0]
    if section not in tables.sections(run.release):
        return []
    if parent == section:
        return list(tables.section(run.release, section).classes)
    found = field(run, parent)
    return list(found.nested) if found is not None else []
