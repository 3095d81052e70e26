"""Makes a diagnosis's fixes in the config, in the same rounds as a check does, until the run fits by the estimate scaled to the log."""

from __future__ import annotations

import copy

from lclint.core.finding import FileReport, Finding, Fix, Record
from lclint.core.options import Options
from lclint.diagnosing import ENOUGH_ROOM, INFLUENCE, Diagnosis, of_crash, refused
from lclint.engine.rules import RuleSet
from lclint.fixes.rounds import fix_text

# what a cure is for; advice and what the log says about itself need none
CURED = ("crash", "oom", "slow")


class Cure(Record):
    """The config's text after the fixes, which they were, what was taken back, and one sentence on the estimate ("" where there is none)."""

    __slots__ = ("text", "made", "notes", "estimate")
    text: str
    made: list[Fix]
    notes: list[str]
    estimate: str


def cure(diagnosis: Diagnosis, options: Options, rules: RuleSet, unsafe: bool) -> Cure | None:
    """The fixes made in the config that was diagnosed; None where there is no config file or none of them changes it.

    A finding is gone when a fix of it stands in the file, or, where the memory model follows the fix, when its estimate, scaled to what the
    log shows, fits. Fixes that lower it without being enough stay, and the next one is made.
    """
    if diagnosis.config_text is None:
        return None
    rounds = _Rounds(diagnosis, options, rules)
    text, _, notes = fix_text(diagnosis.config_text, rounds.check, unsafe, rounds.nearer)
    made = [fix for fix in rounds.offered if rounds.stands(fix, text)] if text != diagnosis.config_text else []
    if text == diagnosis.config_text and not notes:
        return None
    return Cure(text=text, made=made, notes=notes, estimate=rounds.estimate(text))


class _Rounds:
    def __init__(self, diagnosis: Diagnosis, options: Options, rules: RuleSet) -> None:
        self.first = diagnosis
        self.options = options
        self.rules = rules
        self.seen: dict[str, Diagnosis] = {diagnosis.config_text or "": diagnosis}
        self.offered = [fix for finding in diagnosis.findings if finding.impact in CURED for fix in finding.fixes if fix.edits]

    def of(self, text: str) -> Diagnosis:
        """The diagnosis with the config as ``text`` says."""
        if text not in self.seen:
            self.seen[text] = of_crash(self.first.crash, self.first.config_path, text, self.options, self.rules, self.first)
        return self.seen[text]

    def check(self, text: str) -> FileReport:
        """What is left of the diagnosis, with the fixes that the text still lacks; and what a check would refuse."""
        now = self.of(text)
        left = [] if self._fits(text) else [finding for finding in now.findings if finding.impact in CURED and not self._gone(finding, text)]
        found = [*map(_in_the_file, left), *refused(now, self.rules)]
        return FileReport(path=now.config_path or "", kind="diagnosis", bridge_version=now.release, findings=found, text=text)

    def nearer(self, finding: Finding, before: str, after: str) -> bool:
        """Whether a text needs less memory than another one."""
        old, new = self.of(before).estimate, self.of(after).estimate
        return finding.impact == "oom" and self.first.scale is not None and old is not None and new is not None and new < old * (1 - INFLUENCE)

    def stands(self, fix: Fix, text: str) -> bool:
        """Whether a fix has been made in a text."""
        run, old = self.of(text).run, self.first.run
        fields = all(run.written.get(field) == value for field, value in fix.set.items())
        variables = all(run.environment.get(name) == value for name, value in fix.env.items())
        return fields and variables and (run.written != old.written or run.environment != old.environment)

    def _gone(self, finding: Finding, text: str) -> bool:
        mine = [fix for first in self.first.findings if first.rule == finding.rule for fix in first.fixes if fix.edits]
        return any(self.stands(fix, text) for fix in mine) and not self._followed(text)

    def _followed(self, text: str) -> bool:
        """Whether the memory model follows what was changed."""
        old, new = self.first.estimate, self.of(text).estimate
        return self.first.scale is not None and old is not None and new is not None and abs(new - old) >= INFLUENCE * old

    def _fits(self, text: str) -> bool:
        capacity, estimate, scale = self.first.crash.capacity_bytes, self.of(text).estimate, self.first.scale
        if capacity is None or estimate is None or scale is None or not self._followed(text):
            return False
        return estimate * scale < ENOUGH_ROOM * capacity / 2**30

    def estimate(self, text: str) -> str:
        """What the memory model says of it all."""
        old, new, scale = self.first.estimate, self.of(text).estimate, self.first.scale
        if old is None or new is None or scale is None or not self._followed(text):
            return ""
        said = f"estimated peak {old * scale:.1f} -> {new * scale:.1f} GiB" + (f", scaled by {scale:.2f} to what the log shows" if scale != 1 else "")
        capacity = self.first.crash.capacity_bytes
        if capacity is None:
            return said
        return f"{said}: {'enough' if self._fits(text) else 'not enough'} for {capacity / 2**30:.1f} GiB"


def _in_the_file(finding: Finding) -> Finding:
    """The finding as one about the file: it stands at a line of the log, its fixes are made in the file."""
    same = copy.copy(finding)
    same.place = copy.copy(finding.place)
    same.place.origin = "file"
    return same
