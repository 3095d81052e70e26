"""Which Bridge release a config is of, where nobody says so."""

from __future__ import annotations

from typing import Any

from lclint.catalog import tables
from lclint.core.errors import UsageError

# rules and resolution are written for this one
NEWEST = "0.6"
# a saved config has every section of its release; one with fewer of them was cut down by hand and lacks them for that reason
WHOLE = 20


def named(version: str) -> str:
    """The release whose field tables serve a Bridge version such as 0.6.2.

    Raises UsageError for a release that the catalogue does not have.
    """
    release = ".".join(version.split(".")[:2])
    if release not in tables.releases():
        raise UsageError(f"no field tables for Megatron Bridge {version}", hint=f"there are tables for {', '.join(tables.releases())}")
    return release


def detect(data: Any) -> str:
    """The release that a loaded config fits best, the newest where several do or nothing tells.

    A saved config tells by its sections, its classes and its fields. An override file tells by classes alone: a field that the newest
    release no longer has is there more often a leftover than a sign of an old installation.
    """
    if data.__class__ is not dict:
        return NEWEST
    whole = sum(1 for section in data.values() if section.__class__ is dict and "_target_" in section) >= 3
    misfits = _misfits(data, NEWEST, whole)
    if not misfits:
        return NEWEST
    best = NEWEST
    for release in reversed(tables.releases()[:-1]):
        found = _misfits(data, release, whole)
        if found < misfits:
            best, misfits = release, found
    return best


def _misfits(data: dict[str, Any], release: str, whole: bool) -> int:
    """How much of the config the release does not have."""
    sections = tables.sections(release)
    found = 0
    if whole:
        missing = [name for name in sections if name not in data]
        if len(data) >= WHOLE:
            found += len(missing)
    for name, section in data.items():
        if name not in sections:
            found += whole and name != "_target_" and any(name in tables.sections(other) for other in tables.releases())
            continue
        target = section.get("_target_") if section.__class__ is dict else None
        if target.__class__ is not str or not target.startswith("megatron."):
            continue
        known = tables.section(release, name)
        fields = known.fields(target)
        if fields is None:
            fields = _by_other_path(known, release, target)
        if fields is None:
            found += 1
        elif whole:
            found += sum(1 for key in section if key not in fields and not str(key).startswith("_"))
    return found


def _by_other_path(section: tables.Section, release: str, target: str) -> dict[str, tables.Field] | None:
    from lclint.catalog import history

    return section.fields(history.path_of(target, release))
