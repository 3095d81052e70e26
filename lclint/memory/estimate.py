"""The estimate: every stage's static bytes and peak, from the parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lclint.core.states import UNKNOWN
from lclint.memory import activations, buffers, capacity, loss, parameters, schedule, states
from lclint.memory.activations import COMPONENT, Bytes
from lclint.memory.inputs import DIFFUSION, Inputs
from lclint.memory.result import COMPONENTS, Estimate, Stage

if TYPE_CHECKING:
    from lclint.config.run import Run
    from lclint.memory.schedule import Chunk, Kind

GIB = 2**30
# what the forward keeps may be less by this share (nothing that was measured is further off on named stages but for offload), or more
LESS = 0.20
MORE = 0.05
MORE_EXPERTS = 0.10
# of what graphed attention keeps, this share was not seen again (graphs share their buffers)
GRAPHED = 0.20
# graph pools, for the upper end: 7 GiB seen with experts, 3 GiB without
GRAPH_POOL = 3 * GIB
GRAPH_POOL_EXPERTS = 7 * GIB
# components that the config fixes to the byte
FIXED = ("weights", "gradients", "optimizer", "workspaces")


class Kept:
    """What one kind of layer keeps: all of it, what recompute and offload leave, and the rest, which its backward brings back."""

    __slots__ = ("full", "saved", "recomputed", "backward")

    def __init__(self, m: Inputs, kind: Kind) -> None:
        self.full = activations.layer(m, kind)
        if m.recompute == "full":
            self.saved: Bytes = {"input_norm": activations.inputs_only(m)}
        else:
            self.saved = activations.saved(m, self.full)
        self.recomputed = max(0.0, sum(self.full.values()) - sum(self.saved.values()))
        self.backward = 0.0
        if kind[1] == "moe":
            self.backward = buffers.backward_experts(m)
        elif kind[1] == "dense":
            self.backward = buffers.backward_dense(m, m.ffn / m.tp)
        if kind[0] == "full":
            self.backward = max(self.backward, buffers.context_parallel(m))


class Model:
    """One run's parts, shared by its stages."""

    __slots__ = ("m", "stages", "layers", "kept", "mtp_kept")

    def __init__(self, m: Inputs) -> None:
        self.m = m
        self.stages = schedule.stages(m)
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
        state = states.states(m, weights)
        counts = schedule.alive(m, number, len(chunks))
        ends = any(chunk.loss for chunk in chunks)
        workspaces = buffers.workspaces(m)
        persistent = buffers.persistent(m) + (loss.resident(m) if ends else 0.0)
        parts = dict.fromkeys(COMPONENTS, 0.0)
        parts["weights"], parts["gradients"], parts["optimizer"], parts["workspaces"] = state.weights, state.gradients, state.optimizer, workspaces
        resting = {**parts, "optimizer": state.optimizer + state.step, "buffers": persistent + buffers.pipeline(m, number, len(chunks))}
        static = sum(resting.values())
        self._activations(chunks, counts, parts)
        instant = self._instant(chunks, parts, state, weights, ends)
        parts["buffers"] += persistent
        peak = sum(parts.values())
        step = static + state.cast
        first = max(step, peak - state.moments)
        if step > peak:
            instant, parts, peak = "optimizer_step", {**resting, "optimizer": resting["optimizer"] + state.cast}, step
        low, high = self._range(parts, peak, sum(chunk.layers * count for chunk, count in zip(chunks, counts, strict=True)))
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
            layers=sum(chunk.layers for chunk in chunks),
        )

    def _instant(self, chunks: list[Chunk], parts: dict[str, float], state: states.States, weights: parameters.Weights, ends: bool) -> str:
        """Add what only the larger of two instants holds, the loss at the end of the forward and the backward of one layer; say which it is."""
        m = self.m
        largest = max((layer.total for layer in self.layers.values()), default=0) if m.fsdp else 0
        parts["buffers"], gradients = states.gathered(m, largest, weights.embedding)
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
                    parts["norms"] += count * share * blocks[0] * activations.inputs_only(m)
                    for name, size in kept.full.items():
                        parts[COMPONENT[name]] += count * share * blocks[1] * size
                    continue
                for name, size in kept.saved.items():
                    held = count + (late if index == 0 and name in activations.EXPERTS else 0)
                    parts[COMPONENT[name]] += held * number * size
            if chunk.embedding and m.hidden_dropout:
                parts["norms"] += count * m.residual * m.hidden
            if chunk.embedding and m.pp == 1:
                parts["norms"] += 2 * m.residual * m.hidden
            if chunk.mtp and m.mtp:
                layers = [kept.saved for kept in self.mtp_kept]
                parts["mtp"] += loss.mtp(m, layers)
                parts["mtp"] += late * m.mtp * sum(layer.get(name, 0.0) for layer in layers for name in activations.EXPERTS)
        if m.offload_layers:
            self._offload(chunks, parts)

    def _offload(self, chunks: list[Chunk], parts: dict[str, float]) -> None:
        """Layers whose activations wait on the host: all but one of them at a time."""
        layers = sum(chunk.layers for chunk in chunks)
        gone = min(self.m.offload_layers, max(0, layers - 1)) / max(1, layers)
        for name in ("norms", "attention", "mlp", "experts", "state_space"):
            parts[name] *= 1 - gone

    def _backward(self, chunks: list[Chunk]) -> float:
        """The largest need of one layer's backward: what recompute brings back, and gradients of the moment."""
        m = self.m
        kinds = {kind for chunk in chunks for kind in chunk.kinds}
        again = m.recompute_layers if m.recompute_method == "uniform" else 1
        return max((self.keep(kind).recomputed * again + self.keep(kind).backward for kind in kinds), default=0.0)

    def _range(self, parts: dict[str, float], peak: float, layers: float) -> tuple[float, float]:
        m = self.m
        kept = peak - sum(parts[name] for name in FIXED)
        low = peak - LESS * kept - (GRAPHED * parts["attention"] if m.graphs != "none" else 0.0)
        high = peak + (MORE_EXPERTS if m.experts else MORE) * kept
        if m.experts and m.imbalance_high > m.imbalance:
            high += parts["experts"] * (m.imbalance_high / m.imbalance - 1)
        if m.graphs != "none":
            high += GRAPH_POOL_EXPERTS if m.experts else GRAPH_POOL
        return low, high + buffers.attention_range(m, layers)


