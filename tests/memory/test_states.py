"""Bytes of a parameter in every way that Megatron keeps it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.config.run import Run
from lclint.memory.inputs import Inputs
from lclint.memory.parameters import Weights
from lclint.memory.states import shards, states

AWARE = {"use_precision_aware_optimizer": True, "exp_avg_dtype": "bf16", "exp_avg_sq_dtype": "bf16"}


def dense(count: int = 1000) -> Weights:
    w = Weights()
    w.linear(count, 1)
    return w


def per_parameter(run: Run, w: Weights | None = None) -> float:
    w = w or dense()
    s = states(Inputs(run), w)
    return (s.weights + s.gradients + s.optimizer + s.step) / w.total


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"use_distributed_optimizer": None}, 18),
        ({}, 6 + 12 / 8),
        ({"grad_reduce_in_bf16": True}, 4 + 4 / 8 + 12 / 8),
        ({"bf16": None, "fp16": True, "use_distributed_optimizer": None}, 20),
        ({"bf16": None}, 8 + 8 / 8),
        ({"num_distributed_optimizer_instances": 2}, 6 + 12 / 4),
        # FusedAdam stores the lower half of the main weight
        (AWARE, 6 + 6 / 8),
        ({**AWARE, "main_params_dtype": "fp16"}, 6 + 6 / 8),
        ({"optimizer_cpu_offload": True, "optimizer_offload_fraction": 0.5}, 6 + 8 / 8),
        ({"fp8_format": "hybrid", "fp8_recipe": "tensorwise", "fp8_param_gather": True}, 6 + 12 / 8),
        ({"fp8_format": "hybrid", "fp8_recipe": "tensorwise"}, 8 + 12 / 8),
        ({"use_megatron_fsdp": True, "data_parallel_sharding_strategy": "optim_grads_params"}, 16 / 8),
        ({"use_megatron_fsdp": True, "data_parallel_sharding_strategy": "optim_grads"}, 2 + 14 / 8),
        # weights, main weights, gradients and moments, all FP32
        ({"bf16": None, "use_megatron_fsdp": True, "data_parallel_sharding_strategy": "optim_grads_params"}, 20 / 8),
    ],
)
def test_bytes_of_a_dense_parameter(small: Callable[..., Run], changes: dict[str, Any], expected: float) -> None:
    assert per_parameter(small(8, **changes)) == pytest.approx(expected)


def test_a_preset_with_an_fp8_recipe_keeps_main_weights_in_fp32(small: Callable[..., Run]) -> None:
    run = small(8, **AWARE)
    run.resolved["optimizer.fp8_recipe"] = "tensorwise"
    assert per_parameter(run) == pytest.approx(6 + 8 / 8)


def test_hopper_keeps_the_transpose_of_an_fp8_weight(small: Callable[..., Run]) -> None:
    changes = {"fp8_format": "hybrid", "fp8_recipe": "tensorwise", "fp8_param_gather": True}
    hopper, blackwell = (states(Inputs(small(8, gpu=gpu, **changes)), dense()).weights for gpu in ("h100", "gb200"))
    assert (hopper, blackwell) == (2000, 1000)


def test_dense_states_are_sharded_over_context_ranks_and_experts_over_their_own(small: Callable[..., Run]) -> None:
    m = Inputs(small(64, kind="experts", tensor_model_parallel_size=2, context_parallel_size=2, expert_model_parallel_size=8))
    assert shards(m) == (64 // 2, 64 // 8)


def test_first_step_has_no_moments(small: Callable[..., Run]) -> None:
    s = states(Inputs(small(8)), dense())
    assert s.moments == pytest.approx(8000 / 8)


def test_fp8_weights_are_cast_within_the_step(small: Callable[..., Run]) -> None:
    fp8: dict[str, Any] = {"fp8_format": "hybrid", "fp8_param_gather": True}
    tensorwise, mxfp8, plain = (
        states(Inputs(small(8, gpu="gb200", **changes)), dense()) for changes in ({**fp8, "fp8_recipe": "tensorwise"}, {**fp8, "fp8_recipe": "mxfp8"}, {})
    )
    assert (tensorwise.cast, mxfp8.cast, plain.cast) == (2000 / 8, 0, 0)
