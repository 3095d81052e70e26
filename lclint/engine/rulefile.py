"""Reads one rule file: YAML, checked by the rule schema, each fault with its file and line.

Not on the path of an ordinary check, which runs compiled rules.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable
from typing import Any

from lclint.core.errors import InputError, RuleError
from lclint.sources import document, files

LARGEST = 256 * 1024

# in a wheel rules/ and schemas/ lie inside the package, in a checkout beside it
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def shipped(folder: str) -> str:
    """The path of the shipped ``rules`` or ``schemas`` folder."""
    inside = os.path.join(_PACKAGE, folder)
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(_PACKAGE), folder)


class RuleFile:
    """A rule file's data and where its parts stand."""

    def __init__(self, path: str, source: document.Document) -> None:
        self.path = path
        self.source = source
        self.data: dict[str, Any] = source.data

    def line(self, *where: str | int) -> int | None:
        """The 1-based line of the innermost part of that path that the file has."""
        for length in range(len(where), 0, -1):
            span = self.source.span(tuple(where[:length]), "value") or self.source.span(tuple(where[:length]), "key")
            if span is not None:
                return self.source.position(span[0])[0]
        return None

    def error(self, message: str, *where: str | int, below: int = 0) -> RuleError:
        """The error at that part; ``below`` is the line within a text that has several."""
        line = self.line(*where) or 1
        node = self.source.node(tuple(where)) if below else None
        if node is not None and node.style in ("|", ">"):
            # the text of a block begins on the line after its key
            line += 1
        return RuleError(message, self.path, line + below)


def read(path: str) -> RuleFile:
    """Read and validate one rule file.

    Raises RuleError when it is not YAML or does not follow the schema.
    """
    return _read(path, "rule")


def read_bundle(path: str) -> RuleFile:
    """Read one file of ``rules/bundles``: changes that belong together, named for fixes to refer to."""
    return _read(path, "bundle")


def _read(path: str, kind: str) -> RuleFile:
    try:
        data = files.read(path)
        if len(data) > LARGEST:
            raise InputError(f"is larger than {LARGEST // 1024} KiB", path, hint="this is not a rule file")
        source = document.load(data, path, "safe_load")
    except InputError as error:
        raise RuleError(error.message, error.path, error.line, error.hint) from None
    result = RuleFile(path, source)
    if not isinstance(source.data, dict):
        raise result.error("a rule file is a mapping with the keys name, code, title, cases, ...")
    for problem in source.problems:
        raise RuleError(problem.message, path, source.position(problem.start)[0])
    _refuse_repeated_keys(source)
    _refuse_huge_numbers(result)
    # a hostile file can have a hundred thousand faults: the deepest of the first ones says enough
    faults = itertools.islice(_validator(kind).iter_errors(source.data), 50)
    fault = next(iter(sorted(faults, key=lambda e: (-len(e.absolute_path), str(e.absolute_path)))), None)
    if fault is not None:
        where = ".".join(str(part) for part in fault.absolute_path) or "the rule"
        stray = _stray_key(fault)
        if stray is not None:
            raise result.error(f"{where}: there is no key {stray}{_near(stray, fault.schema['properties'])}", *fault.absolute_path, stray)
        if fault.validator == "minItems":
            raise result.error(f"{where}: needs at least {fault.validator_value} entries, has {len(fault.instance)}", *fault.absolute_path)
        raise result.error(f"{where}: {_short(fault.message)}", *fault.absolute_path)
    return result


def _stray_key(fault: Any) -> str | None:
    """The first key that the schema does not know, where that is the fault."""
    if fault.validator != "additionalProperties" or not isinstance(fault.instance, dict):
        return None
    return next((str(key) for key in fault.instance if key not in fault.schema.get("properties", {})), None)


def _near(word: str, words: Iterable[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, list(words), 1, 0.6)
    return f"; did you mean {close[0]}?" if close else f" (there are {', '.join(words)})"


def _refuse_repeated_keys(source: document.Document) -> None:
    """``yaml.safe_load`` lets the last of two equal keys win: in a rule one of them would be lost without a word."""
    todo = [source.root]
    while todo:
        node = todo.pop()
        if node is None:
            continue
        seen: set[object] = set()
        for key, value in node.pairs:
            if key.kind == "scalar" and key.value != "<<":
                if key.value in seen:
                    raise RuleError(f"the key {key.value} stands here twice", source.path, source.position(key.start)[0])
                seen.add(key.value)
            todo.append(value)
        todo += node.items


def _refuse_huge_numbers(file: RuleFile) -> None:
    """No rule needs more than 64 bits, and Python does not print integers of thousands of digits."""
    todo: list[tuple[Any, tuple[str | int, ...]]] = [(file.data, ())]
    while todo:
        value, where = todo.pop()
        if isinstance(value, int) and value.bit_length() > 64:
            raise file.error("a number of more than 64 bits", *where)
        if isinstance(value, (dict, list)):
            todo += [(item, (*where, key)) for key, item in (value.items() if isinstance(value, dict) else enumerate(value))]


def _short(message: str) -> str:
    return message if len(message) <= 200 else message[:120] + " ... " + message[-70:]


_validators: dict[str, Any] = {}


def _validator(kind: str) -> Any:
    if kind not in _validators:
        import jsonschema

        with open(os.path.join(shipped("schemas"), "rule.schema.json"), encoding="utf-8") as handle:
            schema = json.load(handle)
        if kind == "bundle":
            fix = schema["$defs"]["fix"]
            lever = {**fix, "required": [*fix["required"], "cost"], "properties": {**fix["properties"], "cost": {"type": "number", "minimum": 0}}}
            for key in ("search", "ladder", "rename", "action"):
                # what is combined with other levers has to be plain changes
                del lever["properties"][key]
            fix["required"] = ["name", "title"]
            del fix["properties"]["applicability"]
            del fix["properties"]["ladder"]
            fix["properties"]["name"] = {"$ref": "#/$defs/name"}
            fix["properties"]["levers"] = {"type": "array", "minItems": 1, "maxItems": 60, "items": lever}
            schema = {"$schema": schema["$schema"], "$defs": schema["$defs"], "$ref": "#/$defs/fix"}
        _validators[kind] = jsonschema.Draft202012Validator(schema)
    return _validators[kind]


def find(folder: str) -> tuple[list[str], list[str]]:
    """The rule files and the bundle files under a folder, sorted.

    Raises RuleError when the folder does not exist or holds no rule.
    """
    if not os.path.isdir(folder):
        raise RuleError("no such folder of rules", folder, hint="check the path")
    rules: list[str] = []
    bundles: list[str] = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        wanted = bundles if os.path.basename(here) == "bundles" else rules
        wanted += [os.path.join(here, name) for name in sorted(names) if name.endswith((".yaml", ".yml"))]
    if not rules and not bundles:
        raise RuleError("this folder holds no rule file (*.yaml)", folder, hint="name the folder with your rules")
    return rules, bundles
