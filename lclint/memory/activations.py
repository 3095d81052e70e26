"""What the forward pass of one microbatch keeps for the backward, by module of a layer.

Every entry is a tensor that autograd or Transformer Engine saves; T is the microbatch's tokens on the rank (``tokens``: in attention and MLP,
``residual``: in the residual stream, which sequence parallelism splits over TP), h the hidden size; an element has the model's two bytes (four
in an FP32 run) unless it is said.
Sources: the modules of Megatron Core 0.19.2 and Transformer Engine; the sizes were checked against the measured rows (a term that is left out
shifts their median by 1 to 30 %).
"""

from __future__ import annotations

from lclint.memory.inputs import Inputs
from lclint.memory.schedule import Kind

# component of the estimate for each module
NORMS = ("input_norm", "mlp_norm", "dropout")
ATTENTION = ("qkv", "qk_norm", "rope", "latent", "up_projection", "scores", "attention_output", "gate", "indexer")
MLP = ("mlp", "shared_expert")
EXPERTS = ("router", "expert_input", "expert_fc1", "expert_act", "combine")
STATE_SPACE = ("mamba", "linear")
COMPONENT = {
    **dict.fromkeys(NORMS, "norms"),
    **dict.fromkeys(ATTENTION, "attention"),
    **dict.fromkeys(MLP, "mlp"),
    **dict.fromkeys(EXPERTS, "experts"),
    **dict.fromkeys(STATE_SPACE, "state_space"),
}

Bytes = dict[str, float]
HOPPER = 9


def unfused(m: Inputs) -> bool:
    """Whether attention writes its scores to memory. Left to itself, Transformer Engine takes a fused kernel."""
    return m.backend in ("unfused", "local") or (m.local and not m.mla) or m.fused_off


def flash(m: Inputs) -> bool:
    """Whether the kernel is flash-attention's and not cuDNN's: asked for, on GPUs before Hopper, and on Blackwell in deterministic runs.

    Found in the measured rows by the second copy of the output. Heads whose keys are wider than their values are for flash-attention 3 only,
    which is Hopper's (Transformer Engine, attention/dot_product_attention/utils.py).
    """
    if m.mla and m.qk_head + m.rope_head != m.v_head and m.architecture != HOPPER:
        return False
    if m.backend in ("flash", "fused"):
        return m.backend == "flash" and m.architecture > 0
    return 0 < m.architecture < 9 or (m.architecture >= 10 and m.deterministic)


def quantised(m: Inputs) -> float:
    """Bytes of one element of a linear's saved input."""
    if m.fp4:
        return 0.5 + 1 / 16
    if m.fp8:
        return 1 + 1 / 32 if m.fp8_recipe == "mxfp8" else 1.0
    return float(m.element)


def _queries(m: Inputs) -> tuple[int, int]:
    """Widths of queries and of keys (or values) of the whole model, the latter at least one group a rank."""
    return m.head * m.heads, m.head * max(m.groups, m.tp)


def attention(m: Inputs) -> Bytes:
    """Self-attention without its norm."""
    t, out = m.tokens, {}
    saved, wide = quantised(m), m.element
    if m.mla:
        heads = m.heads / m.tp
        per_head = m.qk_head + m.rope_head
        # the latents before their norms, and after them as inputs of the up projections
        out["latent"] = m.residual * (wide * (m.q_rank + m.kv_rank + m.rope_head) + saved * (m.q_rank + m.kv_rank))
        # q and k in full; v is a view of the up projection where rope is not fused, and a tensor of its own where it is: of that only half was
        # found again, in the slope over the stages of a DeepSeek-V3 proxy and in the published saving of recomputing it (30.4 GB)
        kept = 2 * per_head + (m.v_head / 2 if m.fused_rope else m.qk_head + m.v_head)
        out["up_projection"] = wide * t * heads * (kept + (m.v_head if unfused(m) and not m.fused_rope else 0))
        width = m.v_head * m.heads
        if m.dsa:
            out["indexer"] = 2 * t * m.index_head * (m.index_heads + 1) + 4 * t * m.index_heads
    else:
        queries, keys = _queries(m)
        out["qkv"] = wide * t * (queries + 2 * keys) / m.tp
        if m.rope and not m.fused_rope:
            out["rope"] = wide * t * (queries + keys) / m.tp
        if m.qk_norm:
            out["qk_norm"] = wide * t * (queries + keys) / m.tp
        if m.gate:
            # the gate, and the output before it
            out["gate"] = 2 * wide * t * queries / m.tp
        width = queries
    if unfused(m):
        scores = m.micro_batch * m.sequence * m.sequence * m.heads / m.tp / m.cp
        # the softmax, and with dropout its result and a mask of one byte
        out["scores"] = scores * (2 * wide + 1 if m.attention_dropout else wide)
        out["attention_output"] = saved * t * width / m.tp
    else:
        # the kernel's output is the projection's input; log-sum-exp in FP32
        own = wide * t * width / m.tp
        out["attention_output"] = own + (saved * t * width / m.tp if saved < 2 else 0) + 4 * t * m.heads / m.tp
        if flash(m) and saved >= 2 and m.micro_batch > 1:
            # its output has the batch first, the projection wants the sequence first: both are kept; of one sequence both are one tensor (a
            # transposed dimension of one is no copy: confirmed by the slope over the stages of a DeepSeek-V3 proxy)
            out["attention_output"] += own
    return out


