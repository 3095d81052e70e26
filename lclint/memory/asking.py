"""Estimates of a config as it is and with changes: what the command and the API ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lclint.config import build
from lclint.config.run import Run
from lclint.core.errors import UsageError
from lclint.core.finding import Record
from lclint.core.options import Options
from lclint.memory.estimate import estimate
from lclint.memory.result import Estimate

if TYPE_CHECKING:
    from lclint.sources.document import Document


class Asked(Record):
    """An estimate with what it is of; ``what_if`` is that of the changed config, ``problems`` are overrides that do not count."""

    __slots__ = ("path", "gpus", "estimate", "what_if", "problems")
    path: str
    gpus: int | None
    estimate: Estimate
    what_if: Estimate | None
    problems: list[str]
    defaults: dict[str, Any] = {"gpus": None, "what_if": None, "problems": []}


def ask(run: Run, options: Options, changes: list[str], document: Document | None, base: Document | None) -> Asked:
    """The estimate of a run, and of the same with ``changes`` (``key=value``) on top. Raises UsageError for a change that is none."""
    gpus = run.missing("cluster.gpus")
    name = run.recipe if document is None and run.recipe is not None else run.path
    asked = Asked(path=name, gpus=gpus if isinstance(gpus, int) else None, estimate=estimate(run), problems=_problems(run))
    if changes:
        sets = [*options.sets, *(_override(change) for change in changes)]
        changed = Options(**{name: getattr(options, name) for name in Options.__slots__ if name != "sets"}, sets=sets)
        other = build.from_overrides(changed) if document is None else build.from_document(document, changed, base, run.kind)[0]
        assert other is not None
        asked.what_if = estimate(other)
        asked.problems += [problem for problem in _problems(other) if problem not in asked.problems]
    return asked


def _override(change: str) -> str:
    """A change as an override that adds or replaces, whatever the config holds."""
    key, equals, _ = change.partition("=")
    if not equals or not key.strip("+~ "):
        raise UsageError(f"--what-if {change}: expected KEY=VALUE")
    return "++" + change.lstrip("+")


def _problems(run: Run) -> list[str]:
    return [problem.text for problem in run.problems if problem.kind in ("override", "dropped")]
