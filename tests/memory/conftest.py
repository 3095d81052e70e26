"""Runs for the tests of the memory model: one small model, written as Megatron-LM arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from lclint.config import build
from lclint.config.run import Run
from lclint.core.options import Options

SMALL = {
    "num-layers": 16,
    "hidden-size": 1024,
    "num-attention-heads": 16,
    "seq-length": 2048,
    "micro-batch-size": 1,
    "global-batch-size": 256,
    "vocab-size": 32000,
    "make-vocab-size-divisible-by": 1,
    "position-embedding-type": "rope",
    "normalization": "RMSNorm",
    "swiglu": True,
    "disable-bias-linear": True,
    "untie-embeddings-and-output-weights": True,
    "hidden-dropout": 0.0,
    "attention-dropout": 0.0,
    "no-create-attention-mask-in-dataloader": True,
    "attention-backend": "fused",
    "use-distributed-optimizer": True,
    "bf16": True,
}
EXPERTS = {
    "num-experts": 16,
    "moe-router-topk": 2,
    "moe-ffn-hidden-size": 512,
    "moe-grouped-gemm": True,
    "moe-token-dispatcher-type": "alltoall",
    "expert-tensor-parallel-size": 1,
}
LATENT = {
    "multi-latent-attention": True,
    "q-lora-rank": 256,
    "kv-lora-rank": 128,
    "qk-head-dim": 64,
    "qk-pos-emb-head-dim": 32,
    "v-head-dim": 64,
    "qk-layernorm": True,
}


KINDS: dict[str, dict[str, Any]] = {
    "dense": {},
    "grouped": {"group-query-attention": True, "num-query-groups": 4},
    "experts": EXPERTS,
    "latent experts": {**EXPERTS, **LATENT},
}


def _run(gpus: int = 8, gpu: str | None = "h100", kind: str = "dense", sets: Sequence[str] = (), env: dict[str, str] | None = None, **changes: Any) -> Run:
    merged = {**SMALL, **KINDS[kind], **{name.replace("_", "-"): value for name, value in changes.items()}}
    data: dict[str, Any] = {"MODEL_ARGS": {f"--{name}": value for name, value in merged.items() if value is not None}}
    if env:
        data["ENV_VARS"] = env
    return build.from_mapping(data, Options(gpu=gpu, gpus=gpus, sets=list(sets)))


@pytest.fixture(scope="session")
def small() -> Callable[..., Run]:
    """``small(gpus, kind="experts", tensor_model_parallel_size=2)``: the run of the small model with changes; None takes an argument out."""
    return _run
