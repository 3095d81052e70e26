"""What recompute and fine-grained offload leave on the GPU of the tensors that a layer keeps.

Sources: Megatron Core transformer/transformer_layer.py, transformer/moe/moe_layer.py, transformer/multi_latent_attention.py and
pipeline_parallel/fine_grained_activation_offload.py (0.19.2).
"""

from __future__ import annotations

from lclint.memory.activations import EXPERTS, Bytes, quantised
from lclint.memory.inputs import Inputs


def inputs_only(m: Inputs) -> float:
    """What full recompute keeps of a layer: its input."""
    return float(m.element) * m.residual * m.hidden / (m.tp if m.saved_split and not m.sp else 1)


def saved(m: Inputs, full: Bytes, offload: bool = True) -> Bytes:
    """What selective recompute and fine-grained offload (unless ``offload`` is off) leave of a layer's tensors."""
    out = dict(full)
    modules = m.recompute_modules
    wide = float(m.element)
    if "core_attn" in modules:
        out.pop("scores", None)
    if "layernorm" in modules:
        output = m.residual * m.hidden
        for name in ("input_norm", "mlp_norm"):
            if name in out:
                out[name] = min(out[name], wide * output)
    if "mla_up_proj" in modules:
        out.pop("up_projection", None)
    if "mlp" in modules and "mlp" in out:
        out["mlp"] = 0.0
    if "moe_act" in modules:
        out.pop("expert_act", None)
    if "shared_experts" in modules:
        out.pop("shared_expert", None)
    if "moe" in modules:
        for name in (*EXPERTS, "shared_expert"):
            out.pop(name, None)
    if "gdn_norm_out" in modules and "linear" in out:
        out["linear"] -= quantised(m) * m.tokens * m.linear_value_heads * m.linear_value / m.tp
    if offload and m.offload_modules:
        _offload(m, out)
    return out


# what each module of fine-grained offload takes to the host; of the activation what it reads: what it writes is the second linear's and stays
OFFLOADED = {
    "attn_norm": ("input_norm",),
    "qkv_linear": ("latent",),
    "core_attn": ("qkv", "rope", "up_projection", "scores"),
    "attn_proj": ("attention_output",),
    "expert_fc1": ("expert_input",),
    "moe_act": ("expert_fc1",),
    "fused_group_mlp": ("expert_input", "expert_fc1", "expert_act"),
    "dense_mlp": ("mlp",),
}


def _offload(m: Inputs, out: Bytes) -> None:
    """Rows of the listed modules go to the host once a layer is done, those of ``activation_offload_fraction`` of the layers."""
    stays = 1 - m.offload_fraction
    for module in m.offload_modules:
        for name in OFFLOADED.get(module, ()):
            if name in out:
                out[name] *= stays
    if "mlp_norm" in m.offload_modules and "mlp_norm" in out:
        least = min(out["mlp_norm"], float(m.element) * m.residual * m.hidden)
        out["mlp_norm"] = least + stays * (out["mlp_norm"] - least)
