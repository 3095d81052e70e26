"""Read the config classes of an importable Megatron Bridge. Runs in the interpreter that has torch, not in lclint's.

``PYTHONPATH=tools:WHEELS python -m harvesting.introspect OUT.json`` writes what it finds as plain JSON:

- ``sections``: name -> {"tree", "classes" (import paths), "default" (import path or None), "required"}
- ``classes``: import path -> {"mro" (its config-class ancestors, nearest first), "fields": [...], "aliases": {...}}
- ``presets``: mixed-precision preset -> {field: value}
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import importlib
import inspect
import io
import json
import logging
import pkgutil
import sys
import typing
import warnings
from collections.abc import Iterator
from typing import Any

from harvesting import shapes, stand_ins

_NOT_DESCRIBED = {"megatron.core.process_groups_config.ProcessGroupCollection"}  # made at run time, never written


def import_everything() -> list[str]:
    """Import every Bridge module that can define a config class; returns what failed, one line each."""
    failures: list[str] = []
    for root in ("data", "diffusion", "models", "peft", "recipes", "perf_recipes", "training"):
        name = f"megatron.bridge.{root}"
        try:
            package = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        for module in pkgutil.walk_packages(package.__path__, name + ".", onerror=failures.append):
            try:
                importlib.import_module(module.name)
            except (Exception, SystemExit) as error:  # a module that wants a GPU must not end the harvest
                failures.append(f"{module.name}: {type(error).__name__}: {str(error)[:100]}")
    return failures


def subclasses(cls: type) -> Iterator[type]:
    """``cls`` and every loaded config class below it, in the order of their import paths."""
    found: dict[str, type] = {}
    queue = [cls]
    while queue:
        one = queue.pop()
        if dataclasses.is_dataclass(one) and one.__module__.startswith("megatron."):
            found[shapes.qualified(one)] = one
        queue.extend(one.__subclasses__())
    yield from (found[name] for name in sorted(found))


def _stand_for(cls: type) -> list[type]:
    """Config classes that may stand where ``cls`` is asked for. A model config stands for itself only: it has dozens below it."""
    if not cls.__module__.startswith("megatron.") or shapes.qualified(cls) in _NOT_DESCRIBED:
        return []
    if any(c.__name__ == "ModelParallelConfig" for c in cls.__mro__):
        return [cls]
    return list(subclasses(cls))


def plain(value: Any) -> Any:
    """A default value as a config file would hold it: dtypes, enums and functions by name, objects by ``_target_``."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (int, float)):
        return value
    name = shapes.dtype_name(value)
    if name is not None:
        return name
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(v) for v in value)
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, functools.partial):
        return plain(value.func)
    if inspect.isroutine(value) or isinstance(value, type):
        return value.__name__
    return {"_target_": shapes.qualified(type(value))}


class Reader:
    """Collects classes by import path; whatever a field may hold is collected with it."""

    def __init__(self) -> None:
        self.classes: dict[str, dict[str, Any]] = {}
        self.by_name: dict[str, type] = {}

    def below(self, name: str) -> list[str]:
        """Import paths of the config classes that may stand where the class ``name`` is asked for."""
        return [shapes.qualified(c) for c in _stand_for(self.by_name[name])]

    def note(self, hint: Any) -> None:
        """Remember the classes that occur in ``hint``, and describe them."""
        for cls in _classes_in(hint):
            if dataclasses.is_dataclass(cls):
                self.by_name[shapes.qualified(cls)] = cls
                for one in _stand_for(cls):
                    self.describe(one)

    def describe(self, cls: type) -> str:
        """Describe ``cls`` and its config-class ancestors; returns its import path."""
        name = shapes.qualified(cls)
        if name in self.classes:
            return name
        self.by_name[name] = cls
        record: dict[str, Any] = {"mro": [], "fields": [], "aliases": sorted(_aliases(cls))}
        self.classes[name] = record
        for ancestor in cls.__mro__[1:]:
            if dataclasses.is_dataclass(ancestor) and ancestor.__module__.startswith("megatron."):
                record["mro"].append(self.describe(ancestor))
        hints = _hints(cls)
        for field in dataclasses.fields(cls):
            if not field.name.startswith("_"):
                record["fields"].append(self._field(cls, field, hints.get(field.name, field.type)))
        return name

    def _field(self, cls: type, field: dataclasses.Field[Any], hint: Any) -> dict[str, Any]:
        owner = next((c for c in cls.__mro__ if field.name in inspect.get_annotations(c)), cls)
        module = vars(sys.modules[owner.__module__])

        def resolve(dotted: str) -> shapes.Tree:
            value: Any = module.get(dotted.partition(".")[0])
            for part in dotted.split(".")[1:]:
                value = getattr(value, part, None)
            if isinstance(value, type):
                self.note(value)
            return shapes.ANY if value is None or isinstance(value, str) else shapes.from_hint(value, resolve)

        self.note(hint)
        described: dict[str, Any] = {"name": field.name, "owner": shapes.qualified(owner), "init": field.init}
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if not required:
            described["default"] = _default(field)
        described["tree"] = shapes.from_hint(hint, resolve)
        return described


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return plain(field.default)
    factory: Any = field.default_factory
    if isinstance(factory, type) and dataclasses.is_dataclass(factory):
        return {"_target_": shapes.qualified(factory)}
    try:
        return plain(factory())
    except Exception:  # a factory that wants a GPU or the network: its result is some object
        return {}


