"""The lines of a config that a finding points at, with marks under the values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lclint.core.finding import FileReport, Finding, Place
from lclint.core.options import Options
from lclint.engine.operations import show
from lclint.report.screen import columns, cut, layout, printable
from lclint.report.style import Style

MARKED_PLACES = 4
_BREAK = re.compile(r"\r\n|\r|\n")


def excerpt(file: FileReport, finding: Finding, options: Options, style: Style, width: int) -> list[str]:
    """The finding's place and its related ones: marked source lines first, in their order, then the places elsewhere.

    Related places beyond the first few are named and not shown.
    """
    places = [finding.place, *(place for place in finding.related if place != finding.place)]
    shown = [place for place in places if _in_text(place, file)][:MARKED_PLACES]
    rows = list(_marked(shown, file, finding, style, width))
    for place in places:
        if place not in shown:
            rows.extend(_elsewhere(place, file, options, finding, style))
    return rows


_split: list[tuple[str, list[str]]] = [("", [""])]


def _lines(text: str) -> list[str]:
    """The lines of a text; those of the last one are kept, as a file has many findings."""
    if _split[0][0] is not text:
        _split[0] = (text, _BREAK.split(text))
    return _split[0][1]


def _in_text(place: Place, file: FileReport) -> bool:
    return place.line is not None and file.text is not None and place.path in (file.path, None)


def _marked(places: list[Place], file: FileReport, finding: Finding, style: Style, width: int) -> Iterator[str]:
    if not places or file.text is None:
        return
    lines = _lines(file.text)
    digits = len(str(max(place.line or 0 for place in places)))
    room = width - digits - 5
    shown_line = None
    for place in sorted(places, key=lambda place: (place.line or 0, place.column or 0)):
        number = place.line or 1
        line = lines[number - 1] if number <= len(lines) else ""
        text, starts = layout(line)
        begin = starts[min((place.column or 1) - 1, len(line))]
        end = _end(place, line, text, starts)
        text, moved = cut(text, begin, room)
        if number != shown_line:
            yield f"  {style.paint(f'{number:{digits}} |', 'faint')} {text}".rstrip()
            shown_line = number
        begin = max(begin - moved, 0)
        size = max(min(end - moved, columns(text)) - begin, 1)
        role, mark = _mark(place, finding)
        label = "" if place.at == "file" else printable(place.at)
        edge = f"  {' ' * digits} {style.paint('|', 'faint')} "
        if begin + size + 1 + len(label) <= room:
            yield edge + " " * begin + style.paint(f"{mark * size} {label}".rstrip(), role)
        else:
            yield edge + " " * begin + style.paint(mark * size, role)
            yield edge + " " * max(room - len(label), 0) + style.paint(label, role)


def _end(place: Place, line: str, text: str, starts: list[int]) -> int:
    """The screen column behind the place: on its first line only, and without the blanks at that line's end."""
    if place.end_line == place.line and place.end_column is not None:
        return starts[min(place.end_column - 1, len(line))]
    return columns(text.rstrip())


def _mark(place: Place, finding: Finding) -> tuple[str, str]:
    """How a place is painted, and the character that underlines it."""
    return (finding.severity, "^") if place is finding.place else ("related", "-")


def _elsewhere(place: Place, file: FileReport, options: Options, finding: Finding, style: Style) -> Iterator[str]:
    option = _option(place, options)
    role, mark = _mark(place, finding)
    if option is not None:
        text, begin = option
        shown, starts = layout(text)
        yield f"    {shown}"
        size = max(starts[-1] - starts[begin], 1)
        yield f"    {' ' * starts[begin]}{style.paint(mark * size, role)}"
        return
    yield f"    {style.paint('at' if place is finding.place else 'see', role)} {printable(described(place, file, options))}"


def _option(place: Place, options: Options) -> tuple[str, int] | None:
    """The command-line option that gave the value, and where in it the value starts."""
    if place.at == "cluster.gpus" and options.gpus is not None:
        return f"--gpus {options.gpus}", len("--gpus ")
    if place.origin == "set":
        given = [(option, text) for option, texts in (("--set ", options.sets), ("", options.words)) for text in texts]
        for option, text in reversed(given):
            key, equals, _ = text.partition("=")
            name = key.lstrip("+~").strip().split("@")[0]
            if name == place.at or place.at.startswith((f"{name}.", f"{name}[")):
                return option + text, len(option) + (len(key) + 1 if equals else 0)
    if place.origin == "env":
        name = place.at.removeprefix("env.")
        if name in options.env:
            return f"--env {name}={options.env[name]}", len(f"--env {name}=")
    return None


def described(place: Place, file: FileReport, options: Options) -> str:
    """A place in words: the field, its value where no line shows it, and where that comes from."""
    if place.line is not None:
        return f"{place.at} ({place.path or file.path}:{place.line})"
    if place.origin == "file":
        return place.at if place.path in (None, file.path) else f"{place.at} ({place.path})"
    source = {
        "set": "--gpus" if place.at.startswith("cluster.") else "--set",
        "env": "environment",
        "base": f"--base {options.base}" if options.base else "base config",
        "recipe": f"recipe {file.recipe}" if file.recipe else "recipe",
        "default": "Megatron-LM's default" if file.kind == "megatron-args" else "Bridge's default",
    }
    value = "" if place.value is None else f" = {show(place.value)}"
    return f"{place.at}{value} ({source.get(place.origin, place.origin)})"
