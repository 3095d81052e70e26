"""The published recipes of a Bridge release, as the configs that they make; imported only when one is named.

A recipe is kept as what makes it out of another recipe of its family, and of what its classes mostly hold
(``tools/harvesting/pack_recipes.py`` writes and describes the files). What is returned is shared: do not change it.
"""

from __future__ import annotations

import json
import os
from typing import Any

from lclint.catalog import tables
from lclint.core.errors import UsageError

FOLDER = "recipes"
SUFFIX = "_config"
TEMPLATE, CHANGED = "=", "~"
SUGGESTIONS = 5
COLUMNS = 7
# What people call a model, where that is no part of its recipes' names.
SHORT = {"dsv2": "deepseek_v2", "dsv3": "deepseek_v3", "dsv4": "deepseek_v4", "deepseekv3": "deepseek_v3"}

_value = json.JSONDecoder().raw_decode
_opened: dict[str, Recipes] = {}


class Recipe:
    """What is known of a recipe without its values.

    ``module`` defines it. ``gpu`` and ``gpus`` are what its name says, None where it says nothing: they are where NVIDIA ran it, not
    where the user does. ``task`` is pretrain, sft or peft. ``approximate`` marks a recipe whose model config was not at hand in full
    when it was harvested, so that sizes of the model may be off.
    """

    __slots__ = ("name", "family", "module", "gpu", "gpus", "task", "model_class", "approximate")

    def __init__(self, name: str, row: list[Any], modules: list[str], classes: list[str]) -> None:
        self.name = name
        self.family: str = row[0]
        self.module = modules[row[1]]
        self.gpu: str | None = row[2]
        self.gpus: int | None = row[3]
        self.task: str | None = row[4]
        self.model_class = classes[row[5]]
        self.approximate = bool(row[6])


