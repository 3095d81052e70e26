"""CUDA graphs: which implementation runs, and what it captures.

Two fields name the captured modules (``cuda_graph_scope`` is the old one), each a string, a comma-separated string, a list or
null; two old switches name the implementation. Some checks look before Megatron Core has merged them and some after, so there is a
fact for both readings.
"""

from __future__ import annotations

from typing import Any

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.registry import fact

IMPL = "written.model.cuda_graph_impl"
MODULES = "written.model.cuda_graph_modules"
SCOPE = "written.model.cuda_graph_scope"
LOCAL = "written.model.enable_cuda_graph"
EXTERNAL = "written.model.external_cuda_graph"

NAMES = ("attn", "mlp", "moe", "moe_router", "moe_preprocess", "mamba")
OLD_NAMES = ("full", "full_iteration", "full_iteration_inference")
IMPLEMENTATIONS = ("none", "transformer_engine", "local", "full_iteration")


def _names(value: Any) -> Any:
    """The names that a scope or modules field holds; the state itself where it is unknown, [] where it is absent or null."""
    if value is UNKNOWN:
        return UNKNOWN
    if value is None or value is NOT_APPLICABLE or value == "":
        return []
    if value.__class__ is str:
        return value.split(",")
    if value.__class__ is not list or any(item.__class__ is not str for item in value):
        return UNKNOWN if value.__class__ is list and UNKNOWN in value else NOT_APPLICABLE
    return list(value)


def _impl(g: Any) -> Any:
    value = g[IMPL]
    return "none" if value is NOT_APPLICABLE or value is None else value


@fact("graphs.words", needs=(MODULES, SCOPE, IMPL), unit="names", source="Megatron Core transformer_config.py:2383-2412 (0.19.2)", raw=True)
def words(g: Any) -> Any:
    """The module names that Megatron Core reads, deprecated ones included: those of cuda_graph_scope when it is set, else of cuda_graph_modules."""
    impl = _impl(g)
    if impl == "none":
        return []
    if impl is UNKNOWN:
        return UNKNOWN
    scope = g[SCOPE]
    if scope is not None and scope is not NOT_APPLICABLE and scope is not UNKNOWN:
        return _names(scope)
    modules = _names(g[MODULES])
    # both set is refused, so an unknown scope cannot change what non-empty modules mean
    return UNKNOWN if scope is UNKNOWN and not modules else modules


@fact("graphs.named", needs=(MODULES, SCOPE), unit="names", source="Bridge utils/cuda_graph.py:65 (0.6.2)", raw=True)
def named(g: Any) -> Any:
    """Per-layer module names in either field, as Bridge collects them before Megatron Core has merged the two."""
    found: list[str] = []
    for field in (MODULES, SCOPE):
        names = _names(g[field])
        if names is UNKNOWN or names is NOT_APPLICABLE:
            return names
        found += [name for name in names if name not in found and name not in OLD_NAMES]
    return found


@fact("graphs.impl", needs=(IMPL, LOCAL, EXTERNAL, "graphs.words"), unit="name", source="Megatron Core transformer_config.py:2365-2437 (0.19.2)", raw=True)
def impl(g: Any) -> Any:
    """The implementation after the old switches and the old name ``full_iteration`` among the modules have been translated."""
    value = _impl(g)
    if value is UNKNOWN:
        return UNKNOWN
    if value == "none":
        local, external = g[LOCAL], g[EXTERNAL]
        if local is True:
            return "local"
        if external is True:
            return "transformer_engine"
        return UNKNOWN if UNKNOWN in (local, external) else "none"
    if value == "local":
        names = g["graphs.words"]
        if names is UNKNOWN:
            return UNKNOWN
        if names is not NOT_APPLICABLE and "full_iteration" in names:
            return "full_iteration"
    return value


@fact("graphs.impl_field", needs=(IMPL, LOCAL, EXTERNAL), unit="field", source="Megatron Core transformer_config.py:2373-2381 (0.19.2)", raw=True)
def impl_field(g: Any) -> str:
    """The field that names the implementation: an old switch where cuda_graph_impl is none."""
    if _impl(g) == "none":
        for name in (LOCAL, EXTERNAL):
            if g[name] is True:
                return name[len("written.") :]
    return "model.cuda_graph_impl"


@fact("graphs.active", needs=("graphs.impl",), unit="yes or no", source="Megatron Core transformer_config.py:2465 (0.19.2)")
def active(implementation: str) -> bool:
    """Whether anything is captured at all."""
    return implementation != "none"


@fact("graphs.full_iteration", needs=("graphs.impl",), unit="yes or no", source="Bridge utils/cuda_graph.py:123 (0.6.2)")
def full_iteration(implementation: str) -> bool:
    """Whether one graph holds the whole forward and backward pass of a step."""
    return implementation == "full_iteration"


@fact("graphs.training", needs=("graphs.impl",), unit="yes or no", source="Bridge training/config.py:1178 (0.6.2)")
def training(implementation: str) -> bool:
    """Whether training steps replay a graph; ``local`` without full iteration only serves inference in Bridge."""
    return implementation in ("transformer_engine", "full_iteration")


