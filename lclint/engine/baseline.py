"""A baseline: findings that are known, and not reported again as long as they stay what they are.

An entry names file (relative to the baseline), rule and case, field, and a hash of the values that the finding is about; never a line. So
it outlives edits elsewhere in the file, and hides neither the same rule at another field nor the same field with another value.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from lclint.core.errors import InputError, UsageError
from lclint.core.finding import FileReport, Finding
from lclint.engine.evaluate import without_indices
from lclint.sources import files

VERSION = 1
DEFAULT_NAME = "lclint-baseline.json"

# rule/case, field without the numbers of list elements, hash of the values
Key = tuple[str, str, str]
Known = dict[Key, int]


def key(finding: Finding) -> Key:
    """What identifies a finding within its file."""
    import hashlib

    value = hashlib.sha256(_canonical(finding.values).encode("utf-8", "backslashreplace")).hexdigest()[:12]
    return f"{finding.rule}/{finding.case}" if finding.case else finding.rule, without_indices(finding.at), value


def _canonical(value: Any) -> str:
    """One text for one value, whatever the order of keys and however long a number is."""
    if isinstance(value, dict):
        return "{" + ",".join(sorted(f"{_canonical(name)}:{_canonical(item)}" for name, item in value.items())) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_canonical, value)) + "]"
    return hex(value) if value.__class__ is int else repr(value)


def silence(findings: list[Finding], known: Known) -> tuple[list[Finding], Known]:
    """The findings that the baseline knows, each entry as often as it counts, and what is left of it."""
    left = dict(known)
    found = []
    for finding in findings:
        name = key(finding)
        if left.get(name, 0) > 0:
            left[name] -= 1
            found.append(finding)
    return found, {name: count for name, count in left.items() if count}


class Baseline:
    """The entries of one baseline file by path of the checked file; those paths are relative to it, with forward slashes."""

    __slots__ = ("path", "entries")

    def __init__(self, path: str) -> None:
        self.path = path
        self.entries: dict[str, Known] = {}

    def name_of(self, path: str) -> str | None:
        """A checked file as the baseline names it; None for what is no file (standard input, a command line)."""
        if not os.path.lexists(path):
            return None
        try:
            return os.path.relpath(os.path.abspath(path), os.path.dirname(os.path.abspath(self.path))).replace(os.sep, "/")
        except ValueError:
            return None  # another drive of Windows

    def known(self, path: str) -> Known:
        """The entries for a checked file."""
        name = self.name_of(path)
        return self.entries.get(name, {}) if name is not None else {}

    def record(self, report: FileReport) -> int | None:
        """Take the findings of a file in place of what was there; how many there are, None for what is no file."""
        name = self.name_of(report.path)
        if name is None:
            return None
        known: Known = {}
        for finding in report.findings:
            known[key(finding)] = known.get(key(finding), 0) + 1
        self.entries[name] = known
        return len(report.findings)

    def prune(self, reports: Iterable[FileReport]) -> None:
        """Drop what the files do not have any more, and files that are gone."""
        for report in reports:
            name = self.name_of(report.path)
            if name is not None and name in self.entries:
                known = self.entries[name]
                for gone, count in report.outlived.items():
                    known[gone] = known.get(gone, 0) - count
                self.entries[name] = {entry: count for entry, count in known.items() if count > 0}
        for name in self.gone():
            del self.entries[name]

    def gone(self) -> list[str]:
        """The files that have entries and do not exist."""
        folder = os.path.dirname(os.path.abspath(self.path))
        return [name for name in self.entries if not os.path.lexists(os.path.join(folder, *name.split("/")))]

    def render(self) -> str:
        """The text of the file: sorted, an entry a line."""
        import json

        parts = []
        for name, known in sorted(self.entries.items()):
            rows = [
                "      " + json.dumps({"rule": rule, "at": at, "value": value, "count": count})
                for (rule, at, value), count in sorted(known.items())
            ]
            if rows:
                parts.append(f"    {json.dumps(name)}: [\n" + ",\n".join(rows) + "\n    ]")
        listed = "{\n" + ",\n".join(parts) + "\n  }" if parts else "{}"
        return f'{{\n  "version": {VERSION},\n  "files": {listed}\n}}\n'


def read(path: str) -> Baseline:
    """Read a baseline. Raises UsageError for one that does not exist or is none."""
    import json

    try:
        data = json.loads(files.read(path).decode("utf-8"))
    except InputError as error:
        hint = "--write-baseline makes it" if not os.path.lexists(path) else error.hint
        raise UsageError(f"the baseline {error.message}", path, hint=hint) from None
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"it is no JSON, {error}"[:160], getattr(error, "lineno", None)) from None
    if not isinstance(data, dict) or not isinstance(data.get("files"), dict):
        raise _damaged(path, "it holds no files")
    if data.get("version") != VERSION:
        raise UsageError(f"the baseline is of version {str(data.get('version'))[:20]}; this lclint reads {VERSION}", path)
    result = Baseline(path)
    for name, rows in data["files"].items():
        known: Known = {}
        for row in rows if isinstance(rows, list) else [None]:
            rule, at, value, count = (row.get(field) for field in ("rule", "at", "value", "count")) if isinstance(row, dict) else (None,) * 4
            if not (isinstance(rule, str) and isinstance(at, str) and isinstance(value, str) and count.__class__ is int and count > 0):
                raise _damaged(path, f"an entry of {name[:80]} is not as lclint writes it")
            known[rule, at, value] = known.get((rule, at, value), 0) + count
        result.entries[name] = known
    return result


def _damaged(path: str, what: str, line: int | None = None) -> UsageError:
    return UsageError(f"the baseline cannot be read: {what}", path, line, "restore it, or name another file for --write-baseline")
