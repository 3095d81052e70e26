"""Tries a fix before it is offered: the run as it would be, checked by the same rules."""

from __future__ import annotations

from typing import Any

from lclint.config.changes import changed
from lclint.config.run import Run
from lclint.core.finding import Fix
from lclint.engine.evaluate import Hit, evaluate
from lclint.engine.rules import RuleSet
from lclint.facts.context import Facts
from lclint.fixes.delta import affected_rules
from lclint.layouts.neighbours import candidates

GRAVE = ("crash", "oom")
Complaints = dict[tuple[Any, ...], int]


class Trial:
    """The rules and the present complaints of one run, against which fixes are tried."""

    def __init__(self, run: Run, facts: Facts, rules: RuleSet) -> None:
        self.run = run
        self.facts = facts
        # the user's choice of rules is about what is reported; what a fix may break is the same for all
        self.rules = rules.every
        # a case that the first one of its rule hides is there already: showing itself is not being new
        self.present = count_grave(evaluate(self.rules, facts, GRAVE, hidden=True), facts)
        self.shown: dict[tuple[str, ...], Complaints] = {}

    def after(self, fix: Fix) -> Run:
        """The run after a fix."""
        return changed(self.run, fix.set, fix.remove, fix.rename, fix.lists, fix.env)

    def solves(self, hit: Hit, fix: Fix) -> bool:
        """Whether the fix makes the hit's case go away and no crash or oom finding appear.

        Only the rules that read something that the fix changes are asked: what the others find stays.
        """
        return self.obstacle(hit, fix) is None

    def obstacle(self, hit: Hit, fix: Fix) -> str | None:
        """Why the fix is no good: the rule whose crash or oom finding it brings, empty when it does not help; None when it solves the hit."""
        after = self.after(fix)
        affected = affected_rules(self.rules, self.run, after)
        if hit.rule.name not in affected:
            return ""
        facts = Facts(after)
        impacts = GRAVE if hit.case.impact in GRAVE else (*GRAVE, hit.case.impact)
        if impacts not in self.shown:
            self.shown[impacts] = self._count(evaluate(self.rules, self.facts, impacts), self.facts)
        hits = evaluate(self.rules, facts, impacts, only=affected)
        left = self._count(hits, facts)
        complaint = hit.key(self.facts)
        if left.get(complaint, 0) >= self.shown[impacts].get(complaint, 1):
            return ""
        grave = count_grave(hits, facts)
        new = {key for key, number in grave.items() if number > self.present.get(key, 0)}
        return next((other.rule.name for other in hits if other.case.impact in GRAVE and other.grave_key(facts) in new), None)

    def _count(self, hits: list[Hit], facts: Facts) -> Complaints:
        found: Complaints = {}
        for hit in hits:
            key = hit.key(facts)
            found[key] = found.get(key, 0) + 1
        return found

    def search(self, hit: Hit, fix: Fix, fields: tuple[str, ...]) -> Fix | None:
        """The fix completed by the nearest layout over ``fields`` that solves the hit; None when none does."""
        fallback = None
        for move in candidates(self.run, fields):
            attempt = Fix(**{name: getattr(fix, name) for name in fix.__slots__})
            attempt.set = {**fix.set, **move}
            if not self.solves(hit, attempt):
                continue
            moved = ", ".join(f"{field.rpartition('.')[2]}: {'null' if value is None else value}" for field, value in move.items())
            attempt.title = f"{fix.title} ({moved})"
            if self._clean(attempt, move):
                return attempt
            fallback = fallback or attempt
        return fallback

    def _clean(self, fix: Fix, move: dict[str, Any]) -> bool:
        """Whether nothing that stops the run is left about the fields that move: one move is better than two."""
        hits = evaluate(self.rules, Facts(self.after(fix)), GRAVE)
        return not any(other.case.severity == "error" and not other.rule.fields.isdisjoint(move) for other in hits)


def count_grave(hits: list[Hit], facts: Facts) -> Complaints:
    """How often each crash is found, and how often that memory runs out."""
    found: Complaints = {}
    for hit in hits:
        if hit.case.impact in GRAVE:
            key = hit.grave_key(facts)
            found[key] = found.get(key, 0) + 1
    return found
