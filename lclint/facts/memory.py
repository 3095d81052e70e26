"""Facts of the memory estimate: whether the job fits, and whether it would with something changed.

The estimate is made when the first rule asks for one of them; ``lclint.memory`` is not even imported before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.registry import fact

if TYPE_CHECKING:
    from lclint.memory.result import Estimate

NEEDS = (
    "model.num_layers",
    "model.hidden_size",
    "model.num_attention_heads",
    "model.vocab_size",
    "model.seq_length",
    "train.micro_batch_size",
    "model.tensor_model_parallel_size",
    "model.pipeline_model_parallel_size",
    "model.context_parallel_size",
    "cluster.gpus",
    "gpu.memory_gib",
)
SOURCE = "lclint.memory"
GIB = 2**30
# where the estimates of a run are kept among its facts
KEPT = "memory.estimates"


def _estimate(g: Any, which: str = "as it is") -> Estimate | None:
    """An estimate of the run, made once; None where it cannot be made or the change is not possible."""
    kept = dict.setdefault(g, KEPT, {})
    if which not in kept:
        # nothing can be said of a model of unknown size, and saying so must cost nothing
        kept[which] = None if UNKNOWN in (g["model.num_layers"], g["model.hidden_size"]) else _make(g, which)
    found: Estimate | None = kept[which]
    return found


def _make(g: Any, which: str) -> Estimate | None:
    from lclint.memory import levers
    from lclint.memory.estimate import estimate
    from lclint.memory.inputs import DIFFUSION

    if str(g.run.resolved.get("model._target_")).rpartition(".")[2] in DIFFUSION:
        # what is known of a language model's limits is no advice for these
        return None
    make = {"as it is": estimate, "cp": levers.context_doubled, "tp": levers.tensor_doubled, "selective": levers.selective}[which]
    found = make(g.run)
    return found if found is not None and found.stages else None


@fact("memory.peak_gib", needs=NEEDS, unit="GiB", source=SOURCE, raw=True)
def peak(g: Any) -> Any:
    """Largest peak of any pipeline stage, as PyTorch's allocator counts it."""
    found = _estimate(g)
    return UNKNOWN if found is None or found.worst is None else round(found.worst.peak_bytes / GIB, 1)


@fact("memory.verdict", needs=NEEDS, unit="fits, tight or oom", source=SOURCE, raw=True)
def verdict(g: Any) -> Any:
    """The largest stage against the GPU's memory: oom only where not even the lower end of the range fits."""
    if g["gpu.memory_gib"] is UNKNOWN:
        return UNKNOWN
    found = _estimate(g)
    return UNKNOWN if found is None or found.verdict == "unknown" else found.verdict


@fact("memory.headroom_gib", needs=NEEDS, unit="GiB", source=SOURCE, raw=True)
def headroom(g: Any) -> Any:
    """What the largest stage leaves of the GPU's memory, fragmentation, context and communication counted; negative where it does not fit."""
    found = _estimate(g)
    if found is None or found.capacity_bytes is None or found.required_bytes is None:
        return UNKNOWN
    return round((found.capacity_bytes - found.required_bytes) / GIB, 1)


@fact("memory.largest_component", needs=NEEDS, unit="component of the estimate", source=SOURCE, raw=True)
def largest(g: Any) -> Any:
    """The component that takes most of the largest stage's peak: weights, optimizer, experts ..."""
    found = _estimate(g)
    if found is None or found.worst is None:
        return UNKNOWN
    components = found.worst.components
    return max(components, key=lambda name: components[name])


@fact("memory.fits_with_cp_doubled", needs=NEEDS, unit="true or false", source=SOURCE, raw=True)
def fits_with_context(g: Any) -> Any:
    """Whether the largest stage fits once context parallelism is doubled on the same GPUs."""
    return _fits(g, "cp")


@fact("memory.fits_with_tp_doubled", needs=NEEDS, unit="true or false", source=SOURCE, raw=True)
def fits_with_tensor(g: Any) -> Any:
    """Whether the largest stage fits once TP is doubled with sequence parallelism, inside one node."""
    return _fits(g, "tp")


def _fits(g: Any, which: str) -> Any:
    if _estimate(g) is None or g["gpu.memory_gib"] is UNKNOWN:
        return UNKNOWN
    found = _estimate(g, which)
    return False if found is None else found.verdict == "fits"


@fact("memory.selective_share", needs=NEEDS, unit="share of usable memory", source=SOURCE, raw=True)
def selective_share(g: Any) -> Any:
    """What the largest stage would take of the GPU's memory with the family's best selective recompute set."""
    return _share(g, False)


@fact("memory.selective_share_high", needs=NEEDS, unit="share of usable memory", source=SOURCE, raw=True)
def selective_share_high(g: Any) -> Any:
    """Upper end of the range of memory.selective_share."""
    return _share(g, True)


def _share(g: Any, high: bool) -> Any:
    from lclint.memory import levers

    found = _estimate(g, "selective")
    if found is None:
        return UNKNOWN
    part = levers.share(found, high)
    return part if part is UNKNOWN else round(part, 2)


@fact("memory.halved_share", needs=(*NEEDS, "family.kind"), unit="share of usable memory", source=SOURCE, raw=True)
def halved_share(g: Any) -> Any:
    """Smallest share over the legal layouts in which one of TP, PP, CP is halved and the tokens per rank stay within the family's limit.

    Not applicable where none of them can be halved.
    """
    if _estimate(g) is None or g["gpu.memory_gib"] is UNKNOWN or g["family.kind"] is UNKNOWN:
        return UNKNOWN
    from lclint.memory import levers

    shares = [levers.share(found) for found in levers.halved(g.run, g["family.kind"] == "attention-moe") if found.stages]
    known = [part for part in shares if part is not UNKNOWN]
    return round(min(known), 2) if known else NOT_APPLICABLE
