"""What the weights of a rank cost: the weights themselves, the gradient buffers, and the optimizer's state.

Sources: Megatron Core distributed/param_and_grad_buffer.py, optimizer/distrib_optimizer.py, optimizer/optimizer_config.py (0.19.2),
Transformer Engine's FusedAdam and quantised tensors. Checked against the measured rows: 2 + 4 + 12 bytes (bf16, no sharding),
2 + 4 + 12/D (distributed), 2 + 2 + 4/D + 12/D (16-bit gradients).
"""

from __future__ import annotations

from lclint.memory.inputs import Inputs
from lclint.memory.parameters import Weights

# one scale byte for each 32 elements (MXFP8), for each 16 at half a byte an element (NVFP4)
MXFP8 = 1 + 1 / 32
NVFP4 = 0.5 + 1 / 16
# all-gathered at a time by Megatron FSDP: this layer and the next, in weights; one layer of gradients (mcore_fsdp_adapter.py: a unit is a layer)
FSDP_WEIGHT_LAYERS = 2
FSDP_GRADIENT_LAYERS = 1


class States:
    """Bytes on one rank. ``moments`` are the part of ``optimizer`` that the first step creates.

    ``step`` are copies that exist from the optimizer step until the next zero_grad: part of what is allocated after a step,
    not of what the forward and backward find. ``cast`` exists only within the step.
    """

    __slots__ = ("weights", "gradients", "optimizer", "moments", "step", "cast")

    def __init__(self) -> None:
        self.weights = 0.0
        self.gradients = 0.0
        self.optimizer = 0.0
        self.moments = 0.0
        self.step = 0.0
        self.cast = 0.0


