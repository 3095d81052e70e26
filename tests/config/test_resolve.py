"""What Bridge makes of a config at start-up, step by step, and what stays unknown."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lclint
from lclint.api import check_run, load_rules
from lclint.config import build
from lclint.core.options import Options
from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.engine.rules import RuleSet
from lclint.facts.context import Facts

CLASSES = {
    "model": "megatron.bridge.models.gpt_provider.GPTModelProvider",
    "train": "megatron.bridge.training.config.TrainingConfig",
    "dataset": "megatron.bridge.training.config.GPTDatasetConfig",
    "comm_overlap": "megatron.bridge.training.comm_overlap.CommOverlapConfig",
}


def resolved(fields: dict[str, Any], complete: bool = True, **options: Any) -> Facts:
    """The facts of a config with those fields; a complete one has nothing else."""
    data: dict[str, Any] = {"_target_": "megatron.bridge.training.config.ConfigContainer"} if complete else {"model": {"moe_router_topk": 2}}
    for name, value in fields.items():
        section, _, field = name.partition(".")
        if not field:
            data[section] = value
            continue
        part = data.setdefault(section, {"_target_": CLASSES[section]} if complete and section in CLASSES else {})
        part[field] = value
    return Facts(build.from_mapping(data, Options(**options)))


TP, PP, EP = (f"model.{name}_model_parallel_size" for name in ("tensor", "pipeline", "expert"))

STEPS: list[tuple[dict[str, Any], str, Any]] = [
    # sequence parallelism needs tensor parallelism
    ({TP: 1, "model.sequence_parallel": True}, "model.sequence_parallel", False),
    ({TP: 2, "model.sequence_parallel": True}, "model.sequence_parallel", True),
    ({TP: 1, "model.sequence_parallel": False}, "model.sequence_parallel", False),
    # expert tensor parallelism
    ({TP: 4, EP: 1, "model.expert_tensor_parallel_size": None}, "model.expert_tensor_parallel_size", 4),
    ({TP: 4, EP: 8, "model.expert_tensor_parallel_size": None}, "model.expert_tensor_parallel_size", 1),
    ({TP: 4, EP: 8, "model.expert_tensor_parallel_size": 2}, "model.expert_tensor_parallel_size", 2),
    # sizes
    ({"model.hidden_size": 64, "model.ffn_hidden_size": None}, "model.ffn_hidden_size", 256),
    ({"model.hidden_size": 64, "model.num_attention_heads": 4, "model.kv_channels": None}, "model.kv_channels", 16),
    ({"model.num_attention_heads": 4, "model.num_query_groups": None}, "model.num_query_groups", 4),
    ({"model.num_attention_heads": 4, "model.num_query_groups": 2}, "model.num_query_groups", 2),
    ({"model.num_moe_experts": 8, "model.ffn_hidden_size": 64, "model.moe_ffn_hidden_size": None}, "model.moe_ffn_hidden_size", 64),
    # recomputation
    ({"model.recompute_granularity": "selective", "model.recompute_modules": None}, "model.recompute_modules", ["core_attn"]),
    ({"model.recompute_granularity": "full", "model.recompute_modules": ["mlp"]}, "model.recompute_modules", NOT_APPLICABLE),
    ({"model.recompute_granularity": None, "model.recompute_method": "block"}, "model.recompute_method", NOT_APPLICABLE),
    # precision
    ({"mixed_precision": "bf16_mixed", "model.bf16": False}, "model.bf16", True),
    ({"mixed_precision": "bf16-mixed", "model.bf16": False}, "model.bf16", True),
    ({"mixed_precision": None, "model.bf16": False}, "model.bf16", False),
    ({"mixed_precision": "no_such_preset", "model.bf16": False}, "model.bf16", False),
    # communication overlap
    ({"comm_overlap": None, PP: 4, "model.overlap_p2p_comm": True}, "model.overlap_p2p_comm", True),
    ({"comm_overlap.overlap_p2p_comm": None, PP: 1, "model.overlap_p2p_comm": True}, "model.overlap_p2p_comm", False),
    (
        {"comm_overlap.overlap_p2p_comm": None, PP: 4, "model.virtual_pipeline_model_parallel_size": 2, "model.overlap_p2p_comm": False},
        "model.overlap_p2p_comm",
        True,
    ),
    # graphs
    ({"model.cuda_graph_impl": "none", "model.cuda_graph_scope": "attn"}, "model.cuda_graph_scope", NOT_APPLICABLE),
    ({"model.cuda_graph_impl": "none", "model.enable_cuda_graph": True}, "model.cuda_graph_impl", "local"),
    # data
    ({PP: 2, EP: 1, "dataset.pad_to_max_length": False}, "dataset.pad_to_max_length", True),
    ({PP: 1, EP: 1, "dataset.pad_to_max_length": False}, "dataset.pad_to_max_length", False),
    # schedule and evaluation
    ({"train.train_iters": 100, "train.train_samples": None, "scheduler.lr_decay_iters": None}, "scheduler.lr_decay_iters", 100),
    ({"train.global_batch_size": 64, "validation.eval_global_batch_size": None}, "validation.eval_global_batch_size", 64),
    ({"train.eval_iters": 5, "validation.eval_iters": 32}, "validation.eval_iters", 5),
    # switches that agree
    ({"ddp.use_distributed_optimizer": False, "optimizer.use_distributed_optimizer": True}, "ddp.use_distributed_optimizer", True),
    ({"rng.te_rng_tracker": True, "model.use_te_rng_tracker": False}, "model.use_te_rng_tracker", True),
    ({"ddp.use_megatron_fsdp": True, "optimizer.use_distributed_optimizer": False}, "optimizer.use_distributed_optimizer", True),
]


@pytest.mark.parametrize(("fields", "name", "expected"), STEPS)
def test_steps(fields: dict[str, Any], name: str, expected: Any) -> None:
    facts = resolved(fields)
    assert facts[name] == expected
    if name in fields:
        assert facts[f"written.{name}"] == fields[name]


UNDECIDED: list[tuple[dict[str, Any], str]] = [
    ({"model.sequence_parallel": True}, "model.sequence_parallel"),
    ({TP: 4, "model.expert_tensor_parallel_size": None}, "model.expert_tensor_parallel_size"),
    ({"mixed_precision": {"fp8": "hybrid"}, "model.bf16": False}, "model.bf16"),
    ({"dataset.pad_to_max_length": False}, "dataset.pad_to_max_length"),
    ({"ddp.use_distributed_optimizer": False}, "ddp.use_distributed_optimizer"),
    ({"model.use_te_rng_tracker": False}, "model.use_te_rng_tracker"),
    ({"scheduler.lr_decay_iters": None, "train.train_samples": None}, "scheduler.lr_decay_iters"),
]


@pytest.mark.parametrize(("fields", "name"), UNDECIDED)
def test_what_a_part_of_a_config_leaves_open_is_unknown(fields: dict[str, Any], name: str) -> None:
    facts = resolved(fields, complete=False)
    assert facts[name] is UNKNOWN
    assert facts[f"written.{name}"] == fields[name]


@pytest.mark.parametrize(
    ("fields", "name", "expected"),
    [
        ({TP: 1, "model.sequence_parallel": True}, "model.sequence_parallel", False),
        ({"model.sequence_parallel": False}, "model.sequence_parallel", False),
        ({PP: 2, "dataset.pad_to_max_length": False}, "dataset.pad_to_max_length", True),
        ({"mixed_precision": "bf16_mixed"}, "model.bf16", True),
        ({"ddp.use_distributed_optimizer": True}, "ddp.use_distributed_optimizer", True),
        ({"rng.te_rng_tracker": True, "model.use_te_rng_tracker": False}, "model.use_te_rng_tracker", True),
    ],
)
def test_what_is_decided_without_the_rest(fields: dict[str, Any], name: str, expected: Any) -> None:
    assert resolved(fields, complete=False)[name] == expected


def test_changes_say_what_why_and_from_what() -> None:
    facts = resolved({TP: 1, "model.sequence_parallel": True})
    (change,) = [change for change in facts.run.changes if change.name == "model.sequence_parallel"]
    assert (change.old, change.new) == (True, False)
    assert "TP is 1" in change.why


def test_a_config_that_says_nothing_is_not_changed() -> None:
    facts = resolved({}, complete=False)
    assert [change.name for change in facts.run.changes if change.new is not UNKNOWN] == []


def _fields_of_the_steps() -> list[str]:
    folder = Path(lclint.__path__[0]) / "config" / "resolving"
    names = {
        name
        for file in folder.glob("*.py")
        for name in re.findall(r'"((?:model|train|dataset|ddp|optimizer|scheduler|dist)\.[a-z_0-9]+)"', file.read_text("utf-8"))
    }
    return sorted(names)


awkward = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        1,
        -1,
        3,
        10**12,
        10**400,
        0.5,
        float("nan"),
        float("inf"),
        "",
        "full",
        "selective",
        "none",
        "M*-/|",
        "Et*2|tL",
        [],
        ["mlp"],
        [[]],
        [None, 1],
        {},
        {"a": 1},
    ]
)


@settings(max_examples=150, deadline=2_000, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(_fields_of_the_steps()), awkward, max_size=14), st.booleans(), st.sampled_from([None, 8]))
def test_no_value_breaks_a_step(fields: dict[str, Any], complete: bool, gpus: int | None) -> None:
    resolved(fields, complete, gpus=gpus)


@functools.cache
def shipped() -> RuleSet:
    return load_rules(Options())


@settings(max_examples=60, deadline=5_000, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(_fields_of_the_steps()), awkward, max_size=14), st.booleans(), st.sampled_from([None, 8]))
def test_no_value_breaks_a_shipped_rule(fields: dict[str, Any], complete: bool, gpus: int | None) -> None:
    check_run(resolved(fields, complete, gpus=gpus).run, shipped())
