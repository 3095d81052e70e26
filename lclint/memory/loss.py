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
# in an FP32 run the logits are FP32 already, and no copy of them is made
LOGIT_FP32 = {"unfused": 4, "native": 8, "te": 4, "linear": 4}
HEAD_FP32 = 4
# residual-sized tensors of an MTP layer besides its transformer layer: embedding, two norms, their concatenation (two), the projection's output;
# fitted on the measured rows with MTP
MTP_TENSORS = 6


def logits(m: Inputs) -> float:
    """Logits and what cross entropy makes of them, FP32 softmax included."""
    elements = m.tokens * (m.vocabulary / m.tp)
    one, head = (LOGIT, HEAD.get(m.cross_entropy, 4)) if m.half else (LOGIT_FP32, HEAD_FP32)
    total = one.get(m.cross_entropy, one["unfused"]) * elements
    # the other heads' logits wait for the backward in the form that the implementation keeps
    total += m.mtp * head * elements
    if m.defer_wgrad:
        waiting = min(m.microbatches, m.defer_limit or m.microbatches, 4 * m.pp)
        total += waiting * m.element * (elements + m.residual * m.hidden)
    return total


def final_norm(m: Inputs) -> float:
    """Input and output of the last norm."""
    return 2.0 * m.element * m.residual * m.hidden


def mtp(m: Inputs, layers: list[Bytes]) -> float:
    """The MTP layers of one microbatch; ``layers`` are what one depth keeps."""
    one = sum(sum(layer.values()) for layer in layers)
    return m.mtp * (one + float(m.element) * MTP_TENSORS * m.residual * m.hidden)
