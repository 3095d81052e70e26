"""What a log says about a failure: the record that facts, rules and reports read."""

from __future__ import annotations

from typing import Any

from lclint.core.finding import Evidence, Record

KINDS = (
    "gpu_oom",
    "host_oom",
    "shm",
    "nccl_oom",
    "nvshmem_oom",
    "cublas_oom",
    "cuda_graph_oom",
    "allocator_thrash",
    "handled_oom",
    "not_memory",
    "context_only",
)
PHASES = (
    "init",
    "model_build",
    "forward",
    "backward",
    "logits_loss",
    "moe",
    "grad_reduce",
    "optimizer_init",
    "optimizer_step",
    "graph_capture",
    "checkpoint_load",
    "checkpoint_save",
    "eval",
    "nccl_init",
    "dataloader",
    "unknown",
)
# kinds that are a failure for want of memory
MEMORY_FAILURES = ("gpu_oom", "host_oom", "shm", "nccl_oom", "nvshmem_oom", "cublas_oom", "cuda_graph_oom")


class Frame(Record):
    """One stack frame: the file as printed, its line, the function and the source text below it ("" where the log has none)."""

    __slots__ = ("file", "line", "function", "code", "at")
    file: str
    line: int
    function: str
    code: str
    at: int
    defaults = {"line": 0, "function": "", "code": "", "at": 0}


class Reading(Record):
    """One memory report of a rank after an iteration; bytes, None where the line does not say. ``retries`` counts the allocator's retries."""

    __slots__ = ("rank", "iteration", "allocated", "max_allocated", "reserved", "max_reserved", "retries", "line")
    rank: str
    iteration: int
    allocated: int | None
    max_allocated: int | None
    reserved: int | None
    max_reserved: int | None
    retries: int | None
    line: int
    defaults = {"allocated": None, "max_allocated": None, "reserved": None, "max_reserved": None, "retries": None, "line": 0}


class Crash(Record):
    """What one log (a file, or a folder of per-rank files) says. Sizes are bytes, None where the log does not say.

    ``signature`` names the pattern that the failure matched, ``error`` is its text, ``path`` and ``line`` where it stands. ``iteration`` is the
    last one reported complete before it. ``allocated_bytes`` includes CUDA graphs' private pools. ``settings`` is the configuration that the
    log prints, by Bridge's field names; ``defaults_known`` is true where the log prints every value that is not a default. ``recipe`` is the one
    that the launch command names. ``world_stated`` says that ``world_size`` is
    stated, and not the largest communicator seen.
    """

    __slots__ = (
        "path",
        "kind",
        "fatal",
        "first_rank",
        "local_gpu",
        "host",
        "time",
        "phase",
        "iteration",
        "signature",
        "error",
        "line",
        "requested_bytes",
        "capacity_bytes",
        "free_bytes",
        "allocated_bytes",
        "reserved_unallocated_bytes",
        "private_pools_bytes",
        "allowed_bytes",
        "process_bytes",
        "other_processes",
        "device",
        "advice",
        "wording",
        "frames",
        "evidence",
        "failed_ranks",
        "died_of_it",
        "handled",
        "readings",
        "throughput",
        "slowdown",
        "settings",
        "setting_lines",
        "defaults_known",
        "world_size",
        "world_stated",
        "gpu",
        "environment",
        "versions",
        "front_end",
        "recipe",
        "last_phase",
        "first_error",
        "notes",
        "lines",
    )
    path: str
    kind: str
    fatal: bool
    first_rank: int | None
    local_gpu: int | None
    host: str | None
    time: str | None
    phase: str
    iteration: int | None
    signature: str | None
    error: str | None
    line: int | None
    requested_bytes: int | None
    capacity_bytes: int | None
    free_bytes: int | None
    allocated_bytes: int | None
    reserved_unallocated_bytes: int | None
    private_pools_bytes: int | None
    allowed_bytes: int | None
    process_bytes: int | None
    other_processes: dict[int, int]
    device: str | None
    advice: str | None
    wording: str | None
    frames: list[Frame]
    evidence: list[Evidence]
    failed_ranks: list[int]
    died_of_it: int
    handled: int
    readings: list[Reading]
    throughput: list[tuple[int, float]]
    slowdown: float | None
    settings: dict[str, Any]
    setting_lines: dict[str, int]
    defaults_known: bool
    world_size: int | None
    world_stated: bool
    gpu: str | None
    environment: dict[str, str]
    versions: dict[str, str]
    front_end: str | None
    recipe: str | None
    last_phase: str | None
    first_error: str | None
    notes: list[str]
    lines: int
    defaults = {
        "path": "",
        "kind": "context_only",
        "fatal": False,
        "first_rank": None,
        "local_gpu": None,
        "host": None,
        "time": None,
        "phase": "unknown",
        "iteration": None,
        "signature": None,
        "error": None,
        "line": None,
        "requested_bytes": None,
        "capacity_bytes": None,
        "free_bytes": None,
        "allocated_bytes": None,
        "reserved_unallocated_bytes": None,
        "private_pools_bytes": None,
        "allowed_bytes": None,
        "process_bytes": None,
        "other_processes": {},
        "device": None,
        "advice": None,
        "wording": None,
        "frames": [],
        "evidence": [],
        "failed_ranks": [],
        "died_of_it": 0,
        "handled": 0,
        "readings": [],
        "throughput": [],
        "slowdown": None,
        "settings": {},
        "setting_lines": {},
        "defaults_known": False,
        "world_size": None,
        "world_stated": False,
        "gpu": None,
        "environment": {},
        "versions": {},
        "front_end": None,
        "recipe": None,
        "last_phase": None,
        "first_error": None,
        "notes": [],
        "lines": 0,
    }
