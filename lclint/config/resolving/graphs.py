"""CUDA graphs: lists that are cleared without an implementation, and old names that become the new ones."""

from __future__ import annotations

from lclint.config.resolving.state import Resolution
from lclint.core.states import NOT_APPLICABLE, UNKNOWN

IMPL = "model.cuda_graph_impl"
MODULES = "model.cuda_graph_modules"
SCOPE = "model.cuda_graph_scope"
INFERENCE = "model.inference_cuda_graph_scope"


def cleared(s: Resolution) -> None:
    """bridge utils/cuda_graph.py:132: without an implementation the module lists are cleared before Megatron Core sees them."""
    impl = s.get(IMPL)
    if impl is UNKNOWN:
        s.blur(MODULES, SCOPE)
    elif impl == "none":
        why = "cuda_graph_impl is none (utils/cuda_graph.py:132)"
        if MODULES in s.values:
            s.set(MODULES, [], why)
        if SCOPE in s.values:
            s.set(SCOPE, None, why)


def migrated(s: Resolution) -> None:
    """core transformer/transformer_config.py:2365-2455 and cuda_graph_config.py: the old names of graph settings become the new ones."""
    impl = s.get(IMPL)
    if impl == "none":
        why = "enable_cuda_graph and external_cuda_graph are old names (core transformer_config.py:2375)"
        local, external = s.get("model.enable_cuda_graph"), s.get("model.external_cuda_graph")
        if local is True:
            s.set(IMPL, "local", why)
        elif external is True:
            s.set(IMPL, "transformer_engine", why)
    scope = s.get(SCOPE)
    if scope is UNKNOWN and s.get(MODULES) in ("full", None, []):
        s.blur(MODULES)
    elif scope not in (None, UNKNOWN, NOT_APPLICABLE) and s.get(MODULES) in ("full", None, [], UNKNOWN) and s.get(IMPL) is not UNKNOWN:
        s.set(MODULES, scope, "cuda_graph_scope is its old name (core transformer_config.py:2403)")
        s.set(SCOPE, None, "moved to cuda_graph_modules (core transformer_config.py:2406)")
    modules = s.get(MODULES)
    if UNKNOWN in (scope, modules) and s.get(IMPL) == "local":
        # which full_iteration among them would change
        s.blur(IMPL)
    if modules is None:
        modules = []
    elif modules.__class__ is str:
        modules = [part for part in modules.split(",") if part]
    if modules.__class__ is list:
        _normalise(s, modules)
    impl = s.get(IMPL)
    if impl.__class__ is str:
        s.default(INFERENCE, "layer" if impl == "local" else "none", "follows cuda_graph_impl (core cuda_graph_config.py:74)")
    elif impl is UNKNOWN:
        s.default(INFERENCE, UNKNOWN, "follows cuda_graph_impl (core cuda_graph_config.py:74)")


def _normalise(s: Resolution, modules: list[object]) -> None:
    if modules == ["full"]:
        modules = []
    if "full_iteration" in modules:
        s.set(IMPL, "full_iteration", "scope full_iteration is its old spelling (core cuda_graph_config.py:12)")
    elif "full_iteration_inference" in modules and s.get(IMPL) != "none":
        s.set(INFERENCE, "block", "module full_iteration_inference is its old spelling (core cuda_graph_config.py:13)")
    modules = [module for module in modules if module not in ("full_iteration", "full_iteration_inference")]
    s.set(MODULES, modules, "normalised to a list (core transformer_config.py:2437)")
