"""What holds for every config: numbers are finite and not negative, and levers move the estimate the way they should."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lclint.config.run import Run
from lclint.memory.estimate import estimate
from lclint.memory.result import Estimate

MODELS = st.sampled_from(["dense", "grouped", "experts", "latent experts"])
LAYOUTS = st.fixed_dictionaries(
    {
        "tensor-model-parallel-size": st.sampled_from([1, 2, 4]),
        "pipeline-model-parallel-size": st.sampled_from([1, 2, 4]),
        "context-parallel-size": st.sampled_from([1, 2, 4]),
        "micro-batch-size": st.sampled_from([1, 2, 4]),
    }
)
RECOMPUTE: list[dict[str, Any]] = [
    {},
    {"recompute-granularity": "selective", "recompute-modules": "[layernorm]"},
    {"recompute-granularity": "selective", "recompute-modules": "[layernorm mlp moe_act mla_up_proj]"},
    {"recompute-granularity": "full", "recompute-method": "uniform", "recompute-num-layers": 1},
]
GPUS = 128


Found = Callable[..., Estimate]


@pytest.fixture(scope="session")
def found(small: Callable[..., Run]) -> Found:
    """The estimate of the small model with a layout, on 128 GPUs."""

    def make(kind: str, config: dict[str, Any]) -> Estimate:
        result = estimate(small(GPUS, kind=kind, **{name.replace("-", "_"): value for name, value in config.items()}))
        assert result.stages, result.needs
        return result

    return make


def peak(result: Estimate) -> int:
    return max(stage.peak_bytes for stage in result.stages)


def kept(result: Estimate) -> int:
    """The largest stage's bytes of what the forward keeps."""
    names = ("norms", "attention", "mlp", "experts", "mtp", "state_space")
    return max(sum(stage.components.get(name, 0) for name in names) for stage in result.stages)


@settings(max_examples=60, deadline=None)
@given(kind=MODELS, layout=LAYOUTS, recompute=st.sampled_from(RECOMPUTE), parallel=st.booleans())
def test_numbers_are_finite_and_add_up(found: Found, kind: str, layout: dict[str, Any], recompute: dict[str, Any], parallel: bool) -> None:
    for stage in found(kind, {**layout, **recompute, "sequence-parallel": parallel}).stages:
        assert stage.peak_bytes == sum(stage.components.values())
        assert all(value >= 0 and math.isfinite(value) for value in stage.components.values())
        assert 0 <= stage.low_bytes <= stage.peak_bytes <= stage.high_bytes
        assert 0 < stage.static_bytes <= stage.peak_bytes + 20
        assert stage.first_step_peak_bytes <= stage.peak_bytes + 20


@settings(max_examples=40, deadline=None)
@given(kind=MODELS, layout=LAYOUTS, recompute=st.sampled_from(RECOMPUTE))
def test_a_larger_microbatch_never_needs_less(found: Found, kind: str, layout: dict[str, Any], recompute: dict[str, Any]) -> None:
    config = {**layout, **recompute, "global-batch-size": 8 * GPUS}
    assert peak(found(kind, {**config, "micro-batch-size": 2 * layout["micro-batch-size"]})) >= peak(found(kind, config))


@settings(max_examples=40, deadline=None)
@given(kind=MODELS, layout=LAYOUTS)
def test_more_recompute_never_needs_more(found: Found, kind: str, layout: dict[str, Any]) -> None:
    peaks = [peak(found(kind, {**layout, **recompute})) for recompute in RECOMPUTE]
    assert peaks == sorted(peaks, reverse=True)


@settings(max_examples=40, deadline=None)
@given(kind=MODELS, layout=LAYOUTS, fraction=st.sampled_from([0.25, 0.5]))
def test_more_offload_never_needs_more(found: Found, kind: str, layout: dict[str, Any], fraction: float) -> None:
    config = {**layout, "optimizer-cpu-offload": True}
    less, more = (peak(found(kind, {**config, "optimizer-offload-fraction": part})) for part in (fraction, 2 * fraction))
    assert more <= less <= peak(found(kind, {**layout}))


@settings(max_examples=40, deadline=None)
@given(kind=MODELS, layout=LAYOUTS)
def test_more_tensor_parallelism_keeps_less(found: Found, kind: str, layout: dict[str, Any]) -> None:
    # states of what TP does not split (norms, router, latent projections) are sharded over fewer ranks: activations and weights only
    config = {**layout, "sequence-parallel": True, "global-batch-size": 64 * GPUS}
    more = {**config, "tensor-model-parallel-size": 2 * layout["tensor-model-parallel-size"]}
    assert kept(found(kind, more)) <= kept(found(kind, config))
    for before, after in zip(found(kind, config).stages, found(kind, more).stages, strict=True):
        assert after.components["weights"] <= before.components["weights"]


