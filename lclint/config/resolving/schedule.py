"""How long training, learning rate schedule and evaluation are."""

from __future__ import annotations

from typing import Any

from lclint.config.resolving.state import Resolution, more, times
from lclint.core.states import NOT_APPLICABLE, UNKNOWN

# what Bridge computes of the schedule, in samples
DERIVED = ("lr_decay_steps", "wd_incr_steps", "wsd_decay_steps", "lr_warmup_steps")
# settings of evaluation that used to stand in the train section
MOVED = ("eval_interval", "eval_iters", "skip_train")


def length(s: Resolution) -> None:
    """bridge training/config.py:492: samples become steps."""
    samples, batch = s.get("train.train_samples"), s.get("train.global_batch_size")
    if samples.__class__ is int:
        steps = samples // batch if batch.__class__ is int and batch > 0 else UNKNOWN
        s.set("train.train_iters", steps, "train_samples over global_batch_size (training/config.py:492)")
    elif samples is UNKNOWN:
        s.default("train.train_iters", UNKNOWN, "depends on train_samples")


def evaluation_batches(s: Resolution) -> None:
    """bridge training/config.py:1296-1306: evaluation batches default to the training ones."""
    s.default("validation.eval_global_batch_size", s.get("train.global_batch_size"), "as in training (training/config.py:1298)")
    s.default("validation.eval_micro_batch_size", s.get("train.micro_batch_size"), "as in training (training/config.py:1303)")


def scheduler(s: Resolution) -> None:
    """bridge training/config.py:1606-1675: the schedule follows the length of training, and is counted in samples."""
    if s.get("train.train_iters") is None:
        # epochs: resolved once the data are there
        return
    samples = s.get("train.train_samples")
    if samples is UNKNOWN:
        for name in ("lr_decay_iters", "lr_decay_samples", "lr_wsd_decay_iters"):
            s.default(f"scheduler.{name}", UNKNOWN, "depends on train_samples")
        s.blur(*(f"scheduler.{name}" for name in DERIVED))
        if s.get("scheduler.max_steps") is not None:
            s.blur("scheduler.lr_decay_iters")
        return
    if samples is None or samples is NOT_APPLICABLE:
        _by_steps(s)
    else:
        _by_samples(s, samples)
    _warm_up(s, samples)


def _by_samples(s: Resolution, samples: Any) -> None:
    s.default("scheduler.lr_decay_samples", samples, "as long as training (training/config.py:1613)")
    s.set("scheduler.lr_decay_steps", s.get("scheduler.lr_decay_samples"), "the decay in samples (training/config.py:1614)")
    s.set("scheduler.wd_incr_steps", samples, "training in samples (training/config.py:1615)")
    if s.get("scheduler.lr_wsd_decay_samples") not in (None, NOT_APPLICABLE):
        s.set("scheduler.wsd_decay_steps", s.get("scheduler.lr_wsd_decay_samples"), "the last decay in samples (training/config.py:1618)")


def _by_steps(s: Resolution) -> None:
    iters, batch = s.get("train.train_iters"), s.get("train.global_batch_size")
    whole = s.get("scheduler.max_steps")
    if whole is None or whole is NOT_APPLICABLE:
        s.default("scheduler.lr_decay_iters", iters, "as long as training (training/config.py:1636)")
        whole = iters
    else:
        s.set("scheduler.lr_decay_iters", whole, "max_steps decides it (training/config.py:1634)")
    decay, style = s.get("scheduler.lr_decay_iters"), s.get("scheduler.lr_decay_style")
    if style == "WSD" or style is UNKNOWN:
        s.default("scheduler.lr_wsd_decay_iters", decay if style == "WSD" else UNKNOWN, "the WSD decay lasts as long (training/config.py:1638)")
    s.set("scheduler.lr_decay_steps", times(decay, batch), "lr_decay_iters in samples (training/config.py:1639)")
    s.set("scheduler.wd_incr_steps", times(whole, batch), "the schedule in samples (training/config.py:1641)")
    last = s.get("scheduler.lr_wsd_decay_iters")
    if last is not None and last is not NOT_APPLICABLE:
        s.set("scheduler.wsd_decay_steps", times(last, batch), "lr_wsd_decay_iters in samples (training/config.py:1644)")


def _warm_up(s: Resolution, samples: Any) -> None:
    fraction, steps = s.get("scheduler.lr_warmup_fraction"), s.get("scheduler.lr_decay_steps")
    why = "the warm-up in samples (training/config.py:1622-1649)"
    if fraction is not None and fraction is not NOT_APPLICABLE:
        value = times(fraction, steps)
    elif samples is None or samples is NOT_APPLICABLE:
        value = times(s.get("scheduler.lr_warmup_iters"), s.get("train.global_batch_size"))
    else:
        value = s.get("scheduler.lr_warmup_samples")
    longer = more(value, steps)
    if longer is UNKNOWN or longer or value == steps:
        why = "cut to end before the decay does (training/config.py:1668)"
        value = UNKNOWN if longer is UNKNOWN or steps.__class__ not in (int, float) else steps - 1
    s.set("scheduler.lr_warmup_steps", value, why)


def moved(s: Resolution) -> None:
    """bridge training/config.py:1519-1526: evaluation settings under train are the old place and win over the new one."""
    for name in MOVED:
        value = s.get(f"train.{name}")
        if value is not None and value is not NOT_APPLICABLE and (f"validation.{name}" in s.values or value is not UNKNOWN):
            s.set(f"validation.{name}", value, f"train.{name} is its old place (training/config.py:1520)")
