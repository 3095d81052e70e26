"""Communication overlap: where a switch is turned on, and what Bridge will make of it."""

from __future__ import annotations

from typing import Any

from lclint.core.states import UNKNOWN
from lclint.facts.registry import fact

SECTION = "written.comm_overlap"


def _field(g: Any, name: str) -> str:
    section = g[SECTION].__class__ is dict or g[f"{SECTION}.{name}"] is True
    return f"comm_overlap.{name}" if section else f"model.{name}"


@fact("overlap.ep_field", needs=(SECTION,), unit="field", source="Bridge training/comm_overlap.py:478, core transformer_config.py:2670", raw=True)
def ep_field(g: Any) -> str:
    """The field that decides on overlapping expert-parallel communication: the section's where there is one, else the model's."""
    return _field(g, "overlap_moe_expert_parallel_comm")


@fact("overlap.wgrad_field", needs=(SECTION,), unit="field", source="Bridge training/comm_overlap.py:519, core transformer_config.py:2748", raw=True)
def wgrad_field(g: Any) -> str:
    """The field that decides on delaying weight gradients."""
    return _field(g, "delay_wgrad_compute")


@fact("overlap.defer_field", needs=(SECTION,), unit="field", source="Bridge training/comm_overlap.py:434, core model_parallel_config.py:545", raw=True)
def defer_field(g: Any) -> str:
    """The field that decides on deferring the embedding's weight gradient."""
    return _field(g, "defer_embedding_wgrad_compute")


@fact("overlap.deferral_limit_field", needs=(SECTION,), unit="field", source="Bridge training/comm_overlap.py:435, core model_parallel_config.py:555", raw=True)
def deferral_limit_field(g: Any) -> str:
    """The field that decides how many microbatches the embedding's weight gradient is deferred by."""
    return _field(g, "wgrad_deferral_limit")


@fact("overlap.lost", needs=(SECTION,), unit="records", source="Bridge training/comm_overlap.py:586-633 (0.6.2)", raw=True)
def lost(g: Any) -> Any:
    """Fields of model, ddp and optimizer that the user set and that the comm_overlap section replaces: field, written, becomes, section_field.

    Of a saved config only overrides count: what is in the file may be left from the recipe.
    """
    if g[SECTION] is UNKNOWN:
        return UNKNOWN
    run = g.run
    found = []
    for change in run.changes:
        origin = run.origins.get(change.name)
        if not change.why.startswith("comm_overlap") or UNKNOWN in (change.old, change.new):
            continue
        if origin == "set" or (origin == "file" and run.kind == "override"):
            leaf = change.name.partition(".")[2]
            found.append({"field": change.name, "written": change.old, "becomes": change.new, "section_field": f"comm_overlap.{leaf}"})
    return found
