"""Every pipeline stage: what it holds at the instant of its peak and after a step, put together from the parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lclint.memory import activations, buffers, graphs, loss, parameters, saving, schedule, states, vision
from lclint.memory.activations import COMPONENT, Bytes
from lclint.memory.inputs import Inputs
from lclint.memory.result import COMPONENTS, Stage

if TYPE_CHECKING:
    from lclint.memory.schedule import Chunk, Kind

GIB = 2**30
# what the forward keeps may be less by this share (nothing that was measured is further off on named stages but for offload), or more
LESS = 0.20
MORE = 0.05
MORE_EXPERTS = 0.10
# graph pools, for the upper end: 7 GiB seen with experts, 3 GiB without
GRAPH_POOL = 3 * GIB
GRAPH_POOL_EXPERTS = 7 * GIB
# layers whose offloaded tensors are on the GPU
OFFLOADING = 2
# components that the config fixes to the byte
FIXED = ("weights", "gradients", "optimizer", "buffers", "workspaces")


class Kept:
    """What one kind of layer keeps: all of it, what recompute and offload leave, what is offloaded, and what its backward computes again."""

    __slots__ = ("full", "saved", "recomputed", "backward", "offloaded")

    def __init__(self, m: Inputs, kind: Kind) -> None:
        self.full = activations.layer(m, kind)
        if m.recompute == "full":
            self.saved: Bytes = {"input_norm": saving.inputs_only(m)}
        else:
            self.saved = saving.saved(m, self.full)
        self.offloaded: Bytes = {}
        if m.offload_modules and m.recompute != "full":
            before = saving.saved(m, self.full, offload=False)
            self.offloaded = {name: size - self.saved.get(name, 0.0) for name, size in before.items() if size > self.saved.get(name, 0.0)}
        self.recomputed = max(0.0, sum(self.full.values()) - sum(self.saved.values()) - sum(self.offloaded.values()))
        self.backward = 0.0
        if kind[1] == "moe":
            self.backward = buffers.backward_experts(m)
        elif kind[1] == "dense":
            self.backward = buffers.backward_dense(m, m.ffn / m.tp)
        if kind[0] == "full":
            self.backward = max(self.backward, buffers.context_parallel(m))


class Model:
    """One run's parts, shared by its stages."""

    __slots__ = ("m", "stages", "layers", "kept", "mtp_kept", "vision")

    def __init__(self, m: Inputs) -> None:
        self.m = m
        self.stages = schedule.stages(m)
        self.vision = vision.Vision(m)
        self.layers: dict[Kind, parameters.Weights] = {}
        self.kept: dict[Kind, Kept] = {}
        self.mtp_kept = [self.keep(kind) for kind in schedule.mtp_kinds(m)] if m.mtp else []

    def keep(self, kind: Kind) -> Kept:
        found = self.kept.get(kind)
        if found is None:
            found = self.kept[kind] = Kept(self.m, kind)
        return found

    def stage(self, number: int) -> Stage:
        """One stage: what it holds at the instant of its peak, and after a step."""
        m, chunks = self.m, self.stages[number]
        weights = parameters.stage(m, chunks, self.layers)
        if number == 0:
            vision.add(self.vision, weights)
        state = states.states(m, weights)
        counts = schedule.alive(m, number, len(chunks))
        ends = any(chunk.loss for chunk in chunks)
        workspaces = buffers.workspaces(m)
        residuals, masks, pool = self._graphs(chunks, counts)
        persistent = buffers.persistent(m) + buffers.placeholders(m, weights) + masks
        parts = dict.fromkeys(COMPONENTS, 0.0)
        parts["weights"], parts["gradients"], parts["optimizer"], parts["workspaces"] = state.weights, state.gradients, state.optimizer, workspaces
        resting = {**parts, "optimizer": state.optimizer + state.step, "buffers": persistent + residuals + buffers.pipeline(m, number, len(chunks))}
        static = sum(resting.values())
        self._activations(chunks, counts, parts)
        instant = self._instant(chunks, parts, state, ends)
        parts["buffers"] += persistent
        whole = sum(parts.values())
        if pool and not m.graph_warmup:
            instant, parts = self._captured(chunks, counts, parts, instant, residuals + persistent)
        peak = sum(parts.values())
        step = static + state.cast
        first = max(step, peak - state.moments)
        if step > peak:
            instant, parts, peak = "optimizer_step", {**resting, "optimizer": resting["optimizer"] + state.cast}, step
        low, high = self._range(parts, peak, sum(chunk.layers * count for chunk, count in zip(chunks, counts, strict=True)))
        low -= self._doubtful(chunks, counts)
        components = {name: round(value) for name, value in parts.items() if round(value)}
        return Stage(
            stage=number,
            static_bytes=round(static),
            peak_bytes=sum(components.values()),
            low_bytes=round(low),
            high_bytes=round(high),
            components=components,
            first_step_peak_bytes=round(first),
            instant=instant,
            pool_bytes=round(max(0.0, whole - peak)),
            layers=sum(chunk.layers for chunk in chunks),
        )

    def _graphs(self, chunks: list[Chunk], counts: list[int]) -> tuple[float, float, float]:
        """Static inputs of the graphed layers, residuals and masks, and what their modules keep in the graphs' pool."""
        m = self.m
        residuals = masks = pool = 0.0
        for chunk, count in zip(chunks, counts, strict=True):
            for kind, number in chunk.kinds.items():
                residual, mask = graphs.inputs(m, kind)
                residuals += count * number * residual
                masks += count * number * mask
                pool += count * number * graphs.pooled(m, kind, self.keep(kind).saved)
        return residuals, masks, pool

    def _captured(self, chunks: list[Chunk], counts: list[int], parts: dict[str, float], instant: str, inputs: float) -> tuple[str, dict[str, float]]:
        """The larger of two instants of a run that is graphed from its first step: the capture, and a step in which the pool is not counted."""
        m = self.m
        capture = {**dict.fromkeys(COMPONENTS, 0.0), **{name: parts[name] for name in FIXED}, "buffers": inputs}
        replay = dict(parts)
        for chunk, count in zip(chunks, counts, strict=True):
            for kind, number in chunk.kinds.items():
                kept = self.keep(kind).saved
                for name in graphs.captured(m, kind):
                    # the residual of a graphed layer is its static input
                    size = count * number * (kept.get(name, 0.0) - (graphs.inputs(m, kind)[0] if name == "input_norm" else 0.0))
                    capture[COMPONENT[name]] += size
                    replay[COMPONENT[name]] -= size
        return ("graph_capture", capture) if sum(capture.values()) > sum(replay.values()) else (instant, replay)

    def _instant(self, chunks: list[Chunk], parts: dict[str, float], state: states.States, ends: bool) -> str:
        """Add what only the larger of two instants holds, the loss at the end of the forward and the backward of one layer; say which it is."""
        m = self.m
        largest = max((layer.total for layer in self.layers.values()), default=0) if m.fsdp else 0
        parts["buffers"], gradients = states.gathered(m, largest)
        if m.mask:
            parts["buffers"] += m.micro_batch * m.sequence * m.sequence
        backward = self._backward(chunks) + gradients
        if ends:
            parts["norms"] += loss.final_norm(m)
            logits = loss.logits(m)
            if logits >= backward:
                parts["logits"] = logits
                return "forward_loss"
        parts["backward"] = backward
        return "backward"

    def _activations(self, chunks: list[Chunk], counts: list[int], parts: dict[str, float]) -> None:
        m = self.m
        late = buffers.late(m)
        for index, (chunk, count) in enumerate(zip(chunks, counts, strict=True)):
            blocks = _blocks(m, chunk.layers)
            for kind, number in chunk.kinds.items():
                kept = self.keep(kind)
                if m.recompute == "full":
                    share = number / max(1, chunk.layers)
                    parts["norms"] += count * share * blocks[0] * saving.inputs_only(m)
                    for name, size in kept.full.items():
                        parts[COMPONENT[name]] += count * share * blocks[1] * size
                    continue
                for name, size in kept.saved.items():
                    held = count + (late if index == 0 and name in activations.EXPERTS else 0)
                    parts[COMPONENT[name]] += held * number * size
            if chunk.embedding and m.hidden_dropout:
                parts["norms"] += count * m.residual * m.hidden
            if chunk.embedding:
                parts["vision"] += count * vision.activations(m, self.vision)
            if chunk.embedding and m.pp == 1:
                parts["norms"] += 2 * m.residual * m.hidden
            if chunk.mtp and m.mtp:
                layers = [kept.saved for kept in self.mtp_kept]
                parts["mtp"] += loss.mtp(m, layers)
                parts["mtp"] += late * m.mtp * sum(layer.get(name, 0.0) for layer in layers for name in activations.EXPERTS)
        if m.offload_layers:
            self._offload(chunks, parts)
        if m.offload_modules:
            self._offloading(chunks, counts, parts)

    def _offload(self, chunks: list[Chunk], parts: dict[str, float]) -> None:
        """Layers whose activations wait on the host: all but one of them at a time."""
        layers = sum(chunk.layers for chunk in chunks)
        gone = min(self.m.offload_layers, max(0, layers - 1)) / max(1, layers)
        for name in ("norms", "attention", "mlp", "experts", "state_space"):
            parts[name] *= 1 - gone

    def _offloading(self, chunks: list[Chunk], counts: list[int], parts: dict[str, float]) -> None:
        """What fine-grained offload has on the GPU for all that: the last layer, which never goes, and one on its way.

        Megatron Core pipeline_parallel/fine_grained_activation_offload.py, post_warmup_callback and bulk_reload (0.19.2); two layers are what the
        offloaded functional tests lack without it.
        """
        layers = sum(chunk.layers * count for chunk, count in zip(chunks, counts, strict=True))
        kinds = [self.keep(kind) for chunk in chunks for kind in chunk.kinds]
        if not kinds:
            return
        largest = max(kinds, key=lambda kept: sum(kept.offloaded.values()))
        for name, size in largest.offloaded.items():
            parts[COMPONENT[name]] += min(OFFLOADING, layers) * size

    def _backward(self, chunks: list[Chunk]) -> float:
        """The largest need of one layer's backward: what recompute brings back, and gradients of the moment."""
        m = self.m
        kinds = {kind for chunk in chunks for kind in chunk.kinds}
        again = m.recompute_layers if m.recompute_method == "uniform" else 1
        return max((self.keep(kind).recomputed * again + self.keep(kind).backward for kind in kinds), default=0.0)

    def _range(self, parts: dict[str, float], peak: float, layers: float) -> tuple[float, float]:
        m = self.m
        kept = peak - sum(parts[name] for name in FIXED)
        low = peak - LESS * kept
        high = peak + (MORE_EXPERTS if m.experts else MORE) * kept
        if m.experts and m.imbalance_high > m.imbalance:
            high += parts["experts"] * (m.imbalance_high / m.imbalance - 1)
        if m.graphs != "none":
            high += GRAPH_POOL_EXPERTS if m.experts else GRAPH_POOL
        return low, high + buffers.attention_range(m, layers)

    def _doubtful(self, chunks: list[Chunk], counts: list[int]) -> float:
        """Rotated queries and keys beside their norms' inputs: autograd does not need both, a measured Qwen3 has them; not at the lower end."""
        m = self.m
        if not m.qk_norm or m.recompute == "full":
            return 0.0
        pairs = zip(chunks, counts, strict=True)
        return (1 - LESS) * sum(count * number * self.keep(kind).saved.get("rope", 0.0) for chunk, count in pairs for kind, number in chunk.kinds.items())


def _blocks(m: Inputs, layers: int) -> tuple[float, float]:
    """Under full recompute: layers' worth of kept inputs, and layers that are kept whole."""
    if m.recompute != "full":
        return 0.0, float(layers)
    if m.recompute_method == "block":
        recomputed = min(m.recompute_layers, layers)
        return float(recomputed), float(layers - recomputed)
    return float(-(-layers // max(1, m.recompute_layers))), 0.0
