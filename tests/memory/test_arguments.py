"""Megatron-LM argument files: their fields, their defaults, and checking them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lclint.config import megatron_args
from lclint.config.run import Run

TEXT = """\
ENV_VARS:
  CUDA_DEVICE_MAX_CONNECTIONS: 1
MODEL_ARGS:
  --num-layers: 12
  --hidden-size: 512
  --num-attention-heads: 8
  --tensor-model-parallel-size: 2
  --pipeline-model-parallel-size: 2
  --seq-length: 1024
  --micro-batch-size: 4
  --global-batch-size: 32
  --bf16: true
  --disable-bias-linear: true
  --swiglu: true
  --recompute-granularity: selective
  --recompute-modules: "[layernorm mlp]"
"""


def fields(**arguments: Any) -> dict[str, Any]:
    return megatron_args.read({"MODEL_ARGS": {f"--{name.replace('_', '-')}": value for name, value in arguments.items()}})[0]


def test_a_file_of_arguments_is_recognised(run_of: Callable[..., Run]) -> None:
    run = run_of(TEXT, gpus=8)
    assert run.kind == "megatron-args"
    assert run.resolved["model.tensor_model_parallel_size"] == 2
    assert run.resolved["model.add_bias_linear"] is False
    assert run.resolved["model.recompute_modules"] == ["layernorm", "mlp"]
    assert run.environment == {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}


def test_a_value_is_found_at_its_argument(run_of: Callable[..., Run]) -> None:
    run = run_of(TEXT)
    assert run.place("model.tensor_model_parallel_size").line == 7
    assert run.place("env.CUDA_DEVICE_MAX_CONNECTIONS").line == 2
    # a default of Megatron-LM stands nowhere
    assert run.place("model.hidden_dropout").origin == "default"


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        ({"hidden_size": 96}, "model.ffn_hidden_size", 384),
        ({"hidden_size": 96, "swiglu": True}, "model.ffn_hidden_size", 256),
        ({"num_attention_heads": 8, "num_query_groups": 2}, "model.num_query_groups", 8),
        ({"num_attention_heads": 8, "group_query_attention": True, "num_query_groups": 2}, "model.num_query_groups", 2),
        ({"bf16": True}, "ddp.grad_reduce_in_fp32", True),
        ({"bf16": True, "grad_reduce_in_bf16": True}, "ddp.grad_reduce_in_fp32", False),
        ({"fp16": True}, "ddp.grad_reduce_in_fp32", False),
        ({"num_experts": 8, "moe_layer_freq": "([0]*1+[1]*3)"}, "model.moe_layer_freq", [0, 1, 1, 1]),
        ({"num_experts": 8, "moe_layer_freq": 2}, "model.moe_layer_freq", 2),
        ({"num_experts": 8, "tensor_model_parallel_size": 4}, "model.expert_tensor_parallel_size", 4),
        ({"pipeline_model_parallel_layout": "Et*3\\|(tt\\|)*6mL"}, "model.pipeline_model_parallel_layout", "Et*3|(tt|)*6mL"),
        (
            {"num_layers": 12, "pipeline_model_parallel_size": 2, "num_layers_per_virtual_pipeline_stage": 3},
            "model.virtual_pipeline_model_parallel_size",
            2,
        ),
        ({"hybrid_override_pattern": "M-M*|M-M*"}, "model.num_layers", 8),
        ({"fp8_format": "hybrid"}, "model.fp8_recipe", "delayed"),
        ({"cuda_graph_scope": "[attn mlp]"}, "model.cuda_graph_modules", ["attn", "mlp"]),
        ({"linear_attention_freq": 4}, "model.linear_attention_freq", 4),
        ({"cpu_offloading_num_layers": 4}, "model.cpu_offloading", True),
        ({"fp8_format": "hybrid", "fp8_recipe": "mxfp8"}, "optimizer.fp8_recipe", "mxfp8"),
        ({}, "model.hidden_dropout", 0.1),
        ({}, "model.vocab_size", 50257),
        ({}, "model.share_embeddings_and_output_weights", True),
        ({"untie_embeddings_and_output_weights": True}, "model.share_embeddings_and_output_weights", False),
        ({}, "model.apply_rope_fusion", True),
        ({"no_rope_fusion": True}, "model.apply_rope_fusion", False),
        ({"no_rope_fusion": False}, "model.apply_rope_fusion", True),
        ({"num_experts": 8}, "model.moe_router_load_balancing_type", "aux_loss"),
        ({"moe_router_load_balancing_type": "sinkhorn"}, "model.moe_router_load_balancing_type", "sinkhorn"),
        ({"moe_router_load_balancing_type": "aux_loss seq_aux_loss"}, "model.moe_router_load_balancing_type", ["aux_loss", "seq_aux_loss"]),
        ({"hierarchical_context_parallel_sizes": "2 4"}, "model.hierarchical_context_parallel_sizes", [2, 4]),
        ({"cp_comm_type": "a2a"}, "model.cp_comm_type", "a2a"),
        ({}, "model.cp_comm_type", "p2p"),
        ({"moe_aux_loss_coeff": 0.01}, "model.moe_aux_loss_coeff", 0.01),
        ({}, "model.moe_router_force_load_balancing", False),
        ({}, "model.overlap_p2p_comm", False),
        ({"num_virtual_stages_per_pipeline_rank": 2}, "model.batch_p2p_comm", False),
    ],
)
def test_arguments_and_their_defaults(arguments: dict[str, Any], field: str, value: Any) -> None:
    assert fields(**arguments)[field] == value


def test_check_reads_arguments_and_patches_none_of_them(cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "args.yaml").write_text(TEXT.replace("hidden-size: 512", "hidden-size: 512\n  --sequence-parallel: true").replace("size: 2", "size: 1", 1))
    done = cli("check", "args.yaml", "--gpus", "8", "--diff", "--unsafe-fixes")
    assert done.status == 0
    assert done.out == ""
    done = cli("check", "args.yaml", "--gpus", "8")
    assert "args.yaml:6" in done.out
    assert "change the arguments" in done.out


def test_names_that_are_no_arguments() -> None:
    arguments = {"--tensor-model-paralel-size": 2, "num-layers": 3, "--micro-batch-size": 1, "--cuda-graph-scope": "attn", "--export-te-mcore-model": True}
    assert megatron_args.unknown({"MODEL_ARGS": arguments}) == [
        ("--tensor-model-paralel-size", "--tensor-model-parallel-size"),
        ("num-layers", "--num-layers"),
        ("--export-te-mcore-model", None),
    ]


def test_a_slip_is_named_beside_the_estimate(cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "args.yaml").write_text(TEXT + "  --tensor-model-paralel-size: 4\n  --vocab-size: 32000\n")
    assert "did you mean" in cli("memory", "args.yaml", "--gpu", "h100", "--gpus", "8").out


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("model.moe_permute_fusion", True, "--moe-permute-fusion: true"),
        ("model.sequence_parallel", False, "no --sequence-parallel"),
        ("model.apply_rope_fusion", False, "--no-rope-fusion: true"),
        ("model.apply_rope_fusion", True, "no --no-rope-fusion"),
        ("model.moe_expert_capacity_factor", None, "no --moe-expert-capacity-factor"),
        ("model.num_moe_experts", 16, "--num-experts: 16"),
        ("checkpoint.save", "/x", None),
    ],
)
def test_what_an_argument_file_has_to_say(field: str, value: Any, text: str | None) -> None:
    assert megatron_args.spelled(field, value) == text


def test_a_default_of_megatron_lm_is_called_so(cli: Callable[..., Any], tmp_path: Path) -> None:
    shape = {"num-layers": 4, "hidden-size": 512, "num-attention-heads": 8, "micro-batch-size": 1}
    experts = {"num-experts": 128, "moe-router-topk": 8, "moe-expert-capacity-factor": 1.0}
    text = "MODEL_ARGS:\n" + "".join(f"  --{name}: {value}\n" for name, value in {**shape, **experts}.items())
    (tmp_path / "args.yaml").write_text(text)
    out = " ".join(cli("check", "args.yaml", "--select", "tokens-dropped-by-capacity").out.split())
    assert "model.moe_router_force_load_balancing (Megatron-LM's default)" in out
    assert "change the arguments of the file: no --moe-expert-capacity-factor" in out