@fact("graphs.modules", needs=("graphs.words", "graphs.impl"), unit="names", source="Megatron Core cuda_graph_config.py:27 (0.19.2)", raw=True)
def modules(g: Any) -> Any:
    """Captured modules of each layer after normalisation; an empty list is the whole layer. Not applicable without graphs."""
    implementation, names = g["graphs.impl"], g["graphs.words"]
    if implementation == "none":
        return NOT_APPLICABLE
    if implementation is UNKNOWN or names is UNKNOWN or names is NOT_APPLICABLE:
        return names if names is NOT_APPLICABLE else UNKNOWN
    kept = [name for name in names if name not in OLD_NAMES]
    if implementation == "local" and ("moe_router" in kept or "moe_preprocess" in kept):
        kept += [name for name in ("moe_router", "moe_preprocess") if name not in kept]
    return kept


@fact("graphs.unknown_modules", needs=("graphs.words",), unit="names", source="Megatron Core cuda_graph_config.py:60 (0.19.2)")
def unknown_modules(names: list[str]) -> list[str]:
    """Names that no module goes by."""
    return [name for name in names if name not in NAMES and name not in OLD_NAMES]


OTHER_NAMES = {
    "attention": "attn",
    "self_attn": "attn",
    "self_attention": "attn",
    "core_attn": "attn",
    "ffn": "mlp",
    "router": "moe_router",
    "preprocess": "moe_preprocess",
    "moe_layer": "moe",
    "experts": "moe",
    "ssm": "mamba",
}


@fact("graphs.suggestions", needs=("graphs.unknown_modules",), unit="names", source="names in use elsewhere, else the nearest spelling")
def suggestions(names: list[str]) -> list[str | None]:
    """For each unknown name the module that it probably means, null where none is near."""
    from lclint.facts.recompute import suggestion

    return [suggestion(name, NAMES, OTHER_NAMES) for name in names]


@fact(
    "graphs.renamed",
    needs=("graphs.words", "graphs.unknown_modules", "graphs.suggestions"),
    unit="names",
    source="the list with its first unknown name replaced",
)
def renamed(names: list[str], unknown: list[str], meant: list[str | None]) -> Any:
    """The module list with the first unknown name written right; not applicable when it has no near name."""
    if not unknown or meant[0] is None:
        return NOT_APPLICABLE
    return [meant[0] if name == unknown[0] else name for name in names]


@fact("graphs.modules_field", needs=(SCOPE,), unit="field", source="Megatron Core transformer_config.py:2383 (0.19.2)", raw=True)
def modules_field(g: Any) -> str:
    """The field that names the captured modules."""
    scope = g[SCOPE]
    return "model.cuda_graph_modules" if scope is None or scope is NOT_APPLICABLE or scope is UNKNOWN else "model.cuda_graph_scope"


@fact("graphs.whole_layer", needs=("graphs.impl", "graphs.modules"), unit="yes or no", source="Megatron Core transformer_config.py:2544 (0.19.2)")
def whole_layer(implementation: str, names: list[str]) -> bool:
    """Whether whole layers are captured: full iteration, or no module named."""
    return implementation == "full_iteration" or not names


@fact("graphs.captures_attention", needs=("graphs.training", "graphs.modules"), unit="yes or no", source="Bridge training/config.py:1182 (0.6.2)")
def captures_attention(trains: bool, names: list[str]) -> bool:
    """Whether a training graph holds the attention, which packed data hand their sequence boundaries."""
    return trains and (not names or "attn" in names)


@fact("graphs.only_moe_layers", needs=("model.moe_layer_freq",), unit="yes or no", source="Megatron Core transformer_config.py:2500 (0.19.2)")
def only_moe_layers(frequency: Any) -> bool:
    """Whether every layer is an expert layer, by moe_layer_freq (a count or a list of zeros and ones)."""
    return frequency == 1 if frequency.__class__ is int else frequency.__class__ is list and 0 not in frequency


# providers whose provide() is GPTModelProvider's own, or calls it
GPT_PROVIDERS = frozenset(
    [
        "GPTModelProvider",
        "ExaoneMoeModelProvider",
        "LlamaNemotronHeterogeneousProvider",
        "MLAModelProvider",
        "MiniMaxM3ModelProvider",
        "MistralModelProvider",
        "OlMoEModelProvider",
        "SarvamMLAModelProvider",
        "SarvamMoEModelProvider",
        "Step35ModelProvider",
        "MiMoV2FlashModelProvider",
        "GemmaModelProvider",
        "Gemma2ModelProvider",
        "Gemma3ModelProvider",
        "Gemma4ModelProvider",
    ]
)


@fact(
    "graphs.provider_checks_rng",
    needs=("classes.model",),
    unit="yes or no",
    source="Bridge models/gpt_provider.py:234 and the providers that inherit it (0.6.2)",
)
def provider_checks_rng(name: str) -> bool:
    """Whether building this model asks for Transformer Engine's RNG tracker under CUDA graphs."""
    return name in GPT_PROVIDERS
