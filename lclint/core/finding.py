"""What a check gives: findings, the places they point at, their fixes and the edits of a fix.

Plain classes with slots: the check path starts on every commit of its users, and ``dataclasses`` costs more to import
than these cost to write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from lclint.core.errors import LclintError

SEVERITIES = ("error", "warning", "info")
IMPACTS = ("crash", "oom", "silent", "slow", "advice")
APPLICABILITIES = ("safe", "unsafe", "display-only")


class Record:
    """A value object: equality, representation and keyword construction from ``__slots__`` and ``defaults``."""

    __slots__: tuple[str, ...] = ()
    defaults: dict[str, Any] = {}

    def __init__(self, **values: Any) -> None:
        for name in self.__slots__:
            if name in values:
                value = values.pop(name)
            else:
                value = self.defaults[name]
                if value.__class__ in (list, dict):
                    value = value.copy()
            setattr(self, name, value)
        if values:
            raise TypeError(f"{type(self).__name__} has no {', '.join(values)}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"


class Place(Record):
    """Where a value stands. ``at`` is a field path; lines and columns are 1-based code points, None outside a file.

    ``value`` is the value there, where no line of the file shows it.
    """

    __slots__ = ("at", "origin", "path", "line", "column", "end_line", "end_column", "value")
    at: str
    origin: str
    path: str | None
    line: int | None
    column: int | None
    end_line: int | None
    end_column: int | None
    value: Any
    defaults = {"origin": "file", "path": None, "line": None, "column": None, "end_line": None, "end_column": None, "value": None}


class Edit(Record):
    """Replace ``text[start:end]`` of the decoded file (without its BOM, CRLF counted as two) by ``text``."""

    __slots__ = ("path", "start", "end", "text")
    path: str
    start: int
    end: int
    text: str


class Fix(Record):
    """One way to make a finding go away: symbolic changes, and the edits they are in the checked file.

    ``edits`` is empty when the change cannot be made in the file; ``action`` then says what a person has to do.
    ``lists`` holds element changes as ``(operation, field, value)`` with operation append, discard or replace.
    """

    __slots__ = ("name", "title", "applicability", "set", "remove", "rename", "lists", "env", "action", "edits")
    name: str
    title: str
    applicability: str
    set: dict[str, Any]
    remove: list[str]
    rename: dict[str, str]
    lists: list[tuple[str, str, Any]]
    env: dict[str, str]
    action: str | None
    edits: list[Edit]
    defaults = {"name": "", "set": {}, "remove": [], "rename": {}, "lists": [], "env": {}, "action": None, "edits": []}


class Evidence(Record):
    """A line of a file (a crash log) that a finding rests on."""

    __slots__ = ("path", "line", "text")
    path: str
    line: int
    text: str


class Finding(Record):
    """One rule's case that holds for one config, with the place that carries it.

    ``docs`` is the command that explains the rule, ``url`` its web page; a user's own rule has none.
    ``values`` are what stands at the place and the related ones, in the order of the rule: with rule, case and field they tell one
    finding from another whatever line it is on.
    """

    __slots__ = (
        "rule",
        "code",
        "case",
        "severity",
        "impact",
        "title",
        "message",
        "strikes",
        "reason",
        "place",
        "related",
        "evidence",
        "fixes",
        "docs",
        "url",
        "values",
    )
    rule: str
    code: str
    case: str
    severity: str
    impact: str
    title: str
    message: str
    strikes: str | None
    reason: str
    place: Place
    related: list[Place]
    evidence: list[Evidence]
    fixes: list[Fix]
    docs: str
    url: str | None
    values: list[Any]
    defaults = {
        "related": [],
        "evidence": [],
        "fixes": [],
        "docs": "",
        "url": None,
        "title": "",
        "strikes": None,
        "reason": "",
        "values": [],
    }

    @property
    def at(self) -> str:
        return self.place.at


class Suppressed(Record):
    """A finding that is not reported, and why: ``by`` is comment (``line`` is the comment's, ``reason`` its text) or baseline."""

    __slots__ = ("finding", "by", "line", "reason")
    finding: Finding
    by: str
    line: int | None
    reason: str
    defaults = {"line": None, "reason": ""}


class Undecided(Record):
    """A case that could not be decided, and what would decide it: ``--gpus``, ``--gpu``, a field, ``env.NAME``.

    ``needs`` may be given as a function: hundreds of cases of a small file stay undecided, and few readers ask why.
    """

    __slots__ = ("rule", "case", "severity", "impact", "_needs")
    rule: str
    case: str
    severity: str
    impact: str
    _needs: list[str] | Callable[[], list[str]]

    def __init__(self, rule: str, case: str, severity: str, impact: str, needs: list[str] | Callable[[], list[str]]) -> None:
        self.rule = rule
        self.case = case
        self.severity = severity
        self.impact = impact
        self._needs = needs

    @property
    def needs(self) -> list[str]:
        if not isinstance(self._needs, list):
            self._needs = self._needs()
        return self._needs


class FileReport(Record):
    """The result for one file. ``kind`` is dump, override, overrides (command line only) or mapping.

    ``text`` is the decoded text that the places and edits refer to, None when there is no file; ``mark`` its byte order
    mark. ``recipe`` is the published recipe
    below the file, by the name that the user gave it. ``unasked`` are the rules of which no field is known here: undecided, but not
    worth a line each. ``suppressions`` are the findings that a comment or a baseline silences. ``outlived`` are the entries of
    its baseline that are no findings any more, with their counts. ``fail_on`` is the least severity that fails a check of this file, and
    ``baseline`` the file of its known findings, where options or settings say so.
    """

    __slots__ = (
        "path",
        "kind",
        "bridge_version",
        "gpu",
        "gpus",
        "findings",
        "undecided",
        "unasked",
        "suppressions",
        "text",
        "mark",
        "recipe",
        "outlived",
        "fail_on",
        "baseline",
    )
    path: str
    kind: str
    bridge_version: str
    gpu: str | None
    gpus: int | None
    findings: list[Finding]
    undecided: list[Undecided]
    unasked: frozenset[str]
    suppressions: list[Suppressed]
    text: str | None
    mark: str
    recipe: str | None
    outlived: dict[tuple[str, str, str], int]
    fail_on: str | None
    baseline: str | None
    defaults = {
        "gpu": None,
        "gpus": None,
        "findings": [],
        "undecided": [],
        "unasked": frozenset(),
        "suppressions": [],
        "text": None,
        "mark": "",
        "recipe": None,
        "outlived": {},
        "fail_on": None,
        "baseline": None,
    }

    @property
    def suppressed(self) -> int:
        """How many findings are not reported."""
        return len(self.suppressions)


class Report(Record):
    """The result of a check. ``skipped`` maps each file that is not a Megatron config to the reason, ``excluded`` each that settings leave
    out to their place.

    ``errors`` are the files, of several, that could not be read.
    """

    __slots__ = ("files", "skipped", "excluded", "errors")
    files: list[FileReport]
    skipped: dict[str, str]
    excluded: dict[str, str]
    errors: list[LclintError]
    defaults = {"files": [], "skipped": {}, "excluded": {}, "errors": []}

    def count(self, severity: str) -> int:
        return sum(finding.severity == severity for file in self.files for finding in file.findings)
