"""How the GPUs are divided: model, data, expert and expert-data parallel sizes, and the tokens on one rank."""

from __future__ import annotations

from typing import Any

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.registry import fact

TP = "model.tensor_model_parallel_size"
PP = "model.pipeline_model_parallel_size"
VPP = "model.virtual_pipeline_model_parallel_size"
CP = "model.context_parallel_size"
EP = "model.expert_model_parallel_size"
ETP = "model.expert_tensor_parallel_size"


EVAL_CP = "dist.eval_context_parallel_size"
DIST_TRAIN = "written.model.dist_train.use_dist_train"
LANGUAGE_GPUS = "written.model.dist_train.language_world_size"
DECREASE = "train.decrease_batch_size_if_needed"


@fact("layout.gpus", needs=("cluster.gpus", DIST_TRAIN, LANGUAGE_GPUS), unit="GPUs", source="Bridge training/config.py:1016 (0.6.2)", raw=True)
def model_gpus(g: Any) -> Any:
    """GPUs over which the language model is laid out: all of them, unless vision and language train on GPUs of their own."""
    return g[LANGUAGE_GPUS] if g[DIST_TRAIN] is True else g["cluster.gpus"]


@fact("layout.model_parallel", needs=(TP, PP, CP), unit="ranks", source="Bridge training/config.py:1019 (0.6.2)")
def model_parallel(tp: int, pp: int, cp: int) -> Any:
    """Ranks that hold one copy of the dense model: TP x PP x CP; not applicable where one of them is not positive."""
    return tp * pp * cp if min(tp, pp, cp) > 0 else NOT_APPLICABLE


@fact("layout.expert_model_parallel", needs=(PP, EP, ETP), unit="ranks", source="Megatron Core parallel_state.py:881 (0.19.2)")
def expert_model_parallel(pp: int, ep: int, etp: int) -> Any:
    """Ranks that hold one copy of the experts: PP x EP x ETP; not applicable where one of them is not positive."""
    return pp * ep * etp if min(pp, ep, etp) > 0 else NOT_APPLICABLE


@fact("layout.eval_dp", needs=("layout.gpus", TP, PP, CP, EVAL_CP), unit="ranks", source="Bridge training/config.py:1328 (0.6.2)", raw=True)
def eval_data_parallel(g: Any) -> Any:
    """Data parallel size in evaluation, which may have a context parallel size of its own; not applicable where it is no whole number."""
    values = [g["layout.gpus"], g[TP], g[PP], g[CP] if g[EVAL_CP] in (None, NOT_APPLICABLE) else g[EVAL_CP]]
    if UNKNOWN in values:
        return UNKNOWN
    if any(value.__class__ is not int or value < 1 for value in values):
        return NOT_APPLICABLE
    gpus, tp, pp, cp = values
    return gpus // (tp * pp * cp) if gpus % (tp * pp * cp) == 0 else NOT_APPLICABLE


@fact("layout.dp", needs=("layout.gpus", "layout.model_parallel"), unit="ranks", source="Bridge training/config.py:1027 (0.6.2)")
def data_parallel(gpus: int, size: int) -> Any:
    """Data parallel size; not applicable where the GPUs do not divide into whole copies of the model."""
    return gpus // size if gpus % size == 0 else NOT_APPLICABLE


@fact("layout.edp", needs=("cluster.gpus", "layout.expert_model_parallel"), unit="ranks", source="Megatron Core parallel_state.py:881 (0.19.2)")
def expert_data_parallel(gpus: int, size: int) -> Any:
    """Expert data parallel size; not applicable where the GPUs do not divide into whole copies of the experts."""
    return gpus // size if gpus % size == 0 else NOT_APPLICABLE


@fact("layout.fewest_gpus", needs=("layout.model_parallel", "layout.expert_model_parallel"), unit="GPUs", source="least common multiple of both divisors")
def fewest_gpus(dense: int, expert: int) -> int:
    """The smallest GPU count that both the dense and the expert layout divide."""
    import math

    return math.lcm(dense, expert)


@fact(
    "layout.microbatches",
    needs=("train.global_batch_size", "train.micro_batch_size", "layout.dp", DECREASE),
    unit="microbatches",
    source="Megatron Core num_microbatches_calculator.py:371-388 (0.19.2)",
    raw=True,
)
def microbatches(g: Any) -> Any:
    """Microbatches per step and rank; not applicable where the global batch does not divide and may not be rounded down."""
    values = [g[name] for name in ("train.global_batch_size", "train.micro_batch_size", "layout.dp")]
    if NOT_APPLICABLE in values:
        return NOT_APPLICABLE
    if UNKNOWN in values:
        return UNKNOWN
    global_batch, micro_batch, dp = values
    if any(value.__class__ is not int or value < 1 for value in values):
        return NOT_APPLICABLE
    if global_batch % (micro_batch * dp) and g[DECREASE] is not True:
        return UNKNOWN if g[DECREASE] is UNKNOWN else NOT_APPLICABLE
    return global_batch // (micro_batch * dp)


@fact(
    "shard.tokens_per_rank",
    needs=("model.seq_length", CP, TP, "model.sequence_parallel"),
    unit="tokens",
    source="sequence split over CP, and over TP under sequence parallelism",
)
def tokens_per_rank(length: int, cp: int, tp: int, sequence_parallel: bool) -> float:
    """Tokens whose residual stream lies on one rank, for one sequence."""
    return length / (cp * (tp if sequence_parallel else 1))
