"""The vision encoder of a vision-language model: a transformer without parallelism over its layers, on the first pipeline stage.

Its sizes are those of the model's ``vision_config`` (field names of Hugging Face). How many patches it sees is in the config of mock data only.
"""

from __future__ import annotations

from lclint.memory.inputs import Inputs
from lclint.memory.parameters import Weights
from lclint.memory.reader import Reader

CONFIG = "model.vision_config"


class Vision:
    """Sizes of the encoder; ``layers`` is 0 where there is none that is known."""

    __slots__ = ("layers", "hidden", "ffn", "gates", "patch", "embedding", "merger", "frozen", "split", "patches")

    def __init__(self, m: Inputs) -> None:
        r = m.reader
        self.layers = _size(r, "depth") or _size(r, "num_hidden_layers")
        self.hidden = _size(r, "hidden_size")
        if not self.layers or not self.hidden:
            self.layers = 0
            return
        self.ffn = _size(r, "intermediate_size") or 4 * self.hidden
        self.gates = 2 if r.run.resolved.get(f"{CONFIG}.hidden_act") == "silu" else 1
        self.patch = _size(r, "patch_size") or 14
        channels = _size(r, "in_channels") or _size(r, "num_channels") or 3
        self.embedding = self.hidden * (channels * (_size(r, "temporal_patch_size") or 1) * self.patch**2 + _size(r, "num_position_embeddings"))
        merged = self.hidden * (_size(r, "spatial_merge_size") or 1) ** 2
        self.merger = merged * merged + merged * (_size(r, "out_hidden_size") or m.hidden)
        # an adapter freezes all that it is not on
        self.frozen = r.run.resolved.get("model.freeze_vision_model") is True or bool(m.adapter)
        # Hugging Face's encoder lies whole on every rank, Megatron's is split like any transformer
        self.split = m.tp if r.run.resolved.get("model.use_hf_vision_model") is False else 1
        self.patches = self._patches(m)

    def _patches(self, m: Inputs) -> int | None:
        """Patches of a microbatch; None where the data does not say."""
        get = m.reader.run.resolved.get
        size, images = get("dataset.image_size"), get("dataset.num_images")
        if size.__class__ is not list or len(size) != 2 or any(side.__class__ is not int or side < 1 for side in size) or images.__class__ is not int:
            return None
        return int((size[0] // self.patch) * (size[1] // self.patch) * max(0, images) * m.micro_batch)


def _size(r: Reader, name: str) -> int:
    value = r.run.resolved.get(f"{CONFIG}.{name}")
    return value if value.__class__ is int and value > 0 else 0


def weights(v: Vision) -> int:
    """Elements on one rank: patch and position embeddings, four attention matrices and an MLP a layer, the merger."""
    if not v.layers:
        return 0
    layer = 4 * v.hidden**2 + (v.gates + 1) * v.hidden * v.ffn + 4 * v.hidden
    return v.embedding + (v.layers * layer + v.merger) // v.split


def add(v: Vision, w: Weights) -> None:
    """Add the encoder to the first stage's weights; a frozen one has neither gradients nor states."""
    if v.layers and v.frozen:
        w.frozen += weights(v)
    elif v.layers:
        w.dense += weights(v)


def activations(m: Inputs, v: Vision) -> float:
    """Bytes that one microbatch's images keep for the backward: residuals, norms, q, k, v, attention's output, both sides of the activation."""
    if not v.layers or v.frozen or not v.patches:
        return 0.0
    return float(m.element) * v.layers * v.patches * (4 * v.hidden + (4 * v.hidden + (v.gates + 1) * v.ffn) / v.split)
