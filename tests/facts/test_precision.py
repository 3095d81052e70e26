"""Mixed-precision presets: unknown names, and what a preset replaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.context import Facts

MODEL = "model:\n  tensor_model_parallel_size: 1\n"


@pytest.mark.parametrize(
    ("name", "unknown", "nearest"),
    [
        ("bf16_mixed", NOT_APPLICABLE, NOT_APPLICABLE),
        ("bf16-mixed", NOT_APPLICABLE, NOT_APPLICABLE),
        ("bf16", "bf16", "bf16_mixed"),
        ("bf16_with_mxfp8", "bf16_with_mxfp8", "bf16_with_mxfp8_mixed"),
        ("BF16_MIXED", "BF16_MIXED", "bf16_mixed"),
        ("fastest", "fastest", None),
        ("null", NOT_APPLICABLE, NOT_APPLICABLE),
    ],
)
def test_preset_names(facts: Callable[..., Facts], name: str, unknown: Any, nearest: Any) -> None:
    found = facts(f"mixed_precision: {name}\n" + MODEL)
    assert found["precision.unknown_preset"] == unknown
    assert found["precision.nearest_preset"] == nearest


def test_what_the_preset_replaces(facts: Callable[..., Facts]) -> None:
    found = facts("mixed_precision: bf16_mixed\n" + MODEL + "  fp8: hybrid\n  bf16: true\n")
    assert [(item["field"], item["written"], item["becomes"]) for item in found["precision.lost"]] == [("model.fp8", "hybrid", None)]
    assert facts(MODEL)["precision.lost"] is UNKNOWN


@pytest.mark.parametrize(
    ("precision", "field"),
    [
        ("bf16_mixed", "mixed_precision"),
        ("null", "model.fp8"),
        ("{_target_: megatron.bridge.training.mixed_precision.MixedPrecisionConfig}", "mixed_precision.fp8"),
    ],
)
def test_where_fp8_is_decided(facts: Callable[..., Facts], precision: str, field: str) -> None:
    assert facts(f"mixed_precision: {precision}\n" + MODEL)["precision.field_fp8"] == field


def test_buffer_reuse_before_fsdp_turns_it_off(facts: Callable[..., Facts]) -> None:
    text = "mixed_precision: bf16_with_mxfp8_mixed\nddp:\n  use_megatron_fsdp: true\n  reuse_grad_buf_for_mxfp8_param_ag: false\n"
    found = facts(text)
    assert found["precision.ddp_reuses_buffer"] is True
    assert found["ddp.reuse_grad_buf_for_mxfp8_param_ag"] is False


def test_layers_of_a_stage(facts: Callable[..., Facts]) -> None:
    assert facts("model:\n  num_layers: 61\n  pipeline_model_parallel_size: 4\n")["precision.layers_per_stage"] == 15
