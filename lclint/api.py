"""lclint from Python: what the command line calls, and one line before ``pretrain(cfg)``.

report = lclint.check("run.yaml", gpu="h100", gpus=256)
report = lclint.check(cfg, gpus=256)                      # a ConfigContainer, or nested mappings
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lclint import keywords
from lclint.checking import check_run
from lclint.config import build
from lclint.config.identify import could_be_config
from lclint.config.run import Run
from lclint.core.errors import InputError, LclintError
from lclint.core.finding import FileReport, Record, Report
from lclint.core.options import Options
from lclint.engine import rules as ruleset
from lclint.engine.rules import RuleSet
from lclint.facts import everything
from lclint.per_file import PerFile, choose
from lclint.sources import document as documents
from lclint.sources import files
from lclint.sources.document import Document

if TYPE_CHECKING:
    from lclint.config.explain import Resolved
    from lclint.curing import Cure
    from lclint.diagnosing import Diagnosis
    from lclint.engine.baseline import Known
    from lclint.memory.asking import Asked
    from lclint.memory.result import Estimate

everything.load()

STDIN = "-"
STDIN_NAME = "<stdin>"


class Applied(Record):
    """What fixing did to one file: its text before and after, and which fixes were taken back and why."""

    __slots__ = ("path", "before", "after", "notes")
    path: str
    before: str
    after: str
    notes: list[str]


def check(config: Any, **options: Any) -> Report:
    """Check one config: a path, nested mappings, or a ConfigContainer object.

    ``options`` are the fields of ``lclint.core.options.Options``: gpu, gpus, sets, env, base and so on.
    Raises LclintError when the input cannot be read or the options name something that does not exist.
    """
    chosen = keywords.options(options)
    if isinstance(config, (str, bytes)) or hasattr(config, "__fspath__"):
        return check_paths([os.fsdecode(config)], chosen)
    return Report(files=[check_run(build.from_mapping(_mapping(config), chosen), load_rules(chosen))])


def _mapping(config: Any) -> dict[str, Any]:
    from lclint.config.objects import as_mapping

    data = as_mapping(config)
    if not isinstance(data, dict):
        raise InputError(f"cannot check a {type(config).__name__}", hint="give a path, a mapping or a ConfigContainer")
    return data


def load_rules(options: Options) -> RuleSet:
    """The rules that these options choose, whatever settings lie near the files. Raises RuleError and UsageError."""
    return choose(ruleset.load(options.rules), options)


def check_paths(paths: list[str], options: Options) -> Report:
    """Check files, folders and globs; ``-`` is standard input; no path checks the overrides alone.

    Raises LclintError.
    """
    return _each(paths, options, _ask)


def fix_paths(paths: list[str], options: Options) -> tuple[Report, list[Applied]]:
    """Fix files: the report after it, and what changed. Writes when ``options.fix`` is set.

    Raises LclintError; a file that changed while it was being checked is not written. The fixed text of standard input is in its report.
    """
    from lclint.fixes.rounds import fix_text
    from lclint.sources.writing import write_atomic

    applied: list[Applied] = []

    def fix(asked: Asking) -> FileReport | str:
        document = asked.document
        first = _ask(asked)
        if isinstance(first, str):
            return first

        def recheck(text: str) -> FileReport:
            new = documents.from_text(text, document.path, document.loader, document.bom)
            run, _ = build.from_document(new, asked.options, asked.base, first.kind, first.bridge_version, tolerant=True)
            assert run is not None
            return check_run(run, asked.rules, known=asked.known)

        after, report, notes = fix_text(document.text, recheck, options.unsafe_fixes)
        mark = "\ufeff" if document.bom else ""
        if after != document.text or notes:
            applied.append(Applied(path=document.path, before=mark + document.text, after=mark + after, notes=notes))
        if after != document.text and options.fix and paths != [STDIN]:
            write_atomic(document.path, (mark + after).encode(), (mark + document.text).encode())
        return report

    return _each(paths, options, fix), applied


class Asking(Record):
    """One file that a check is asked about, and what it goes by. ``named`` tells that the user named it, ``known`` are its baseline's entries."""

    __slots__ = ("document", "options", "base", "rules", "known", "named")
    document: Document
    options: Options
    base: Document | None
    rules: RuleSet
    known: Known
    named: bool


Work = Callable[[Asking], "FileReport | str"]


