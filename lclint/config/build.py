"""Puts a run together: the file over its base, overrides over both, and what was said about the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lclint.catalog import tables
from lclint.config import header, values
from lclint.config import release as releases
from lclint.config.cluster import gpu_facts
from lclint.config.identify import has_section, identify
from lclint.config.resolve import resolve
from lclint.config.run import BELOW, Problem, Run
from lclint.core.errors import InputError, UsageError
from lclint.core.options import Options
from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.sources.document import Document


def from_document(
    document: Document,
    options: Options,
    base: Document | None = None,
    kind: str | None = None,
    release: str | None = None,
    named: bool = False,
    tolerant: bool = False,
) -> tuple[Run | None, str]:
    """The run of a config file, or None and the reason when it is not a Megatron Bridge config.

    ``kind`` and ``release`` say what it is where its keys no longer do (a file from which a fix took the last one). A ``named`` file was
    asked for by its name, so that one section of a config is enough, whatever its keys. What is wrong with the options in its comments
    raises InputError, unless it is ``tolerant``: then it is in the run's ``faults``.
    """
    if release is None:
        release = release_of(options, document.data if base is None else base.data)
    reason = ""
    if kind is None:
        kind, reason = identify(document.data, release)
        if kind == "none" and (named or _has_header(document)) and has_section(document.data, release):
            kind = "override"
    if kind == "none":
        return None, reason
    said, wrong = header.read(document)
    if wrong and not tolerant:
        raise InputError(wrong[0].error.message, document.path, wrong[0].directive.line, wrong[0].error.hint)
    run = _new(kind, document.path, document, options, release)
    run.faults = wrong
    run.complete = kind == "dump"
    if base is not None:
        _lay_base(run, base)
    else:
        _lay_recipe(run, options, document, said.get("recipe"))
    fields: dict[str, Any] = {}
    if kind == "megatron-args":
        fields = _arguments(run, document.data)
    else:
        data = {str(key): value for key, value in (document.data or {}).items() if key != "_target_"}
        values.flatten(data, fields)
    for name in values.overlay(run.written, fields, run.origins, "file"):
        if run.base is not None:
            run.problems.append(Problem("classless-section", name))
    _mark_defaults(run, fields)
    for problem in document.problems:
        at = ".".join(str(key) for key in problem.path) or "file"
        run.problems.append(Problem("loader", at, problem.message, None, (problem.start, problem.end)))
    _finish(run, options, said)
    return run, ""


def from_mapping(data: dict[str, Any], options: Options, path: str = "<config>") -> Run:
    """The run of a config that is at hand as nested mappings (with ``_target_`` where it is a dump).

    Raises InputError when it is not a Megatron Bridge config.
    """
    release = release_of(options, data)
    kind, reason = identify(data, release)
    if kind == "none":
        raise InputError(f"not a Megatron Bridge config: {reason}", path)
    run = _new("mapping", path, None, options, release)
    run.complete = kind == "dump"
    _lay_recipe(run, options)
    fields: dict[str, Any] = {}
    if kind == "megatron-args":
        fields = _arguments(run, data)
    else:
        values.flatten({str(key): value for key, value in data.items() if key != "_target_"}, fields)
    values.overlay(run.written, fields, run.origins, "file")
    _mark_defaults(run, fields)
    _finish(run, options)
    return run


def _mark_defaults(run: Run, fields: dict[str, Any]) -> None:
    """Of Megatron-LM arguments: what no argument says is Megatron-LM's default."""
    if run.kind == "megatron-args":
        run.origins.update((name, "default") for name in fields if name not in run.keys)


def _arguments(run: Run, data: dict[str, Any]) -> dict[str, Any]:
    """The fields of a file of Megatron-LM arguments: all there are, for an absent argument has a default."""
    from lclint.config import megatron_args

    run.kind = "megatron-args"
    run.complete = True
    fields, environment, run.keys = megatron_args.read(data)
    fields.update((f"env_vars.{name}", value) for name, value in environment.items())
    for key, suggestion in megatron_args.unknown(data):
        at = "arguments." + key.lstrip("-").replace("-", "_")
        run.keys[at] = (megatron_args.ARGUMENTS, key)
        run.origins[at] = "file"
        run.problems.append(Problem("argument", at, key, suggestion))
    return fields


def release_of(options: Options, data: Any = None) -> str:
    """The release that the command line names, else the one that the config fits; a recipe is of the newest. Raises UsageError."""
    if options.bridge_version is not None:
        return releases.named(options.bridge_version)
    return releases.NEWEST if options.recipe is not None else releases.detect(data)


