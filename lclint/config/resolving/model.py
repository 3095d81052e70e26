"""What the model's class, Bridge and Megatron Core derive in the model section."""

from __future__ import annotations

from typing import Any

from lclint.config import pipeline_layout
from lclint.config.resolving.state import Resolution, both, more, quotient, times, truth
from lclint.core.states import NOT_APPLICABLE, UNKNOWN, State

QWEN_VL_CLASSES = ("Qwen3VLModelProvider", "Qwen3VLMoEModelProvider", "Qwen35VLModelProvider", "Qwen35VLMoEModelProvider")
NORMAL = "torch.nn.init.normal_"
# names that overrides may use for functions, and what a saved config calls these (utils/activation_map.py)
ACTIVATIONS = {
    "gelu": "torch._C._nn.gelu",
    "relu": "torch.nn.functional.relu",
    "silu": "torch.nn.functional.silu",
    "sigmoid": "torch.nn.functional.sigmoid",
    "relu2": "megatron.core.activations.squared_relu",
    "squared_relu": "megatron.core.activations.squared_relu",
    "gelu_pytorch_tanh": "megatron.core.activations.fast_gelu",
    "fast_gelu": "megatron.core.activations.fast_gelu",
    "quick_gelu": "megatron.core.fusions.fused_bias_geglu.quick_gelu",
}


def model_class(s: Resolution) -> None:
    """What a few model classes settle in their own finalize() before the rest: Qwen3-VL, Qwen3.5-VL, Sarvam, Gemma."""
    name = s.class_name("model")
    if name in QWEN_VL_CLASSES:
        why = "this model always does under context parallelism (models/qwen_vl/qwen3_vl_provider.py:139)"
        s.when(more(s.get("model.context_parallel_size"), 1), "model.calculate_per_token_loss", True, why)
    if name == "Qwen3VLMoEModelProvider":
        why = "this model always does under tensor parallelism (models/qwen_vl/qwen3_vl_provider.py:305)"
        s.when(more(s.get("model.tensor_model_parallel_size"), 1), "model.sequence_parallel", True, why)
    if name == "SarvamMoEModelProvider":
        pp, layers = s.get("model.pipeline_model_parallel_size"), s.get("model.num_layers")
        uneven = pp.__class__ is int and layers.__class__ is int and pp > 1 and layers % pp != 0
        given = [s.get(f"model.{field}") for field in ("num_layers_in_first_pipeline_stage", "num_layers_in_last_pipeline_stage")]
        if uneven and given == [None, None] and s.get("model.pipeline_model_parallel_layout") is None:
            s.set("model.pipeline_model_parallel_layout", UNKNOWN, "this model has its own layouts (models/sarvam/sarvam_provider.py:150)")
    if name == "Gemma3VLModelProvider" and s.get("model.attention_backend") == "auto":
        # not a field that a saved config can set: loading one gives fused, the recipe itself auto
        s.set("model.attention_backend", UNKNOWN, "depends on whether a saved config is loaded (models/gemma_vl/gemma3_vl_provider.py:34)")
    if name in ("Gemma4DenseProvider", "Gemma4DenseVLProvider"):
        why = "layers of two widths are saved so (models/gemma/gemma4_provider.py:184)"
        s.when(truth(s.get("model.use_double_wide_mlp")), "model.hetereogenous_dist_checkpoint", True, why)


def hybrid(s: Resolution) -> None:
    """bridge models/hybrid/hybrid_provider.py:170-249: the pattern decides the number of layers and, with the MTP pattern, of MTP depths."""
    old = s.get("model.hybrid_override_pattern")
    if old.__class__ is str and s.get("model.hybrid_layer_pattern") is None:
        why = "hybrid_override_pattern is its old name (models/hybrid/hybrid_provider.py:192)"
        s.set("model.hybrid_layer_pattern", old, why)
        s.set("model.hybrid_override_pattern", None, why)
    pattern, head = s.get("model.hybrid_layer_pattern"), s.get("model.mtp_hybrid_override_pattern")
    if s.get("model.pipeline_model_parallel_layout").__class__ not in (str, list) and UNKNOWN in (pattern, head) and pattern is not None:
        # a layout is for models without a pattern
        s.blur("model.hybrid_layer_pattern")
        s.default("model.mtp_num_layers", UNKNOWN, "the pattern may say how many (models/hybrid/hybrid_provider.py:217)")
    if pattern.__class__ is not str:
        if pattern is UNKNOWN:
            s.default("model.num_layers", UNKNOWN, "the pattern may say how many (models/hybrid/hybrid_provider.py:249)")
        return
    if head and head.__class__ is str:
        pattern = _with_depths(s, pattern, head)
    try:
        parsed = pipeline_layout.hybrid(pattern)
    except pipeline_layout.BadLayout:
        return
    s.default("model.num_layers", parsed.layers(), "the pattern says how many (models/hybrid/hybrid_provider.py:249)")


