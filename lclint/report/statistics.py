"""How often each rule was found, and how much of it lclint can fix itself."""

from __future__ import annotations

from typing import Any

from lclint.core.finding import SEVERITIES, Finding, Report
from lclint.report.screen import count
from lclint.report.style import Style
from lclint.report.text import way

SCHEMA = 1


def data(report: Report) -> dict[str, Any]:
    """The counts as plain lists and dicts, the most frequent rule first: ``schemas/statistics.schema.json``."""
    found: dict[str, list[Finding]] = {}
    for file in report.files:
        for finding in file.findings:
            found.setdefault(finding.rule, []).append(finding)
    rows = []
    for rule, findings in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        ways = [way(finding) for finding in findings]
        row: dict[str, Any] = {"rule": rule, "code": findings[0].code, "title": findings[0].title, "count": len(findings)}
        row.update((severity, sum(finding.severity == severity for finding in findings)) for severity in SEVERITIES)
        rows.append({**row, "fixable": {"safe": ways.count("safe"), "unsafe": ways.count("unsafe")}})
    return {
        "schema": SCHEMA,
        "files": len(report.files),
        "suppressed": sum(file.suppressed for file in report.files),
        "rules": rows,
    }


def render_json(report: Report) -> str:
    """The counts as one line of JSON."""
    import json

    return json.dumps(data(report), separators=(",", ":")) + "\n"


def render(report: Report, style: Style) -> str:
    """A line for each rule: count, severity, name, and how many are fixable."""
    rows = data(report)["rules"]
    width = max((len(str(row["count"])) for row in rows), default=1)
    lines = []
    for row in rows:
        severity = next(severity for severity in SEVERITIES if row[severity])
        ways = [f"{row['fixable'][kind]} {kind}" for kind in ("safe", "unsafe") if row["fixable"][kind]]
        fixable = f"  fixable: {', '.join(ways)}" if ways else ""
        name = style.paint(row["rule"], "strong")
        lines.append(f"{row['count']:{width}}  {style.paint(f'{severity:7}', severity)}  {row['code']:7} {name}{style.paint(fixable, 'fix')}\n")
    total = sum(row["count"] for row in rows)
    lines.append(f"{count(total, 'finding')} of {count(len(rows), 'rule')} in {count(len(report.files), 'file')}\n")
    return "".join(lines)
