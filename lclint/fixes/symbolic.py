"""The symbolic fixes of a hit: its rule's fix templates filled with the facts, bundles joined."""

from __future__ import annotations

from typing import Any

from lclint.core.finding import Fix
from lclint.core.states import State
from lclint.engine.evaluate import Hit, element, fill
from lclint.engine.rules import RuleSet
from lclint.facts.context import Facts


class Undecidable(Exception):
    """A value of the fix is unknown or not applicable."""


class Ladder:
    """What a fix puts together from priced levers: the bundle that holds them, what they raise, what is enough, what is said then."""

    __slots__ = ("levers", "gain", "until", "then")

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.levers, self.gain, self.until, self.then = row


Levers = list[tuple[float, Fix]]


def fixes(hit: Hit, facts: Facts, rules: RuleSet) -> list[tuple[Fix, tuple[str, ...] | Ladder]]:
    """The fixes that the hit's case offers, in order, each with what completes it: layout fields to search (none: it is whole), or a ladder."""
    result: list[tuple[Fix, tuple[str, ...] | Ladder]] = []
    with element(facts, hit):
        for name in hit.case.fixes:
            row = hit.rule.fixes[name]
            fix = _whole(name, row, facts, rules)
            if fix is not None:
                result.append((fix, row[10] if row[11] is None else Ladder(row[11])))
    return result


def levers(bundle: str, facts: Facts, rules: RuleSet) -> Levers:
    """The levers of a bundle that can be turned in this run, each with its cost, in the order of the bundle."""
    found = []
    for cost, row in rules.bundles[bundle][12] if bundle in rules.bundles else ():
        fix = _whole(bundle, row, facts, rules)
        if fix is not None:
            found.append((cost, fix))
    return found


def _whole(name: str, row: tuple[Any, ...], facts: Facts, rules: RuleSet) -> Fix | None:
    """The filled fix with its bundles; None where it does not apply or a value of it is not known."""
    try:
        fix = _fix(name, row, facts)
        for bundle in row[9] if fix is not None else ():
            assert fix is not None
            _join(fix, bundle, rules, facts)
    except Undecidable:
        return None
    return fix


def _fix(name: str, row: tuple[Any, ...], facts: Facts) -> Fix | None:
    title, applicability, when, values, remove, rename, lists, env, action = row[:9]
    if when is not None and when(facts) is not True:
        return None
    fix = Fix(name=name, title="", applicability=applicability)
    _change(fix, values, remove, rename, lists, env, facts)
    fix.title = fill(title, facts)
    fix.action = None if action is None else fill(action, facts)
    return fix


def _join(fix: Fix, name: str, rules: RuleSet, facts: Facts) -> None:
    """Add the changes of a bundle, and of the bundles that it names, where they hold; what the fix says itself stays."""
    _, _, when, values, remove, rename, lists, env, _, also = rules.bundles[name][:10]
    if when is not None and when(facts) is not True:
        return
    bundle = Fix(name="", title="", applicability="safe")
    _change(bundle, values, remove, rename, lists, env, facts)
    for field, value in bundle.set.items():
        if field not in fix.remove and facts[field] != value:
            fix.set.setdefault(field, value)
    fix.remove += [field for field in bundle.remove if field not in fix.remove and field not in fix.set]
    fix.rename.update(bundle.rename)
    fix.lists += [change for change in bundle.lists if change not in fix.lists]
    for variable, value in bundle.env.items():
        fix.env.setdefault(variable, value)
    # a bundle can only name those compiled before it: this comes to an end
    for other in also:
        _join(fix, other, rules, facts)


def _change(fix: Fix, values: Any, remove: Any, rename: Any, lists: Any, env: Any, facts: Facts) -> None:
    fix.set.update((fill(field, facts), _value(value, facts)) for field, value in values)
    fix.remove += [fill(field, facts) for field in remove]
    fix.rename.update((fill(old, facts), str(_value(new, facts))) for old, new in rename)
    for operation, changes in lists:
        for field, value in changes:
            if operation == "replace":
                fix.lists.append((operation, fill(field, facts), (_value(value[0], facts), _value(value[1], facts))))
            else:
                fix.lists.append((operation, fill(field, facts), _value(value, facts)))
    fix.env.update((fill(variable, facts), str(_value(value, facts))) for variable, value in env)


def _value(value: Any, facts: Facts) -> Any:
    """A constant, or the result of the compiled ``{=expression}``."""
    if value.__class__ is tuple:
        value = value[0](facts)
        if value.__class__ is State:
            raise Undecidable
        return list(value) if value.__class__ is tuple else value
    return [_value(item, facts) for item in value] if value.__class__ is list else value