def _with_depths(s: Resolution, pattern: str, head: str) -> str:
    depths, repeated = s.get("model.mtp_num_layers"), truth(s.get("model.mtp_use_repeated_layer"))
    copies = depths if depths.__class__ is int and depths <= pipeline_layout.MOST_LAYERS else 0
    if repeated is True:
        copies = max(1, copies)
    pattern = pattern.split("/")[0] + "/" + "/".join([head] * copies)
    unknown = depths is UNKNOWN or (repeated is UNKNOWN and copies < 1)
    s.set("model.hybrid_layer_pattern", UNKNOWN if unknown else pattern, "the MTP pattern is joined to it (models/hybrid/hybrid_provider.py:207)")
    if depths is None and copies:
        s.set("model.mtp_num_layers", copies, "the pattern says how many (models/hybrid/hybrid_provider.py:217)")
    return pattern


def functions(s: Resolution) -> None:
    """bridge models/transformer_config.py:52: the name of an activation function becomes the function."""
    name = s.get("model.activation_func")
    if name.__class__ is str and name in ACTIVATIONS:
        s.set("model.activation_func", ACTIVATIONS[name], "the function of that name (models/transformer_config.py:61)")


def parallelism(s: Resolution) -> None:
    """bridge models/transformer_config.py:79-190 and core model_parallel_config.py:497-570."""
    pp, tp, ep = s.get("model.pipeline_model_parallel_size"), s.get("model.tensor_model_parallel_size"), s.get("model.expert_model_parallel_size")
    pipelined = more(pp, 1)
    if pipelined is not False:
        s.default("model.pipeline_dtype", s.get("model.params_dtype") if pipelined is True else UNKNOWN, "PP needs a dtype (models/transformer_config.py:178)")
    if s.get("model.sequence_parallel") is True:
        s.when(UNKNOWN if tp is UNKNOWN else not more(tp, 1), "model.sequence_parallel", False, "TP is 1 (models/transformer_config.py:180)")
    if s.get("model.expert_tensor_parallel_size") is None:
        experts = more(ep, 1)
        value = UNKNOWN if experts is UNKNOWN else 1 if experts is True else tp
        s.set("model.expert_tensor_parallel_size", value, "1 with EP, else TP (models/transformer_config.py:88, core model_parallel_config.py:507)")
    for kind, size in (("", tp), ("expert_", s.get("model.expert_tensor_parallel_size"))):
        shards = s.get(f"model.{kind}tensor_parallel_num_weight_shards")
        if shards.__class__ is int:
            s.set(f"model.{kind}gtp_weight_remat_size", quotient(shards, size), "weight shards over tensor parallelism (core model_parallel_config.py:41)")
    s.default("model.autocast_dtype", s.get("model.params_dtype"), "as the parameters (core model_parallel_config.py:534)")
    s.default("model.microbatch_group_size_per_vp_stage", pp, "one group is PP microbatches (core model_parallel_config.py:568)")
    if s.get("model.pipeline_dtype") not in (None, NOT_APPLICABLE):
        why = "the residual stream is in FP32 (core transformer_config.py:1312)"
        s.when(truth(s.get("model.fp32_residual_connection")), "model.pipeline_dtype", "fp32", why)
    layout = s.get("model.pipeline_model_parallel_layout")
    if layout is UNKNOWN:
        s.default("model.virtual_pipeline_model_parallel_size", UNKNOWN, "a layout may imply it (core transformer_config.py:1981)")
    elif layout.__class__ in (str, list):
        implied = pipeline_layout.virtual_size(layout, pp)
        if implied is not None and implied > 1:
            s.default("model.virtual_pipeline_model_parallel_size", implied, "the layout implies it (core transformer_config.py:1981)")


