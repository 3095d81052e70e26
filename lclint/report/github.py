"""Workflow commands: GitHub Actions shows each as an annotation of the run and of the pull request's changed lines.

Escaping as in actions/toolkit (packages/core/src/command.ts). GitHub shows ten errors, ten warnings and ten notices of a step.
"""

from __future__ import annotations

import os

from lclint.core.finding import FileReport, Finding, Report
from lclint.core.options import Options
from lclint.report.location import failure, message, relative, spot, whole
from lclint.report.remedy import remedies

COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report, options: Options) -> str:
    """One command a finding, and one for every file that could not be read."""
    lines = [_finding(file, finding, options) for file in report.files for finding in file.findings]
    for error in report.errors:
        where = {} if error.path is None else {"file": _path(error.path), **({"line": str(error.line)} if error.line else {})}
        lines.append(command("error", {**where, "title": "cannot be checked"}, failure(error)))
    return "".join(f"{line}\n" for line in lines)


def command(name: str, properties: dict[str, str], data: str) -> str:
    """One command. Whatever the texts hold, it stays one line and starts no other."""
    given = ",".join(f"{key}={_property(value)}" for key, value in properties.items() if value)
    return f"::{name} {given}::{_data(data)}"


def _finding(file: FileReport, finding: Finding, options: Options) -> str:
    at = spot(file, finding.place)
    properties = {}
    if at.path is not None:
        properties["file"] = _path(at.path)
        if at.line is not None and at.end_line is not None:
            properties["line"] = str(at.line)
            if at.end_line == at.line:
                # the runner drops an annotation that has columns on several lines
                properties["col"] = str(at.column)
                properties["endLine"] = str(at.end_line)
                properties["endColumn"] = str(at.end_column)
            else:
                properties["endLine"] = str(at.end_line)
    properties["title"] = f"{finding.rule} [{finding.code}]" if finding.code else finding.rule
    return command(COMMANDS[finding.severity], properties, "\n".join([message(file, finding, options), *remedies(finding)]))


def _path(path: str) -> str:
    """The path from the top of the repository, which GitHub wants."""
    return whole(relative(path, os.environ.get("GITHUB_WORKSPACE")))


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
