"""Configs of every Bridge release: told apart, read with their own tables, and moved to the newest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lclint import api
from lclint.catalog import history, tables
from lclint.config import build, release
from lclint.config.run import Run
from lclint.core.errors import UsageError
from lclint.core.finding import FileReport, Finding
from lclint.core.options import Options
from lclint.core.states import UNKNOWN
from lclint.engine.rules import RuleSet
from lclint.fixes.rounds import fix_text
from lclint.sources import document as documents

# written by ConfigContainer.to_yaml() of the published wheels: Bridge 0.3.1, 0.4.2, 0.5.1 and 0.6.2
SAMPLES = sorted((Path(__file__).parent / "releases").glob("*/*.yaml"))
KEYS = ("unknown-key", "misplaced-key", "unknown-section", "field-of-another-release", "class-of-another-release", "deprecated-class", "deprecated-key")
sample = pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")


@pytest.fixture(scope="module")
def key_rules() -> RuleSet:
    return api.load_rules(Options(select=list(KEYS)))


def run_of(text: str, **options: Any) -> Run:
    run, reason = build.from_document(documents.from_text(text, "run.yaml", None), Options(**options))
    assert run is not None, reason
    return run


def found(report: FileReport) -> list[tuple[str, str, str]]:
    return [(finding.rule, finding.case, finding.at) for finding in report.findings]


@sample
def test_a_dump_tells_its_release(path: Path) -> None:
    assert release.detect(documents.load(path.read_bytes(), path.name).data) == path.parent.name


@sample
def test_a_dump_fits_the_tables_of_its_release(path: Path, key_rules: RuleSet) -> None:
    run = run_of(path.read_text(encoding="utf-8"))
    report = api.check_run(run, key_rules)
    assert found(report) == []
    assert report.bridge_version == path.parent.name


@sample
def test_no_rule_calls_a_dump_refused(path: Path) -> None:
    report = api.check_run(run_of(path.read_text(encoding="utf-8"), gpus=16), api.load_rules(Options()))
    assert [finding for finding in report.findings if finding.severity == "error"] == []


@sample
def test_a_dump_moves_to_the_newest_release(path: Path, key_rules: RuleSet) -> None:
    text = path.read_text(encoding="utf-8")

    def check(text: str) -> FileReport:
        return api.check_run(run_of(text, bridge_version="0.6"), key_rules)

    moved, report, notes = fix_text(text, check, False)
    assert (found(report), notes) == ([], [])
    assert fix_text(moved, check, False)[0] == moved
    assert (moved == text) == (path.parent.name == "0.6" or (path.parent.name, path.stem) == ("0.5", "pretrain"))


def test_the_packed_dump_of_0_3_keeps_what_it_said(key_rules: RuleSet) -> None:
    path = next(path for path in SAMPLES if path.parent.name == "0.3" and path.stem == "packed-sft")
    moved, _, _ = fix_text(path.read_text(encoding="utf-8"), lambda text: api.check_run(run_of(text, bridge_version="0.6"), key_rules), False)
    data = documents.from_text(moved, "run.yaml", None).data
    assert data["dataset"]["_target_"].endswith(".GPTSFTDatasetConfig")
    assert data["dataset"]["enable_offline_packing"] is True
    assert data["dataset"]["offline_packing_specs"]["packed_sequence_size"] == 8192
    assert data["dataset"]["offline_packing_specs"]["_target_"] == "megatron.bridge.data.packing.config.PackedSequenceSpecs"
    assert data["dist"]["lazy_mpu_init"] is False


# what each release has in one mapping and not in the other: the file, the release it is checked for, (case, place), and what --fix
# makes of it, None where a person has to say
MOVES: list[tuple[str, str, tuple[str, str], str | None]] = [
    ("optimizer: {muon_use_nesterov: true}", "0.6", ("renamed", "optimizer.muon_use_nesterov"), "optimizer: {muon_nesterov: true}"),
    ("optimizer: {muon_nesterov: true}", "0.4", ("called-otherwise", "optimizer.muon_nesterov"), "optimizer: {muon_use_nesterov: true}"),
    ("ddp: {preserve_fp32_weights: false}", "0.4", ("renamed", "ddp.preserve_fp32_weights"), "ddp: {megatron_fsdp_main_params_dtype: null}"),
    ("model: {moe_use_legacy_grouped_gemm: true}", "0.6", ("gone", "model.moe_use_legacy_grouped_gemm"), "model: {}"),
    ("model: {moe_extended_tp: true}", "0.5", ("gone", "model.moe_extended_tp"), "model: {}"),
    ("model: {moe_extended_tp: false}", "0.6", ("gone-at-its-default", "model.moe_extended_tp"), "model: {}"),
    ("model: {async_tensor_model_parallel_allreduce: false}", "0.6", ("gone", "model.async_tensor_model_parallel_allreduce"), "model: {}"),
    ("tokenizer: {legacy_tokenizer: true}", "0.4", ("gone", "tokenizer.legacy_tokenizer"), "tokenizer: {}"),
    ("tokenizer: {tiktoken_special_tokens: [a]}", "0.5", ("renamed", "tokenizer.tiktoken_special_tokens"), "tokenizer: {special_tokens: [a]}"),
    ("dataset: {pack_sequences_in_batch: true}", "0.6", ("renamed", "dataset.pack_sequences_in_batch"), "dataset: {enable_in_batch_packing: true}"),
    (
        "dataset: {packed_sequence_specs: {packed_sequence_size: 64}}",
        "0.6",
        ("renamed", "dataset.packed_sequence_specs"),
        "dataset: {offline_packing_specs: {packed_sequence_size: 64}, enable_offline_packing: true}",
    ),
    ("dataset: {packed_sequence_specs: null}", "0.6", ("renamed-at-its-default", "dataset.packed_sequence_specs"), "dataset: {}"),
    ("dataset: {skip_test: true}", "0.6", ("renamed", "dataset.skip_test"), "dataset: {do_test: false}"),
    ("dataset: {rewrite: false}", "0.6", ("renamed", "dataset.rewrite"), "dataset: {hf_rewrite: false}"),
    ("dataset: {val_proportion: 0.1}", "0.6", ("renamed", "dataset.val_proportion"), "dataset: {hf_validation_proportion: 0.1}"),
    ("train: {num_epochs: 2}", "0.5", ("newer", "train.num_epochs"), None),
    ("checkpoint: {also_save_hf_checkpoint: true}", "0.5", ("newer", "checkpoint.also_save_hf_checkpoint"), None),
    ("scheduler: {max_steps: 5}", "0.4", ("newer", "scheduler.max_steps"), None),
    ("checkpoint: {async_strategy: nvrx}", "0.3", ("newer", "checkpoint.async_strategy"), None),
    ("model: {moe_flex_dispatcher_num_sms: 24}", "0.5", ("newer", "model.moe_flex_dispatcher_num_sms"), None),
    ("model: {cuda_graph_modules: [attn]}", "0.4", ("newer", "model.cuda_graph_modules"), None),
    ("validation: {eval_iters: 4}", "0.3", ("newer-section", "validation"), None),
    ("env_vars: {NCCL_DEBUG: INFO}", "0.5", ("newer-section", "env_vars"), None),
    ("validation: {eval_global_batch_size: 4}", "0.4", ("newer", "validation.eval_global_batch_size"), None),
]
# beside what is of another release there has to be something that shows whose file it is
SURE = "rng: {te_rng_tracker: true}\n"


@pytest.mark.parametrize(("text", "version", "expected", "fixed"), MOVES, ids=lambda value: value[0] if isinstance(value, tuple) else None)
def test_what_changed_between_releases(text: str, version: str, expected: tuple[str, str], fixed: str | None, key_rules: RuleSet) -> None:
    def check(text: str) -> FileReport:
        return api.check_run(run_of(text, bridge_version=version), key_rules)

    text = SURE + text + "\n"
    assert found(check(text)) == [("field-of-another-release", *expected)]
    after, report, _ = fix_text(text, check, False)
    if fixed is None:
        assert after == text
    else:
        assert documents.from_text(after, "run.yaml", None).data == documents.from_text(SURE + fixed, "run.yaml", None).data
        assert found(report) == []


HYBRID = "megatron.bridge.models.hybrid.hybrid_provider.HybridModelProvider"
# names that the newest release still takes, with a warning
OLD_NAMES: list[tuple[str, str, str]] = [
    ("dist: {lazy_init: true}", "deprecated", "dist: {lazy_mpu_init: true}"),
    ("dataset: {sequence_length: 64}", "without-effect", "dataset: {seq_length: 64}"),
    (
        "model: {cuda_graph_impl: transformer_engine, cuda_graph_scope: [attn]}",
        "deprecated",
        "model: {cuda_graph_impl: transformer_engine, cuda_graph_scope: null, cuda_graph_modules: [attn]}",
    ),
    (
        "model: {cuda_graph_impl: transformer_engine, cuda_graph_scope: full}",
        "deprecated",
        "model: {cuda_graph_impl: transformer_engine, cuda_graph_scope: null, cuda_graph_modules: []}",
    ),
    (
        "model: {cuda_graph_impl: local, cuda_graph_scope: [full_iteration]}",
        "deprecated",
        "model: {cuda_graph_impl: full_iteration, cuda_graph_scope: null, cuda_graph_modules: []}",
    ),
    (
        "model: {moe_token_dispatcher_type: flex, moe_enable_deepep: true}",
        "deprecated",
        "model: {moe_token_dispatcher_type: flex, moe_enable_deepep: false, moe_flex_dispatcher_backend: deepep}",
    ),
    ("model: {moe_deepep_num_sms: 24, moe_flex_dispatcher_num_sms: null}", "deprecated", "model: {moe_deepep_num_sms: null, moe_flex_dispatcher_num_sms: 24}"),
    (
        "model: {moe_hybridep_num_sms: 8, moe_flex_dispatcher_num_sms: null}",
        "deprecated",
        "model: {moe_hybridep_num_sms: null, moe_flex_dispatcher_num_sms: 8}",
    ),
    ("model: {moe_router_padding_for_fp8: true}", "deprecated", "model: {moe_router_padding_for_fp8: false, moe_router_padding_for_quantization: true}"),
    (
        "model: {moe_router_topk_limited_devices: 2, expert_model_parallel_size: 4}",
        "deprecated",
        "model: {moe_router_topk_limited_devices: null, expert_model_parallel_size: 4, moe_router_group_topk: 2, moe_router_num_groups: 4}",
    ),
    (
        "model: {moe_layer_recompute: true, recompute_granularity: null, recompute_modules: [core_attn]}",
        "deprecated",
        "model: {moe_layer_recompute: false, recompute_granularity: selective, recompute_modules: [core_attn, moe]}",
    ),
    (f"model: {{_target_: {HYBRID}, hybrid_override_pattern: M*M*}}", "deprecated", f"model: {{_target_: {HYBRID}, hybrid_layer_pattern: M*M*}}"),
    ("model: {fp8_interval: 2}", "deprecated", "model: {}"),
]


@pytest.mark.parametrize(("text", "case", "fixed"), OLD_NAMES, ids=lambda value: value[:50] if ":" in value else None)
def test_old_names_that_still_work(text: str, case: str, fixed: str, key_rules: RuleSet) -> None:
    def check(text: str) -> FileReport:
        return api.check_run(run_of(text, bridge_version="0.6"), key_rules)

    text = SURE + text + "\n"
    assert [(rule, which) for rule, which, _ in found(check(text))] == [("deprecated-key", case)]
    after, report, _ = fix_text(text, check, False)
    assert documents.from_text(after, "run.yaml", None).data == documents.from_text(SURE + fixed, "run.yaml", None).data
    assert found(report) == []


def test_evaluation_settings_move_with_what_they_say() -> None:
    rules = api.load_rules(Options(select=["evaluation-settings-under-train", "deprecated-key"]))
    text = "train: {eval_iters: 8, micro_batch_size: 1}\n"
    for version, expected in (("0.3", 0), ("0.4", 1), ("0.6", 1)):
        assert len(api.check_run(run_of(text, bridge_version=version), rules).findings) == expected


@pytest.mark.parametrize(
    "text",
    [
        # both fields are there in every release, and the second is the one that training reads (Bridge training/train.py:225, 0.6.2)
        "straggler: {enable_straggler_on_startup: true, disable_straggler_on_startup: true}",
        "dist: {lazy_mpu_init: true}",
        "model: {cuda_graph_impl: transformer_engine, cuda_graph_modules: [attn]}",
    ],
)
def test_names_that_stayed(text: str, key_rules: RuleSet) -> None:
    assert found(api.check_run(run_of(text), key_rules)) == []


CLASSES = [
    ("model", "megatron.bridge.models.llama.llama_provider.Llama3ModelProvider8B", "like", "GPTModelProvider"),
    ("model", "megatron.bridge.models.gpt_provider.GPTProvider175B", "like", "GPTModelProvider"),
    ("model", "megatron.bridge.models.deepseek.deepseek_provider.DeepSeekV3ModelProvider", "like", "MLAModelProvider"),
    ("model", "megatron.bridge.models.nemotronh.nemotron_h_provider.NemotronHModelProvider8B", "like", "HybridModelProvider"),
    ("model", "megatron.bridge.models.mimo.mimo_provider.MimoModelProvider", "moved", "MegatronMIMOProvider"),
    ("dataset", "megatron.bridge.data.builders.hf_dataset.HFDatasetConfig", "gone", None),
    ("dataset", "megatron.bridge.data.vlm_datasets.hf_provider.HFDatasetConversationProvider", "gone", None),
    ("dataset", "megatron.bridge.data.energon.energon_provider.EnergonProvider", "gone", None),
    ("dataset", "megatron.bridge.data.vlm_datasets.mock_provider.MockVLMConversationProvider", "like", "MockVLMSFTDatasetConfig"),
]


@pytest.mark.parametrize(("section", "target", "case", "new"), CLASSES, ids=lambda value: str(value).rpartition(".")[2])
def test_classes_that_are_gone(section: str, target: str, case: str, new: str | None, key_rules: RuleSet) -> None:
    text = f"_target_: megatron.bridge.training.config.ConfigContainer\n{section}:\n  _target_: {target}\n  seq_length: 8\n"
    report = api.check_run(run_of(text, bridge_version="0.6"), key_rules)
    assert found(report) == [("class-of-another-release", case, f"{section}._target_")]
    finding: Finding = report.findings[0]
    assert finding.fixes[0].set.get(f"{section}._target_", "").rpartition(".")[2] == (new or "")


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("model: {num_layers: 4, moe_router_topk: 2}", {}, "0.6"),
        ("optimizer: {muon_use_nesterov: true}", {}, "0.6"),
        ("dataset: {_target_: megatron.bridge.data.builders.hf_dataset.HFDatasetConfig, seq_length: 8}", {}, "0.5"),
        ("model: {_target_: megatron.bridge.models.llama.llama_provider.Llama3ModelProvider8B, num_layers: 8}", {}, "0.3"),
        ("dataset: {_target_: megatron.bridge.training.config.FinetuningDatasetConfig, seq_length: 8}", {}, "0.6"),
        ("model: {num_layers: 4, moe_router_topk: 2}", {"bridge_version": "0.4.2"}, "0.4"),
    ],
)
def test_what_an_override_file_is_taken_for(text: str, options: dict[str, Any], expected: str) -> None:
    run = run_of(text, **options)
    assert (run.release, run.given["bridge.release"]) == (expected, expected)


def test_an_override_is_of_the_release_of_its_base() -> None:
    base = documents.load((Path(__file__).parent / "releases" / "0.4" / "pretrain.yaml").read_bytes(), "base.yaml")
    run, _ = build.from_document(documents.from_text("model: {num_layers: 4, moe_router_topk: 2}", "run.yaml", None), Options(), base)
    assert run is not None
    assert run.release == "0.4"


def test_a_release_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no field tables for Megatron Bridge 0\.1"):
        release.named("0.1")


def test_the_newest_release_is_the_last_one() -> None:
    assert tables.releases()[-1] == release.NEWEST


@pytest.mark.parametrize(
    ("version", "field", "expected"),
    [
        # 1 with experts since 0.6, tensor parallelism before
        ("0.6", "model.expert_tensor_parallel_size", 1),
        ("0.5", "model.expert_tensor_parallel_size", 4),
        ("0.3", "model.expert_tensor_parallel_size", 4),
        ("0.5", "model.kv_channels", 128),
        ("0.3", "model.num_query_groups", 32),
        ("0.5", "model.bf16", True),
        ("0.4", "optimizer.use_distributed_optimizer", UNKNOWN),
        ("0.6", "optimizer.use_distributed_optimizer", True),
        ("0.6", "model.overlap_p2p_comm", False),
        ("0.5", "model.overlap_p2p_comm", UNKNOWN),
    ],
)
def test_older_releases_claim_what_holds_there(version: str, field: str, expected: Any) -> None:
    text = """\
    model: {tensor_model_parallel_size: 4, pipeline_model_parallel_size: 1, virtual_pipeline_model_parallel_size: null,
      expert_model_parallel_size: 8, expert_tensor_parallel_size: null, hidden_size: 4096, num_attention_heads: 32,
      kv_channels: null, num_query_groups: null, bf16: false, overlap_p2p_comm: true}
    mixed_precision: bf16_mixed
    ddp: {use_distributed_optimizer: true}
    optimizer: {use_distributed_optimizer: false}
    comm_overlap: {tp_comm_overlap: false, overlap_p2p_comm: null}
    """
    value = run_of(text, bridge_version=version).resolved[field]
    assert value is expected or value == expected


@pytest.mark.parametrize(("version", "expected"), [("0.3", True), ("0.5", False), ("0.6", False)])
def test_sequence_parallelism_without_tensor_parallelism(version: str, expected: bool) -> None:
    value = run_of("model: {tensor_model_parallel_size: 1, sequence_parallel: true}", bridge_version=version).resolved["model.sequence_parallel"]
    assert value is (UNKNOWN if expected else False)


# rules of the start-up that were held against the older sources
HOLD_EVERYWHERE = [
    ("world-size-not-divisible", "model: {tensor_model_parallel_size: 1, pipeline_model_parallel_size: 1, context_parallel_size: 3}"),
    ("heads-not-divisible-by-tensor-parallelism", "model: {tensor_model_parallel_size: 4, num_attention_heads: 6}"),
    ("expert-parallelism-without-experts", "model: {expert_model_parallel_size: 4, num_moe_experts: null}"),
    ("full-recompute-incomplete", "model: {recompute_granularity: full, recompute_method: null, recompute_num_layers: 1}"),
    ("sequence-not-divisible-by-context-parallelism", "model: {context_parallel_size: 4, seq_length: 1001}"),
    ("schedule-in-steps-and-samples", "scheduler: {lr_decay_iters: 10, lr_warmup_iters: 0, lr_wsd_decay_iters: null, lr_decay_samples: 10}"),
    (
        "global-batch-not-divisible",
        "model: {tensor_model_parallel_size: 1, pipeline_model_parallel_size: 1, context_parallel_size: 1}\n"
        "train: {global_batch_size: 12, micro_batch_size: 1, decrease_batch_size_if_needed: false}",
    ),
]


@pytest.mark.parametrize("version", ["0.3", "0.4", "0.5", "0.6"])
@pytest.mark.parametrize(("rule", "text"), HOLD_EVERYWHERE, ids=lambda value: value if "-" in value and ":" not in value else "")
def test_rules_that_hold_in_every_release(rule: str, text: str, version: str) -> None:
    report = api.check_run(run_of(text, bridge_version=version, gpus=8), api.load_rules(Options(select=[rule])))
    assert [finding.rule for finding in report.findings] == [rule]


def test_a_batch_ramp_has_a_check_of_its_own_before_0_5() -> None:
    rules = api.load_rules(Options(select=["global-batch-not-divisible"]))
    text = HOLD_EVERYWHERE[-1][1].replace("micro_batch_size: 1", "micro_batch_size: 1, rampup_batch_size: [4, 4, 100]")
    assert [len(api.check_run(run_of(text, bridge_version=version, gpus=8), rules).findings) for version in ("0.3", "0.4", "0.6")] == [0, 0, 1]


def test_what_became_of_every_field_that_is_gone() -> None:
    """A field of an older release is known to its own release alone: none of them is an unknown key to the newest."""
    newest = tables.releases()[-1]
    for name, row in tables.history()["fields"].items():
        section, _, key = name.partition(".")
        releases = history.with_field(section, key, None, False)
        assert row[0] in releases
        # a few models declare this one for themselves
        assert newest not in releases or name == "model.async_tensor_model_parallel_allreduce"
        report = api.check_run(run_of(f"{SURE}{section}: {{{key}: 7}}\n", bridge_version=newest), api.load_rules(Options(select=list(KEYS))))
        # the one that an override may still write, as a property
        rule = "deprecated-key" if name == "dist.lazy_init" else "field-of-another-release"
        assert [finding.rule for finding in report.findings] == [rule], name


def test_the_ordinary_path_reads_one_release_only() -> None:
    code = (
        "import sys\nfrom lclint import api\nfrom lclint.catalog import tables\n"
        "api.check({'model': {'num_layers': 4, 'moe_router_topk': 2}})\n"
        "assert 'lclint.catalog.history' not in sys.modules and not any('/0.5/' in path for path in tables._files)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
