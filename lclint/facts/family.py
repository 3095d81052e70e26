"""What kind of model it is: mixture of experts or dense, attention only or hybrid, and about how large."""

from __future__ import annotations

from typing import Any

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.registry import fact

HYBRID = (
    "written.model.hybrid_layer_pattern",
    "written.model.hybrid_override_pattern",
    "model.is_hybrid_model",
    "model.experimental_attention_variant",
)


@fact(
    "family.hybrid",
    needs=HYBRID,
    unit="true or false",
    source="Megatron Core hybrid layer patterns; gated delta net as attention variant (0.19.2)",
    raw=True,
)
def hybrid(g: Any) -> Any:
    """Whether layers other than attention (Mamba, gated delta net) carry the sequence."""
    patterns = (g["written.model.hybrid_layer_pattern"], g["written.model.hybrid_override_pattern"])
    if g["model.is_hybrid_model"] is True or g["model.experimental_attention_variant"] == "gated_delta_net" or any(p.__class__ is str and p for p in patterns):
        return True
    return UNKNOWN if UNKNOWN in (*patterns, g["model.experimental_attention_variant"]) else False


@fact(
    "family.kind",
    needs=("model.num_moe_experts", "family.hybrid"),
    unit="attention-moe, hybrid-moe, dense or hybrid-dense",
    source="own grouping",
    nullable=("model.num_moe_experts",),
)
def kind(experts: int | None, is_hybrid: bool) -> str:
    """Mixture of experts or dense, crossed with attention only or hybrid."""
    return ("hybrid-moe" if is_hybrid else "attention-moe") if experts else ("hybrid-dense" if is_hybrid else "dense")


DENSE_NEEDS = (
    "model.num_layers",
    "model.hidden_size",
    "model.ffn_hidden_size",
    "model.num_attention_heads",
    "model.num_query_groups",
    "model.kv_channels",
    "model.gated_linear_unit",
    "model.vocab_size",
    "model.num_moe_experts",
    "family.hybrid",
)


@fact(
    "family.dense_parameters",
    needs=DENSE_NEEDS,
    unit="parameters",
    source="attention 2h(heads + groups)d, MLP 3hf gated or 2hf, embedding and output 2Vh; norms left out",
    nullable=("model.vocab_size", "model.num_moe_experts"),
)
def dense_parameters(
    layers: int, hidden: int, ffn: int, heads: int, groups: int, channels: int, gated: bool, vocabulary: int | None, experts: int | None, is_hybrid: bool
) -> Any:
    """About how many parameters a dense attention model has; not applicable to others."""
    if experts or is_hybrid:
        return NOT_APPLICABLE
    attention = 2 * hidden * channels * (heads + groups)
    return layers * (attention + (3 if gated else 2) * hidden * ffn) + 2 * (vocabulary or 0) * hidden
