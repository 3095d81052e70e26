"""Loads the catalogue: only the files that are asked for, each once per process.

Releases are named by Bridge's minor version (``"0.6"``). Dtypes are ``"bf16"``, ``"fp32"`` ...; enum members and functions
go by their names; an object that is made by default is ``{"_target_": import path}``. What is returned is shared: do not
change it.
"""

from __future__ import annotations

import json
import os
from typing import Any

from lclint.core.errors import UsageError
from lclint.core.states import UNKNOWN

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
_NOT_INIT = 1
_files: dict[str, Any] = {}
_sections: dict[tuple[str, str], Section] = {}
_derived: dict[tuple[str, str], Any] = {}


class Field:
    """One field of a config class.

    ``type`` is for messages. ``kinds`` are the kinds of value that Bridge takes (int, float, bool, str, null, list, dict,
    dtype, callable, enum, object, any), ``items`` those of a list's elements (None: not said). ``choices`` is the closed
    set of an annotation's literals or an enum's member names, None if open; Bridge itself does not check a string in
    an enum field. ``default`` counts only when not ``required``; it is UNKNOWN in a union of classes that differ in it.
    ``deprecated`` says what to write instead. ``init`` is False for what can be computed or assigned but not written.
    ``owner`` is the class that declares the field, ``nested`` the config classes that may stand in it.
    """

    __slots__ = ("name", "type", "kinds", "items", "choices", "default", "required", "deprecated", "init", "owner", "nested")

    def __init__(
        self,
        name: str,
        type: str,
        kinds: frozenset[str],
        items: frozenset[str] | None,
        choices: tuple[Any, ...] | None,
        default: Any,
        required: bool,
        deprecated: str | None,
        init: bool,
        owner: str,
        nested: tuple[str, ...],
    ) -> None:
        self.name = name
        self.type = type
        self.kinds = kinds
        self.items = items
        self.choices = choices
        self.default = default
        self.required = required
        self.deprecated = deprecated
        self.init = init
        self.owner = owner
        self.nested = nested

    def __repr__(self) -> str:
        return f"Field({self.name}: {self.type}{'' if self.required else f' = {self.default!r}'})"


class Section:
    """One section of a config: the classes that may fill it, and their fields.

    ``default`` is the class that is made when a file does not name one: None where the section is absent by default or
    may be one of several classes. ``kinds`` are what may stand in the section's place (``mixed_precision`` takes a str).
    ``nested`` are classes of deeper levels, for which ``fields`` answers too. A section without classes
    (``env_vars``) takes any key.
    """

    __slots__ = ("name", "classes", "nested", "default", "kinds", "required", "_owners", "_shapes", "_deltas", "_rows", "_fields")

    def __init__(self, name: str, about: list[Any], content: dict[str, Any]) -> None:
        self.name = name
        self.default: str | None = about[0]
        self.kinds = frozenset(about[1])
        self.required: bool = about[2]
        self.classes: tuple[str, ...] = tuple(content["section"]["classes"])
        self.nested: tuple[str, ...] = tuple(content["section"]["nested"])
        self._owners: list[str] = content["owners"]
        self._shapes: list[Any] = content["shapes"]
        self._deltas: dict[str, list[Any]] = content["classes"]
        self._rows: dict[str, dict[str, list[Any]]] = {}
        self._fields: dict[str | tuple[str, ...], dict[str, Field]] = {}

    def fields(self, class_name: str | None = None) -> dict[str, Field] | None:
        """Fields of a class of this section by name; of all its classes together for None; None for an unknown class."""
        if class_name is None:
            return self.union(self.classes)
        fields = self._fields.get(class_name)
        if fields is None:
            if class_name not in self.classes and class_name not in self.nested:
                return None
            fields = self._fields[class_name] = {name: self._field(name, row) for name, row in self._table(class_name).items()}
        return fields

    def union(self, classes: tuple[str, ...]) -> dict[str, Field]:
        """Fields of several classes together; one that they declare differently is as wide as all of them."""
        if len(classes) == 1:
            return self.fields(classes[0]) or {}
        fields = self._fields.get(classes)
        if fields is None:
            variants: dict[str, list[list[Any]]] = {}
            for class_name in classes:
                delta = self._deltas[class_name]
                # Rows that come from a class of the same union are counted there.
                for name, row in (delta[1] if delta[0] in classes else self._table(class_name)).items():
                    known = variants.get(name)
                    if known is None:
                        variants[name] = [row]
                    elif known[0] is not row and row not in known:
                        known.append(row)
            fields = self._fields[classes] = {
                name: self._field(name, rows[0]) if len(rows) == 1 else _widest([self._field(name, r) for r in rows]) for name, rows in variants.items()
            }
        return fields

    def owners(self, field: str) -> tuple[str, ...]:
        """Classes of this section that have ``field``."""
        return tuple(c for c in self.classes if field in self._table(c))

    def _table(self, class_name: str) -> dict[str, list[Any]]:
        rows = self._rows.get(class_name)
        if rows is None:
            delta = self._deltas[class_name]
            if delta[0] is None:
                rows = delta[1]
            else:
                rows = {**self._table(delta[0]), **delta[1]}
                for gone in delta[2] if len(delta) > 2 else ():
                    del rows[gone]
            self._rows[class_name] = rows
        return rows

    def _field(self, name: str, row: list[Any]) -> Field:
        shape = self._shapes[row[0]]
        if shape.__class__ is list:
            text, kinds, items, choices, nested = shape
            shape = self._shapes[row[0]] = (
                text,
                frozenset(kinds),
                None if items is None else frozenset(items),
                None if choices is None else tuple(choices),
                tuple(nested or ()),
            )
        size = len(row)
        return Field(
            name,
            shape[0],
            shape[1],
            shape[2],
            shape[3],
            row[3] if size > 3 else None,
            size == 3,
            row[4] if size > 4 else None,
            not row[2] & _NOT_INIT,
            self._owners[row[1]],
            shape[4],
        )


