"""Which attention the model has, as far as Megatron Core's checks ask."""

from __future__ import annotations

from typing import Any

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.registry import fact

VARIANT = "model.experimental_attention_variant"
NO_ROPE = "written.model.no_rope_freq"
LINEAR = "model.linear_attention_freq"


@fact(
    "attention.mla_class",
    needs=("model.kv_lora_rank",),
    unit="yes or no",
    source="Megatron Core transformer_config.py:2900 MLATransformerConfig (0.19.2)",
    raw=True,
)
def mla_class(g: Any) -> Any:
    """Whether the model's class is one of latent attention, to which its own checks apply."""
    rank = g["model.kv_lora_rank"]
    return UNKNOWN if rank is UNKNOWN else rank is not NOT_APPLICABLE


@fact("attention.gdn", needs=(VARIANT,), nullable=(VARIANT,), unit="yes or no", source="Megatron Core transformer_config.py:1347 (0.19.2)")
def gated_delta_net(variant: Any) -> bool:
    """Whether some layers are gated delta nets."""
    return bool(variant == "gated_delta_net")


@fact("attention.dsa", needs=(VARIANT,), nullable=(VARIANT,), unit="yes or no", source="Megatron Core transformer_config.py:1383 (0.19.2)")
def sparse(variant: Any) -> bool:
    """Whether the attention is DeepSeek's sparse attention."""
    return bool(variant == "dsa")


@fact("attention.no_rope_list", needs=(NO_ROPE,), unit="entries", source="Megatron Core transformer_config.py:2825 (0.19.2)")
def no_rope_list(frequency: Any) -> Any:
    """Entries of no_rope_freq where it is a list with one entry per layer."""
    return len(frequency) if frequency.__class__ is list and frequency else NOT_APPLICABLE


@fact("attention.linear_list", needs=(LINEAR,), unit="entries", source="Megatron Core experimental_attention_variant_module_specs.py:416 (0.19.2)")
def linear_list(frequency: Any) -> Any:
    """Entries of linear_attention_freq where it is a list with one entry per layer."""
    return len(frequency) if frequency.__class__ is list else NOT_APPLICABLE
