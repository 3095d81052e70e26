"""A memory estimate as one page: a stacked bar for every pipeline stage against the GPU's memory. It loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from lclint.memory.result import COMPONENTS, Estimate, Stage
from lclint.report.memory_text import LETTERS, MEANING
from lclint.report.screen import count

GIB = 2**30
# states in blues, what the forward keeps in warm colours, the rest in greys; told apart in the legend and by their titles too
COLOURS = {
    "weights": "#1d4e89",
    "gradients": "#3a7ca5",
    "optimizer": "#81b1d2",
    "norms": "#f2cc8f",
    "attention": "#e07a5f",
    "mlp": "#d1495b",
    "experts": "#8d5a97",
    "state_space": "#5f9e6e",
    "mtp": "#b8d8ba",
    "vision": "#6a994e",
    "logits": "#edae49",
    "backward": "#9a8c98",
    "buffers": "#6c757d",
    "workspaces": "#adb5bd",
}
STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --faint: #59636e; --page: #ffffff; --track: #eceff2; --line: #c8ced5; --mark: #b00020; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e9ec; --faint: #9aa4af; --page: #16191d; --track: #262b31; --line: #3a424b; --mark: #ff6b6b; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.3rem; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
p.verdict { margin: .3rem 0 1.5rem; color: var(--faint); } p.verdict b { color: var(--text); }
.row { display: grid; grid-template-columns: 5.5rem 1fr 5.5rem; gap: .7rem; align-items: center; margin: .35rem 0; }
.row > :last-child { text-align: right; font-variant-numeric: tabular-nums; }
.bar { position: relative; height: 1.7rem; background: var(--track); border-radius: 3px; }
.bar span { float: left; height: 100%; } .bar span:first-child { border-radius: 3px 0 0 3px; }
.bar i { position: absolute; top: -3px; bottom: -3px; width: 0; border-left: 2px dashed var(--mark); }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin: .8rem 0 0; padding: 0; list-style: none; color: var(--faint); font-size: .9rem; }
.legend b { display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem; border-radius: 2px; vertical-align: -1px; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } thead th { color: var(--faint); font-weight: 600; } tbody tr:last-child { font-weight: 600; }
li { margin: .15rem 0; }
"""


def render(path: str, gpus: int | None, estimate: Estimate, what_if: Estimate | None = None) -> str:
    """The whole page; ``what_if`` is the estimate of the changed config, shown below the first."""
    title = escape(f"Memory of {path}")
    size = f", {estimate.parameters / 1e9:.2f} B parameters" if estimate.parameters else ""
    where = escape(f"{count(gpus, 'GPU') if gpus is not None else 'GPUs not given'} {estimate.gpu or ''}{size}")
    body = [f"<h1>{title}</h1>", f'<p class="verdict">{where}. {_verdict(estimate)}</p>', *_chart(estimate)]
    if what_if is not None:
        body += ["<h2>With the change</h2>", f'<p class="verdict">{_verdict(what_if)}</p>', *_chart(what_if)]
    for heading, notes in (("Assumed", estimate.assumptions), ("Not in these figures", estimate.not_modelled)):
        if notes:
            body += [f"<h2>{heading}</h2>", "<ul>", *(f"<li>{escape(note)}</li>" for note in notes), "</ul>"]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>\n' + "\n".join(body) + "\n</body>\n</html>\n"


def _verdict(estimate: Estimate) -> str:
    worst, required = estimate.worst, estimate.required_bytes
    meaning = f"<b>{escape(MEANING[estimate.verdict])}</b>"
    if worst is None or required is None:
        return f"{meaning}: it needs {escape(', '.join(estimate.needs))}."
    text = f"{meaning}: stage {worst.stage} peaks at {_gib(worst.peak_bytes)} ({_gib(worst.low_bytes)} to {_gib(worst.high_bytes)})"
    text += f"; with fragmentation, context and communication {_gib(required)}"
    return text + (f" of {_gib(estimate.capacity_bytes)}." if estimate.capacity_bytes is not None else "; the memory of the GPU is not known.")


def _chart(estimate: Estimate) -> Iterator[str]:
    if not estimate.stages:
        return
    capacity = estimate.capacity_bytes
    full = 1.02 * max([stage.peak_bytes for stage in estimate.stages] + ([capacity] if capacity else []))
    used = [name for name in COMPONENTS if any(stage.components.get(name) for stage in estimate.stages)]
    for stage in estimate.stages:
        label = f"Stage {stage.stage}: {_gib(stage.peak_bytes)}"
        yield f'<div class="row"><span>Stage {stage.stage}</span><div class="bar" role="img" aria-label="{label}">'
        for name in used:
            part = stage.components.get(name, 0)
            if part:
                about = escape(f"{LETTERS[name][1]}: {_gib(part)}")
                yield f'<span style="width:{100 * part / full:.3f}%;background:{COLOURS[name]}" title="{about}"></span>'
        if capacity:
            yield f'<i style="left:{100 * capacity / full:.3f}%" title="memory of the GPU: {_gib(capacity)}"></i>'
        yield f"</div><span>{_gib(stage.peak_bytes)}</span></div>"
    yield '<ul class="legend">'
    yield from (f'<li><b style="background:{COLOURS[name]}"></b>{escape(LETTERS[name][1])}</li>' for name in used)
    if capacity:
        yield f"<li>dashed line: the GPU's {_gib(capacity)}</li>"
    yield "</ul>"
    yield from _table(estimate.stages, used)


def _table(stages: list[Stage], used: list[str]) -> Iterator[str]:
    yield "<h2>GiB by component</h2>"
    heads = "".join(f"<th>{stage.stage}</th>" for stage in stages)
    yield f'<div class="wide"><table><thead><tr><th>Stage</th>{heads}</tr></thead><tbody>'
    rows = [(LETTERS[name][1], [stage.components.get(name, 0) for stage in stages]) for name in used]
    rows.append(("after a step", [stage.static_bytes for stage in stages]))
    rows.append(("peak", [stage.peak_bytes for stage in stages]))
    for label, sizes in rows:
        cells = "".join(f"<td>{size / GIB:.1f}</td>" for size in sizes)
        yield f"<tr><td>{escape(label)}</td>{cells}</tr>"
    yield "</tbody></table></div>"


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"
