"""Quick fixes, comments that silence a finding, and all safe fixes at once, as edits of the open text."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from lsprotocol import types

from lclint.core.errors import InputError
from lclint.core.finding import FileReport, Finding, Fix
from lclint.fixes.rounds import fix_text
from lclint.server import diagnostics
from lclint.server.analysis import Analysis
from lclint.sources import document as documents
from lclint.sources.edits import apply

FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.lclint"
_IGNORE = re.compile(r"#[ \t]*lclint:[ \t]*ignore\[([^\]\r\n]*)\]")
Edits = list[tuple[int, int, str]]


def wanted(kind: str, only: list[str] | None) -> bool:
    """Whether a client that asks for the kinds ``only`` wants one of this kind: each stands for its sub-kinds."""
    return only is None or any(kind == each or kind.startswith(each + ".") for each in only)


def quick_fixes(analysis: Analysis, finding: Finding, diagnostic: types.Diagnostic, uri: str, versioned: bool) -> Iterator[types.CodeAction]:
    """The fixes of one finding, safe ones first and the first of them preferred, and the comment that silences it."""
    usable = [fix for fix in finding.fixes if fix.edits and fix.applicability in ("safe", "unsafe")]
    preferred = next((fix for fix in usable if fix.applicability == "safe"), None)
    for fix in usable:
        edits = [(edit.start, edit.end, edit.text) for edit in fix.edits]
        yield types.CodeAction(
            title=_title(fix),
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            is_preferred=True if fix is preferred else None,
            edit=workspace_edit(analysis, edits, uri, versioned),
        )
    # of a comment's own faults none is silenced by another comment
    ignore = ignoring(analysis, finding) if analysis.hit(finding) is not None else None
    if ignore is not None:
        where = "here" if finding.place.line is not None else "in this file"
        yield types.CodeAction(
            title=f"Ignore {finding.rule} {where}",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            edit=workspace_edit(analysis, ignore, uri, versioned),
        )


def fix_all(analysis: Analysis) -> Edits:
    """The edits that all safe fixes together make, each proven as ``lclint check --fix`` does."""
    if analysis.run is None:
        return []

    before = analysis.text.content

    def check(text: str) -> FileReport:
        checked = analysis.again(text) if text != before or analysis.checked is None else analysis.checked
        if checked is analysis.checked:
            for finding in analysis.findings:
                analysis.add_fixes(finding)
        else:
            checked.add_fixes(checked.hits)
        return checked.report

    return difference(before, fix_text(before, check, False)[0])


def has_safe_fix(analysis: Analysis) -> bool:
    """Whether some finding may have a safe fix, as far as its rule tells."""
    for finding in analysis.findings:
        hit = analysis.hit(finding)
        offered = [fix.applicability for fix in finding.fixes] if hit is None else [hit.rule.fixes[name][1] for name in hit.case.fixes]
        if "safe" in offered:
            return True
    return False


def workspace_edit(analysis: Analysis, edits: Edits, uri: str, versioned: bool) -> types.WorkspaceEdit:
    """Edits of the open text, for that version of it alone where the client knows versions."""
    made = [types.TextEdit(analysis.text.range(start, end), text) for start, end, text in edits]
    if not versioned:
        return types.WorkspaceEdit(changes={uri: made})
    document = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=analysis.version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, list(made))])


def ignoring(analysis: Analysis, finding: Finding) -> Edits | None:
    """The comment that silences a finding, behind its line or above it; None where neither would.

    Proven: the text still holds the same values, and the comment speaks of the finding.
    """
    content = analysis.text.content
    newline = "\r\n" if "\r\n" in content else "\n"
    if finding.place.line is None:
        return _proven(analysis, finding, [(0, 0, f"# lclint: ignore-file[{finding.rule}]{newline}")])
    start, end = analysis.text.line(finding.place.line)
    line = content[start:end]
    there = _IGNORE.search(line)
    if there is not None:
        # one comment for both
        names = there.group(1).strip().rstrip(",")
        joined = f"{names}, {finding.rule}" if names else finding.rule
        return _proven(analysis, finding, [(start + there.start(1), start + there.end(1), joined)])
    behind = len(line.rstrip())
    indent = line[: len(line) - len(line.lstrip())]
    return _proven(analysis, finding, [(start + behind, start + behind, f"  # lclint: ignore[{finding.rule}]")]) or _proven(
        analysis, finding, [(start, start, f"{indent}# lclint: ignore[{finding.rule}]{newline}")]
    )


def _proven(analysis: Analysis, finding: Finding, edits: Edits) -> Edits | None:
    assert analysis.document is not None
    before = analysis.document
    try:
        after = documents.from_text(apply(before.text, edits), before.path, before.loader, before.bom)
        if repr(after.data) != repr(before.data):
            return None
    except InputError:
        return None
    line = finding.place.line
    if line is not None and edits[0][2].endswith(("\n", "\r\n")):
        line += 1
    comments = [directive for directive in after.directives() if finding.rule in directive.rules]
    speaks = any(directive.kind == "ignore-file" if line is None else directive.kind == "ignore" and directive.target == line for directive in comments)
    return edits if speaks else None


def difference(before: str, after: str) -> Edits:
    """The edits that make one text of another, by lines."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [(starts[a], starts[b], "".join(new[c:d])) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"]


def _title(fix: Fix) -> str:
    return fix.title if fix.applicability == "safe" else f"{fix.title} (unsafe)"


def findings_in(analysis: Analysis, wished: types.Range) -> list[Finding]:
    """The findings that a range touches, in the order of the text."""
    found = []
    for finding in analysis.findings:
        own = diagnostics.place_range(analysis.text, finding.place)
        if _key(own.start) <= _key(wished.end) and _key(wished.start) <= _key(own.end):
            found.append(finding)
    return found


def _key(position: types.Position) -> tuple[int, int]:
    return position.line, position.character
