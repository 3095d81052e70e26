"""From a crash log to findings: the log's crash and its settings become a run, the rules about crashes are asked, their fixes are tried.

A diagnosis's fixes cannot be proven against the log, since the log stays as it is: a fix is left out when it would change nothing, and when
the changed config would be refused at start-up or is worse by another rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lclint.catalog import tables
from lclint.config import build
from lclint.config.changes import changed, changed_list
from lclint.config.cluster import gpu_facts
from lclint.config.resolve import resolve
from lclint.config.run import Run
from lclint.core.errors import InputError
from lclint.core.finding import SEVERITIES, Evidence, Finding, Fix, Record
from lclint.core.options import Options
from lclint.core.states import State
from lclint.crash import summary
from lclint.crash.record import MEMORY_FAILURES, Crash
from lclint.crash.settings import CORE_DEFAULTS
from lclint.crash.verdict import verdict
from lclint.engine.evaluate import Hit, describe, evaluate
from lclint.engine.operations import show
from lclint.engine.rules import RuleSet
from lclint.facts.context import Facts
from lclint.fixes.lower import lower
from lclint.fixes.symbolic import fixes
from lclint.sources import document as documents
from lclint.sources import edits, files

GRAVE = ("crash", "oom")
# from so many known fields on a changed config is worth checking
ENOUGH = 5
# phases in which what was needed is the peak of a training step
AT_THE_PEAK = ("forward", "backward", "logits_loss", "moe", "optimizer_step")
# share of the GPU that a scaled estimate may take; the rest is for contexts, communication and gaps
ENOUGH_ROOM = 0.92
# of several diagnoses the one whose remedy is cheapest and surest comes first
FIRST = ("fragmentation-out-of-memory",)


class Diagnosis(Record):
    """The result: the crash, one sentence on it, the findings, the cluster, and the config file that fixes are for."""

    __slots__ = ("crash", "verdict", "findings", "gpu", "gpus", "config_path", "config_text", "config_mark", "release")
    crash: Crash
    verdict: str
    findings: list[Finding]
    gpu: str | None
    gpus: int | None
    config_path: str | None
    config_text: str | None
    config_mark: str
    release: str
    defaults = {"gpu": None, "gpus": None, "config_path": None, "config_text": None, "config_mark": ""}

    @property
    def memory_failure(self) -> bool:
        """Whether the run failed for want of memory."""
        return self.crash.kind in MEMORY_FAILURES

    def patch(self, unsafe: bool) -> tuple[Fix, str] | None:
        """The first fix that can be made in the config file, and the file's text after it; ``unsafe`` lets it be an unsafe one."""
        allowed = ("safe", "unsafe") if unsafe else ("safe",)
        for finding in self.findings:
            for fix in finding.fixes:
                if fix.edits and fix.applicability in allowed and self.config_text is not None:
                    return fix, edits.apply(self.config_text, [(edit.start, edit.end, edit.text) for edit in fix.edits])
        return None


def diagnose(paths: Sequence[str], config: str | None, options: Options, rules: RuleSet, progress: Callable[[int], None] | None = None) -> Diagnosis:
    """Read the logs, and say what happened and what helps. Raises LclintError for what cannot be read."""
    return of_crash(summary.diagnose(paths, progress), config, None, options, rules)


def of_crash(crash: Crash, config: str | None, text: str | None, options: Options, rules: RuleSet) -> Diagnosis:
    """The diagnosis of a crash; ``text`` is the config's when it is not in a file."""
    run = _run(crash, config, text, options)
    facts = Facts(run)
    about_crashes, others = _split(rules)
    hits = evaluate(about_crashes, facts)
    for hit in hits:
        finding = describe(hit, facts)
        _place(finding, crash)
    _attach(run, facts, rules, others, hits)
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
    )


def _split(rules: RuleSet) -> tuple[RuleSet, RuleSet]:
    """The rules about crashes, and all others."""
    mine = [rule for rule in rules.rules if any(field.startswith("crash.") for field in rule.fields)]
    others = [rule for rule in rules.rules if not any(field.startswith("crash.") for field in rule.fields)]
    return RuleSet(mine, rules.bundles), RuleSet(others, rules.bundles)


