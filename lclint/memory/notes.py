"""What an estimate leaves out, with the reason: nothing is silently zero."""

from __future__ import annotations

import re

from lclint.config.run import Run
from lclint.core.states import UNKNOWN
from lclint.memory.inputs import DIFFUSION, Inputs
from lclint.memory.vision import Vision

# the size in a model's name, in billions: 26B, but neither the active part (A4B) nor experts (8x7B)
SIZE = re.compile(r"(?<![\w.])(\d{1,4}(?:\.\d+)?)B(?![A-Za-z])")
# a name and a config that differ by more than this share are not of the same model
NAMESAKE = 1 / 3
GRAPHS = {
    "transformer_engine": "CUDA graphs: beside their inputs what their pool cannot reuse; seen between none and 34 GiB, in the upper end of the range only",
    "local": "CUDA graphs: their static inputs and what their pool cannot reuse; seen between none and 34 GiB, in the upper end of the range only",
    "full_iteration": "a graph of the whole iteration: what is freed on another stream stays taken until the capture ends, over all microbatches; "
    "runs with half of the memory left have been seen to fail",
}


def left_out(m: Inputs, run: Run, vision: Vision, parameters: int) -> list[str]:
    """What the figures do not contain, with the reason."""
    slips = [problem for problem in run.problems if problem.kind == "argument"]
    words = [f"{slip.text}: Megatron-LM has no such argument" + (f"; did you mean {slip.suggestion}?" if slip.suggestion else "") for slip in slips]
    return [*words, *_of_the_model(m, run, vision, parameters), *_of_the_run(m, run)]


def _of_the_model(m: Inputs, run: Run, vision: Vision, parameters: int) -> list[str]:
    out = []
    name = run.resolved.get("model.hf_model_id")
    said = SIZE.search(name) if name.__class__ is str else None
    if said and abs(parameters / 1e9 / float(said[1]) - 1) > NAMESAKE:
        out.append(f"{name} as its name says: this config describes a model of {parameters / 1e9:.1f} B parameters, and the figures are of that one")
    target = str(run.resolved.get("model._target_")).rpartition(".")[2]
    if vision.layers and vision.patches is None and not vision.frozen:
        out.append("what the vision encoder keeps for its backward: the number of image patches is in the data, not in the config")
    elif not vision.layers and (run.resolved.get("model.vision_config") not in (None, UNKNOWN) or "VL" in target):
        out.append("the vision encoder: its sizes are not in the config")
    if "Omni" in target or "Audio" in target:
        out.append("the audio encoder: its sizes are not among those that are read")
    if m.model_class in DIFFUSION:
        out.append("cross attention and modulation of a diffusion transformer: its blocks are counted as those of a language model")
    if _distilled(run):
        out.append("the teacher of a distillation: its sizes are not in the config")
    return out


def _distilled(run: Run) -> bool:
    """Whether Megatron-LM arguments name a teacher (megatron/training/arguments.py, ModelOpt's distillation)."""
    arguments = run.document.data.get("MODEL_ARGS") if run.document is not None and run.kind == "megatron-args" else None
    return arguments.__class__ is dict and any(str(name).startswith(("--export-kd-cfg", "--export-kd-teacher-load")) for name in arguments)


def _of_the_run(m: Inputs, run: Run) -> list[str]:
    out = []
    if m.graphs in GRAPHS:
        out.append(GRAPHS[m.graphs])
    if m.offload_modules:
        out.append("fine-grained offload: how copies overlap; two layers' worth of the tensors is on the GPU, which was up to 6 % short in measured runs")
    if m.fsdp and m.fsdp != "no_shard":
        out.append("FSDP's communication buffers beyond two layers' weights and one layer's gradients")
    if m.layer_wise:
        out.append("which rank is dealt an embedding table by the layer-wise optimizer: its state is counted on every rank")
    if m.dispatcher == "flex" and m.ep > 1:
        out.append("the dispatcher's own buffers beyond 1 GiB: they grow with the ranks in an NVLink domain")
    if run.resolved.get("model.moe_paged_stash") is True:
        out.append("the pages that hold expert activations: the routed tokens are counted as they come")
    if run.resolved.get("ddp.nccl_ub") is True:
        out.append("NCCL's registered buffers: they are counted as the gradient and weight buffers that they hold")
    if m.experts and m.imbalance_high > m.imbalance:
        out.append(f"the router's imbalance over time: the upper end of the range has {m.imbalance_high:g} times the even share")
    return out