def _aliases(cls: type) -> Iterator[str]:
    """Names of properties that can be assigned: old names that work as attributes and nowhere in a file."""
    names = {f.name for f in dataclasses.fields(cls)}
    for klass in cls.__mro__:
        if klass.__module__.startswith("megatron."):
            for name, value in vars(klass).items():
                if isinstance(value, property) and value.fset and name not in names and not name.startswith("_"):
                    yield name


def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except Exception:  # a name that only a type checker imports: the annotation's own text is used then
        return {}


def _classes_in(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and not typing.get_args(hint):
        yield hint
    for arg in typing.get_args(hint):
        if not isinstance(arg, (str, int)):
            yield from _classes_in(arg)


def read_sections(reader: Reader) -> dict[str, Any]:
    """Every public field of ConfigContainer with the classes that may fill it."""
    config = importlib.import_module("megatron.bridge.training.config")
    container = config.ConfigContainer
    hints = typing.get_type_hints(container)
    sections: dict[str, Any] = {}
    for field in dataclasses.fields(container):
        if field.name.startswith("_"):
            continue
        hint = hints[field.name]
        annotated = [c for c in _classes_in(hint) if dataclasses.is_dataclass(c)]
        roots = list(annotated)
        if field.name == "model":
            with contextlib.suppress(ImportError, AttributeError):
                roots.append(importlib.import_module("megatron.bridge.models.model_provider").ModelProviderMixin)
        found = {shapes.qualified(c): c for c in annotated}
        for root in roots:
            found.update({shapes.qualified(c): c for c in subclasses(root)})
        for cls in list(found.values()):  # a Bridge class may hide a core class of the same name, which dumps then name
            found.update({shapes.qualified(c): c for c in cls.__mro__[1:] if c.__name__ == cls.__name__ and dataclasses.is_dataclass(c)})
        for cls in found.values():
            reader.describe(cls)
            reader.by_name[shapes.qualified(cls)] = cls
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        default = _default(field) if not required else None
        sections[field.name] = {
            "tree": shapes.from_hint(hint),
            "classes": list(found),
            "required": required,
            "default": _default_class(annotated, required, default),
        }
    return sections


def _default_class(annotated: list[type], required: bool, default: Any) -> str | None:
    if isinstance(default, dict) and "_target_" in default:
        return str(default["_target_"])
    return shapes.qualified(annotated[0]) if required and len(annotated) == 1 else None


def read_presets() -> dict[str, dict[str, Any]]:
    """Mixed-precision presets under the names that they are registered by (with underscores)."""
    module = importlib.import_module("megatron.bridge.training.mixed_precision")
    presets = {}
    for name, factory in module.MIXED_PRECISION_RECIPES.items():
        if "-" not in name:
            config = factory()
            presets[name] = {f.name: plain(getattr(config, f.name)) for f in dataclasses.fields(config)}
    return presets


def main() -> None:
    """Write the JSON to the file named on the command line, and to stderr what could not be imported."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    stand_ins.install()
    with contextlib.redirect_stdout(io.StringIO()):
        failures = import_everything()
        reader = Reader()
        sections = read_sections(reader)
        presets = read_presets()
    for cls in reader.classes.values():
        for field in cls["fields"]:
            field["shape"] = shapes.shape_of(field.pop("tree"), reader.below)
            if "default" in field:
                field["shape"] = shapes.widen(field["shape"], field["default"])
    for section in sections.values():
        section["shape"] = shapes.shape_of(section.pop("tree"))
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"sections": sections, "classes": reader.classes, "presets": presets}, file)
    for failure in failures:
        print("not imported:", failure, file=sys.stderr)


if __name__ == "__main__":
    main()
