"""Whether a peak fits: the GPU's memory, what lies outside PyTorch's allocator, and what the allocator cannot use."""

from __future__ import annotations

from lclint.memory.inputs import Inputs

GIB = 2**30
# CUDA context with the libraries' kernels, and NCCL's channels; seen between 1.5 and 4 GiB
CONTEXT = 0.6 * GIB
COMMUNICATOR = 0.25 * GIB
# what DeepEP and HybridEP allocate for themselves at start-up is of the order of 1 to 2 GiB
DISPATCHER = 1.0 * GIB
# reserved over allocated at the peak: 2.6 to 4 % in published runs with expandable segments, 7 to 14 % (once 26 %) without
FRAGMENTATION = 0.03
FRAGMENTATION_FIXED = 0.08
# below capacity by this much the run surely fits
COMFORTABLE = 0.97


def outside(m: Inputs) -> float:
    """Bytes beside the allocator: context, one set of NCCL buffers for each kind of parallelism in use, and the dispatcher's own."""
    groups = sum(degree > 1 for degree in (m.tp, m.pp, m.cp, m.dp, m.ep, m.edp if m.experts else 1))
    return CONTEXT + COMMUNICATOR * groups + (DISPATCHER if m.dispatcher == "flex" and m.ep > 1 else 0.0)


def fragmentation(m: Inputs) -> float:
    """Share of the peak that lies in blocks too small to use."""
    return FRAGMENTATION if m.expandable else FRAGMENTATION_FIXED


def verdict(m: Inputs, peak: float, low: float, capacity: int | None) -> str:
    """fits, tight or oom for the largest stage; unknown without a capacity.

    oom only where even the lower end of the range cannot fit, tight where the peak itself leaves less than 3 % or does not fit.
    """
    if capacity is None:
        return "unknown"
    if low + outside(m) > capacity:
        return "oom"
    return "fits" if peak * (1 + fragmentation(m)) + outside(m) <= capacity * COMFORTABLE else "tight"
