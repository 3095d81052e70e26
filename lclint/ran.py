"""The run that a log tells of: the config file or recipe, with what the log prints of its settings, environment and hardware laid over it."""

from __future__ import annotations

from typing import Any

from lclint.catalog import tables
from lclint.config import build
from lclint.config.cluster import gpu_facts
from lclint.config.resolve import resolve
from lclint.config.run import BELOW, Run
from lclint.core.errors import InputError, UsageError
from lclint.core.options import Options
from lclint.core.states import State
from lclint.crash.names import CORE_DEFAULTS
from lclint.crash.record import Crash
from lclint.sources import document as documents
from lclint.sources import files

# memory by which a GPU differs from the one that a config names: ECC and reserved parts differ by less
OTHER_GPU = 0.15


def run_of(crash: Crash, config: str | None, text: str | None, options: Options, patched: frozenset[str] = frozenset()) -> Run:
    """The run of the config file, with what the log prints laid over it: the log is what ran.

    Of the ``patched`` fields the file is right: they are what a fix has changed. Without a file the recipe is the base, the one that
    was given or that the launch command in the log names.
    """
    if config is not None or text is not None:
        path = config or "config.yaml"
        document = documents.load(files.read(path) if text is None else text.encode(), path)
        base = documents.load(files.read(options.base), options.base) if options.base is not None else None
        found, reason = build.from_document(document, options, base, named=True)
        if found is None:
            raise InputError(f"not a Megatron Bridge config: {reason}", path)
        run = found
    else:
        run = build.from_overrides(_with_recipe(options, crash))
    for field, value in crash.settings.items():
        if field in patched:
            continue
        if field.partition(".")[0] not in tables.sections(run.release):
            continue
        standing = run.written.get(field, run)
        differs = standing is not run and not isinstance(standing, State) and not _same(standing, value)
        if differs and run.origins.get(field) not in BELOW:
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
    # a comment in the config names what was meant to run
    if crash.world_size is not None and (isinstance(given.get("cluster.gpus"), State) or (crash.world_stated and options.gpus is None)):
        given["cluster.gpus"] = crash.world_size
    if options.gpu is None and crash.capacity_bytes is not None and _another_gpu(given.get("gpu.memory_gib"), crash.capacity_bytes / 2**30):
        given = run.given = {name: value for name, value in given.items() if not name.startswith("gpu.")}
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


def _another_gpu(named: Any, gib: float) -> bool:
    """Whether a GPU's memory, by its name, is not what the log says."""
    return isinstance(named, (int, float)) and abs(named - gib) > OTHER_GPU * named


def _with_recipe(options: Options, crash: Crash) -> Options:
    """The options, with the recipe that the launch command in the log names where the user names no base."""
    if crash.recipe is None or options.recipe is not None or options.base is not None:
        return options
    try:
        build.recipe_values(crash.recipe, build.release_of(options))
    except UsageError:
        return options
    found = Options(**{name: getattr(options, name) for name in Options.__slots__})
    found.recipe = crash.recipe
    return found


def _same(left: Any, right: Any) -> bool:
    if left == right:
        # True == 1 for Python
        return isinstance(left, bool) == isinstance(right, bool)
    return isinstance(left, str) and isinstance(right, str) and left.rpartition(".")[2].lower() == right.rpartition(".")[2].lower()
