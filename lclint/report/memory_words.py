"""What a memory estimate says in words, for every form of its report."""

from __future__ import annotations

from lclint.memory.result import Estimate

GIB = 2**30
MEANING = {
    "fits": "fits",
    "tight": "tight: it may not fit",
    "oom": "out of memory",
    "unknown": "no verdict",
}
# what stands for a component in a bar, and what it is
LETTERS = {
    "weights": ("W", "weights"),
    "gradients": ("G", "gradient buffers"),
    "optimizer": ("O", "optimizer states"),
    "norms": ("n", "residuals and norms"),
    "attention": ("a", "attention"),
    "mlp": ("m", "dense MLP and shared experts"),
    "experts": ("e", "router and experts"),
    "state_space": ("s", "Mamba and linear attention"),
    "mtp": ("t", "multi-token prediction"),
    "vision": ("v", "vision encoder"),
    "logits": ("l", "logits and cross entropy"),
    "backward": ("b", "backward of one layer, recompute"),
    "buffers": ("u", "buffers"),
    "workspaces": ("k", "GEMM workspaces"),
}
REFUSED = "Megatron Bridge refuses this config: the figures are of a job that does not start (lclint check says more):"
REFUSED_CHANGED = "Megatron Bridge refuses the changed config (lclint check says more):"
# how the command line gives what a field of the estimate needs
OPTIONS = {"cluster.gpus": "--gpus N"}


def size(number: int) -> str:
    """GiB with one digit; what no memory has is written short."""
    gib = number / GIB
    return f"{gib:.1f}" if gib < 1e6 else f"{gib:.1e}"


def headline(estimate: Estimate) -> str:
    """The verdict in a few words."""
    return MEANING[estimate.verdict] if estimate.stages else "no estimate"


def sentence(estimate: Estimate) -> str:
    """What follows the verdict: the largest stage against the GPU's memory, or what is missing."""
    worst, required = estimate.worst, estimate.required_bytes
    if worst is None or required is None:
        return ": " + "; ".join([*estimate.wrong, *_missing(estimate)])
    text = f": stage {worst.stage} peaks at {size(worst.peak_bytes)} GiB ({size(worst.low_bytes)} to {size(worst.high_bytes)})"
    if worst.pool_bytes:
        text += f", and {size(worst.pool_bytes)} GiB lie in the pool of CUDA graphs"
    text += f"; with fragmentation, context and communication {size(required)}"
    if estimate.capacity_bytes is not None:
        return f"{text} of {size(estimate.capacity_bytes)} GiB"
    if estimate.gpu is None:
        return f"{text} GiB. Give --gpu NAME for a verdict"
    return f"{text} GiB. How much memory a {estimate.gpu} has is not published"


def parameters(estimate: Estimate) -> str:
    """The model's size as model cards have it."""
    billions = estimate.parameters / 1e9
    return f"{billions:.2f} B parameters" if billions < 1e6 else f"{billions:.1e} B parameters"


def _missing(estimate: Estimate) -> list[str]:
    options = [OPTIONS[need] for need in estimate.needs if need in OPTIONS]
    fields = [need for need in estimate.needs if need not in OPTIONS]
    said = [f"give {' and '.join(options)}"] if options else []
    if fields:
        said.append(f"it needs {', '.join(fields)} (in the file, by --set, or below it by --recipe or --base)")
    return said
