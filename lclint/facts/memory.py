"""Facts of the memory estimate, declared for the rules that need them.

There is no memory model yet: they are unknown, so no condition that needs one holds.
"""

from __future__ import annotations

from lclint.facts.registry import declare

NEEDS = ("model.num_layers", "model.hidden_size", "train.micro_batch_size", "model.seq_length", "cluster.gpus", "gpu.memory_gib")
SOURCE = "memory model"

declare("memory.peak_gib", needs=NEEDS, unit="GiB", source=SOURCE, meaning="Largest peak of any pipeline stage.")
declare("memory.verdict", needs=NEEDS, unit="fits, tight or oom", source=SOURCE, meaning="The peak against the GPU's memory.")
declare("memory.fits_with_cp_doubled", needs=NEEDS, unit="true or false", source=SOURCE, meaning="Whether the peak fits once context parallelism is doubled.")
declare(
    "memory.fits_with_tp_doubled",
    needs=NEEDS,
    unit="true or false",
    source=SOURCE,
    meaning="Whether the peak fits once TP is doubled with sequence parallelism, inside one node.",
)
declare(
    "memory.selective_share", needs=NEEDS, unit="share of usable memory", source=SOURCE, meaning="Peak with the family's best selective recompute set."
)
declare(
    "memory.selective_share_high",
    needs=NEEDS,
    unit="share of usable memory",
    source=SOURCE,
    meaning="Upper end of the error band of memory.selective_share.",
)
declare(
    "memory.halved_share",
    needs=NEEDS,
    unit="share of usable memory",
    source=SOURCE,
    meaning="Smallest peak over the legal layouts in which one of TP, PP, CP is halved and the tokens per rank stay within the family's limit.",
)
