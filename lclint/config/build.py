"""Puts a run together: the file over its base, overrides over both, and what was said about the cluster."""

from __future__ import annotations

from typing import Any

from lclint.catalog import tables
from lclint.config import values
from lclint.config.cluster import gpu_facts
from lclint.config.identify import identify
from lclint.config.resolve import resolve
from lclint.config.run import Problem, Run
from lclint.core.errors import InputError, UsageError
from lclint.core.options import Options
from lclint.core.states import UNKNOWN
from lclint.sources import hydra
from lclint.sources.document import Document

RELEASE = "0.6"


def release_of(version: str | None) -> str:
    """The release whose field tables serve a Bridge version such as 0.6.2.

    Raises UsageError for a release that the catalogue does not have.
    """
    if version is None:
        return RELEASE
    release = ".".join(version.split(".")[:2])
    if release not in tables.releases():
        raise UsageError(f"no field tables for Megatron Bridge {version}", hint=f"there are tables for {', '.join(tables.releases())}")
    return release


def from_document(document: Document, options: Options, base: Document | None = None) -> tuple[Run | None, str]:
    """The run of a config file, or None and the reason when it is not a Megatron Bridge config."""
    release = release_of(options.bridge_version)
    kind, reason = identify(document.data, release)
    if kind == "none":
        return None, reason
    run = _new(kind, document.path, document, options, release)
    run.complete = kind == "dump"
    below: dict[str, Any] = {}
    if base is not None:
        _lay_base(run, base, below, release)
    fields: dict[str, Any] = {}
    data = {str(key): value for key, value in document.data.items() if key != "_target_"}
    values.flatten(data, fields)
    run.written = below
    for name in values.overlay(run.written, fields, run.origins, "file"):
        if base is not None:
            run.problems.append(Problem("classless-section", name))
    for problem in document.problems:
        line = document.position(problem.start)[0]
        run.problems.append(Problem("loader", ".".join(str(key) for key in problem.path) or "file", problem.message, None, line))
    _finish(run, options, document)
    return run, ""


def from_mapping(data: dict[str, Any], options: Options, path: str = "<config>") -> Run:
    """The run of a config that is at hand as nested mappings (with ``_target_`` where it is a dump).

    Raises InputError when it is not a Megatron Bridge config.
    """
    release = release_of(options.bridge_version)
    kind, reason = identify(data, release)
    if kind == "none":
        raise InputError(f"not a Megatron Bridge config: {reason}", path)
    run = _new("mapping", path, None, options, release)
    run.complete = kind == "dump"
    fields: dict[str, Any] = {}
    values.flatten({str(key): value for key, value in data.items() if key != "_target_"}, fields)
    values.overlay(run.written, fields, run.origins, "file")
    _finish(run, options, None)
    return run


def _new(kind: str, path: str, document: Document | None, options: Options, release: str) -> Run:
    run = Run(kind, path, document)
    run.release = release
    run.environment_complete = options.env_complete
    given: dict[str, Any] = {
        "bridge.version": options.bridge_version or UNKNOWN,
        "te.version": options.te_version or UNKNOWN,
        "torch.version": options.torch_version or UNKNOWN,
        "cluster.gpus": UNKNOWN if options.gpus is None else options.gpus,
        "cluster.gpus_per_node": UNKNOWN if options.gpus_per_node is None else options.gpus_per_node,
        "config.kind": kind,
    }
    run.given = given
    return run


def _lay_base(run: Run, base: Document, below: dict[str, Any], release: str) -> None:
    kind, reason = identify(base.data, release)
    if kind == "none":
        raise InputError(f"--base is not a Megatron Bridge config: {reason}", base.path)
    run.complete = run.complete or kind == "dump"
    fields: dict[str, Any] = {}
    values.flatten({str(key): value for key, value in base.data.items() if key != "_target_"}, fields)
    values.overlay(below, fields, run.origins, "base")
    run.base = dict(below)


def _finish(run: Run, options: Options, document: Document | None) -> None:
    given = dict(_header(document)) if document is not None else {}
    gpu = options.gpu or given.get("gpu")
    if gpu is not None:
        run.given.update(gpu_facts(gpu))
    if options.gpus is None and given.get("gpus", "").isdigit():
        run.given["cluster.gpus"] = int(given["gpus"])
    if options.gpus_per_node is None and given.get("gpus_per_node", "").isdigit():
        run.given["cluster.gpus_per_node"] = int(given["gpus_per_node"])
    for text in options.sets:
        override(run, text)
    for name, value in run.written.items():
        if name.startswith("env_vars."):
            # Bridge hands every value to the environment as text
            run.environment[name[len("env_vars.") :]] = str(value)
    run.environment.update(options.env)
    run.given["config.complete"] = run.complete
    resolve(run)


def _header(document: Document) -> dict[str, str]:
    found: dict[str, str] = {}
    for directive in document.directives():
        if directive.kind == "options":
            found.update(directive.options)
    return found


def override(run: Run, text: str) -> None:
    """Apply one Hydra override; what Hydra would refuse becomes a problem of the run, and the value is left alone."""
    try:
        parsed = hydra.parse_override(text)
    except hydra.OverrideError as error:
        key = text.partition("=")[0].lstrip("+~")
        run.sets[key] = text
        run.problems.append(Problem("override", key, f"Hydra does not parse the override {text}: {error}"))
        return
    key, operation = parsed.key, parsed.operation
    run.sets[key] = text
    exists = key in run.written
    if not exists and not run.complete:
        exists = _declared(run, key)
    if operation == "~":
        if not exists:
            run.problems.append(Problem("override", key, f"Hydra cannot delete {key}: the config has no such key"))
        run.written.pop(key, None)
        return
    if operation == "+" and exists:
        run.problems.append(Problem("override", key, f"Hydra refuses +{key}: the key exists already, so it is {key}=... without the plus sign"))
        return
    if operation == "+":
        run.problems.append(Problem("dropped", key, f"Hydra adds {key}, and Bridge drops it without a word: no config class has the field"))
        return
    if not operation and not exists:
        run.problems.append(Problem("override", key, f"Hydra refuses {key}: the config has no such key"))
        return
    fields: dict[str, Any] = {}
    values.flatten({key: parsed.value}, fields)
    section = key.partition(".")[0]
    if "." in key and section in run.written and run.written[section].__class__ is not dict:
        run.problems.append(Problem("classless-section", section, key))
        run.written[section] = {}
    values.overlay(run.written, fields, run.origins, "set")
    for name in fields:
        run.sets[name] = text


def _declared(run: Run, key: str) -> bool:
    """Whether some class of the section has the field, for a run that does not hold all its values."""
    section, _, field = key.partition(".")
    if section == "env_vars":
        return True
    if section not in tables.sections(run.release):
        return False
    return not field or field.partition(".")[0] in (tables.section(run.release, section).fields() or {})


def from_overrides(options: Options) -> Run:
    """The run of a command line without a file: overrides over nothing that is known."""
    run = _new("overrides", "<command line>", None, options, release_of(options.bridge_version))
    _finish(run, options, None)
    return run