def sizes(s: Resolution) -> None:
    """core transformer_config.py:1330-1336, 1466, 2196-2216, 2823: sizes and scales that follow from others."""
    s.default("model.ffn_hidden_size", times(4, s.get("model.hidden_size")), "4 x hidden_size (core transformer_config.py:1330)")
    channels = quotient(s.get("model.hidden_size"), s.get("model.num_attention_heads"))
    s.default("model.kv_channels", channels, "hidden_size / heads (core transformer_config.py:1333)")
    s.default("model.num_query_groups", s.get("model.num_attention_heads"), "no grouped queries (core transformer_config.py:1336)")
    why = "query-key layer scaling needs it (core transformer_config.py:1466)"
    s.when(truth(s.get("model.apply_query_key_layer_scaling")), "model.attention_softmax_in_fp32", True, why)
    every, layers = s.get("model.no_rope_freq"), s.get("model.num_layers")
    if every.__class__ is int and every > 0:
        pattern = ([0] * (every - 1) + [1]) * (layers // every) if layers.__class__ is int and every <= layers <= pipeline_layout.MOST_LAYERS else UNKNOWN
        s.set("model.no_rope_freq", pattern, "a list with one entry a layer (core transformer_config.py:2823)")
    if s.get("model.use_mup") is True:
        _mup(s)


def _mup(s: Resolution) -> None:
    s.default("model.mup_base_hidden_size", s.get("model.hidden_size"), "the base model is this one (core transformer_config.py:2200)")
    hidden, base = s.get("model.hidden_size"), s.get("model.mup_base_hidden_size")
    width: Any = hidden / base if hidden.__class__ is int and base.__class__ is int and base > 0 else UNKNOWN
    s.set("model.mup_width_mult", width, "hidden_size over mup_base_hidden_size (core transformer_config.py:2203)")
    head, channels, power = s.get("model.mup_base_head_dim"), s.get("model.kv_channels"), s.get("model.mup_attn_scale_power")
    numbers = all(value.__class__ in (int, float) and value > 0 for value in (1 if head is None else head, channels, power))
    scale = (1.0 if head is None else head**0.5) / float(channels) ** power if numbers else UNKNOWN
    s.default("model.softmax_scale", scale, "muP's attention scaling (core transformer_config.py:2210)")
    if s.get("model.mup_output_mult") == 1.0 and width != 1.0:
        s.set("model.mup_output_mult", width if width is UNKNOWN else 1.0 / width, "muP's output scaling (core transformer_config.py:2215)")


def initialisation(s: Resolution) -> None:
    """core transformer_config.py:2240-2279: what weights are drawn from."""
    s.default("model.embedding_init_method_std", s.get("model.init_method_std"), "as the other layers (core transformer_config.py:2240)")
    if s.get("model.embedding_init_method") is None:
        own, embedding, other = s.get("model.init_method"), s.get("model.embedding_init_method_std"), s.get("model.init_method_std")
        value = NORMAL if own is None else UNKNOWN if UNKNOWN in (own, embedding, other) else NORMAL if embedding != other else own
        s.set("model.embedding_init_method", value, "a normal distribution (core transformer_config.py:2246)")
    for name in ("init_method", "output_layer_init_method"):
        s.default(f"model.{name}", NORMAL, "a normal distribution (core transformer_config.py:2257-2279)")


def experts(s: Resolution) -> None:
    """core transformer_config.py:1535, 1594-1662, 2314, 2362: experts, their dispatcher and router."""
    number = s.get("model.num_moe_experts")
    if number is not None and number is not NOT_APPLICABLE:
        width = UNKNOWN if number is UNKNOWN else s.get("model.ffn_hidden_size")
        s.default("model.moe_ffn_hidden_size", width, "the dense width (core transformer_config.py:1535)")
    if s.get("model.moe_enable_deepep") is True:
        s.set("model.moe_flex_dispatcher_backend", "deepep", "moe_enable_deepep is its old name (core transformer_config.py:1594)")
    for old in ("model.moe_deepep_num_sms", "model.moe_hybridep_num_sms"):
        if s.get(old) not in (None, NOT_APPLICABLE):
            s.default("model.moe_flex_dispatcher_num_sms", s.get(old), f"{old[6:]} is its old name (core transformer_config.py:1635)")
    factor = s.get("model.moe_expert_capacity_factor")
    if factor.__class__ in (int, float) and factor < 0:
        s.set("model.moe_expert_capacity_factor", None, "negative means none (core transformer_config.py:1662)")
    why = "moe_router_padding_for_fp8 is its old name (core transformer_config.py:2314)"
    s.when(truth(s.get("model.moe_router_padding_for_fp8")), "model.moe_router_padding_for_quantization", True, why)
    devices = s.get("model.moe_router_topk_limited_devices")
    if devices.__class__ is int and devices and not s.get("model.moe_router_group_topk"):
        why = "moe_router_topk_limited_devices is its old name (core transformer_config.py:2362)"
        s.set("model.moe_router_group_topk", devices, why)
        s.set("model.moe_router_num_groups", s.get("model.expert_model_parallel_size"), why)


def recompute(s: Resolution) -> None:
    """core transformer_config.py:1764, 1834-1846."""
    s.default("model.recompute_modules", ["core_attn"], "selective alone means core_attn (core transformer_config.py:1764)")
    if s.get("model.moe_layer_recompute") is True:
        why = "moe_layer_recompute is its old name (core transformer_config.py:1834)"
        s.set("model.recompute_granularity", "selective", why)
        modules = s.get("model.recompute_modules")
        if modules.__class__ is list and "moe" not in modules:
            s.set("model.recompute_modules", [*modules, "moe"], why)


def after(s: Resolution) -> None:
    """bridge models/transformer_config.py:189 and training/config.py:1409: what comes after Megatron Core's own checks."""
    packed = both(s.get("dataset.enable_in_batch_packing"), more(s.get("model.pipeline_model_parallel_size"), 1))
    s.when(packed, "model.variable_seq_lengths", True, "in-batch packing over a pipeline (models/transformer_config.py:189)")


def cpu_initialisation(s: Resolution) -> None:
    """bridge training/config.py:1409."""
    lazy = s.get("dist.lazy_mpu_init")
    if lazy.__class__ is not State:
        s.when(truth(lazy), "model.use_cpu_initialization", True, "dist.lazy_mpu_init needs it (training/config.py:1409)")
