"""Applies fixes to a text until none is left: one fix at a time, each proven by checking the new text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lclint.core.finding import IMPACTS, FileReport, Finding, Fix
from lclint.engine.evaluate import without_indices
from lclint.sources import edits

MOST_ROUNDS = 200
GRAVE = ("crash", "oom")
# rules whose safe fix writes what was meant
SLIPS = ("unknown-key", "value-not-a-choice", "wrong-type", "none-as-text")


def fix_text(
    text: str, check: Callable[[str], FileReport], unsafe: bool, nearer: Callable[[Finding, str, str], bool] | None = None
) -> tuple[str, FileReport, list[str]]:
    """``(new text, its report, notes)``: the text with every allowed fix that proves itself.

    Findings are taken by impact, crash first; of each the first alternative that is allowed and changes the file. After each fix
    the new text is checked: the finding must be gone, no crash or oom finding may be new and no such case undecided that was decided,
    else the fix is taken back and named in the notes; when no other is left, those taken back are tried on what the others made of the
    text. ``nearer`` may say that a text, though the finding is still there, is a step on the way from another one: then the fix stays, and is
    not offered a second time. A text seen before is not gone back to; of all texts the one with the fewest crash findings is kept.
    """
    report = check(text)
    best = (_weight(report), text, report)
    seen = {text}
    refused: set[tuple[Any, ...]] = set()
    taken: set[tuple[Any, ...]] = set()  # steps
    notes: dict[tuple[Any, ...], str] = {}
    changed = False  # since the first fix was taken back
    for _ in range(max(MOST_ROUNDS, 4 * len(report.findings))):
        chosen = _next(report, unsafe, refused | taken)
        if chosen is None:
            if not (refused and changed):
                break
            refused.clear()
            changed = False
            continue
        finding, fix = chosen
        new_text = edits.apply(text, [(edit.start, edit.end, edit.text) for edit in fix.edits])
        new_report = check(new_text)
        step = nearer is not None and nearer(finding, text, new_text)
        fault = _fault(finding, report, new_report, step)
        if fault is None and new_text in seen:
            fault = "it undoes another fix"
        if fault is not None:
            changed = changed and bool(refused)
            refused.add(_name(finding, fix))
            notes[_name(finding, fix)] = f"{finding.rule}: the fix '{fix.title}' was taken back: {fault}"
            continue
        text, report, changed = new_text, new_report, True
        notes.pop(_name(finding, fix), None)
        seen.add(text)
        weight = _weight(report)
        if step:
            taken.add(_name(finding, fix))
        if weight < best[0] or (step and weight == best[0]):
            best = (weight, text, report)
    return best[1], best[2], list(dict.fromkeys(notes.values()))


def _next(report: FileReport, unsafe: bool, refused: set[tuple[Any, ...]]) -> tuple[Finding, Fix] | None:
    allowed = ("safe", "unsafe") if unsafe else ("safe",)
    for finding in sorted(report.findings, key=_urgency):
        if finding.impact not in GRAVE and not _about_the_file(finding):
            continue
        for fix in finding.fixes:
            if fix.edits and fix.applicability in allowed and _name(finding, fix) not in refused:
                return finding, fix
    return None


def _about_the_file(finding: Finding) -> bool:
    """Whether the finding is about something that the user wrote: what a base says is not ours to improve, unless it stops the run."""
    return any(place.origin in ("file", "set", "env") for place in [finding.place, *finding.related])


def _urgency(finding: Finding) -> tuple[bool, int, bool]:
    """What is fixed first: what was written wrong, since a crash that comes of a slip is cured by writing what was meant, not by giving it
    up; then what stops the run, and of that the layout, which batches and lengths have to follow.
    """
    moves_layout = any(field.endswith("_parallel_size") for fix in finding.fixes[:1] for field in fix.set)
    return (finding.rule not in SLIPS, 0 if finding.impact in GRAVE else IMPACTS.index(finding.impact), not moves_layout)


def _name(finding: Finding, fix: Fix) -> tuple[Any, ...]:
    return (finding.rule, finding.case, finding.at, fix.name)


def _complaints(report: FileReport, finding: Finding) -> int:
    """How many findings are the same complaint, about whichever element of a list."""
    at = without_indices(finding.at)
    return sum((f.rule, f.case, without_indices(f.at)) == (finding.rule, finding.case, at) for f in report.findings)


def _fault(finding: Finding, old: FileReport, new: FileReport, step: bool) -> str | None:
    if not step and _complaints(new, finding) >= _complaints(old, finding):
        return "the finding is still there"
    # a case may be carried by another field after the change, and the next case of the same rule may have been hidden by this one
    known = {f.rule for f in old.findings}
    grave = [f for f in new.findings if f.impact in GRAVE and f.rule not in known]
    if sum(f.impact == "oom" for f in new.findings) <= sum(f.impact == "oom" for f in old.findings):
        # which rule says that memory runs out depends on what is largest
        grave = [f for f in grave if f.impact != "oom"]
    if grave:
        return f"it brings {grave[0].rule}"
    undecided = {(u.rule, u.case) for u in old.undecided}
    lost = [u for u in new.undecided if u.severity == "error" and u.impact in GRAVE and (u.rule, u.case) not in undecided and u.rule not in old.unasked]
    return f"whether {lost[0].rule} holds then is not known (it needs {', '.join(lost[0].needs)})" if lost else None


def _weight(report: FileReport) -> tuple[int, ...]:
    """Findings by impact: what a better text has fewer of."""
    return tuple(sum(finding.impact == impact for finding in report.findings) for impact in IMPACTS)
