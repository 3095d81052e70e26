"""What a ``comm_overlap`` section does to model, optimizer and ddp."""

from __future__ import annotations

from typing import Any

from lclint.config.resolving.state import Resolution, both, data_parallel, more, negate
from lclint.core.states import NOT_APPLICABLE, UNKNOWN

# the fields of the section that may also be fields of model, optimizer or ddp (training/comm_overlap.py:355)
MODEL_FIELDS = (
    "tp_comm_overlap",
    "tp_comm_overlap_cfg",
    "tp_comm_bootstrap_backend",
    "overlap_p2p_comm",
    "batch_p2p_comm",
    "defer_embedding_wgrad_compute",
    "wgrad_deferral_limit",
    "overlap_moe_expert_parallel_comm",
    "delay_wgrad_compute",
)
GRADIENT_FIELDS = (
    "bucket_size",
    "overlap_grad_reduce",
    "overlap_param_gather",
    "overlap_param_gather_with_optimizer_step",
    "align_param_gather",
    "delay_wgrad_compute",
)
BUCKET_SIZE = 128 * 1024 * 1024
# the one field of the section whose default is not null
BOOTSTRAP = "nccl"


def comm_overlap(s: Resolution) -> None:
    """bridge training/comm_overlap.py:400-640: the section decides these fields; null there means Bridge's choice."""
    section = s.get("comm_overlap")
    if section is None or section is NOT_APPLICABLE:
        return
    if section is not UNKNOWN:
        s.set("comm_overlap.data_parallel_size", data_parallel(s), "the data parallel size of this run (training/config.py:1041)")
    pp, vpp = s.get("model.pipeline_model_parallel_size"), s.get("model.virtual_pipeline_model_parallel_size")
    pipelined = more(pp, 1)
    interleaved = both(pipelined, more(1 if vpp is None else vpp, 1))
    _model(s, pipelined, interleaved)
    distributed = s.get("ddp.use_distributed_optimizer")
    if distributed is True or distributed is UNKNOWN:
        _gradients(s, interleaved, distributed)


def _model(s: Resolution, pipelined: Any, interleaved: Any) -> None:
    chosen: dict[str, Any] = {
        "tp_comm_overlap": False,
        "overlap_p2p_comm": interleaved,
        "batch_p2p_comm": both(pipelined, negate(interleaved)),
        "defer_embedding_wgrad_compute": False,
        "wgrad_deferral_limit": -1,
        "overlap_moe_expert_parallel_comm": False,
        "delay_wgrad_compute": False,
    }
    for name in MODEL_FIELDS:
        value = _user(s, name, chosen)
        if name == "tp_comm_overlap" and value is True:
            value = both(more(s.get("model.tensor_model_parallel_size"), 1), s.get("model.sequence_parallel"))
        if f"model.{name}" in s.values or (value is not UNKNOWN and name != "tp_comm_overlap_cfg"):
            s.set(f"model.{name}", value, "comm_overlap decides it (training/comm_overlap.py:422-560)")


def _gradients(s: Resolution, interleaved: Any, distributed: Any) -> None:
    many = more(data_parallel(s), 1)
    chosen = {
        "bucket_size": UNKNOWN if many is UNKNOWN else BUCKET_SIZE if many else None,
        "overlap_grad_reduce": many,
        "overlap_param_gather": many,
        "overlap_param_gather_with_optimizer_step": False,
        "align_param_gather": both(many, interleaved),
    }
    for name in GRADIENT_FIELDS:
        value = _user(s, name, chosen)
        for target in ("optimizer", "ddp"):
            if f"{target}.{name}" in s.values or (value is not UNKNOWN and s.has(f"{target}.{name}")):
                s.when(distributed, f"{target}.{name}", value, "comm_overlap decides it (training/comm_overlap.py:562-590)")


def _user(s: Resolution, name: str, chosen: dict[str, Any]) -> Any:
    user = s.get(f"comm_overlap.{name}")
    if user is NOT_APPLICABLE and name == "tp_comm_bootstrap_backend":
        return BOOTSTRAP
    return chosen.get(name) if user is None or user is NOT_APPLICABLE else user
