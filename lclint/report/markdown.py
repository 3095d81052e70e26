"""A summary for a job page or a comment: ``lclint check --format markdown >> "$GITHUB_STEP_SUMMARY"``.

GitHub's Markdown. A comment may hold 65,536 characters, so the table is cut before that, the gravest findings first.
"""

from __future__ import annotations

import os
import re

from lclint.core.errors import LclintError
from lclint.core.finding import SEVERITIES, FileReport, Finding, Report
from lclint.core.options import Options
from lclint.report.location import failure, message, relative, spot, whole
from lclint.report.remedy import remedies
from lclint.report.screen import count, printable
from lclint.report.text import TextReport, outcome

ROWS = 100
CHARACTERS = 60_000
CELL = 600
# a backslash before these takes their meaning; "://" and "www." would become links, "#12" the link to an issue
_SPECIAL = re.compile(r"[\\`*_\[\]|~$]|:(?=//)|(?<=www)\.|^[#+\-]")


def render(report: Report, options: Options) -> str:
    """A heading with the counts, a table of the findings, and what could not be read."""
    unread = f"; {count(len(report.errors), 'file')} could not be checked" if report.errors else ""
    parts = ["## lclint\n\n", f"{escape(TextReport(options).summary(report) + unread)}\n"]
    found = [(file, finding) for file in report.files for finding in file.findings]
    found.sort(key=lambda item: SEVERITIES.index(item[1].severity))
    if found:
        parts.append("\n| | where | what | rule |\n|---|---|---|---|\n")
    size, shown = sum(map(len, parts)), 0
    for file, finding in found[:ROWS]:
        row = _row(file, finding, options)
        if size + len(row) > CHARACTERS:
            break
        parts.append(row)
        size += len(row)
        shown += 1
    if shown < len(found):
        parts.append(f"\n{len(found) - shown} more are not shown here.\n")
    parts += [f"\n**Not checked:** {_failure(error)}\n" for error in report.errors[:ROWS]]
    return "".join(parts)


def _row(file: FileReport, finding: Finding, options: Options) -> str:
    at = spot(file, finding.place)
    path = whole(relative(at.path or file.path, os.environ.get("GITHUB_WORKSPACE")))
    where = code(path if at.line is None else f"{path}:{at.line}")
    link = _source(path, at.line) if at.path is not None else None
    lines = [escape(_cut(line)) for line in (message(file, finding, options), *remedies(finding))]
    cells = [
        finding.severity,
        f"[{where}]({link})" if link else where,
        "<br>".join(lines),
        (f"[{code(finding.rule)}]({finding.url})" if finding.url else code(finding.rule)) + f"<br>{escape(outcome(finding))}",
    ]
    return f"| {' | '.join(cells)} |\n"


def _failure(error: LclintError) -> str:
    text = escape(_cut(failure(error)))
    if error.path is None:
        return text
    path = whole(relative(error.path, os.environ.get("GITHUB_WORKSPACE")))
    return f"{code(f'{path}:{error.line}' if error.line else path)}: {text}"


def _source(path: str, line: int | None) -> str | None:
    """The file's page on GitHub, when a workflow runs there."""
    server, repository, commit = (os.environ.get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY", "SHA"))
    if not (server and repository and commit) or path.startswith(("/", "../")):
        return None
    from urllib.parse import quote

    return f"{server}/{repository}/blob/{commit}/{quote(path)}" + (f"#L{line}" if line else "")


def _cut(text: str) -> str:
    return text if len(text) <= CELL else text[: CELL - 1] + "…"


def escape(text: str) -> str:
    """``text`` so that it reads as it is: no markup, no HTML, no link, no mention of a person."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _SPECIAL.sub(lambda found: "\\" + found[0], text)
    # a mention and the number of an issue work through any escape, but not through a space of no width
    return re.sub(r"@|#(?=\d)", lambda found: f"{found[0]}&#8203;", text)


def code(text: str) -> str:
    """``text`` as code in a cell of a table."""
    text = printable(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    # of a blank at either end one is taken away
    blank = " " if text[:1] in ("`", " ") or text[-1:] in ("`", " ") else ""
    # a bar ends a cell even in code, but for a backslash before it
    return f"{fence}{blank}{text}{blank}{fence}".replace("|", "\\|")
