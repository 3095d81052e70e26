"""The estimate as a whole: verdicts, what it needs, what it says of itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import lclint
from lclint.config import build
from lclint.config.run import Run
from lclint.core.options import Options
from lclint.memory.estimate import estimate


def test_verdicts(small: Callable[..., Run]) -> None:
    assert estimate(small(8)).verdict == "fits"
    assert estimate(small(8, micro_batch_size=256, global_batch_size=2048)).verdict == "oom"
    assert estimate(small(8, gpu=None)).verdict == "unknown"


def test_between_fits_and_out_of_memory_it_is_tight(small: Callable[..., Run]) -> None:
    verdicts = [estimate(small(8, micro_batch_size=size, global_batch_size=8 * size)).verdict for size in range(8, 64)]
    assert verdicts == sorted(verdicts, key=["fits", "tight", "oom"].index)
    assert "tight" in verdicts


def test_without_what_nothing_can_stand_in_for_there_is_no_estimate() -> None:
    found = lclint.estimate_memory({"model": {"tensor_model_parallel_size": 2}}, gpu="h100", gpus=8)
    assert found.stages == []
    assert found.verdict == "unknown"
    # of what is assumed for nothing there is no list
    assert found.assumptions == []
    assert {"model.num_layers", "model.hidden_size", "train.micro_batch_size", "model.vocab_size"} <= set(found.needs)


def test_what_a_partial_file_does_not_say_is_named_among_the_assumptions() -> None:
    model = {
        "num_layers": 4,
        "hidden_size": 512,
        "num_attention_heads": 8,
        "seq_length": 1024,
        "vocab_size": 32000,
        "tensor_model_parallel_size": 1,
        "pipeline_model_parallel_size": 1,
        "context_parallel_size": 1,
    }
    found = lclint.estimate_memory({"model": model, "train": {"micro_batch_size": 1, "global_batch_size": 8}}, gpu="h100", gpus=8)
    assert found.verdict == "fits"
    assert any("ddp.use_distributed_optimizer" in text for text in found.assumptions)


def test_graphs_and_offload_are_named_as_not_modelled(small: Callable[..., Run]) -> None:
    found = estimate(small(8, cuda_graph_impl="transformer_engine", fine_grained_activation_offloading=True, offload_modules="[attn_proj]"))
    assert [text.split(":")[0] for text in found.not_modelled] == ["CUDA graphs", "fine-grained offload"]
    plain, graphed = (estimate(small(8, cuda_graph_impl=impl)).stages[0] for impl in (None, "local"))
    assert graphed.high_bytes - plain.high_bytes == 3 * 2**30
    assert graphed.peak_bytes == plain.peak_bytes


def test_a_name_that_says_another_size_is_pointed_at(small: Callable[..., Run]) -> None:
    run = small(8)
    assert not any("as its name says" in text for text in estimate(run).not_modelled)
    run.resolved["model.hf_model_id"] = "someone/Some-26B-A4B-it"
    assert any(text.startswith("someone/Some-26B-A4B-it as its name says: this config describes a model of 0.3 B") for text in estimate(run).not_modelled)


def test_what_cannot_be_is_not_called_missing() -> None:
    model = {"num_layers": -4, "hidden_size": 512, "num_attention_heads": "many", "seq_length": 1024, "vocab_size": 32000}
    degrees = {f"{name}_parallel_size": 1 for name in ("tensor_model", "pipeline_model", "context")}
    found = lclint.estimate_memory({"model": {**model, **degrees}, "train": {"micro_batch_size": 0, "global_batch_size": 8}}, gpu="h100", gpus=8)
    assert found.stages == []
    assert found.needs == []
    assert found.wrong == [
        "train.micro_batch_size is 0, not a positive whole number",
        "model.num_layers is -4, not a positive whole number",
        "model.num_attention_heads is the text many, not a positive whole number",
    ]


def test_deterministic_runs_may_take_unfused_attention(small: Callable[..., Run]) -> None:
    plain, careful = (estimate(small(8, gpu="a100", attention_backend="auto", deterministic_mode=on)).stages[0] for on in (None, True))
    assert careful.high_bytes - plain.high_bytes == 16 * 2 * 16 * 2048 * 2048


def test_a_recipe_by_name() -> None:
    found = lclint.estimate_memory({"train": {"micro_batch_size": 1}}, recipe="deepseek_v3_pretrain_256gpu_gb200_bf16_config", gpu="gb200", gpus=256)
    assert found.parameters / 1e9 == pytest.approx(671.03, rel=0.001)
    assert [stage.stage for stage in found.stages] == [0, 1, 2, 3]


def test_rotated_copies_behind_norms_are_not_at_the_lower_end(small: Callable[..., Run]) -> None:
    fused, plain = (estimate(small(8, qk_layernorm=True, **changes)).stages[0] for changes in ({}, {"no_rope_fusion": True}))
    copies = 16 * 2 * 2048 * 2 * 1024
    assert plain.peak_bytes == pytest.approx(fused.peak_bytes + copies)
    assert plain.low_bytes == pytest.approx(fused.low_bytes)
    # without norms the output of the projection lies beside them for sure
    fused, plain = (estimate(small(8, **changes)).stages[0] for changes in ({}, {"no_rope_fusion": True}))
    assert plain.low_bytes == pytest.approx(fused.low_bytes + 0.8 * copies)


def test_what_the_config_fixes_has_no_range(small: Callable[..., Run]) -> None:
    # full recompute: of 16 layers only inputs of 4 MiB are kept, and one layer's backward; states, workspaces and placeholders are exact
    stage = estimate(small(8, recompute_granularity="full", recompute_method="uniform", recompute_num_layers=1)).stages[0]
    exact = sum(stage.components.get(name, 0) for name in ("weights", "gradients", "optimizer", "buffers", "workspaces"))
    assert stage.low_bytes == pytest.approx(exact + 0.8 * (stage.peak_bytes - exact))
    assert stage.high_bytes == pytest.approx(exact + 1.05 * (stage.peak_bytes - exact))


def test_natural_routing_that_ran_out_of_memory_does_not_fit() -> None:
    # Nemotron-3 Nano on 16 H100 with natural routing and nothing recomputed failed in its second step; with its experts computed again it ran
    natural = ["model.moe_router_force_load_balancing=false", "model.sequence_parallel=false", "train.global_batch_size=16", "train.micro_batch_size=1"]
    kept = [*natural, "model.tensor_model_parallel_size=1", "model.expert_model_parallel_size=8", "model.recompute_granularity=null"]
    again = [*kept[:-1], "model.recompute_granularity=selective", "model.recompute_modules=[moe]"]
    verdicts = []
    for sets in (kept, again):
        run = build.from_overrides(Options(recipe="nemotron_3_nano_pretrain_16gpu_h100_bf16_config", gpu="h100", gpus=16, sets=sets))
        assert run is not None
        verdicts.append(estimate(run).verdict)
    assert verdicts == ["oom", "fits"]


@pytest.mark.parametrize(("changes", "times"), [({}, "1.6"), ({"moe_router_force_load_balancing": True}, "1.05"), ({"moe_expert_capacity_factor": 2.0}, "2")])
def test_how_uneven_routing_may_be_is_said_as_it_is_counted(small: Callable[..., Run], changes: dict[str, object], times: str) -> None:
    found = estimate(small(8, kind="experts", expert_model_parallel_size=8, **changes))
    assert any(f"has {times} times the even share" in text for text in found.not_modelled)
