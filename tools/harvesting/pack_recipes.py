"""Write the dumps of the recipes as the compact files that ``lclint.catalog.recipes`` loads.

``index.json``: ``recipes`` (full name -> [family, module, gpu, gpus, task, model class, approximate]), ``aliases`` (further name -> full name),
and the lists that module and model class count in. ``templates.json``: for each class the value that most of its objects have in each
field, as [base, own fields, fields of base not here] over another template. ``<family>.json``: full name -> [base, values], where
base is another recipe of the family. In values an object is ``{"=": template, fields that differ}``; over a base, ``{"~": [keys that
go], ...}`` changes a mapping, and everything else replaces what was there.

A name that two recipes share goes to the one that Bridge's launcher takes for it; the other is ``<package>.<name>``.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

from harvesting import pack

Json = Any
TEMPLATE, CHANGED = "=", "~"
RESERVED = ("index", "templates")


def key_of(value: Json) -> str:
    """Text that is the same for the same value only: 1, 1.0 and true differ, as do the keys 1 and "1"."""
    if isinstance(value, dict):
        return "{" + ",".join(sorted(f"{key!r}:{key_of(item)}" for key, item in value.items())) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(key_of, value)) + "]"
    return repr(value)


def size(value: Json) -> int:
    """Bytes of the value as JSON."""
    return len(json.dumps(value, separators=(",", ":")))


class Templates:
    """What the objects of each class mostly hold. Objects of one class with other fields have a template of their own."""

    def __init__(self, configs: list[Json]) -> None:
        seen: dict[tuple[str, ...], dict[str, dict[str, list[Any]]]] = {}
        for config in configs:
            for item in objects(config):
                fields = seen.setdefault(self._shape(item), {})
                for name, value in item.items():
                    fields.setdefault(name, {}).setdefault(key_of(value), [0, value])[0] += 1
        shapes = sorted(seen, key=lambda shape: (-sum(n for n, _ in seen[shape]["_target_"].values()), shape))
        self.numbers = {shape: number for number, shape in enumerate(shapes)}
        self.values: list[dict[str, Json]] = []
        for shape in shapes:
            most = {name: min(values.items(), key=lambda item: (-item[1][0], item[0])) for name, values in seen[shape].items()}
            self.values.append({name: value for name, (_, (_, value)) in sorted(most.items())})
        self.keys = [{name: key_of(value) for name, value in values.items()} for values in self.values]

    @staticmethod
    def _shape(item: dict[str, Json]) -> tuple[str, ...]:
        return (item["_target_"], *sorted(item))

    def packed(self, value: Json) -> Json:
        """The value with every object as a difference to its template."""
        if isinstance(value, list):
            return [self.packed(item) for item in value]
        if not isinstance(value, dict):
            return value
        if not is_object(value):
            return {str(key): self.packed(item) for key, item in value.items()}
        number = self.numbers[self._shape(value)]
        keys = self.keys[number]
        return {TEMPLATE: number, **{name: self.packed(item) for name, item in value.items() if keys[name] != key_of(item)}}

    def file(self) -> Json:
        """The content of ``templates.json``: each over the earlier one that makes it shortest."""
        packed = [{name: self.packed(value) for name, value in values.items()} for values in self.values]
        keys = [{name: key_of(value) for name, value in values.items()} for values in packed]
        rows = []
        for number, own in enumerate(packed):
            choices: list[list[Json]] = [[None, own, []]]
            for base in range(number):
                differing = {name: value for name, value in own.items() if keys[base].get(name) != keys[number][name]}
                choices.append([base, differing, [name for name in packed[base] if name not in own]])
            rows.append(min(choices, key=size))
        return rows


def is_object(value: Json) -> bool:
    """Whether a mapping is an object of some class."""
    return isinstance(value, dict) and isinstance(value.get("_target_"), str)


def objects(value: Json) -> Iterator[dict[str, Json]]:
    """Every object in a config, the config itself among them."""
    if isinstance(value, dict):
        if is_object(value):
            yield value
        for item in value.values():
            yield from objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from objects(item)


def changes(old: dict[str, Json], new: dict[str, Json]) -> dict[str, Json]:
    """What makes the packed mapping ``new`` out of ``old``."""
    found: dict[str, Json] = {CHANGED: [name for name in old if name not in new]}
    for name, value in new.items():
        if name in old and key_of(old[name]) == key_of(value):
            continue
        before = old.get(name)
        found[name] = value
        if isinstance(value, dict) and isinstance(before, dict) and before.get(TEMPLATE) == value.get(TEMPLATE):
            found[name] = min(changes(before, value), value, key=size)
    return found


def tree(packed: dict[str, Json]) -> Json:
    """Recipes of one family, each over the one among those before it that makes it shortest: a minimum spanning tree."""
    left = sorted(packed)
    first = min(left, key=lambda name: (size(packed[name]), name))
    rows = {first: [None, packed[first]]}
    left.remove(first)
    best = {name: (size(packed[name]), "", packed[name]) for name in left}
    newest = first
    while left:
        for name in left:
            over = changes(packed[newest], packed[name])
            best[name] = min(best[name], (size(over), newest, over), key=lambda choice: choice[:2])
        newest = min(left, key=lambda name: (best[name][0], name))
        left.remove(newest)
        rows[newest] = [best[newest][1] or None, best[newest][2]]
    return {name: rows[name] for name in sorted(rows)}


def full_names(raw: Json) -> dict[tuple[str, str], str]:
    """The full name of each recipe by module and function."""
    library = "megatron.bridge.recipes."
    groups: dict[str, list[str]] = {}
    for record in raw["recipes"]:
        groups.setdefault(record["name"], []).append(record["module"])
    result: dict[tuple[str, str], str] = {}
    for name, modules in groups.items():
        # the order in which the launcher of Bridge's repository looks: what the library exports, its H100 modules, the benchmarks
        modules.sort(key=lambda m: (raw["exported"].get(name) != [m, name], not (m.startswith(library) and ".h100." in m), m.startswith(library), m))
        for place, module in enumerate(modules):
            full = name if place == 0 else f"{module.split('.')[2]}.{name}"
            if full in result.values():
                raise SystemExit(f"harvest: two recipes would be called {full}")
            result[module, name] = full
    return result


def aliases(raw: Json, full: dict[tuple[str, str], str]) -> dict[str, str]:
    """Further names of recipes: what the library exports, then names that every module means the same recipe by."""
    taken = set(full.values())
    bound: dict[str, set[str]] = {}
    for name, module, function in raw["bound"]:
        if (module, function) in full:
            bound.setdefault(name, set()).add(full[module, function])
    found = {name: next(iter(targets)) for name, targets in bound.items() if len(targets) == 1}
    for name, (module, function) in raw["exported"].items():
        if name != function and (module, function) in full:
            found[name] = full[module, function]
    return {name: found[name] for name in sorted(found) if name not in taken}


def write(raw: Json, configs: list[Json], out: pathlib.Path) -> dict[str, Json]:
    """Write the files below ``out`` and remove what is no longer one of them; gives the configs by full name.

    ``raw`` is what ``harvesting.recipes`` found, ``configs`` are its dumps as lclint reads them, in the same order.
    """
    templates = Templates(configs)
    full = full_names(raw)
    modules = sorted({record["module"] for record in raw["recipes"]})
    classes = sorted({record["model_class"] for record in raw["recipes"]})
    rows: dict[str, Json] = {}
    families: dict[str, dict[str, Json]] = {}
    result: dict[str, Json] = {}
    for record, config in zip(raw["recipes"], configs, strict=True):
        name = full[record["module"], record["name"]]
        model, approximate = classes.index(record["model_class"]), int(record["approximate"])
        family = record["module"].split(".")[3]
        rows[name] = [family, modules.index(record["module"]), record["gpu"], record["gpus"], record["task"], model, approximate]
        families.setdefault(family, {})[name] = templates.packed(config)
        result[name] = config
    files = {family: tree(packed) for family, packed in families.items()}
    assert not files.keys() & set(RESERVED)
    files["index"] = {"modules": modules, "classes": classes, "recipes": dict(sorted(rows.items())), "aliases": aliases(raw, full)}
    files["templates"] = templates.file()
    for name, content in files.items():
        pack.write(out / f"{name}.json", content)
    for path in out.glob("*.json"):
        if path.stem not in files:
            path.unlink()
    return result
