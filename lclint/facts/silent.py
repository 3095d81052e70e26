"""What the user set and Bridge replaces at start-up without refusing it."""

from __future__ import annotations

from typing import Any

from lclint.core.states import State
from lclint.facts.registry import fact

# what rules of their own report, by the field or by the beginning of Bridge's reason
ELSEWHERE = frozenset(
    {
        "dataset.mock",
        "dataset.pad_to_max_length",
        "dataset.split",
        "dataset.split_matrix",
        "ddp.average_in_collective",
        "ddp.overlap_param_gather",
        "ddp.reuse_grad_buf_for_mxfp8_param_ag",
        "ddp.use_distributed_optimizer",
        "ddp.use_megatron_fsdp",
        "dist.use_megatron_fsdp",
        "mixed_precision",
        "model.activation_func",
        "model.cuda_graph_impl",
        "model.cuda_graph_modules",
        "model.cuda_graph_scope",
        "model.hybrid_override_pattern",
        "model.moe_expert_capacity_factor",
        "model.no_rope_freq",
        "optimizer.overlap_param_gather",
        "optimizer.reuse_grad_buf_for_mxfp8_param_ag",
        "optimizer.use_distributed_optimizer",
        "train.train_iters",
    }
)
ELSEWHERE_REASONS = ("mixed_precision ", "comm_overlap ", "fp8_param_gather ", "fp4_param_gather ", "TP is 1")
# field -> the field that decides instead, and the value there that makes the wish come true (WISH: the written one, NOT_WISH: its opposite)
WISH, NOT_WISH = "wish", "not wish"
DECIDERS: dict[str, tuple[str, Any]] = {
    "scheduler.lr_decay_iters": ("scheduler.max_steps", None),
    "tokenizer.tokenizer_hf_no_include_special_tokens": ("tokenizer.hf_tokenizer_kwargs.include_special_tokens", NOT_WISH),
    "tokenizer.tokenizer_hf_no_use_fast": ("tokenizer.hf_tokenizer_kwargs.use_fast", NOT_WISH),
    "tokenizer.tokenizer_sentencepiece_legacy": ("tokenizer.sp_tokenizer_kwargs.legacy", WISH),
    "tokenizer.trust_remote_code": ("tokenizer.hf_tokenizer_kwargs.trust_remote_code", WISH),
    "validation.eval_interval": ("train.eval_interval", None),
    "validation.eval_iters": ("train.eval_iters", None),
    "validation.skip_train": ("train.skip_train", None),
}
# where evaluation settings used to stand, by where they stand now
MOVED = {f"validation.{name}": f"train.{name}" for name in ("eval_interval", "eval_iters", "skip_train")}
# fields that Bridge computes whatever they hold, and those that are meant
COMPUTED = {
    "comm_overlap.data_parallel_size": "the GPUs and the layout",
    "model.mup_width_mult": "model.mup_base_hidden_size",
    "scheduler.lr_decay_steps": "scheduler.lr_decay_iters",
    "scheduler.lr_warmup_steps": "scheduler.lr_warmup_iters or lr_warmup_fraction",
    "scheduler.wd_incr_steps": "train.train_iters",
    "scheduler.wsd_decay_steps": "scheduler.lr_wsd_decay_iters",
}


def _by_user(run: Any, field: str | None) -> bool:
    """Whether an override file or the command line sets the field: what a saved config holds may be left from the recipe."""
    origin = run.origins.get(field)
    return bool(origin == "set" or (origin == "file" and run.kind == "override"))


@fact(
    "silent.moved_evaluation",
    needs=("config.kind",),
    unit="records: old, new, value, contradicted",
    source="Bridge training/config.py:1519-1526 (0.6.2)",
    raw=True,
)
def moved_evaluation(g: Any) -> list[dict[str, Any]]:
    """Evaluation settings that the user set under ``train``; ``contradicted`` where they also set another value under ``validation``."""
    run = g.run
    found = []
    for new, old in MOVED.items():
        value = run.written.get(old)
        if value is not None and value.__class__ is not State and _by_user(run, old):
            other = run.written.get(new)
            found.append({"old": old, "new": new, "value": value, "contradicted": _by_user(run, new) and other is not None and other != value})
    return found


@fact(
    "silent.replaced",
    needs=("config.kind",),
    unit="records: field, written, becomes, reason, decider, wanted, meant",
    source="Bridge training/config.py:1843-1895 (0.6.2)",
    raw=True,
)
def replaced(g: Any) -> list[dict[str, Any]]:
    """Fields that the user set to another value than the one that Bridge will use, as far as no other rule says so.

    ``decider`` is the field that decides instead, and ``wanted`` the value there that brings about what is written;
    ``meant`` is what to set for a field that Bridge computes.
    """
    run = g.run
    reasons = {change.name: change.why for change in run.changes}
    found = []
    for field, reason in reasons.items():
        if not _by_user(run, field):
            continue
        written, becomes = run.written.get(field), run.resolved[field]
        if written is None or written.__class__ is State or becomes.__class__ is State or written == becomes:
            continue
        if field in ELSEWHERE or _by_user(run, MOVED.get(field)) or reason.startswith(ELSEWHERE_REASONS):
            continue
        if field == "model.hybrid_layer_pattern" and "/" not in str(written):
            # the prediction layers are joined to it, which replaces nothing
            continue
        decider, wanted = DECIDERS.get(field, (None, None))
        wanted = written if wanted is WISH else not written if wanted is NOT_WISH else wanted
        record = {"field": field, "written": written, "becomes": becomes, "reason": reason.partition(" (")[0]}
        found.append({**record, "decider": decider, "wanted": wanted, "meant": COMPUTED.get(field)})
    return found
