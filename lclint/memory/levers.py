"""What can be turned to need less memory, each as changes to resolved values; and estimates of a run with such changes.

Rules ask these before they advise something: what would it free, would it fit then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lclint.config.run import Run
from lclint.core.states import UNKNOWN
from lclint.memory.estimate import estimate
from lclint.memory.result import Estimate

TP = "model.tensor_model_parallel_size"
PP = "model.pipeline_model_parallel_size"
CP = "model.context_parallel_size"
EP = "model.expert_model_parallel_size"
VPP = "model.virtual_pipeline_model_parallel_size"
LAYOUT = ("model.pipeline_model_parallel_layout", "model.num_layers_in_first_pipeline_stage", "model.num_layers_in_last_pipeline_stage")
MICRO = "train.micro_batch_size"
GPUS = "cluster.gpus"
ALLOCATOR = "env.PYTORCH_CUDA_ALLOC_CONF"

Changes = dict[str, Any]


def varied(run: Run, changes: Changes) -> Estimate:
    """The estimate of the run with these in the place of its own: resolved values, ``env.NAME`` and ``cluster.gpus``."""
    other = object.__new__(Run)
    for name in Run.__slots__:
        setattr(other, name, getattr(run, name))
    other.resolved = dict(run.resolved)
    for name, value in changes.items():
        if name.startswith("env."):
            other.environment = {**other.environment, name[4:]: value}
        elif name == GPUS:
            other.given = {**run.given, name: value}
        else:
            other.resolved[name] = value
    return estimate(other)


def share(found: Estimate, high: bool = False) -> Any:
    """What the largest stage takes of the GPU's memory, all counted (at the upper end of its range: ``high``); UNKNOWN without a capacity."""
    worst = found.worst
    if worst is None or found.capacity_bytes is None:
        return UNKNOWN
    peak = worst.high_bytes if high else worst.peak_bytes
    return (peak * (1 + found.fragmentation) + found.outside_bytes) / found.capacity_bytes


def context_doubled(run: Run) -> Changes | None:
    """CP doubled on the same GPUs; None where the sequence or the GPUs do not divide."""
    cp, length = number(run, CP), number(run, "model.seq_length")
    if not cp or not length or length % (4 * cp) or not divides(run, {CP: 2 * cp}):
        return None
    return {CP: 2 * cp}


def tensor_doubled(run: Run) -> Changes | None:
    """TP doubled, with sequence parallelism, inside one node; None where heads, groups, GPUs or the node do not allow it."""
    tp, heads = number(run, TP), number(run, "model.num_attention_heads")
    node = run.missing("cluster.gpus_per_node")
    if node.__class__ is not int:
        node = run.missing("gpu.gpus_per_node")
    groups = number(run, "model.num_query_groups") or heads
    if not tp or not heads or node.__class__ is not int or 2 * tp > node or heads % (2 * tp) or (groups % (2 * tp) and 2 * tp % groups):
        return None
    changes = {TP: 2 * tp, "model.sequence_parallel": True}
    if number(run, "model.expert_tensor_parallel_size") == tp and number(run, EP) == 1:
        changes["model.expert_tensor_parallel_size"] = 2 * tp
    return changes if divides(run, changes) else None


def pipeline_doubled(run: Run) -> Changes | None:
    """PP doubled on the same GPUs; None where the layers are placed by hand or, like the GPUs, do not divide."""
    pp = number(run, PP)
    if not pp or any(run.resolved.get(name) is not None for name in LAYOUT) or layers_left(run, 2 * pp) or not divides(run, {PP: 2 * pp}):
        return None
    return {PP: 2 * pp}


def experts_doubled(run: Run) -> Changes | None:
    """EP doubled on the same GPUs; None for dense models and where the experts or the GPUs do not divide."""
    ep, experts = number(run, EP), number(run, "model.num_moe_experts")
    if not ep or not experts or experts % (2 * ep) or not divides(run, {EP: 2 * ep}):
        return None
    return {EP: 2 * ep}


