"""Would the run fit otherwise: with the recompute that suits its family, with more GPUs, with less model parallelism."""

from __future__ import annotations

from lclint.config.run import Run
from lclint.core.states import UNKNOWN
from lclint.memory import parameters, states
from lclint.memory.inputs import Inputs
from lclint.memory.levers import CP, GPUS, LAYOUT, MICRO, PP, TP, Changes, divides, layers_left, number, recomputing, share, varied
from lclint.memory.result import Estimate
from lclint.memory.stages import Model

# tokens of a sequence on one rank that models of a family were run with
MOST_TOKENS = 8192
MOST_TOKENS_ATTENTION_MOE = 4096
# GPU counts that are looked at: up to this many doublings of the present one
DOUBLINGS = 6


def selective_sets(run: Run) -> list[list[str]]:
    """The module sets that suit the model's family, the cheaper first."""
    get = run.resolved.get
    experts = get("model.num_moe_experts")
    if get("model.multi_latent_attention") is True and experts:
        return [["mla_up_proj", "layernorm", "moe_act"], ["mla_up_proj", "layernorm", "moe_act", "mlp"]]
    return [["layernorm", "moe_act"], ["moe", "layernorm"]] if experts else [["mlp"]]


def selective(run: Run) -> tuple[list[str], Estimate]:
    """The selective recompute that suits the family in the place of what the run has, and the estimate with it.

    It is the first set that keeps below 85 % of the GPU's memory, else the last.
    """
    *sets, last = selective_sets(run)
    for modules in sets:
        found = varied(run, recomputing(modules))
        part = share(found)
        if part is not UNKNOWN and part <= 0.85:
            return modules, found
    return last, varied(run, recomputing(last))


def enough_gpus(run: Run) -> int | None:
    """The smallest count of the present GPUs doubled again and again on which the run fits; None where more of them do not help."""
    gpus = run.missing(GPUS)
    if gpus.__class__ is not int:
        return None
    before = None
    for _ in range(DOUBLINGS):
        gpus *= 2
        batch, micro = number(run, "train.global_batch_size"), number(run, MICRO)
        if batch and micro and batch % (micro * max(1, gpus // (number(run, TP) * number(run, PP) * number(run, CP) or 1))):
            return None
        found = varied(run, {GPUS: gpus})
        if found.verdict == "fits":
            return int(gpus)
        part = share(found)
        if before is not None and part is not UNKNOWN and part >= before:
            return None
        before = part if part is not UNKNOWN else None
    return None


def halved(run: Run, attention_moe: bool) -> list[Estimate]:
    """With one of TP, PP and CP halved, where that is legal and the tokens on a rank stay within what the family was run with."""
    limit = MOST_TOKENS_ATTENTION_MOE if attention_moe else MOST_TOKENS
    found = []
    for field in (CP, PP, TP):
        degree = number(run, field)
        if not degree or degree % 2:
            continue
        changes = {field: degree // 2}
        if not divides(run, changes) or _tokens(run, changes) > limit:
            continue
        if field == PP and (any(run.resolved.get(name) is not None for name in LAYOUT) or layers_left(run, degree // 2)):
            continue
        found.append(varied(run, changes))
    return found


def _tokens(run: Run, changes: Changes) -> float:
    cp, tp = (changes.get(name) or number(run, name) or 1 for name in (CP, TP))
    return number(run, "model.seq_length") / (cp * (tp if run.resolved.get("model.sequence_parallel") is True else 1))


def expert_state_bytes(run: Run) -> float:
    """Optimizer state of the experts on the stage that has most of it, as it lies on one rank (main weights and moments)."""
    m = Inputs(run)
    if m.reader.needs:
        return 0.0
    model = Model(m)
    elements = max(parameters.stage(m, chunks, model.layers).expert for chunks in model.stages)
    if m.adapter:
        return 0.0
    main, moments, _ = states.per_parameter(m)
    return (main + moments) * elements / states.shards(m)[1]


def offloaded_bytes(run: Run) -> float:
    """What optimizer offload puts into a host's memory for each GPU: FP32 weights and two moments of the offloaded share, as it is sharded."""
    m = Inputs(run)
    if m.reader.needs or not m.offloaded:
        return 0.0
    model = Model(m)
    dense, expert = states.shards(m)
    weights = [parameters.stage(m, chunks, model.layers) for chunks in model.stages]
    return 12 * m.offloaded * max(w.adapters / dense if m.adapter else w.dense / dense + w.expert / expert for w in weights)
