"""Rows of the embedding table: the vocabulary as Megatron pads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lclint.memory.reader import Reader

# Model families whose configs leave the vocabulary to the tokenizer: its size as in the model's own config.json on Hugging Face.
BY_TOKENIZER = (("nvidia/NVIDIA-Nemotron", 131072), ("nvidia/Nemotron-H", 131072))


def padded_vocabulary(r: Reader, tp: int) -> int:
    """Vocabulary rounded up to ``make_vocab_size_divisible_by`` x TP (Megatron Core's vocab_size_with_padding), over all TP ranks."""
    size = r.raw("model.vocab_size")
    pads = r.value("model.should_pad_vocab", True)
    if size.__class__ is not int or size < 1:
        size = r.raw("tokenizer.vocab_size")
        pads = True
    if size.__class__ is not int or size < 1:
        name = r.raw("tokenizer.tokenizer_model")
        known = [rows for prefix, rows in BY_TOKENIZER if name.__class__ is str and name.startswith(prefix)]
        if not known:
            r.needs.append("model.vocab_size")
            return 1
        size = known[0]
        r.assumptions.append(f"the vocabulary is that of the tokenizer {name}: {size}")
    step = r.number("model.make_vocab_size_divisible_by", 128) * tp
    return -(-size // step) * step if pads else size
