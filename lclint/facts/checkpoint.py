"""Checkpoint settings that are checked only while a saved config is turned back into objects."""

from __future__ import annotations

from typing import Any

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.registry import fact

STRATEGY = "written.checkpoint.async_strategy"
INTEGRITY = "written.checkpoint.verify_integrity"


def _as_loaded(g: Any, name: str) -> Any:
    """A value that the saved config itself holds; an override comes after the check and is not applicable."""
    field = name[len("written.") :]
    return g[name] if g.run.complete and g.run.origins.get(field) in ("file", "base") else NOT_APPLICABLE


@fact("checkpoint.loaded_strategy", needs=(STRATEGY,), unit="name", source="training/config/training_config.py:629 (0.19.2)", raw=True)
def loaded_strategy(g: Any) -> Any:
    """async_strategy as the saved config has it."""
    return _as_loaded(g, STRATEGY)


@fact("checkpoint.loaded_integrity", needs=(INTEGRITY,), unit="yes or no", source="training/config/training_config.py:645 (0.19.2)", raw=True)
def loaded_integrity(g: Any) -> Any:
    """verify_integrity as the saved config has it."""
    return _as_loaded(g, INTEGRITY)


@fact("checkpoint.loaded_format", needs=("written.checkpoint.ckpt_format",), unit="name", source="training/config/training_config.py:645 (0.19.2)", raw=True)
def loaded_format(g: Any) -> Any:
    """ckpt_format as the saved config has it."""
    return _as_loaded(g, "written.checkpoint.ckpt_format")


@fact(
    "checkpoint.used", needs=("written.checkpoint.save", "written.checkpoint.load"), unit="yes or no", source="Bridge training/config.py:1097 (0.6.2)", raw=True
)
def used(g: Any) -> Any:
    """Whether checkpoints are saved or loaded at all."""
    values = [g["written.checkpoint.save"], g["written.checkpoint.load"]]
    if any(value is not None and value is not UNKNOWN and value is not NOT_APPLICABLE for value in values):
        return True
    return UNKNOWN if UNKNOWN in values else False
