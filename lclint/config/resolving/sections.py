"""Small sections: the tokenizer and the tensor inspector."""

from __future__ import annotations

from lclint.config.resolving.state import Resolution, negate, truth
from lclint.core.states import NOT_APPLICABLE, UNKNOWN

HUGGING_FACE = "tokenizer.hf_tokenizer_kwargs"
SENTENCE_PIECE = "tokenizer.sp_tokenizer_kwargs"


def tokenizer(s: Resolution) -> None:
    """bridge training/tokenizers/config.py:89-110, run once more at training/config.py:1283: the keyword mappings decide these fields."""
    if s.get("tokenizer.pad_vocab_size") is True:
        s.set("tokenizer.pad_vocab_size", False, "Bridge pads the vocabulary itself (training/tokenizers/config.py:93)")
    why = f"{HUGGING_FACE[10:]} decides it (training/tokenizers/config.py:96)"
    _keyword(s, "tokenizer_hf_no_use_fast", HUGGING_FACE, "use_fast", True, why)
    _keyword(s, "tokenizer_hf_no_include_special_tokens", HUGGING_FACE, "include_special_tokens", True, why)
    _keyword(s, "trust_remote_code", HUGGING_FACE, "trust_remote_code", False, why)
    _keyword(s, "tokenizer_sentencepiece_legacy", SENTENCE_PIECE, "legacy", False, f"{SENTENCE_PIECE[10:]} decides it (training/tokenizers/config.py:107)")


def _keyword(s: Resolution, field: str, mapping: str, key: str, inverted: bool, why: str) -> None:
    """``field`` takes the mapping's value for ``key`` (negated when ``inverted``); it is false where the mapping has none."""
    name = f"tokenizer.{field}"
    if name not in s.values:
        return
    value = s.get(f"{mapping}.{key}")
    if value is NOT_APPLICABLE:
        value = inverted
    s.set(name, negate(truth(value)) if inverted else value, why)


def tensor_inspector(s: Resolution) -> None:
    """bridge training/config.py:791-809 and 1403-1407."""
    if s.get("tensor_inspect.enabled") is not True:
        return
    save, step = s.get("checkpoint.save"), s.get("checkpoint.ckpt_step")
    s.default("tensor_inspect.log_dir", "." if save in (None, "") else save, "with the checkpoints (training/config.py:1405)")
    if s.get("tensor_inspect.init_training_step") == 0 and step.__class__ is int:
        s.set("tensor_inspect.init_training_step", step, "the checkpoint's step (training/config.py:1407)")
    if s.get("tensor_inspect.feature_dirs") in (None, []):
        s.set("tensor_inspect.feature_dirs", UNKNOWN, "Transformer Engine's own folder (training/config.py:806)")
