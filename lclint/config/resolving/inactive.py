"""Fields whose master switch is off."""

from __future__ import annotations

from lclint.config.resolving.state import Resolution
from lclint.core.states import NOT_APPLICABLE


def switched_off(s: Resolution) -> None:
    """Fields whose master switch is off do nothing: not applicable."""
    off: list[str] = []
    granularity = s.get("model.recompute_granularity")
    if granularity in (None, "full"):
        off.append("model.recompute_modules")
    if granularity is None:
        off += ["model.recompute_method", "model.recompute_num_layers"]
    if s.get("model.cuda_graph_impl") == "none":
        off += ["model.cuda_graph_modules", "model.cuda_graph_scope"]
    if s.get("model.moe_token_dispatcher_type") in ("alltoall", "allgather"):
        off.append("model.moe_flex_dispatcher_backend")
    if s.get("model.cpu_offloading") is False:
        off.append("model.cpu_offloading_num_layers")
    if s.get("model.fine_grained_activation_offloading") is False:
        off.append("model.offload_modules")
    if s.get("optimizer.optimizer_cpu_offload") is False:
        off.append("optimizer.optimizer_offload_fraction")
    if s.run.complete and s.get("model.num_moe_experts") is None:
        off += [name for name in s.values if name.startswith("model.moe_")]
    for name in off:
        if name in s.values:
            s.values[name] = NOT_APPLICABLE
