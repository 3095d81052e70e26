"""The estimate of a run: every stage's bytes, whether they fit, and what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lclint.memory import capacity, notes, parameters
from lclint.memory.inputs import Inputs
from lclint.memory.result import Estimate
from lclint.memory.stages import Model

if TYPE_CHECKING:
    from lclint.config.run import Run

GIB = 2**30


def estimate(run: Run) -> Estimate:
    """Bytes per component on every pipeline stage of the run, and whether they fit its GPU.

    What the estimate needs and the run does not say is in ``needs``; there are then no stages.
    """
    m = Inputs(run)
    memory = run.missing("gpu.memory_gib")
    total = int(memory * GIB) if memory.__class__ in (int, float) else None
    gpu = m.gpu or None
    r = m.reader
    if r.needs or r.wrong:
        return Estimate(gpu=gpu, capacity_bytes=total, verdict="unknown", stages=[], needs=sorted(set(r.needs)), wrong=r.wrong)
    model = Model(m)
    found = [model.stage(number) for number in range(m.pp)]
    worst = max(found, key=lambda stage: stage.peak_bytes + stage.pool_bytes)
    size = parameters.whole_model(m)
    return Estimate(
        gpu=gpu,
        capacity_bytes=total,
        verdict=capacity.verdict(m, worst.peak_bytes + worst.pool_bytes, worst.low_bytes + worst.pool_bytes, total),
        stages=found,
        assumptions=r.assumptions,
        not_modelled=notes.left_out(m, run, model.vision, size),
        outside_bytes=round(capacity.outside(m)),
        fragmentation=capacity.fragmentation(m),
        parameters=size,
    )
