"""For every field of a run: the value that Bridge will use, and where that comes from."""

from __future__ import annotations

from typing import Any

from lclint.catalog import tables
from lclint.config.keys import closest
from lclint.config.run import Run
from lclint.core.errors import UsageError
from lclint.core.finding import Place, Record
from lclint.core.states import NOT_APPLICABLE, UNKNOWN, State

PRESET = "the preset "


class Value(Record):
    """One field and what becomes of it.

    ``value`` may be UNKNOWN or NOT_APPLICABLE (nothing reads the field). ``was`` is what the config holds, UNKNOWN where it holds nothing.
    ``place`` says where that stands; its origin is file, set, base, or default for what nobody wrote. ``reasons`` are Bridge's own, in order.
    ``override`` is the text of the override that gave the value.
    """

    __slots__ = ("field", "value", "was", "place", "reasons", "override")
    field: str
    value: Any
    was: Any
    place: Place
    reasons: list[str]
    override: str | None
    defaults = {"was": UNKNOWN, "reasons": [], "override": None}

    @property
    def written(self) -> bool:
        return self.was is not UNKNOWN

    @property
    def changed(self) -> bool:
        """Whether Bridge uses something else than what is written."""
        return self.written and not _same(self.value, self.was)


class Resolved(Record):
    """What Bridge makes of one config.

    ``base`` is the path of the base, ``recipe`` the name of the published recipe in its place. ``problems`` are overrides that do not count.
    """

    __slots__ = ("path", "kind", "bridge_version", "gpu", "gpus", "base", "recipe", "values", "problems")
    path: str
    kind: str
    bridge_version: str
    gpu: str | None
    gpus: int | None
    base: str | None
    recipe: str | None
    values: list[Value]
    problems: list[str]
    defaults = {"gpu": None, "gpus": None, "base": None, "recipe": None, "problems": []}

    def by_user(self, value: Value) -> bool:
        """Whether it is the user's wish: of an override file or the command line, not of a saved config."""
        return value.place.origin == "set" or (value.place.origin == "file" and self.kind in ("override", "overrides"))

    @property
    def has_base(self) -> bool:
        return self.base is not None or self.recipe is not None

    def telling(self) -> list[Value]:
        """What differs from what is written, and over a base also all that the user gave.

        Left out is what nothing reads, unless the user wrote it, and what a preset's name stands for.
        """
        return [value for value in self.values if self._tells(value)]

    def _tells(self, value: Value) -> bool:
        if self.by_user(value) and (self.has_base or value.changed):
            return True
        if value.value is NOT_APPLICABLE:
            return False
        return value.changed or (not value.written and bool(value.reasons) and not value.reasons[0].startswith(PRESET))


def explain(run: Run, base: str | None = None) -> Resolved:
    """The account of a run; ``base`` is the path of the file below it."""
    reasons: dict[str, list[str]] = {}
    for change in run.changes:
        reasons.setdefault(change.name, []).append(change.why)
    gpu, gpus = run.given.get("gpu.name"), run.given.get("cluster.gpus")
    return Resolved(
        path=run.path,
        kind=run.kind,
        bridge_version=run.release,
        gpu=gpu if isinstance(gpu, str) else None,
        gpus=gpus if isinstance(gpus, int) else None,
        base=base,
        recipe=run.recipe,
        values=[_value(run, name, reasons.get(name, []), base) for name in sorted(run.resolved) if _is_leaf(run, name)],
        problems=[problem.text for problem in run.problems if problem.kind in ("override", "dropped")],
    )


def explain_field(run: Run, name: str) -> Value:
    """The account of one field, which need not be in the config."""
    if name in run.resolved:
        return _value(run, name, [change.why for change in run.changes if change.name == name], None)
    return Value(field=name, value=run.missing(name), place=Place(at=name, origin="default"))


def _is_leaf(run: Run, name: str) -> bool:
    """Whether the name is a value of its own, not a section or the name of a class."""
    if name.endswith("_target_"):
        return False
    value = run.resolved[name]
    return value.__class__ is not dict or (not any(key != "_target_" for key in value) and "." in name)


def _value(run: Run, name: str, reasons: list[str], base: str | None) -> Value:
    was = run.written.get(name, UNKNOWN)
    place = run.place(name)
    place.path = base if place.origin == "base" else place.path if place.origin == "file" else None
    if was is UNKNOWN and not reasons:
        preset = run.written.get(name.partition(".")[0])
        reasons = [f"{PRESET}{preset}"] if preset.__class__ is str else []
    return Value(field=name, value=run.resolved[name], was=was, place=place, reasons=reasons, override=run.sets.get(name))


def _same(left: Any, right: Any) -> bool:
    if left.__class__ is State or right.__class__ is State:
        return left is right
    return left.__class__ is right.__class__ and bool(left == right)


def named(run: Run, resolved: Resolved, names: list[str]) -> list[Value]:
    """The values of the named fields and sections, in the order of the names.

    A field that the config could hold and does not is unknown, or not applicable in a full config. Raises UsageError for one that does not exist.
    """
    found: dict[str, Value] = {}
    for name in names:
        below = [value for value in resolved.values if value.field == name or value.field.startswith(name + ".")]
        if not below:
            if not _exists(run, name):
                raise UsageError(f"no such field: {name}", hint=_hint(run, name))
            below = [explain_field(run, name)]
        found.update((value.field, value) for value in below)
    return list(found.values())


def _exists(run: Run, name: str) -> bool:
    section, _, field = name.partition(".")
    if section not in tables.sections(run.release):
        return False
    return not field or section == "env_vars" or field in _fields(run, section)


def _fields(run: Run, section: str) -> list[str]:
    table = tables.section(run.release, section)
    return list(table.fields() or {}) if table.classes else []


def _hint(run: Run, name: str) -> str | None:
    section, _, field = name.partition(".")
    sections = tables.sections(run.release)
    if section in sections:
        close = closest(field, _fields(run, section)) if field else None
        elsewhere = tables.field_sections(run.release).get(field, ()) if close is None else ()
        close = f"{section}.{close}" if close else f"{elsewhere[0]}.{field}" if elsewhere else None
    else:
        leaf = field or section
        homes = [home for home in tables.field_sections(run.release).get(leaf, ()) if home in sections]
        close = f"{homes[0]}.{leaf}" if homes else closest(section, list(sections))
        if close in sections and field:
            close = f"{close}.{field}"
    return f"did you mean {close}?" if close else None
