"""Which key or value of a document stands at an offset."""

from __future__ import annotations

from lclint.sources.document import Document, Path
from lclint.sources.scalars import BadScalar
from lclint.sources.yaml_nodes import Node


class Spot:
    """A key or a scalar value: the path of its entry, and the offsets between which it stands."""

    __slots__ = ("path", "is_key", "start", "end")

    def __init__(self, path: Path, is_key: bool, node: Node) -> None:
        self.path = path
        self.is_key = is_key
        self.start = node.start
        self.end = node.end

    @property
    def name(self) -> str:
        """The path as rules spell it, elements of lists left out."""
        return ".".join(str(part) for part in self.path if part.__class__ is not int)


def at(document: Document, offset: int) -> Spot | None:
    """The key or scalar at an offset, its two ends included; None between them."""
    node, path = document.root, ()
    while node is not None:
        if node.kind in ("scalar", "alias"):
            return Spot(path, False, node)
        found: tuple[Path, Node] | None = None
        for key, value in node.pairs:
            if key.start <= offset <= key.end:
                below = _below(document, path, key)
                return None if below is None else Spot(below, True, key)
            if value.start <= offset <= value.end and value.end > value.start:
                below = _below(document, path, key)
                found = None if below is None else (below, value)
        for index, item in enumerate(node.items):
            if item.start <= offset <= item.end:
                found = (*path, index), item
        if found is None:
            return None
        path, node = found
    return None


def _below(document: Document, path: Path, key: Node) -> Path | None:
    try:
        return (*path, document.scalar(key))
    except (BadScalar, TypeError):
        return None
