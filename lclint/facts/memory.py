"""Facts of the memory estimate: what the job takes, stage by stage, and whether it fits.

The estimate is made when the first rule asks for one of them; ``lclint.memory`` is not even imported before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.registry import fact

if TYPE_CHECKING:
    from lclint.memory.result import Estimate, Stage

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
AS_IT_IS = "as it is"


def kept(g: Any, which: str, make: Callable[[Any], Estimate | None]) -> Estimate | None:
    """An estimate of the run or of it with a change, made once; None where it cannot be made or the change is not possible."""
    found = dict.setdefault(g, KEPT, {})
    if which not in found:
        made = None
        # nothing can be said of a model of unknown size, and saying so must cost nothing
        if UNKNOWN not in (g["model.num_layers"], g["model.hidden_size"]):
            from lclint.memory.inputs import DIFFUSION

            # what is known of a language model's limits is no advice for these
            if str(g.run.resolved.get("model._target_")).rpartition(".")[2] not in DIFFUSION:
                made = make(g.run)
        found[which] = made if made is not None and made.stages else None
    result: Estimate | None = found[which]
    return result


def present(g: Any) -> Estimate | None:
    """The estimate of the run as it is."""

    def make(run: Any) -> Estimate | None:
        from lclint.memory.estimate import estimate

        return estimate(run)

    return kept(g, AS_IT_IS, make)


def verdict_of(g: Any, found: Estimate) -> Any:
    """The verdict on an estimate of this run; not oom where batches may be shorter than the full length and what always lies there fits."""
    if found.verdict != "oom" or g["memory.lengths_vary"] is not True or found.capacity_bytes is None:
        return UNKNOWN if found.verdict == "unknown" else found.verdict
    return "oom" if states_of(found) + found.outside_bytes > found.capacity_bytes else "tight"


def states_of(found: Estimate) -> int:
    """Bytes of weights, gradients and optimizer states on the stage that has most of them: what no sequence length changes."""
    return max(sum(stage.components.get(name, 0) for name in ("weights", "gradients", "optimizer")) for stage in found.stages)


def gib(amount: float) -> float:
    """Bytes as GiB, to one place."""
    return round(amount / GIB, 1)


@fact(
    "memory.lengths_vary",
    needs=("data.is_sft", "data.offline_packed", "data.padded", "dataset.pad_to_max_length"),
    unit="true or false",
    source="Bridge training/config.py:1206-1216 (0.6.2): fixed lengths only for pipelines, experts and on demand",
    raw=True,
)
def lengths_vary(g: Any) -> Any:
    """Whether a batch is only as long as its longest sample, so that seq_length is no more than an upper bound."""
    if g["data.is_sft"] is not True or g["data.offline_packed"] is True or g["data.padded"] is True:
        return g["data.is_sft"] if g["data.is_sft"] is UNKNOWN else False
    return g["dataset.pad_to_max_length"] is not True


@fact("memory.verdict", needs=NEEDS, unit="fits, tight or oom", source=SOURCE, raw=True)
def verdict(g: Any) -> Any:
    """The largest stage against the GPU's memory: oom only where not even the lower end of the range fits."""
    if g["gpu.memory_gib"] is UNKNOWN:
        return UNKNOWN
    found = present(g)
    return UNKNOWN if found is None else verdict_of(g, found)


def _measure(name: str, unit: str, meaning: str, measure: Callable[[Estimate], Any]) -> None:
    """Declare a fact that is read off the estimate of the run as it is."""

    def compute(g: Any) -> Any:
        found = present(g)
        return UNKNOWN if found is None else measure(found)

    compute.__doc__ = meaning
    fact(f"memory.{name}", needs=NEEDS, unit=unit, source=SOURCE, raw=True)(compute)


def _largest(found: Estimate) -> str:
    components = _worst(found).components
    return max(components, key=lambda name: components[name])


def _headroom(found: Estimate) -> Any:
    if found.capacity_bytes is None or found.required_bytes is None:
        return UNKNOWN
    return gib(found.capacity_bytes - found.required_bytes)


