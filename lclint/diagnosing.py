"""From a crash log to findings: the log's crash and its settings become a run, the rules about crashes are asked, their fixes are tried.

A diagnosis's fixes cannot be proven against the log, since the log stays as it is: a fix is left out when it would change nothing, and when
the changed config would be refused at start-up or is worse by another rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lclint.catalog import tables
from lclint.config.changes import changed, changed_list
from lclint.config.run import Run
from lclint.core.finding import SEVERITIES, Evidence, Finding, Fix, Record
from lclint.core.options import Options
from lclint.core.states import State
from lclint.crash import summary
from lclint.crash.record import MEMORY_FAILURES, Crash
from lclint.crash.verdict import verdict
from lclint.engine.evaluate import Hit, describe, evaluate
from lclint.engine.operations import show
from lclint.engine.rules import RuleSet
from lclint.facts.context import Facts
from lclint.fixes.lower import lower
from lclint.fixes.symbolic import fixes
from lclint.fixes.trial import count_grave
from lclint.ran import run_of

GRAVE = ("crash", "oom")
# from so many known fields on a changed config is worth checking
ENOUGH = 5
# share of the GPU that a scaled estimate may take; the rest is for contexts, communication and gaps
ENOUGH_ROOM = 0.92
# a smaller change of the estimate is none
INFLUENCE = 0.005
# of several diagnoses the one whose remedy is cheapest and surest comes first
DIFFERENCES = "log-and-config-differ"
FIRST = ("fragmentation-out-of-memory",)


class Diagnosis(Record):
    """The result: the crash, one sentence on it, the findings, the cluster, and the config file that fixes are for.

    ``differences`` are the fields of which log and file say otherwise (``field``, ``config``, ``log``). ``estimate`` is what the memory
    model gives for the run as it was, GiB, and ``scale`` what it is multiplied by to agree with the log; None where one of them is not known.
    """

    __slots__ = (
        "crash",
        "verdict",
        "findings",
        "gpu",
        "gpus",
        "config_path",
        "config_text",
        "config_mark",
        "release",
        "run",
        "differences",
        "estimate",
        "scale",
    )
    crash: Crash
    verdict: str
    findings: list[Finding]
    gpu: str | None
    gpus: int | None
    config_path: str | None
    config_text: str | None
    config_mark: str
    release: str
    run: Run
    differences: list[dict[str, Any]]
    estimate: float | None
    scale: float | None
    defaults = {
        "gpu": None,
        "gpus": None,
        "config_path": None,
        "config_text": None,
        "config_mark": "",
        "differences": [],
        "estimate": None,
        "scale": None,
    }

    @property
    def memory_failure(self) -> bool:
        """Whether the run failed for want of memory."""
        return self.crash.kind in MEMORY_FAILURES


def diagnose(paths: Sequence[str], config: str | None, options: Options, rules: RuleSet, progress: Callable[[int], None] | None = None) -> Diagnosis:
    """Read the logs, and say what happened and what helps. Raises LclintError for what cannot be read."""
    return of_crash(summary.diagnose(paths, progress), config, None, options, rules)


def of_crash(crash: Crash, config: str | None, text: str | None, options: Options, rules: RuleSet, before: Diagnosis | None = None) -> Diagnosis:
    """The diagnosis of a crash; ``text`` is the config's when it is not in a file.

    ``before`` is the diagnosis of the config as it was, when fixes have been made in ``text`` since.
    """
    patched = frozenset() if before is None or text is None else _changes(before, config, text, options)
    run = run_of(crash, config, text, options, patched)
    facts = Facts(run)
    scale = _known(facts["crash.estimate_scale"]) if before is None else before.scale
    about_crashes, others = _split(rules)
    hits = evaluate(about_crashes, facts)
    # a fix that several rules offer stands with the first finding
    hits.sort(key=lambda hit: hit.rule.name not in FIRST)
    for hit in hits:
        finding = describe(hit, facts)
        _place(finding, crash)
    _attach(run, facts, rules, others, hits, scale)
    findings = [hit.finding for hit in hits if hit.finding is not None]
    findings.sort(key=lambda f: (f.rule not in FIRST, SEVERITIES.index(f.severity), f.code, f.case))
    gpus, gpu = facts["cluster.gpus"], facts["gpu.name"]
    return Diagnosis(
        crash=crash,
        verdict=verdict(crash),
        findings=findings,
        gpu=gpu if isinstance(gpu, str) else None,
        gpus=gpus if isinstance(gpus, int) else None,
        config_path=run.path if run.document is not None else None,
        config_text=run.document.text if run.document is not None else None,
        config_mark="\ufeff" if run.document is not None and run.document.bom else "",
        release=run.release,
        run=run,
        differences=run.crash_differences,
        estimate=_known(facts["memory.peak_gib"]),
        scale=scale,
    )


def refused(diagnosis: Diagnosis, rules: RuleSet) -> list[Finding]:
    """The findings, without fixes, of a check of the same run, by which a start-up would be refused or memory runs out."""
    facts = Facts(diagnosis.run)
    return [describe(hit, facts) for hit in evaluate(_split(rules)[1], facts, GRAVE)]


def _changes(before: Diagnosis, config: str | None, text: str, options: Options) -> frozenset[str]:
    """The fields that the file's new text says otherwise than its old one."""
    old, new = (_written(before.crash, config, part, options) for part in (before.config_text or "", text))
    return frozenset(field for field in old.keys() | new.keys() if field not in old or field not in new or old[field] != new[field])


