"""Fixes of findings: filled, tried, lowered to edits of the right file, or to what a person has to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from lclint.api import check_run
from lclint.config import build
from lclint.core.options import Options
from lclint.sources import edits

Make = Callable[..., Any]

LAYERS, CP, TOPK = "model.num_layers", "model.context_parallel_size", "model.moe_router_topk"
DUMP = """\
_target_: megatron.bridge.training.config.ConfigContainer
model:
  _target_: megatron.bridge.models.gpt_provider.GPTModelProvider
  num_layers: 8
  params_dtype:
    _call_: false
    _target_: torch.bfloat16
  recompute_modules: [mlp, moe]
train:
  _target_: megatron.bridge.training.config.TrainingConfig
  micro_batch_size: 1
comm_overlap: null
mixed_precision: bf16_mixed
env_vars: {}
"""
FILE = "# a run\nmodel:\n  num_layers: 8   # deep\n  moe_router_topk: 2\n"


def rule(fix: dict[str, Any], when: str = f"{LAYERS} > 3", **more: Any) -> dict[str, Any]:
    return {"cases": [{"when": when, "fixes": ["mend"], **more}], "fixes": {"mend": fix}}


def only_fix(report: Any) -> Any:
    (finding,) = report.findings
    (fix,) = finding.fixes
    return fix


def after(text: str, fix: Any) -> str:
    return edits.apply(text, [(edit.start, edit.end, edit.text) for edit in fix.edits])


@pytest.mark.parametrize(
    ("fix", "expected"),
    [
        ({"set": {LAYERS: 2}}, FILE.replace("8", "2")),
        ({"set": {LAYERS: f"{{={LAYERS} // 4}}"}}, FILE.replace("8", "2")),
        ({"set": {LAYERS: None}}, FILE.replace("8", "null")),
        ({"remove": [LAYERS]}, "# a run\nmodel:\n  # deep\n  moe_router_topk: 2\n"),
        ({"rename": {LAYERS: "model.context_parallel_size"}}, FILE.replace("num_layers", "context_parallel_size")),
        ({"set": {LAYERS: 2, CP: 4}}, FILE.replace("8", "2") + "  context_parallel_size: 4\n"),
        ({"set": {LAYERS: 2}, "env": {"NCCL_X": 1}}, FILE.replace("8", "2") + "env_vars:\n  NCCL_X: 1\n"),
        ({"set": {LAYERS: 2}, "env": {"NCCL_X": "{model.moe_router_topk}M"}}, FILE.replace("8", "2") + "env_vars:\n  NCCL_X: 2M\n"),
    ],
)
def test_changes_of_an_override_file(ruleset: Make, report_of: Make, fix: dict[str, Any], expected: str) -> None:
    found = only_fix(report_of(ruleset(rule(fix)), FILE))
    assert after(FILE, found) == expected
    assert found.action is None


def test_titles_and_actions_are_filled(ruleset: Make, report_of: Make) -> None:
    found = only_fix(report_of(ruleset(rule({"title": f"From {{{LAYERS}}}", "action": f"Do {{{TOPK}}}", "applicability": "display-only"})), FILE))
    assert (found.title, found.action, found.applicability, found.edits) == ("From 8", "Do 2", "display-only", [])


@pytest.mark.parametrize(
    "fix",
    [
        # does not make the case false
        {"set": {LAYERS: 4}},
        {"set": {TOPK: 1}},
        # what it would set is not known
        {"set": {LAYERS: f"{{={CP} * 2}}"}},
        {"when": f"{CP} > 1", "set": {LAYERS: 2}},
        {"when": False, "set": {LAYERS: 2}},
        {"set": {LAYERS: f"{{={TOPK}[0]}}"}},
    ],
)
def test_fixes_that_do_not_help_are_not_offered(ruleset: Make, report_of: Make, fix: dict[str, Any]) -> None:
    (finding,) = report_of(ruleset(rule(fix)), FILE).findings
    assert finding.fixes == []


@pytest.mark.parametrize(("impact", "offered"), [("crash", False), ("oom", False), ("silent", True), ("slow", True)])
def test_a_fix_that_brings_another_crash_is_not_offered(ruleset: Make, report_of: Make, impact: str, offered: bool) -> None:
    rules = ruleset(rule({"set": {LAYERS: 2}}), {"cases": [{"when": f"{LAYERS} < 3", "impact": impact}]})
    (finding,) = report_of(rules, FILE).findings
    assert any(fix.edits for fix in finding.fixes) is offered


def test_a_crash_that_was_there_is_not_held_against_a_fix(ruleset: Make, report_of: Make) -> None:
    rules = ruleset(rule({"set": {LAYERS: 2}}), {"cases": [{"when": f"{TOPK} == 2"}]})
    assert [len(finding.fixes) for finding in report_of(rules, FILE).findings] == [1, 0]


def test_a_case_that_another_hid_is_not_new(ruleset: Make, report_of: Make) -> None:
    mended = rule({"set": {LAYERS: 2}})
    mended["cases"].append({"when": f"{TOPK} == 2"})
    assert len(report_of(ruleset(mended), FILE).findings[0].fixes) == 1


def test_equal_fixes_are_offered_once(ruleset: Make, report_of: Make) -> None:
    both = {"cases": [{"when": f"{LAYERS} > 3", "fixes": ["one", "two"]}], "fixes": {"one": {"set": {LAYERS: 2}}, "two": {"set": {LAYERS: 2}}}}
    assert [fix.name for fix in report_of(ruleset(both), FILE).findings[0].fixes] == ["one"]


LISTED = "model:\n  recompute_granularity: selective\n  recompute_modules: [bad, mlp, worse]\n"


@pytest.mark.parametrize(
    ("fix", "modules"),
    [
        ({"discard": {"model.recompute_modules": "{=item}"}}, "[mlp, worse]"),
        ({"replace": {"model.recompute_modules": ["{=item}", "moe"]}}, "[moe, mlp, worse]"),
    ],
)
def test_of_several_wrong_elements_one_can_be_mended(ruleset: Make, report_of: Make, fix: dict[str, Any], modules: str) -> None:
    """The others keep their complaint, and move up in the list: that must not look like a fix that failed."""
    each = rule(fix, "item in ['bad', 'worse']", at="model.recompute_modules[{index}]")
    findings = report_of(ruleset({**each, "each": "model.recompute_modules"}), LISTED).findings
    assert [len(finding.fixes) for finding in findings] == [1, 1]
    assert after(LISTED, findings[0].fixes[0]) == LISTED.replace("[bad, mlp, worse]", modules)


def test_list_changes_are_spelled_out_for_readers_of_fields(ruleset: Make, report_of: Make) -> None:
    rules = ruleset(rule({"append": {"model.recompute_modules": "moe"}}, "'moe' not in model.recompute_modules"))
    found = only_fix(report_of(rules, LISTED))
    assert found.set == {"model.recompute_modules": ["bad", "mlp", "worse", "moe"]}
    assert after(LISTED, found) == LISTED.replace("worse]", "worse, moe]")


BUNDLE = {"name": "more", "title": "More", "set": {CP: 4, LAYERS: 1}, "remove": [TOPK], "env": {"A": "1"}, "when": f"{TOPK} == 2"}


@pytest.mark.parametrize(
    ("fix", "expected"),
    [
        # what the fix says itself stays
        ({"set": {LAYERS: 2}}, ({LAYERS: 2, CP: 4}, [TOPK], {"A": "1"})),
        ({"set": {LAYERS: 2, TOPK: 3}}, ({LAYERS: 2, TOPK: 3, CP: 4}, [], {"A": "1"})),
        ({"remove": [LAYERS]}, ({CP: 4}, [LAYERS, TOPK], {"A": "1"})),
        ({"set": {LAYERS: 2}, "env": {"A": 2}}, ({LAYERS: 2, CP: 4}, [TOPK], {"A": "2"})),
    ],
)
def test_bundles_join(ruleset: Make, report_of: Make, fix: dict[str, Any], expected: Any) -> None:
    found = only_fix(report_of(ruleset(rule({**fix, "also": ["more"]}), bundles=[BUNDLE]), FILE))
    assert (found.set, found.remove, found.env) == expected


def test_bundles_join_only_where_they_hold(ruleset: Make, report_of: Make) -> None:
    found = only_fix(report_of(ruleset(rule({"set": {LAYERS: 2}, "also": ["more"]}), bundles=[{**BUNDLE, "when": f"{TOPK} == 9"}]), FILE))
    assert (found.set, found.remove, found.env) == ({LAYERS: 2}, [], {})


def test_bundles_of_bundles_join(ruleset: Make, report_of: Make) -> None:
    outer = {"name": "outer", "title": "Outer", "set": {"train.micro_batch_size": 1}, "also": ["more"]}
    found = only_fix(report_of(ruleset(rule({"set": {LAYERS: 2}, "also": ["outer"]}), bundles=[BUNDLE, outer]), FILE))
    assert found.set == {LAYERS: 2, "train.micro_batch_size": 1, CP: 4}


def test_a_search_takes_the_nearest_layout_without_a_crash(ruleset: Make, report_of: Make) -> None:
    text = "model: {tensor_model_parallel_size: 8, pipeline_model_parallel_size: 1, context_parallel_size: 1, num_attention_heads: 16}\n"
    wrong = rule({"title": "Move", "search": ["model.tensor_model_parallel_size"]}, "model.tensor_model_parallel_size == 8")
    found = only_fix(report_of(ruleset(wrong), text, gpus=16))
    assert found.set == {"model.tensor_model_parallel_size": 4}
    assert found.title == "Move (tensor_model_parallel_size: 4)"
    crash = {"cases": [{"when": "model.tensor_model_parallel_size < 8"}]}
    assert only_fix(report_of(ruleset(wrong, crash), text, gpus=16)).set == {"model.tensor_model_parallel_size": 16}
    everything = {"cases": [{"when": "model.tensor_model_parallel_size != 8"}]}
    assert report_of(ruleset(wrong, everything), text, gpus=16).findings[0].fixes == []


def test_in_a_dump(ruleset: Make, report_of: Make) -> None:
    fix = {"set": {LAYERS: 2, "model.params_dtype": "fp32", "model.recompute_modules": ["mlp"]}, "env": {"A": "1"}}
    found = only_fix(report_of(ruleset(rule(fix)), DUMP))
    expected = (
        DUMP.replace("num_layers: 8", "num_layers: 2")
        .replace("torch.bfloat16", "torch.float32")
        .replace("[mlp, moe]", "[mlp]")
        .replace("env_vars: {}", "env_vars:\n  A: 1")
    )
    assert after(DUMP, found) == expected


def test_a_null_section_of_a_dump_comes_into_being_with_its_class(ruleset: Make, report_of: Make) -> None:
    fix = {"set": {LAYERS: 2, "comm_overlap.overlap_p2p_comm": True}}
    text = after(DUMP, only_fix(report_of(ruleset(rule(fix)), DUMP)))
    assert "comm_overlap:\n  _target_: megatron.bridge.training.comm_overlap.CommOverlapConfig\n" in text
    assert "  overlap_p2p_comm: true\n" in text
    assert report_of(ruleset(rule(fix)), text).findings == []


def test_a_section_that_is_a_name_is_not_entered(ruleset: Make, report_of: Make) -> None:
    found = only_fix(report_of(ruleset(rule({"set": {LAYERS: 2, "mixed_precision.fp8": "hybrid"}})), DUMP))
    assert found.edits == []
    assert "mixed_precision" in found.action
    found = only_fix(report_of(ruleset(rule({"set": {LAYERS: 2, "mixed_precision": "fp16_mixed"}})), DUMP))
    assert "mixed_precision: fp16_mixed" in after(DUMP, found)


def test_values_of_a_base_are_overridden_in_the_file(ruleset: Make, report_of: Make) -> None:
    text = "model:\n  moe_router_topk: 2\n"
    found = only_fix(report_of(ruleset(rule({"set": {LAYERS: 2}})), text, base=DUMP))
    assert after(text, found) == text + "  num_layers: 2\n"
    found = only_fix(report_of(ruleset(rule({"discard": {"model.recompute_modules": "moe"}}, "'moe' in model.recompute_modules")), text, base=DUMP))
    assert after(text, found) == text + "  recompute_modules: [mlp]\n"


@pytest.mark.parametrize(
    ("fix", "says"),
    [({"rename": {LAYERS: CP}}, "model.num_layers is in the base: rename it"), ({"set": {LAYERS: 2}, "rename": {TOPK: "model.moe_topk"}}, None)],
)
def test_what_only_the_base_can_change(ruleset: Make, report_of: Make, fix: dict[str, Any], says: str | None) -> None:
    text = "model:\n  moe_router_topk: 2\n"
    found = next(iter(report_of(ruleset(rule(fix)), text, base=DUMP).findings[0].fixes))
    assert (found.edits == []) is (says is not None)
    if says is not None:
        assert says in found.action


def test_removing_an_override_brings_the_bases_value_back(ruleset: Make, report_of: Make) -> None:
    text = "model:\n  num_layers: 64\n  moe_router_topk: 2\n"
    found = only_fix(report_of(ruleset(rule({"remove": [LAYERS]}, f"{LAYERS} > 32")), text, base=DUMP))
    assert after(text, found) == "model:\n  moe_router_topk: 2\n"
    findings = report_of(ruleset(rule({"remove": [LAYERS]}, f"{LAYERS} > 4")), text, base=DUMP).findings
    assert [finding.fixes for finding in findings] == [[]]


@pytest.mark.parametrize("fix", [{"set": {LAYERS: 2}}, {"remove": [LAYERS]}, {"rename": {LAYERS: CP}}])
def test_values_of_an_override_say_which_option_to_change(ruleset: Make, report_of: Make, fix: dict[str, Any]) -> None:
    found = only_fix(report_of(ruleset(rule(fix)), "model:\n  moe_router_topk: 2\n", sets=["model.num_layers=8"]))
    assert found.edits == []
    assert "model.num_layers=8" in found.action


def test_variables_of_the_launch_environment(ruleset: Make, report_of: Make) -> None:
    rules = ruleset(rule({"env": {"A": "1"}}, "env.A == '0'"))
    found = only_fix(report_of(rules, FILE, env={"A": "0"}))
    assert found.edits == []
    assert "set it to 1" in found.action
    text = FILE + "env_vars: {A: 0}\n"
    assert after(text, only_fix(report_of(rules, text))) == FILE + "env_vars: {A: 1}\n"


def test_without_a_file_the_command_line_is_said(ruleset: Make) -> None:
    run = build.from_mapping({"model": {"num_layers": 8, "moe_router_topk": 2}}, Options())
    fix = {"set": {LAYERS: 2, "model.recompute_modules": ["mlp", "moe"], CP: None}, "env": {"A": "1"}}
    found = only_fix(check_run(run, ruleset(rule(fix))))
    assert found.edits == []
    assert found.action == "give --set model.context_parallel_size=null --set model.num_layers=2 --set model.recompute_modules=[mlp,moe] --env A=1"


def test_a_value_that_others_share_is_left_for_a_person_or_kept_apart(ruleset: Make, report_of: Make) -> None:
    text = "model:\n  num_layers: &n 8\n  moe_router_topk: *n\n"
    found = only_fix(report_of(ruleset(rule({"set": {LAYERS: 2}})), text))
    if found.edits:
        assert yaml.safe_load(after(text, found)) == {"model": {"num_layers": 2, "moe_router_topk": 8}}
    else:
        assert "by hand" in found.action


def test_a_safe_fix_that_would_bring_a_crash_is_named_and_not_made(ruleset: Make, report_of: Make) -> None:
    slow = rule({"set": {LAYERS: 2}}, impact="slow")
    crash = {"cases": [{"when": f"{LAYERS} < 3", "impact": "crash"}]}
    fix = only_fix(report_of(ruleset(slow, crash), FILE))
    assert (fix.applicability, fix.action, fix.edits) == ("display-only", "not done here: rule-1 is found then", [])
    # another one that helps, or one that changes numbers anyway, needs no such word
    slow["fixes"]["mend"]["applicability"] = "unsafe"
    assert report_of(ruleset(slow, crash), FILE).findings[0].fixes == []
