"""Ladders: the cheapest set of priced levers that is enough, and proven."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.core.errors import RuleError
from lclint.engine.rules import load_only

Make = Callable[..., Any]
LAYERS, TOPK, MICRO, CP = "model.num_layers", "model.moe_router_topk", "train.micro_batch_size", "model.context_parallel_size"
FILE = "model:\n  num_layers: 8\n  moe_router_topk: 4\n  recompute_modules: [mlp]\ntrain:\n  micro_batch_size: 4\n"
# room that is left: 10 minus all three
GAIN = f"10 - {LAYERS} - {TOPK} - {MICRO}"


def lever(cost: float, applicability: str = "safe", **changes: Any) -> dict[str, Any]:
    return {"title": f"lever of {cost}", "cost": cost, "applicability": applicability, **changes}


def rules_with(ruleset: Make, *levers: dict[str, Any], until: str = f"{GAIN} >= 0", others: tuple[dict[str, Any], ...] = ()) -> Any:
    ladder = {"levers": "steps", "gain": GAIN, "until": until, "then": f"{{{GAIN}}} left"}
    rule = {
        "cases": [{"when": f"{GAIN} < 0", "fixes": ["climb"], "impact": "oom"}],
        "fixes": {"climb": {"title": "Make room", "applicability": "unsafe", "ladder": ladder}},
    }
    return ruleset(rule, *others, bundles=[{"name": "steps", "title": "Steps", "levers": list(levers)}])


def offered(report: Any) -> list[Any]:
    return [fix for finding in report.findings if finding.rule == "rule-0" for fix in finding.fixes]


A, B, C = lever(5, set={LAYERS: 3}), lever(3, set={TOPK: 1}), lever(4, set={MICRO: 1})


def test_the_cheapest_set_is_taken_and_said(ruleset: Make, report_of: Make) -> None:
    # room is -6: B and C together give exactly what is missing for 7, A and B cost 8, B and C alone 7
    (fix,) = offered(report_of(rules_with(ruleset, A, B, C), FILE))
    assert fix.set == {TOPK: 1, MICRO: 1}
    assert fix.title == "Make room: lever of 3; lever of 4 (0 left)"
    assert fix.applicability == "safe"
    assert "micro_batch_size: 1" in fix.edits[0].text or len(fix.edits) == 2


def test_one_dear_lever_may_be_cheaper_than_two_cheap_ones(ruleset: Make, report_of: Make) -> None:
    (fix,) = offered(report_of(rules_with(ruleset, lever(6, set={LAYERS: 1}), B, C), FILE))
    assert fix.set == {LAYERS: 1}


def test_a_fix_is_as_safe_as_its_least_safe_lever(ruleset: Make, report_of: Make) -> None:
    (fix,) = offered(report_of(rules_with(ruleset, A, lever(3, "unsafe", set={TOPK: 1}), C), FILE))
    assert fix.applicability == "unsafe"


def test_levers_of_one_field_exclude_each_other(ruleset: Make, report_of: Make) -> None:
    steps = [lever(1, set={LAYERS: 6}), lever(1, set={LAYERS: 4}), lever(9, set={LAYERS: 2})]
    (fix,) = offered(report_of(rules_with(ruleset, *steps), FILE))
    assert fix.set == {LAYERS: 2}


def test_levers_of_one_list_add_up(ruleset: Make, report_of: Make) -> None:
    steps = [lever(1, append={"model.recompute_modules": "moe"}, set={LAYERS: 5}), lever(1, append={"model.recompute_modules": "layernorm"}, set={TOPK: 1})]
    (fix,) = offered(report_of(rules_with(ruleset, *steps), FILE))
    assert fix.set["model.recompute_modules"] == ["mlp", "moe", "layernorm"]


def test_what_crashes_is_not_taken(ruleset: Make, report_of: Make) -> None:
    crash = {"cases": [{"when": f"{MICRO} == 1"}]}
    (fix,) = offered(report_of(rules_with(ruleset, A, B, C, others=(crash,)), FILE))
    assert fix.set == {LAYERS: 3, TOPK: 1}


def test_levers_that_do_not_apply_are_left_out(ruleset: Make, report_of: Make) -> None:
    steps = [lever(1, set={LAYERS: 1}, when=f"{TOPK} == 9"), lever(1, set={LAYERS: "{=model.no_number // 2}".replace("no_number", "hidden_size")}), A, B, C]
    (fix,) = offered(report_of(rules_with(ruleset, *steps), FILE))
    assert fix.set == {TOPK: 1, MICRO: 1}


def test_nothing_is_offered_where_all_levers_are_not_enough(ruleset: Make, report_of: Make) -> None:
    report = report_of(rules_with(ruleset, A, until=f"{GAIN} >= 0"), FILE)
    assert len(report.findings) == 1
    assert offered(report) == []


def test_a_search_ends(ruleset: Make, report_of: Make) -> None:
    """Forty levers have more sets than can be looked at."""
    steps = [lever(1 + number, env={f"A{number}": 1}, set={LAYERS: 7} if number == 0 else {}) for number in range(40)]
    assert offered(report_of(rules_with(ruleset, *steps, until=f"{LAYERS} < 0"), FILE)) == []


@pytest.mark.parametrize(
    ("ladder", "said"),
    [
        ({"levers": "stepps", "gain": GAIN, "until": f"{GAIN} >= 0"}, "no bundle is called stepps; did you mean steps"),
        ({"levers": "steps", "until": f"{GAIN} >= 0"}, "gain"),
        ({"levers": "steps", "gain": "modell.x", "until": "true"}, "modell.x"),
    ],
)
def test_a_wrong_ladder_is_refused(ruleset: Make, ladder: dict[str, Any], said: str) -> None:
    rule = {"cases": [{"when": f"{LAYERS} > 3", "fixes": ["climb"]}], "fixes": {"climb": {"ladder": ladder}}}
    with pytest.raises(RuleError, match=said):
        ruleset(rule, bundles=[{"name": "steps", "title": "Steps", "levers": [A]}])


@pytest.mark.parametrize("change", [{"cost": None}, {"cost": -1}, {"search": [LAYERS]}, {"ladder": {}}, {"action": "do something"}])
def test_a_lever_is_a_plain_change_with_a_price(ruleset: Make, change: dict[str, Any]) -> None:
    wrong = {name: value for name, value in {**A, **change}.items() if value is not None}
    with pytest.raises(RuleError):
        ruleset({"cases": [{"when": f"{LAYERS} > 3"}]}, bundles=[{"name": "steps", "title": "Steps", "levers": [wrong]}])


def test_the_shipped_levers_can_all_be_read(checkout: Any) -> None:
    rules = load_only(str(checkout / "rules"))
    assert len(rules.bundles["what-saves-memory"][12]) > 20
