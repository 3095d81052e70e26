"""Which findings a file's own ``# lclint: ignore[...]`` comments silence."""

from __future__ import annotations

from lclint.config.run import field_path
from lclint.engine.evaluate import Hit
from lclint.sources.document import Document


def suppressed(hit: Hit, document: Document) -> bool:
    """Whether a comment silences the hit.

    A trailing comment speaks of its line, one on a line of its own of the next key with all below it, ``ignore-file`` of the file.
    """
    finding = hit.finding
    if finding is None:
        return False
    names = (finding.rule, finding.code, f"{finding.rule}/{finding.case}", f"{finding.code}/{finding.case}")
    for directive in document.directives():
        if directive.kind not in ("ignore", "ignore-file") or (directive.rules and not any(name in directive.rules for name in names)):
            continue
        if directive.kind == "ignore-file":
            return True
        place = finding.place
        if place.origin != "file" or place.line is None:
            continue
        if directive.target == place.line or (directive.scope == "own-line" and directive.target in _lines_above(document, place.at)):
            return True
    return False


def _lines_above(document: Document, at: str) -> set[int]:
    """The lines of the keys that the field stands below."""
    keys = field_path(at)
    lines = set()
    for length in range(1, len(keys) + 1):
        span = document.span(keys[:length], "key")
        if span is not None:
            lines.add(document.position(span[0])[0])
    return lines
