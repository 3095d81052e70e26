"""A memory estimate for people: a line and a bar for every pipeline stage, and the largest stage by component."""

from __future__ import annotations

from collections.abc import Iterator

from lclint.memory.asking import Asked
from lclint.memory.result import COMPONENTS, Estimate, Stage
from lclint.report.memory_words import GIB, LETTERS, REFUSED, REFUSED_CHANGED, headline, parameters, sentence, size
from lclint.report.screen import count, printable, wrap
from lclint.report.style import Style

SHORTEST = 20
VERDICT_ROLES = {"fits": "fix", "tight": "warning", "oom": "error", "unknown": "strong"}


def render(asked: Asked, style: Style, width: int) -> str:
    """The whole text; where something was changed also what that does to each component."""
    estimate, what_if = asked.estimate, asked.what_if
    lines = [style.paint(_about(asked), "strong")]
    lines += _refused(REFUSED, asked.refusals, style, width)
    lines += _verdict("", estimate, style, width)
    if estimate.stages:
        lines += ["", *_stages(estimate, style, width)]
        lines += ["", *_components(estimate, what_if, style)]
    if what_if is not None:
        lines.append("")
        lines += _refused(REFUSED_CHANGED, [text for text in asked.what_if_refusals if text not in asked.refusals], style, width)
        lines += _verdict("With the change: ", what_if, style, width)
        lines += ["", *_stages(what_if, style, width)] if what_if.stages else []
    for title, notes in (("Assumed:", estimate.assumptions), ("Not in these figures:", estimate.not_modelled)):
        if notes:
            lines += ["", style.paint(title, "strong")]
            for note in notes:
                lines += wrap(printable(note), width, "  - ", "    ")
    return "".join(f"{line}\n" for line in lines)


def _about(asked: Asked) -> str:
    estimate = asked.estimate
    model = f", {parameters(estimate)}" if estimate.parameters else ""
    return f"{printable(asked.path)}: {count(asked.gpus, 'GPU') if asked.gpus is not None else 'GPUs not given'} {estimate.gpu or '(no --gpu)'}{model}"


def _refused(title: str, refusals: list[str], style: Style, width: int) -> list[str]:
    if not refusals:
        return []
    lines = [style.paint(line, "error") for line in wrap(title, width)]
    for text in refusals:
        lines += wrap(printable(text), width, "  - ", "    ")
    return lines


def _verdict(start: str, estimate: Estimate, style: Style, width: int) -> list[str]:
    head = headline(estimate)
    lines = wrap(start + head + printable(sentence(estimate)), width)
    # the words that count stand in the first line, however it is wrapped
    lines[0] = lines[0].replace(head, style.paint(head, VERDICT_ROLES[estimate.verdict]), 1)
    return lines


def _stages(estimate: Estimate, style: Style, width: int) -> Iterator[str]:
    capacity = estimate.capacity_bytes
    full = max([stage.peak_bytes for stage in estimate.stages] + ([capacity] if capacity else []))
    digits = max(7, *(len(size(stage.peak_bytes)) for stage in estimate.stages))
    head = f"stage  layers  {'static':>{digits - 1}}  {'peak':>{digits}}  "
    room = max(SHORTEST, width - len(head) - 1)
    yield style.paint(f"{head}{_scale(capacity, full, room)}", "faint")
    for stage in estimate.stages:
        bar = _bar(stage, full, room, capacity)
        yield f"{stage.stage:5}  {stage.layers:6}  {size(stage.static_bytes):>{digits - 1}}  {size(stage.peak_bytes):>{digits}}  {bar}".rstrip()
    used = [name for name in COMPONENTS if any(stage.components.get(name) for stage in estimate.stages)]
    yield from wrap("GiB; " + ", ".join(f"{LETTERS[name][0]} {LETTERS[name][1]}" for name in used), width, "", "")


def _scale(capacity: int | None, full: int, room: int) -> str:
    label = f"{size(capacity or full)} GiB"
    place = room if capacity is None else max(len(label) + 2, round(room * capacity / full))
    return "0" + label.rjust(place - 1)


def _bar(stage: Stage, full: int, room: int, capacity: int | None) -> str:
    """One letter for each share of ``full``; ``|`` is the GPU's capacity."""
    cells = ""
    total = 0
    for name in COMPONENTS:
        total += stage.components.get(name, 0)
        cells += LETTERS[name][0] * (round(room * total / full) - len(cells))
    cells = cells.ljust(room, ".")
    if capacity is not None:
        mark = min(room - 1, max(0, round(room * capacity / full) - 1))
        cells = cells[:mark] + "|" + cells[mark + 1 :]
    return cells


def _components(estimate: Estimate, what_if: Estimate | None, style: Style) -> Iterator[str]:
    worst = estimate.worst
    assert worst is not None
    other = None if what_if is None else what_if.worst
    yield style.paint(f"Stage {worst.stage}, at its peak ({worst.instant.replace('_', ' ')}):", "strong")
    for name in COMPONENTS:
        before = worst.components.get(name, 0)
        after = before if other is None else other.components.get(name, 0)
        if before or after:
            yield f"  {LETTERS[name][1]:34}{size(before):>8} GiB{_difference(before, after, other is not None)}"
    if other is None:
        yield f"  {'together':34}{size(worst.peak_bytes):>8} GiB"
    else:
        yield f"  {'together':34}{size(worst.peak_bytes):>8} GiB{_difference(worst.peak_bytes, other.peak_bytes, True)}"


def _difference(before: int, after: int, shown: bool) -> str:
    if not shown:
        return ""
    change = (after - before) / GIB
    return f"  -> {size(after):>7}  {change:+.1f}" if abs(change) >= 0.05 else f"  -> {size(after):>7}"