def _each(paths: list[str], options: Options, work: Work) -> Report:
    """Do the work for each file. A single file that cannot be read raises; of several, each is noted and the rest goes on."""
    per_file = PerFile(options)
    # what is wrong with the command line itself ends the run whatever the files are
    per_file.rules(options)
    per_file.base(options)
    if options.recipe is not None:
        build.recipe_values(options.recipe, build.release_of(options))
    report = Report()
    if not paths:
        chosen = per_file.options(None)
        report.files.append(_settled(check_run(build.from_overrides(chosen), per_file.rules(chosen)), chosen))
    for path in paths:
        for found in [path] if path == STDIN else files.find([path]):
            name = options.stdin_filename or STDIN_NAME if found == STDIN else found
            place = options.stdin_filename if found == STDIN else found
            left_out = None if place is None else per_file.excluded(place)
            if left_out is not None:
                report.excluded[name] = left_out
                continue
            data = b""
            try:
                data = _standard_input() if found == STDIN else files.read(found)
                document = documents.load(data, name)
                chosen = per_file.options(place, document)
                named = found == path and not options.skip_unparsable
                known = per_file.known(chosen, name)
                base, rules = per_file.base(chosen), per_file.rules(chosen)
                result = work(Asking(document=document, options=chosen, base=base, rules=rules, known=known, named=named))
            except InputError as error:
                if data and not could_be_config(data) and (found != path or options.skip_unparsable):
                    result = f"it is not YAML ({error.message})"
                elif paths == [found]:
                    raise
                else:
                    report.errors.append(error)
                    continue
            if isinstance(result, str):
                report.skipped[name] = result
            else:
                report.files.append(_settled(result, chosen))
    return report


def _settled(report: FileReport, options: Options) -> FileReport:
    report.fail_on = options.fail_on
    report.baseline = options.baseline
    return report


def _standard_input() -> bytes:
    """What comes on standard input. Raises InputError when there is none."""
    if sys.stdin is None:
        raise InputError("standard input is closed", STDIN_NAME, hint="name a file, or pipe the config in")
    data = sys.stdin.buffer.read(files.CONFIG_LIMIT + 1)
    if len(data) > files.CONFIG_LIMIT:
        raise InputError(f"is larger than {files.CONFIG_LIMIT >> 20} MiB", STDIN_NAME, hint="this is not a config")
    return data


def _ask(asked: Asking) -> FileReport | str:
    """The report of one file, or why it is not a Megatron Bridge config."""
    run, reason = build.from_document(asked.document, asked.options, asked.base, named=asked.named, tolerant=True)
    return reason if run is None else check_run(run, asked.rules, asked.options.needs, asked.known)


def resolve(config: Any, fields: Sequence[str] = (), **options: Any) -> Resolved:
    """What Bridge makes of one config, value by value: of the named fields and sections, or of all.

    ``config`` and ``options`` as for ``check``. Raises LclintError, also for a field that does not exist.
    """
    chosen = keywords.options(options)
    if isinstance(config, (str, bytes)) or hasattr(config, "__fspath__"):
        return resolve_path(os.fsdecode(config), chosen, list(fields))
    return _resolved(build.from_mapping(_mapping(config), chosen), None, list(fields))


def resolve_path(path: str | None, options: Options, fields: list[str]) -> Resolved:
    """What Bridge makes of one file, or of the overrides alone; ``-`` is standard input. Raises LclintError."""
    options, document, base = _one(path, options)
    if document is None:
        return _resolved(build.from_overrides(options), None, fields)
    run, reason = build.from_document(document, options, base, named=True)
    if run is None:
        raise InputError(f"not a Megatron Bridge config: {reason}", document.path)
    return _resolved(run, options.base, fields)


def _one(path: str | None, options: Options) -> tuple[Options, Document | None, Document | None]:
    """``(options, document, base)`` of one file, or of the overrides alone; ``-`` is standard input. Raises LclintError."""
    per_file = PerFile(options)
    base = per_file.base(options)
    if path is None:
        return per_file.options(None), None, base
    name = options.stdin_filename or STDIN_NAME if path == STDIN else path
    document = documents.load(_standard_input() if path == STDIN else files.read(path), name)
    options = per_file.options(options.stdin_filename if path == STDIN else path, document)
    return options, document, per_file.base(options)


def _resolved(run: Run, base: str | None, fields: list[str]) -> Resolved:
    from lclint.config.explain import explain, named

    resolved = explain(run, base)
    if fields:
        resolved.values = named(run, resolved, fields)
    return resolved


