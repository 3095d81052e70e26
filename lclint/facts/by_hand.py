"""What was changed by hand in what memory depends on, against the config that lies below: a base, a recipe, or the file under ``--set``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lclint.core.states import UNKNOWN
from lclint.facts.memory import NEEDS, SOURCE, kept, present
from lclint.facts.registry import fact

if TYPE_CHECKING:
    from lclint.config.run import Run
    from lclint.memory.result import Estimate

# what people turn when memory is in question
LEVERS = frozenset(
    (
        "train.micro_batch_size",
        "model.seq_length",
        "model.recompute_granularity",
        "model.recompute_modules",
        "model.tensor_model_parallel_size",
        "model.pipeline_model_parallel_size",
        "model.context_parallel_size",
        "model.expert_model_parallel_size",
        "model.sequence_parallel",
        "optimizer.use_precision_aware_optimizer",
        "optimizer.optimizer_cpu_offload",
    )
)
# sections that memory may depend on
SECTIONS = ("model", "train", "ddp", "dist", "optimizer", "mixed_precision", "peft", "dataset", "env_vars")
# a change by less is rounding
MORE = 1.005
BELOW = "below"


def _changes(run: Run) -> dict[str, Any] | None:
    """Fields written by hand that differ from what lies below, with that value (``run`` itself: it has none); None where nothing lies below."""
    if run.base is None and not (run.kind == "dump" and run.complete):
        return None
    found: dict[str, Any] = {}
    for name, origin in run.origins.items():
        if origin == "set" or (origin == "file" and run.kind != "dump"):
            below = run.base.get(name, run) if run.base is not None else _in_file(run, name)
            if name.partition(".")[0] in SECTIONS and (below is run or below != run.written.get(name)):
                found[name] = below
    return found


def _in_file(run: Run, name: str) -> Any:
    value: Any = run.document.data if run.document is not None else None
    for key in name.split("."):
        if value.__class__ is not dict or key not in value:
            return run
        value = value[key]
    return value


@fact("memory.raised", needs=NEEDS, unit="true or false", source=SOURCE, raw=True)
def raised(g: Any) -> Any:
    """Whether what was changed by hand needs more memory than what lies below; true where nothing lies below, so that all of it is by hand."""
    now = present(g)
    if now is None:
        return UNKNOWN
    if g.run.base is None and g.run.kind == "dump" and "set" not in g.run.origins.values():
        return False

    def make(run: Run) -> Estimate | None:
        from lclint.config.changes import changed
        from lclint.memory.estimate import estimate

        changes = _changes(run)
        if not changes:
            return now if changes is not None else None
        return estimate(changed(run, {name: value for name, value in changes.items() if value is not run}, [n for n, v in changes.items() if v is run]))

    below = kept(g, BELOW, make)
    return below is None or (now.required_bytes or 0) > MORE * (below.required_bytes or 0)


@fact("memory.by_hand", needs=("memory.raised",), unit="true or false", source=SOURCE, raw=True)
def by_hand(g: Any) -> Any:
    """Whether somebody raised what the run needs, or turned one of the usual levers."""
    changes = _changes(g.run)
    return True if changes is None or not LEVERS.isdisjoint(changes) else g["memory.raised"]


@fact(
    "memory.as_published",
    needs=("memory.by_hand", "cluster.gpus", "layout.fewest_gpus"),
    unit="true or false",
    source="GPU counts in the names of Bridge's library recipes",
)
def as_published(by_hand: bool, gpus: int, fewest: int) -> bool:
    """Whether nothing was changed by hand and the GPUs are the fewest that the layout allows.

    Library recipes carry that number in their names; it says how the layout divides, not that the model fits.
    """
    return not by_hand and gpus == fewest
