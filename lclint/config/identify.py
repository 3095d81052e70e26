"""Tells a Megatron Bridge config from other YAML, by its keys."""

from __future__ import annotations

import re
from typing import Any

from lclint.catalog import tables

# field names of Bridge that other training tools use as well: they prove nothing
# fmt: off
COMMON = frozenset((
    "seed", "lr", "name", "path", "split", "save", "load", "optimizer", "dtype", "bf16", "fp16", "fp8", "weight_decay",
    "num_workers", "hidden_size", "num_layers", "vocab_size", "seq_length", "num_attention_heads", "batch_size", "tokenizer",
    "type", "mock", "tensorboard_dir", "wandb_project", "wandb_entity", "save_interval", "eval_interval", "log_interval",
    "tokenizer_type", "tokenizer_model", "optimizer_type", "data_path", "min_lr", "clip_grad", "pin_memory", "max_steps",
    "dropout", "trust_remote_code", "chat_template", "random_seed", "dim", "alpha", "target_modules", "ffn_hidden_size",
    "hidden_dropout", "attention_dropout", "max_position_embeddings", "rank", "enabled", "attention_backend",
))
# fmt: on
_LIGHTNING = frozenset(("devices", "num_nodes", "accelerator", "max_epochs", "val_check_interval", "limit_val_batches"))


def identify(data: Any, release: str) -> tuple[str, str]:
    """``(kind, reason)`` of a loaded YAML file: kind is dump, override, megatron-args, or none with the reason.

    A *dump* names its classes (``_target_``). An *override* has sections of a ConfigContainer, at least one of which holds a field
    that is Megatron's own. *megatron-args* holds Megatron-LM's arguments under MODEL_ARGS.
    """
    if data.__class__ is not dict:
        return "none", "it is not a mapping"
    target = data.get("_target_")
    if target.__class__ is str and target.startswith("megatron.") and target.endswith("ConfigContainer"):
        return "dump", ""
    arguments = data.get("MODEL_ARGS")
    if arguments.__class__ is dict and any(key.__class__ is str and key.startswith("--") for key in arguments):
        return "megatron-args", ""
    if _has_lightning_trainer(data):
        return "none", "it has a Lightning trainer, as NeMo's configs do"
    sections = tables.sections(release)
    present = [name for name in data if name in sections]
    if not present:
        return "none", "none of its keys is a section of a Megatron Bridge config"
    classes = [s for s in present if data[s].__class__ is dict and str(data[s].get("_target_", "")).startswith("megatron.")]
    if len(classes) >= 3:
        return "dump", ""
    index = tables.field_sections(release)
    telling = common = strange = 0
    for name in present:
        section = data[name]
        if section.__class__ is not dict:
            continue
        for key in section:
            if name not in index.get(key, ()):
                strange += 1
            elif key in COMMON:
                common += 1
            else:
                telling += 1
    if classes or telling or (common >= 3 and common > strange and len(present) >= 2 and len(present) == len(data)):
        return "override", ""
    if len(present) == len(data) and (_of_another_release(data, present) or _near_miss(data, present, index)):
        return "override", ""
    return "none", "its sections hold no field of a Megatron Bridge config"


def has_section(data: Any, release: str) -> bool:
    """Whether a loaded file has at least one section of a config, with something in it."""
    return data.__class__ is dict and any(name in data and data[name].__class__ is dict for name in tables.sections(release))


def could_be_config(data: bytes) -> bool:
    """Whether text that cannot be parsed may have been meant as a Megatron Bridge config: it names a section and one of Megatron's fields."""
    words = set(re.findall(rb"[a-z][a-z0-9_]{3,}", data[:200_000]))
    release = tables.releases()[-1]
    sections = {name.encode() for name in tables.sections(release)}
    return bool(words & sections) and any(word.decode() in tables.field_sections(release) for word in words if word.count(b"_") >= 2)


def _has_lightning_trainer(data: dict[str, Any]) -> bool:
    """Whether the file is one of NeMo 1 or its launcher, whose ``model`` section holds many of Megatron's names."""
    trainer = data.get("trainer")
    return "train" not in data and trainer.__class__ is dict and not _LIGHTNING.isdisjoint(trainer)


def _of_another_release(data: dict[str, Any], present: list[str]) -> bool:
    """Whether a key is a field that some other release has in that section."""
    keys = [(name, key) for name in present if data[name].__class__ is dict for key in data[name] if key not in COMMON]
    return any(name in tables.field_sections(release).get(key, ()) for release in tables.releases() for name, key in keys)


def _near_miss(data: dict[str, Any], present: list[str], index: dict[str, Any]) -> bool:
    """Whether a key is a slip of the pen for one of Megatron's long names (``tensor_parallel_size``)."""
    import difflib

    long_names = [name for name in index if name.count("_") >= 2]
    keys = [key for name in present if data[name].__class__ is dict for key in data[name] if key.__class__ is str and key.count("_") >= 2]
    return any(difflib.get_close_matches(key, long_names, 1, 0.8) for key in keys[:20])
