"""What a run would be after symbolic changes to its fields: the counterfactual behind every fix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lclint.catalog import tables
from lclint.config.resolve import resolve
from lclint.config.run import BELOW, Run
from lclint.core.states import State


def changed(
    run: Run,
    values: Mapping[str, Any] = {},
    remove: Iterable[str] = (),
    rename: Mapping[str, str] = {},
    lists: Iterable[tuple[str, str, Any]] = (),
    env: Mapping[str, str] = {},
) -> Run:
    """A copy of the run with those changes made in its file, resolved anew.

    ``values`` sets fields, ``remove`` drops them (the base's value or the class's default comes back), ``rename`` maps a field to its
    new name, ``lists`` holds ``(append|discard|replace, field, element)``, ``env`` sets variables.
    """
    new = Run(run.kind, run.path, run.document)
    for name in ("release", "complete", "given", "environment_complete", "base", "base_origin", "recipe", "problems", "crash", "crash_differences"):
        setattr(new, name, getattr(run, name))
    new.environment = {**run.environment, **env}
    new.origins = dict(run.origins)
    new.written = written = dict(run.written)
    for old, to in rename.items():
        for name in [key for key in written if key == old or key.startswith(old + ".")]:
            written[to + name[len(old) :]] = written.pop(name)
            new.origins[to + name[len(old) :]] = new.origins.pop(name, "file")
    for name in remove:
        _remove(new, name)
    for name, value in values.items():
        _set(new, name, value)
    for operation, name, value in lists:
        items = written.get(name)
        if items.__class__ is list:
            written[name] = changed_list(items, operation, value)
            new.origins[name] = "file"
    new.problems = [problem for problem in run.problems if problem.kind != "classless-section" or _classless(new, problem.path)]
    resolve(new)
    return new


def _classless(run: Run, section: str) -> bool:
    """Whether a section that an override made a plain mapping still is one."""
    return run.written.get(section).__class__ is dict and f"{section}._target_" not in run.written


def changed_list(items: list[Any], operation: str, value: Any) -> list[Any]:
    """The list after one element operation; ``replace`` takes ``(old, new)``."""
    if operation == "append":
        return [*items, value] if value not in items else items
    if operation == "discard":
        return [item for item in items if item != value]
    return [value[1] if item == value[0] else item for item in items]


def default(run: Run, name: str) -> tuple[bool, Any]:
    """``(known, value)`` of a field's default in its section's class."""
    section, _, field = name.partition(".")
    target = section_class(run, section)
    if target is None or section not in tables.sections(run.release):
        return False, None
    fields = tables.section(run.release, section).fields(target)
    found = fields.get(field) if fields else None
    return (False, None) if found is None or found.required else (True, found.default)


def section_class(run: Run, section: str) -> str | None:
    """The class that a section has in this run, by its ``_target_`` or as the only one there is."""
    target = run.written.get(f"{section}._target_")
    if target.__class__ is str:
        return str(target)
    if section not in tables.sections(run.release):
        return None
    classes = tables.section(run.release, section).classes
    return tables.sections(run.release)[section] or (classes[0] if len(classes) == 1 else None)


def _set(run: Run, name: str, value: Any) -> None:
    written = run.written
    section = name.partition(".")[0]
    if name.startswith("env."):
        run.environment[name[4:]] = str(value)
        return
    if "." in name and written.get(section) is None and run.complete:
        # an optional section that is off: it comes into being with its class and defaults
        target = section_class(run, section)
        fields = tables.section(run.release, section).fields(target) if target is not None else None
        written[section] = {"_target_": target}
        written[f"{section}._target_"] = target
        for field in (fields or {}).values():
            written[f"{section}.{field.name}"] = field.default
        run.origins[section] = "file"
    _drop_below(run, name)
    written[name] = value
    run.origins[name] = "file"


def _drop_below(run: Run, name: str) -> None:
    for child in [key for key in run.written if key.startswith(name + ".")]:
        del run.written[child]
        run.origins.pop(child, None)


def _remove(run: Run, name: str) -> None:
    if name.startswith("env."):
        run.environment.pop(name[4:], None)
        return
    written = run.written
    _drop_below(run, name)
    origin = run.origins.pop(name, None)
    written.pop(name, None)
    if run.base is not None and name in run.base and origin not in BELOW:
        for key, value in run.base.items():
            if key == name or key.startswith(name + "."):
                written[key] = value
                run.origins[key] = run.base_origin
    elif run.complete:
        known, value = default(run, name)
        if known and value.__class__ is not State:
            written[name] = value
