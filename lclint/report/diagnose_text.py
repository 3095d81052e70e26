"""A diagnosis as people read it in a terminal: the verdict, the evidence with its lines, then what helps and what does not."""

from __future__ import annotations

from collections.abc import Iterator

from lclint.core.finding import Evidence, Finding
from lclint.curing import Cure
from lclint.diagnosing import DIFFERENCES, Diagnosis
from lclint.engine.operations import show
from lclint.report.screen import count, printable, wrap
from lclint.report.style import Style
from lclint.report.text import changes

# columns of one cell of a table
MOST_CELL = 60


class DiagnosisText:
    """Renders diagnoses for one command line; ``width`` is in columns."""

    def __init__(self, *, colour: bool = False, width: int = 80) -> None:
        self.style = Style(colour)
        self.width = width

    def render(self, diagnosis: Diagnosis, cured: Cure | None = None) -> str:
        """The whole report; ``cured`` is the config with the fixes made."""
        return "".join(f"{line}\n" for line in self._lines(diagnosis, cured))

    def _lines(self, diagnosis: Diagnosis, cured: Cure | None) -> Iterator[str]:
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
        if diagnosis.differences:
            yield ""
            yield from self._differences(diagnosis)
        for finding in diagnosis.findings:
            if finding.rule != DIFFERENCES:
                yield ""
                yield from self._finding(finding)
        yield from self._patch(diagnosis, cured)
        for text in crash.notes:
            yield from wrap(text, self.width, "note: ", "  ")

    def _differences(self, diagnosis: Diagnosis) -> Iterator[str]:
        yield self.style.paint("Log and config file differ", "strong") + ": the log is what ran"
        rows = [("field", "in the log", "in the file")]
        rows += [(item["field"], show(item["log"]), show(item["config"])) for item in diagnosis.differences]
        rows = [(_cell(name), _cell(ran), _cell(written)) for name, ran, written in rows]
        widths = [max(len(row[column]) for row in rows) for column in range(2)]
        for name, ran, written in rows:
            yield f"  {name:{widths[0]}}  {ran:{widths[1]}}  {written}"

    def _patch(self, diagnosis: Diagnosis, cured: Cure | None) -> Iterator[str]:
        if cured is None or cured.text == diagnosis.config_text or diagnosis.config_text is None:
            return
        from lclint.report.diff import unified

        yield ""
        how = "unsafe" if any(fix.applicability == "unsafe" for fix in cured.made) else "safe"
        yield self.style.paint("Patch", "strong") + f" ({how})" + (f": {cured.estimate}" if cured.estimate else "")
        for fix in cured.made:
            yield from wrap(fix.title, self.width, "  - ", "    ")
        for line in unified(diagnosis.config_path or "", diagnosis.config_text, cured.text).splitlines():
            yield f"  {printable(line)}"

    def _facts(self, diagnosis: Diagnosis) -> Iterator[str]:
        crash = diagnosis.crash
        if diagnosis.gpus:
            yield count(diagnosis.gpus, "GPU") + (f" ({diagnosis.gpu})" if diagnosis.gpu else "")
        elif diagnosis.gpu:
            yield f"GPUs: {diagnosis.gpu}"
        others = [rank for rank in crash.failed_ranks if rank != crash.first_rank]
        if crash.kind == "not_memory" and crash.fatal and crash.failed_ranks:
            yield f"an earlier attempt ran out of memory on {count(len(crash.failed_ranks), 'rank')}"
        elif others and crash.first_rank is not None:
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
        if diagnosis.run.recipe is not None:
            yield f"over the recipe {diagnosis.run.recipe}" + (", which the launch command names" if diagnosis.run.recipe == crash.recipe else "")
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


def _cell(text: str) -> str:
    text = printable(text)
    return text if len(text) <= MOST_CELL else text[: MOST_CELL - 3] + "..."
