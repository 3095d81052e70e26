"""Findings about the comments that speak to lclint: those that cannot be read, name no rule, or silence nothing.

The findings are those of the rules in ``rules/comments``; here is what the rules go over, and the edits of their fixes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lclint.config.header import Fault
from lclint.core.errors import InputError
from lclint.core.finding import Edit, Finding, Fix
from lclint.engine.evaluate import Hit, describe, element, evaluate, fill
from lclint.engine.rules import Rule, RuleSet
from lclint.engine.suppress import Entry, Suppressor
from lclint.facts.context import Facts
from lclint.facts.registry import FACTS
from lclint.sources.directives import Directive, removal
from lclint.sources.document import Document, from_text
from lclint.sources.edits import apply

MALFORMED, UNKNOWN, UNUSED = LISTS = ("comments.malformed", "comments.unknown", "comments.unused")
# what one command line says and the next one may not
_OUTSIDE = ("cluster.", "gpu.", "te.", "torch.", "bridge.version", "env.")
# characters of text that are read again to see what changes of comments do
_MOST_READ = 1_000_000

Change = tuple[int, int, str]


class Remark:
    """One fault of a comment: the record that the rules read, the span that it is about, and the edit that mends it."""

    __slots__ = ("record", "span", "edit")

    def __init__(self, record: dict[str, Any], span: tuple[int, int], edit: Change | None = None) -> None:
        self.record = record
        self.span = span
        self.edit = edit


def remarks(
    suppressor: Suppressor, faults: Iterable[Fault], facts: Facts, rules: RuleSet, decided: set[str], hits: Iterable[Hit]
) -> list[Finding]:
    """The findings about a file's comments, with their fixes, once all other rules have been asked and the comments applied.

    ``faults`` are those of its options, ``decided`` the rules of which it is known what they find, ``hits`` what that is.
    Raises InputError for an option at fault where no rule is asked that would report it.
    """
    mine = RuleSet([rule for rule in rules if not rule.fields.isdisjoint(LISTS)], rules.bundles)
    document = suppressor.document
    if not any(MALFORMED in rule.fields for rule in mine):
        for fault in faults:
            raise InputError(fault.error.message, document.path, fault.directive.line, fault.error.hint)
    found = {
        MALFORMED: [*_malformed(document, rules.every), *(_option(fault) for fault in faults)],
        UNKNOWN: [_unknown(entry, document) for entry in suppressor.entries if entry.error is not None],
        UNUSED: _unused(suppressor, facts, rules, decided, {hit.rule.name for hit in hits}),
    }
    for name, listed in found.items():
        facts[name] = [remark.record for remark in listed]
    about: list[tuple[Hit, Remark]] = []
    for hit in evaluate(mine, facts):
        listed = found[next(name for name in LISTS if name in hit.rule.fields)]
        assert hit.index is not None
        about.append((hit, listed[hit.index]))
    harmless = _harmless(document, {remark.edit for _, remark in about if remark.edit is not None})
    return [_finding(hit, facts, document, remark, harmless) for hit, remark in about]


def _malformed(document: Document, rules: RuleSet) -> list[Remark]:
    listed = []
    for directive in document.directives():
        if directive.kind == "invalid":
            record = {"problem": directive.reason, "option": None, "corrected": directive.correction is not None}
            listed.append(Remark(record, directive.span, directive.correction))
        elif directive.kind != "options" and not directive.rules and directive.reason:
            listed += _rule_as_reason(directive, document, rules)
    return listed


def _rule_as_reason(directive: Directive, document: Document, rules: RuleSet) -> list[Remark]:
    """``ignore unknown-key``: without its brackets it silences every rule, with the name as the reason."""
    written = directive.reason.split()[0]
    word = written.rstrip(",;:.")
    name = word.partition("/")[0]
    if not any(name in (rule.name, rule.code) for rule in rules):
        return []
    start = document.text.index(written, directive.span[0])
    behind = document.text.index(directive.kind, directive.span[0]) + len(directive.kind)
    problem = f"without brackets it silences every rule: write {directive.kind}[{word}]"
    return [Remark({"problem": problem, "option": None, "corrected": True}, directive.span, (behind, start + len(written), f"[{word}]"))]


def _option(fault: Fault) -> Remark:
    error = fault.error
    problem = f"{error.message}" + (f" ({error.hint})" if error.hint else "")
    return Remark({"problem": problem, "option": fault.option, "corrected": False}, fault.directive.span)


def _unknown(entry: Entry, document: Document) -> Remark:
    assert entry.error is not None
    assert entry.index is not None
    written = entry.directive.rules[entry.index]
    suggestion = None
    if entry.error.hint is not None and entry.error.hint.startswith("did you mean "):
        suggestion = _close(written, entry.error.hint.removeprefix("did you mean ").rstrip("?").split(" or "))
    record = {"name": written, "suggestion": suggestion, "problem": entry.error.message}
    span = entry.directive.spans[entry.index]
    return Remark(record, span, (*span, suggestion) if suggestion is not None else _without(entry, document))


def _close(written: str, names: list[str]) -> str | None:
    """The name that was all but written; a case behind it stays."""
    import difflib

    name, slash, case = written.partition("/")
    close = difflib.get_close_matches(name, names, 1, 0.8)
    return close[0] + slash + case if close and close[0] != name else None


def _without(entry: Entry, document: Document) -> tuple[int, int, str]:
    return (*removal(document.text, entry.directive, entry.index), "")


def _unused(suppressor: Suppressor, facts: Facts, rules: RuleSet, decided: set[str], found: set[str]) -> list[Remark]:
    every = {rule.name: rule for rule in rules.every}
    stale: list[tuple[Entry, bool]] = []
    for entry in suppressor.entries:
        about = [every[name] for name in entry.cases]
        if entry.index is None:
            # an ignore of everything means what a check can find
            about = [rule for rule in about if not any(field.startswith(("crash.", "comments.")) for field in rule.fields)]
        if entry.used or entry.error is not None or any(rule.name not in decided for rule in about):
            continue
        if any(not rule.fields.isdisjoint(LISTS) for rule in about):
            # what is said about comments is not known yet
            continue
        if any(rule.name in found and len(entry.cases[rule.name]) < len(rule.cases) for rule in about):
            # another case of the rule holds and may hide the one that is meant
            continue
        stale.append((entry, _sure(about, facts)))
    whole = {id(entry.directive) for entry, _ in stale}
    stale_ones = {id(entry) for entry, _ in stale}
    for entry in suppressor.entries:
        if id(entry) not in stale_ones:
            whole.discard(id(entry.directive))
    listed: dict[Any, Remark] = {}
    for entry, sure in stale:
        directive = entry.directive
        if id(directive) in whole:
            known = listed.get(id(directive))
            sure = sure and (known is None or known.record["sure"])
            what = f"{directive.kind}[{', '.join(directive.rules)}]" if directive.rules else directive.kind
            edit = (*removal(suppressor.document.text, directive), "")
            listed[id(directive)] = Remark({"what": what, "sure": sure}, directive.span, edit)
        else:
            assert entry.index is not None
            what = f"{directive.kind}[{directive.rules[entry.index]}]"
            span = directive.spans[entry.index]
            listed[id(entry)] = Remark({"what": what, "sure": sure}, span, _without(entry, suppressor.document))
    return list(listed.values())


def _sure(rules: list[Rule], facts: Facts) -> bool:
    """Whether the file alone decides what those rules find."""
    run = facts.run
    if run.sets or (run.base is not None and not _said_by_the_file(facts)):
        return False
    todo = [name for rule in rules for case in rule.cases for name in case.names]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name.startswith(_OUTSIDE):
            return False
        if name not in seen:
            seen.add(name)
            todo += FACTS[name].needs if name in FACTS else ()
    return True


def _said_by_the_file(facts: Facts) -> bool:
    """Whether the recipe below is the one that the file's own comment names."""
    document = facts.run.document
    return document is not None and any(directive.options.get("recipe") == facts.run.recipe for directive in document.directives())


