"""Lowers a symbolic fix to edits of the config file, and proves them by reading the new text."""

from __future__ import annotations

import re
from typing import Any

from lclint.catalog import tables
from lclint.config.changes import changed_list, default, section_class
from lclint.config.run import BELOW, Run
from lclint.core.finding import Edit, Fix
from lclint.sources import edits
from lclint.sources.document import Document

TORCH_DTYPES = {"fp32": "torch.float32", "bf16": "torch.bfloat16", "fp16": "torch.float16", "fp64": "torch.float64", "uint8": "torch.uint8"}


class NotHere(Exception):
    """The fix cannot be made in the file; the text says what to do instead."""


def lower(run: Run, fix: Fix) -> None:
    """Fill ``fix.edits``; where the file is not the place, ``fix.action`` says what is.

    A fix that the text does not take exactly (an alias that others share, a string in the place of a section) gets neither and
    is left for a person.
    """
    if not (fix.set or fix.remove or fix.rename or fix.lists or fix.env):
        return
    moves = _moves(run, fix)
    try:
        operations = _operations(run, fix, moves)
    except NotHere as reason:
        fix.action = fix.action or str(reason)
        return
    document = run.document
    if run.kind == "megatron-args":
        fix.action = fix.action or _arguments(fix)
        return
    if document is None:
        fix.action = fix.action or (_words(run, operations) if run.recipe is not None else _command_line(fix))
        return
    changes, fault = _made(document, operations)
    if fault is not None and moves:  # what stands there through an alias cannot move
        changes, fault = _made(document, _operations(run, fix, {}))
    if fault is not None:
        # what the rule tells a person to do anyway does not say why nothing is done
        fix.action = f"{fix.action}; it is not done here: {fault}" if fix.action else f"edit by hand: {fault}"
        return
    fix.edits = [Edit(path=run.path, start=start, end=end, text=text) for start, end, text in changes]


def _made(document: Document, operations: list[tuple[Any, ...]]) -> tuple[list[tuple[int, int, str]], str | None]:
    """The edits that make the operations, and why they cannot be made; None when they can."""
    try:
        return edits.change(document, operations), None
    except edits.EditRefused as reason:
        return [], str(reason)


def _command_line(fix: Fix) -> str:
    parts = [f"--set {field}={_hydra(value)}" for field, value in fix.set.items()]
    parts += [f"--set ~{field}" for field in fix.remove] + [f"--env {name}={value}" for name, value in fix.env.items()]
    return "give " + " ".join(parts) if parts else "change the config"


def _arguments(fix: Fix) -> str:
    """What to change in a file of Megatron-LM arguments, in its own words as far as it has them."""
    from lclint.config.megatron_args import spelled

    parts = [spelled(field, value) or f"{field}={_hydra(value)}" for field, value in fix.set.items()]
    parts += [f"without {field}" for field in fix.remove] + [f"{name}: {value} under ENV_VARS" for name, value in fix.env.items()]
    return f"change the arguments of the file: {', '.join(parts)}"


def _words(run: Run, operations: list[tuple[Any, ...]]) -> str:
    """What to add to a command line that names a recipe: the operations as words behind ``--``."""
    words = []
    for operation in operations:
        key = ".".join(str(part) for part in operation[1])
        if operation[0] != "set":
            # only what a file says is removed, renamed or changed in place, and there is none
            continue
        mark = "" if key in run.written else "+" if run.written.get(key.rpartition(".")[0]).__class__ is dict else "++"
        words.append(f"{mark}{key}={_hydra(operation[2])}")
    return "add to the command line: -- " + " ".join(map(_shell, words)) if words else "change the recipe"


def _shell(word: str) -> str:
    return word if re.fullmatch(r"[\w@%+=:,./-]+", word) else "'" + word.replace("'", "'\\''") + "'"


def _hydra(value: Any) -> str:
    if value is None:
        return "null"
    if value.__class__ is bool:
        return "true" if value else "false"
    if value.__class__ is list:
        return "[" + ",".join(_hydra(item) for item in value) + "]"
    if value.__class__ is dict:
        if value.get("_call_") is False:
            return str(value["_target_"])
        return "{" + ",".join(f"{key}:{_hydra(item)}" for key, item in value.items()) + "}"
    if value.__class__ is str and (not re.fullmatch(r"[A-Za-z_][\w./-]*", value) or value.lower() in ("null", "true", "false", "nan", "inf")):
        return "'" + value.replace("'", "\\'") + "'"
    return str(value)


