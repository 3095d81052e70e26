"""Rules and facts in, hits out: which cases hold, which cannot be decided."""

from __future__ import annotations

import re
from typing import Any

from lclint.config.release import NEWEST
from lclint.core.finding import Finding, Undecided
from lclint.core.project import rule_page
from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.engine.operations import TooManySteps, both, start_steps, take_steps
from lclint.engine.rules import Case, Rule, RuleSet
from lclint.facts.context import Facts

# what a user can do something about comes first when several places could carry a finding
_PLACE_ORDER = {"set": 0, "file": 1, "log": 1, "env": 2, "base": 3, "recipe": 3, "default": 4}


MOST_HITS = 1_000
_STEPS_OF_A_CASE = 20
LONGEST_MESSAGE = 2_000


class Hit:
    """A case that holds, with the element of ``each`` for which it does (``index`` None without ``each``).

    ``more`` elements follow that were not looked at: a rule finds ``MOST_HITS`` in one file, and no config has so many.
    """

    __slots__ = ("rule", "case", "item", "index", "finding", "more")

    def __init__(self, rule: Rule, case: Case, item: Any, index: int | None) -> None:
        self.rule = rule
        self.case = case
        self.item = item
        self.index = index
        self.finding: Finding | None = None
        self.more = False

    def key(self, facts: Facts) -> tuple[Any, ...]:
        """What identifies the same complaint before and after a fix; complaints about elements of one list have the same key.

        (Where one element goes, those behind it move up: their index identifies nothing.)
        """
        if self.index is None:
            return (self.rule.name, self.case.id)
        with element(facts, self):
            return (self.rule.name, self.case.id, without_indices(fill(self.case.at[0], facts)))


    def grave_key(self, facts: Facts) -> tuple[Any, ...]:
        """As ``key``, but one for all that say that memory runs out: which of them does depends on what is largest."""
        return ("oom",) if self.case.impact == "oom" else self.key(facts)


class element:
    """Makes ``item`` and ``index`` of a hit readable while its templates and values are computed."""

    __slots__ = ("facts", "hit")

    def __init__(self, facts: Facts, hit: Hit) -> None:
        self.facts = facts
        self.hit = hit

    def __enter__(self) -> None:
        if self.hit.index is not None:
            bind(self.facts, self.hit.item, self.hit.index)

    def __exit__(self, *unused: object) -> None:
        if self.hit.index is not None:
            unbind(self.facts, self.hit.item)


def bind(facts: Facts, item: Any, index: int) -> None:
    facts["item"] = item
    facts["index"] = index
    if item.__class__ is dict:
        for key, value in item.items():
            facts[f"item.{key}"] = value


def unbind(facts: Facts, item: Any) -> None:
    del facts["item"], facts["index"]
    if item.__class__ is dict:
        for key in item:
            del facts[f"item.{key}"]


def fill(template: Any, facts: Facts) -> str:
    """The text of a template: a plain string, or the function that it was compiled to."""
    return template if template.__class__ is str else template(facts)


def without_indices(at: str) -> str:
    """``model.recompute_modules[]`` of ``model.recompute_modules[1]``."""
    return re.sub(r"\[\d+\]", "[]", at) if "[" in at else at


def evaluate(
    rules: RuleSet,
    facts: Facts,
    impacts: tuple[str, ...] = (),
    undecided: list[tuple[Rule, Case]] | None = None,
    hidden: bool = False,
    unasked: set[str] | None = None,
    only: frozenset[str] | None = None,
) -> list[Hit]:
    """The cases that hold, in the order of the rules.

    ``impacts`` limits the cases to those impacts. Cases that cannot be decided are added to ``undecided`` when it is given, and to
    ``unasked`` the names of rules that were passed over because none of their fields is known. With ``hidden`` also the cases that the
    first true one of their rule hides. Raises TooManySteps for a rule that takes more steps than a check may have.
    """
    start_steps()
    hits: list[Hit] = []
    # resolved and not written: a preset (mixed_precision: bf16_mixed) gives fields that nobody wrote
    # and a diagnosis asks about its log first of all
    known = None if facts.run.complete or facts.run.crash is not None else facts.run.resolved
    newest = facts.run.release == NEWEST
    asked = rules.rules
    if known is not None:
        asked = rules.reading(known, unasked)
    for rule in asked:
        if only is not None and rule.name not in only:
            continue
        if rule.releases is not True and not (newest if rule.releases is None else holds_there(rule, facts)):
            continue
        try:
            where = True if rule.where is None else rule.where(facts)
            if where is False or where is NOT_APPLICABLE:
                continue
            if rule.each is None:
                _cases(rule, facts, where, None, None, impacts, hits, undecided, hidden)
            else:
                _elements(rule, facts, where, impacts, hits, undecided, hidden, unasked)
        except TooManySteps:
            raise TooManySteps(f"the rule {rule.name}", facts.run.path) from None
    return hits


