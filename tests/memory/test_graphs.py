"""CUDA graphs: static inputs, and what lies in their pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.config.run import Run
from lclint.memory import graphs
from lclint.memory.estimate import estimate
from lclint.memory.inputs import Inputs

T, H, LAYERS = 2048, 1024, 16
TE = "transformer_engine"


def test_a_graphed_layer_has_its_input_and_a_mask(small: Callable[..., Run]) -> None:
    attention = Inputs(small(8, cuda_graph_impl=TE, cuda_graph_scope="attn"))
    assert graphs.inputs(attention, ("full", "dense")) == (2 * T * H, T * T)
    assert graphs.inputs(Inputs(small(8, cuda_graph_impl=TE, cuda_graph_scope="mlp")), ("full", "dense")) == (2 * T * H, 0)
    assert graphs.inputs(Inputs(small(8, cuda_graph_impl="local")), ("full", "dense")) == (0, 0)
    assert graphs.inputs(attention, ("mamba", "")) == (0, 0)


@pytest.mark.parametrize(("pp", "alive"), [(1, 1), (2, 2)])
def test_static_inputs_are_there_for_every_microbatch_alive(small: Callable[..., Run], pp: int, alive: int) -> None:
    plain, graphed = (estimate(small(8, pipeline_model_parallel_size=pp, **given)).stages[0] for given in ({}, {"cuda_graph_impl": TE}))
    assert graphed.static_bytes - plain.static_bytes == alive * LAYERS // pp * (2 * T * H + T * T)
    # the residual is kept by the layer in any case
    assert graphed.peak_bytes - plain.peak_bytes == alive * LAYERS // pp * T * T


@pytest.mark.parametrize(
    ("modules", "kind", "names"),
    [
        ("attn", ("full", "moe"), {"input_norm", "qkv", "attention_output"}),
        ("moe_router", ("full", "moe"), {"mlp_norm", "router", "shared_expert"}),
        ("mamba", ("mamba", ""), {"input_norm", "mamba"}),
        ("mamba", ("full", "moe"), set()),
        ("full", ("full", "dense"), {"input_norm", "mlp_norm", "mlp"}),
    ],
)
def test_what_is_captured(small: Callable[..., Run], modules: str, kind: tuple[str, str], names: set[str]) -> None:
    found = graphs.captured(Inputs(small(8, kind="experts", cuda_graph_impl=TE, cuda_graph_scope=modules)), kind)
    assert names <= found if names else not found


def test_without_warm_up_steps_the_pool_is_beside_the_peak(small: Callable[..., Run]) -> None:
    options: dict[str, Any] = {"cuda_graph_impl": TE, "cuda_graph_scope": "attn", "attention_backend": "unfused"}
    eager, graphed = (estimate(small(8, cuda_graph_warmup_steps=steps, **options)) for steps in (3, 0))
    one, other = eager.stages[0], graphed.stages[0]
    assert other.peak_bytes < one.peak_bytes
    assert other.pool_bytes == one.peak_bytes - other.peak_bytes
    assert one.pool_bytes == 0
    assert abs(eager.required_bytes - graphed.required_bytes) <= 2