def _new(kind: str, path: str, document: Document | None, options: Options, release: str) -> Run:
    run = Run(kind, path, document)
    run.release = release
    run.environment_complete = options.env_complete
    given: dict[str, Any] = {
        "bridge.version": options.bridge_version or UNKNOWN,
        "bridge.release": release,
        "te.version": options.te_version or UNKNOWN,
        "torch.version": options.torch_version or UNKNOWN,
        "cluster.gpus": UNKNOWN if options.gpus is None else options.gpus,
        "cluster.gpus_per_node": UNKNOWN if options.gpus_per_node is None else options.gpus_per_node,
        "config.kind": kind,
    }
    run.given = given
    return run


def _lay_base(run: Run, base: Document) -> None:
    kind, reason = identify(base.data, run.release)
    if kind == "none":
        raise InputError(f"--base is not a Megatron Bridge config: {reason}", base.path)
    run.complete = run.complete or kind == "dump"
    _lay(run, base.data, "base")


def _lay_recipe(run: Run, options: Options, document: Document | None = None, said: str | None = None) -> None:
    """Lay the recipe below that the command line names, or else the one that the file itself said."""
    name = options.recipe or said
    if name is None:
        return
    try:
        data = recipe_values(name, run.release)
    except UsageError as error:
        if document is None or options.recipe is not None:
            raise
        line = next((directive.line for directive in document.directives() if "recipe" in directive.options), None)
        raise InputError(error.message, document.path, line, error.hint) from None
    run.complete = True
    run.recipe = name
    _lay(run, data, "recipe")


def recipe_values(name: str, release: str) -> dict[str, Any]:
    """The values of a published recipe, nested as in a dump. Raises UsageError for a name that none has."""
    from lclint.catalog import recipes

    return recipes.load(release, name)


def _lay(run: Run, data: dict[Any, Any], origin: str) -> None:
    fields: dict[str, Any] = {}
    values.flatten({str(key): value for key, value in data.items() if key != "_target_"}, fields)
    values.overlay(run.written, fields, run.origins, origin)
    run.base = dict(run.written)
    run.base_origin = origin


def _finish(run: Run, options: Options, said: Mapping[str, Any] = {}) -> None:
    """What the command line says, else the file itself (``said``), and the overrides; then what Bridge makes of it."""
    gpu = options.gpu or said.get("gpu")
    if gpu is not None:
        run.given.update(gpu_facts(gpu))
    for name in ("gpus", "gpus_per_node"):
        if getattr(options, name) is None and name in said:
            run.given[f"cluster.{name}"] = said[name]
    for text in [*options.sets, *options.words]:
        override(run, text)
    for name, value in run.written.items():
        if name.startswith("env_vars."):
            # Bridge hands every value to the environment as text
            run.environment[name[len("env_vars.") :]] = str(value)
    run.environment.update(options.env)
    run.given["config.complete"] = run.complete
    resolve(run)


def _has_header(document: Document) -> bool:
    return any(directive.kind == "options" for directive in document.directives())


def _near(run: Run, key: str) -> str:
    """The question whether another field of the section was meant, empty when none is near."""
    from lclint.config.keys import nearest

    section, _, field = key.partition(".")
    close = nearest(field, tables.section(run.release, section).fields() or {}) if field and section in tables.sections(run.release) else None
    return f"; did you mean {section}.{close}?" if close else ""


def override(run: Run, text: str) -> None:
    """Apply one Hydra override; what Hydra would refuse becomes a problem of the run, and the value is left alone."""
    # its grammar is a dozen regular expressions, which few checks need
    from lclint.sources import hydra

    try:
        parsed = hydra.parse_override(text)
    except hydra.OverrideError as error:
        key = text.partition("=")[0].lstrip("+~")
        run.sets[key] = text
        run.problems.append(Problem("override", key, f"Hydra does not parse the override {text}: {error}"))
        return
    key, operation, value = parsed.key, parsed.operation, parsed.value
    run.sets[key] = text
    old = _standing(run, key)
    if operation == "~":
        _delete(run, key, old, parsed.value if parsed.has_value else None)
        return
    outside = old is NOT_APPLICABLE
    section = key.partition(".")[0]
    if outside and operation and not _takes_any_key(run, key.rpartition(".")[0]):
        standing = run.written.get(section, run)
        if standing is not run and standing.__class__ is not dict:
            run.problems.append(Problem("classless-section", section, key))
            run.written[section] = {}
        elif operation == "+":
            text = f"Hydra adds {key}, and Bridge drops it with a line in the log: no config class has the field"
            run.problems.append(Problem("dropped", key, text + _near(run, key)))
            return
    if not operation:
        missing = key if outside else _new_key(run, key, value)
        if missing is not None:
            text = f"Hydra refuses {key}: the config has no such key" + (f" as {missing}" if missing != key else "")
            run.problems.append(Problem("override", key, text + _near(run, missing)))
            return
    if operation == "+" and value.__class__ not in (dict, list) and not outside and old is not None and (old is not UNKNOWN or _never_null(run, key)):
        run.problems.append(Problem("override", key, f"Hydra refuses +{key}: the key exists already, so it is {key}=... without the plus sign"))
        return
    if {old.__class__, value.__class__} == {dict, list}:
        run.problems.append(Problem("override", key, f"Hydra cannot merge a list and a mapping at {key}"))
        return
    holder, _, index = key.rpartition(".")
    items = run.written.get(holder)
    if items.__class__ is list and index.isdigit():
        key, value = holder, [value if number == int(index) else item for number, item in enumerate(items)]
    fields: dict[str, Any] = {}
    values.flatten({key: value}, fields)
    for name in values.overlay(run.written, fields, run.origins, "set"):
        run.problems.append(Problem("classless-section", name, key))
    for name in fields:
        run.sets[name] = text


