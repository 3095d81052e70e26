"""What an estimate is made of."""

from __future__ import annotations

from typing import Any

from lclint.core.finding import Record

# in the order in which they are shown
COMPONENTS = (
    "weights",
    "gradients",
    "optimizer",
    "norms",
    "attention",
    "mlp",
    "experts",
    "state_space",
    "mtp",
    "vision",
    "logits",
    "backward",
    "buffers",
    "workspaces",
)
VERDICTS = ("fits", "tight", "oom", "unknown")


class Stage(Record):
    """One pipeline stage; bytes as PyTorch's allocator counts them.

    ``static_bytes`` stay allocated after a step, ``peak_bytes`` is the largest amount of any instant of a step and the sum of
    ``components``; ``low_bytes`` and ``high_bytes`` bound the peak. ``first_step_peak_bytes`` is the peak of the first step, before
    the optimizer has its moments: what a log of one iteration shows. ``instant`` says when the peak is reached: forward_loss, backward,
    optimizer_step or graph_capture. ``pool_bytes`` lie in the pool of CUDA graphs, beside what is counted as allocated.
    """

    __slots__ = ("stage", "static_bytes", "peak_bytes", "low_bytes", "high_bytes", "components", "first_step_peak_bytes", "instant", "pool_bytes", "layers")
    stage: int
    static_bytes: int
    peak_bytes: int
    low_bytes: int
    high_bytes: int
    components: dict[str, int]
    first_step_peak_bytes: int
    instant: str
    pool_bytes: int
    layers: int


class Estimate(Record):
    """The estimate of a run. Without what it needs there are no stages, the verdict is unknown, ``needs`` says what is missing and ``wrong`` what cannot be.

    ``capacity_bytes`` is the GPU's memory as PyTorch reports it, ``outside_bytes`` what lies beside PyTorch's allocator (context, NCCL,
    dispatcher buffers) and ``fragmentation`` the share of the peak that the allocator reserves on top of it. ``assumptions`` are values
    that the config does not say, ``not_modelled`` what the figures leave out.
    """

    __slots__ = ("gpu", "capacity_bytes", "verdict", "stages", "assumptions", "not_modelled", "needs", "wrong", "outside_bytes", "fragmentation", "parameters")
    gpu: str | None
    capacity_bytes: int | None
    verdict: str
    stages: list[Stage]
    assumptions: list[str]
    not_modelled: list[str]
    needs: list[str]
    wrong: list[str]
    outside_bytes: int
    fragmentation: float
    parameters: int
    defaults: dict[str, Any] = {"assumptions": [], "not_modelled": [], "needs": [], "wrong": [], "outside_bytes": 0, "fragmentation": 0.0, "parameters": 0}

    @property
    def worst(self) -> Stage | None:
        """The stage that takes most."""
        return max(self.stages, key=lambda stage: stage.peak_bytes + stage.pool_bytes) if self.stages else None

    @property
    def required_bytes(self) -> int | None:
        """What the worst stage takes of the GPU, all counted."""
        worst = self.worst
        return None if worst is None else int((worst.peak_bytes + worst.pool_bytes) * (1 + self.fragmentation)) + self.outside_bytes
