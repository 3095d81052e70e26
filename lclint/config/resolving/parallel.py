"""What keeps DDP, optimizer and random number settings of several sections in step."""

from __future__ import annotations

from lclint.config.resolving.state import Resolution, both, either, truth
from lclint.core.states import UNKNOWN


def gradient_buffers(s: Resolution) -> None:
    """core distributed_data_parallel_config.py:275 and optimizer_config.py:439: what the two configs derive for themselves."""
    why = "the pooled allocator is a double buffer (core distributed_data_parallel_config.py:275)"
    s.when(truth(s.get("ddp.megatron_fsdp_max_pool_double_buffer")), "ddp.fsdp_double_buffer", True, why)


def rng_tracker(s: Resolution) -> None:
    """bridge training/config.py:1276: either of the two switches turns both on."""
    names = ("rng.te_rng_tracker", "model.use_te_rng_tracker")
    on = either(s.get(names[0]), s.get(names[1]))
    for name in names:
        s.when(on, name, True, "the two RNG tracker switches are one (training/config.py:1277)")


def fsdp(s: Resolution) -> None:
    """bridge training/config.py:1063-1107: what Megatron FSDP switches by itself."""
    on = either(s.get("ddp.use_megatron_fsdp"), s.get("dist.use_megatron_fsdp"))
    if on is False:
        return
    why = "Megatron FSDP sets it (training/config.py:1070-1107)"
    for name in ("dist.use_megatron_fsdp", "ddp.use_megatron_fsdp", "ddp.use_distributed_optimizer", "optimizer.use_distributed_optimizer"):
        s.when(on, name, True, why)
    aware = both(on, s.get("optimizer.use_precision_aware_optimizer"))
    if aware is not False:
        s.when(aware, "ddp.megatron_fsdp_use_decoupled_grad", True, why)
    if s.get("ddp.average_in_collective") is True:
        symmetric = s.get("ddp.disable_symmetric_registration")
        s.when(on if symmetric is False else UNKNOWN if symmetric is UNKNOWN else False, "ddp.average_in_collective", False, why)
    for name in ("ddp.reuse_grad_buf_for_mxfp8_param_ag", "optimizer.reuse_grad_buf_for_mxfp8_param_ag"):
        if s.get(name) is True:
            s.when(on, name, False, why)
    registered = both(on, s.get("ddp.nccl_ub"))
    if registered is not False:
        s.when(registered, "ddp.fsdp_manual_registration", True, why)


def distributed_optimizer(s: Resolution) -> None:
    """bridge training/config.py:1955-1981: ddp and optimizer agree on these two by both becoming true."""
    for field in ("use_distributed_optimizer", "overlap_param_gather"):
        names = (f"ddp.{field}", f"optimizer.{field}")
        on = either(s.get(names[0]), s.get(names[1]))
        for name in names:
            s.when(on, name, True, "ddp and optimizer are synchronised (training/config.py:1966-1981)")
