"""One line a finding, for editors, grep and short logs: ``path:line:column: severity: message [rule]``."""

from __future__ import annotations

from lclint.core.finding import FileReport, Finding, Report
from lclint.core.options import Options
from lclint.report.location import message, spot
from lclint.report.screen import printable
from lclint.report.style import Style
from lclint.report.text import way


def render(report: Report, options: Options, style: Style | None = None) -> str:
    """The lines; what lclint can fix itself says how: ``(safe fix)`` or ``(unsafe fix)``."""
    style = style or Style(False)
    return "".join(_line(file, finding, options, style) for file in report.files for finding in file.findings)


def _line(file: FileReport, finding: Finding, options: Options, style: Style) -> str:
    at = spot(file, finding.place)
    where = printable(at.path or file.path)
    if at.line is not None:
        where += f":{at.line}:{at.column}"
    fix = f" ({way(finding)} fix)" if way(finding) else ""
    severity = style.paint(finding.severity, finding.severity)
    return f"{style.paint(where, 'strong')}: {severity}: {message(file, finding, options)} [{finding.rule}]{style.paint(fix, 'fix')}\n"
