"""Declares every fact by importing the modules that hold them."""

from __future__ import annotations


def load() -> None:
    """Import every module of facts, once."""
    from lclint.facts import (  # noqa: F401
        attention,
        by_hand,
        checkpoint,
        comments,
        crash,
        data,
        environment,
        family,
        graphs,
        keys,
        layout,
        memory,
        moe,
        offload,
        overlap,
        pipeline,
        precision,
        recompute,
        room,
        router,
        sequence,
        silent,
    )
