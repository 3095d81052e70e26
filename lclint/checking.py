"""One run against the rules: what they find at once, and the fixes of each finding when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lclint.config.run import Run
from lclint.core.finding import IMPACTS, FileReport, Finding, Fix, Suppressed
from lclint.engine.evaluate import Hit, as_undecided, describe, evaluate, settled
from lclint.engine.rules import OFF, Case, Rule, RuleSet
from lclint.facts.context import Facts

if TYPE_CHECKING:
    from lclint.engine.baseline import Known
    from lclint.fixes.trial import Trial


# Working out a fix takes time in proportion to the file. A saved config has some 1,300 fields in 50 KB: sixty of its findings get fixes.
MOST_FIELDS = 3_000
MOST_WORK = 80_000


class Checked:
    """A checked run. ``hits`` are what its report's findings came from, in no particular order; the findings have no fixes yet."""

    __slots__ = ("report", "hits", "run", "facts", "rules", "_trial")

    def __init__(self, run: Run, rules: RuleSet, needs: bool = True, known: Known | None = None) -> None:
        self.run = run
        self.rules = rules
        facts = self.facts = Facts(run)
        undecided: list[tuple[Rule, Case]] = []
        unasked: set[str] = set()
        found = evaluate(rules, facts, undecided=undecided, unasked=unasked)
        for hit in found:
            describe(hit, facts)
        if rules.at_fields:
            _adjust(found, rules)
        self.hits = [hit for hit in found if hit.finding is not None and hit.finding.severity != OFF and self._wanted(hit)]
        decided = settled(rules, facts, undecided, unasked) if known or (run.document is not None and run.document.directives()) else set()
        findings, suppressions = self._silence(found, decided)
        findings.sort(key=lambda f: (f.place.line or 0, f.place.column or 0, f.rule, f.case))
        outlived: Known = {}
        if known:
            findings, outlived = self._leave_known(findings, suppressions, known, decided)
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
            undecided=[
                (not needs and case.undecided) or as_undecided(rule, case, facts if needs else None) for rule, case in undecided if case.severity != OFF
            ],
            unasked=frozenset(unasked),
            suppressions=suppressions,
            outlived=outlived,
            text=run.document.text if run.document is not None else None,
            mark="\ufeff" if run.document is not None and run.document.bom else "",
            recipe=run.recipe,
        )

    def _wanted(self, hit: Hit) -> bool:
        """A hint about what a base alone says is not the file's: only the profile ``all`` asks for it."""
        finding = hit.finding
        return self.run.base is None or self.rules.about_base or finding is None or finding.severity != "info" or _touched(finding)

    def _silence(self, found: list[Hit], decided: set[str]) -> tuple[list[Finding], list[Suppressed]]:
        """The findings that the file's comments leave, with those about the comments, and what they silence."""
        document = self.run.document
        if document is None or not document.directives():
            return [hit.finding for hit in self.hits if hit.finding is not None], []
        from lclint.engine.comments import remarks
        from lclint.engine.suppress import Suppressor

        suppressor = Suppressor(document, self.rules.every)
        silenced = {id(hit): suppressor.silence(hit.finding) for hit in found if hit.finding is not None}
        suppressions = [why for hit in self.hits if (why := silenced[id(hit)]) is not None]
        self.hits = [hit for hit in self.hits if silenced[id(hit)] is None]
        findings = [hit.finding for hit in self.hits if hit.finding is not None]
        for finding in remarks(suppressor, self.run.faults, self.facts, self.rules, decided, found):
            why = suppressor.silence(finding, by_name=True)
            if why is not None:
                suppressions.append(why)
            elif finding.severity != OFF:
                findings.append(finding)
        return findings, suppressions

    def _leave_known(
        self, findings: list[Finding], suppressions: list[Suppressed], known: Known, decided: set[str]
    ) -> tuple[list[Finding], Known]:
        """The findings that the baseline does not know, and its entries that are no findings any more; those it knows are suppressed."""
        from lclint.engine.baseline import silence

        silenced, left = silence(findings, known)
        gone = {id(finding) for finding in silenced}
        suppressions += [Suppressed(finding=finding, by="baseline") for finding in silenced]
        self.hits = [hit for hit in self.hits if id(hit.finding) not in gone]
        every = {rule.name for rule in self.rules.every}
        outlived = {entry: count for entry, count in left.items() if (name := entry[0].partition("/")[0]) in decided or name not in every}
        return [finding for finding in findings if id(finding) not in gone], outlived

    def add_fixes(self, hits: list[Hit]) -> None:
        """Give the findings of these hits their fixes. Each costs several checks of the run as it would be."""
        if self.run.base is None and not any(hit.case.fixes for hit in hits):
            return
        from lclint.fixes.attach import attach
        from lclint.fixes.trial import Trial

        if self._trial is None:
            self._trial = Trial(self.run, self.facts, self.rules)
        fields = len(self.run.written)
        text = "" if self.run.document is None else self.run.document.text
        most = 0 if fields > MOST_FIELDS else MOST_WORK // max(fields, len(text) // 50, 1)
        if len(hits) > most:
            hits = sorted(hits, key=lambda hit: IMPACTS.index(hit.case.impact))
            for hit in hits[most:]:
                if hit.finding is not None and hit.case.fixes:
                    hit.finding.fixes = [_later(most)]
        attach(self._trial, hits[:most])


def check_run(run: Run, rules: RuleSet, needs: bool = True, known: Known | None = None) -> FileReport:
    """Check one run against the rules: findings with their fixes, what could not be decided (with what it ``needs``), what was suppressed.

    ``known`` are the entries of a baseline for the file.
    """
    checked = Checked(run, rules, needs, known)
    checked.add_fixes(checked.hits)
    return checked.report


def _later(most: int) -> Fix:
    """What takes the place of a finding's fixes where a file has too many of them."""
    title = f"Correct the first {most} findings and check again" if most else f"No fixes are worked out for a file of more than {MOST_FIELDS} fields"
    return Fix(name="later", title=title, applicability="display-only", action=title[0].lower() + title[1:])


def _touched(finding: Finding) -> bool:
    """Whether the finding is about something that the checked file or an override says, and not about its base alone."""
    return any(place.origin in ("file", "set", "env") for place in [finding.place, *finding.related])


def _adjust(hits: list[Hit], rules: RuleSet) -> None:
    """Give findings the severity that the settings have for their rule at their field."""
    from fnmatch import fnmatchcase

    for hit in hits:
        for pattern, levels in rules.at_fields:
            finding = hit.finding
            level = levels.get(hit.rule.name, {}).get(hit.case.id)
            if finding is not None and level is not None and finding.severity != OFF and fnmatchcase(finding.at, pattern):
                finding.severity = level
