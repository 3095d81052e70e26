"""The estimate against measured runs.

``measured.json`` holds runs of Megatron-LM's public functional tests: bytes that PyTorch's allocator counted on the last pipeline stage after a
step, and at most; ``within`` is how near the estimate comes where it is not 2.5 and 4 %. The stages below are of published logs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lclint.config import build
from lclint.config.run import Run
from lclint.core.options import Options
from lclint.memory.estimate import estimate

ROWS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "measured.json").read_text(encoding="utf-8"))
MIB = 2**20


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_last_stage_of_a_measured_run(row: dict[str, Any]) -> None:
    data = {"ENV_VARS": row["environment"], "MODEL_ARGS": {f"--{name}": value for name, value in row["arguments"].items()}}
    last = estimate(build.from_mapping(data, Options(gpu=row["gpu"], gpus=row["gpus"]))).stages[-1]
    static, peak = row.get("within", (0.025, 0.04))
    assert last.static_bytes == pytest.approx(row["static_bytes"], rel=static)
    assert last.peak_bytes == pytest.approx(row["peak_bytes"], rel=peak)


LLAMA2_7B = {
    "num_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "ffn_hidden_size": 11008,
    "seq_length": 4096,
    "global_batch_size": 128,
    "pipeline_model_parallel_size": 4,
    # its software returned empty gradients that were not kept
    "no_gradient_accumulation_fusion": True,
}


def test_every_stage_of_a_first_step(small: Callable[..., Run]) -> None:
    # Llama-2 7B over four stages on eight GPUs, as printed after one iteration: the optimizer has no moments at the peak
    found = estimate(small(8, gpu=None, **LLAMA2_7B)).stages
    for stage, peak in zip(found, (30227.6, 25079.2, 20931.0, 20115.1), strict=True):
        assert stage.first_step_peak_bytes / MIB == pytest.approx(peak, rel=0.02)


DEEPSEEK_PROXY = {
    "num_layers": 14,
    "decoder_last_pipeline_num_layers": 2,
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
    "num_experts": 64,
    "moe_router_topk": 8,
    "moe_ffn_hidden_size": 2048,
    "moe_shared_expert_intermediate_size": 2048,
    "moe_grouped_gemm": True,
    "moe_token_dispatcher_type": "flex",
    "mtp_num_layers": 1,
    "seq_length": 4096,
    "global_batch_size": 512,
    "pipeline_model_parallel_size": 4,
    "expert_model_parallel_size": 16,
    "expert_tensor_parallel_size": 1,
    "cross_entropy_loss_fusion": True,
    "cross_entropy_fusion_impl": "te",
}


@pytest.mark.parametrize(
    ("changes", "static", "peaks"),
    [
        ({}, (24761, 18908, 18908, 29007), (65204, 52228, 45201, 48166)),
        (
            {"fine_grained_activation_offloading": True, "offload_modules": "[expert_fc1 moe_act attn_norm mlp_norm]"},
            (24705, 18796, 18796, 28951),
            (48545, 38760, 34950, 41311),
        ),
    ],
    ids=["all kept", "offloaded"],
)
def test_every_stage_of_a_deepseek_v3_proxy(small: Callable[..., Run], changes: dict[str, Any], static: tuple[int, ...], peaks: tuple[int, ...]) -> None:
    found = estimate(small(64, **DEEPSEEK_PROXY, **changes)).stages
    for stage, resting, peak in zip(found, static, peaks, strict=True):
        assert stage.static_bytes / MIB == pytest.approx(resting, rel=0.01)
        assert stage.peak_bytes / MIB == pytest.approx(peak, rel=0.06)
