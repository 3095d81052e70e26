"""Start-up of the releases before the newest: what was shown to be the same in 0.3.1, 0.4.2 and 0.5.1, and nothing else.

The other steps of the newest release run as well, but only to tell which fields they may touch: those become unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lclint.catalog.history import older
from lclint.config.resolving import inactive, model, parallel, precision, schedule
from lclint.config.resolving.state import Resolution, more
from lclint.core.states import UNKNOWN

# bridge training/mixed_precision.py:154 (0.6.2) is the same in all; core transformer_config.py __post_init__ for sizes and recompute;
# bridge training/config.py:1416 (0.3.1), 1059 (0.4.2) and 1104 (0.5.1) for the random number tracker, and finalize() of TrainingConfig
SAME = (precision.mixed_precision, model.sizes, model.recompute, parallel.rng_tracker, schedule.length, inactive.switched_off)
# changed in older releases alone: graph scopes are parsed, cleared or migrated in three ways, and with Megatron FSDP 0.3 and 0.4 take
# these switches back (bridge training/config.py:1447-1475, 0.3.1)
UNSETTLED = (
    "model.cuda_graph_scope",
    "model.cuda_graph_modules",
    "model.gradient_accumulation_fusion",
    "ddp.average_in_collective",
    "ddp.reuse_grad_buf_for_mxfp8_param_ag",
    "optimizer.reuse_grad_buf_for_mxfp8_param_ag",
)
WHY = "what this release makes of it is not known here"


Step = Callable[[Resolution], None]


def steps(newest: Iterable[Step]) -> list[Step]:
    """The steps of an older release, made of those of the newest."""
    return [parallelism, *(step if step in SAME else _doubtful(step) for step in newest), unsettled]


def _doubtful(step: Step) -> Step:
    def run(s: Resolution) -> None:
        before = len(s.run.changes)
        try:
            step(s)
        finally:
            for change in s.run.changes[before:]:
                change.new, change.why = UNKNOWN, WHY
                s.values[change.name] = UNKNOWN

    return run


def unsettled(s: Resolution) -> None:
    """What older releases alone change."""
    for name in UNSETTLED:
        if name in s.values and s.values[name] not in (None, False, []):
            s.set(name, UNKNOWN, WHY)


def parallelism(s: Resolution) -> None:
    """core model_parallel_config.py __post_init__ (0.15.3 to 0.18.2), bridge models/transformer_config.py (0.4.2, 0.5.1)."""
    tp, pp = s.get("model.tensor_model_parallel_size"), s.get("model.pipeline_model_parallel_size")
    s.default("model.expert_tensor_parallel_size", tp, "as the dense one (core model_parallel_config.py, 0.16.1)")
    s.default("model.microbatch_group_size_per_vp_stage", pp, "one group is PP microbatches (core model_parallel_config.py, 0.16.1)")
    s.default("model.autocast_dtype", s.get("model.params_dtype"), "as the parameters (core model_parallel_config.py, 0.16.1)")
    if s.get("model.sequence_parallel") is True and not older(s.run.release, "0.4"):
        alone = more(tp, 1)
        s.when(UNKNOWN if alone is UNKNOWN else not alone, "model.sequence_parallel", False, "TP is 1 (models/transformer_config.py, 0.4.2)")
