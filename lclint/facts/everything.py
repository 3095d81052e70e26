"""Declares every fact by importing the modules that hold them."""

from __future__ import annotations


def load() -> None:
    """Import every module of facts, once."""
    from lclint.facts import family, keys, layout, memory  # noqa: F401
    from lclint.facts import checkpoint, data, environment, graphs, offload, overlap, precision, recompute  # noqa: F401
    from lclint.facts import attention, moe, pipeline, sequence  # noqa: F401
