"""Findings and errors as the protocol's diagnostics."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from lsprotocol import types

from lclint.core.errors import LclintError
from lclint.core.finding import Finding, Fix, Place
from lclint.core.project import rule_page
from lclint.engine import rulefile
from lclint.engine import rules as ruleset
from lclint.engine.operations import show
from lclint.fixes.symbolic import fixes
from lclint.report.text import outcome
from lclint.server.analysis import Analysis
from lclint.server.positions import Text

SOURCE = "lclint"
SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}
Client = types.PublishDiagnosticsClientCapabilities


def of(analysis: Analysis, uri: str, client: Client) -> list[types.Diagnostic]:
    """All diagnostics of one version of a file: its error when it has one, else its findings."""
    found = analysis.findings
    if analysis.error is not None:
        return [of_error(analysis.text, analysis.error, analysis.path)]
    return [of_finding(analysis, finding, uri, client) for finding in found]


def of_finding(analysis: Analysis, finding: Finding, uri: str, client: Client) -> types.Diagnostic:
    """The diagnostic of one finding, with what the client can show of it."""
    diagnostic = types.Diagnostic(
        range=place_range(analysis.text, finding.place),
        message=_message(finding),
        severity=SEVERITIES[finding.severity],
        code=finding.rule,
        source=SOURCE,
    )
    link = rule_link(finding.rule, analysis.options.rules)
    if client.code_description_support and link is not None:
        diagnostic.code_description = types.CodeDescription(link)
    if client.tag_support is not None:
        diagnostic.tags = [tag for tag in _tags(analysis, finding) if tag in client.tag_support.value_set] or None
    if client.related_information:
        diagnostic.related_information = [
            types.DiagnosticRelatedInformation(types.Location(uri, place_range(analysis.text, place)), place.at)
            for place in finding.related
            if place.line is not None
        ] or None
    return diagnostic


def of_error(text: Text, error: LclintError, path: str) -> types.Diagnostic:
    """What stops a check, at its line when it has one; what is wrong with another file stands at the first line, with that file's name."""
    if error.path is not None and error.path != path:
        # an editor does not show where the server was started
        named = LclintError(error.message, os.path.abspath(error.path), error.line, error.hint)
        return types.Diagnostic(text.range(*text.line(1)), str(named), types.DiagnosticSeverity.Error, source=SOURCE)
    start, end = text.line(error.line or 1)
    content = text.content
    if error.column is not None:
        start = min(start + error.column - 1, end)
    else:
        start += len(content[start:end]) - len(content[start:end].lstrip())
    if start == end:
        # behind the end of what is written: its last character stands for it
        end = len(content[:end].rstrip())
        start = max(end - 1, 0)
    message = error.message[:1].upper() + error.message[1:] + (f" ({error.hint})" if error.hint else "")
    return types.Diagnostic(text.range(start, end), message, types.DiagnosticSeverity.Error, source=SOURCE)


def place_range(text: Text, place: Place) -> types.Range:
    """Where a finding points; the first line for what no line of the file says."""
    if place.line is None or place.column is None:
        return text.range(*text.line(1))
    start = text.at(place.line, place.column)
    end = text.at(place.end_line or place.line, place.end_column or place.column)
    return text.range(start, end)


def rule_link(name: str, folders: list[str]) -> str | None:
    """What tells more about a rule: its entry in the table of lclint's own, the file of one of the user's, which is called like the rule."""
    for folder in folders:
        for path in rulefile.find(folder)[0]:
            if os.path.splitext(os.path.basename(path))[0] == name:
                return Path(path).resolve().as_uri()
    return None if folders and name not in _shipped() else rule_page(name)


@functools.cache
def _shipped() -> frozenset[str]:
    return frozenset(rule.name for rule in ruleset.load())


def _message(finding: Finding) -> str:
    lines = [f"{finding.message} [{outcome(finding)}]"]
    if finding.reason:
        lines.append(finding.reason)
    lines += [f"{place.at}: {show(place.value)} ({place.origin})" for place in [finding.place, *finding.related] if place.value is not None]
    return "\n".join(lines)


def _tags(analysis: Analysis, finding: Finding) -> list[types.DiagnosticTag]:
    """Deprecated for what the rules about old names find; unnecessary for what a safe fix does nothing but take out."""
    if finding.rule.startswith("deprecated-"):
        return [types.DiagnosticTag.Deprecated]
    hit, checked = analysis.hit(finding), analysis.checked
    if hit is None or checked is None:
        taken_out = any(fix.applicability == "safe" and all(edit.text == "" for edit in fix.edits) for fix in finding.fixes)
        return [types.DiagnosticTag.Unnecessary] if taken_out else []
    if finding.impact in ("silent", "advice"):
        for fix, search in fixes(hit, checked.facts, checked.rules):
            if fix.applicability == "safe" and not (search or fix.rename or fix.lists or fix.env) and _takes_out(fix, finding):
                return [types.DiagnosticTag.Unnecessary]
    return []


def _takes_out(fix: Fix, finding: Finding) -> bool:
    """Whether the fix does nothing but leave out the finding's value, or write null for what has no effect."""
    if fix.remove:
        return fix.remove == [finding.at] and not fix.set
    return fix.set == {finding.at: None} and finding.severity != "error"