def linear_attention(m: Inputs) -> Bytes:
    """Gated delta net (core ssm/gated_delta_net, and the chunked kernel of flash-linear-attention, which computes its states again).

    Kept: the convolution's input and output (q, k, v), q and k repeated for the value heads, v, the gate, the kernel's result and its
    64 x 64 blocks of a chunk, and the gated norm's output.
    """
    keys, values = m.linear_key_heads * m.linear_key, m.linear_value_heads * m.linear_value
    convolved = 2 * (2 * keys + values)
    repeated = 2 * m.linear_value_heads * m.linear_key
    kept = convolved + repeated + 3 * values + 64 * m.linear_value_heads
    return {"linear": m.element * m.tokens * kept / m.tp + quantised(m) * m.tokens * values / m.tp}


def mamba(m: Inputs) -> Bytes:
    """Mamba-2 with its memory-efficient kernel: the projection's output, the scan's output, a state for each chunk, and the gated norm's output.

    That the chunks' states are kept, in two bytes, was found in the measured hybrid models (a fifth of a layer's bytes).
    """
    inner = m.mamba_heads * m.mamba_head
    projected = 2 * inner + 2 * m.mamba_groups * m.mamba_state + m.mamba_heads
    states = inner * m.mamba_state / m.mamba_chunk
    return {"mamba": m.element * m.tokens * (projected + inner + states) / m.tp + quantised(m) * m.tokens * inner / m.tp}


def mlp(m: Inputs, width: int, tokens: float) -> float:
    """Output of the first linear, and of the activation as input of the second; ``width`` is what one rank has."""
    return tokens * width * (m.element * (2 if m.gated else 1) + quantised(m))


def routed_tokens(m: Inputs) -> float:
    """Token copies that the experts of a rank receive: top-k of each of its own where routing is even, times the imbalance."""
    return m.residual * m.topk * m.etp * m.imbalance


def experts(m: Inputs) -> Bytes:
    """Router, routed and shared experts."""
    n, routed = m.residual, routed_tokens(m)
    inner = m.latent or m.hidden
    saved = quantised(m)
    width = m.expert_ffn / m.etp
    out = {
        # logits, probabilities, routing map and the fused kernel's copy, all FP32-sized
        "router": 16.0 * n * m.experts,
        "expert_input": saved * routed * inner,
        "expert_fc1": m.element * routed * width * (2 if m.gated else 1),
        "expert_act": saved * routed * width,
    }
    if not m.gated:
        out["combine"] = m.element * routed * width
    if m.latent:
        out["router"] += 2 * n * m.latent * m.element
    if m.shared_ffn:
        out["shared_expert"] = mlp(m, m.shared_ffn // m.tp, m.tokens)
    return out


def layer(m: Inputs, kind: Kind) -> Bytes:
    """Everything that one layer keeps without recompute or offload."""
    mixer, feed = kind
    h, n = m.hidden, m.residual
    saved, wide = quantised(m), m.element
    out: Bytes = {}
    if mixer:
        # the residual and the norm's output, which is the projection's input
        out["input_norm"] = n * h * (wide + saved)
        if mixer == "full":
            out.update(attention(m))
        else:
            out.update(linear_attention(m) if mixer == "linear" else mamba(m))
    if feed:
        # the router needs the norm's output in full
        out["mlp_norm"] = n * h * (wide + (wide if feed == "moe" else saved))
        if feed == "moe":
            out.update(experts(m))
        else:
            out["mlp"] = mlp(m, m.ffn // m.tp, m.tokens)
    if m.hidden_dropout:
        out["dropout"] = n * h * ((1 if mixer else 0) + (1 if feed else 0))
    if m.adapter:
        _frozen(m, out, kind)
    return out


def _adapted(m: Inputs, *names: str) -> bool:
    """Whether one of these linears has an adapter."""
    return any(name in target for name in names for target in m.adapter_targets)


def _frozen(m: Inputs, out: Bytes, kind: Kind) -> None:
    """Under an adapter: a frozen linear keeps no input, for it has no weight gradient; an adapter keeps the input of the linear that it is on.

    With sequence parallelism it keeps that of a column-parallel linear gathered, unless it gathers it again in the backward (Bridge
    peft/lora.py; published: 4.7 GB of Qwen3-8B at 8192 tokens over two ranks).
    """
    mixer, feed = kind
    wide = float(m.element)
    gathered = wide * m.tokens * m.hidden if m.sp and not m.adapter_regather else 0.0
    if mixer:
        first = _adapted(m, "linear_qkv", "linear_q_", "linear_kv_down", "in_proj")
        out["input_norm"] = out["input_norm"] + gathered if first else wide * m.residual * m.hidden
    if feed:
        if not _adapted(m, "linear_fc1"):
            out.pop("expert_input", None)
            if feed == "dense":
                out["mlp_norm"] = wide * m.residual * m.hidden
        elif feed == "dense":
            out["mlp_norm"] += gathered
        if not _adapted(m, "linear_fc2"):
            out.pop("expert_act", None)
            if "mlp" in out:
                out["mlp"] -= quantised(m) * m.tokens * (m.ffn // m.tp)