def _of_capacity(measure: Callable[[Estimate], float]) -> Callable[[Estimate], Any]:
    """That many bytes with what lies outside the allocator, as a share of the GPU's memory."""

    def compute(found: Estimate) -> Any:
        return UNKNOWN if found.capacity_bytes is None else round((measure(found) + found.outside_bytes) / found.capacity_bytes, 3)

    return compute


def _worst(found: Estimate) -> Stage:
    return max(found.stages, key=lambda stage: stage.peak_bytes)


def _reserved(stages: list[Stage], found: Estimate) -> float:
    """The largest peak of those stages with what the allocator cannot use."""
    return max((stage.peak_bytes for stage in stages), default=0) * (1 + found.fragmentation)


SHARE = "share of the GPU's memory"
_measure("peak_gib", "GiB", "Largest peak of any pipeline stage, as PyTorch's allocator counts it.", lambda e: gib(_worst(e).peak_bytes))
_measure("low_gib", "GiB", "Lower end of the range of the largest stage's peak.", lambda e: gib(_worst(e).low_bytes))
_measure("states_gib", "GiB", "Weights, gradients and optimizer states on the stage that has most of them.", lambda e: gib(states_of(e)))
_measure("states_share", SHARE, "Weights, gradients and optimizer states, with what lies outside PyTorch's allocator.", _of_capacity(states_of))
_measure("headroom_gib", "GiB", "What the largest stage leaves of the GPU's memory, all counted; negative where it does not fit.", _headroom)
_measure("share", SHARE, "What the largest stage takes, all counted.", _of_capacity(lambda e: _reserved(e.stages, e)))
_measure("share_high", SHARE, "Upper end of the range of memory.share.", _of_capacity(lambda e: _worst(e).high_bytes * (1 + e.fragmentation)))
_measure("last_share", SHARE, "What the last stage takes, all counted.", _of_capacity(lambda e: _reserved(e.stages[-1:], e)))
_measure("later_share", SHARE, "What the largest stage behind the first takes, all counted.", _of_capacity(lambda e: _reserved(e.stages[1:], e)))
_measure("largest_component", "component of the estimate", "What takes most of the largest stage's peak: weights, optimizer, experts ...", _largest)
_measure("largest_component_gib", "GiB", "Size of that component.", lambda e: gib(max(_worst(e).components.values())))
_measure("worst_stage", "stage, from 0", "The pipeline stage with the largest peak.", lambda e: _worst(e).stage)
_measure("first_layers", "layers", "Layers on the first stage.", lambda e: e.stages[0].layers)
_measure("parameters", "parameters", "Parameters of the whole model.", lambda e: e.parameters)
_measure("last_layers", "layers", "Layers on the last stage.", lambda e: e.stages[-1].layers)


@fact(
    "memory.logits_gib",
    needs=(
        "model.vocab_size",
        "model.seq_length",
        "train.micro_batch_size",
        "model.tensor_model_parallel_size",
        "model.context_parallel_size",
    ),
    unit="GiB",
    source="MBS x sequence / CP x vocabulary / TP x 4 bytes",
)
def logits(vocabulary: int, length: int, micro_batch: int, tp: int, cp: int) -> float:
    """One FP32 tensor of the logits of a micro batch on a rank of the last stage."""
    return round(4 * micro_batch * length * vocabulary / (tp * cp) / GIB, 2)


@fact("memory.experts_share", needs=(*NEEDS, "model.num_moe_experts"), unit="share of the GPU's memory", source=SOURCE, raw=True)
def experts_share(g: Any) -> Any:
    """Optimizer state of a rank's experts; not applicable to dense models."""
    found = present(g)
    if found is None or found.capacity_bytes is None:
        return UNKNOWN
    if not g["model.num_moe_experts"]:
        return NOT_APPLICABLE
    from lclint.memory.alternatives import expert_state_bytes

    return round(expert_state_bytes(g.run) / found.capacity_bytes, 3)
