"""CUDA graphs of Transformer Engine's implementation: what they hold, and what the allocator no longer sees.

Sources: Megatron Core transformer/cuda_graphs.py (TECudaGraphHelper), transformer/module.py and transformer/transformer_layer.py
(get_layer_static_inputs), 0.19.2; Transformer Engine pytorch/graph.py (make_graphed_callables).

A graphed layer has an input of its own for every microbatch that is alive at once: the residual and, where attention is captured, a mask of
one byte for each pair of positions. What a captured module keeps for its backward lies in the graphs' pool, which is free again for the
allocator's count as soon as the backward is captured, but is never given back.
"""

from __future__ import annotations

from lclint.memory.activations import ATTENTION, EXPERTS, STATE_SPACE, Bytes
from lclint.memory.inputs import Inputs
from lclint.memory.schedule import Kind

TRANSFORMER_ENGINE = "transformer_engine"
WHOLE = frozenset({"full"})


def _captures(m: Inputs, module: str) -> bool:
    return m.graphs == TRANSFORMER_ENGINE and (not m.graph_modules or m.graph_modules == WHOLE or module in m.graph_modules)


def captured(m: Inputs, kind: Kind) -> frozenset[str]:
    """Names of the tensors of a layer that captured modules keep."""
    mixer, feed = kind
    names: set[str] = set()
    if mixer == "mamba" and _captures(m, "mamba"):
        names |= {"input_norm", *STATE_SPACE}
    elif mixer and mixer != "mamba" and _captures(m, "attn"):
        names |= {"input_norm", *ATTENTION, *STATE_SPACE}
    if feed == "dense" and _captures(m, "mlp"):
        names |= {"mlp_norm", "mlp"}
    elif feed == "moe" and m.graphs == TRANSFORMER_ENGINE and "moe" in m.graph_modules:
        names |= {"mlp_norm", "shared_expert", *EXPERTS}
    elif feed == "moe" and m.graphs == TRANSFORMER_ENGINE and "moe_router" in m.graph_modules:
        names |= {"mlp_norm", "router", "shared_expert"}
    return frozenset(names)


def inputs(m: Inputs, kind: Kind) -> tuple[float, float]:
    """Bytes of one layer's static inputs for one microbatch: the residual, and the mask."""
    names = captured(m, kind)
    if not names:
        return 0.0, 0.0
    mask = 0.0
    if kind[0] not in ("", "mamba") and _captures(m, "attn"):
        mask = float(m.micro_batch) * (m.sequence / m.cp) * m.sequence
    return float(m.element) * m.residual * m.hidden, mask


def pooled(m: Inputs, kind: Kind, kept: Bytes) -> float:
    """Bytes of one layer's tensors of one microbatch that lie in the pool."""
    names = captured(m, kind)
    return sum(size for name, size in kept.items() if name in names)