def _operations(run: Run, fix: Fix, moves: dict[str, str]) -> list[tuple[Any, ...]]:
    """The edit operations of a fix, of which ``moves`` are made as such. Raises NotHere when a value came from an override, which beats the file."""
    operations: list[tuple[Any, ...]] = []
    sections: dict[str, dict[str, Any]] = {}
    for old, new in fix.rename.items():
        _in_file(run, old, f"rename it to {new.rpartition('.')[2]} there")
        if run.origins.get(old) in BELOW:
            raise NotHere(f"{old} is in the {run.base_origin}: rename it to {new.rpartition('.')[2]} there")
        operations.append(("rename", run.key_path(old), new.rpartition(".")[2]))
    operations += [("move", run.key_path(old), run.key_path(new)) for old, new in moves.items()]
    for operation, field, value in fix.lists:
        _in_file(run, field, "change the list there")
        if run.origins.get(field) == "file":
            operations.append((operation, run.key_path(field), value))
        else:
            items = run.written.get(field)
            if items.__class__ is not list:
                raise NotHere(f"{field} is not a list in what the file overrides")
            operations.append(("set", run.key_path(field), changed_list(items, operation, value)))
    for field, value in fix.set.items():
        if field in moves.values():
            continue
        _in_file(run, field, f"set {field}={_hydra(value)} there")
        section = field.partition(".")[0]
        present = run.written.get(section, run)
        if "." in field and present is not run and present.__class__ is not dict:
            if present is not None:
                raise NotHere(f"{section} is the name {present!r}: {field} needs the section written out")
            sections.setdefault(section, _whole(run, section))[field.partition(".")[2]] = _encoded(run, field, value)
        else:
            operations.append(("set", run.key_path(field), _encoded(run, field, value)))
    for section, values in sections.items():
        operations.append(("set", (section,), values))
    # last: what is added first finds its neighbours, and no section gets empty on the way
    for field in fix.remove:
        operations += [] if field in moves else _removal(run, field)
    for name, value in fix.env.items():
        if name in run.environment and f"env_vars.{name}" not in run.written:
            raise NotHere(f"{name} comes from the launch environment: set it to {value} there")
        _in_file(run, f"env_vars.{name}", f"set it to {value} there")
        # Bridge turns every value into text; a number is written as recipes write it
        operations.append(("set", ("env_vars", name), int(value) if value.isdigit() and str(int(value)) == value else value))
    return operations


def _moves(run: Run, fix: Fix) -> dict[str, str]:
    """Which fields that are removed or set to null turn up with the same value under a name that the file does not have.

    Such a value moves, and takes its comments along.
    """
    moves: dict[str, str] = {}
    for old in [*fix.remove, *(field for field, value in fix.set.items() if value is None)]:
        if run.origins.get(old) != "file" or run.written.get(old) is None:
            continue
        for new, value in fix.set.items():
            section = new.rpartition(".")[0]
            absent = new not in run.origins and run.written.get(section, {}).__class__ is dict
            if old in fix.set and section != old.rpartition(".")[0]:
                continue  # the old key stays where it is, and so do its comments
            if absent and new not in moves.values() and edits.equal(run.written[old], value):
                moves[old] = new
                break
    return moves


def _in_file(run: Run, field: str, otherwise: str) -> None:
    if run.origins.get(field) == "set":
        raise NotHere(f"{field} comes from the override {run.sets.get(field, field)}: {otherwise}")


def _removal(run: Run, field: str) -> list[tuple[Any, ...]]:
    if field.startswith("env."):
        name = field[4:]
        if f"env_vars.{name}" not in run.written:
            raise NotHere(f"{name} comes from the launch environment: unset it there")
        field = f"env_vars.{name}"
    _in_file(run, field, "leave it out")
    origin = run.origins.get(field)
    if origin == "file":
        return [("remove", run.key_path(field))]
    if origin in BELOW:
        known, value = default(run, field)
        if not known:
            raise NotHere(f"{field} is in the {run.base_origin}: take it out there")
        return [("set", run.key_path(field), value)]
    return []


def _whole(run: Run, section: str) -> dict[str, Any]:
    """A section that is off, as it has to be written to come into being: its class and what the class demands."""
    target = section_class(run, section)
    fields = tables.section(run.release, section).fields(target) if target is not None else None
    if fields is None:
        raise NotHere(f"{section} is null and may be of several classes: write the section out")
    required = {field.name: False for field in fields.values() if field.required and "bool" in field.kinds}
    return {"_target_": target, **required}


def _encoded(run: Run, field: str, value: Any) -> Any:
    """A dtype's short name as Bridge reads it back; everything else as it is.

    Some fields are called a dtype and take a name all the same (``moe_router_dtype``): the field's annotation decides.
    """
    if value.__class__ is not str or value not in TORCH_DTYPES or not field.endswith("_dtype"):
        return value
    section, _, name = field.partition(".")
    if section not in tables.sections(run.release):
        return value
    table = tables.section(run.release, section)
    found = (table.fields(section_class(run, section)) or table.fields() or {}).get(name)
    if found is not None and "dtype" not in found.kinds:
        return value
    return {"_call_": False, "_target_": TORCH_DTYPES[value]}
