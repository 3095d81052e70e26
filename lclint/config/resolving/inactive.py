"""Fields whose master switch is off."""

from __future__ import annotations

from lclint.config.resolving.state import Resolution
from lclint.core.states import NOT_APPLICABLE


def switched_off(s: Resolution) -> None:
    """Fields whose master switch is off do nothing: not applicable."""
    granularity = s.get("model.recompute_granularity")
    if granularity in (None, "full"):
        _off(s, f"recompute_granularity is {granularity or 'null'}", "model.recompute_modules")
    if granularity is None:
        _off(s, "recompute_granularity is null", "model.recompute_method", "model.recompute_num_layers")
    if s.get("model.cuda_graph_impl") == "none":
        _off(s, "cuda_graph_impl is none", "model.cuda_graph_modules", "model.cuda_graph_scope")
    dispatcher = s.get("model.moe_token_dispatcher_type")
    if dispatcher in ("alltoall", "allgather"):
        _off(s, f"moe_token_dispatcher_type is {dispatcher}", "model.moe_flex_dispatcher_backend")
    if s.get("model.cpu_offloading") is False:
        _off(s, "cpu_offloading is false", "model.cpu_offloading_num_layers")
    if s.get("model.fine_grained_activation_offloading") is False:
        _off(s, "fine_grained_activation_offloading is false", "model.offload_modules")
    if s.get("optimizer.optimizer_cpu_offload") is False:
        _off(s, "optimizer_cpu_offload is false", "optimizer.optimizer_offload_fraction")
    if s.run.complete and s.get("model.num_moe_experts") is None:
        _off(s, "the model has no experts", *(name for name in s.values if name.startswith("model.moe_")))


def _off(s: Resolution, why: str, *names: str) -> None:
    for name in names:
        if name in s.values:
            s.set(name, NOT_APPLICABLE, why)
