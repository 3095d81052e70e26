"""What a layer keeps, and what recompute, offload, precision and kernels change of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.config.run import Run
from lclint.memory import activations, buffers, loss, parameters, saving, schedule
from lclint.memory.inputs import Inputs

T, H = 2048, 1024
FULL = ("full", "dense")
MOE = ("full", "moe")


def kept(run: Run, kind: tuple[str, str] = FULL) -> dict[str, float]:
    m = Inputs(run)
    return saving.saved(m, activations.layer(m, kind))


def weights(run: Run, stage: int) -> parameters.Weights:
    m = Inputs(run)
    return parameters.stage(m, schedule.stages(m)[stage], {})


def test_a_dense_layer_tensor_by_tensor(small: Callable[..., Run]) -> None:
    assert kept(small(8)) == {
        "input_norm": 4 * T * H,
        "qkv": 2 * T * 3 * H,
        # the kernel's output, and a sum in FP32 for each of 16 heads
        "attention_output": 2 * T * H + 4 * T * 16,
        "mlp_norm": 4 * T * H,
        # two halves of the gated unit, and their product
        "mlp": 6 * T * 2688,
    }


def test_sequence_parallelism_splits_the_residual_stream(small: Callable[..., Run]) -> None:
    plain, split = (kept(small(8, tensor_model_parallel_size=2, sequence_parallel=on)) for on in (False, True))
    assert split["input_norm"] == plain["input_norm"] / 2
    assert split["qkv"] == plain["qkv"]


def test_scores_are_kept_by_unfused_attention_only(small: Callable[..., Run]) -> None:
    assert kept(small(8, attention_backend="unfused"))["scores"] == 2 * 16 * T * T
    assert kept(small(8, attention_backend="unfused", attention_dropout=0.1))["scores"] == 5 * 16 * T * T
    assert "scores" not in kept(small(8, attention_backend="unfused", recompute_granularity="selective"))


@pytest.mark.parametrize(("gpu", "backend", "copies"), [("h100", "auto", 1), ("h100", "flash", 2), ("a100", "auto", 2), ("gb200", "auto", 1)])
def test_flash_attention_keeps_its_output_twice(small: Callable[..., Run], gpu: str, backend: str, copies: int) -> None:
    two = kept(small(8, gpu=gpu, attention_backend=backend, micro_batch_size=2))
    assert two["attention_output"] == 2 * (copies * 2 * T * H + 4 * T * 16)
    # to transpose a batch of one sequence copies nothing
    assert kept(small(8, gpu=gpu, attention_backend=backend))["attention_output"] == 2 * T * H + 4 * T * 16


@pytest.mark.parametrize(
    ("module", "gone"),
    [
        ("layernorm", {"input_norm": 2 * T * H, "mlp_norm": 2 * T * H}),
        ("mla_up_proj", {"up_projection": 0}),
        ("moe_act", {"expert_act": 0}),
        ("moe", {"expert_input": 0, "expert_fc1": 0, "router": 0}),
    ],
)
def test_selective_recompute(small: Callable[..., Run], module: str, gone: dict[str, int]) -> None:
    before = kept(small(8, kind="latent experts"), MOE)
    after = kept(small(8, kind="latent experts", recompute_granularity="selective", recompute_modules=f"[{module}]"), MOE)
    for name, size in gone.items():
        assert after.get(name, 0) == size < before[name]


def test_fine_grained_offload(small: Callable[..., Run]) -> None:
    after = kept(small(8, kind="experts", fine_grained_activation_offloading=True, offload_modules="[expert_fc1 attn_norm]"), MOE)
    assert after["expert_input"] == after["input_norm"] == 0
    assert after["expert_fc1"] > 0


def test_a_fraction_of_the_layers_is_offloaded(small: Callable[..., Run]) -> None:
    options = {"fine_grained_activation_offloading": True, "offload_modules": "[expert_fc1 mlp_norm]"}
    none, half, whole = (kept(small(8, kind="experts", **given), MOE) for given in ({}, {**options, "activation_offload_fraction": 0.5}, options))
    for name in ("expert_input", "mlp_norm"):
        assert half[name] == pytest.approx((none[name] + whole[name]) / 2)
        assert whole[name] < none[name]


def test_an_fp32_run_keeps_twice_the_bytes(small: Callable[..., Run]) -> None:
    half, full = (kept(small(8, bf16=on)) for on in (True, None))
    del half["attention_output"], full["attention_output"]
    assert full == {name: 2 * size for name, size in half.items()}
    assert loss.logits(Inputs(small(8, bf16=None))) == 4 * T * 32000


def test_heads_with_wider_keys_are_for_flash_attention_on_hopper_only(small: Callable[..., Run]) -> None:
    ampere, hopper = (
        kept(small(8, kind="latent experts", gpu=gpu, attention_backend="flash", micro_batch_size=2), MOE)["attention_output"] for gpu in ("a100", "h100")
    )
    one = 2 * 2 * T * 16 * 64
    assert ampere == one + 2 * 4 * T * 16
    assert hopper == 2 * one + 2 * 4 * T * 16


@pytest.mark.parametrize(("backend", "tensors"), [("deepep", 15), ("hybridep", 7)])
def test_the_backward_of_routed_tokens(small: Callable[..., Run], backend: str, tensors: int) -> None:
    m = Inputs(small(8, kind="experts", moe_token_dispatcher_type="flex", moe_flex_dispatcher_backend=backend))
    assert buffers.backward_experts(m) == tensors * 2 * 2 * T * H


def test_fp8_halves_the_inputs_of_linears(small: Callable[..., Run]) -> None:
    fp8: dict[str, Any] = {"fp8_format": "hybrid", "fp8_recipe": "tensorwise"}
    before, after = kept(small(8)), kept(small(8, **fp8))
    assert before["mlp"] - after["mlp"] == T * 2688
    assert before["input_norm"] - after["input_norm"] == T * H
    assert after["qkv"] == before["qkv"]


@pytest.mark.parametrize(
    ("changes", "factor"),
    [
        ({"moe_router_force_load_balancing": True}, 1.0),
        ({}, 1.2),
        ({"moe_expert_capacity_factor": 1.5, "moe_pad_expert_input_to_capacity": True}, 1.5),
        ({"expert_model_parallel_size": 1}, 1.0),
    ],
)
def test_routed_tokens_follow_the_balance(small: Callable[..., Run], changes: dict[str, Any], factor: float) -> None:
    m = Inputs(small(8, kind="experts", **{"expert_model_parallel_size": 4, **changes}))
    assert activations.routed_tokens(m) == pytest.approx(2 * T * factor)


@pytest.mark.parametrize(
    ("changes", "logit"),
    [
        ({}, 6),
        ({"cross_entropy_loss_fusion": True}, 10),
        ({"cross_entropy_loss_fusion": True, "cross_entropy_fusion_impl": "te"}, 2),
        ({"mtp_num_layers": 1}, 10),
    ],
)
def test_bytes_of_a_logit(small: Callable[..., Run], changes: dict[str, Any], logit: int) -> None:
    assert loss.logits(Inputs(small(8, **changes))) == logit * T * 32000


def test_placeholders_of_fused_weight_gradients(small: Callable[..., Run]) -> None:
    # q, k and v; the output projection; a gated MLP of 4 h; the output table, on the last stage only
    shapes = 3 * H * H + H * H + 2 * 4 * H * H + 4 * H * H
    run = small(8, pipeline_model_parallel_size=2, ffn_hidden_size=4 * H)
    first, last = (buffers.placeholders(Inputs(run), weights(run, stage)) for stage in (0, 1))
    assert first == 2 * shapes
    assert last == 2 * (shapes + 32000 * H)
    assert buffers.placeholders(Inputs(small(8, no_gradient_accumulation_fusion=True)), weights(run, 0)) == 0


def test_matrices_of_one_shape_share_a_placeholder(small: Callable[..., Run]) -> None:
    # the first linears of sixteen experts are as the output projection, their second ones are alike
    run = small(8, kind="experts")
    assert buffers.placeholders(Inputs(run), weights(run, 0)) == 2 * (3 * H * H + H * H + 512 * H + 32000 * H)


def test_workspaces_by_gpu(small: Callable[..., Run]) -> None:
    assert buffers.workspaces(Inputs(small(8, gpu="h100"))) == 96 * 2**20
    assert buffers.workspaces(Inputs(small(8, gpu="a100"))) == 20.25 * 2**20
    assert buffers.workspaces(Inputs(small(8, gpu="a100", env={"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}))) == 68 * 2**20
    assert buffers.workspaces(Inputs(small(8, gpu="h100", kind="experts"))) == 224 * 2**20
    assert buffers.workspaces(Inputs(small(8, gpu="h100", tensor_model_parallel_size=2, tp_comm_overlap=True))) == 160 * 2**20


def test_full_recompute_keeps_the_input_of_a_layer(small: Callable[..., Run]) -> None:
    assert saving.inputs_only(Inputs(small(8))) == 2 * T * H


def adapted(small: Callable[..., Run], targets: list[str], **options: Any) -> dict[str, float]:
    run = small(8, tensor_model_parallel_size=2, sequence_parallel=True)
    run.resolved.update({"peft._target_": "megatron.bridge.peft.lora.LoRA", "peft.dim": 16, "peft.target_modules": targets, **options})
    return kept(run)


def test_frozen_linears_keep_no_input(small: Callable[..., Run]) -> None:
    half = T * H // 2
    everywhere = adapted(small, ["linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"], **{"peft.sequence_parallel_input_regather": True})
    attention = adapted(small, ["linear_qkv", "linear_proj"], **{"peft.sequence_parallel_input_regather": True})
    assert everywhere["mlp_norm"] - attention["mlp_norm"] == 2 * half
    assert everywhere["mlp"] - attention["mlp"] == 2 * T * 2688 // 2
    assert everywhere["input_norm"] == attention["input_norm"]


def test_an_adapter_keeps_the_gathered_sequence_unless_it_gathers_it_again(small: Callable[..., Run]) -> None:
    targets = ["linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"]
    again, once = (adapted(small, targets, **{"peft.sequence_parallel_input_regather": on}) for on in (True, False))
    assert sum(once.values()) - sum(again.values()) == 2 * 2 * T * H