def _run(crash: Crash, config: str | None, text: str | None, options: Options) -> Run:
    """The run of the config file, with what the log prints laid over it: the log is what ran."""
    if config is not None or text is not None:
        path = config or "config.yaml"
        document = documents.load(files.read(path) if text is None else text.encode(), path)
        base = documents.load(files.read(options.base), options.base) if options.base is not None else None
        found, reason = build.from_document(document, options, base, named=True)
        if found is None:
            raise InputError(f"not a Megatron Bridge config: {reason}", path)
        run = found
    else:
        run = build.from_overrides(options)
    for field, value in crash.settings.items():
        if field.partition(".")[0] not in tables.sections(run.release):
            continue
        standing = run.written.get(field, run)
        if standing is not run and not isinstance(standing, State) and not _same(standing, value):
            run.crash_differences.append({"field": field, "config": standing, "log": value})
        run.written[field] = value
        if standing is run:
            run.origins[field] = "log"
    if crash.defaults_known:
        for field, value in CORE_DEFAULTS.items():
            run.written.setdefault(field, value)
    for name, value in crash.environment.items():
        run.environment.setdefault(name, value)
    given = run.given
    if crash.world_size is not None and isinstance(given.get("cluster.gpus"), State):
        given["cluster.gpus"] = crash.world_size
    if "gpu.name" not in given:
        if crash.gpu is not None:
            given.update(gpu_facts(crash.gpu))
        if crash.capacity_bytes is not None:
            given["gpu.memory_gib"] = round(crash.capacity_bytes / 2**30, 2)
    for name in ("torch", "te"):
        if name in crash.versions and isinstance(given.get(f"{name}.version"), State):
            given[f"{name}.version"] = crash.versions[name]
    run.crash = crash
    resolve(run)
    return run


def _same(left: Any, right: Any) -> bool:
    if left == right:
        # True == 1 for Python
        return isinstance(left, bool) == isinstance(right, bool)
    return isinstance(left, str) and isinstance(right, str) and left.rpartition(".")[2].lower() == right.rpartition(".")[2].lower()


def _place(finding: Finding, crash: Crash) -> None:
    """A finding about a log stands at the failure's line; what it is about is the field."""
    place = finding.place
    place.origin, place.path = "log", crash.path
    place.line, place.column = crash.line, 1 if crash.line is not None else None
    place.end_line = place.end_column = None
    finding.evidence = [Evidence(path=e.path, line=e.line, text=e.text) for e in crash.evidence]


def _attach(run: Run, facts: Facts, rules: RuleSet, others: RuleSet, hits: list[Hit]) -> None:
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
                fix.title += _effect(facts, after)
            obstacle = _obstacle(run, facts, fix)
            if obstacle is not None:
                fix.action = fix.action or obstacle
            elif run.document is not None and all(field.partition(".")[0] in tables.sections(run.release) for field in fix.set):
                lower(run, fix)
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


def _effect(facts: Facts, after: Run) -> str:
    """What the memory model says of a fix, its estimate scaled so that it gives for the run as it was what the log shows."""
    before, needed = facts["memory.peak_gib"], facts["crash.needed_gib"]
    if facts.run.crash is None or facts.run.crash.phase not in AT_THE_PEAK or not _positive(before) or not _positive(needed):
        return ""
    then = Facts(after)["memory.peak_gib"]
    if not _positive(then) or abs(then - before) < 0.005 * before:
        return ""
    scaled = then * needed / before
    text = f" (estimated peak {needed:.1f} -> {scaled:.1f} GiB"
    capacity = facts["crash.capacity_gib"]
    if _positive(capacity) and then < before:
        text += ", enough" if scaled < ENOUGH_ROOM * capacity else ", not enough alone"
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
    found: dict[tuple[Any, ...], int] = {}
    for hit in evaluate(rules, facts, GRAVE, hidden=True):
        key = hit.key(facts)
        found[key] = found.get(key, 0) + 1
    return found


def _worse(before: dict[tuple[Any, ...], int], after: dict[tuple[Any, ...], int]) -> bool:
    return any(number > before.get(key, 0) for key, number in after.items())
