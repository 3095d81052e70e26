"""What lclint says about the key or value under the pointer, as Markdown."""

from __future__ import annotations

from typing import Any

from lclint.catalog import tables
from lclint.catalog.tables import Field
from lclint.config.explain import Value, explain_field
from lclint.config.run import Run
from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.engine.rules import Rule
from lclint.report.text import literal
from lclint.server import fields
from lclint.server.analysis import Analysis
from lclint.server.diagnostics import rule_link
from lclint.server.effect import GIB, Effect, effects
from lclint.server.spots import Spot

MOST_RULES = 6
MOST_CHOICES = 16
LONGEST = 120


def text(analysis: Analysis, spot: Spot) -> str | None:
    """The account of a key or value; None for what the catalogue does not have."""
    run = analysis.run
    if run is None or not spot.path or run.kind == "megatron-args":
        return None
    name = spot.name.removesuffix("._target_")
    if name.partition(".")[0] not in tables.sections(run.release):
        return None
    if "." not in name:
        return "\n\n".join(_section(run, name))
    found = fields.field(run, name)
    variable = name.startswith("env_vars.")
    if found is None and not variable:
        return None
    parts = [f"**{name}**", "A variable of the job's environment" if found is None else _kind(found, run, name)]
    parts.append(_resolved(run, explain_field(run, name)))
    checked = analysis.checked
    if checked is not None:
        moved = effects(checked, name, found) if found is not None else []
        if moved:
            parts.append("\n".join(["Peak memory of the largest stage:", "", *map(_effect, moved)]))
        read = name.replace("env_vars.", "env.", 1) if variable else name
        # those that read little else say most about it
        reading = (rule for rule in checked.rules if read in rule.fields and not any(field.startswith("crash.") for field in rule.fields))
        rules = sorted(reading, key=lambda rule: len(rule.fields))
        if rules:
            parts.append(_rules(rules, analysis.options.rules))
    return "\n\n".join(parts)


def _section(run: Run, name: str) -> list[str]:
    table = tables.section(run.release, name)
    parts = [f"**{name}**, a section of Megatron Bridge {run.release}'s config"]
    target = run.written.get(f"{name}._target_")
    if target.__class__ is str:
        parts.append(f"Class: {code(target)}")
    elif len(table.classes) == 1:
        parts.append(f"Class: {code(table.classes[0])}")
    elif table.default is not None:
        parts.append(f"Class: {code(table.default)} unless `_target_` names another")
    elif table.classes:
        parts.append(f"One of {len(table.classes)} classes, by `_target_`")
    else:
        parts.append("Takes any key")
    known = fields.below(run, name)
    if known:
        written = sum(1 for field in known if run.origins.get(f"{name}.{field}") == "file")
        parts.append(f"{written} of {len(known)} fields are in this file")
    return parts


def _kind(field: Field, run: Run, name: str) -> str:
    allowed = fields.values(run, name) if field.choices is not None or name in fields.MODULES else []
    shown = ", ".join(code(literal(value)) for value in allowed[:MOST_CHOICES]) + (
        f" and {len(allowed) - MOST_CHOICES} more" if len(allowed) > MOST_CHOICES else ""
    )
    # a closed set is its own type
    closed = bool(allowed) and "list" not in field.kinds and name not in fields.MODULES
    lines = [f"One of {shown}" if closed else f"Type: {code(_short(field.type))}"]
    if field.required:
        lines.append("no default")
    elif field.default is UNKNOWN:
        lines.append("the default depends on the class")
    else:
        lines.append(f"default {code(_short(literal(field.default)))}")
    parts = ["; ".join(lines)]
    if allowed and not closed:
        parts.append(f"Allowed: {shown}")
    if field.deprecated is not None:
        parts.append(f"Deprecated: {field.deprecated}")
    return "\n\n".join(parts)


def _resolved(run: Run, value: Value) -> str:
    """What Bridge uses, where that comes from, and why it is not what is written."""
    why = "; ".join(value.reasons)
    origin = value.place.origin
    where = {"file": "this file", "set": f"the override {value.override}", "recipe": f"recipe {run.recipe}", "base": "the base"}.get(origin, "")
    if value.value is UNKNOWN:
        return "Here: not known" + (f": {why}" if why else "; the values below this file decide" if not run.complete else "")
    if value.value is NOT_APPLICABLE:
        return "Here: nothing reads it" + (f": {why}" if why else "")
    used = f"Here: {code(_short(literal(value.value)))}"
    if value.changed:
        return f"{used}, not {code(_short(literal(value.was)))} of {where or 'the config'}: {why}"
    return used + (f", by Bridge: {why}" if why and not value.written else f" ({where})" if where else "")


def _effect(effect: Effect) -> str:
    line = f"- {code(literal(effect.value))}: {_gib(effect.bytes)}"
    return f"{line}, most of it {effect.component} ({_gib(effect.component_bytes)})"


def _gib(size: int) -> str:
    return f"{size / GIB:+.1f} GiB"


def _rules(rules: list[Rule], folders: list[str]) -> str:
    lines = ["Rules that read it:", ""]
    for rule in rules[:MOST_RULES]:
        link = rule_link(rule.name, folders)
        lines.append(f"- {f'[{rule.name}]({link})' if link else rule.name}: {rule.title}")
    if len(rules) > MOST_RULES:
        lines.append(f"- and {len(rules) - MOST_RULES} more")
    return "\n".join(lines)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + " …"


def code(value: Any) -> str:
    """A Markdown code span that shows the text as it is."""
    text = " ".join(str(value).split())
    return f"``{' ' if text.startswith('`') else ''}{text}{' ' if text.endswith('`') else ''}``" if "`" in text else f"`{text}`"
