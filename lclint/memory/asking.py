"""Estimates of a config as it is and with changes: what the command and the API ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lclint.config import build, keys
from lclint.config.run import Run
from lclint.core.errors import UsageError
from lclint.core.finding import Record
from lclint.core.options import Options
from lclint.memory.estimate import estimate
from lclint.memory.result import Estimate

if TYPE_CHECKING:
    from lclint.sources.document import Document


class Asked(Record):
    """An estimate with what it is of; ``what_if`` is that of the changed config, ``problems`` are overrides that do not count.

    ``refusals`` say why Bridge refuses the config at start-up, ``what_if_refusals`` the same of the changed one.
    """

    __slots__ = ("path", "gpus", "estimate", "what_if", "problems", "refusals", "what_if_refusals")
    path: str
    gpus: int | None
    estimate: Estimate
    what_if: Estimate | None
    problems: list[str]
    refusals: list[str]
    what_if_refusals: list[str]
    defaults: dict[str, Any] = {"gpus": None, "what_if": None, "problems": [], "refusals": [], "what_if_refusals": []}


def ask(run: Run, options: Options, changes: list[str], document: Document | None, base: Document | None, refused: Callable[[Run], list[str]]) -> Asked:
    """The estimate of a run, and of the same with ``changes`` (``key=value``) on top; ``refused`` says why Bridge would not start a run.

    Raises UsageError for an override that Hydra refuses, and for a change that is none.
    """
    gpus = run.missing("cluster.gpus")
    name = run.recipe if document is None and run.recipe is not None else run.path
    _held(run)
    asked = Asked(path=name, gpus=gpus if isinstance(gpus, int) else None, estimate=estimate(run), problems=_problems(run), refusals=refused(run))
    if changes:
        sets = [*options.sets, *(_override(change) for change in changes)]
        changed = Options(**{name: getattr(options, name) for name in Options.__slots__ if name != "sets"}, sets=sets)
        other = build.from_overrides(changed) if document is None else build.from_document(document, changed, base, run.kind)[0]
        assert other is not None
        _held(other)
        _known(other, changes)
        asked.what_if = estimate(other)
        asked.what_if_refusals = refused(other)
        asked.problems += [problem for problem in _problems(other) if problem not in asked.problems]
    return asked


def _held(run: Run) -> None:
    """Raise UsageError for an override that Hydra refuses: without it the figures would be of another job."""
    for problem in run.problems:
        if problem.kind == "override":
            raise UsageError(problem.text.replace(" ++", " "))


def _known(run: Run, changes: list[str]) -> None:
    """Raise UsageError for a change of a field that does not exist: it adds a key that nothing reads."""
    changed = {change.partition("=")[0].strip("+ ") for change in changes}
    found = keys.check(run)
    for record in (*found["unknown"], *found["section"]):
        if record["path"] in changed or any(key.startswith(f"{record['path']}.") for key in changed):
            close = record.get("new") or record.get("suggestion")
            raise UsageError(f"--what-if {record['path']}: there is no such field", hint=f"did you mean {close}?" if close else None)
    for record in found["misplaced"]:
        if record["path"] in changed:
            raise UsageError(f"--what-if {record['path']}: there is no such field", hint=f"{record['key']} is in {' and '.join(record['sections'])}")


def _override(change: str) -> str:
    """A change as an override that adds or replaces, whatever the config holds."""
    key, equals, _ = change.partition("=")
    if not equals or not key.strip("+~ "):
        raise UsageError(f"--what-if {change}: expected KEY=VALUE")
    return "++" + change.lstrip("+")


def _problems(run: Run) -> list[str]:
    return [problem.text for problem in run.problems if problem.kind == "dropped"]
