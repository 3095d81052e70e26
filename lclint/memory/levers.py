"""Estimates of a run with something changed: what rules ask before they advise it."""

from __future__ import annotations

from typing import Any

from lclint.config.run import Run
from lclint.core.states import UNKNOWN
from lclint.memory.estimate import estimate
from lclint.memory.result import Estimate

TP = "model.tensor_model_parallel_size"
PP = "model.pipeline_model_parallel_size"
CP = "model.context_parallel_size"
VPP = "model.virtual_pipeline_model_parallel_size"
LAYOUT = ("model.pipeline_model_parallel_layout", "model.num_layers_in_first_pipeline_stage", "model.num_layers_in_last_pipeline_stage")
# tokens of a sequence on one rank that models of a family were run with
MOST_TOKENS = 8192
MOST_TOKENS_ATTENTION_MOE = 4096


def varied(run: Run, changes: dict[str, Any]) -> Estimate:
    """The estimate of the run with these resolved values in the place of its own."""
    other = object.__new__(Run)
    for name in Run.__slots__:
        setattr(other, name, getattr(run, name))
    other.resolved = {**run.resolved, **changes}
    return estimate(other)


def share(found: Estimate, high: bool = False) -> Any:
    """What the largest stage takes of the GPU's memory, all counted (at the upper end of its range: ``high``); UNKNOWN without a capacity."""
    worst = found.worst
    if worst is None or found.capacity_bytes is None:
        return UNKNOWN
    peak = worst.high_bytes if high else worst.peak_bytes
    return (peak * (1 + found.fragmentation) + found.outside_bytes) / found.capacity_bytes


def context_doubled(run: Run) -> Estimate | None:
    """With CP doubled on the same GPUs; None where the sequence or the GPUs do not divide."""
    cp, length = _number(run, CP), _number(run, "model.seq_length")
    if not cp or not length or length % (4 * cp) or not _divides(run, {CP: 2 * cp}):
        return None
    return varied(run, {CP: 2 * cp})


def tensor_doubled(run: Run) -> Estimate | None:
    """With TP doubled and sequence parallelism, inside one node; None where heads, groups, GPUs or the node do not allow it."""
    tp, heads = _number(run, TP), _number(run, "model.num_attention_heads")
    node = run.missing("cluster.gpus_per_node")
    if node.__class__ is not int:
        node = run.missing("gpu.gpus_per_node")
    groups = _number(run, "model.num_query_groups") or heads
    if not tp or not heads or node.__class__ is not int or 2 * tp > node or heads % (2 * tp) or (groups % (2 * tp) and 2 * tp % groups):
        return None
    changes = {TP: 2 * tp, "model.sequence_parallel": True}
    if _number(run, "model.expert_tensor_parallel_size") == tp and _number(run, "model.expert_model_parallel_size") == 1:
        changes["model.expert_tensor_parallel_size"] = 2 * tp
    return varied(run, changes) if _divides(run, changes) else None


def selective(run: Run) -> Estimate:
    """With the selective recompute that suits the family in the place of what the run has: the first set that keeps below 85 %, else the last."""
    get = run.resolved.get
    experts = get("model.num_moe_experts")
    if get("model.multi_latent_attention") is True and experts:
        sets = [["mla_up_proj", "layernorm", "moe_act"], ["mla_up_proj", "layernorm", "moe_act", "mlp"]]
    elif experts:
        sets = [["layernorm", "moe_act"], ["moe", "layernorm"]]
    else:
        sets = [["mlp"]]
    found = None
    for modules in sets:
        found = varied(
            run,
            {
                "model.recompute_granularity": "selective",
                "model.recompute_modules": modules,
                "model.recompute_method": None,
                "model.recompute_num_layers": None,
            },
        )
        part = share(found)
        if part is not UNKNOWN and part <= 0.85:
            break
    assert found is not None
    return found


def halved(run: Run, attention_moe: bool) -> list[Estimate]:
    """With one of TP, PP and CP halved, where that is legal and the tokens on a rank stay within what the family was run with."""
    limit = MOST_TOKENS_ATTENTION_MOE if attention_moe else MOST_TOKENS
    found = []
    for field in (CP, PP, TP):
        degree = _number(run, field)
        if not degree or degree % 2:
            continue
        changes = {field: degree // 2}
        if not _divides(run, changes) or _tokens(run, changes) > limit:
            continue
        if field == PP and (any(run.resolved.get(name) is not None for name in LAYOUT) or _layers_left(run, degree // 2)):
            continue
        found.append(varied(run, changes))
    return found


def _number(run: Run, name: str) -> int:
    value = run.resolved.get(name)
    return value if value.__class__ is int and value > 0 else 0


def _divides(run: Run, changes: dict[str, Any]) -> bool:
    """Whether the GPUs hold whole copies of the dense model and of the experts, and the batch divides, with these degrees."""

    def degree(name: str) -> int:
        return int(changes.get(name) or _number(run, name) or 1)

    gpus = run.missing("cluster.gpus")
    dense = degree(TP) * degree(PP) * degree(CP)
    expert = degree(PP) * degree("model.expert_model_parallel_size") * degree("model.expert_tensor_parallel_size")
    if gpus.__class__ is not int or gpus % dense or gpus % expert:
        return False
    batch, micro = _number(run, "train.global_batch_size"), _number(run, "train.micro_batch_size")
    return not batch or not micro or batch % (micro * (gpus // dense)) == 0


def _tokens(run: Run, changes: dict[str, Any]) -> float:
    cp, tp = (changes.get(name) or _number(run, name) or 1 for name in (CP, TP))
    return _number(run, "model.seq_length") / (cp * (tp if run.resolved.get("model.sequence_parallel") is True else 1))


def _layers_left(run: Run, pp: int) -> int:
    extra = (run.resolved.get("model.account_for_embedding_in_pipeline_split") is True) + (run.resolved.get("model.account_for_loss_in_pipeline_split") is True)
    return (_number(run, "model.num_layers") + extra) % (pp * (_number(run, VPP) or 1))