class Lines:
    """A JSON file whose entries begin on lines of their own, and of which only those that are asked for are parsed."""

    def __init__(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self._lines: list[str] = []

    def by_key(self, key: str) -> Any:
        """The value of a mapping's entry, None when there is none."""
        start = f'\n"{key}":'
        found = self.text.find(start)
        return None if found < 0 else _value(self.text, found + len(start))[0]

    def by_number(self, number: int) -> Any:
        """An item of a list."""
        if not self._lines:
            self._lines = self.text.split("\n")
        return _value(self._lines[number + 1])[0]


class Recipes:
    """The recipes of one folder; of its files only what is asked for is read."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.index = self._open("index")
        self._templates: Lines | None = None
        self._fields: dict[int, dict[str, Any]] = {}
        self._families: dict[str, Lines] = {}
        self._loaded: dict[str, dict[str, Any]] = {}

    def find(self, name: str) -> str | None:
        """The full name for a name, an older name that Bridge keeps for it, or either without ``_config``; None for none of them."""
        if not name.replace("_", "").replace(".", "").isalnum():
            return None
        for each in (name, name + SUFFIX):
            found = self.index.by_key(each)
            if found.__class__ is str:
                return str(found)
            if found.__class__ is list and len(found) == COLUMNS:
                return each
        return None

    def names(self) -> tuple[list[str], list[str]]:
        """Full names, and the further names that lead to them."""
        content = json.loads(self.index.text)
        return list(content["recipes"]), list(content["aliases"])

    def every(self) -> list[Recipe]:
        """All entries of the index."""
        content = json.loads(self.index.text)
        return [Recipe(name, row, content["modules"], content["classes"]) for name, row in content["recipes"].items()]

    def about(self, full_name: str) -> Recipe:
        """The recipe's entry in the index."""
        content = json.loads(self.index.text)
        return Recipe(full_name, content["recipes"][full_name], content["modules"], content["classes"])

    def load(self, full_name: str) -> dict[str, Any]:
        """The recipe's values, nested as in the dump that Bridge would write of it."""
        found = self._loaded.get(full_name)
        if found is None:
            found = self._loaded[full_name] = self._whole(self._packed(full_name))
        return found

    def _packed(self, full_name: str) -> dict[str, Any]:
        family = self.index.by_key(full_name)[0]
        if family not in self._families:
            self._families[family] = self._open(family)
        steps = []
        base: str | None = full_name
        while base is not None:
            base, packed = self._families[family].by_key(base)
            steps.append(packed)
        result: dict[str, Any] = steps.pop()
        while steps:
            result = _changed(result, steps.pop())
        return result

    def _whole(self, value: Any) -> Any:
        if value.__class__ is list:
            return [self._whole(item) for item in value]
        if value.__class__ is not dict:
            return value
        template = value.get(TEMPLATE)
        if template is None:
            # JSON has text for keys only; the dumps have numbers as keys of id2label
            return {int(key) if key.isdigit() else key: self._whole(item) for key, item in value.items()}
        whole = dict(self._template(template))
        for key, item in value.items():
            if key != TEMPLATE:
                whole[key] = self._whole(item)
        return whole

    def _template(self, number: int) -> dict[str, Any]:
        fields = self._fields.get(number)
        if fields is None:
            if self._templates is None:
                self._templates = self._open("templates")
            base, own, gone = self._templates.by_number(number)
            fields = {} if base is None else dict(self._template(base))
            for key in gone:
                del fields[key]
            for key, value in own.items():
                fields[key] = self._whole(value)
            self._fields[number] = fields
        return fields

    def _open(self, name: str) -> Lines:
        return Lines(os.path.join(self.folder, f"{name}.json"))


def _changed(old: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """``old`` with changes made: ``~`` marks changes inside of a mapping and lists the keys that go."""
    new = dict(old)
    for key in changes[CHANGED]:
        del new[key]
    for key, value in changes.items():
        if key != CHANGED:
            new[key] = _changed(old[key], value) if value.__class__ is dict and CHANGED in value else value
    return new


def names(release: str) -> list[str]:
    """Every name that a recipe of the release has: full names first. Raises UsageError for a release without recipes."""
    full, further = _open(release).names()
    return full + further


def every(release: str) -> list[Recipe]:
    """What is known of every recipe of the release, by its full name. Raises UsageError for a release without recipes."""
    return sorted(_open(release).every(), key=lambda recipe: recipe.name)


def words(name: str) -> list[str]:
    """The words of a name as recipes spell them: what people shorten is written out."""
    spelled = "_".join(SHORT.get(part, part) for part in name.lower().replace("-", "_").removesuffix(SUFFIX).split("_"))
    return [part for part in spelled.split("_") if part]


def about(release: str, name: str) -> Recipe:
    """What is known of a recipe without its values. Raises UsageError for a name that no recipe has."""
    recipes = _open(release)
    return recipes.about(_find(recipes, release, name))


def load(release: str, name: str) -> dict[str, Any]:
    """The values of a recipe, nested as in the dump that Bridge writes of it (dtypes, enums and classes by ``_target_``).

    Raises UsageError for a name that no recipe has, with the names that come near.
    """
    recipes = _open(release)
    return recipes.load(_find(recipes, release, name))


def _open(release: str) -> Recipes:
    found = _opened.get(release)
    if found is None:
        folder = tables.folder(release, FOLDER)
        if not os.path.isdir(folder):
            known = [each for each in tables.releases() if os.path.isdir(tables.folder(each, FOLDER))]
            raise UsageError(f"no recipes of Megatron Bridge {release} are known", hint=f"there are recipes of {', '.join(known)}")
        found = _opened[release] = Recipes(folder)
    return found


def _find(recipes: Recipes, release: str, name: str) -> str:
    found = recipes.find(name)
    if found is None:
        full, further = recipes.names()
        near = _near(name, [*full, *further])
        hint = f"did you mean {', '.join(near)}?" if near else f"known are the recipes of Megatron Bridge {release}, by the names of their functions"
        raise UsageError(f"unknown recipe '{name}'", hint=hint)
    return found


def _near(name: str, all_names: list[str]) -> list[str]:
    """Names that hold every part of ``name``, the shortest first; else those that it may be a slip of."""
    import difflib

    parts = words(name)
    wanted = "_".join(parts)
    known = {each.removesuffix(SUFFIX) for each in all_names}
    holding = [each for each in known if parts and all(part in each for part in parts)]
    near = sorted(holding, key=lambda each: (not each.startswith(wanted), len(each), each))
    return near[:SUGGESTIONS] or difflib.get_close_matches(wanted, sorted(known), SUGGESTIONS, 0.75)
