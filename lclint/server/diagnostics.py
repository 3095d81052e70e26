"""Findings and errors as the protocol's diagnostics."""

from __future__ import annotations

import os
from pathlib import Path

from lsprotocol import types

from lclint.checking import Checked
from lclint.core.errors import LclintError
from lclint.core.finding import Finding, Place
from lclint.engine import rulefile
from lclint.engine.evaluate import Hit
from lclint.engine.operations import show
from lclint.fixes.symbolic import fixes
from lclint.report.text import STRIKES
from lclint.server.analysis import Analysis
from lclint.server.positions import Text

SOURCE = "lclint"
SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}
RULES_PAGE = "https://github.com/lclint/lclint/blob/main/rules/"
Client = types.PublishDiagnosticsClientCapabilities


def of(analysis: Analysis, uri: str, client: Client) -> list[types.Diagnostic]:
    """All diagnostics of one version of a file: its error when it has one, else its findings."""
    checked = analysis.checked
    if analysis.error is not None:
        return [of_error(analysis.text, analysis.error)]
    if checked is None:
        return []
    hits = {id(hit.finding): hit for hit in checked.hits}
    return [of_hit(analysis, hits[id(finding)], uri, client) for finding in checked.report.findings]


def of_hit(analysis: Analysis, hit: Hit, uri: str, client: Client) -> types.Diagnostic:
    """The diagnostic of one finding, with what the client can show of it."""
    finding, checked = hit.finding, analysis.checked
    assert finding is not None
    assert checked is not None
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
        diagnostic.tags = [tag for tag in _tags(checked, hit) if tag in client.tag_support.value_set] or None
    if client.related_information:
        diagnostic.related_information = [
            types.DiagnosticRelatedInformation(types.Location(uri, place_range(analysis.text, place)), place.at)
            for place in finding.related
            if place.line is not None
        ] or None
    return diagnostic


def of_error(text: Text, error: LclintError) -> types.Diagnostic:
    """What stops a check, at its line when it has one."""
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
    """The address of a rule's file: its page for a rule of lclint's, the file itself for one of the user's own."""
    if not _pages:
        _pages.update(_files(rulefile.shipped("rules")))
    if name in _pages:
        return RULES_PAGE + _pages[name]
    for folder in folders:
        found = _files(folder).get(name)
        if found is not None:
            return Path(folder, found).resolve().as_uri()
    return None


_pages: dict[str, str] = {}


def _files(folder: str) -> dict[str, str]:
    """Rule files by their names without suffix, as paths below the folder."""
    paths = [os.path.relpath(path, folder).replace(os.sep, "/") for path in rulefile.find(folder)[0]]
    return {path.rpartition("/")[2].rpartition(".")[0]: path for path in paths}


def _message(finding: Finding) -> str:
    when = f" {STRIKES[finding.strikes]}" if finding.impact == "crash" and finding.strikes in STRIKES else ""
    lines = [f"{finding.message} [{finding.impact}{when}]"]
    if finding.reason:
        lines.append(finding.reason)
    lines += [f"{place.at}: {show(place.value)} ({place.origin})" for place in [finding.place, *finding.related] if place.value is not None]
    return "\n".join(lines)


def _tags(checked: Checked, hit: Hit) -> list[types.DiagnosticTag]:
    """Deprecated for what the rules about old names find; unnecessary for what a safe fix does nothing but take out."""
    assert hit.finding is not None
    if hit.rule.name.startswith("deprecated-"):
        return [types.DiagnosticTag.Deprecated]
    for fix, search in fixes(hit, checked.facts, checked.rules):
        if fix.applicability == "safe" and fix.remove == [hit.finding.at] and not (search or fix.set or fix.rename or fix.lists or fix.env):
            return [types.DiagnosticTag.Unnecessary]
    return []
