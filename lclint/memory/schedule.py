"""Which layers lie on a pipeline stage, and how many microbatches of them are alive at once.

Sources: Megatron Core transformer/transformer_block.py (get_num_layers_to_build), transformer/transformer_layer.py
(get_transformer_layer_offset), models/hybrid/hybrid_layer_allocation.py and pipeline_parallel/schedules.py (0.19.2).
"""

from __future__ import annotations

from typing import Any

from lclint.config import pipeline_layout
from lclint.memory.inputs import Inputs

# a layer by its parts: ("full" | "linear" | "mamba" | "", "dense" | "moe" | "")
Kind = tuple[str, str]
LETTERS: dict[str, Kind] = {
    "M": ("mamba", ""),
    "G": ("linear", ""),
    "*": ("full", ""),
    "D": ("full", ""),
    "+": ("full", ""),
    "-": ("", "dense"),
    "E": ("", "moe"),
}


class Chunk:
    """One virtual stage: how many layers of each kind, and what else it holds."""

    __slots__ = ("kinds", "embedding", "loss", "mtp")

    def __init__(self, kinds: list[Kind], embedding: bool = False, loss: bool = False, mtp: bool = False) -> None:
        self.kinds: dict[Kind, int] = {}
        for kind in kinds:
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
        self.embedding = embedding
        self.loss = loss
        self.mtp = mtp

    @property
    def layers(self) -> int:
        return sum(self.kinds.values())


def layer_kinds(m: Inputs) -> list[Kind]:
    """The kinds of the model's layers in order (without MTP)."""
    if m.pattern:
        return [LETTERS[letter] for letter in m.pattern.split("/")[0].replace("|", "") if letter in LETTERS]
    attention = _pattern(m.linear_frequency, m.layers, m.variant == "gated_delta_net", inverted=True)
    experts = _pattern(m.moe_frequency, m.layers, m.experts > 0)
    return [("linear" if linear else "full", "moe" if moe else "dense") for linear, moe in zip(attention, experts, strict=True)]


def _pattern(frequency: Any, layers: int, on: bool, inverted: bool = False) -> list[bool]:
    """A per-layer switch from a list or from N: every N-th layer from the first; ``inverted``: all but every N-th."""
    if not on:
        return [False] * layers
    if frequency.__class__ is list:
        row = [bool(item) for item in frequency[:layers]]
        return row + [row[-1] if row else True] * (layers - len(row))
    every = frequency if frequency.__class__ is int and frequency > 0 else 1
    if inverted:
        return [every > 1 and (index + 1) % every != 0 for index in range(layers)]
    return [index % every == 0 for index in range(layers)]


def mtp_kinds(m: Inputs) -> list[Kind]:
    """The layers of one MTP depth: as the last layer of the model, or the pattern's own."""
    if m.pattern:
        parts = m.pattern.split("/")
        return [LETTERS[letter] for letter in parts[1] if letter in LETTERS] if len(parts) > 1 else []
    return layer_kinds(m)[-1:] if m.layers else []


def stages(m: Inputs) -> list[list[Chunk]]:
    """The chunks of every pipeline stage, virtual rank by virtual rank."""
    kinds = layer_kinds(m)
    if m.layout is not None and not m.pattern:
        try:
            rows = pipeline_layout.stages(m.layout)
        except pipeline_layout.BadLayout:
            rows = []
        if rows and len(rows) % m.pp == 0:
            return _from_layout(m, rows, kinds)
    parts = m.pattern.split("/")[0].split("|")
    if len(parts) > 1 and len(parts) % m.pp == 0:
        return _placed(m, [[LETTERS[letter] for letter in part if letter in LETTERS] for part in parts])
    return _placed(m, _even(m, kinds))


def _from_layout(m: Inputs, rows: list[list[str]], kinds: list[Kind]) -> list[list[Chunk]]:
    virtual = len(rows) // m.pp
    start = 0
    chunks = []
    for row in rows:
        count = row.count("decoder")
        chunks.append(Chunk(kinds[start : start + count], "embedding" in row, "loss" in row, "mtp" in row))
        start += count
    if m.mtp and not any(chunk.mtp for chunk in chunks):
        chunks[-1].mtp = True
    return [[chunks[v * m.pp + stage] for v in range(virtual)] for stage in range(m.pp)]


def _placed(m: Inputs, rows: list[list[Kind]]) -> list[list[Chunk]]:
    """Rows in their order (virtual rank by virtual rank) with the ends where they are without a layout."""
    last = len(rows) - 1
    chunks = [Chunk(row, index == 0, index == last, index == last and m.mtp > 0) for index, row in enumerate(rows)]
    return [[chunks[v * m.pp + stage] for v in range(len(rows) // m.pp)] for stage in range(m.pp)]


def _even(m: Inputs, kinds: list[Kind]) -> list[list[Kind]]:
    """Layers divided by count, with the first and last stage's own counts and the embedding and the loss as layers of their own."""
    first, last = (value if value.__class__ is int and value > 0 else None for value in (m.first_layers, m.last_layers))
    counts: list[int]
    if first is not None or last is not None:
        fixed = (first is not None) + (last is not None)
        rest = max(0, len(kinds) - (first or 0) - (last or 0))
        between = rest // max(1, m.pp - fixed)
        counts = [between] * m.pp
        if first is not None:
            counts[0] = first
        if last is not None:
            counts[-1] = last
        # what does not divide goes to the last of the stages between; Megatron Core refuses it
        counts[m.pp - 1 if last is None else max(0, m.pp - 2)] += len(kinds) - sum(counts)
        per = [[count // m.vpp] * m.vpp for count in counts]
    else:
        extended = len(kinds) + m.count_embedding + m.count_loss
        size, over = divmod(extended, m.pp * m.vpp)
        per = [[size + (v * m.pp + stage < over) for v in range(m.vpp)] for stage in range(m.pp)]
        per[0][0] -= m.count_embedding
        per[-1][-1] -= m.count_loss
    rows = []
    start = 0
    for v in range(m.vpp):
        for stage in range(m.pp):
            count = max(0, per[stage][v])
            rows.append(kinds[start : start + count])
            start += count
    return rows


def alive(m: Inputs, stage: int, virtual: int) -> list[int]:
    """Microbatches of each chunk of a stage whose activations are alive at the end of the warm-up, the largest of any instant.

    1F1B: min(microbatches, PP - stage). Interleaved: min(microbatches x V, (V - 1) x group + 2 (PP - stage - 1) + 1) chunk passes,
    handed out in groups of ``microbatch_group_size_per_vp_stage`` a chunk. The expert-parallel overlap runs one forward ahead.
    """
    ahead = 1 if m.expert_overlap else 0
    if virtual == 1:
        return [max(1, min(m.microbatches, m.pp - stage + (ahead if m.pp > 1 else 0)))]
    passes = min(m.microbatches * virtual, (virtual - 1) * m.group + 2 * (m.pp - stage - 1) + 1 + ahead)
    rounds, rest = divmod(max(1, passes), m.group * virtual)
    return [rounds * m.group + min(m.group, max(0, rest - chunk * m.group)) for chunk in range(virtual)]