def _standing(run: Run, key: str) -> Any:
    """The value that Hydra finds at a key; NOT_APPLICABLE where its tree has no such key, UNKNOWN where a base that is not here decides."""
    if key in run.written:
        return run.written[key]
    parent, _, last = key.rpartition(".")
    while parent:
        value = run.written.get(parent, run)
        if value is not run:
            if value.__class__ is list and last.isdigit() and parent == key.rpartition(".")[0]:
                return value[int(last)] if int(last) < len(value) else NOT_APPLICABLE
            if value.__class__ is not dict:
                return NOT_APPLICABLE
            break
        parent = parent.rpartition(".")[0]
    return UNKNOWN if not run.complete and _declared(run, key) else NOT_APPLICABLE


def _delete(run: Run, key: str, old: Any, wanted: Any) -> None:
    """``~key``: Hydra drops it from its tree, and Bridge then leaves the field of its config object as the recipe has it."""
    if old is None or old is NOT_APPLICABLE:
        run.problems.append(Problem("override", key, f"Hydra cannot delete {key}: " + ("it is null" if old is None else "the config has no such key")))
        return
    if wanted is not None and old is not UNKNOWN and wanted != old:
        run.problems.append(Problem("override", key, f"Hydra cannot delete {key}: its value is not {wanted}"))
        return
    if run.written.get(key.rpartition(".")[0]).__class__ is list:
        run.problems.append(Problem("override", key, f"Hydra cannot delete {key}: it is an element of a list"))
        return
    below = [name for name in run.written if name == key or name.startswith(key + ".")]
    in_mapping = _takes_any_key(run, key.rpartition(".")[0])
    if not in_mapping and (run.origins.get(key) in BELOW or (run.kind in ("dump", "mapping") and run.complete and run.base is None)):
        run.problems.append(Problem("dropped", key, f"Hydra deletes {key}, and Bridge keeps the value that it has: set it to what it shall be"))
        return
    for name in below:
        del run.written[name]
        run.origins.pop(name, None)
    if not in_mapping:
        for name, value in (run.base or {}).items():
            if name == key or name.startswith(key + "."):
                run.written[name] = value
                run.origins[name] = run.base_origin


def _new_key(run: Run, key: str, value: Any) -> str | None:
    """The first key of a mapping that a plain override would add to one that is there already: Hydra refuses it."""
    if value.__class__ is not dict or run.written.get(key).__class__ is not dict:
        return None
    fields: dict[str, Any] = {}
    values.flatten({key: value}, fields)
    for name in fields:
        parent = name.rpartition(".")[0]
        if name not in run.written and run.written.get(parent).__class__ is dict and _standing(run, name) is NOT_APPLICABLE:
            return name
    return None


def _takes_any_key(run: Run, name: str) -> bool:
    """Whether what stands at that name is a plain mapping of keys (env_vars), and no config object."""
    section, _, rest = name.partition(".")
    if section not in tables.sections(run.release) or f"{name}._target_" in run.written:
        return False
    known = tables.section(run.release, section)
    if not rest:
        return not known.classes
    field = (known.fields() or {}).get(rest)
    return field is not None and "dict" in field.kinds and run.written.get(name).__class__ is dict


def _never_null(run: Run, key: str) -> bool:
    """Whether every class that has the field gives it a value other than null."""
    section, _, rest = key.partition(".")
    field = (tables.section(run.release, section).fields() or {}).get(rest) if section in tables.sections(run.release) else None
    return field is not None and not field.kinds & {"null", "any"} and (field.required or field.default is not None)


def _declared(run: Run, key: str) -> bool:
    """Whether some class of the section has the field, for a run that does not hold all its values."""
    section, _, field = key.partition(".")
    if section == "env_vars":
        return True
    if section not in tables.sections(run.release):
        return False
    return not field or field.partition(".")[0] in (tables.section(run.release, section).fields() or {})


def from_overrides(options: Options) -> Run:
    """The run of a command line without a file: overrides over a recipe, or over nothing that is known."""
    run = _new("overrides", "<command line>", None, options, release_of(options))
    _lay_recipe(run, options)
    _finish(run, options)
    return run
