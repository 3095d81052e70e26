"""Tries a fix before it is offered: the run as it would be, checked by the same rules."""

from __future__ import annotations

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

    def __init__(self, run: Run, facts: Facts, rules: RuleSet) -> None:
        self.run = run
        self.facts = facts
        self.rules = rules
        # a case that the first one of its rule hides is there already: showing itself is not being new
        self.present = {hit.key(facts) for hit in evaluate(rules, facts, GRAVE, hidden=True)}

    def after(self, fix: Fix) -> Run:
        """The run after a fix."""
        return changed(self.run, fix.set, fix.remove, fix.rename, fix.lists, fix.env)

    def solves(self, hit: Hit, fix: Fix) -> bool:
        """Whether the fix makes the hit's case go away and no crash or oom finding appear."""
        facts = Facts(self.after(fix))
        impacts = GRAVE if hit.case.impact in GRAVE else (*GRAVE, hit.case.impact)
        left = evaluate(self.rules, facts, impacts)
        complaint = hit.key(self.facts)
        return all(
            other.key(facts) != complaint and (other.case.impact not in GRAVE or other.key(facts) in self.present) for other in left
        )

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
