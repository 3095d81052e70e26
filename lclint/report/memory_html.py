"""A memory estimate as one page: a stacked bar for every pipeline stage against the GPU's memory. It loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from html import escape

from lclint.memory.asking import Asked
from lclint.memory.result import COMPONENTS, Estimate, Stage
from lclint.report.memory_words import GIB, LETTERS, REFUSED, REFUSED_CHANGED, headline, parameters, sentence, size
from lclint.report.screen import count

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
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--page); }
td small { color: var(--faint); } thead th { color: var(--faint); font-weight: 600; } tbody tr:last-child { font-weight: 600; }
li { margin: .15rem 0; overflow-wrap: anywhere; }
.refused { border-left: 3px solid var(--mark); padding-left: .8rem; margin: 1rem 0; }
.refused p { margin: 0; } .refused ul { margin: .3rem 0 0; padding-left: 1.2rem; }
"""


def render(asked: Asked) -> str:
    """The whole page; the estimate of the changed config is shown below the first."""
    estimate, what_if = asked.estimate, asked.what_if
    title = escape(f"Memory of {asked.path}")
    model = f", {parameters(estimate)}" if estimate.parameters else ""
    where = escape(f"{count(asked.gpus, 'GPU') if asked.gpus is not None else 'GPUs not given'} {estimate.gpu or ''}{model}")
    body = [f"<h1>{title}</h1>", *_refused(REFUSED, asked.refusals), f'<p class="verdict">{where}. {_verdict(estimate)}</p>', *_chart(estimate)]
    if what_if is not None:
        new = [text for text in asked.what_if_refusals if text not in asked.refusals]
        body += ["<h2>With the change</h2>", *_refused(REFUSED_CHANGED, new), f'<p class="verdict">{_verdict(what_if)}</p>', *_chart(what_if, estimate.stages)]
    for heading, notes in (("Assumed", estimate.assumptions), ("Not in these figures", estimate.not_modelled)):
        if notes:
            body += [f"<h2>{heading}</h2>", "<ul>", *(f"<li>{escape(note)}</li>" for note in notes), "</ul>"]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>\n' + "\n".join(body) + "\n</body>\n</html>\n"


def _refused(title: str, refusals: list[str]) -> list[str]:
    return ['<div class="refused">', f"<p>{escape(title)}</p>", "<ul>", *(f"<li>{escape(text)}</li>" for text in refusals), "</ul></div>"] if refusals else []


def _verdict(estimate: Estimate) -> str:
    return f"<b>{escape(headline(estimate))}</b>{escape(sentence(estimate))}."


def _chart(estimate: Estimate, before: list[Stage] | None = None) -> Iterator[str]:
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
    yield from _table(estimate.stages, used, before if before is not None and len(before) == len(estimate.stages) else None)


def _table(stages: list[Stage], used: list[str], before: list[Stage] | None) -> Iterator[str]:
    """Sizes by component and stage; with the stages as they were ``before`` also what has changed."""
    yield f"<h2>GiB by component{', and what the change adds' if before else ''}</h2>"
    heads = "".join(f"<th>{stage.stage}</th>" for stage in stages)
    yield f'<div class="wide"><table><thead><tr><th>Stage</th>{heads}</tr></thead><tbody>'
    used = [name for name in COMPONENTS if name in used or any(_component(name, stage) for stage in before or ())]
    rows: list[tuple[str, Callable[[Stage], int]]] = [(LETTERS[name][1], partial(_component, name)) for name in used]
    rows += [("after a step", lambda stage: stage.static_bytes), ("peak", lambda stage: stage.peak_bytes)]
    for label, measure in rows:
        yield _row(label, list(map(measure, stages)), None if before is None else list(map(measure, before)))
    yield "</tbody></table></div>"


def _row(label: str, sizes: list[int], before: list[int] | None) -> str:
    cells = []
    for index, number in enumerate(sizes):
        change = 0.0 if before is None else (number - before[index]) / GIB
        shown = f" <small>{change:+.1f}</small>" if abs(change) >= 0.05 else ""
        cells.append(f"<td>{size(number) if number or shown else '-'}{shown}</td>")
    return f"<tr><td>{escape(label)}</td>{''.join(cells)}</tr>"


def _component(name: str, stage: Stage) -> int:
    return stage.components.get(name, 0)


def _gib(number: int) -> str:
    return f"{size(number)} GiB"
