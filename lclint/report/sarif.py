"""SARIF 2.1.0, for GitHub code scanning and other collectors: findings with rules, fixes and fingerprints.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. Columns are code points, and ``columnKind`` says so.
"""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import quote

from lclint import __version__
from lclint.core.errors import LclintError
from lclint.core.finding import FileReport, Finding, Fix, Place, Report, Suppressed
from lclint.core.options import Options
from lclint.core.project import REPOSITORY
from lclint.report.fingerprint import Fingerprints
from lclint.report.location import Lines, failure, message, one_line, relative, spot
from lclint.report.sarif_rules import LEVELS, Rules
from lclint.report.text import applies

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "SRCROOT"


def render(report: Report, options: Options) -> str:
    """The log, in ASCII: one run."""
    rules = Rules(options.rules)
    prints = Fingerprints()
    results: list[dict[str, Any]] = []
    for file in report.files:
        artifact = _Artifact(file)
        found: list[tuple[Finding, list[dict[str, Any]]]] = [(finding, []) for finding in file.findings]
        found += [(why.finding, [_suppression(file, why)]) for why in file.suppressions]
        for finding, suppressions in found:
            # the standard wants the list with every result or with none
            results.append({**_result(artifact, finding, options, rules, prints), "suppressions": suppressions})
    driver = {"name": "lclint", "version": __version__, "semanticVersion": __version__, "informationUri": REPOSITORY, "rules": rules.used}
    invocation: dict[str, Any] = {"executionSuccessful": not report.errors}
    if report.errors:
        invocation["toolExecutionNotifications"] = [_notification(error) for error in report.errors]
    run: dict[str, Any] = {"tool": {"driver": driver}, "invocations": [invocation], "columnKind": "unicodeCodePoints", "results": results}
    here = _here()
    if here is not None:
        run["originalUriBaseIds"] = {ROOT: {"uri": here}}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


class _Artifact:
    """A checked file, with positions for its edits."""

    def __init__(self, file: FileReport) -> None:
        self.file = file
        self._lines: Lines | None = None

    def region(self, start: int, end: int) -> dict[str, int]:
        """The region between two offsets of the file's text."""
        assert self.file.text is not None
        lines = self._lines = self._lines or Lines(self.file.text)
        (line, column), (end_line, end_column) = lines.position(start), lines.position(end)
        return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _result(artifact: _Artifact, finding: Finding, options: Options, rules: Rules, prints: Fingerprints) -> dict[str, Any]:
    file = artifact.file
    at = spot(file, finding.place)
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rules.index(finding),
        "level": LEVELS[finding.severity],
        "message": {"text": _text(message(file, finding, options))},
        "locations": [_location(file, finding.place)],
        "partialFingerprints": {"lclint/v1": prints.of(relative(at.path or file.path), finding)},
        "properties": {"case": finding.case, "impact": finding.impact, "at": one_line(finding.at)},
    }
    related = [
        {"id": number, "message": {"text": _text(one_line(place.at))}, **_location(file, place)}
        for number, place in enumerate(finding.related, 1)
        if place.line is not None
    ]
    if related:
        result["relatedLocations"] = related
    fixes = [_fix(artifact, fix) for fix in finding.fixes if applies(fix) and at.path is not None]
    if fixes:
        result["fixes"] = fixes
    return result


def _suppression(file: FileReport, why: Suppressed) -> dict[str, Any]:
    made: dict[str, Any] = {"kind": "external" if why.by == "baseline" else "inSource", "status": "accepted"}
    if why.reason:
        made["justification"] = one_line(why.reason)
    path = spot(file, why.finding.place).path
    if why.line is not None and path is not None:
        made["location"] = {"physicalLocation": {"artifactLocation": _address(path), "region": {"startLine": why.line}}}
    return made


def _location(file: FileReport, place: Place) -> dict[str, Any]:
    """A place: the file with the region in it, where there is a file, and the field."""
    at = spot(file, place)
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": one_line(place.at), "kind": "property"}]}
    if at.path is not None:
        # a viewer wants a line: a finding about the file as a whole is shown on its first
        region = {"startLine": at.line or 1}
        if at.line is not None and at.column is not None and at.end_line is not None and at.end_column is not None:
            region |= {"startColumn": at.column, "endLine": at.end_line, "endColumn": at.end_column}
        location["physicalLocation"] = {"artifactLocation": _address(at.path), "region": region}
    return location


def _fix(artifact: _Artifact, fix: Fix) -> dict[str, Any]:
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in fix.edits:
        if edit.path == artifact.file.path and artifact.file.text is not None:
            region = artifact.region(edit.start, edit.end)
        else:
            region = {"charOffset": edit.start, "charLength": edit.end - edit.start}
        changes.setdefault(edit.path, []).append({"deletedRegion": region, "insertedContent": {"text": edit.text}})
    return {
        "description": {"text": _text(one_line(f"{fix.title} [{fix.applicability}]"))},
        "artifactChanges": [{"artifactLocation": _address(path), "replacements": made} for path, made in changes.items()],
    }


def _address(path: str) -> dict[str, str]:
    """The URI of a file: relative to the working directory where it lies in it. Bytes that a URI cannot hold are escaped as they are."""
    name = relative(path)
    if os.path.isabs(name):
        return {"uri": _file_uri(name)}
    return {"uri": quote(os.fsencode(name)), "uriBaseId": ROOT}


def _file_uri(path: str) -> str:
    slashed = path.replace(os.sep, "/")
    return "file://" + quote(os.fsencode(slashed if slashed.startswith("/") else f"/{slashed}"), safe="/:")


def _here() -> str | None:
    try:
        return _file_uri(os.path.join(os.getcwd(), ""))
    except OSError:
        return None


def _notification(error: LclintError) -> dict[str, Any]:
    made: dict[str, Any] = {"level": "error", "message": {"text": _text(failure(error))}}
    if error.path is not None:
        made["locations"] = [{"physicalLocation": {"artifactLocation": _address(error.path), "region": {"startLine": error.line or 1}}}]
    return made


def _text(text: str) -> str:
    """A plain text message, in which ``[x](1)`` would be a link and ``{0}`` a place for an argument."""
    text = text.replace("{", "{{").replace("}", "}}") if _has_argument(text) else text
    return text.replace("](", "\\](")


def _has_argument(text: str) -> bool:
    return "{" in text and any(part[:1].isdigit() for part in text.split("{")[1:])
