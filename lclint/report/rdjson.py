"""The Reviewdog Diagnostic Format (a ``DiagnosticResult``), for ``reviewdog -f=rdjson``.

https://github.com/reviewdog/reviewdog/tree/master/proto/rdf: 1-based lines, columns in UTF-8 bytes, the end exclusive.
"""

from __future__ import annotations

import json
from typing import Any

from lclint.core.finding import FileReport, Finding, Fix, Report
from lclint.core.options import Options
from lclint.core.project import REPOSITORY
from lclint.report.location import Lines, Spot, message, relative, spot, whole
from lclint.report.remedy import remedies
from lclint.report.text import applies

BOM_BYTES = 3


def render(report: Report, options: Options) -> str:
    """The result, in ASCII."""
    made: list[dict[str, Any]] = []
    for file in report.files:
        page = _Page(file)
        made.extend(_diagnostic(page, finding, options) for finding in file.findings)
    return json.dumps({"source": {"name": "lclint", "url": REPOSITORY}, "diagnostics": made}, indent=1) + "\n"


class _Page:
    """A file's text with positions in bytes; those of another file, whose text is not at hand, are lines alone."""

    def __init__(self, file: FileReport) -> None:
        self.file = file
        self.lines = None if file.text is None else Lines(file.text)

    def position(self, line: int, column: int) -> dict[str, int]:
        if self.lines is None:
            return {"line": line}
        # the bytes of a byte order mark stand on the first line
        mark = BOM_BYTES if line == 1 and self.file.mark else 0
        return {"line": line, "column": self.lines.byte_column(line, column) + mark}


def _diagnostic(page: _Page, finding: Finding, options: Options) -> dict[str, Any]:
    file = page.file
    at = spot(file, finding.place)
    location: dict[str, Any] = {"path": whole(relative(at.path or file.path))}
    if at.line is not None:
        location["range"] = _range(page, at)
    data: dict[str, Any] = {
        "message": "\n".join([message(file, finding, options), *remedies(finding)]),
        "location": location,
        "severity": finding.severity.upper(),
        "code": {"value": finding.rule, **({"url": finding.url} if finding.url else {})},
    }
    suggestion = _suggestion(page, finding, at)
    if suggestion is not None:
        data["suggestions"] = [suggestion]
    return data


def _range(page: _Page, at: Spot) -> dict[str, Any]:
    line, column, end_line, end_column = at.line or 1, at.column or 1, at.end_line or 1, at.end_column or 1
    if at.path not in (page.file.path, None):
        return {"start": {"line": line}, "end": {"line": end_line}}
    return {"start": page.position(line, column), "end": page.position(end_line, end_column)}


def _suggestion(page: _Page, finding: Finding, at: Spot) -> dict[str, Any] | None:
    """The first safe fix as one replacement: reviewdog offers each suggestion by itself, and half a fix would be a broken config.

    Only on the very lines of the finding: reviewdog takes no other, and says so in the comment.
    """
    for fix in finding.fixes:
        if fix.applicability == "safe" and applies(fix):
            return _replacement(page, fix, at)
    return None


def _replacement(page: _Page, fix: Fix, at: Spot) -> dict[str, Any] | None:
    text = page.file.text
    edits = sorted(fix.edits, key=lambda edit: (edit.start, edit.end))
    if text is None or page.lines is None or at.path not in (page.file.path, None) or any(edit.path != page.file.path for edit in edits):
        return None
    start, end = edits[0].start, max(edit.end for edit in edits)
    first, last = page.lines.position(start), page.lines.position(end)
    if (first[0], last[0]) != (at.line, at.end_line):
        return None
    made, done = [], start
    for edit in edits:
        made += [text[done : edit.start], edit.text]
        done = edit.end
    return {"range": {"start": page.position(*first), "end": page.position(*last)}, "text": "".join([*made, text[done:end]])}
