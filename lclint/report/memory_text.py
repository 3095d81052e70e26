"""A memory estimate for people: a line and a bar for every pipeline stage, and the largest stage by component."""

from __future__ import annotations

from collections.abc import Iterator

from lclint.memory.result import COMPONENTS, Estimate, Stage
from lclint.report.screen import count, printable, wrap
from lclint.report.style import Style

GIB = 2**30
# what stands for a component in a bar, and what it is
LETTERS = {
    "weights": ("W", "weights"),
    "gradients": ("G", "gradient buffers"),
    "optimizer": ("O", "optimizer states"),
    "norms": ("n", "residuals and norms"),
    "attention": ("a", "attention"),
    "mlp": ("m", "dense MLP and shared experts"),
    "experts": ("e", "router and experts"),
    "state_space": ("s", "Mamba and linear attention"),
    "mtp": ("t", "multi-token prediction"),
    "vision": ("v", "vision encoder"),
    "logits": ("l", "logits and cross entropy"),
    "backward": ("b", "backward of one layer, recompute"),
    "buffers": ("u", "buffers"),
    "workspaces": ("k", "GEMM workspaces"),
}
SHORTEST = 20
VERDICT_ROLES = {"fits": "fix", "tight": "warning", "oom": "error", "unknown": "strong"}
MEANING = {
    "fits": "fits",
    "tight": "tight: it may not fit",
    "oom": "out of memory",
    "unknown": "no verdict",
}


def render(path: str, gpus: int | None, estimate: Estimate, style: Style, width: int, what_if: Estimate | None = None) -> str:
    """The whole text; with ``what_if`` also what the change does to each component."""
    lines = [style.paint(_about(path, gpus, estimate), "strong")]
    lines.append(_verdict(estimate, style))
    if estimate.stages:
        lines += ["", *_stages(estimate, style, width)]
        lines += ["", *_components(estimate, what_if, style)]
    if what_if is not None:
        lines += ["", "With the change: " + _verdict(what_if, style)]
        lines += ["", *_stages(what_if, style, width)] if what_if.stages else []
    for title, notes in (("Assumed:", estimate.assumptions), ("Not in these figures:", estimate.not_modelled)):
        if notes:
            lines += ["", style.paint(title, "strong")]
            for note in notes:
                lines += wrap(note, width, "  - ", "    ")
    return "".join(f"{line}\n" for line in lines)


def _about(path: str, gpus: int | None, estimate: Estimate) -> str:
    size = f", {estimate.parameters / 1e9:.2f} B parameters" if estimate.parameters else ""
    return f"{printable(path)}: {count(gpus, 'GPU') if gpus is not None else 'GPUs not given'} {estimate.gpu or '(no --gpu)'}{size}"


def _verdict(estimate: Estimate, style: Style) -> str:
    text = style.paint(MEANING[estimate.verdict], VERDICT_ROLES[estimate.verdict])
    worst, required = estimate.worst, estimate.required_bytes
    if worst is None or required is None:
        return f"{text}: it needs {', '.join(estimate.needs)}"
    text += f": stage {worst.stage} peaks at {_gib(worst.peak_bytes)} GiB"
    text += f" ({_gib(worst.low_bytes)} to {_gib(worst.high_bytes)}), with fragmentation, context and communication {_gib(required)}"
    if estimate.capacity_bytes is None:
        return f"{text} GiB; the memory of the GPU is not known"
    return f"{text} of {_gib(estimate.capacity_bytes)} GiB"


def _stages(estimate: Estimate, style: Style, width: int) -> Iterator[str]:
    capacity = estimate.capacity_bytes
    full = max([stage.peak_bytes for stage in estimate.stages] + ([capacity] if capacity else []))
    head = "stage  layers   static     peak  "
    room = max(SHORTEST, width - len(head) - 1)
    yield style.paint(f"{head}{_scale(capacity, full, room)}", "faint")
    for stage in estimate.stages:
        bar = _bar(stage, full, room, capacity)
        yield f"{stage.stage:5}  {stage.layers:6}  {_gib(stage.static_bytes):>7}  {_gib(stage.peak_bytes):>7}  {bar}".rstrip()
    used = [name for name in COMPONENTS if any(stage.components.get(name) for stage in estimate.stages)]
    yield from wrap("GiB; " + ", ".join(f"{LETTERS[name][0]} {LETTERS[name][1]}" for name in used), width, "", "")


def _scale(capacity: int | None, full: int, room: int) -> str:
    label = f"{_gib(capacity or full)} GiB"
    place = room if capacity is None else max(len(label) + 1, round(room * capacity / full))
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
            yield f"  {LETTERS[name][1]:34}{_gib(before):>8} GiB{_difference(before, after, other is not None)}"
    if other is None:
        yield f"  {'together':34}{_gib(worst.peak_bytes):>8} GiB"
    else:
        yield f"  {'together':34}{_gib(worst.peak_bytes):>8} GiB{_difference(worst.peak_bytes, other.peak_bytes, True)}"


def _difference(before: int, after: int, shown: bool) -> str:
    if not shown:
        return ""
    change = (after - before) / GIB
    return f"  -> {_gib(after):>7}  {change:+.1f}" if abs(change) >= 0.05 else f"  -> {_gib(after):>7}"


def _gib(size: int) -> str:
    return f"{size / GIB:.1f}"