def estimate_memory(config: Any, **options: Any) -> Estimate:
    """Peak memory of every pipeline stage of one config, by component, in bytes.

    ``config`` and ``options`` as for ``check``. Raises LclintError when the input cannot be read.
    """
    chosen = keywords.options(options)
    if isinstance(config, (str, bytes)) or hasattr(config, "__fspath__"):
        return estimate_path(os.fsdecode(config), chosen, []).estimate
    from lclint.memory.estimate import estimate

    return estimate(build.from_mapping(_mapping(config), chosen))


def estimate_path(path: str | None, options: Options, what_if: list[str]) -> Asked:
    """The estimate of one file, or of the overrides alone, and of the same with changes; ``-`` is standard input. Raises LclintError."""
    from lclint.estimating import estimate

    options, document, base = _one(path, options)
    return estimate(document, base, options, what_if, load_rules(options))


def diagnose(logs: Any, config: Any = None, **options: Any) -> Diagnosis:
    """Say why a job died: from a log file, a folder of per-rank files, or a list of them; ``config`` is the config file that it ran with.

    ``options`` are those of ``check``. Raises LclintError when the input cannot be read.
    """
    paths = [logs] if isinstance(logs, (str, bytes)) or hasattr(logs, "__fspath__") else list(logs)
    return diagnose_paths([os.fsdecode(path) for path in paths], None if config is None else os.fsdecode(config), keywords.options(options))


def diagnose_paths(paths: list[str], config: str | None, options: Options, progress: Callable[[int], None] | None = None) -> Diagnosis:
    """Read logs as the parts of one; ``-`` is standard input; ``progress`` is told how many bytes have been read. Raises LclintError."""
    from lclint import diagnosing

    if config is not None:
        options = _one(config, options)[0]
    return diagnosing.diagnose(paths, config, options, load_rules(options), progress)


def cure(diagnosis: Diagnosis, options: Options, unsafe: bool) -> Cure | None:
    """The fixes of a diagnosis made in the config that it was given; None without one, or where none changes it. Writes nothing."""
    from lclint import curing

    if diagnosis.config_path is not None:
        options = _one(diagnosis.config_path, options)[0]
    return curing.cure(diagnosis, options, load_rules(options), unsafe)


def options_of(given: dict[str, Any]) -> Options:
    """The options that a rule's example names under ``given``."""
    return Options(
        gpu=given.get("gpu"),
        gpus=given.get("gpus"),
        gpus_per_node=given.get("gpus_per_node"),
        sets=given.get("set", []),
        env={name: str(value) for name, value in given.get("env", {}).items()},
        env_complete=given.get("env_complete", False),
        te_version=given.get("te_version"),
        torch_version=given.get("torch_version"),
        bridge_version=given.get("bridge_version"),
        recipe=given.get("recipe"),
    )


def test_rules(folder: str) -> list[Any]:
    """Run the examples of the rules under ``folder``, which stand in for shipped rules of the same names. Raises RuleError."""
    from lclint.engine import examples

    rules = ruleset.load([os.path.dirname(folder) or "." if os.path.isfile(folder) else folder], replace=True)

    def check_text(text: str, given: dict[str, Any]) -> FileReport | str:
        options = options_of(given)
        if "log" in given:
            return _diagnose_text(given["log"], text, options, rules)
        base = documents.load(given["base"].encode(), "base.yaml") if "base" in given else None
        document = documents.load(text.encode(), "example.yaml")
        return _ask(Asking(document=document, options=options, base=base, rules=rules, known={}, named=True))

    return examples.run(folder, check_text)


def _diagnose_text(log: str, config: str, options: Options, rules: RuleSet) -> FileReport:
    """The findings of a log that an example gives, with the example's config when it has one."""
    from lclint import diagnosing
    from lclint.crash import summary

    crash = summary.diagnose_text(log)
    diagnosis = diagnosing.of_crash(crash, None, config if config.strip() else None, options, rules)
    return FileReport(path=crash.path, kind="log", bridge_version=diagnosis.release, findings=diagnosis.findings)


__all__ = [
    "Applied",
    "LclintError",
    "check",
    "check_paths",
    "check_run",
    "cure",
    "diagnose",
    "diagnose_paths",
    "estimate_memory",
    "estimate_path",
    "fix_paths",
    "load_rules",
    "resolve",
    "resolve_path",
    "test_rules",
]
