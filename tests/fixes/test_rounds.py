"""Fixing until nothing is left: order, convergence, what is taken back, and bytes that nobody meant to change."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lclint import api
from lclint.core.errors import InputError
from lclint.core.finding import FileReport
from lclint.core.options import Options
from lclint.fixes.rounds import fix_text

Make = Callable[..., Any]
LAYERS, CP, TOPK = "model.num_layers", "model.context_parallel_size", "model.moe_router_topk"
FILE = "model:\n  num_layers: 8   # deep\n  moe_router_topk: 2\n"


def rule(when: str, fixes: dict[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"cases": [{"when": when, "fixes": list(fixes), **more}], "fixes": fixes}


@pytest.fixture
def fixed(report_of: Make) -> Callable[..., tuple[str, FileReport, list[str]]]:
    def run(rules: Any, text: str, unsafe: bool = False, **options: Any) -> tuple[str, FileReport, list[str]]:
        return fix_text(text, lambda new: report_of(rules, new, **options), unsafe)

    return run


def test_everything_safe_is_fixed(ruleset: Make, fixed: Make) -> None:
    rules = ruleset(rule(f"{LAYERS} > 3", {"a": {"set": {LAYERS: 2}}}), rule(f"{TOPK} == 2", {"a": {"set": {TOPK: 4}}}, impact="slow"))
    text, report, notes = fixed(rules, FILE)
    assert text == "model:\n  num_layers: 2   # deep\n  moe_router_topk: 4\n"
    assert (report.findings, notes) == ([], [])


def test_unsafe_fixes_are_taken_on_demand_only(ruleset: Make, fixed: Make) -> None:
    rules = ruleset(rule(f"{LAYERS} > 3", {"first": {"set": {LAYERS: 2}, "applicability": "unsafe"}, "second": {"set": {LAYERS: 3}}}))
    assert "num_layers: 3" in fixed(rules, FILE)[0]
    assert "num_layers: 2" in fixed(rules, FILE, unsafe=True)[0]
    rules = ruleset(rule(f"{LAYERS} > 3", {"a": {"set": {LAYERS: 2}, "applicability": "display-only"}}))
    assert fixed(rules, FILE, unsafe=True)[0] == FILE


def test_what_crashes_is_fixed_first(ruleset: Make, fixed: Make) -> None:
    slow = rule(f"{LAYERS} > 3", {"a": {"set": {LAYERS: 2}}}, impact="slow")
    crash = rule(f"{LAYERS} > 3", {"a": {"set": {LAYERS: 3}}}, impact="crash")
    assert "num_layers: 3" in fixed(ruleset(slow, crash), FILE)[0]


def test_a_slip_is_mended_before_a_crash_that_comes_of_it_is_given_way_to(tmp_path: Path) -> None:
    text = 'checkpoint:\n  save: /ckpt\n  save_interval: 10\n  ckpt_format: torch_dst   # slip\n  async_save: "true"\n  use_persistent_ckpt_worker: true\n'
    config = tmp_path / "run.yaml"
    config.write_text(text, encoding="utf-8")
    api.fix_paths([str(config)], Options(no_settings=True, fix=True))
    assert config.read_text(encoding="utf-8") == text.replace("torch_dst", "torch_dist").replace('"true"', "true")


def test_one_fix_may_lead_to_the_next(ruleset: Make, fixed: Make) -> None:
    steps = [rule(f"{LAYERS} == {n}", {"a": {"set": {LAYERS: n - 1}}}, impact="slow") for n in range(8, 2, -1)]
    text, report, notes = fixed(ruleset(*steps), FILE)
    assert "num_layers: 2" in text
    assert (report.findings, notes) == ([], [])


def test_what_was_taken_back_is_tried_again_after_other_fixes(ruleset: Make, fixed: Make) -> None:
    first = rule(f"{LAYERS} > 3", {"a": {"set": {LAYERS: 2}}})
    unknown = {"cases": [{"when": f"{LAYERS} == 2 and {TOPK} == 2 and {CP} == 2"}]}  # nobody knows that size
    later = rule(f"{TOPK} == 2", {"a": {"set": {TOPK: 4}}}, impact="slow")
    rules = ruleset(first, unknown, later)
    text, report, notes = fixed(rules, FILE)
    assert text == "model:\n  num_layers: 2   # deep\n  moe_router_topk: 4\n"
    assert (report.findings, notes) == ([], [])
    assert fixed(rules, text)[0] == text


def test_fixes_that_undo_each_other_end(ruleset: Make, fixed: Make) -> None:
    there = rule(f"{LAYERS} == 8", {"a": {"set": {LAYERS: 4}}}, impact="slow")
    back = rule(f"{LAYERS} == 4", {"a": {"set": {LAYERS: 8}}}, impact="slow")
    text, report, notes = fixed(ruleset(there, back), FILE)
    assert text == FILE
    assert len(report.findings) == 1
    assert any("undoes" in note for note in notes)


def test_a_circle_keeps_the_text_with_the_fewest_crashes(ruleset: Make, fixed: Make) -> None:
    crash = rule(f"{LAYERS} == 8", {"a": {"set": {LAYERS: 4}}})
    slow = rule(f"{LAYERS} == 4", {"a": {"set": {LAYERS: 5}}}, impact="slow")
    back = rule(f"{LAYERS} == 5", {"a": {"set": {LAYERS: 4}}}, impact="slow")
    text, report, _ = fixed(ruleset(crash, slow, back), FILE)
    assert "num_layers: 4" in text
    assert [finding.impact for finding in report.findings] == ["slow"]


def test_several_wrong_elements_are_all_mended(ruleset: Make, fixed: Make) -> None:
    text = "model:\n  recompute_granularity: selective\n  recompute_modules:\n  - bad   # why\n  - mlp\n  - worse\n  - bad\n"
    mend = rule("item in ['bad', 'worse']", {"a": {"discard": {"model.recompute_modules": "{=item}"}}}, at="model.recompute_modules[{index}]")
    new, report, notes = fixed(ruleset({**mend, "each": "model.recompute_modules"}), text)
    assert new == "model:\n  recompute_granularity: selective\n  recompute_modules:\n  # why\n  - mlp\n"
    assert (report.findings, notes) == ([], [])


def test_a_fix_that_makes_a_crash_undecidable_is_taken_back(ruleset: Make, fixed: Make) -> None:
    mend = rule(f"{LAYERS} > 3", {"a": {"set": {LAYERS: 2}}}, impact="slow")
    crash = {"cases": [{"when": f"{LAYERS} < 3 and {CP} > 1"}]}
    text, report, notes = fixed(ruleset(mend, crash), FILE)
    assert text == FILE
    assert len(report.findings) == 1
    assert notes == [f"rule-0: the fix 'Mend it' was taken back: whether rule-1 holds then is not known (it needs {CP})"]


def test_no_findings_no_change(ruleset: Make, fixed: Make) -> None:
    assert fixed(ruleset(rule(f"{LAYERS} > 99", {"a": {"set": {LAYERS: 2}}})), FILE)[0] is FILE


# Through files

RULE = rule(f"{LAYERS} > 3", {"mend": {"set": {LAYERS: 2}}})


@pytest.fixture
def own_rules(tmp_path: Path, rule_text: Make) -> str:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "rule.yaml").write_text(rule_text(RULE), encoding="utf-8")
    return str(folder)


def options(own_rules: str, **more: Any) -> Options:
    return Options(rules=[own_rules], select=["rule-0"], fix=True, **more)


@pytest.mark.parametrize(
    "text",
    [
        FILE,
        FILE.replace("\n", "\r\n"),
        "\ufeff" + FILE,
        "\ufeff# 日本語\r\n" + FILE.replace("\n", "\r\n"),
        FILE.rstrip("\n"),
        "# first\n\n" + FILE + "\n\n# last",
        'model: {"num_layers": 8, moe_router_topk: 2, } # flow\n',
        "---\n" + FILE + "...\n",
    ],
)
def test_other_bytes_stay(tmp_path: Path, own_rules: str, text: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_bytes(text.encode())
    report, applied = api.fix_paths([str(file)], options(own_rules))
    assert file.read_bytes() == text.replace("8", "2").encode()
    assert [(entry.before, entry.after, entry.notes) for entry in applied] == [(text, text.replace("8", "2"), [])]
    assert report.files[0].findings == []


def test_a_file_without_findings_is_not_touched(tmp_path: Path, own_rules: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(FILE.replace("8", "2"), encoding="utf-8")
    os.utime(file, (1, 1))
    inode = file.stat().st_ino
    _, applied = api.fix_paths([str(file)], options(own_rules))
    assert (applied, file.stat().st_mtime, file.stat().st_ino) == ([], 1, inode)


def test_a_diff_writes_nothing(tmp_path: Path, own_rules: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(FILE, encoding="utf-8")
    _, applied = api.fix_paths([str(file)], Options(rules=[own_rules], select=["rule-0"], diff=True))
    assert file.read_text(encoding="utf-8") == FILE
    assert applied[0].after == FILE.replace("8", "2")


def test_a_file_that_changes_meanwhile_is_not_written(tmp_path: Path, own_rules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(FILE, encoding="utf-8")
    real = api.check_run

    def meddle(*arguments: Any, **named: Any) -> FileReport:
        file.write_text(FILE + "# another hand\n", encoding="utf-8")
        return real(*arguments, **named)

    monkeypatch.setattr(api, "check_run", meddle)
    with pytest.raises(InputError, match="changed while"):
        api.fix_paths([str(file)], options(own_rules))
    assert file.read_text(encoding="utf-8").endswith("# another hand\n")


# With the shipped rules, on whatever a person might write

FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "model.num_layers": st.sampled_from([4, 7, 61]),
    "model.num_attention_heads": st.sampled_from([8, 12]),
    "model.tensor_model_parallel_size": st.sampled_from([1, 2, 3, 8]),
    "model.pipeline_model_parallel_size": st.sampled_from([1, 2, 3]),
    "model.virtual_pipeline_model_parallel_size": st.sampled_from([None, 1, 2]),
    "model.context_parallel_size": st.sampled_from([1, 2, 3]),
    "model.expert_model_parallel_size": st.sampled_from([1, 2]),
    "model.num_moe_experts": st.sampled_from([None, 8, 9]),
    "model.sequence_parallel": st.booleans(),
    "model.seq_length": st.sampled_from([1000, 4096]),
    "model.recompute_granularity": st.sampled_from([None, "full", "selective"]),
    "model.recompute_method": st.sampled_from([None, "uniform", "block"]),
    "model.recompute_modules": st.lists(st.sampled_from(["mlp", "core_attn", "moe", "attention", "layernrm", "nonsense"]), max_size=3),
    "model.cuda_graph_impl": st.sampled_from(["none", "local", "transformer_engine", "te"]),
    "model.cuda_graph_scope": st.sampled_from([None, "full", "attn", "full_iteration"]),
    "model.moe_token_dispatcher_type": st.sampled_from(["alltoall", "flex"]),
    "model.moe_flex_dispatcher_backend": st.sampled_from([None, "deepep", "hybridep"]),
    "model.tp_size": st.just(2),
    "model.cp": st.just(2),
    "model.calculate_per_token_loss": st.booleans(),
    "dataset.enable_offline_packing": st.booleans(),
    "dataset.pad_to_max_length": st.booleans(),
    "dataset.seq_length": st.sampled_from([1000, 4096]),
    "train.micro_batch_size": st.sampled_from([1, 2]),
    "train.global_batch_size": st.sampled_from([8, 30]),
    "train.manual_gc": st.booleans(),
    "ddp.use_distributed_optimizer": st.booleans(),
    "ddp.overlap_param_gather": st.booleans(),
    "ddp.average_in_collective": st.booleans(),
    "optimizer.use_precision_aware_optimizer": st.booleans(),
    "rng.te_rng_tracker": st.booleans(),
    "rng.seed": st.sampled_from([0, 1]),
    "mixed_precision": st.sampled_from(["bf16_mixed", "bf16_mxied", None]),
    "env_vars.CUDA_DEVICE_MAX_CONNECTIONS": st.sampled_from([1, 8]),
}
configs = st.lists(st.sampled_from(sorted(FIELDS)), min_size=3, max_size=14, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: FIELDS[name] for name in names})
)


def written(fields: dict[str, Any]) -> str:
    sections: dict[str, list[str]] = {}
    for name, value in fields.items():
        section, _, field = name.partition(".")
        shown = {None: "null", True: "true", False: "false"}.get(value, value) if not isinstance(value, list) else f"[{', '.join(value)}]"
        if field:
            sections.setdefault(section, []).append(f"  {field}: {shown}")
        else:
            sections[f"{section}: {shown}"] = []
    lines = [line for section, body in sections.items() for line in ([f"{section}:", *body] if body else [section])]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def shipped() -> Any:
    return api.load_rules(Options())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(fields=configs, unsafe=st.booleans(), gpus=st.sampled_from([None, 8]))
def test_fixing_converges_and_brings_no_crash(shipped: Any, run_of: Make, fields: dict[str, Any], unsafe: bool, gpus: int | None) -> None:
    fields = {"model.moe_router_topk": 2, **fields}
    text = written(fields)

    def check(new: str) -> FileReport:
        return api.check_run(run_of(new, gpus=gpus), shipped)

    before = check(text)
    once, report, _ = fix_text(text, check, unsafe)
    twice, _, _ = fix_text(once, check, unsafe)
    assert twice == once
    grave = {(f.rule, f.case) for f in before.findings if f.impact in ("crash", "oom")}
    left = [f for f in report.findings if f.impact in ("crash", "oom")]
    assert len(left) <= sum(f.impact in ("crash", "oom") for f in before.findings)
    rules_before = {name for name, _ in grave}
    assert [f.rule for f in left if f.rule not in rules_before] == []
