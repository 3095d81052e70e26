"""A diagnosis as people read it in a terminal: the verdict, the evidence with its lines, then what helps and what does not."""

from __future__ import annotations

from collections.abc import Iterator

from lclint.core.finding import Evidence, Finding
from lclint.diagnosing import Diagnosis
from lclint.report.screen import count, printable, wrap
from lclint.report.style import Style
from lclint.report.text import changes


class DiagnosisText:
    """Renders diagnoses for one command line; ``width`` is in columns."""

    def __init__(self, *, colour: bool = False, width: int = 80) -> None:
        self.style = Style(colour)
        self.width = width

    def render(self, diagnosis: Diagnosis) -> str:
        """The whole report."""
        return "".join(f"{line}\n" for line in self._lines(diagnosis))

    def _lines(self, diagnosis: Diagnosis) -> Iterator[str]:
        crash = diagnosis.crash
        paint = self.style.paint
        sentence = diagnosis.verdict
        label = "verdict: "
        first, *rest = wrap(sentence, self.width, label, "  ")
        yield paint(label, "error" if diagnosis.memory_failure else "strong") + first[len(label) :]
        yield from rest
        facts = list(self._facts(diagnosis))
        if facts:
            yield from wrap("; ".join(facts), self.width, "  ", "  ")
        if crash.evidence:
            yield ""
            yield paint("Evidence", "strong")
            yield from self._evidence(crash.evidence)
        for finding in diagnosis.findings:
            yield ""
            yield from self._finding(finding)
        yield from self._patch(diagnosis)
        for text in crash.notes:
            yield from wrap(text, self.width, "note: ", "  ")

    def _patch(self, diagnosis: Diagnosis) -> Iterator[str]:
        found = diagnosis.patch(unsafe=True)
        if found is None or diagnosis.config_text is None:
            return
        from lclint.report.diff import unified

        fix, after = found
        yield ""
        yield self.style.paint("Patch", "strong") + f" ({fix.applicability}): {printable(fix.title)}"
        for line in unified(diagnosis.config_path or "", diagnosis.config_text, after).splitlines():
            yield f"  {printable(line)}"

    def _facts(self, diagnosis: Diagnosis) -> Iterator[str]:
        crash = diagnosis.crash
        if diagnosis.gpu or diagnosis.gpus:
            yield f"{diagnosis.gpus or '?'} GPUs" + (f" ({diagnosis.gpu})" if diagnosis.gpu else "")
        others = [rank for rank in crash.failed_ranks if rank != crash.first_rank]
        if others and crash.first_rank is not None:
            shown = ", ".join(map(str, others[:8])) + (" ..." if len(others) > 8 else "")
            yield f"the same on {count(len(others), 'other rank')}: {shown}"
        if crash.died_of_it:
            yield (
                f"{count(crash.died_of_it, 'rank')} timed out or aborted because of it"
                if crash.fatal
                else f"{count(crash.died_of_it, 'rank')} reported time-outs"
            )
        if crash.handled and crash.kind != "handled_oom":
            yield f"{crash.handled} out-of-memory error(s) that the program dealt with"
        if crash.settings:
            yield f"{count(len(crash.settings), 'setting')} recovered from the log"

    def _evidence(self, evidence: list[Evidence]) -> Iterator[str]:
        for item in evidence:
            where = f"  {printable(item.path)}:{item.line}: "
            yield from wrap(item.text, max(self.width, len(where) + 30), where, "    ")

    def _finding(self, finding: Finding) -> Iterator[str]:
        paint = self.style.paint
        yield f"{paint(finding.severity, finding.severity)}: {paint(finding.rule, 'strong')} [{finding.code}, {finding.impact}]"
        yield from wrap(finding.message, self.width, "  ", "  ")
        if finding.reason:
            yield from wrap(finding.reason, self.width, "  why: ", "       ")
        for fix in finding.fixes:
            label = f"  helps [{'by hand' if fix.applicability == 'display-only' else fix.applicability}]: "
            first, *rest = wrap(fix.title, self.width, label, "    ")
            yield first.replace(label, paint(label, "fix"), 1)
            yield from rest
            if fix.action and fix.action != fix.title:
                yield from wrap(fix.action, self.width, "    ", "    ")
            for change in changes(fix):
                yield from wrap(change, self.width, "    ", "      ")
