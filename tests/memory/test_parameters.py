"""Parameter counts against the public sizes of models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.config.run import Run
from lclint.memory.estimate import estimate

DENSE = {"seq_length": 4096, "make_vocab_size_divisible_by": 1}
LLAMA3_8B = {
    **DENSE,
    "num_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "group_query_attention": True,
    "num_query_groups": 8,
    "ffn_hidden_size": 14336,
    "vocab_size": 128256,
}
QWEN3_30B = {
    **DENSE,
    "num_layers": 48,
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "group_query_attention": True,
    "num_query_groups": 4,
    "kv_channels": 128,
    "ffn_hidden_size": 6144,
    "qk_layernorm": True,
    "num_experts": 128,
    "moe_router_topk": 8,
    "moe_ffn_hidden_size": 768,
    "vocab_size": 151936,
}
DEEPSEEK_V3 = {
    **DENSE,
    "num_layers": 61,
    "hidden_size": 7168,
    "num_attention_heads": 128,
    "ffn_hidden_size": 18432,
    "vocab_size": 129280,
    "multi_latent_attention": True,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_head_dim": 128,
    "qk_pos_emb_head_dim": 64,
    "v_head_dim": 128,
    "qk_layernorm": True,
    "num_experts": 256,
    "moe_router_topk": 8,
    "moe_ffn_hidden_size": 2048,
    "moe_shared_expert_intermediate_size": 2048,
    "moe_layer_freq": "([0]*3+[1]*58)",
    "mtp_num_layers": 1,
}
NEMOTRON_3_NANO = {
    **DENSE,
    "num_layers": None,
    "hybrid_layer_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
    "hidden_size": 2688,
    "num_attention_heads": 32,
    "group_query_attention": True,
    "num_query_groups": 2,
    "kv_channels": 128,
    "swiglu": None,
    "squared_relu": True,
    "num_experts": 128,
    "moe_router_topk": 6,
    "moe_ffn_hidden_size": 1856,
    "moe_shared_expert_intermediate_size": 3712,
    "mamba_num_heads": 64,
    "mamba_head_dim": 64,
    "mamba_num_groups": 8,
    "mamba_state_dim": 128,
    "vocab_size": 131072,
    "position_embedding_type": "none",
}


@pytest.mark.parametrize(
    ("model", "billions"),
    [(LLAMA3_8B, 8.03), (QWEN3_30B, 30.53), (DEEPSEEK_V3, 671.03), (NEMOTRON_3_NANO, 31.58)],
    ids=["llama", "qwen", "deepseek", "nemotron"],
)
@pytest.mark.parametrize("layout", [{}, {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 1, "expert_model_parallel_size": 1}])
def test_the_size_of_a_model_does_not_depend_on_its_layout(small: Callable[..., Run], model: dict[str, Any], billions: float, layout: dict[str, Any]) -> None:
    assert estimate(small(64, **model, **layout)).parameters / 1e9 == pytest.approx(billions, rel=0.005)


def test_the_ends_of_a_pipeline_hold_the_tables(small: Callable[..., Run]) -> None:
    stages = estimate(small(8, pipeline_model_parallel_size=4)).stages
    middle = stages[1].components["weights"]
    assert stages[2].components["weights"] == middle
    assert stages[0].components["weights"] - middle == 2 * 32000 * 1024
    # the final norm
    assert stages[3].components["weights"] - middle == 2 * 32000 * 1024 + 2 * 1024


def test_tied_tables_are_one_without_a_pipeline_and_two_with_it(small: Callable[..., Run]) -> None:
    tied = {"untie_embeddings_and_output_weights": None}
    apart, together = (estimate(small(8, pipeline_model_parallel_size=pp, **tied)).stages for pp in (2, 1))
    assert sum(stage.components["weights"] for stage in apart) - together[0].components["weights"] == 2 * 32000 * 1024


def test_prediction_layers_bring_an_embedding_of_their_own(small: Callable[..., Run]) -> None:
    without, having = (estimate(small(8, pipeline_model_parallel_size=2, mtp_num_layers=depths)).stages[-1].components["weights"] for depths in (None, 1))
    assert having - without > 2 * (32000 * 1024 + 2 * 1024 * 1024)


def test_adapters_leave_the_base_without_gradients(small: Callable[..., Run]) -> None:
    run = small(8)
    run.resolved.update({"peft": {"_target_": "megatron.bridge.peft.lora.LoRA"}, "peft._target_": "megatron.bridge.peft.lora.LoRA", "peft.dim": 16})
    components = estimate(run).stages[0].components
    assert components["gradients"] < components["weights"] / 20