def _widest(fields: list[Field]) -> Field:
    first = fields[0]
    kinds = frozenset().union(*(f.kinds for f in fields))
    items = [f.items for f in fields if "list" in f.kinds]
    choices = [f.choices for f in fields]
    notes = [f.deprecated for f in fields]
    given = [f.default for f in fields if not f.required]
    same = len(given) == len(fields) and all(type(d) is type(given[0]) and d == given[0] for d in given)
    return Field(
        first.name,
        " | ".join(dict.fromkeys(f.type for f in fields)),
        frozenset(("any",)) if "any" in kinds else kinds,
        None if None in items or not items else frozenset().union(*(i for i in items if i is not None)),
        None if None in choices else tuple(dict.fromkeys(c for some in choices for c in some or ())),
        given[0] if same else UNKNOWN,
        all(f.required for f in fields),
        None if None in notes else first.deprecated,
        any(f.init for f in fields),
        first.owner,
        tuple(dict.fromkeys(n for f in fields for n in f.nested)),
    )


class Gpu:
    """One GPU; None is unknown everywhere.

    ``key`` is the name that users type and ``name`` the one for messages. ``memory_gb`` is the nominal size,
    ``torch_total_gib`` what PyTorch reports as total capacity (GiB), ``capability`` (major, minor), ``nvlink_domain``
    the GPUs that NVLink connects (0: none), ``host_gb`` the most host memory for each GPU in common machines, ``host_gb_per_s`` GPU to host in one direction,
    ``*_tflops`` dense. ``precisions`` are of fp8_tensorwise, fp8_blockwise, mxfp8, nvfp4; ``dispatchers`` those that Bridge accepts there for
    MoE (alltoall, allgather, deepep, hybridep, ncclep). ``device_prefix`` begins the device name that PyTorch reports.
    """

    __slots__ = (
        "key", "name", "memory_gb", "torch_total_gib", "capability", "nvlink_domain", "gpus_per_node", "precisions", "dispatchers",
        "host_gb", "host_gb_per_s", "bf16_tflops", "fp8_tflops", "fp4_tflops", "device_prefix", "source",
    )  # fmt: skip

    key: str
    name: str
    memory_gb: int | None
    torch_total_gib: float | None
    capability: tuple[int, int] | None
    nvlink_domain: int | None
    gpus_per_node: int | None
    precisions: tuple[str, ...] | None
    dispatchers: tuple[str, ...] | None
    host_gb: int | None
    host_gb_per_s: int | None
    bf16_tflops: int | None
    fp8_tflops: int | None
    fp4_tflops: int | None
    device_prefix: str
    source: str

    def __init__(self, key: str, content: dict[str, Any]) -> None:
        self.key = key
        for name in self.__slots__[1:]:
            value = content[name]
            setattr(self, name, tuple(value) if value.__class__ is list else value)

    def __repr__(self) -> str:
        return f"Gpu({self.key})"


