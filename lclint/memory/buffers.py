"""What lies in memory beside states and activations: workspaces, communication buffers, temporaries of the backward."""

from __future__ import annotations

from lclint.memory.activations import routed_tokens, unfused
from lclint.memory.inputs import Inputs
from lclint.memory.parameters import Weights

MIB = 2**20
# fitted on two measured configs with TP userbuffers
USERBUFFERS = 12
# what the backward of one MoE layer holds, in tensors of the routed tokens: fitted on the four stages of a measured DeepSeek-V3 proxy
# with DeepEP (7.5 GiB without and 7.9 with offload, beside the routed tensors of one microbatch more) and found again with alltoall in five
# published runs of 14 DeepSeek-V3 layers
ROUTED_TENSORS = 15
# HybridEP permutes as it dispatches, from and to buffers of its own: there are no tokens as received beside those in the experts' order, nor their
# gradients. Fitted on published runs of Nemotron-3 Nano and Super that compute their experts again
ROUTED_TENSORS_FUSED = 7
# resident with HybridEP beyond all that is counted: 515 MiB in one measured run (Nemotron 3.5 Lightning, GB200); with DeepEP 64 to 71 MiB, not counted
HYBRIDEP_RESIDENT = 512 * MIB


def workspaces(m: Inputs) -> float:
    """GEMM workspaces: cuBLAS has one for each of two handles (forward and autograd threads), Transformer Engine its own.

    32 MiB on Hopper and newer, 8.125 and 4 MiB on older GPUs; ``CUBLAS_WORKSPACE_CONFIG=:4096:8`` makes it 32 MiB anywhere. Grouped GEMMs
    have four more, TP userbuffers two (Transformer Engine module/base.py, initialize_ub). Measured to the MiB.
    """
    modern = m.architecture == 0 or m.architecture >= 9
    one = 32.0 * MIB if modern or m.cublas == ":4096:8" else 0.125 * MIB if m.cublas == ":16:8" else 8.125 * MIB
    total = one * (4 if m.expert_overlap else 2)
    engine = (32.0 if modern else 4.0) * MIB
    if not m.local or m.experts:
        total += engine * (3 if m.tp_overlap else 1)
    if not m.local and m.experts and m.grouped:
        total += 4 * engine
    return total


def persistent(m: Inputs) -> float:
    """Buffers that stay: the gathered sequence of the output layer, TP userbuffers, scores of attention without Transformer Engine."""
    total = 0.0
    if m.sp:
        total += float(m.element) * m.tokens * m.hidden
    if m.dispatcher_backend == "hybridep":
        total += HYBRIDEP_RESIDENT
    if m.tp_overlap:
        total += USERBUFFERS * 2.0 * m.tokens * m.hidden
    if m.local and not m.mla:
        total += 2.0 * m.micro_batch * m.sequence * m.sequence * m.heads / m.tp
    return total


def placeholders(m: Inputs, w: Weights) -> float:
    """What a weight gradient that is added to its buffer by the GEMM itself returns to autograd: an empty tensor, kept for every shape.

    Transformer Engine module/base.py (get_dummy_wgrad), Megatron Core tensor_parallel/layers.py (0.19.2). Found as the static bytes that seven
    measured runs have above those without the fusion, and as 441 of 512 MiB on each stage of a DeepSeek-V3 proxy.
    """
    if not m.fused_gradients or m.adapter:
        return 0.0
    return float(m.element) * sum(outputs * inputs for outputs, inputs in w.shapes)


def pipeline(m: Inputs, stage: int, virtual: int) -> float:
    """The input that a stage received and its gradient, which each chunk keeps after the step; the first stage's first chunk has none."""
    if m.pp == 1:
        return 0.0
    chunks = virtual - (1 if stage == 0 else 0)
    return 2.0 * chunks * m.element * m.residual * m.hidden


def context_parallel(m: Inputs) -> float:
    """Keys and values of a neighbour, double-buffered, with their gradients (p2p); q, k, v and output once more (a2a); all keys and values."""
    if m.cp == 1:
        return 0.0
    keys, heads = (m.heads * (m.qk_head + m.rope_head), m.heads) if m.mla else (m.head * max(m.groups, m.tp), m.heads)
    queries = keys if m.mla else m.head * heads
    if m.cp_type in ("a2a", "a2a+p2p"):
        return 2.0 * m.tokens * (2 * queries + 2 * keys) / m.tp
    if m.cp_type in ("allgather", "all_gather"):
        return 2.0 * m.tokens * m.cp * 2 * keys / m.tp
    return 2.0 * 2 * m.tokens * 2 * keys / m.tp * 2


def backward_dense(m: Inputs, width: float) -> float:
    """Gradients while the MLP of the last layer goes backward: of its output, and of both sides of the activation."""
    return float(m.element) * (m.residual * m.hidden + m.tokens * width * (2 if m.gated else 1))


def backward_experts(m: Inputs) -> float:
    """Gradients and copies of the routed tokens while the experts of the last layer go backward."""
    return (ROUTED_TENSORS_FUSED if m.dispatcher_backend == "hybridep" else ROUTED_TENSORS) * float(m.element) * routed_tokens(m) * (m.latent or m.hidden)


def late(m: Inputs) -> int:
    """Microbatches whose routed tensors are freed late: one with DeepEP over a pipeline, whose streams hold on to them."""
    return 1 if m.experts and m.dispatcher_backend == "deepep" and m.pp > 1 else 0


def attention_range(m: Inputs, layers: float) -> float:
    """What attention would keep more if no fused kernel took it: for the upper end of the range of deterministic runs before Hopper.

    Seen on A100 with the images up to autumn 2025; nothing in a config tells those from newer ones.
    """
    if unfused(m) or m.backend not in ("", "auto") or not m.deterministic or m.cp > 1 or not 0 < m.architecture < 9:
        return 0.0
    return layers * m.micro_batch * m.sequence * m.sequence * m.heads / m.tp * (5 if m.attention_dropout else 2)
