"""Activation offloading: the module names, and what unknown ones probably mean."""

from __future__ import annotations

from typing import Any

from lclint.facts.recompute import suggestion
from lclint.facts.registry import fact

MODULES = "written.model.offload_modules"
ALLOWED = ("core_attn", "attn_proj", "expert_fc1", "fused_group_mlp", "moe_act", "attn_norm", "mlp_norm", "qkv_linear")
OTHER_NAMES = {
    "qkv": "qkv_linear",
    "linear_qkv": "qkv_linear",
    "layernorm": "attn_norm",
    "input_layernorm": "attn_norm",
    "pre_mlp_layernorm": "mlp_norm",
    "attn": "core_attn",
    "attention": "core_attn",
    "linear_proj": "attn_proj",
    "proj": "attn_proj",
    "linear_fc1": "expert_fc1",
    "fc1": "expert_fc1",
    "moe": "expert_fc1",
    "act": "moe_act",
}


@fact("offload.unknown_modules", needs=(MODULES,), unit="names", source="Megatron Core transformer_config.py:1853 (0.19.2)")
def unknown_modules(names: list[str]) -> list[str]:
    """Names that Megatron Core 0.19 cannot offload."""
    return [name for name in names if name not in ALLOWED]


@fact("offload.suggestions", needs=(MODULES,), unit="names", source="names in use elsewhere, else the nearest spelling")
def suggestions(names: list[str]) -> list[Any]:
    """For each listed module the name it probably means, null where none is near or it is right already."""
    return [None if name in ALLOWED else suggestion(name, ALLOWED, OTHER_NAMES) for name in names]
