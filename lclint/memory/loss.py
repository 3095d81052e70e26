"""The end of the last stage: final norm, logits and cross entropy, and the MTP layers with heads of their own."""

from __future__ import annotations

from lclint.memory.activations import Bytes
from lclint.memory.inputs import Inputs

# bytes of one logit that are alive at once: the GEMM's output in two bytes, then what the implementation adds
# unfused: an FP32 copy (core tensor_parallel/cross_entropy.py works in it in place)
# native: the jit-fused form keeps a second FP32 tensor (core fusions/fused_cross_entropy.py)
# te: Transformer Engine's kernel writes the gradient over the logits
LOGIT = {"unfused": 6, "native": 10, "te": 2, "linear": 2}
HEAD = {"unfused": 4, "native": 4, "te": 2, "linear": 2}
# residual-sized tensors of an MTP layer besides its transformer layer: embedding, two norms, their concatenation (two), the projection's output;
# fitted on the measured rows with MTP
MTP_TENSORS = 6


def logits(m: Inputs) -> float:
    """Logits and what cross entropy makes of them, FP32 softmax included."""
    elements = m.tokens * (m.vocabulary / m.tp)
    total = LOGIT.get(m.cross_entropy, 6) * elements
    # the other heads' logits wait for the backward in the form that the implementation keeps
    total += m.mtp * HEAD.get(m.cross_entropy, 4) * elements
    if m.defer_wgrad:
        waiting = min(m.microbatches, m.defer_limit or m.microbatches, 4 * m.pp)
        total += waiting * (2 * elements + 2 * m.residual * m.hidden)
    return total


def resident(m: Inputs) -> float:
    """Two-byte logits of every head that outlive the step on the last stage of a pipeline.

    Seen on the DeepSeek-V3 proxies (PP, MTP, Transformer Engine's cross entropy): 2027 MiB more than states and buffers, and two such
    tensors are 2020; not without a pipeline, nor in hybrid models.
    """
    if m.pattern or m.pp == 1 or not m.mtp or m.cross_entropy != "te":
        return 0.0
    return (1 + m.mtp) * 2.0 * m.tokens * (m.vocabulary / m.tp)


def final_norm(m: Inputs) -> float:
    """Input and output of the last norm."""
    return 4.0 * m.residual * m.hidden


def mtp(m: Inputs, layers: list[Bytes]) -> float:
    """The MTP layers of one microbatch; ``layers`` are what one depth keeps."""
    one = sum(sum(layer.values()) for layer in layers)
    return m.mtp * (one + 2.0 * MTP_TENSORS * m.residual * m.hidden)