def settled(rules: RuleSet, facts: Facts, undecided: list[tuple[Rule, Case]], unasked: set[str]) -> set[str]:
    """The names of the rules that were asked with all their cases here, and of which no case stays undecided.

    Rules about crash logs are not among them unless there is a log.
    """
    whole = {rule.name: len(rule.cases) for rule in rules.every}
    left_open = unasked | {rule.name for rule, _ in undecided}
    return {
        rule.name
        for rule in rules
        if rule.name not in left_open
        and len(rule.cases) == whole[rule.name]
        and holds_there(rule, facts)
        and (facts.run.crash is not None or not any(field.startswith("crash.") for field in rule.fields))
    }


def _elements(
    rule: Rule,
    facts: Facts,
    where: Any,
    impacts: tuple[str, ...],
    hits: list[Hit],
    undecided: list[tuple[Rule, Case]] | None,
    hidden: bool,
    unasked: set[str] | None,
) -> None:
    """Ask the cases of a rule for every element of its list."""
    assert rule.each is not None
    items = rule.each(facts)
    if items is UNKNOWN and undecided is not None:
        undecided += [(rule, case) for case in rule.cases if not impacts or case.impact in impacts]
    if items.__class__ not in (list, tuple):
        return
    first = len(hits)
    for index, item in enumerate(items):
        if len(hits) - first >= MOST_HITS:
            hits[-1].more = True
            if unasked is not None:
                unasked.add(rule.name)
            break
        take_steps(_STEPS_OF_A_CASE * len(rule.cases))
        bind(facts, item, index)
        try:
            _cases(rule, facts, where, item, index, impacts, hits, undecided, hidden)
        finally:
            unbind(facts, item)


def holds_there(rule: Rule, facts: Facts) -> bool:
    """Whether the rule is one for this run's release."""
    if rule.releases is None:
        return facts.run.release == NEWEST
    return rule.releases is True or (callable(rule.releases) and rule.releases(facts) is True)


def as_undecided(rule: Rule, case: Case, facts: Facts | None) -> Undecided:
    """What is reported of a case that cannot be decided; what it needs is found out from the facts when it is asked for."""
    if facts is None:
        if case.undecided is None:
            case.undecided = Undecided(rule.name, case.id, case.severity, case.impact, [])
        return case.undecided

    def needs() -> list[str]:
        names = [name for name in case.names if name not in ("item", "index") and not name.startswith("item.")]
        # an element that an interpolation leaves open: its list is what has to be said
        return facts.undecided_needs(names) or [name for name in names if facts[name].__class__ is list and UNKNOWN in facts[name]]

    return Undecided(rule.name, case.id, case.severity, case.impact, needs)


def _cases(
    rule: Rule,
    facts: Facts,
    where: Any,
    item: Any,
    index: int | None,
    impacts: tuple[str, ...],
    hits: list[Hit],
    undecided: list[tuple[Rule, Case]] | None,
    hidden: bool,
) -> None:
    for case in rule.cases:
        if impacts and case.impact not in impacts:
            continue
        value = True if case.when is None else case.when(facts)
        if where is not True:
            value = both(where, value)
        if value is True:
            hits.append(Hit(rule, case, item, index))
            if not rule.report_all and not hidden:
                return
        elif value is UNKNOWN and undecided is not None:
            undecided.append((rule, case))


def describe(hit: Hit, facts: Facts) -> Finding:
    """The finding of a hit, without its fixes."""
    with element(facts, hit):
        places = [facts.run.place(fill(at, facts)) for at in hit.case.at]
        message = fill(hit.case.message, facts)
    if len(message) > LONGEST_MESSAGE:
        # a value of the file stands in it
        message = f"{message[:LONGEST_MESSAGE]} …"
    if hit.more:
        message += f" (the last of {MOST_HITS} that are listed; there are more)"
    carrier = min(places, key=lambda place: _PLACE_ORDER[place.origin])
    finding = Finding(
        rule=hit.rule.name,
        code=hit.rule.code,
        case=hit.case.id,
        severity=hit.case.severity,
        impact=hit.case.impact,
        title=hit.rule.title,
        message=message,
        strikes=hit.case.strikes,
        reason=hit.case.reason or hit.rule.reason,
        place=carrier,
        related=[place for place in places if place is not carrier],
        docs=f"lclint rules show {hit.rule.name}",
        values=[facts.run.value_at(place.at) for place in places],
        url=rule_page(hit.rule.name) if hit.rule.shipped else None,
    )
    hit.finding = finding
    return finding
