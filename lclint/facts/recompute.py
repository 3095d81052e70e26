"""Activation recomputation: which modules are recomputed, as the checks of Megatron Core see them."""

from __future__ import annotations

from typing import Any

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.registry import fact

GRANULARITY = "written.model.recompute_granularity"
MODULES = "written.model.recompute_modules"
OLD_SWITCH = "written.model.moe_layer_recompute"

ALLOWED = ("core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe", "shared_experts", "gdn_norm_out")
# names that documentation, skills and older releases use for the same module
OTHER_NAMES = {
    "up_proj": "mla_up_proj",
    "norm": "layernorm",
    "layer_norm": "layernorm",
    "input_layernorm": "layernorm",
    "act": "moe_act",
    "activation": "moe_act",
    "shared_expert": "shared_experts",
    "attention": "core_attn",
    "attn": "core_attn",
    "core_attention": "core_attn",
    "self_attn": "core_attn",
    "self_attention": "core_attn",
    "moe_layer": "moe",
    "experts": "moe",
    "ffn": "mlp",
}


@fact("recompute.listed", needs=(MODULES,), unit="names", source="Megatron Core transformer_config.py:1764 (0.19.2)", raw=True)
def listed(g: Any) -> Any:
    """The module list whatever the granularity is; null means core_attn. Some checks look at it with recomputation off."""
    value = g[MODULES]
    if value is None or value is NOT_APPLICABLE:
        return ["core_attn"] if value is None else NOT_APPLICABLE
    return value


@fact("recompute.modules", needs=(GRANULARITY, "recompute.listed"), unit="names", source="Megatron Core transformer_config.py:1766 (0.19.2)", raw=True)
def modules(g: Any) -> Any:
    """Modules that selective recomputation recomputes; not applicable under another granularity."""
    granularity = g[GRANULARITY]
    if granularity is UNKNOWN:
        return UNKNOWN
    return g["recompute.listed"] if granularity == "selective" else NOT_APPLICABLE


@fact(
    "recompute.effective",
    needs=(GRANULARITY, "recompute.listed", OLD_SWITCH),
    unit="names",
    source="Megatron Core transformer_config.py:1835-1846 (0.19.2)",
    raw=True,
)
def effective(g: Any) -> Any:
    """Modules that are recomputed in the end, the deprecated moe_layer_recompute included; not applicable without selective recomputation."""
    if g[OLD_SWITCH] is True and g["recompute.listed"].__class__ is list:
        names = list(g["recompute.listed"])
        return names if "moe" in names else [*names, "moe"]
    return g["recompute.modules"]


@fact("recompute.unknown_modules", needs=("recompute.modules",), unit="names", source="Megatron Core transformer_config.py:1769 (0.19.2)")
def unknown_modules(names: list[str]) -> list[str]:
    """Names in the list that Megatron Core 0.19 does not recompute."""
    return [name for name in names if name not in ALLOWED]


@fact("recompute.suggestions", needs=("recompute.modules",), unit="names", source="names in use elsewhere, else the nearest spelling")
def suggestions(names: list[str]) -> list[Any]:
    """For each listed module the name it probably means, null where none is near or it is right already."""
    return [None if name in ALLOWED else suggestion(name, ALLOWED, OTHER_NAMES) for name in names]


def suggestion(name: Any, allowed: tuple[str, ...], other_names: dict[str, str]) -> str | None:
    """The allowed name that ``name`` probably stands for."""
    if name.__class__ is not str:
        return None
    plain = name.strip().lower().replace("-", "_")
    if plain in allowed:
        return plain
    if plain in other_names:
        return other_names[plain]
    import difflib

    close = difflib.get_close_matches(plain, allowed, 1, 0.75)
    return close[0] if close else None
