"""The phase in which a failure came: its stack tells, or its own words, or else the last progress line before it."""

from __future__ import annotations

from lclint.crash import phases
from lclint.crash.events import Event

# errors by which a config is refused
_REFUSALS = ("AssertionError", "ValueError", "NotImplementedError", "RuntimeError", "TypeError")
_LIBRARIES = ("CUDA", "NCCL", "cuda", "cudnn", "cublas", "Triton", "DeepEP")


def of(event: Event) -> str:
    """The phase in which a failure came; unknown where nothing says."""
    if event.kind == "gpu_oom" and _captures_an_iteration(event):
        return "graph_capture"
    if event.frames:
        phase = phases.of_frames(event.frames)
        if phase == "unknown":
            phase = phases.of_frames(reversed(event.frames))
        if phase == "init" and event.kind == "nccl_oom":
            return "nccl_init"
        if event.phase is not None and (phase in ("unknown", "init") or event.kind == "shm"):
            return event.phase
        if phase != "unknown":
            return phase
    if event.phase is not None:
        return event.phase
    if event.kind == "nccl_oom" or (event.kind == "shm" and "NCCL" in event.text):
        return "nccl_init"
    if event.kind == "shm":
        return "dataloader"
    if event.signature == "device-assert":
        return "forward"
    if event.during in ("checkpoint_load", "checkpoint_save", "eval", "graph_capture", "model_build"):
        return event.during
    if event.kind == "host_oom" and event.during == "dataloader":
        return event.during
    if (
        event.signature == "error"
        and event.iteration is None
        and any(name in event.text[:80] for name in _REFUSALS)
        and not any(n in event.text for n in _LIBRARIES)
    ):
        return "init"
    return "unknown"


def _captures_an_iteration(event: Event) -> bool:
    """Whether a whole iteration was being captured: the warm-up iterations have the same stack, but no private pool yet, and no line that tells."""
    if not any(frame.file.replace("\\", "/").endswith("/full_cuda_graph.py") for frame in event.frames):
        return False
    return event.during == "graph_capture" or bool(event.message is not None and event.message.private_pools)
