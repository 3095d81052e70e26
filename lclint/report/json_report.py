"""The JSON report: ``schemas/report.schema.json`` describes it."""

from __future__ import annotations

import json
from typing import Any

from lclint.core.finding import SEVERITIES, FileReport, Finding, Fix, Place, Report, Suppressed
from lclint.core.options import Options

SCHEMA = 1


def render(report: Report, options: Options | None = None) -> str:
    """The report as one line of ASCII JSON; the options change nothing about it."""
    return json.dumps(data(report), separators=(",", ":"), allow_nan=False) + "\n"


def data(report: Report) -> dict[str, Any]:
    """The report as plain lists and dicts."""
    return {
        "schema": SCHEMA,
        "files": [_file(file) for file in report.files],
        "summary": {severity: report.count(severity) for severity in SEVERITIES},
    }


def finding_data(finding: Finding) -> dict[str, Any]:
    """One finding, as in the ``findings`` of every command."""
    place = finding.place
    return {
        "rule": finding.rule,
        "code": finding.code,
        "case": finding.case,
        "severity": finding.severity,
        "impact": finding.impact,
        "message": finding.message,
        "at": place.at,
        "path": place.path,
        "origin": place.origin,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
        "related": [_related(place) for place in finding.related],
        "evidence": [{"path": item.path, "line": item.line, "text": item.text} for item in finding.evidence],
        "fixes": [_fix(fix) for fix in finding.fixes],
        "docs": finding.docs,
    }


def _file(file: FileReport) -> dict[str, Any]:
    return {
        "path": file.path,
        "kind": file.kind,
        "bridge_version": file.bridge_version,
        "cluster": {"gpu": file.gpu, "gpus": file.gpus},
        "findings": [finding_data(finding) for finding in file.findings],
        "undecided": [{"rule": case.rule, "case": case.case, "needs": case.needs} for case in file.undecided],
        "suppressed": file.suppressed,
        "suppressions": [_suppression(why) for why in file.suppressions],
    }


def _suppression(why: Suppressed) -> dict[str, Any]:
    finding = why.finding
    return {
        "rule": finding.rule,
        "code": finding.code,
        "case": finding.case,
        "at": finding.at,
        "line": finding.place.line,
        "by": why.by,
        "comment_line": why.line,
        "reason": why.reason,
    }


def _related(place: Place) -> dict[str, Any]:
    return {"at": place.at, "path": place.path, "line": place.line, "column": place.column}


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "applicability": fix.applicability,
        "set": {field: plain(value) for field, value in fix.set.items()},
        "remove": fix.remove,
        "env": fix.env,
        "action": fix.action,
        "edits": [{"path": edit.path, "start": edit.start, "end": edit.end, "text": edit.text} for edit in fix.edits],
    }


def plain(value: Any) -> Any:
    """``value`` with everything that JSON lacks (infinities, dates, bytes, keys that are no strings) as text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return str(value)
