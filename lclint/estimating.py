"""The memory of a config, and whether Bridge would start it at all: figures of a job that does not start are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lclint.checking import Checked
from lclint.config import build
from lclint.core.errors import InputError
from lclint.core.options import Options
from lclint.engine.rules import RuleSet
from lclint.memory.asking import Asked, ask

if TYPE_CHECKING:
    from lclint.config.run import Run
    from lclint.core.finding import Finding
    from lclint.sources.document import Document


def estimate(document: Document | None, base: Document | None, options: Options, what_if: list[str], rules: RuleSet) -> Asked:
    """The estimate of a document, or of the overrides alone, and of the same with changes. Raises InputError and UsageError."""

    def refused(run: Run) -> list[str]:
        if run.kind == "megatron-args":
            # Bridge never sees them, and they may be of any release of Megatron-LM
            return []
        return [_line(finding) for finding in Checked(run, rules).report.findings if finding.impact == "crash"]

    if document is None:
        return ask(build.from_overrides(options), options, what_if, None, None, refused)
    run, reason = build.from_document(document, options, base, named=True)
    if run is None:
        raise InputError(f"not a Megatron Bridge config: {reason}", document.path)
    return ask(run, options, what_if, document, base, refused)


def _line(finding: Finding) -> str:
    """A finding as one line: where, what, and the rule that has more to say."""
    place = finding.place
    where = f"line {place.line}" if place.origin == "file" and place.line else finding.at
    return f"{where}: {finding.message} [{finding.rule}]"
