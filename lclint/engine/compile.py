"""Compiles rule files into the source of one Python module.

The module holds a function per expression and message and one tuple per rule, so that a check imports it in a few
milliseconds instead of parsing two hundred YAML files. ``load`` in ``lclint.engine.rules`` gives the tuples names.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable
from typing import Any

from lclint.core.errors import RuleError
from lclint.engine import expression, rulefile
from lclint.engine.operations import FUNCTIONS

HEADER = '''"""Generated from the rule files by lclint.engine.compile; do not edit."""
from lclint.core.states import UNKNOWN, State
from lclint.engine.operations import *
from lclint.engine.operations import FUNCTIONS
'''


class Compiler:
    """Collects functions and rule tuples; ``source()`` is the module."""

    def __init__(self, check_name: Callable[[str], str | None], needs_of: Callable[[str], Iterable[str]]) -> None:
        self.check_name = check_name
        self.needs_of = needs_of
        self.functions: dict[str, str] = {}
        self.known_functions = {name: bounds[:2] for name, bounds in FUNCTIONS.items()}
        self.rules: list[str] = []
        self.bundles: list[str] = []
        self.bundle_names: set[str] = set()
        self.paths: dict[str, str] = {}

    def source(self) -> str:
        bodies = "".join(body.replace("def _(", f"def {name}(", 1) for body, name in self.functions.items())
        return f"{HEADER}\n{bodies}\nRULES = (\n{''.join(self.rules)})\n\nBUNDLES = {{\n{''.join(self.bundles)}}}\n"

    def add_bundle(self, file: rulefile.RuleFile) -> None:
        """Compile one bundle of changes. Raises RuleError."""
        name = file.data["name"]
        if name in self.bundle_names:
            raise file.error(f"there are two bundles called {name}", "name")
        names: set[str] = set()
        self.bundles.append(f"    {name!r}: {self._fix(file, {'applicability': 'safe', **file.data}, (), names)},\n")
        # only now: a bundle cannot join itself
        self.bundle_names.add(name)

    def add_rule(self, file: rulefile.RuleFile) -> None:
        """Compile one rule; bundles must have been added before. Raises RuleError."""
        data = file.data
        for key in ("name", "code"):
            if data[key] in self.paths:
                raise file.error(f"{key} {data[key]} is taken by {self.paths[data[key]]}", key)
            self.paths[data[key]] = file.path
        shared: set[str] = set()
        each = "each" in data
        where = self._condition(file, data.get("where"), ("where",), shared, False)
        releases = self._releases(file, data.get("releases"))
        items = self._value(file, data["each"], ("each",), shared, False) if each else "None"
        every = set(shared)
        cases = []
        ids: set[str] = set()
        fixes_used: set[str] = set()
        for number, case in enumerate(data["cases"]):
            if case["id"] in ids:
                raise file.error(f"there are two cases called {case['id']}", "cases", number, "id")
            ids.add(case["id"])
            names: set[str] = set(shared)
            when = self._condition(file, case["when"], ("cases", number, "when"), names, each)
            places = case["at"] if isinstance(case["at"], list) else [case["at"]]
            at = "".join(self._template(file, place, ("cases", number, "at"), set(), each) + ", " for place in places)
            for place in places:
                self._check_place(file, place, ("cases", number, "at"))
                if "{" not in place:
                    every.add(place.split("[")[0].removesuffix("#key"))
            message = self._template(file, case["message"], ("cases", number, "message"), set(), each)
            for fix in case.get("fixes", []):
                if fix not in data.get("fixes", {}):
                    raise file.error(f"no fix is called {fix}{_meant(fix, data.get('fixes', {}))}", "cases", number, "fixes")
                fixes_used.add(fix)
            cases.append(
                f"({case['id']!r}, {when}, {case['severity']!r}, {case['impact']!r}, {case.get('strikes')!r}, {' '.join(case.get('why', '').split())!r}, "
                f"({at}), {message}, {tuple(case.get('fixes', ()))!r}, {tuple(sorted(names))!r})"
            )
            every |= names
        fixes = []
        for name, fix in data.get("fixes", {}).items():
            if name not in fixes_used:
                raise file.error(f"no case offers the fix {name}", "fixes", name)
            fixes.append(f"{name!r}: {self._fix(file, fix, ('fixes', name), set(), each)}")
        fields = self._fields(every)
        reason = " ".join(data["why"].strip().split("\n\n")[0].split())
        self.rules.append(
            f"    ({data['name']!r}, {data['code']!r}, {data['title']!r}, {reason!r}, {releases}, {where}, {items}, "
            f"{data.get('report') == 'all'}, ({''.join(case + ', ' for case in cases)}), {{{', '.join(fixes)}}}, {tuple(sorted(fields))!r}),\n"
        )

    def _fields(self, names: set[str]) -> set[str]:
        """The fields behind those names, through every fact: the index by which a check skips rules."""
        found: set[str] = set()
        seen: set[str] = set()
        todo = list(names)
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            behind = list(self.needs_of(name))
            if behind:
                todo += behind
            elif not name.startswith(("gpu.", "cluster.", "item", "index")):
                found.add(name.partition(".")[2] if name.startswith(("written.", "user.")) else name)
        return found

    def _function(self, body: str) -> str:
        """The name of the function with that body (``def _(g): ...``); equal ones are shared."""
        return self.functions.setdefault(body, f"f{len(self.functions)}")

    def _translator(self, each: bool) -> expression.Translator:
        def check(name: str) -> str | None:
            if name.split(".")[0] in ("item", "index"):
                return None if each else f"{name} is known in rules with each: only"
            return self.check_name(name)

        return expression.Translator(check, self.known_functions)

    def _compiled(self, file: rulefile.RuleFile, text: str, where: tuple[str | int, ...], names: set[str], each: bool, kind: str) -> str:
        translator = self._translator(each)
        try:
            body = translator.message("_", text) if kind == "message" else translator.function("_", text, kind == "truth")
        except expression.ExpressionError as error:
            lines = text.split("\n")
            line = lines[min(error.line, len(lines) - 1)]
            # of a very long line only what stands around the fault
            first = max(min(error.column, len(line)) - 80, 0)
            shown = f"\n    {line[first : first + 120]}\n    {' ' * (min(error.column, len(line)) - first)}^"
            raise file.error(f"{'.'.join(str(part) for part in where)}: {error.message}{shown}", *where, below=error.line) from None
        names |= translator.names
        return self._function(body)

    def _condition(self, file: rulefile.RuleFile, value: Any, where: tuple[str | int, ...], names: set[str], each: bool) -> str:
        if value is None or value is True:
            return "None"
        if value is False:
            return self._function("def _(g):\n    return False\n")
        return self._compiled(file, value, where, names, each, "truth")

    def _releases(self, file: rulefile.RuleFile, value: str | None) -> str:
        """None for a rule of the newest release alone, True for one of all, else the condition on ``bridge.release``."""
        if value is None or value == "any":
            return repr(value == "any" or None)
        names: set[str] = set()
        condition = self._condition(file, value, ("releases",), names, False)
        if names != {"bridge.release"}:
            raise file.error("releases: it is any, or a condition on bridge.release alone", "releases")
        return condition

    def _value(self, file: rulefile.RuleFile, value: str, where: tuple[str | int, ...], names: set[str], each: bool) -> str:
        return self._compiled(file, value, where, names, each, "value")

    def _template(self, file: rulefile.RuleFile, value: str, where: tuple[str | int, ...], names: set[str], each: bool) -> str:
        """A string, or the name of the function that fills it."""
        if "{" not in value and "}" not in value:
            return repr(value)
        return self._compiled(file, value, where, names, each, "message")

    def _check_place(self, file: rulefile.RuleFile, place: str, where: tuple[str | int, ...]) -> None:
        name = place.split("[")[0].removesuffix("#key")
        if "{" in name or name == "file" or ("." not in name and self.check_name(name) is None):
            return
        problem = self.check_name(name)
        if problem is not None:
            raise file.error(f"{'.'.join(str(part) for part in where)}: {problem}", *where)

    def _literal(self, file: rulefile.RuleFile, value: Any, where: tuple[str | int, ...], names: set[str], each: bool) -> str:
        """The value that a fix sets: a constant, or ``(function,)`` for ``{=expression}`` and templates."""
        if isinstance(value, str):
            if value.startswith("{=") and value.endswith("}"):
                return f"({self._compiled(file, value[2:-1], where, names, each, 'value')},)"
            template = self._template(file, value, where, names, each)
            return template if template.startswith(("'", '"')) else f"({template},)"
        if value is None or (isinstance(value, int) and abs(value) < expression.LARGEST) or (isinstance(value, float) and math.isfinite(value)):
            return repr(value)
        if isinstance(value, list):
            return "[" + ", ".join(self._literal(file, item, where, names, each) for item in value) + "]"
        raise file.error(f"{'.'.join(str(part) for part in where)}: a fix sets finite numbers, texts, true, false, null and lists of them", *where)

    def _changes(self, file: rulefile.RuleFile, fix: dict[str, Any], key: str, where: tuple[str | int, ...], names: set[str], each: bool) -> str:
        parts = []
        for field, value in fix.get(key, {}).items():
            here = (*where, key, field)
            if key != "env":
                self._check_place(file, field, here)
            if key == "replace":
                literal = f"({self._literal(file, value[0], here, names, each)}, {self._literal(file, value[1], here, names, each)})"
            else:
                literal = self._literal(file, value, here, names, each)
            parts.append(f"({self._template(file, field, here, names, each)}, {literal}), ")
        return "(" + "".join(parts) + ")"

    def _fix(self, file: rulefile.RuleFile, fix: dict[str, Any], where: tuple[str | int, ...], names: set[str], each: bool = False) -> str:
        for bundle in fix.get("also", []):
            if bundle not in self.bundle_names:
                raise file.error(f"no bundle is called {bundle}{_meant(bundle, self.bundle_names)}", *where, "also")
        for field in fix.get("search", []):
            self._check_place(file, field, (*where, "search"))
        changed = {"set", "remove", "rename", "append", "discard", "replace", "env", "action", "search", "ladder", "levers"} & set(fix)
        if not changed:
            raise file.error("the fix changes nothing: it needs set, remove, rename, append, discard, replace, env, search, ladder or action", *where)
        remove = "".join(self._template(file, field, (*where, "remove"), names, each) + ", " for field in fix.get("remove", []))
        lists = "".join(
            f"({operation!r}, {self._changes(file, fix, operation, where, names, each)}), "
            for operation in ("append", "discard", "replace")
            if operation in fix
        )
        action = self._template(file, fix["action"], (*where, "action"), names, each) if "action" in fix else "None"
        return (
            f"({self._template(file, fix['title'], (*where, 'title'), names, each)}, {fix['applicability']!r}, "
            f"{self._condition(file, fix.get('when'), (*where, 'when'), names, each)}, "
            f"{self._changes(file, fix, 'set', where, names, each)}, ({remove}), {self._changes(file, fix, 'rename', where, names, each)}, ({lists}), "
            f"{self._changes(file, fix, 'env', where, names, each)}, {action}, {tuple(fix.get('also', ()))!r}, {tuple(fix.get('search', ()))!r}, "
            f"{self._ladder(file, fix['ladder'], (*where, 'ladder'), names, each) if 'ladder' in fix else 'None'}, "
            f"({''.join(self._lever(file, lever, (*where, 'levers', number), names) for number, lever in enumerate(fix.get('levers', ())))}))"
        )

    def _ladder(self, file: rulefile.RuleFile, ladder: dict[str, Any], where: tuple[str | int, ...], names: set[str], each: bool) -> str:
        """What to take levers from, how far each carries, when it is enough, and what the title says then."""
        if ladder["levers"] not in self.bundle_names:
            raise file.error(f"no bundle is called {ladder['levers']}{_meant(ladder['levers'], self.bundle_names)}", *where, "levers")
        return (
            f"({ladder['levers']!r}, {self._value(file, ladder['gain'], (*where, 'gain'), names, each)}, "
            f"{self._condition(file, ladder['until'], (*where, 'until'), names, each)}, "
            f"{self._template(file, ladder.get('then', ''), (*where, 'then'), names, each)})"
        )

    def _lever(self, file: rulefile.RuleFile, lever: dict[str, Any], where: tuple[str | int, ...], names: set[str]) -> str:
        return f"({float(lever['cost'])!r}, {self._fix(file, lever, where, names)}), "


def _meant(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(names), 1, 0.6)
    return f"; did you mean {close[0]}?" if close else ""


def compile_directories(folders: list[str], bundles: Iterable[str] = ()) -> str:
    """The source of the module for all rules under those folders; ``bundles`` are names that fixes may refer to besides their own.

    Raises RuleError for the first rule file that is not allowed.
    """
    from lclint.engine import names

    compiler = Compiler(names.check, names.needs_of)
    found = [rulefile.find(folder) for folder in folders]
    for _, bundle_files in found:
        for path in bundle_files:
            compiler.add_bundle(rulefile.read_bundle(path))
    compiler.bundle_names.update(bundles)
    for paths, _ in found:
        for path in paths:
            compiler.add_rule(rulefile.read(path))
    if not compiler.rules:
        raise RuleError("no rule found", folders[0])
    return compiler.source()


def compile_directory(folder: str) -> str:
    """``compile_directories`` for one folder."""
    return compile_directories([folder])
