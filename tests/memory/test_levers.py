"""What levers free, against what was published for them; ``levers`` of the package are tried on in ``test_facts``.

DeepSeek-V3 on 256 GB200 at PP 4, VPP 4, EP 64 in MXFP8, and its activations in BF16; Qwen3 30B with its optimizer on the host; an adapter on
Qwen3 8B.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.config.run import Run
from lclint.memory.estimate import estimate
from lclint.memory.result import Stage

GB = 1e9
DEEPSEEK_V3: dict[str, Any] = {
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
    "moe_grouped_gemm": True,
    "moe_router_force_load_balancing": True,
    "moe_token_dispatcher_type": "flex",
    "moe_flex_dispatcher_backend": "hybridep",
    "expert_model_parallel_size": 64,
    "expert_tensor_parallel_size": 1,
    "pipeline_model_parallel_size": 4,
    "pipeline_model_parallel_layout": "Et*4|(t*4|)*14tmL",
    "mtp_num_layers": 1,
    "seq_length": 4096,
    "global_batch_size": 8192,
    "cross_entropy_loss_fusion": True,
    "cross_entropy_fusion_impl": "te",
    "grad_reduce_in_bf16": True,
}
MXFP8: dict[str, Any] = {"fp8_format": "e4m3", "fp8_recipe": "mxfp8"}


def first(small: Callable[..., Run], **changes: Any) -> Stage:
    return estimate(small(256, gpu="gb200", **{**DEEPSEEK_V3, **changes})).stages[0]


def activations(stage: Stage) -> int:
    return sum(stage.components.get(name, 0) for name in ("norms", "attention", "mlp", "experts"))


@pytest.mark.parametrize(("module", "freed"), [("mla_up_proj", 30.4), ("layernorm", 8.2), ("moe_act", 3.8)])
def test_recompute_of_deepseek_v3(small: Callable[..., Run], module: str, freed: float) -> None:
    plain = first(small, **MXFP8)
    less = first(small, recompute_granularity="selective", recompute_modules=f"[{module}]", **MXFP8)
    assert (activations(plain) - activations(less)) / GB == pytest.approx(freed, rel=0.25)


def test_fp8_activations_of_deepseek_v3(small: Callable[..., Run]) -> None:
    assert (activations(first(small)) - activations(first(small, **MXFP8))) / GB == pytest.approx(16, rel=0.25)


def test_breakdown_of_deepseek_v3(small: Callable[..., Run]) -> None:
    # published in BF16: weights and gradients 36.4, main weights and moments 32.1, activations 131.0; 199.5 GB in all
    found = first(small)
    assert activations(found) / GB == pytest.approx(131.0, rel=0.05)
    assert (found.components["weights"] + found.components["gradients"]) / GB == pytest.approx(36.4, rel=0.15)
    assert found.components["optimizer"] / GB == pytest.approx(32.1, rel=0.15)
    assert found.peak_bytes / GB == pytest.approx(199.5, rel=0.05)


QWEN3_30B: dict[str, Any] = {
    "num_layers": 48,
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "group_query_attention": True,
    "num_query_groups": 4,
    "kv_channels": 128,
    "ffn_hidden_size": 6144,
    "vocab_size": 151936,
    "qk_layernorm": True,
    "num_experts": 128,
    "moe_router_topk": 8,
    "moe_ffn_hidden_size": 768,
    "moe_grouped_gemm": True,
    "tensor_model_parallel_size": 2,
    "sequence_parallel": True,
    "pipeline_model_parallel_size": 2,
    "expert_model_parallel_size": 4,
    "expert_tensor_parallel_size": 1,
    "seq_length": 4096,
    "grad_reduce_in_bf16": True,
}


def test_an_optimizer_on_the_host(small: Callable[..., Run]) -> None:
    # 47.2, 43.4, 39.6, 35.6 and 32.0 GB from 0 to 100 %
    peaks = [
        max(stage.peak_bytes for stage in estimate(small(16, **QWEN3_30B, optimizer_cpu_offload=True, optimizer_offload_fraction=part)).stages)
        for part in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    for step, freed in zip(range(4), (3.8, 3.8, 4.0, 3.6), strict=True):
        assert (peaks[step] - peaks[step + 1]) / GB == pytest.approx(freed, rel=0.25)
    assert (peaks[0] - peaks[4]) / GB == pytest.approx(15.2, rel=0.05)


def test_an_adapter_that_gathers_its_input_again(small: Callable[..., Run]) -> None:
    # Qwen3 8B at 8192 tokens over two ranks: 47.545 and 42.814 GB
    run = small(2, num_layers=36, hidden_size=4096, ffn_hidden_size=12288, num_attention_heads=32, seq_length=8192, tensor_model_parallel_size=2,
                sequence_parallel=True, vocab_size=151936, group_query_attention=True, num_query_groups=8)  # fmt: skip
    run.resolved.update({"peft": {}, "peft._target_": "megatron.bridge.peft.lora.LoRA", "peft.dim": 32})
    run.resolved["peft.target_modules"] = ["linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"]
    peaks = []
    for again in (False, True):
        run.resolved["peft.sequence_parallel_input_regather"] = again
        peaks.append(estimate(run).stages[0].peak_bytes)
    assert (peaks[0] - peaks[1]) / GB == pytest.approx(47.545 - 42.814, rel=0.25)
