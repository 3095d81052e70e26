"""Reads one settings file: TOML, every key and value checked, each fault with its line."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from lclint.core.errors import InputError, UsageError
from lclint.settings import keys
from lclint.settings.keys import OVERRIDES, PATHS, Fault
from lclint.sources import files

LARGEST = 1 << 20

Values = dict[str, Any]

# what was read last, by full path: one run asks for its report and for every file
_done: dict[str, tuple[str, bytes, SettingsFile | None]] = {}


class Override:
    """What one ``[[overrides]]`` says: ``paths`` are globs of files, ``fields`` pairs of a glob and a pattern of field paths."""

    __slots__ = ("number", "paths", "fields", "values")

    def __init__(self, number: int, paths: list[str], fields: list[tuple[str, str]], values: Values) -> None:
        self.number = number
        self.paths = paths
        self.fields = fields
        self.values = values


class SettingsFile:
    """A settings file: ``values`` by key, what differs by path, and where each thing stands.

    ``path`` is as messages show it, ``folder`` the absolute folder that its paths and globs are relative to.
    """

    __slots__ = ("path", "folder", "values", "overrides", "_text", "_top")

    def __init__(self, path: str, folder: str, text: str, top: tuple[str, ...]) -> None:
        self.path = path
        self.folder = folder
        self.values: Values = {}
        self.overrides: list[Override] = []
        self._text = text
        self._top = top

    def line(self, *where: str | int) -> int:
        """The 1-based line of a key, or of a part of its value that stands behind it."""
        lines = self._text.split("\n")
        wanted = (*self._top, *where)
        best, best_line = 0, 1
        for path, number in _key_lines(lines):
            common = 0
            while common < min(len(path), len(wanted)) and path[common] == wanted[common]:
                common += 1
            if common == len(path) and common > best:
                best, best_line = common, number
        if best < len(wanted):
            rest = str(wanted[best])
            pattern = re.compile(rf"(?<![\w./-]){re.escape(rest)}(?![\w./-])")
            for number in range(best_line, len(lines) + 1):
                if pattern.search(lines[number - 1]):
                    return number
        return best_line

    def error(self, message: str, *where: str | int, hint: str | None = None) -> UsageError:
        """The error at a key or a part of its value."""
        return UsageError(message, self.path, self.line(*where), hint)

    def entries(self) -> list[tuple[tuple[str | int, ...], str]]:
        """Every name of a rule that the file uses, behind the key where it stands."""
        parts: list[tuple[tuple[str | int, ...], Values]] = [((), self.values)]
        parts += [(("overrides", override.number), override.values) for override in self.overrides]
        return [((*where, key), entry) for where, values in parts for key in keys.ENTRIES for entry in values.get(key, ())]

    def resolve(self, path: str) -> str:
        """A path that the file names, for this process: relative where it lies below the working directory."""
        full = os.path.normpath(os.path.join(self.folder, path))
        relative = os.path.relpath(full)
        return full if relative.startswith("..") else relative

    def below(self, path: str, key: str = "output") -> str:
        """A path that the file names for something that is written. Raises UsageError for one outside of its folder."""
        if os.path.isabs(path) or os.path.normpath(path).split(os.sep)[0] == "..":
            raise self.error(f"{key}: {path[:80]} is not below the folder of the settings", key)
        return self.resolve(path)

    def relative(self, path: str) -> str | None:
        """A checked file as the globs see it, with forward slashes; None outside of the folder."""
        try:
            name = os.path.relpath(os.path.abspath(path), self.folder)
        except ValueError:
            return None  # another drive of Windows
        return None if name.split(os.sep)[0] == ".." else name.replace(os.sep, "/")


def read(path: str, project: bool) -> SettingsFile | None:
    """Read a settings file; ``project`` means the table ``[tool.lclint]`` of a pyproject.toml, None where there is no such table.

    Raises UsageError with the line for what is no TOML, no key, or no value of that key.
    """
    if not path:
        raise UsageError("the settings file has no name", hint="name a file")
    shown = min(os.path.relpath(path), path, key=len)
    try:
        data = files.read(path, LARGEST)
        text = data.decode("utf-8-sig")
    except InputError as error:
        raise UsageError(error.message, shown, hint=error.hint) from None
    except UnicodeDecodeError as error:
        raise UsageError("is not UTF-8", shown, data[: error.start].count(b"\n") + 1) from None
    full = os.path.abspath(path)
    known = _done.get(full)
    if known is not None and known[:2] == (shown, data):
        return known[2]
    table = _parse(text.replace("\r\n", "\n"), shown)
    top: tuple[str, ...] = ()
    if project:
        top = ("tool", "lclint")
        tool = table.get("tool")
        table = tool.get("lclint") if isinstance(tool, dict) else None
        if table is None:
            _done[full] = shown, data, None
            return None
    result = SettingsFile(shown, os.path.dirname(full), text, top)
    if not isinstance(table, dict):
        raise result.error("tool.lclint is not a table")
    _fill(result, table)
    _done[full] = shown, data, result
    return result


# for a key of n parts tomllib makes n tuples of up to n parts
_LONG_KEY = r"""(?<![\w.-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){100}"""


def _parse(text: str, shown: str) -> Any:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    long_key = re.search(_LONG_KEY, text)
    if long_key is not None:
        raise UsageError("is nested too deeply", shown, text.count("\n", 0, long_key.start()) + 1)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise UsageError("is nested too deeply", shown) from None
    except ValueError as error:
        message, _, place = str(error).partition(" (at ")
        line = re.match(r"line (\d+)", place)
        number = int(line.group(1)) if line else text.count("\n") + 1 if "end of document" in place else None
        raise UsageError(f"not valid TOML: {message[:1].lower()}{message[1:200]}", shown, number) from None


def _fill(result: SettingsFile, table: dict[str, Any]) -> None:
    for key, value in table.items():
        if key == OVERRIDES:
            if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
                raise result.error(f"overrides are written as [[{'.'.join((*result._top, OVERRIDES))}]]", key)
            result.overrides = [_override(result, number, entry) for number, entry in enumerate(value)]
        else:
            result.values[key] = _value(result, key, value, keys.KEYS, (key,))
    _either(result, result.values, ())


def _override(result: SettingsFile, number: int, entry: dict[str, Any]) -> Override:
    where = (OVERRIDES, number)
    listed = entry.get(PATHS)
    if not isinstance(listed, list) or not listed or not all(isinstance(item, str) and item for item in listed):
        raise result.error('an override needs paths = ["conf/legacy/*.yaml"]', *where, *([PATHS] if PATHS in entry else []))
    paths: list[str] = []
    fields: list[tuple[str, str]] = []
    for pattern in listed:
        glob, mark, field = pattern.partition("#")
        if mark and not field:
            raise result.error(f"{pattern} names no field behind the #", *where, PATHS, pattern)
        if mark:
            fields.append((glob or "**", field))
        else:
            paths.append(glob)
    values = {key: _value(result, key, value, keys.PER_PATH, (*where, key)) for key, value in entry.items() if key != PATHS}
    if not values:
        raise result.error("the override changes nothing", *where, PATHS)
    if fields:
        for key in values:
            if key not in keys.PER_FIELD:
                raise result.error(f"{key} cannot differ by field", *where, key, hint=f"paths with #field take {' and '.join(keys.PER_FIELD)} only")
    _either(result, values, where)
    return Override(number, paths, fields, values)


def _either(result: SettingsFile, values: Values, where: tuple[str | int, ...]) -> None:
    if "base" in values and "recipe" in values:
        raise result.error("base and recipe are both given", *where, "recipe", hint="one of them says what lies below the files")


def _value(result: SettingsFile, key: str, value: Any, known: dict[str, Any], where: tuple[str | int, ...]) -> Any:
    check = known.get(key)
    if check is None:
        if key in keys.KEYS:
            raise result.error(f"{key} cannot differ by path", *where, hint="it stands above the overrides")
        dashed = key.replace("_", "-")
        hint = f"did you mean {dashed}?" if dashed in known else keys.near(key, [*known, *([OVERRIDES] if known is keys.KEYS else [PATHS])])
        raise result.error(f"there is no setting {key[:60]}", *where, hint=hint)
    try:
        return check(value)
    except Fault as fault:
        part = () if fault.part is None else (fault.part,)
        raise result.error(f"{key}: {fault.message}", *where, *part, hint=fault.hint) from None


# compiled when a message needs a line: that costs more than reading the settings
_HEADER = r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$"
_KEY = r"""\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*="""
_PART = r""""([^"]*)"|'([^']*)'|([\w-]+)"""


def _key_lines(lines: list[str]) -> list[tuple[tuple[str | int, ...], int]]:
    """The path of every key and table that starts a line, with the line; good enough for a message."""
    found: list[tuple[tuple[str | int, ...], int]] = []
    table: tuple[str | int, ...] = ()
    count: dict[tuple[str | int, ...], int] = {}
    for number, line in enumerate(lines, 1):
        header = re.match(_HEADER, line)
        if header is not None:
            table = _parts(header.group(2))
            if header.group(1) == "[[":
                count[table] = count.get(table, -1) + 1
                table = (*table, count[table])
            found.append((table, number))
            continue
        key = re.match(_KEY, line)
        if key is not None:
            found.append(((*table, *_parts(key.group(1))), number))
    return found


def _parts(dotted: str) -> tuple[str | int, ...]:
    return tuple("".join(part) for part in re.findall(_PART, dotted))
