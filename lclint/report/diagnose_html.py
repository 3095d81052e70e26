"""A diagnosis as one self-contained page: verdict, evidence, what helps, memory per rank and over iterations where the log has them."""

from __future__ import annotations

import html
from collections.abc import Iterator

from lclint.core.finding import Finding
from lclint.crash.record import Reading
from lclint.curing import Cure
from lclint.diagnosing import DIFFERENCES, Diagnosis
from lclint.engine.operations import show
from lclint.report.text import changes

GIB = 2**30
WIDTH, HEIGHT, LEFT, BOTTOM = 720, 220, 56, 28
MOST_BARS = 64
COLOURS = ("#3b6fb6", "#c77700")
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:56em;padding:0 1em;color:#1b1f24;background:#fff}"
    "h1{font-size:1.3em}h2{font-size:1.05em;margin-top:1.6em}code,pre{font:13px/1.45 ui-monospace,monospace}"
    "pre{background:#f4f5f7;padding:.7em;overflow-x:auto}.error{color:#b42318}.warning{color:#9a6700}.info{color:#475467}"
    "table{border-collapse:collapse}td,th{padding:.1em .8em .1em 0;vertical-align:top;text-align:left}svg text{font:11px system-ui,sans-serif;fill:#475467}"
    "svg .limit{fill:#b42318;paint-order:stroke;stroke:#fff;stroke-width:3px}"
    "@media(prefers-color-scheme:dark){body{background:#14171c;color:#e6e8eb}pre{background:#1e232b}.error{color:#ff8a7a}.warning{color:#e3b341}"
    ".info,svg text{color:#a0a8b4;fill:#a0a8b4}svg .limit{fill:#ff8a7a;stroke:#14171c}}"
)


def render(diagnosis: Diagnosis, cured: Cure | None = None) -> str:
    """The page; ``cured`` is the config with the fixes made."""
    crash = diagnosis.crash
    body = [f"<h1>{_text(diagnosis.verdict)}</h1>", _facts(diagnosis)]
    if crash.evidence:
        rows = "".join(f"<tr><td><code>{_text(item.path)}:{item.line}</code></td><td>{_text(item.text)}</td></tr>" for item in crash.evidence)
        body.append(f"<h2>Evidence</h2><table>{rows}</table>")
    body.extend(_differences(diagnosis))
    for finding in diagnosis.findings:
        if finding.rule != DIFFERENCES:
            body.extend(_finding(finding))
    if cured is not None and diagnosis.config_text is not None and cured.text != diagnosis.config_text:
        from lclint.report.diff import unified

        made = "".join(f"<li>{_text(fix.title)}</li>" for fix in cured.made)
        patch = unified(diagnosis.config_path or "", diagnosis.config_text, cured.text)
        body.append(f"<h2>Patch</h2><ul>{made}</ul><p>{_text(cured.estimate)}</p><pre>{_text(patch)}</pre>")
    body.extend(_charts(diagnosis))
    body.extend(f"<p>{_text(note)}</p>" for note in crash.notes)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>lclint diagnose: {_text(crash.path)}</title><style>{_STYLE}</style></head>\n<body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _text(value: object) -> str:
    return html.escape(str(value))


def _facts(diagnosis: Diagnosis) -> str:
    crash = diagnosis.crash
    rows = [
        ("kind", crash.kind),
        ("phase", crash.phase),
        ("first rank", crash.first_rank),
        ("last iteration", crash.iteration),
        ("GPUs", f"{diagnosis.gpus or 'unknown'} {diagnosis.gpu or ''}"),
        ("asked for", _gib(crash.requested_bytes)),
        ("capacity", _gib(crash.capacity_bytes)),
        ("allocated", _gib(crash.allocated_bytes)),
        ("reserved, unallocated", _gib(crash.reserved_unallocated_bytes)),
        ("private pools", _gib(crash.private_pools_bytes)),
        ("settings recovered", len(crash.settings) or None),
    ]
    return "<table>" + "".join(f"<tr><td>{name}</td><td>{_text(value)}</td></tr>" for name, value in rows if value is not None) + "</table>"


