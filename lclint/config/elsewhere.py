"""Records of keys, sections and classes that another Bridge release has: when, and what took their place.

Imported only when something does not fit the release that a run is checked for.
"""

from __future__ import annotations

from typing import Any

from lclint.catalog import history, tables
from lclint.config.run import BELOW, Run
from lclint.core.states import UNKNOWN

Record = dict[str, Any]


def field(run: Run, section: str, name: str, key: str) -> Record | None:
    """The record of a key that the section had, or will have, in another release; None for one that no release knows."""
    parent = name.rpartition(".")[0]
    known = parent == section
    change = history.after(name, run.release) if known else None
    had = history.with_field(section, key, run.written.get(f"{parent}._target_"), not known)
    if not had and change is not None:
        # by a class whose place another has taken
        had = history.with_field(section, key, None, False)
    releases = tuple(release for release in had if release != run.release)
    if not releases or (run.release in had and change is None):
        return None
    newer = not history.older(releases[0], run.release)
    how, new, note = ("gone", None, "") if change is None else (change.how, change.new, change.note)
    if newer and known:
        new = history.before(name, run.release)
        how = "gone" if new is None else "rename"
    if new is not None and new.partition(".")[2] not in (_fields(run, section) or {}):
        # the class at hand is not the one that has it
        new, how = None, "gone"
    value = run.written[name]
    return {
        "path": name,
        "key": key,
        "value": value,
        "mapping": value.__class__ is dict,
        "typed": value.__class__ is dict and "_target_" in value,
        "packs": _packs(value),
        "release": run.release,
        "there": history.span(releases),
        "newer": newer,
        "new": new,
        "how": how,
        "more": f"; {note}" if note else "",
        "taken": new is not None and new in run.written and run.origins.get(new) not in BELOW,
        "harmless": value is not UNKNOWN and not newer and _as_default(run, section, key, releases[-1], value, new),
    }


def section(run: Run, name: str) -> Record | None:
    """The record of a section that another release has."""
    releases = history.with_section(name)
    if not releases:
        return None
    record: Record = dict.fromkeys(("value", "new", "more"))
    return record | {
        "path": name,
        "key": name,
        "mapping": True,
        "typed": False,
        "release": run.release,
        "there": history.span(releases),
        "newer": not history.older(releases[0], run.release),
        "how": "section",
        "taken": False,
        "harmless": False,
    }


def kind_of_class(run: Run, section: str, name: str) -> Record | None:
    """The record of a ``_target_`` that the section could have in another release only; None for one that no release knows."""
    target = run.written[name]
    releases = history.with_class(section, target)
    if not releases or history.path_of(target, run.release) != target:
        return None
    new, how, note = history.class_after(target, run.release)
    return {
        "path": name,
        "place": name.rpartition(".")[0],
        "target": target,
        "short": target.rpartition(".")[2],
        "release": run.release,
        "there": history.span(releases),
        "newer": not history.older(releases[0], run.release),
        "new": new,
        "new_short": None if new is None else new.rpartition(".")[2],
        "how": how,
        "more": f"; {note}" if note else "",
    }


def _packs(specs: Any) -> bool:
    """Whether packed_sequence_specs of that value turned packing on (bridge training/config.py:1338, 0.5.1)."""
    if specs.__class__ is not dict:
        return specs is not None
    # what an override leaves out stands in its base
    size = specs.get("packed_sequence_size", -1 if "_target_" in specs else 1)
    return size.__class__ is not int or size > 0


def _fields(run: Run, section: str) -> dict[str, tables.Field] | None:
    known = tables.section(run.release, section)
    target = run.written.get(f"{section}._target_")
    return known.fields(history.path_of(target, run.release)) if target.__class__ is str else known.fields()


def _as_default(run: Run, section: str, key: str, release: str, value: Any, new: str | None) -> bool:
    """Whether nothing changes with the key: it has the default of its release, and what took its place has the same."""
    old = (tables.section(release, section).fields() or {}).get(key)
    if old is None or old.required or not _same(old.default, value):
        return False
    if new is None or history.after(f"{section}.{key}", run.release) is None:
        return True
    field = (_fields(run, section) or {}).get(new.partition(".")[2])
    return field is not None and not field.required and (_same(field.default, value) or key in _CONVERTED)


# whose defaults mean the same on both sides of the change
_CONVERTED = ("preserve_fp32_weights", "packed_sequence_specs", "skip_test")


def _same(left: Any, right: Any) -> bool:
    return left is right or (left.__class__ is right.__class__ and bool(left == right))