def _blocks(m: Inputs, layers: int) -> tuple[float, float]:
    """Under full recompute: layers' worth of kept inputs, and layers that are kept whole."""
    if m.recompute != "full":
        return 0.0, float(layers)
    if m.recompute_method == "block":
        recomputed = min(m.recompute_layers, layers)
        return float(recomputed), float(layers - recomputed)
    return float(-(-layers // max(1, m.recompute_layers))), 0.0


def estimate(run: Run) -> Estimate:
    """Bytes per component on every pipeline stage of the run, and whether they fit its GPU.

    What the estimate needs and the run does not say is in ``needs``; there are then no stages.
    """
    m = Inputs(run)
    memory = run.missing("gpu.memory_gib")
    total = int(memory * GIB) if memory.__class__ in (int, float) else None
    gpu = m.gpu or None
    r = m.reader
    if r.needs:
        return Estimate(gpu=gpu, capacity_bytes=total, verdict="unknown", stages=[], assumptions=r.assumptions, needs=sorted(set(r.needs)))
    model = Model(m)
    found = [model.stage(number) for number in range(m.pp)]
    worst = max(found, key=lambda stage: stage.peak_bytes)
    result = Estimate(
        gpu=gpu,
        capacity_bytes=total,
        verdict=capacity.verdict(m, worst.peak_bytes, worst.low_bytes, total),
        stages=found,
        assumptions=r.assumptions,
        not_modelled=_left_out(m, run),
        outside_bytes=round(capacity.outside(m)),
        fragmentation=capacity.fragmentation(m),
        parameters=parameters.whole_model(m),
    )
    return result


def _left_out(m: Inputs, run: Run) -> list[str]:
    """What the figures do not contain, with the reason."""
    out = []
    if m.graphs != "none":
        out.append("CUDA graph pools: seen between none and 34 GiB; only the upper end of the range has them")
    if run.resolved.get("model.vision_config") not in (None, UNKNOWN) or "VL" in str(run.resolved.get("model._target_")):
        out.append("the vision encoder: the size of the images is not in the config")
    if m.model_class in DIFFUSION:
        out.append("cross attention and modulation of a diffusion transformer: its blocks are counted as those of a language model")
    if m.offload_modules:
        out.append("fine-grained offload: what is left on the GPU depends on how copies overlap; 17 to 25 % off in measured runs")
    if m.fsdp:
        out.append("FSDP's all-gather buffers beyond two layers: peaks were up to 21 % higher in measured runs")
    if m.dispatcher == "flex" and m.ep > 1:
        out.append("the dispatcher's own buffers beyond 1 GiB: they grow with the ranks in an NVLink domain")
    if m.experts and m.imbalance_high > m.imbalance:
        out.append("the router's imbalance over time: the upper end of the range has 1.6 times the even share")
    return out
