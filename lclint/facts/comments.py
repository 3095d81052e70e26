"""Faults of the comments that speak to lclint, as lists for ``each:``.

They are known only when all other rules have been asked: ``lclint.engine.comments`` then gives them their values.
"""

from __future__ import annotations

from typing import Any

from lclint.facts.registry import fact

SOURCE = "the file's own # lclint: comments"


@fact("comments.malformed", needs=(), unit="records: problem, option, corrected", source=SOURCE, raw=True)
def malformed(g: Any) -> list[dict[str, Any]]:
    """Comments that cannot be read; ``option`` is the option at fault, else null, ``corrected`` whether there is a spelling to mend."""
    return []


@fact("comments.unknown", needs=(), unit="records: name, suggestion, problem", source=SOURCE, raw=True)
def unknown(g: Any) -> list[dict[str, Any]]:
    """Names in ignore comments that no rule has."""
    return []


@fact("comments.unused", needs=(), unit="records: what, sure", source=SOURCE, raw=True)
def unused(g: Any) -> list[dict[str, Any]]:
    """Ignore comments, or names in them, that silence nothing; ``sure`` when nothing but the file itself decides that."""
    return []
