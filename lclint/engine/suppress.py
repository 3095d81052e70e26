"""Which findings a file's own ``# lclint: ignore[...]`` comments silence, and which of the comments did."""

from __future__ import annotations

from typing import Any

from lclint.config.run import field_path
from lclint.core.errors import UsageError
from lclint.core.finding import Finding, Place, Suppressed
from lclint.engine.rules import RuleSet
from lclint.engine.selection import Cases, matching
from lclint.sources.directives import IGNORES, Directive
from lclint.sources.document import Document


class Entry:
    """One rule name of an ignore, or a whole ignore without names (``index`` None, every rule). ``used`` once it silenced something."""

    __slots__ = ("directive", "index", "cases", "error", "used")

    def __init__(self, directive: Directive, index: int | None, meaning: Cases | UsageError) -> None:
        self.directive = directive
        self.index = index
        self.error = meaning if isinstance(meaning, UsageError) else None
        self.used = False
        self.cases: Cases = {} if isinstance(meaning, UsageError) else meaning


class Suppressor:
    """The ignore comments of one document. ``rules`` are all there are, whichever of them are asked."""

    def __init__(self, document: Document, rules: RuleSet) -> None:
        self.document = document
        self.entries: list[Entry] = []
        self._meanings: dict[str, Cases | UsageError] = {}
        for directive in document.directives():
            if directive.kind in IGNORES:
                indices: list[Any] = list(range(len(directive.rules))) or [None]
                self.entries += [Entry(directive, index, self._meaning("ALL" if index is None else directive.rules[index], rules)) for index in indices]
        self._lines: dict[str, frozenset[int]] = {}
        self._first: dict[tuple[str, str | None, bool], int | None] = {}
        # by the line that they speak of the numbers of entries, those of the whole file at 0
        self._numbers: dict[int, list[int]] = {}
        for number, entry in enumerate(self.entries):
            line = 0 if entry.directive.kind == "ignore-file" else entry.directive.target
            self._numbers.setdefault(line, []).append(number)

    def _meaning(self, name: str, rules: RuleSet) -> Cases | UsageError:
        """The cases that a name in a comment stands for, or what is wrong with it."""
        if name not in self._meanings:
            try:
                self._meanings[name] = matching(name, rules)[1]
            except UsageError as error:
                self._meanings[name] = error
        return self._meanings[name]

    def silence(self, finding: Finding, by_name: bool = False) -> Suppressed | None:
        """Why a comment silences the finding, None when none does; ``by_name`` leaves out comments that name no rule."""
        first = self._of_file(finding, by_name)
        places = [place for place in [finding.place, *finding.related] if place.origin == "file" and place.line is not None]
        lines: set[int] = set().union(*map(self._lines_of, places))
        for number in sorted(number for line in lines for number in self._numbers.get(line, ())):
            entry = self.entries[number]
            if _means(entry, finding, by_name) and self._speaks_of(entry, finding):
                entry.used = True
                first = number if first is None else min(first, number)
        if first is None:
            return None
        directive = self.entries[first].directive
        return Suppressed(finding=finding, by="comment", line=directive.line, reason=directive.reason)

    def _of_file(self, finding: Finding, by_name: bool) -> int | None:
        """The number of the first entry for the whole file that silences the finding; looked for once for all findings of its kind."""
        kind = (finding.rule, finding.case, by_name)
        if kind not in self._first:
            numbers = [number for number in self._numbers.get(0, ()) if _means(self.entries[number], finding, by_name)]
            for number in numbers:
                self.entries[number].used = True
            self._first[kind] = numbers[0] if numbers else None
        return self._first[kind]

    def _speaks_of(self, entry: Entry, finding: Finding) -> bool:
        """Whether the finding lies where the comment speaks: for a comment that names the rule, its related places count as well."""
        places = [finding.place, *finding.related] if entry.index is not None else [finding.place]
        target = entry.directive.target
        return any(place.origin == "file" and place.line is not None and target in self._lines_of(place) for place in places)

    def _lines_of(self, place: Place) -> frozenset[int]:
        """The line of a place, and those of the keys that it stands below."""
        known = self._lines.get(place.at)
        if known is None:
            keys = field_path(place.at)
            spans = [self.document.span(keys[:length], "key") for length in range(1, len(keys) + 1)]
            known = self._lines[place.at] = frozenset(self.document.position(span[0])[0] for span in spans if span is not None)
        return known | {place.line} if place.line is not None else known


def _means(entry: Entry, finding: Finding, by_name: bool) -> bool:
    """Whether the entry silences findings of this rule and case, wherever it speaks."""
    return finding.case in entry.cases.get(finding.rule, ()) and not (by_name and entry.index is None)
