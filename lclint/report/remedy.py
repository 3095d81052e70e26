"""What helps against a finding, in lines of plain text."""

from __future__ import annotations

from lclint.core.finding import Finding
from lclint.report.location import one_line
from lclint.report.text import CHANGES_SHOWN, applies, changes


def remedies(finding: Finding) -> list[str]:
    """One line a fix: how safe it is, its title and what it changes, or what a person has to do."""
    lines = []
    for fix in finding.fixes:
        made = changes(fix)
        what = [*made[:CHANGES_SHOWN], *([f"and {len(made) - CHANGES_SHOWN} more"] if len(made) > CHANGES_SHOWN else [])]
        if fix.action and not fix.edits:
            what = [fix.action]
        text = f"fix [{fix.applicability if applies(fix) else 'by hand'}]: {fix.title}"
        lines.append(one_line(f"{text}: {'; '.join(what)}" if what and what != [fix.title] else text))
    return lines