def _differences(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.differences:
        rows = "".join(
            f"<tr><td><code>{_text(item['field'])}</code></td><td>{_text(show(item['log']))}</td><td>{_text(show(item['config']))}</td></tr>"
            for item in diagnosis.differences
        )
        yield f"<h2>Log and config file differ: the log is what ran</h2><table><tr><th>field</th><th>in the log</th><th>in the file</th></tr>{rows}</table>"


def _gib(size: int | None) -> str | None:
    return None if size is None else f"{size / GIB:.2f} GiB"


def _finding(finding: Finding) -> Iterator[str]:
    yield f'<h2><span class="{finding.severity}">{finding.severity}</span> {_text(finding.rule)} [{_text(finding.code)}]</h2>'
    yield f"<p>{_text(finding.message)}</p><p>{_text(finding.reason)}</p>"
    if finding.fixes:
        yield "<ul>"
        for fix in finding.fixes:
            how = "by hand" if fix.applicability == "display-only" else fix.applicability
            action = f"<br>{_text(fix.action)}" if fix.action else ""
            made = "".join(f"<br><code>{_text(change)}</code>" for change in changes(fix))
            yield f"<li>{_text(fix.title)} ({how}){action}{made}</li>"
        yield "</ul>"


def _charts(diagnosis: Diagnosis) -> Iterator[str]:
    crash = diagnosis.crash
    capacity = None if crash.capacity_bytes is None else crash.capacity_bytes / GIB
    ranks: dict[str, float] = {}
    for reading in crash.readings:
        ranks[reading.rank or "?"] = max(ranks.get(reading.rank or "?", 0.0), _most(reading))
    if ranks:
        fullest = sorted(ranks.items(), key=lambda item: -item[1])[:MOST_BARS]
        cut = f", the {MOST_BARS} fullest of {len(ranks)}" if len(ranks) > MOST_BARS else ""
        yield f"<h2>Most reserved, by rank (GiB){cut}</h2>"
        yield _bars(sorted(fullest, key=lambda item: (len(item[0]), item[0])), capacity)
    reserved, allocated = _by_iteration(crash.readings, "max_reserved"), _by_iteration(crash.readings, "max_allocated")
    series = {name: points for name, points in (("most reserved", reserved), ("most allocated", allocated)) if len(points) > 1}
    if series:
        yield "<h2>Memory of the fullest rank, over iterations (GiB)</h2>"
        yield _lines(series, capacity)
    if len(crash.throughput) > 3:
        yield "<h2>Time per iteration (s)</h2>"
        yield _lines({"": [(float(number), milliseconds / 1000) for number, milliseconds in crash.throughput]}, None)


def _by_iteration(readings: list[Reading], name: str) -> list[tuple[float, float]]:
    found: dict[int, float] = {}
    for reading in readings:
        value = getattr(reading, name)
        if value is not None:
            found[reading.iteration] = max(found.get(reading.iteration, 0.0), value / GIB)
    return [(float(iteration), value) for iteration, value in sorted(found.items())]


def _most(reading: Reading) -> float:
    return (reading.max_reserved or reading.reserved or reading.max_allocated or reading.allocated or 0) / GIB


def _bars(values: list[tuple[str, float]], limit: float | None) -> str:
    top = _top([value for _, value in values], limit)
    room = (WIDTH - LEFT) / len(values)
    marks = []
    for index, (name, value) in enumerate(values):
        high = (HEIGHT - BOTTOM) * value / top
        x, y = LEFT + index * room, HEIGHT - BOTTOM - high
        marks.append(
            f'<rect x="{x + room * 0.1:.1f}" y="{y:.1f}" width="{room * 0.8:.1f}" height="{high:.1f}" fill="#3b6fb6">'
            f"<title>{_text(name)}: {value:.2f}</title></rect>"
        )
        if len(values) <= 24:
            marks.append(f'<text x="{x + room / 2:.1f}" y="{HEIGHT - 10}" text-anchor="middle">{_text(name)}</text>')
    return _chart(marks, top, limit)


def _lines(series: dict[str, list[tuple[float, float]]], limit: float | None) -> str:
    points = [point for line in series.values() for point in line]
    top = _top([value for _, value in points], limit)
    first, last = min(x for x, _ in points), max(x for x, _ in points)
    across = (last - first) or 1
    marks = []
    for number, (name, line) in enumerate(series.items()):
        path = " ".join(f"{LEFT + (WIDTH - LEFT - 8) * (x - first) / across:.1f},{(HEIGHT - BOTTOM) * (1 - y / top):.1f}" for x, y in line)
        marks.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[number]}" stroke-width="2"/>')
        if name:
            marks.append(f'<text x="{LEFT + 120 * (number + 1)}" y="{HEIGHT - 10}" style="fill:{COLOURS[number]}">{name}</text>')
    marks.append(f'<text x="{LEFT}" y="{HEIGHT - 10}">iteration {first:g}</text><text x="{WIDTH - 8}" y="{HEIGHT - 10}" text-anchor="end">{last:g}</text>')
    return _chart(marks, top, limit)


def _top(values: list[float], limit: float | None) -> float:
    """What the vertical axis ends at: a little above all that is shown."""
    return 1.1 * (max([*values, limit or 0.0]) or 1.0)


def _chart(marks: list[str], top: float, limit: float | None) -> str:
    if limit is not None:
        y = (HEIGHT - BOTTOM) * (1 - limit / top)
        marks.append(
            f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#b42318" stroke-dasharray="4 3"/>'
            f'<text x="{WIDTH - 4}" y="{y - 4:.1f}" text-anchor="end" class="limit">capacity {limit:.1f}</text>'
        )
    axis = f'<line x1="{LEFT}" x2="{WIDTH}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM}" stroke="#98a2b3"/>'
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = (HEIGHT - BOTTOM) * (1 - share)
        axis += f'<line x1="{LEFT - 4}" x2="{LEFT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#98a2b3"/>'
        axis += f'<text x="{LEFT - 8}" y="{min(max(y + 4, 10), HEIGHT - BOTTOM):.1f}" text-anchor="end">{top * share:.1f}</text>'
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" role="img">{axis}{"".join(marks)}</svg>'