def releases() -> tuple[str, ...]:
    """Releases that have a catalogue, oldest first."""
    found: tuple[str, ...] | None = _derived.get(("", "releases"))
    if found is None:
        names = [n for n in os.listdir(DATA) if "." in n and not n.endswith(".json")]
        found = _derived["", "releases"] = tuple(sorted(names, key=lambda n: [int(p) for p in n.split(".")]))
    return found


def folder(release: str, name: str) -> str:
    """Where a release keeps a group of files of its own, such as its recipes. It need not exist."""
    return os.path.join(DATA, release, name)


def versions(release: str) -> dict[str, str]:
    """Versions of the packages that the release's tables were read from: ``{"bridge": "0.6.2", "core": "0.19.2"}``."""
    found: dict[str, str] = _load(release, "index")["versions"]
    return found


def sections(release: str) -> dict[str, str | None]:
    """Sections of ConfigContainer, each with the class that is made when a file does not name one (see ``Section.default``)."""
    result: dict[str, str | None] | None = _derived.get((release, "sections"))
    if result is None:
        result = _derived[release, "sections"] = {name: about[0] for name, about in _load(release, "index")["sections"].items()}
    return result


def section(release: str, name: str) -> Section:
    """One section. Raises KeyError for a name that is not in ``sections(release)``."""
    result = _sections.get((release, name))
    if result is None:
        about = _load(release, "index")["sections"][name]
        result = _sections[release, name] = Section(name, about, _load(release, name))
    return result


def field_sections(release: str) -> dict[str, tuple[str, ...]]:
    """Sections that have a field of that name, for every field name of the release (nested sections left out)."""
    result: dict[str, tuple[str, ...]] | None = _derived.get((release, "names"))
    if result is None:
        result = _derived[release, "names"] = {}
        for where, names in _load(release, "names"):
            result.update(dict.fromkeys(names, tuple(where)))
    return result


def precision_presets(release: str) -> dict[str, dict[str, Any]]:
    """Every field that a ``mixed_precision`` preset sets, by the preset's name in both spellings, ``bf16_mixed`` and ``bf16-mixed``.

    Bridge takes mixtures of the two as well: look up ``name.replace("-", "_")``.
    """
    result: dict[str, dict[str, Any]] | None = _derived.get((release, "presets"))
    if result is None:
        content = _load(release, "presets")
        result = _derived[release, "presets"] = {}
        for name, changed in content["presets"].items():
            result[name] = result[name.replace("_", "-")] = {**content["base"], **changed}
    return result


def history() -> dict[str, dict[str, list[Any]]]:
    """Fields and classes that a later release calls otherwise or has no more; see ``lclint.catalog.history``."""
    result: dict[str, dict[str, list[Any]]] = _read(os.path.join(DATA, "history.json"))
    return result


def gpus() -> dict[str, Gpu]:
    """Known GPUs by the lower-case names that users type; aliases lead to the same record (its ``key`` is the main name)."""
    result: dict[str, Gpu] | None = _derived.get(("", "gpus"))
    if result is None:
        result = _derived["", "gpus"] = {}
        for key, content in _read(os.path.join(DATA, "gpus.json")).items():
            gpu = Gpu(key, content)
            result.update(dict.fromkeys((key, *content["aliases"]), gpu))
    return result


def _load(release: str, name: str) -> Any:
    try:
        return _read(os.path.join(DATA, release, f"{name}.json"))
    except FileNotFoundError:
        raise UsageError(f"nothing is known about Megatron Bridge {release}", hint=f"known: {', '.join(releases())}") from None


def _read(path: str) -> Any:
    content = _files.get(path)
    if content is None:
        with open(path, encoding="utf-8") as file:
            content = _files[path] = json.load(file)
    return content
