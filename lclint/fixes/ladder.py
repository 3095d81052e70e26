"""The cheapest set of levers that is enough: a fix that is put together from a priced list of changes.

A rule's ladder names the list, a number that the levers raise (``gain``, enough room when it is above 0) and what has to hold in the end.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

from lclint.core.finding import Fix
from lclint.engine.evaluate import Hit, fill
from lclint.facts.context import Facts
from lclint.fixes.symbolic import Ladder, levers
from lclint.fixes.trial import Trial

# runs that are looked at, and of those that are enough, how many are checked against the rules
MOST_LOOKS = 240
MOST_PROOFS = 24
# sets of levers that are put up, most of them dismissed without a look
MOST_SETS = 30_000
# together levers may raise the number by more than each alone: where the largest of several needs moves from one to another
TOGETHER = 2.0
RANKS = ("safe", "unsafe", "display-only")

def climb(trial: Trial, hit: Hit, fix: Fix, ladder: Ladder) -> Fix | None:
    """The fix completed by the cheapest set of levers after which ``until`` holds, the hit is gone and nothing else is broken.

    None when there is no such set among those that are tried; of equally cheap ones the smaller, then the one whose levers stand first.
    """
    start = ladder.gain(trial.facts)
    if not _number(start):
        return None
    chosen: list[tuple[float, Fix, float]] = []
    for cost, lever in levers(ladder.levers, trial.facts, trial.rules):
        if not (lever.remove or lever.lists or lever.env) and all(trial.facts[field] == value for field, value in lever.set.items()):
            # turned already
            continue
        raised = ladder.gain(Facts(trial.after(lever)))
        if _number(raised):
            chosen.append((cost, lever, max(0.0, raised - start)))
    looks = proofs = 0
    for indices in _by_cost(chosen):
        if start + TOGETHER * sum(chosen[index][2] for index in indices) <= 0:
            continue
        attempt = _together(fix, [chosen[index][1] for index in indices])
        looks += 1
        facts = Facts(trial.after(attempt))
        if ladder.until is None or ladder.until(facts) is True:
            proofs += 1
            if trial.solves(hit, attempt):
                said = fill(ladder.then, facts)
                attempt.title += f" ({said})" if said else ""
                return attempt
        if looks >= MOST_LOOKS or proofs >= MOST_PROOFS:
            break
    return None


def _number(value: Any) -> bool:
    return value.__class__ in (int, float)


def _by_cost(chosen: list[tuple[float, Fix, float]]) -> Iterator[tuple[int, ...]]:
    """Sets of levers that do not touch the same fields, as indices, the cheapest first."""
    order = sorted(range(len(chosen)), key=lambda index: (chosen[index][0], index))
    touched = [_touched(lever) for _, lever, _ in chosen]
    heap: list[tuple[float, int, tuple[int, ...]]] = [(chosen[index][0], 1, (position,)) for position, index in enumerate(order)]
    heapq.heapify(heap)
    for _ in range(MOST_SETS):
        if not heap:
            return
        cost, size, positions = heapq.heappop(heap)
        yield tuple(order[position] for position in positions)
        for position in range(positions[-1] + 1, len(order)):
            if not any(_clash(touched[order[position]], touched[order[other]]) for other in positions):
                heapq.heappush(heap, (cost + chosen[order[position]][0], size + 1, (*positions, position)))


def _touched(lever: Fix) -> tuple[set[str], set[str]]:
    """Fields that a lever sets or removes, and lists that it adds to."""
    return {*lever.set, *lever.remove, *(f"env.{name}" for name in lever.env)}, {field for _, field, _ in lever.lists}


def _clash(one: tuple[set[str], set[str]], other: tuple[set[str], set[str]]) -> bool:
    return not (one[0].isdisjoint(other[0] | other[1]) and one[1].isdisjoint(other[0]))


def _together(fix: Fix, chosen: list[Fix]) -> Fix:
    """One fix that makes the changes of all; only as safe as the least safe of them."""
    made = Fix(name=fix.name, title=f"{fix.title}: {'; '.join(lever.title for lever in chosen)}", applicability="safe", action=fix.action)
    for lever in chosen:
        made.set = {**made.set, **lever.set}
        made.remove = [*made.remove, *lever.remove]
        made.lists = [*made.lists, *lever.lists]
        made.env = {**made.env, **lever.env}
        made.applicability = max(made.applicability, lever.applicability, key=RANKS.index)
    return made