def _written(crash: Crash, config: str | None, text: str, options: Options) -> dict[str, Any]:
    """What the file alone says."""
    return run_of(Crash(path=crash.path), config, text, options).written


def _known(value: Any) -> float | None:
    return float(value) if _positive(value) else None


def _split(rules: RuleSet) -> tuple[RuleSet, RuleSet]:
    """The rules about crashes, and all others."""
    mine = [rule for rule in rules.rules if any(field.startswith("crash.") for field in rule.fields)]
    others = [rule for rule in rules.rules if not any(field.startswith("crash.") for field in rule.fields)]
    return RuleSet(mine, rules.bundles), RuleSet(others, rules.bundles)


def _place(finding: Finding, crash: Crash) -> None:
    """A finding about a log stands at the failure's line; what it is about is the field."""
    place = finding.place
    place.origin, place.path = "log", crash.path
    place.line, place.column = crash.line, 1 if crash.line is not None else None
    place.end_line = place.end_column = None
    finding.evidence = [Evidence(path=e.path, line=e.line, text=e.text) for e in crash.evidence]


def _attach(run: Run, facts: Facts, rules: RuleSet, others: RuleSet, hits: list[Hit], scale: float | None) -> None:
    """Give every finding those of its fixes that change something and break nothing."""
    present: dict[tuple[Any, ...], int] | None = None
    offered: list[Fix] = []
    for hit in hits:
        if hit.finding is None:
            continue
        for fix, _ in fixes(hit, facts, rules):
            changing = bool(fix.set or fix.remove or fix.rename or fix.lists or fix.env)
            fix.set = {field: value for field, value in fix.set.items() if not _already(facts, field, value)}
            fix.env = {name: value for name, value in fix.env.items() if run.environment.get(name) != value}
            if changing and not (fix.set or fix.remove or fix.rename or fix.lists or fix.env):
                continue
            if any(_equal(fix, other) for other in offered):
                continue
            if (fix.set or fix.lists) and len(run.written) >= ENOUGH:
                after = changed(run, fix.set, fix.remove, fix.rename, fix.lists, fix.env)
                if present is None:
                    present = _complaints(others, run)
                if _worse(present, _complaints(others, after)):
                    continue
                fix.title += _effect(facts, after, scale)
            obstacle = _obstacle(run, facts, fix)
            if obstacle is not None:
                fix.action = fix.action or obstacle
            elif (run.document is not None or run.recipe is not None) and all(field.partition(".")[0] in tables.sections(run.release) for field in fix.set):
                said, fix.action = (fix.action, None) if run.document is None else (None, fix.action)
                lower(run, fix)
                fix.action = "; ".join(text for text in (said, fix.action) if text) or None
            for operation, field, value in fix.lists:
                # as values too, for readers that do not apply edits
                items = run.written.get(field)
                if items.__class__ is list:
                    fix.set[field] = changed_list(fix.set.get(field, items), operation, value)
            offered.append(fix)
            hit.finding.fixes.append(fix)


def _obstacle(run: Run, facts: Facts, fix: Fix) -> str | None:
    """Why a fix is not made in the file: it was reckoned for what ran, and the file says something else or nothing."""
    touched = [*fix.set, *fix.remove, *(field for _, field, _ in fix.lists)]
    for difference in run.crash_differences:
        if difference["field"] in touched:
            return f"not made in the file, where {difference['field']} is {show(difference['config'])}: the job ran with {show(difference['log'])}"
    unknown = [field for field in touched if field.endswith("_parallel_size") and isinstance(facts[field], State)]
    return f"neither the log nor the file says what {unknown[0]} is: twice that" if unknown else None


def _effect(facts: Facts, after: Run, scale: float | None) -> str:
    """What the memory model says of a fix, its estimate scaled so that it gives for the run as it was what the log shows."""
    before = facts["memory.peak_gib"]
    if scale is None or not _positive(before):
        return ""
    then = Facts(after)["memory.peak_gib"]
    if not _positive(then) or abs(then - before) < INFLUENCE * before:
        return ""
    text = f" (estimated peak {before * scale:.1f} -> {then * scale:.1f} GiB"
    capacity = facts["crash.capacity_gib"]
    if _positive(capacity) and then < before:
        text += ", enough" if then * scale < ENOUGH_ROOM * capacity else ", not enough alone"
    return text + ")"


def _positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and value > 0


def _already(facts: Facts, field: str, value: Any) -> bool:
    standing = facts[field]
    return not isinstance(standing, State) and standing.__class__ is value.__class__ and bool(standing == value)


def _equal(left: Fix, right: Fix) -> bool:
    changing = bool(left.set or left.remove or left.env)
    return changing and left.set == right.set and left.remove == right.remove and left.env == right.env


def _complaints(rules: RuleSet, run: Run) -> dict[tuple[Any, ...], int]:
    """How often each rule holds that a start-up would be refused or memory runs out."""
    facts = Facts(run)
    return count_grave(evaluate(rules, facts, GRAVE, hidden=True), facts)


def _worse(before: dict[tuple[Any, ...], int], after: dict[tuple[Any, ...], int]) -> bool:
    return any(number > before.get(key, 0) for key, number in after.items())
