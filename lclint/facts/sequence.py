"""How sequences are split: context parallelism, its kinds of communication, and the multiples that lengths must have."""

from __future__ import annotations

import math
from typing import Any

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.registry import fact

CP = "model.context_parallel_size"
TP = "model.tensor_model_parallel_size"
EVAL_CP = "dist.eval_context_parallel_size"
WRITTEN_SP = "written.model.sequence_parallel"
COMM = "model.cp_comm_type"
SIZES = "model.hierarchical_context_parallel_sizes"


@fact("sequence.collate_multiple", needs=(CP, TP, WRITTEN_SP, EVAL_CP), unit="tokens", source="Bridge training/config.py:1213-1221 (0.6.2)", raw=True)
def collate_multiple(g: Any) -> Any:
    """What collated sequence lengths must be a multiple of: 2 x CP in training and evaluation, and CP x TP under sequence parallelism."""
    cp, tp, eval_cp = g[CP], g[TP], g[EVAL_CP]
    sequence_parallel = False if tp == 1 else g[WRITTEN_SP]
    if UNKNOWN in (cp, tp, eval_cp, sequence_parallel):
        return UNKNOWN
    sizes = {cp} if eval_cp in (None, NOT_APPLICABLE) else {cp, eval_cp}
    if tp.__class__ is not int or any(size.__class__ is not int or size < 1 for size in sizes):
        return NOT_APPLICABLE
    return math.lcm(*(2 * size if size > 1 else 1 for size in sizes), *(size * tp if sequence_parallel is True and tp > 1 else 1 for size in sizes))


@fact("sequence.cp_comm_types", needs=(COMM,), nullable=(COMM,), unit="names", source="Bridge training/config.py:1543 (0.6.2)")
def cp_comm_types(kinds: Any) -> Any:
    """Kinds of context-parallel communication in use, one for all layers or one for each; p2p when the config names none."""
    if kinds.__class__ is list:
        return kinds if all(kind.__class__ is str for kind in kinds) else NOT_APPLICABLE
    return [kinds or "p2p"] if kinds is None or kinds.__class__ is str else NOT_APPLICABLE


@fact("sequence.hierarchical", needs=("sequence.cp_comm_types",), unit="yes or no", source="Bridge training/config.py:1544 (0.6.2)")
def hierarchical(kinds: list[str]) -> bool:
    """Whether a layer communicates in two levels, all-to-all inside and point-to-point outside."""
    return any("a2a+p2p" in kind for kind in kinds)


@fact(
    "sequence.a2a_size",
    needs=("sequence.cp_comm_types", CP, SIZES),
    unit="ranks",
    source="head split of the all-to-all attention in Transformer Engine",
    raw=True,
)
def a2a_size(g: Any) -> Any:
    """Ranks among which all-to-all attention splits the heads; not applicable without it."""
    kinds, cp, sizes = g["sequence.cp_comm_types"], g[CP], g[SIZES]
    if kinds is UNKNOWN or cp is UNKNOWN:
        return UNKNOWN
    if kinds is NOT_APPLICABLE or cp.__class__ is not int:
        return NOT_APPLICABLE
    if "a2a" in kinds:
        return cp
    if any("a2a+p2p" in kind for kind in kinds):
        if sizes is UNKNOWN:
            return UNKNOWN
        return sizes[0] if sizes.__class__ is list and sizes and sizes[0].__class__ is int else NOT_APPLICABLE
    return NOT_APPLICABLE
