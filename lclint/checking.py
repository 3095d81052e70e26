"""One run against the rules: what they find at once, and the fixes of each finding when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lclint.config.run import Run
from lclint.core.finding import FileReport, Undecided
from lclint.engine.evaluate import Hit, describe, evaluate
from lclint.engine.rules import RuleSet
from lclint.facts.context import Facts

if TYPE_CHECKING:
    from lclint.fixes.trial import Trial


class Checked:
    """A checked run. ``hits`` are what its report's findings came from, in no particular order; the findings have no fixes yet."""

    __slots__ = ("report", "hits", "run", "facts", "rules", "_trial")

    def __init__(self, run: Run, rules: RuleSet) -> None:
        self.run = run
        self.rules = rules
        facts = self.facts = Facts(run)
        undecided: list[Undecided] = []
        unasked: set[str] = set()
        hits = evaluate(rules, facts, undecided=undecided, unasked=unasked)
        for hit in hits:
            describe(hit, facts)
        if run.base is not None:
            hits = [hit for hit in hits if hit.case.severity != "info" or _touched(hit)]
        self.hits = hits
        if run.document is not None and "lclint:" in run.document.text:
            from lclint.engine.suppress import suppressed

            self.hits = [hit for hit in hits if not suppressed(hit, run.document)]
        findings = [hit.finding for hit in self.hits if hit.finding is not None]
        findings.sort(key=lambda f: (f.place.line or 0, f.place.column or 0, f.rule, f.case))
        gpus = facts["cluster.gpus"]
        gpu = facts["gpu.name"]
        self._trial: Trial | None = None
        self.report = FileReport(
            path=run.path,
            kind=run.kind,
            bridge_version=run.release,
            gpu=gpu if isinstance(gpu, str) else None,
            gpus=gpus if isinstance(gpus, int) else None,
            findings=findings,
            undecided=undecided,
            unasked=frozenset(unasked),
            suppressed=len(hits) - len(self.hits),
            text=run.document.text if run.document is not None else None,
            mark="\ufeff" if run.document is not None and run.document.bom else "",
            recipe=run.recipe,
        )

    def add_fixes(self, hits: list[Hit]) -> None:
        """Give the findings of these hits their fixes. Each costs several checks of the run as it would be."""
        if self.run.base is None and not any(hit.case.fixes for hit in hits):
            return
        from lclint.fixes.attach import attach
        from lclint.fixes.trial import Trial

        if self._trial is None:
            self._trial = Trial(self.run, self.facts, self.rules)
        attach(self._trial, hits)


def check_run(run: Run, rules: RuleSet) -> FileReport:
    """Check one run against the rules: findings with their fixes, what could not be decided, what was suppressed."""
    checked = Checked(run, rules)
    checked.add_fixes(checked.hits)
    return checked.report


def _touched(hit: Hit) -> bool:
    """Whether the finding is about something that the checked file or an override says, and not about its base alone."""
    finding = hit.finding
    return finding is not None and any(place.origin in ("file", "set", "env") for place in [finding.place, *finding.related])
