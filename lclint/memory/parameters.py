"""Weights of one rank: elements by layer, and how each is sharded and stored.

Sources: Megatron Core transformer/attention.py, multi_latent_attention.py, mlp.py, moe/router.py, moe/experts.py, moe/shared_experts.py,
ssm/mamba_mixer.py, ssm/gated_delta_net.py, transformer/multi_token_prediction.py (0.19.2).
"""

from __future__ import annotations

from lclint.memory.inputs import Inputs
from lclint.memory.schedule import Chunk, Kind, layer_kinds, mtp_kinds


class Weights:
    """Elements on one rank. ``dense`` are sharded over DP x CP by the distributed optimizer, ``expert`` over the expert data parallel ranks.

    ``linear`` are those among each that FP8 and FP4 store quantised, ``matrix`` those that Muon takes (no embeddings, no vectors).
    ``adapters`` are the elements of a fine-tuning adapter: where there is one it is all that is trained. ``frozen`` are elements beside all
    these that are never trained. ``shapes`` are those of the matrices on this rank that have a gradient, each once.
    """

    __slots__ = ("dense", "expert", "dense_linear", "expert_linear", "embedding", "vectors", "adapters", "frozen", "shapes")

    def __init__(self) -> None:
        self.dense = 0
        self.expert = 0
        self.dense_linear = 0
        self.expert_linear = 0
        self.embedding = 0
        self.vectors = 0
        self.adapters = 0
        self.frozen = 0
        self.shapes: set[tuple[int, int]] = set()

    def add(self, other: Weights, times: int = 1) -> None:
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + times * getattr(other, name))
        self.shapes |= other.shapes

    def linear(self, outputs: int, inputs: int) -> None:
        """A matrix that a GEMM reads."""
        self.dense += outputs * inputs
        self.dense_linear += outputs * inputs
        self.shapes.add((outputs, inputs))

    def vector(self, elements: int) -> None:
        """A norm weight or a bias."""
        self.dense += elements
        self.vectors += elements

    def table(self, rows: int, width: int) -> None:
        """An embedding or output table: never quantised, never Muon's."""
        self.dense += rows * width
        self.embedding += rows * width

    @property
    def total(self) -> int:
        return self.dense + self.expert


COUNTS = tuple(name for name in Weights.__slots__ if name != "shapes")


def attention(m: Inputs) -> Weights:
    """Grouped-query attention: h d (H + 2 G) + H d h, over TP; the keys and values of fewer groups than ranks are replicated."""
    w = Weights()
    if m.mla:
        return _latent_attention(m, w)
    queries = m.head * m.heads // m.tp
    values = m.head * max(m.groups, m.tp) // m.tp
    out = queries + 2 * values + (queries if m.gate else 0)
    w.linear(out, m.hidden)
    w.linear(m.hidden, queries)
    if m.qkv_bias:
        w.vector(out)
    if m.bias:
        w.vector(m.hidden)
    if m.qk_norm:
        w.vector(2 * m.head * m.norm)
    _adapt(m, w, ("linear_qkv",), m.hidden, out * m.tp)
    _adapt(m, w, ("linear_proj",), queries * m.tp, m.hidden)
    return w


def _latent_attention(m: Inputs, w: Weights) -> Weights:
    """Latent attention: the down projections lie whole on every rank, the up and output projections are split."""
    per_head = m.qk_head + m.rope_head
    heads = m.heads // m.tp
    if m.q_rank:
        w.linear(m.q_rank, m.hidden)
        w.linear(heads * per_head, m.q_rank)
        _adapt(m, w, ("linear_q_down_proj",), m.hidden, m.q_rank)
        _adapt(m, w, ("linear_q_up_proj",), m.q_rank, heads * per_head * m.tp)
    else:
        w.linear(heads * per_head, m.hidden)
        _adapt(m, w, ("linear_q_proj",), m.hidden, heads * per_head * m.tp)
    w.linear(m.kv_rank + m.rope_head, m.hidden)
    w.linear(heads * (m.qk_head + m.v_head), m.kv_rank)
    w.linear(m.hidden, heads * m.v_head)
    _adapt(m, w, ("linear_kv_down_proj",), m.hidden, m.kv_rank + m.rope_head)
    _adapt(m, w, ("linear_kv_up_proj",), m.kv_rank, heads * (m.qk_head + m.v_head) * m.tp)
    _adapt(m, w, ("linear_proj",), heads * m.v_head * m.tp, m.hidden)
    if m.qk_norm:
        w.vector((m.kv_rank + m.q_rank) * m.norm)
    if m.bias:
        w.vector(m.hidden)
    if m.dsa:
        # the indexer: queries from the latent, one key, one weight a head; replicated
        w.linear(m.index_heads * m.index_head, m.q_rank or m.hidden)
        w.linear(m.index_head, m.hidden)
        w.linear(m.index_heads, m.hidden)
        w.vector(2 * m.index_head)
    return w