def shards(m: Inputs) -> tuple[int, int]:
    """Ranks over which the optimizer state of dense and of expert weights is divided."""
    if m.fsdp and m.fsdp != "no_shard":
        whole = m.outer_sharding != "no_shard"
        return max(1, m.dp * m.cp // (1 if whole else m.instances)), max(1, m.edp // (1 if whole else m.instances))
    if not m.distributed:
        return 1, 1
    return max(1, m.dp * m.cp // m.instances), max(1, m.edp // m.instances)


def weight_bytes(m: Inputs) -> tuple[float, float]:
    """Bytes of one element of a linear that stays quantised or has quantised copies, and of any other weight."""
    plain = 2.0 if m.half else 4.0
    both_ways = m.architecture < 10 and not m.transpose_dropped
    if m.fp4:
        # a row-wise and a column-wise copy; without FP4 parameters they lie beside the bf16 ones
        copies = 2 * NVFP4
        return (copies + (0 if m.reuse_gradients else plain)) if m.fp4_params else plain + copies, plain
    if m.fp8:
        if m.fp8_recipe == "mxfp8":
            copies = 2 * MXFP8
            return (copies + (0 if m.reuse_gradients else plain)) if m.fp8_params else plain + copies, plain
        # Hopper's GEMMs need the transpose as well; FSDP drops it (megatron_fsdp.py, release_params_fp8_transpose_cache)
        copies = 2.0 if (both_ways or m.architecture == 0) and not (m.fsdp and m.fp8_params) else 1.0
        return copies if m.fp8_params else plain + copies, plain
    return plain, plain


def per_parameter(m: Inputs) -> tuple[float, float, float]:
    """Bytes of optimizer state of one element before it is sharded: main weight, moments, gradient copy of the step.

    The precision-aware optimizer works on the model's weights themselves only without a recipe of FP8 (optimizer_config.py:403, 0.19.2);
    Bridge's bf16 presets name the tensorwise one, so that its main weights are FP32 tensors of their own.
    """
    if m.fsdp and m.fsdp != "torch":
        # its main weights are tensors of their own, whatever the model's dtype (megatron_fsdp_main_params_dtype)
        return 4.0, float(sum(m.moments)) if m.precision_aware else 8.0, 0.0
    if not m.half:
        return 0.0, float(sum(m.moments)) if m.precision_aware else 8.0, 0.0
    if m.decoupled and m.host_optimizer:
        # the part that stays on the GPU has FP32 copies and FP32 moments, whatever the dtypes (HybridDeviceOptimizer, param_update_in_fp32)
        return 4.0, 8.0, 0.0
    if m.decoupled:
        # the upper half of an FP32 main weight is the bf16 weight itself; FusedAdam stores the other half
        main = 2 if m.remainders and m.half == "bf16" else m.main_width
        return float(main), float(sum(m.moments)), 0.0
    return 4.0, float(sum(m.moments)) if m.precision_aware else 8.0, 4.0 if m.gradients == 2 else 0.0


def gradient_bytes(m: Inputs) -> int:
    """Bytes of one element of the gradient buffer; Megatron FSDP's has the weights' dtype unless it is told (megatron_fsdp_main_grads_dtype)."""
    if m.fsdp and m.fsdp != "torch":
        return m.fsdp_gradients or m.element
    return m.gradients


def states(m: Inputs, w: Weights) -> States:
    """The states of a stage's weights."""
    s = States()
    linear, plain = weight_bytes(m)
    s.weights = plain * (w.frozen + w.total - w.dense_linear - w.expert_linear) + linear * (w.dense_linear + w.expert_linear)
    if m.adapter:
        return _adapters(m, w, s)
    dense, expert = shards(m)
    main, moments, copy = per_parameter(m)
    s.gradients = float(gradient_bytes(m)) * w.total
    if m.muon:
        _muon(m, w, s, main, copy)
    else:
        sharded = w.dense / dense + w.expert / expert
        s.moments = moments * sharded
        s.optimizer = (main + moments) * sharded
        s.step = copy * sharded
    if m.fp8_params and m.fp8_recipe != "mxfp8":
        # all main shards are cast to two bytes before they become FP8 (Transformer Engine, quantize_master_weights); published: 4.3 GB of 2.2 B elements
        s.cast = 2.0 * (w.dense_linear / dense + w.expert_linear / expert)
    _host(m, s)
    if m.fsdp:
        _fully_sharded(m, w, s, dense, expert)
    return s


def _adapters(m: Inputs, w: Weights, s: States) -> States:
    """Fine-tuning an adapter: the frozen weights have neither gradients nor states; the adapter's are sharded like dense ones."""
    plain = 2.0 if m.half else 4.0
    dense, _ = shards(m)
    main, moments, copy = per_parameter(m)
    s.weights += plain * w.adapters
    s.gradients = float(m.gradients) * w.adapters
    s.moments = moments * w.adapters / dense
    s.optimizer = (main + moments) * w.adapters / dense
    s.step = copy * w.adapters / dense
    _host(m, s)
    return s


def _host(m: Inputs, s: States) -> None:
    """The optimizer on the host works on copies: FP32 main weights stay on the GPU where they are tensors of their own.

    Megatron Core optimizer/cpu_offloading/hybrid_optimizer.py (0.19.2); published: 8 of 12 bytes go.
    """
    s.optimizer -= m.offloaded * (s.optimizer if m.decoupled else s.moments)
    s.moments *= 1 - m.offloaded


def _muon(m: Inputs, w: Weights, s: States, main: float, copy: float) -> None:
    """Muon keeps one FP32 momentum of a matrix and Adam two of the rest; layer-wise, whole matrices are dealt to the ranks."""
    others = w.embedding + w.vectors
    dense_matrices = w.dense - others
    dense, expert = (max(1, m.dp * m.cp), m.edp) if m.layer_wise else (1, 1)
    # the rank that is dealt an embedding table has all of its state
    owned = max(others / dense, min(w.embedding, m.vocabulary // m.tp * m.hidden))
    matrices = dense_matrices / dense + w.expert / expert
    s.moments = 4.0 * matrices + 8.0 * owned
    s.optimizer = s.moments + main * (matrices + owned)
    s.step = copy * (matrices + owned)


def _fully_sharded(m: Inputs, w: Weights, s: States, dense: int, expert: int) -> None:
    """Megatron FSDP: what the strategy shards is divided by the data parallel ranks."""
    share = (w.dense / dense + w.expert / expert) / max(1, w.total)
    if m.fsdp in ("optim_grads_params", "torch"):
        s.weights *= share
    if m.fsdp in ("optim_grads_params", "optim_grads", "torch"):
        s.gradients *= share
    if m.fsdp in ("optim_grads_params", "torch"):
        # what is no layer stays whole between the steps: the tables at both ends (megatron_fsdp.py, preserve_non_fsdp_units)
        s.weights += m.element * (w.embedding - w.embedding / dense)


def gathered(m: Inputs, layer_weights: int) -> tuple[float, float]:
    """Whole weights that FSDP holds while it works on a layer (double-buffered), and whole gradients in the backward."""
    if m.fsdp not in ("optim_grads_params", "torch"):
        return 0.0, 0.0
    linear, plain = weight_bytes(m)
    width = linear if m.fp8_params or m.fp4_params else plain
    return layer_weights * FSDP_WEIGHT_LAYERS * width, float(FSDP_GRADIENT_LAYERS * gradient_bytes(m) * layer_weights)