def micro_batch_halved(run: Run) -> Changes | None:
    """Half as many sequences at once; None where there is one, or an odd number."""
    size = number(run, MICRO)
    return {MICRO: size // 2} if size and size % 2 == 0 else None


def recomputing(modules: list[str]) -> Changes:
    """Selective recompute of these modules in the place of what the run has."""
    return {
        "model.recompute_granularity": "selective",
        "model.recompute_modules": modules,
        "model.recompute_method": None,
        "model.recompute_num_layers": None,
    }


def full_recompute(run: Run) -> Changes:
    """Every layer recomputed from its input."""
    return {
        "model.recompute_granularity": "full",
        "model.recompute_method": "uniform",
        "model.recompute_num_layers": 1,
        "model.recompute_modules": None,
    }


def short_moments(run: Run) -> Changes | None:
    """Adam's moments in bf16; None where another optimizer runs."""
    if run.resolved.get("optimizer.optimizer", "adam") != "adam":
        return None
    return {"optimizer.use_precision_aware_optimizer": True, "optimizer.exp_avg_dtype": "bf16", "optimizer.exp_avg_sq_dtype": "bf16"}


def optimizer_offloaded(run: Run) -> Changes:
    """The whole optimizer on the host."""
    return {"optimizer.optimizer_cpu_offload": True, "optimizer.optimizer_offload_fraction": 1.0}


def without_graphs(run: Run) -> Changes | None:
    """CUDA graphs off; None where there are none."""
    return {"model.cuda_graph_impl": "none"} if run.resolved.get("model.cuda_graph_impl") not in (None, "none") else None


def expandable_segments(run: Run) -> Changes | None:
    """An allocator whose segments grow; None where it is so already, or NCCL user buffers exclude it."""
    options = run.missing(ALLOCATOR)
    options = options if options.__class__ is str else ""
    if "expandable_segments:True" in options or run.resolved.get("ddp.nccl_ub") is True:
        return None
    return {ALLOCATOR: f"{options},expandable_segments:True".lstrip(",")}


def short_gradients(run: Run) -> Changes | None:
    """Gradient buffers in two bytes; None where they are."""
    return {"ddp.grad_reduce_in_fp32": False} if run.resolved.get("ddp.grad_reduce_in_fp32") is True else None


def sharded_optimizer(run: Run) -> Changes | None:
    """The optimizer's state divided over the data parallel ranks; None where it is."""
    return {"ddp.use_distributed_optimizer": True} if run.resolved.get("ddp.use_distributed_optimizer") is False else None


# name in the facts memory.freed_by_NAME_gib and memory.share_with_NAME -> the changes that it makes, None where it cannot be turned
LEVERS: dict[str, Callable[[Run], Changes | None]] = {
    "context_parallelism": context_doubled,
    "tensor_parallelism": tensor_doubled,
    "pipeline_parallelism": pipeline_doubled,
    "expert_parallelism": experts_doubled,
    "micro_batch": micro_batch_halved,
    "full_recompute": full_recompute,
    "short_moments": short_moments,
    "short_gradients": short_gradients,
    "sharded_optimizer": sharded_optimizer,
    "optimizer_offload": optimizer_offloaded,
    "no_graphs": without_graphs,
    "expandable_segments": expandable_segments,
}


def number(run: Run, name: str) -> int:
    """A positive integer of the run, 0 for anything else."""
    value = run.resolved.get(name)
    return value if value.__class__ is int and value > 0 else 0


def divides(run: Run, changes: Changes) -> bool:
    """Whether the GPUs hold whole copies of the dense model and of the experts, and the batch divides, with these degrees."""

    def degree(name: str) -> int:
        return int(changes.get(name) or number(run, name) or 1)

    gpus = run.missing(GPUS)
    dense = degree(TP) * degree(PP) * degree(CP)
    expert = degree(PP) * degree(EP) * degree("model.expert_tensor_parallel_size")
    if gpus.__class__ is not int or gpus % dense or gpus % expert:
        return False
    batch, micro = number(run, "train.global_batch_size"), number(run, MICRO)
    return not batch or not micro or batch % (micro * (gpus // dense)) == 0


def layers_left(run: Run, pp: int) -> int:
    """Layers that an even division over that many stages leaves over."""
    extra = (run.resolved.get("model.account_for_embedding_in_pipeline_split") is True) + (run.resolved.get("model.account_for_loss_in_pipeline_split") is True)
    return (number(run, "model.num_layers") + extra) % (pp * (number(run, VPP) or 1))
