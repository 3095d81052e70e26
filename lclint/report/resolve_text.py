"""What Bridge makes of a config, for people."""

from __future__ import annotations

from collections.abc import Iterator

from lclint.config.explain import Resolved, Value
from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.report.screen import count, printable, wrap
from lclint.report.style import Style
from lclint.report.text import literal

LONGEST = 200


def render(resolved: Resolved, values: list[Value], style: Style, width: int, *, listed: bool) -> str:
    """The chosen ``values`` under headings, or one after the other when ``listed`` (all, or those that were asked for)."""
    lines = [style.paint(_about(resolved), "strong")]
    if listed:
        for value in values:
            lines.extend(_entry(value, style, width))
    else:
        for title, group in _groups(resolved, values):
            lines += ["", style.paint(title, "strong")]
            for value in group:
                lines.extend(_entry(value, style, width))
        lines += ["", _summary(resolved, values)]
    return "".join(f"{line}\n" for line in lines)


def _about(resolved: Resolved) -> str:
    below = f"recipe {resolved.recipe}" if resolved.recipe is not None else resolved.base
    over = f" over {printable(below)}" if below is not None else ""
    gpus = count(resolved.gpus, "GPU") if resolved.gpus is not None else "GPUs not given"
    return f"{printable(resolved.path)}{over}: {resolved.gpu + ', ' if resolved.gpu else ''}{gpus}, Megatron Bridge {resolved.bridge_version}"


def _groups(resolved: Resolved, values: list[Value]) -> Iterator[tuple[str, list[Value]]]:
    """By what is most worth knowing: wishes that do not come true, then what else is replaced, filled in, and what cannot be told."""
    titles = ("Not as you wrote it:", "Replaced by Bridge:", "As you wrote it:", "Filled in by Bridge:", "Cannot be told from this config:")
    groups: dict[str, list[Value]] = {title: [] for title in titles}
    for value in values:
        if value.value is UNKNOWN:
            title = titles[4]
        elif value.changed and value.was is not None:
            title = titles[0] if resolved.by_user(value) else titles[1]
        elif value.changed or not value.written:
            title = titles[3]
        else:
            title = titles[2]
        groups[title].append(value)
    for title, group in groups.items():
        if group:
            yield title, group


def _entry(value: Value, style: Style, width: int) -> Iterator[str]:
    shown = "unknown" if value.value is UNKNOWN else "not used" if value.value is NOT_APPLICABLE else _short(value)
    yield from wrap(f"{value.field}: {shown}", width, "  ", "    ")
    for line in wrap(_origin(value), width, "      ", "      "):
        yield style.paint(line, "faint")


def _short(value: Value) -> str:
    text = literal(value.value)
    return text if len(text) <= LONGEST else text[:LONGEST] + " ..."


def _origin(value: Value) -> str:
    """Where the value comes from: the place it is written at, or Bridge's reason and what it replaces."""
    where, why = _where(value), "; ".join(value.reasons)
    if not value.written:
        return f"Bridge: {why}" if why else "not in this config"
    if not value.changed:
        return where
    was = f"{literal(value.was)[:LONGEST]} ({where})"
    if value.value is UNKNOWN:
        return f"written as {was}; open here: {why}"
    return f"Bridge: {why}" if value.was is None else f"Bridge: {why}; was {was}"


def _where(value: Value) -> str:
    if value.override is not None:
        return f"override {value.override}"
    place = value.place
    if place.origin == "file" and place.line is not None:
        return f"line {place.line}"
    return place.origin


def _summary(resolved: Resolved, values: list[Value]) -> str:
    replaced = sum(value.changed and value.was is not None and value.value is not UNKNOWN for value in values)
    filled = sum(((value.changed and value.was is None) or not value.written) and value.value is not UNKNOWN for value in values)
    unknown = sum(value.value is UNKNOWN for value in resolved.values)
    parts = [f"{replaced} replaced", f"{filled} filled in"] + ([f"{unknown} not known"] if unknown else [])
    more = "; --base or --recipe would say more" if unknown and not resolved.has_base and resolved.kind != "dump" else ""
    return f"{count(len(resolved.values), 'value')}: {', '.join(parts)} (--all lists every one){more}"
