"""How Megatron Core reads a custom pipeline layout and a hybrid layer pattern: strings and lists into stages of layers.

Grammar and order of the checks: Megatron Core transformer/pipeline_parallel_layer_layout.py and
models/hybrid/hybrid_layer_allocation.py (0.19.2).
"""

from __future__ import annotations

from typing import Any

LETTERS = {"E": "embedding", "L": "loss", "t": "decoder", "m": "mtp"}
LAYERS = ("embedding", "loss", "encoder", "decoder", "mtp")
HYBRID_LAYERS = frozenset("MG*D+-E")

# a model has at most a few hundred layers; the bound keeps "t*999999999" from filling the memory
MOST_LAYERS = 20_000


class BadLayout(Exception):
    """A layout that Megatron Core refuses; ``kind`` says why, ``detail`` is what it stumbles over."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(kind)
        self.kind = kind
        self.detail = detail


def stages(layout: Any) -> list[list[str]]:
    """The stages of a layout in its own order (virtual rank by virtual rank), each a list of layer names.

    Raises BadLayout for a letter or name that is no layer, or for a list that is not one of lists.
    """
    if layout.__class__ is str:
        found = []
        for stage in _unrolled(layout).split("|"):
            for letter in stage:
                if letter not in LETTERS:
                    raise BadLayout("letter", letter)
            found.append([LETTERS[letter] for letter in stage])
        return found
    if layout.__class__ is not list or any(row.__class__ is not list for row in layout):
        raise BadLayout("not-lists")
    found = []
    for row in layout:
        names = []
        for layer in row:
            if layer.__class__ is not str or layer.strip().lower() not in LAYERS:
                raise BadLayout("layer", str(layer))
            names.append(layer.strip().lower())
        found.append(names)
    return found


def _unrolled(text: str) -> str:
    """``Et|(t|)*2tL`` as ``Et|t|t|tL``: brackets first, then single letters, each in one pass from the left, commas ignored."""
    import re

    text = text.replace(",", "")
    if len(text) > MOST_LAYERS:
        raise BadLayout("too-long", text[:40])
    for pattern in (r"\(([^)]+)\)\*(\d+)", r"(.)\*(\d+)"):
        size = len(text)
        for match in re.finditer(pattern, text):
            times = match.group(2)
            size += len(match.group(1)) * (int(times) if len(times) < 6 else MOST_LAYERS)
            if size > MOST_LAYERS:
                raise BadLayout("too-long", match.group(0)[:40])
        text = re.sub(pattern, lambda match: match.group(1) * int(match.group(2)), text)
    return text


def fault(layout: Any, pp: int, vpp: int | None, num_layers: Any, mtp_layers: Any) -> tuple[str, str] | None:
    """``(kind, detail)`` of the first thing that Megatron Core refuses in a layout, None for a good one.

    ``vpp`` is the virtual size that the config asks for itself, None when it leaves that to the layout.
    """
    try:
        rows = stages(layout)
    except BadLayout as bad:
        return bad.kind, bad.detail
    if len(rows) % pp:
        return "stages", str(len(rows))
    chunks = len(rows) // pp
    if vpp is not None and vpp != chunks:
        return "vpp", str(chunks)
    flat = [layer for row in rows for layer in row]
    if not flat or flat[0] != "embedding":
        return "first", flat[0] if flat else "nothing"
    if flat[-1] != "loss":
        return "last", flat[-1]
    for layer in ("embedding", "loss"):
        if flat.count(layer) != 1:
            return "once", layer
    if flat.count("decoder") != num_layers:
        return "decoders", str(flat.count("decoder"))
    heads = flat.count("mtp")
    if heads != mtp_layers and not (mtp_layers is None and heads == 0):
        return "mtp-count", str(heads)
    if heads and "decoder" in flat[flat.index("mtp") :]:
        return "mtp-order", ""
    for number, row in enumerate(rows):
        if "mtp" not in row:
            continue
        if number < (chunks - 1) * pp:
            return "mtp-stage", str(number)
        if row.count("mtp") != mtp_layers:
            return "mtp-split", str(number)
    return ("encoder", "") if "encoder" in flat else None


def virtual_size(layout: Any, pp: Any) -> int | None:
    """The virtual pipeline size that a layout implies, None where it cannot be told."""
    if pp.__class__ is not int or pp < 1:
        return None
    try:
        rows = stages(layout)
    except BadLayout:
        return None
    return len(rows) // pp if len(rows) % pp == 0 else None


class HybridPattern:
    """A hybrid layer pattern: ``main`` with its stage bars, the ``mtp`` pattern of one depth (or None), the ``depths``."""

    __slots__ = ("main", "mtp", "depths")

    def __init__(self, main: str, mtp: str | None, depths: int) -> None:
        self.main = main
        self.mtp = mtp
        self.depths = depths

    def segments(self) -> list[str]:
        return self.main.split("|")

    def layers(self) -> int:
        return len(self.main.replace("|", ""))


def hybrid(pattern: str) -> HybridPattern:
    """Parse ``main/mtp/mtp``. Raises BadLayout."""
    main, *heads = pattern.split("/")
    _check_hybrid(main, True)
    if not any(heads):
        return HybridPattern(main, None, 0)
    for head in heads[1:]:
        if head != heads[0]:
            raise BadLayout("mtp-differ", head)
    _check_hybrid(heads[0], False)
    return HybridPattern(main, heads[0], len(heads))


def _check_hybrid(part: str, bars: bool) -> None:
    for letter in part:
        if letter not in HYBRID_LAYERS and not (bars and letter == "|"):
            raise BadLayout("letter", letter)
    if "*" in part and ("D" in part or "+" in part):
        raise BadLayout("mixed-attention")
