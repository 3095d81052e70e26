"""Gives findings their fixes: filled from the rules, searched, tried, and lowered to edits."""

from __future__ import annotations

from lclint.config.changes import changed_list
from lclint.config.run import Run
from lclint.core.finding import Fix
from lclint.engine.evaluate import Hit
from lclint.fixes.ladder import climb
from lclint.fixes.lower import lower
from lclint.fixes.revert import take_back
from lclint.fixes.symbolic import Ladder, fixes
from lclint.fixes.trial import Trial


def attach(trial: Trial, hits: list[Hit]) -> None:
    """Fill ``fixes`` of every hit's finding; a fix that does not solve it, or breaks something else, is left out."""
    run = trial.run
    for hit in hits:
        if hit.finding is None:
            continue
        chosen: list[Fix] = []
        withheld: Fix | None = None
        for fix, search in fixes(hit, trial.facts, trial.rules):
            found: Fix | None = fix
            if isinstance(search, Ladder):
                found = climb(trial, hit, fix, search)
            elif search:
                found = trial.search(hit, fix, search)
            elif _changes(fix) and (brought := trial.obstacle(hit, fix)) is not None:
                found = None
                if brought and withheld is None and fix.applicability == "safe":
                    withheld = Fix(name=fix.name, title=fix.title, applicability="display-only", action=f"not done here: {brought} is found then")
            if found is not None and not any(_same(found, other) for other in chosen):
                chosen.append(found)
        back = take_back(run, hit, trial)
        if back is not None and not any(_same(back, other) for other in chosen):
            chosen.append(back)
        if withheld is not None and not chosen:
            # a slip that hides another fault: without a word the finding would look as if nothing could be done
            chosen.append(withheld)
        for fix in chosen:
            lower(run, fix)
            _spell_out(run, fix)
        hit.finding.fixes = chosen


def _spell_out(run: Run, fix: Fix) -> None:
    """Say renames and list changes as values to set and fields to remove too, for readers that do not apply edits."""
    for old, new in fix.rename.items():
        fix.remove.append(old)
        fix.set.setdefault(new, run.written.get(old))
    for operation, field, value in fix.lists:
        items = run.written.get(field)
        if items.__class__ is list:
            fix.set[field] = changed_list(fix.set.get(field, items), operation, value)


def _same(left: Fix, right: Fix) -> bool:
    return _changes(left) and all(getattr(left, name) == getattr(right, name) for name in ("set", "remove", "rename", "lists", "env"))


def _changes(fix: Fix) -> bool:
    return bool(fix.set or fix.remove or fix.rename or fix.lists or fix.env)