@settings(max_examples=40, deadline=None)
@given(kind=MODELS, layout=LAYOUTS)
def test_more_context_parallelism_keeps_less(found: Found, kind: str, layout: dict[str, Any]) -> None:
    # with enough microbatches that a pipeline is full before and after; the ring's buffers come on top where there was none
    config = {**layout, "global-batch-size": 64 * GPUS}
    more = {**config, "context-parallel-size": 2 * layout["context-parallel-size"]}
    assert kept(found(kind, more)) <= kept(found(kind, config))
    if layout["context-parallel-size"] > 1:
        assert peak(found(kind, more)) <= peak(found(kind, config))


@settings(max_examples=40, deadline=None)
@given(kind=st.sampled_from(["experts", "latent experts"]), layout=LAYOUTS, degree=st.sampled_from([2, 4, 8]))
def test_more_expert_parallelism_never_needs_more(found: Found, kind: str, layout: dict[str, Any], degree: int) -> None:
    # from EP 1 the router's imbalance comes in, so from 2 on
    config = {**layout, "expert-model-parallel-size": degree}
    assert peak(found(kind, {**config, "expert-model-parallel-size": 2 * degree})) <= peak(found(kind, config))


@settings(max_examples=40, deadline=None)
@given(kind=MODELS, layout=LAYOUTS)
def test_more_pipeline_parallelism_keeps_no_more(found: Found, kind: str, layout: dict[str, Any]) -> None:
    # received inputs and the embedding's states over fewer ranks are what grows
    config = {**layout, "global-batch-size": 64 * GPUS}
    more = {**config, "pipeline-model-parallel-size": 2 * layout["pipeline-model-parallel-size"]}
    ends = 4 * 2048 * 1024 * layout["micro-batch-size"]
    assert kept(found(kind, more)) <= kept(found(kind, config)) + ends
    assert max(s.components["weights"] for s in found(kind, more).stages) <= max(s.components["weights"] for s in found(kind, config).stages)


@settings(max_examples=40, deadline=None)
@given(kind=st.sampled_from(["experts", "latent experts"]), layout=LAYOUTS, modules=st.sampled_from(["[expert_fc1]", "[expert_fc1 moe_act mlp_norm]"]))
def test_more_activation_offload_never_needs_more(found: Found, kind: str, layout: dict[str, Any], modules: str) -> None:
    # two layers' worth stays on the GPU, so that a stage of fewer layers gains nothing
    config = {**layout, "fine-grained-activation-offloading": True, "offload-modules": modules}
    half, whole = (peak(found(kind, {**config, "activation-offload-fraction": part})) for part in (0.5, 1.0))
    assert whole <= half <= peak(found(kind, layout)) + 2


@settings(max_examples=40, deadline=None)
@given(kind=MODELS, layout=LAYOUTS, half=st.sampled_from(["bf16", None]), recipe=st.sampled_from(["tensorwise", "mxfp8"]), fsdp=st.booleans())
def test_every_precision_and_sharding_gives_numbers(found: Found, kind: str, layout: dict[str, Any], half: str | None, recipe: str, fsdp: bool) -> None:
    config = {**layout, "bf16": half and True, "fp8-format": "hybrid", "fp8-recipe": recipe, "fp8-param-gather": True}
    if fsdp:
        config.update({"use-megatron-fsdp": True, "data-parallel-sharding-strategy": "optim_grads_params"})
    for stage in found(kind, config).stages:
        assert all(value >= 0 and math.isfinite(value) for value in stage.components.values())
        assert 0 <= stage.low_bytes <= stage.peak_bytes <= stage.high_bytes


@settings(max_examples=40, deadline=None)
@given(kind=MODELS, layout=LAYOUTS, modules=st.sampled_from(["attn", "[attn mlp moe_router]", "full"]), steps=st.sampled_from([0, 3]))
def test_graphs_never_need_less(found: Found, kind: str, layout: dict[str, Any], modules: str, steps: int) -> None:
    graphed = found(kind, {**layout, "cuda-graph-impl": "transformer_engine", "cuda-graph-scope": modules, "cuda-graph-warmup-steps": steps})
    plain = found(kind, layout)
    assert graphed.required_bytes is not None
    assert plain.required_bytes is not None
    assert graphed.required_bytes >= plain.required_bytes - 2
    assert all(stage.pool_bytes >= 0 and all(value >= 0 for value in stage.components.values()) for stage in graphed.stages)


@settings(max_examples=20, deadline=None)
@given(kind=MODELS, layout=LAYOUTS, fraction=st.sampled_from([0.5, 1.0]))
def test_an_adapters_optimizer_on_the_host_needs_less(found: Found, kind: str, layout: dict[str, Any], fraction: float) -> None:
    adapter = ["++peft._target_=megatron.bridge.peft.lora.LoRA", "++peft.dim=32"]
    less, more = (
        peak(found(kind, {**layout, "sets": [*adapter, *host]}))
        for host in ([], ["++optimizer.optimizer_cpu_offload=true", f"++optimizer.optimizer_offload_fraction={fraction}"])
    )
    assert more < less
