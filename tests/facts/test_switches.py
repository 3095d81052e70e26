"""Smaller facts: overlap, checkpoints, the environment, offloaded modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.context import Facts

SECTION = (
    "comm_overlap:\n  _target_: megatron.bridge.training.comm_overlap.CommOverlapConfig\n  tp_comm_overlap: false\n  overlap_moe_expert_parallel_comm: null\n"
)


@pytest.mark.parametrize(
    ("head", "field"), [(SECTION, "comm_overlap.overlap_moe_expert_parallel_comm"), ("comm_overlap: null\n", "model.overlap_moe_expert_parallel_comm")]
)
def test_where_expert_overlap_is_decided(facts: Callable[..., Facts], head: str, field: str) -> None:
    assert facts(head + "model:\n  expert_model_parallel_size: 8\n")["overlap.ep_field"] == field


def test_what_the_overlap_section_replaces(facts: Callable[..., Facts]) -> None:
    found = facts(SECTION + "model:\n  overlap_moe_expert_parallel_comm: true\n")
    assert [(item["field"], item["becomes"]) for item in found["overlap.lost"]] == [("model.overlap_moe_expert_parallel_comm", False)]


@pytest.mark.parametrize(("lines", "used"), [("save: null\n  load: null", False), ("save: /checkpoints", True), ("save: null", UNKNOWN)])
def test_whether_checkpoints_are_used(facts: Callable[..., Facts], lines: str, used: Any) -> None:
    assert facts(f"checkpoint:\n  ckpt_format: torch_dist\n  {lines}\n")["checkpoint.used"] is used


def test_an_override_is_not_checked_while_loading(facts: Callable[..., Facts]) -> None:
    found = facts("checkpoint:\n  ckpt_format: torch\n  verify_integrity: true\n")
    assert found["checkpoint.loaded_integrity"] is NOT_APPLICABLE


def test_variables_without_a_plain_value(facts: Callable[..., Facts]) -> None:
    found = facts("env_vars:\n  A: null\n  B: 1\n  C: [1]\nmodel:\n  tensor_model_parallel_size: 1\n")
    assert found["environment.not_scalar"] == [{"name": "A", "kind": "null"}, {"name": "C", "kind": "a list"}]


def test_offload_modules(facts: Callable[..., Facts]) -> None:
    found = facts("model:\n  offload_modules: [attn_norm, qkv, everything]\n")
    assert found["offload.unknown_modules"] == ["qkv", "everything"]
    assert found["offload.suggestions"] == [None, "qkv_linear", None]
