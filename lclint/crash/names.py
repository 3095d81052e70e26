"""What a log's settings are called in Bridge's configs, and the values that Python, YAML, Hydra and Megatron print."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from lclint.catalog import tables

RELEASE = "0.6"

_WORDS = re.compile(r"\[ *[A-Za-z_][\w.-]*(?: *, *[A-Za-z_][\w.-]*)* *\]$")
_INTEGER = re.compile(r"[-+]?\d{1,18}$")
_FLOAT = re.compile(r"[-+]?(?:\d{1,18}\.\d{0,18}|\.\d{1,18}|\d{1,18}(?=[eE]))(?:[eE][-+]?\d{1,3})?$")
DTYPE = re.compile(r"\btorch\.(\w+)\b(?![\w(.])")
DTYPES = {"bfloat16": "bf16", "float32": "fp32", "float16": "fp16"}

# Megatron's arguments that Bridge calls otherwise
_OTHER_NAMES = {
    "num_experts": "model.num_moe_experts",
    "swiglu": "model.gated_linear_unit",
    "group_query_attention": None,
    "recompute_activations": None,
    "optimizer": "optimizer.optimizer",
    "num_workers": "dataset.num_workers",
    "seed": "rng.seed",
    "distributed_timeout_minutes": "dist.distributed_timeout_minutes",
    "data_path": "dataset.data_path",
    "eval_iters": "validation.eval_iters",
    "eval_interval": "validation.eval_interval",
    "create_attention_mask_in_dataloader": "dataset.create_attention_mask",
    "lr_warmup_iters": "scheduler.lr_warmup_iters",
    "padded_vocab_size": None,
    "params_dtype": "model.params_dtype",
    "fp16": "model.fp16",
    "moe_token_drop_policy": "model.moe_token_drop_policy",
}
_ORDER = ("model", "train", "ddp", "optimizer", "checkpoint", "validation", "scheduler", "logger", "dataset", "rng", "dist")
# a field that Bridge keeps in two sections and makes equal
_TWICE = {"use_distributed_optimizer": ("ddp", "optimizer"), "bf16": ("model", "optimizer")}
# what Megatron Core's config classes hold where nobody says otherwise: for a summary that prints only what differs
CORE_DEFAULTS: dict[str, Any] = {
    "model.tensor_model_parallel_size": 1,
    "model.pipeline_model_parallel_size": 1,
    "model.virtual_pipeline_model_parallel_size": None,
    "model.context_parallel_size": 1,
    "model.expert_model_parallel_size": 1,
    "model.sequence_parallel": False,
    "model.recompute_granularity": None,
    "model.recompute_method": None,
    "model.recompute_num_layers": None,
    "model.cuda_graph_impl": "none",
    "model.num_moe_experts": None,
    "model.cpu_offloading": False,
    "model.moe_aux_loss_coeff": 0.0,
    "model.cross_entropy_loss_fusion": False,
    "optimizer.use_precision_aware_optimizer": False,
    "optimizer.optimizer_cpu_offload": False,
    "ddp.use_distributed_optimizer": False,
    "ddp.grad_reduce_in_fp32": False,
}


def fields_of(argument: str) -> list[str]:
    """The fields of Bridge that one of Megatron's arguments is; [] for one that Bridge does not have."""
    if argument in _OTHER_NAMES:
        field = _OTHER_NAMES[argument]
        return [] if field is None else [field]
    sections = tables.field_sections(RELEASE).get(argument, ())
    if argument in _TWICE:
        return [f"{section}.{argument}" for section in _TWICE[argument]]
    for section in _ORDER:
        if section in sections:
            return [f"{section}.{argument}"]
    return []


def value_of(text: str) -> Any:
    """A value as Python, YAML or Megatron print it: numbers, booleans, None, lists; what is neither is text."""
    text = text.strip()
    if text in ("None", "null", "~"):
        return None
    if text in ("True", "true"):
        return True
    if text in ("False", "false"):
        return False
    dtype = DTYPE.fullmatch(text)
    if dtype is not None:
        return DTYPES.get(dtype[1], dtype[1])
    if _INTEGER.match(text):
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    if len(text) < 2000 and _WORDS.match(text):
        # a list as Hydra and YAML write it
        return [value_of(word) for word in text[1:-1].split(",")]
    if not text.startswith(("[", "(", "'", '"')) or len(text) > 20_000:
        return text
    value = literal(text, text)
    return value if isinstance(value, (bool, int, float, str, list)) else list(value) if isinstance(value, tuple) else text


def literal(text: str, otherwise: Any) -> Any:
    """A Python literal, else ``otherwise``."""
    with warnings.catch_warnings():
        # what other processes print into a value can look like code that Python warns of
        warnings.simplefilter("ignore")
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return otherwise
