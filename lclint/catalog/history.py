"""What became of fields and classes from one Bridge release to the next; imported only where something does not fit a release.

Which release has which field is read from the field tables themselves. What took a name's place is ``data/history.json``, made of
``tools/renames.csv`` and ``tools/classes.csv``.
"""

from __future__ import annotations

from typing import Any

from lclint.catalog import tables
from lclint.catalog.tables import Section


class Renamed:
    """What took the place of a field after release ``last``.

    ``new`` is ``section.field`` or None where nothing did; ``how`` is rename (the value stays), convert (it changes) or gone.
    """

    __slots__ = ("last", "new", "how", "note")

    def __init__(self, row: list[Any]) -> None:
        self.last: str
        self.new: str | None
        self.how: str
        self.note: str
        self.last, self.new, self.how, self.note = row


def after(name: str, release: str) -> Renamed | None:
    """What became of the field ``section.field`` by ``release``, None where the table says nothing."""
    row = tables.history()["fields"].get(name)
    return Renamed(row) if row is not None and older(row[0], release) else None


def before(name: str, release: str) -> str | None:
    """The name that a field has in an older release in which it was called otherwise."""
    for old, row in tables.history()["fields"].items():
        if row[1] == name and row[2] == "rename" and not older(row[0], release):
            return str(old)
    return None


_field_names: dict[tuple[Section, str | None, bool], frozenset[str]] = {}
_MOST_FIELD_NAMES = 1_000
_releases: dict[tuple[str, str, str | None, bool], tuple[str, ...]] = {}
_MOST_KEYS = 20_000


def with_field(section: str, key: str, target: Any, nested: bool) -> tuple[str, ...]:
    """Releases in which a class of that short name, or for no class any class of the section, has the field; oldest first."""
    short = target.rpartition(".")[2] if target.__class__ is str else None
    found = _releases.get((section, key, short, nested))
    if found is None:
        if len(_releases) > _MOST_KEYS:
            _releases.clear()
        there = [release for release in tables.releases() if section in tables.sections(release)]
        found = tuple(release for release in there if _has(tables.section(release, section), key, short, nested))
        _releases[section, key, short, nested] = found
    return found


def _has(section: Section, key: str, short: str | None, nested: bool) -> bool:
    known = _field_names.get((section, short, nested))
    if known is None:
        named = [name for name in (*section.classes, *section.nested) if name.rpartition(".")[2] == short]
        classes = named or (section.nested if nested else section.classes)
        known = frozenset(field.name for name in classes for field in (section.fields(name) or {}).values() if field.init)
        if len(_field_names) > _MOST_FIELD_NAMES:
            _field_names.clear()
        _field_names[section, short, nested] = known
    return key in known


def with_class(section: str, target: str) -> tuple[str, ...]:
    """Releases in which the section can be of that class, oldest first."""
    found = []
    for release in tables.releases():
        if section in tables.sections(release):
            known = tables.section(release, section)
            if target in known.classes or target in known.nested:
                found.append(release)
    return tuple(found)


def with_section(name: str) -> tuple[str, ...]:
    """Releases whose configs have the section, oldest first."""
    return tuple(release for release in tables.releases() if name in tables.sections(release))


def path_of(target: str, release: str) -> str:
    """The class behind an import path that the release keeps for it; the path itself where it is none of those."""
    row = tables.history()["classes"].get(target)
    return str(row[1]) if row is not None and row[2] == "alias" and older(row[0], release) else target


def class_after(target: str, release: str) -> tuple[str | None, str, str]:
    """``(class, how, note)``: what took the place of a class by that release; ``how`` is alias, moved, like or gone."""
    rows = tables.history()["classes"]
    row = rows.get(target)
    if row is None:
        module = target.rpartition(".")[0]
        row = rows.get(f"{module}.*")
    if row is None or not older(row[0], release):
        return None, "gone", ""
    return row[1], row[2], row[3]


def older(left: str, right: str) -> bool:
    """Whether release ``left`` came before ``right``."""
    return [int(part) for part in left.split(".")] < [int(part) for part in right.split(".")]


def span(releases: tuple[str, ...]) -> str:
    """``0.3 to 0.5``, ``0.4`` or ``0.5 and later``, as messages name releases in a row."""
    first, last = releases[0], releases[-1]
    if last == tables.releases()[-1]:
        return f"{first} and later" if first != last else last
    return first if first == last else f"{first} to {last}"
