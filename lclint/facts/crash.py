"""Facts of a crash log, for the rules of a diagnosis. In a check there is no log: they are not applicable, and no such rule is looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.registry import fact

GIB = 2**30
LOG = "the log"
MEMORY_FAILURES = ("gpu_oom", "host_oom", "shm", "nccl_oom", "nvshmem_oom", "cublas_oom", "cuda_graph_oom")
# Share of the device below which reserved and unallocated memory is the allocator's own rounding: it hands out segments of 2 and 20 MiB, and
# a thousand tensors leave as many part-filled ones.
ROUNDING = 0.01
# share of what is allocated from which CUDA graphs' private pools count as the cause
LARGE_POOLS = 0.1


def _plain(name: str, attribute: str, unit: str, meaning: str, convert: Callable[[Any], Any] | None = None) -> None:
    """Declare a fact that is a field of the crash; what the log does not say is unknown."""

    def compute(g: Any) -> Any:
        crash = g.run.crash
        if crash is None:
            return NOT_APPLICABLE
        value = getattr(crash, attribute)
        if value is None:
            return UNKNOWN
        return value if convert is None else convert(value)

    compute.__doc__ = meaning
    fact(name, needs=(), unit=unit, source=LOG, raw=True)(compute)


def _gib(value: int) -> float:
    return round(value / GIB, 2)


_plain("crash.kind", "kind", "name", "What ran out, or that nothing did.")
_plain("crash.fatal", "fatal", "true or false", "Whether the failure ended the run.")
_plain("crash.phase", "phase", "name", "The phase of the run in which it failed.")
_plain("crash.iteration", "iteration", "iterations", "The last iteration that was reported complete before it.")
_plain("crash.first_rank", "first_rank", "rank", "The global rank that failed first.")
_plain("crash.signature", "signature", "name", "The pattern that the failure matched.")
_plain("crash.error", "error", "text", "The error as the log has it.")
_plain("crash.wording", "wording", "release", "The generation of PyTorch that words its message like this.")
_plain("crash.slowdown", "slowdown", "times", "How many times longer an iteration took at the end than at best.")
_plain("crash.handled", "handled", "failures", "How many failures the program dealt with.")
_plain("crash.died_of_it", "died_of_it", "ranks", "Ranks that died because another one had failed.")
_plain("crash.requested_gib", "requested_bytes", "GiB", "What was asked for when it failed.", _gib)
_plain("crash.capacity_gib", "capacity_bytes", "GiB", "Total memory of the GPU.", _gib)
_plain("crash.free_gib", "free_bytes", "GiB", "Free memory of the GPU.", _gib)
_plain("crash.allocated_gib", "allocated_bytes", "GiB", "What PyTorch had allocated, private pools included.", _gib)
_plain("crash.reserved_unallocated_gib", "reserved_unallocated_bytes", "GiB", "What PyTorch had reserved and not allocated.", _gib)
_plain("crash.private_pools_gib", "private_pools_bytes", "GiB", "What CUDA graphs' private pools held.", _gib)
_plain("crash.allowed_gib", "allowed_bytes", "GiB", "What the process was allowed to use.", _gib)
_plain("crash.environment", "environment", "names", "Environment variables that the log shows.", lambda value: sorted(value))


def _of(g: Any, *names: str) -> list[Any] | None:
    """Those fields of the crash; None where the log lacks one."""
    values = [getattr(g.run.crash, name) for name in names]
    return None if any(value is None for value in values) else values


def _derived(name: str, unit: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Declare a fact computed from the facts ``g``; not applicable without a crash."""

    def register(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def guarded(g: Any) -> Any:
            return NOT_APPLICABLE if g.run.crash is None else compute(g)

        guarded.__doc__ = compute.__doc__
        fact(name, needs=(), unit=unit, source=LOG, raw=True)(guarded)
        return compute

    return register


@_derived("crash.needed_gib", "GiB")
def needed(g: Any) -> Any:
    """What PyTorch would have had to allocate: what it had and what was asked for."""
    values = _of(g, "allocated_bytes", "requested_bytes")
    return UNKNOWN if values is None else _gib(sum(values))


@_derived("crash.last_iteration", "text")
def last_iteration(g: Any) -> str:
    """The last iteration that was reported complete, for messages; ``none`` where there is none."""
    return "none" if g.run.crash.iteration is None else str(g.run.crash.iteration)


# phases in which what was needed is the peak of a training step
AT_THE_PEAK = ("forward", "backward", "logits_loss", "moe", "optimizer_step")


@_derived("crash.reported_peak_gib", "GiB")
def reported_peak(g: Any) -> Any:
    """The most that a memory report of the log shows allocated after two iterations or more: before, the optimizer's states are missing."""
    found = [reading.max_allocated for reading in g.run.crash.readings if reading.iteration >= 2 and reading.max_allocated]
    return _gib(max(found)) if found else UNKNOWN


@_derived("crash.shown_gib", "GiB")
def shown(g: Any) -> Any:
    """What a training step needs as the log shows it: what was asked for on top of what was allocated, or else its memory reports."""
    value = needed(g)
    if g.run.crash.phase in AT_THE_PEAK and isinstance(value, float):
        return value
    return reported_peak(g)


@_derived("crash.model_error", "times")
def model_error(g: Any) -> Any:
    """What the log shows that a step needs over what the memory model estimates; unknown where it shows no step's peak."""
    estimate, seen = g["memory.peak_gib"], shown(g)
    if not isinstance(estimate, (int, float)) or not isinstance(seen, float) or estimate <= 0:
        return UNKNOWN
    return round(seen / estimate, 2)


@_derived("crash.estimate_scale", "times")
def estimate_scale(g: Any) -> Any:
    """By what the memory model's estimate is multiplied to agree with the log.

    A report after whole steps is a peak, and counts either way. What had been needed when a step failed is only a lower bound: an estimate
    above it stands.
    """
    estimate, seen, reported = g["memory.peak_gib"], shown(g), reported_peak(g)
    if not isinstance(estimate, (int, float)) or not isinstance(seen, float) or estimate <= 0:
        return UNKNOWN
    if isinstance(reported, float):
        return max(seen, reported) / estimate
    return max(1.0, seen / estimate)


@_derived("crash.front_end", "name")
def front_end(g: Any) -> str:
    """The program whose stack it is: megatron, bridge, slime, verl, easyr1, nemo_rl, swift, nemo; other where the stack does not tell."""
    return g.run.crash.front_end or "other"


@_derived("crash.few_ranks", "true or false")
def few_ranks(g: Any) -> bool:
    """Whether at most a quarter of the ranks failed themselves, which points at uneven load; true for one rank of unknown many."""
    failed = len(g.run.crash.failed_ranks)
    return failed <= max(1, (g.run.crash.world_size or 0) // 4)


@_derived("crash.memory_failure", "true or false")
def memory_failure(g: Any) -> bool:
    """Whether the run failed for want of memory of any kind."""
    return g.run.crash.kind in MEMORY_FAILURES


@_derived("crash.device", "name")
def device(g: Any) -> str:
    """GPU, NPU or XPU, as the message has it; GPU where there is none."""
    return str(g.run.crash.device or "GPU")


@_derived("crash.graph_pools", "true or false")
def graph_pools(g: Any) -> bool:
    """Whether private pools of CUDA graphs hold more than a tenth of what is allocated."""
    values = _of(g, "private_pools_bytes", "allocated_bytes")
    return values is not None and values[0] > LARGE_POOLS * values[1]


@_derived("crash.fragmented", "true or false")
def fragmented(g: Any) -> bool:
    """Whether what is reserved but not allocated would have held the request, private pools, limits and other processes apart.

    Less than a hundredth of the device is no more than rounding: with it the next tensor fails. Where more is allocated than the device has
    (Windows' fallback to system memory) the figures say nothing.
    """
    crash = g.run.crash
    values = _of(g, "reserved_unallocated_bytes", "requested_bytes")
    if values is None or graph_pools(g) or crash.phase == "graph_capture" or crash.allowed_bytes is not None or crowded(g):
        return False
    if crash.capacity_bytes is not None and values[0] < ROUNDING * crash.capacity_bytes:
        return False
    if crash.capacity_bytes is not None and crash.allocated_bytes is not None and crash.allocated_bytes > crash.capacity_bytes:
        return False
    return bool(values[0] >= values[1])


@_derived("crash.outside_torch_gib", "GiB")
def outside_torch(g: Any) -> Any:
    """What the process holds outside PyTorch's allocator: the CUDA context, NCCL, NVSHMEM, cuBLAS workspaces."""
    values = _of(g, "process_bytes", "allocated_bytes", "reserved_unallocated_bytes")
    if values is None or not values[0]:
        return UNKNOWN
    return round(max(0, values[0] - values[1] - values[2]) / GIB, 2)


@_derived("crash.other_processes_gib", "GiB")
def other_processes(g: Any) -> float:
    """What other processes hold of the GPU, as far as the message lists them."""
    return _gib(sum(g.run.crash.other_processes.values()))


@_derived("crash.crowded", "true or false")
def crowded(g: Any) -> bool:
    """Whether processes that are none of a reinforcement learning job's hold a quarter of the GPU or more."""
    capacity = g.run.crash.capacity_bytes
    others = sum(g.run.crash.other_processes.values())
    return bool(capacity) and others >= capacity / 4 and front_end(g) not in ("verl", "easyr1", "slime", "nemo_rl", "swift")


@_derived("crash.other_process", "process ids")
def other_process(g: Any) -> list[str]:
    """The ids of the other processes on the GPU."""
    return [str(pid) for pid in sorted(g.run.crash.other_processes)]


@_derived("crash.stack", "names")
def stack(g: Any) -> list[str]:
    """The functions, and the names of the files, of the stack that failed."""
    names: list[str] = []
    for frame in g.run.crash.frames:
        names += [frame.function, frame.file.replace("\\", "/").rpartition("/")[2]]
    return sorted(set(names))


@_derived("crash.in_source", "names")
def in_source(g: Any) -> list[str]:
    """Words of the source text of the stack's innermost frames that tell what was being made."""
    words = ("exp_avg", "exp_avg_sq", "foreach", "pin_memory", "main_param", "clone", "entropy", "attention_mask")
    text = " ".join(frame.code for frame in g.run.crash.frames[-3:])
    return [word for word in words if word in text]


@_derived("crash.trained", "true or false")
def trained(g: Any) -> bool:
    """Whether at least one iteration was complete before it failed."""
    return (g.run.crash.iteration or 0) >= 1


@_derived("crash.retries", "retries")
def retries(g: Any) -> int:
    """By how much the allocator's retries grew between the first and the last memory report of the log."""
    counts = [reading.retries for reading in g.run.crash.readings if reading.retries is not None]
    return int(counts[-1] - counts[0]) if len(counts) > 1 else 0


@_derived("crash.failed_ranks", "ranks")
def failed_ranks(g: Any) -> int:
    """How many ranks failed for want of memory themselves."""
    return len(g.run.crash.failed_ranks)


def _next(name: str, field: str, most: tuple[str, ...] = ()) -> None:
    def compute(g: Any) -> Any:
        value = g[field]
        twice = value * 2 if value.__class__ is int and value > 0 else 2
        limits = [g[limit] for limit in most if g[limit].__class__ is int]
        return NOT_APPLICABLE if limits and twice > limits[0] else twice

    compute.__doc__ = f"Twice ``{field}``, or 2 where it is not known; not applicable beyond any of {most}."
    _derived(name, "ranks")(compute)


# tensor parallelism stays inside a node
_next("crash.next_tensor", "model.tensor_model_parallel_size", ("cluster.gpus_per_node", "gpu.gpus_per_node"))
_next("crash.next_pipeline", "model.pipeline_model_parallel_size")
_next("crash.next_context", "model.context_parallel_size")


@_derived("crash.batch_can_shrink", "true or false")
def batch_can_shrink(g: Any) -> bool:
    """Whether the micro batch may be larger than one sequence: it is, or is not known."""
    value = g["train.micro_batch_size"]
    return value is UNKNOWN or (value.__class__ is int and value > 1)


@_derived("crash.config_known", "true or false")
def config_known(g: Any) -> bool:
    """Whether the config is known, from the log or a file, as far as its layout goes."""
    return g["model.tensor_model_parallel_size"].__class__ is int and g["train.micro_batch_size"].__class__ is int


@_derived("crash.recompute_off", "true or false")
def recompute_off(g: Any) -> bool:
    """Whether no activation is recomputed, or that is not known."""
    value = g["model.recompute_granularity"]
    return value is UNKNOWN or value is NOT_APPLICABLE or value is None


@_derived("crash.sequence_parallel_missing", "true or false")
def sequence_parallel_missing(g: Any) -> bool:
    """Whether tensor parallelism is known to run without sequence parallelism."""
    size = g["model.tensor_model_parallel_size"]
    return size.__class__ is int and size > 1 and g["model.sequence_parallel"] is False


@_derived("crash.optimizer_sharded", "true or false")
def optimizer_sharded(g: Any) -> bool:
    """Whether the distributed optimizer is known to be in use: the config says so, or the stack runs through it."""
    return g["ddp.use_distributed_optimizer"] is True or any("distrib_optimizer" in frame.file for frame in g.run.crash.frames)


# what the programs around Megatron call these settings
_FIELDS = {
    "crash.batch_field": (
        "train.micro_batch_size",
        {"easyr1": "worker.actor.micro_batch_size_per_device_for_update", "verl": "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"},
    ),
    "crash.checkpointing_field": (
        "model.recompute_granularity",
        {"easyr1": "worker.actor.model.enable_gradient_checkpointing", "verl": "actor_rollout_ref.model.enable_gradient_checkpointing"},
    ),
    "crash.rollout_field": (
        "rollout.gpu_memory_utilization",
        {
            "easyr1": "worker.rollout.gpu_memory_utilization",
            "verl": "actor_rollout_ref.rollout.gpu_memory_utilization",
            "swift": "swift.vllm_gpu_memory_utilization",
            "slime": "slime.sglang_mem_fraction_static",
        },
    ),
    "crash.chunk_field": ("slime.log_probs_chunk_size", {}),
    "crash.offload_field": (
        "model.cpu_offloading",
        {"verl": "actor_rollout_ref.actor.megatron.param_offload", "easyr1": "worker.actor.offload.offload_params"},
    ),
}


def _field(name: str, default: str, others: dict[str, str]) -> None:
    def compute(g: Any) -> str:
        return others.get(g.run.crash.front_end or "", default)

    compute.__doc__ = f"What the program around Megatron calls ``{default}``."
    _derived(name, "field")(compute)


for _name, (_default, _others) in _FIELDS.items():
    _field(_name, _default, _others)


@_derived("crash.differences", "records")
def differences(g: Any) -> list[dict[str, Any]]:
    """Fields that the log prints with another value than the config file has: ``field``, ``config``, ``log``."""
    return list(g.run.crash_differences)


@_derived("crash.request", "text")
def request(g: Any) -> str:
    """What was asked for, for messages: ``4.01 GiB``, or ``memory`` where the log does not say."""
    size = g.run.crash.requested_bytes
    if size is None:
        return "memory"
    return f"{size / GIB:.2f} GiB" if size >= GIB else f"{size / 2**20:.0f} MiB"


@_derived("crash.where", "text")
def where(g: Any) -> str:
    """The rank that failed first, for messages: ``rank 3``, or ``a rank``."""
    rank = g.run.crash.first_rank
    return "a rank" if rank is None else f"rank {rank}"
