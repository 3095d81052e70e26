"""Mixture-of-experts settings as Megatron Core sees them, also for the checks that it makes on a dense model."""

from __future__ import annotations

from typing import Any

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.registry import fact

EXPERTS = "model.num_moe_experts"
DISPATCHER = "written.model.moe_token_dispatcher_type"
BACKEND = "written.model.moe_flex_dispatcher_backend"
DEEPEP = "written.model.moe_enable_deepep"
CAPACITY = "written.model.moe_expert_capacity_factor"
BALANCING = "written.model.moe_router_load_balancing_type"
FREQUENCY = "written.model.moe_layer_freq"
CONFIG = "Megatron Core transformer_config.py"


@fact("moe.active", needs=(EXPERTS,), unit="yes or no", source=f"{CONFIG}:1469 (0.19.2)", raw=True)
def active(g: Any) -> Any:
    """Whether the model has experts."""
    experts = g[EXPERTS]
    return UNKNOWN if experts is UNKNOWN else experts is not None and experts is not NOT_APPLICABLE


@fact("moe.dispatcher", needs=("moe.active", DISPATCHER), unit="name", source="Megatron Core transformer/moe/moe_layer.py:300 (0.19.2)")
def dispatcher(experts: bool, name: Any) -> Any:
    """The token dispatcher of a model with experts; not applicable to a dense one."""
    return name if experts else NOT_APPLICABLE


@fact("moe.named_backend", needs=(BACKEND, DEEPEP), unit="name", source=f"{CONFIG}:1589-1594 (0.19.2)", raw=True)
def named_backend(g: Any) -> Any:
    """The flex backend that the config names, moe_enable_deepep included, whatever the dispatcher; null for none."""
    old, name = g[DEEPEP], g[BACKEND]
    if old is True:
        return "deepep"
    return UNKNOWN if old is UNKNOWN and name is not NOT_APPLICABLE else name


@fact(
    "moe.backend",
    needs=("moe.dispatcher", "moe.named_backend"),
    nullable=("moe.named_backend",),
    unit="name",
    source="Megatron Core transformer/moe/token_dispatcher.py:1769 (0.19.2)",
)
def backend(dispatcher_name: Any, name: Any) -> Any:
    """The backend of the flex dispatcher, null when none is named; not applicable to other dispatchers and dense models."""
    return name if dispatcher_name == "flex" else NOT_APPLICABLE


@fact(
    "moe.experts_per_rank",
    needs=(EXPERTS, "model.expert_model_parallel_size"),
    unit="experts",
    source="Megatron Core transformer/moe/moe_layer.py:186 (0.19.2)",
)
def experts_per_rank(experts: int, ep: int) -> Any:
    """Experts on one rank; not applicable where they do not divide."""
    return experts // ep if experts % ep == 0 else NOT_APPLICABLE


@fact("moe.capacity_factor", needs=(CAPACITY,), nullable=(CAPACITY,), unit="share of the balanced load", source=f"{CONFIG}:1661 (0.19.2)")
def capacity_factor(factor: Any) -> Any:
    """Capacity of an expert over its balanced load; null for no limit, which a negative value means too."""
    return None if factor is None or factor < 0 else factor


@fact("moe.load_balancing", needs=(BALANCING,), unit="names", source=f"{CONFIG}:1664-1681 (0.19.2)")
def load_balancing(kinds: Any) -> list[Any]:
    """The load-balancing types as a list."""
    return kinds if kinds.__class__ is list else [kinds]


@fact("moe.mixed_layers", needs=(FREQUENCY,), unit="yes or no", source=f"{CONFIG}:1539 (0.19.2)")
def mixed_layers(frequency: Any) -> bool:
    """Whether moe_layer_freq leaves some layers dense."""
    return 0 in frequency if frequency.__class__ is list else frequency.__class__ is int and frequency > 1


@fact("moe.layer_list", needs=(FREQUENCY,), unit="entries", source="Megatron Core models/gpt/gpt_layer_specs.py:653 (0.19.2)")
def layer_list(frequency: Any) -> Any:
    """Entries of moe_layer_freq where it is a list with one entry per layer."""
    return len(frequency) if frequency.__class__ is list else NOT_APPLICABLE


@fact("moe.offloaded", needs=("written.model.offload_modules",), unit="names", source=f"{CONFIG}:1912 (0.19.2)")
def offloaded(modules: Any) -> Any:
    """Modules inside the experts that activation offloading names."""
    return [name for name in modules if name in ("expert_fc1", "moe_act", "fused_group_mlp")] if modules.__class__ is list else NOT_APPLICABLE
