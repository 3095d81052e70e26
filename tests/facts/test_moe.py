"""Experts, dispatchers and attention variants as the checks see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.context import Facts


def test_active(facts: Callable[..., Facts]) -> None:
    assert facts("model:\n  num_moe_experts: 8\n")["moe.active"] is True
    assert facts("model:\n  num_moe_experts: null\n")["moe.active"] is False
    assert facts("model:\n  num_layers: 8\n  hidden_size: 64\n  seq_length: 8\n  context_parallel_size: 1\n")["moe.active"] is UNKNOWN


@pytest.mark.parametrize(
    ("dispatcher", "backend", "switch", "named", "used"),
    [
        ("flex", "hybridep", "false", "hybridep", "hybridep"),
        ("flex", "null", "false", None, None),
        ("flex", "null", "true", "deepep", "deepep"),
        ("alltoall", "deepep", "false", "deepep", NOT_APPLICABLE),
    ],
)
def test_backend(facts: Callable[..., Facts], dispatcher: str, backend: str, switch: str, named: Any, used: Any) -> None:
    found = facts(
        f"model:\n  num_moe_experts: 8\n  moe_token_dispatcher_type: {dispatcher}\n  moe_flex_dispatcher_backend: {backend}\n  moe_enable_deepep: {switch}\n"
    )
    assert found["moe.dispatcher"] == dispatcher
    assert found["moe.named_backend"] == named
    assert found["moe.backend"] == used


def test_dispatcher_of_a_dense_model(facts: Callable[..., Facts]) -> None:
    assert facts("model:\n  num_moe_experts: null\n  moe_token_dispatcher_type: flex\n")["moe.dispatcher"] is NOT_APPLICABLE


@pytest.mark.parametrize(("factor", "value"), [("null", None), ("-1.0", None), ("1.5", 1.5)])
def test_capacity_factor(facts: Callable[..., Facts], factor: str, value: Any) -> None:
    assert facts(f"model:\n  moe_expert_capacity_factor: {factor}\n")["moe.capacity_factor"] == value


@pytest.mark.parametrize(
    ("frequency", "mixed", "entries"), [("1", False, NOT_APPLICABLE), ("2", True, NOT_APPLICABLE), ("[0, 1]", True, 2), ("[1, 1]", False, 2)]
)
def test_layer_frequency(facts: Callable[..., Facts], frequency: str, mixed: bool, entries: Any) -> None:
    found = facts(f"model:\n  moe_layer_freq: {frequency}\n")
    assert (found["moe.mixed_layers"], found["moe.layer_list"]) == (mixed, entries)


def test_experts_per_rank(facts: Callable[..., Facts]) -> None:
    assert facts("model:\n  num_moe_experts: 64\n  expert_model_parallel_size: 8\n")["moe.experts_per_rank"] == 8
    assert facts("model:\n  num_moe_experts: 60\n  expert_model_parallel_size: 8\n")["moe.experts_per_rank"] is NOT_APPLICABLE


def test_attention_variants(facts: Callable[..., Facts]) -> None:
    found = facts("model:\n  experimental_attention_variant: dsa\n  no_rope_freq: [0, 1]\n")
    assert (found["attention.dsa"], found["attention.gdn"], found["attention.no_rope_list"]) == (True, False, 2)
    assert facts("model:\n  kv_lora_rank: 512\n")["attention.mla_class"] is True
    assert facts("model:\n  _target_: megatron.bridge.models.gpt_provider.GPTModelProvider\n")["attention.mla_class"] is False
