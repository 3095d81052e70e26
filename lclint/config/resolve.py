"""What Bridge 0.6.2 itself changes in a config at start-up, in the order in which it does.

Every step is a short function over ``Resolution``; the line in its docstring is where Bridge (``megatron/bridge``) or
Megatron Core (``megatron/core``) does it. A step whose outcome depends on something unknown makes the field unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lclint.config.release import NEWEST
from lclint.config.resolving import data, graphs, inactive, model, overlap, parallel, precision, schedule, sections
from lclint.config.resolving.state import Resolution
from lclint.config.run import Run

# in the order of training/config.py: runtime_config_update(), then ConfigContainer.validate()
STEPS = (
    precision.mixed_precision,
    overlap.comm_overlap,
    data.padding,
    data.dataset,
    parallel.gradient_buffers,
    graphs.cleared,
    model.model_class,
    model.hybrid,
    model.functions,
    model.parallelism,
    model.sizes,
    model.experts,
    model.recompute,
    model.initialisation,
    graphs.migrated,
    model.after,
    schedule.length,
    parallel.rng_tracker,
    sections.tokenizer,
    schedule.evaluation_batches,
    parallel.fsdp,
    parallel.distributed_optimizer,
    sections.tensor_inspector,
    model.cpu_initialisation,
    schedule.scheduler,
    schedule.moved,
    inactive.switched_off,
)
# models of several modules have a start-up of their own, which leaves most of the config alone (training/config.py:1895)
SEVERAL_MODULES = "MegatronMIMOProvider"
SEVERAL_MODULES_STEPS = (parallel.gradient_buffers, schedule.length, parallel.distributed_optimizer)


def resolve(run: Run) -> None:
    """Fill ``run.resolved`` and ``run.changes`` from ``run.written``."""
    state = Resolution(run)
    steps: Iterable[Callable[[Resolution], None]] = SEVERAL_MODULES_STEPS if state.class_name("model") == SEVERAL_MODULES else STEPS
    if run.release != NEWEST:
        from lclint.config.resolving import older

        steps = older.steps(steps)
    for step in steps:
        try:
            step(state)
        except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError):
            # a value of a wrong type, which is a finding of its own: what the step had not settled stays as written
            continue
    run.resolved = state.values
