"""Which rules are asked, and how grave their findings are: names, codes and patterns of users, profiles, severities."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from lclint.core.errors import UsageError
from lclint.core.options import DEFAULT_PROFILE
from lclint.engine.rules import OFF, Case, Rule, RuleSet, closest

Cases = dict[str, tuple[str, ...]]

# how much an entry says, for severities: the more exact one wins
_ANY, _PATTERN, _RULE, _CASE = range(4)


def matching(entry: str, rules: RuleSet) -> tuple[int, Cases]:
    """``(rank, cases by rule)`` that an entry means: a rule's name or code, the beginning of codes (``LC2``), a pattern (``fp8-*``), ``ALL``,
    each with ``/case`` or ``/pattern`` behind it. Raises UsageError for an entry that means nothing.
    """
    name, slash, case = entry.partition("/")
    upper = name.upper()
    rank = _RULE
    found = [rule for rule in rules if name == rule.name or upper == rule.code]
    if not found and upper == "ALL":
        rank, found = _ANY, list(rules)
    if not found:
        rank = _PATTERN
        if any(mark in name for mark in "*?"):
            found = [rule for rule in rules if fnmatchcase(rule.name, name) or fnmatchcase(rule.code, upper)]
        elif name.isupper():
            found = [rule for rule in rules if rule.code.startswith(name)]
    if not found:
        raise UsageError(f"no rule is called {entry[:80]}", hint=closest(name, [rule.name for rule in rules]))
    cases = {rule.name: tuple(each.id for each in rule.cases if not slash or fnmatchcase(each.id, case)) for rule in found}
    if slash and not any(cases.values()):
        known = sorted({each.id for rule in found for each in rule.cases})
        hint = closest(case, known) if len(found) > 1 else f"its cases: {', '.join(known)}"
        raise UsageError(f"{found[0].name} has no case {case[:80]}", hint=hint)
    return (_CASE if slash else rank), {rule: ids for rule, ids in cases.items() if ids}


def choose(
    rules: RuleSet,
    profile: str | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    extend: Iterable[str] = (),
    severity: Iterable[Iterable[tuple[str, str]]] = (),
) -> RuleSet:
    """The rules that are asked: those of ``select``, else of the profile; with ``extend`` and without ``ignore``.

    ``severity`` are groups of pairs of an entry and error, warning, info or off: of two in a group that mean the same case the more exact
    one counts, of two groups the later; ``ignore`` beats them all.
    Raises UsageError for an entry that means no rule.
    """
    chosen: dict[str, set[str]] = {}
    select = list(select)
    for entry in select:
        _add(chosen, matching(entry, rules)[1])
    if not select:
        _add(chosen, {rule.name: tuple(case.id for case in rule.cases if _in_profile(case, profile or DEFAULT_PROFILE)) for rule in rules})
    for entry in extend:
        _add(chosen, matching(entry, rules)[1])
    kept = RuleSet((_with_cases(rule, chosen[rule.name]) for rule in rules if chosen.get(rule.name)), rules.bundles, rules.every)
    kept.about_base = profile == "all"
    for group in severity:
        kept = relevel(kept, group)
    return relevel(kept, [(entry, OFF) for entry in ignore])


def relevel(rules: RuleSet, levels: Iterable[tuple[str, str]]) -> RuleSet:
    """The rules with other severities; those of which every case is off are left out. Raises UsageError for an entry that means no rule."""
    new = by_case(rules, levels)
    if not new:
        return rules
    changed = []
    for rule in rules:
        mine = new.get(rule.name)
        if mine is not None:
            rule = rule.copy([case.at_severity(mine[case.id]) if case.id in mine else case for case in rule.cases])
            if all(case.severity == OFF for case in rule.cases):
                continue
        changed.append(rule)
    result = RuleSet(changed, rules.bundles, rules.every)
    result.about_base = rules.about_base
    return result


def by_case(rules: RuleSet, levels: Iterable[tuple[str, str]]) -> dict[str, dict[str, str]]:
    """The severity of every case that the entries mean. Raises UsageError."""
    found: dict[str, dict[str, str]] = {}
    ranked = [(matching(entry, rules.every), level) for entry, level in levels]
    for (_, cases), level in sorted(ranked, key=lambda item: item[0][0]):
        for rule, ids in cases.items():
            found.setdefault(rule, {}).update(dict.fromkeys(ids, level))
    return found


def _in_profile(case: Case, profile: str) -> bool:
    return profile != "start-up" or (case.impact == "crash" and case.strikes != "training")


def _add(chosen: dict[str, set[str]], cases: Cases) -> None:
    for rule, ids in cases.items():
        chosen.setdefault(rule, set()).update(ids)


def _with_cases(rule: Rule, ids: set[str]) -> Rule:
    return rule if len(ids) == len(rule.cases) else rule.copy([case for case in rule.cases if case.id in ids])