def _finding(hit: Hit, facts: Facts, document: Document, remark: Remark, harmless: set[Change]) -> Finding:
    finding = describe(hit, facts)
    place = finding.place
    place.line, place.column = document.position(remark.span[0])
    place.end_line, place.end_column = document.position(remark.span[1])
    finding.values = [document.text[slice(*remark.span)]]
    with element(facts, hit):
        for name in hit.case.fixes:
            title, applicability, when = hit.rule.fixes[name][:3]
            if remark.edit in harmless and remark.edit is not None and (when is None or when(facts) is True):
                start, end, text = remark.edit
                edit = Edit(path=document.path, start=start, end=end, text=text)
                finding.fixes.append(Fix(name=name, title=fill(title, facts), applicability=applicability, edits=[edit]))
    return finding


def _harmless(document: Document, changes: set[Change]) -> set[Change]:
    """Those after which the file says the same.

    Each is a change of a comment alone, so none makes up for another: those that do not overlap are tried together, and apart only where that goes
    wrong. To read the file again costs as much as it is long; where there are too many for that, those that are left have no fix this time.
    """
    groups: list[list[Change]] = []
    for change in sorted(changes):
        group = next((group for group in groups if group[-1][1] <= change[0]), None)
        if group is None:
            groups.append([change])
        else:
            group.append(change)
    found: set[Change] = set()
    left = _MOST_READ
    for group in groups:
        if _says_the_same(document, group):
            found.update(group)
        elif len(group) > 1:
            for change in group:
                left -= len(document.text)
                if left >= 0 and _says_the_same(document, [change]):
                    found.add(change)
    return found


def _says_the_same(document: Document, changes: list[Change]) -> bool:
    try:
        after = from_text(apply(document.text, changes), document.path, document.loader, document.bom)
    except InputError:
        return False
    return bool(after.data == document.data) and len(after.problems) == len(document.problems)
