"""Tries a fix before it is offered: the run as it would be, checked by the same rules."""

from __future__ import annotations

from typing import Any

from lclint.config.changes import changed
from lclint.config.run import Run
from lclint.core.finding import Fix
from lclint.engine.evaluate import Hit, evaluate
from lclint.engine.rules import RuleSet
from lclint.facts.context import Facts
from lclint.layouts.neighbours import candidates

GRAVE = ("crash", "oom")


class Trial:
    """The rules and the present complaints of one run, against which fixes are tried."""

    def __init__(self, run: Run, facts: Facts, rules: RuleSet, hits: list[Hit]) -> None:
        self.run = run
        self.facts = facts
        self.rules = rules
        self.present = {hit.key(facts) for hit in hits if hit.case.impact in GRAVE}

    def after(self, fix: Fix) -> Run:
        """The run after a fix."""
        return changed(self.run, fix.set, fix.remove, fix.rename, fix.lists, fix.env)

    def solves(self, hit: Hit, fix: Fix) -> bool:
        """Whether the fix makes the hit's case go away and no crash or oom finding appear."""
        return self.judge(hit, fix)[0]

    def judge(self, hit: Hit, fix: Fix) -> tuple[bool, set[Any]]:
        """``(solves, complaints that are left)``."""
        facts = Facts(self.after(fix))
        impacts = GRAVE if hit.case.impact in GRAVE else (*GRAVE, hit.case.impact)
        left = {other.key(facts) for other in evaluate(self.rules, facts, impacts)}
        grave = {other.key(facts) for other in evaluate(self.rules, facts, GRAVE)} if impacts is not GRAVE else left
        return hit.key(self.facts) not in left and not (grave - self.present), left

    def search(self, hit: Hit, fix: Fix, fields: tuple[str, ...]) -> Fix | None:
        """The fix completed by the nearest layout over ``fields`` that solves the hit; None when none does."""
        for move in candidates(self.run, fields):
            attempt = Fix(**{name: getattr(fix, name) for name in fix.__slots__})
            attempt.set = {**fix.set, **move}
            if self.solves(hit, attempt):
                moved = ", ".join(f"{field.rpartition('.')[2]}: {'null' if value is None else value}" for field, value in move.items())
                attempt.title = f"{fix.title} ({moved})"
                return attempt
        return None
