"""One sentence: what ran out, where, on which rank, and when."""

from __future__ import annotations

from lclint.crash.record import Crash

GIB = 2**30
_WHAT = {
    "gpu_oom": "GPU memory ran out",
    "cuda_graph_oom": "GPU memory ran out while CUDA graphs were captured",
    "host_oom": "the host's memory ran out",
    "shm": "shared memory (/dev/shm) ran out",
    "nccl_oom": "NCCL could not get GPU memory for its buffers",
    "nvshmem_oom": "NVSHMEM could not get GPU memory for its symmetric heap",
    "cublas_oom": "cuBLAS could not get GPU memory for its handle",
    "allocator_thrash": "no failure, but the allocator frees and maps memory again in every step",
    "handled_oom": "an out-of-memory error that the program dealt with",
}
_PHASE = {
    "init": "at start-up",
    "model_build": "while the model was built",
    "forward": "in the forward pass",
    "backward": "in the backward pass",
    "logits_loss": "in the logits and the loss",
    "moe": "in the experts (MoE)",
    "grad_reduce": "in the gradients' reduction",
    "optimizer_init": "while the optimizer was built",
    "optimizer_step": "in the optimizer's step",
    "checkpoint_load": "while a checkpoint was loaded",
    "checkpoint_save": "while a checkpoint was saved",
    "eval": "in an evaluation",
    "nccl_init": "while communicators were made",
    "dataloader": "in the data loader",
}
_PROBABLE = ("sigkill", "ray-system-error", "sigbus")


def verdict(crash: Crash) -> str:
    """The verdict on a log."""
    if crash.kind == "context_only":
        return _nothing(crash)
    if crash.kind == "not_memory":
        if crash.signature == "quoted":
            return "no failure: the log quotes an out-of-memory error in text that was written or generated" + "".join(f"; {part}" for part in _reached(crash))
        reached = _when(crash)
        if not reached and crash.last_phase and crash.phase == "unknown":
            reached = f"; the last phase reported is {crash.last_phase.replace('_', ' ')}"
        return f"not a memory failure{_where(crash)}{reached}: {crash.error}"
    parts = [_WHAT[crash.kind]]
    if crash.signature in _PROBABLE:
        parts[0] = "probably " + parts[0] + " (a process was killed, the log does not say by what)"
    if crash.signature == "restarted":
        parts[0] = "an attempt ran out of GPU memory, and a later one came to its end; it ran out"
    parts.append(_where(crash))
    if crash.kind != "allocator_thrash":
        parts.append(_when(crash))
    parts.append(_sizes(crash))
    return "".join(parts)


def _where(crash: Crash) -> str:
    text = ""
    if crash.first_rank is not None:
        text += f" on rank {crash.first_rank}"
        if crash.local_gpu is not None:
            text += f" (GPU {crash.local_gpu})"
    elif crash.local_gpu is not None:
        text += f" on local {'rank' if crash.kind == 'host_oom' else 'GPU'} {crash.local_gpu}"
    if crash.host:
        text += f" of {crash.host}" if text else f" on {crash.host}"
    if crash.phase in _PHASE and crash.kind != "cuda_graph_oom":
        text += f" {_PHASE[crash.phase]}"
    return text


def _when(crash: Crash) -> str:
    if crash.iteration is None or crash.kind == "handled_oom":
        return ""
    return ", before the first iteration was complete" if crash.iteration == 0 else f", after iteration {crash.iteration}"


def _sizes(crash: Crash) -> str:
    if crash.requested_bytes is None or crash.kind not in ("gpu_oom", "cuda_graph_oom", "nccl_oom", "handled_oom"):
        return ""
    text = f": {_size(crash.requested_bytes)} more"
    if crash.capacity_bytes is not None:
        text += f" of a {_size(crash.capacity_bytes)} device"
    if crash.allocated_bytes is not None:
        text += f", {_size(crash.allocated_bytes)} allocated"
    if crash.reserved_unallocated_bytes is not None:
        text += f", {_size(crash.reserved_unallocated_bytes)} reserved but unallocated"
    return text


def _nothing(crash: Crash) -> str:
    if crash.signature == "cut-traceback":
        where = f" of rank {crash.first_rank}" if crash.first_rank is not None else ""
        return f"the log ends within a traceback{where}{_phase(crash)}: the error itself is cut off"
    parts = ["no failure for want of memory", *_reached(crash)]
    if crash.first_error:
        parts.append(f"the first error is: {crash.first_error}")
    elif crash.iteration is None and not crash.last_phase:
        parts.append(f"{len(crash.settings)} settings are printed, no error" if crash.settings else "and no error")
    return "; ".join(parts)


def _reached(crash: Crash) -> list[str]:
    """How far the run had come."""
    parts = []
    if crash.iteration is not None:
        parts.append(f"the last iteration reported is {crash.iteration}")
    if crash.last_phase and (crash.iteration is None or crash.last_phase != "training"):
        parts.append(f"the last phase reported is {crash.last_phase.replace('_', ' ')}")
    return parts


def _phase(crash: Crash) -> str:
    return f" {_PHASE[crash.phase]}" if crash.phase in _PHASE else ""


def _size(value: int) -> str:
    if value >= GIB:
        return f"{value / GIB:.2f} GiB"
    return f"{value / 2**20:.2f} MiB" if value >= 2**20 else f"{value} bytes"
