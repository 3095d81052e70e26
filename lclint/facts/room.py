"""Facts of what would change the memory estimate: what each lever frees, and whether the job fits with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.memory import GIB, NEEDS, SOURCE, gib, kept, present, verdict_of
from lclint.facts.registry import fact

if TYPE_CHECKING:
    from lclint.memory.result import Estimate

# where the modules of the selective estimate are kept among a run's facts
MODULES = "memory.selective_modules made"
# the levers of lclint.memory.levers, which is not imported before a rule asks, each as what it does
LEVERS = {
    "context_parallelism": "CP doubled on the same GPUs",
    "tensor_parallelism": "TP doubled with sequence parallelism, inside one node",
    "pipeline_parallelism": "PP doubled on the same GPUs",
    "expert_parallelism": "EP doubled on the same GPUs",
    "micro_batch": "the micro batch halved",
    "full_recompute": "every layer recomputed from its input",
    "short_moments": "Adam's moments in bf16",
    "short_gradients": "gradient buffers in two bytes",
    "sharded_optimizer": "the optimizer's state divided over the data parallel ranks",
    "optimizer_offload": "the whole optimizer on the host",
    "no_graphs": "CUDA graphs off",
    "expandable_segments": "an allocator with expandable segments",
}


def _with(g: Any, lever: str) -> Estimate | None:
    def make(run: Any) -> Estimate | None:
        from lclint.memory import levers

        changes = levers.LEVERS[lever](run)
        return None if changes is None else levers.varied(run, changes)

    return kept(g, lever, make)


def _declare(lever: str, what: str) -> None:
    def freed(g: Any) -> Any:
        now = present(g)
        if now is None:
            return UNKNOWN
        then = _with(g, lever)
        return NOT_APPLICABLE if then is None else gib((now.required_bytes or 0) - (then.required_bytes or 0))

    freed.__doc__ = f"What the largest stage needs less with {what}; not applicable where that cannot be."
    fact(f"memory.freed_by_{lever}_gib", needs=NEEDS, unit="GiB", source=SOURCE, raw=True)(freed)

    def fits(g: Any) -> Any:
        if present(g) is None or g["gpu.memory_gib"] is UNKNOWN:
            return UNKNOWN
        then = _with(g, lever)
        return False if then is None else verdict_of(g, then) == "fits"

    fits.__doc__ = f"Whether the largest stage fits with {what}; false where that cannot be."
    fact(f"memory.fits_with_{lever}", needs=NEEDS, unit="true or false", source=SOURCE, raw=True)(fits)


for _lever, _what in LEVERS.items():
    _declare(_lever, _what)


@fact("memory.selective_share", needs=NEEDS, unit="share of usable memory", source=SOURCE, raw=True)
def selective_share(g: Any) -> Any:
    """What the largest stage would take of the GPU's memory with the family's best selective recompute set."""
    return _selective(g, False)


@fact("memory.selective_share_high", needs=NEEDS, unit="share of usable memory", source=SOURCE, raw=True)
def selective_share_high(g: Any) -> Any:
    """Upper end of the range of memory.selective_share."""
    return _selective(g, True)


@fact("memory.selective_modules", needs=NEEDS, unit="names", source=SOURCE, raw=True)
def selective_modules(g: Any) -> Any:
    """The modules of memory.selective_share."""
    return UNKNOWN if _selective(g, False) is UNKNOWN else dict.__getitem__(g, MODULES)


def _selective(g: Any, high: bool) -> Any:
    def make(run: Any) -> Estimate:
        from lclint.memory import alternatives

        modules, made = alternatives.selective(run)
        dict.__setitem__(g, MODULES, modules)
        return made

    found = kept(g, "selective", make)
    if found is None:
        return UNKNOWN
    from lclint.memory import levers

    part = levers.share(found, high)
    return part if part is UNKNOWN else round(part, 2)


@fact("memory.share_without_moe_recompute", needs=(*NEEDS, "recompute.effective"), unit="share of usable memory", source=SOURCE, raw=True)
def without_moe_recompute(g: Any) -> Any:
    """What the largest stage would take with moe_act and layernorm recomputed in the place of the whole expert layer."""
    modules = g["recompute.effective"]
    if modules.__class__ is not list:
        return modules if modules is UNKNOWN else NOT_APPLICABLE
    wanted = [name for name in modules if name != "moe"]
    wanted += [name for name in ("moe_act", "layernorm") if name not in wanted]
    from lclint.memory import levers

    found = kept(g, "without moe", lambda run: levers.varied(run, levers.recomputing(wanted)))
    if found is None:
        return UNKNOWN
    part = levers.share(found, True)
    return part if part is UNKNOWN else round(part, 2)


@fact("memory.halved_share", needs=(*NEEDS, "family.kind"), unit="share of usable memory", source=SOURCE, raw=True)
def halved_share(g: Any) -> Any:
    """Smallest share over the legal layouts in which one of TP, PP, CP is halved and the tokens per rank stay within the family's limit.

    Not applicable where none of them can be halved.
    """
    if present(g) is None or g["gpu.memory_gib"] is UNKNOWN or g["family.kind"] is UNKNOWN:
        return UNKNOWN
    from lclint.memory import alternatives, levers

    shares = [levers.share(found) for found in alternatives.halved(g.run, g["family.kind"] == "attention-moe") if found.stages]
    known = [part for part in shares if part is not UNKNOWN]
    return round(min(known), 2) if known else NOT_APPLICABLE


@fact("memory.enough_gpus", needs=NEEDS, unit="GPUs", source=SOURCE, raw=True)
def enough_gpus(g: Any) -> Any:
    """The smallest of the present GPUs' doublings on which the run fits as it is; not applicable where more GPUs do not help."""
    if present(g) is None or g["gpu.memory_gib"] is UNKNOWN:
        return UNKNOWN
    from lclint.memory import alternatives

    found = alternatives.enough_gpus(g.run)
    return NOT_APPLICABLE if found is None else found


@fact(
    "memory.offloaded_gib",
    needs=(*NEEDS, "optimizer.optimizer_cpu_offload"),
    unit="GiB for each GPU",
    source="12 bytes a weight: FP32 copy and two moments",
    raw=True,
)
def offloaded(g: Any) -> Any:
    """What optimizer offload puts into the host's memory for each GPU."""
    if present(g) is None:
        return UNKNOWN
    from lclint.memory import alternatives

    return round(alternatives.offloaded_bytes(g.run) / GIB, 1)