def linear_attention(m: Inputs) -> Weights:
    """Gated delta net: one input projection to q, k, v, gate and two scalars a head, a short convolution, the output projection."""
    w = Weights()
    keys, values = m.linear_key_heads * m.linear_key, m.linear_value_heads * m.linear_value
    w.linear((2 * keys + 2 * values + 2 * m.linear_value_heads) // m.tp, m.hidden)
    w.vector((2 * keys + values) * m.linear_kernel // m.tp + 2 * m.linear_value_heads // m.tp + m.linear_value)
    w.linear(m.hidden, values // m.tp)
    _adapt(m, w, ("in_proj",), m.hidden, 2 * keys + 2 * values + 2 * m.linear_value_heads)
    _adapt(m, w, ("out_proj",), values, m.hidden)
    return w


def mamba(m: Inputs) -> Weights:
    """Mamba-2: input projection to z, x, B, C and dt, a convolution of width 4 over x, B, C, three scalars a head, the gated norm."""
    w = Weights()
    inner = m.mamba_heads * m.mamba_head
    states = 2 * m.mamba_groups * m.mamba_state
    w.linear((2 * inner + states + m.mamba_heads) // m.tp, m.hidden)
    w.vector((5 * (inner + states) + 3 * m.mamba_heads + inner) // m.tp)
    w.linear(m.hidden, inner // m.tp)
    _adapt(m, w, ("in_proj",), m.hidden, 2 * inner + states + m.mamba_heads)
    _adapt(m, w, ("out_proj",), inner, m.hidden)
    return w


def mlp(m: Inputs, width: int, hidden: int) -> Weights:
    """A dense MLP of ``width``: two matrices, three where it is gated, split over TP."""
    w = Weights()
    gates = 2 if m.gated else 1
    own = width // m.tp
    w.linear(own * gates, hidden)
    w.linear(hidden, own)
    if m.bias:
        w.vector(own * gates + hidden)
    _adapt(m, w, ("linear_fc1",), hidden, width * gates)
    _adapt(m, w, ("linear_fc2",), width, hidden)
    return w


def experts(m: Inputs) -> Weights:
    """Router, routed experts (E / EP of them, split over ETP), shared expert, and the projections of latent experts."""
    w = Weights()
    # the router stays in the parameters' dtype; its matrix lies whole on every rank
    w.dense += m.hidden * m.experts
    gates = 2 if m.gated else 1
    inner = m.latent or m.hidden
    own = m.expert_ffn // m.etp
    local = max(1, m.experts // m.ep)
    matrices = local * inner * own * (gates + 1)
    w.expert += matrices
    w.expert_linear += matrices
    w.shapes |= {(own * gates, inner), (inner, own)}
    if m.bias:
        w.expert += local * (own * gates + inner)
    if m.latent:
        w.linear(m.latent, m.hidden)
        w.linear(m.hidden, m.latent)
    if m.shared_ffn:
        w.add(mlp(m, m.shared_ffn, m.hidden))
        if m.shared_gate:
            w.vector(m.hidden)
    # one adapter serves all local experts (Bridge peft share_expert_adapters)
    _adapt(m, w, ("linear_fc1",), inner, m.expert_ffn * gates)
    _adapt(m, w, ("linear_fc2",), m.expert_ffn, inner)
    return w


def _adapt(m: Inputs, w: Weights, names: tuple[str, ...], inputs: int, outputs: int) -> None:
    """A low-rank adapter of a targeted linear: one of its matrices is split over TP, the other as well by its rank."""
    if m.adapter and any(name in target.split(".")[-1] for name in names for target in m.adapter_targets):
        w.adapters += m.adapter_rank * (inputs + outputs) // m.tp


def layer(m: Inputs, kind: Kind) -> Weights:
    """One layer with its norms, which lie whole on every rank."""
    mixer, feed = kind
    w = Weights()
    if mixer:
        w.vector(m.hidden * m.norm)
        w.add({"full": attention, "linear": linear_attention, "mamba": mamba}[mixer](m))
    if feed:
        w.vector(m.hidden * m.norm)
        w.add(experts(m) if feed == "moe" else mlp(m, m.ffn, m.hidden))
    return w


def mtp(m: Inputs) -> Weights:
    """The MTP layers: each depth has its layers, three norms and a projection of 2h to h (split over TP); shared layers count once."""
    w = Weights()
    depths = 1 if m.mtp_shared else m.mtp
    for _ in range(depths):
        for kind in mtp_kinds(m):
            w.add(layer(m, kind))
    for _ in range(depths):
        w.vector(3 * m.hidden * m.norm)
        w.linear(m.hidden // m.tp, 2 * m.hidden)
    return w


def stage(m: Inputs, chunks: list[Chunk], layers: dict[Kind, Weights]) -> Weights:
    """All weights of a stage. ``layers`` caches the layers by kind."""
    w = Weights()
    rows = m.vocabulary // m.tp
    holds_mtp = False
    for chunk in chunks:
        for kind, count in chunk.kinds.items():
            if kind not in layers:
                layers[kind] = layer(m, kind)
            w.add(layers[kind], count)
        holds_mtp = holds_mtp or (chunk.mtp and m.mtp > 0)
    embeds = any(chunk.embedding for chunk in chunks)
    ends = any(chunk.loss for chunk in chunks)
    if embeds:
        w.table(rows, m.hidden)
        if m.positions:
            w.table(m.positions, m.hidden)
    if ends:
        w.vector(m.hidden * m.norm)
        w.shapes.add((rows, m.hidden))
        # tied tables are one only where both ends lie on one stage
        if not m.tied or not embeds:
            w.table(rows, m.hidden)
    if holds_mtp:
        w.add(mtp(m))
        if not embeds and (not m.tied or not ends):
            # MTP embeds the shifted tokens with a table of its own
            w.table(rows, m.hidden)
        if not embeds and m.positions:
            w.table(m.positions, m.hidden)
    return w


def whole_model(m: Inputs) -> int:
    """Elements of the model without its MTP layers, each counted once: what model cards call its size."""
    one = object.__new__(Inputs)
    one.__dict__.update(m.__dict__)
    one.tp = one.pp = one.ep = one.etp = one.vpp = 1
    one.layout = one.first_layers = one.last_layers = None
    one.count_embedding = one.count_loss = False
    one.mtp = 0
    one.vocabulary = m.vocabulary
    return stage(one, [Chunk(layer_kinds(one), embedding=True, loss=True)], {}).total
