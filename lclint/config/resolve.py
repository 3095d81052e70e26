"""What Bridge 0.6.2 itself changes in a config at start-up, in the order in which it does.

Every step is a short function over ``Resolution``; the line in its docstring is where Bridge (``megatron/bridge``) or
Megatron Core (``megatron/core``) does it. A step whose outcome depends on something unknown makes the field unknown.
"""

from __future__ import annotations

import math
from typing import Any

from lclint.catalog import tables
from lclint.config import pipeline_layout
from lclint.config.run import Change, Run
from lclint.core.states import NOT_APPLICABLE, UNKNOWN, State

PRECISION_TARGETS = ("model", "optimizer", "ddp")
SFT_CLASSES = ("GPTSFTDatasetConfig", "FinetuningDatasetConfig", "DirectHFSFTDatasetConfig", "EnergonDatasetConfig", "MockVLMSFTDatasetConfig")
QWEN_VL_CLASSES = ("Qwen3VLModelProvider", "Qwen3VLMoEModelProvider", "Qwen35VLModelProvider", "Qwen35VLMoEModelProvider")
OVERLAP_MODEL_FIELDS = (
    "tp_comm_overlap",
    "overlap_p2p_comm",
    "batch_p2p_comm",
    "defer_embedding_wgrad_compute",
    "wgrad_deferral_limit",
    "overlap_moe_expert_parallel_comm",
    "delay_wgrad_compute",
)
OVERLAP_GRADIENT_FIELDS = ("bucket_size", "overlap_grad_reduce", "overlap_param_gather", "overlap_param_gather_with_optimizer_step", "align_param_gather")


class Resolution:
    """The values as they stand while Bridge works through its start-up."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.values = dict(run.written)

    def get(self, name: str) -> Any:
        value = self.values.get(name, self)
        return self.run.missing(name) if value is self else value

    def set(self, name: str, value: Any, why: str) -> None:
        """Bridge sets ``name``. Not recorded where nothing changes or the field does not exist."""
        old = self.get(name)
        if old is NOT_APPLICABLE or old is value or (old.__class__ is not State and value.__class__ is not State and old == value):
            return
        self.values[name] = value
        self.run.changes.append(Change(name, old, value, why))

    def default(self, name: str, value: Any, why: str) -> None:
        """Bridge sets ``name`` when it is null."""
        old = self.get(name)
        if old is None:
            self.set(name, value, why)


def resolve(run: Run) -> None:
    """Fill ``run.resolved`` and ``run.changes`` from ``run.written``."""
    state = Resolution(run)
    for step in STEPS:
        step(state)
    run.resolved = state.values


def _mixed_precision(s: Resolution) -> None:
    """bridge training/mixed_precision.py:123-166: every field of the preset replaces the same field of model, optimizer and ddp."""
    precision = s.get("mixed_precision")
    if precision is None or precision is NOT_APPLICABLE:
        return
    if precision.__class__ is str:
        preset = tables.precision_presets(s.run.release).get(precision.replace("-", "_"))
        if preset is None:
            return
        fields = dict(preset)
    elif precision.__class__ is dict:
        start = "mixed_precision."
        fields = {name[len(start) :]: value for name, value in s.values.items() if name.startswith(start) and name != start + "_target_"}
        if not s.run.complete:
            # the rest of the section is in a base that is not here
            fields = {name: fields.get(name, UNKNOWN) for name in tables.section(s.run.release, "mixed_precision").fields(None) or {}}
    else:
        fields = dict.fromkeys(tables.section(s.run.release, "mixed_precision").fields(None) or {}, UNKNOWN)
    for kind in ("fp8", "fp4"):
        # two names of one switch, kept in step: the gather is the later field and wins
        gather = fields.get(f"{kind}_param_gather")
        if gather is not None:
            fields[f"{kind}_param"] = gather
    for name, value in fields.items():
        for section in PRECISION_TARGETS:
            field = f"{section}.{name}"
            if field in s.values or (not s.run.complete and value is not UNKNOWN and name in (tables.section(s.run.release, section).fields(None) or {})):
                s.set(field, value, "mixed_precision replaces it (training/mixed_precision.py:154)")


def _comm_overlap(s: Resolution) -> None:
    """bridge training/comm_overlap.py:422-633: the section decides these fields of model, optimizer and ddp; null means Bridge's choice."""
    section = s.get("comm_overlap")
    if section is None or section is NOT_APPLICABLE:
        return
    tp, pp, vpp = s.get("model.tensor_model_parallel_size"), s.get("model.pipeline_model_parallel_size"), s.get("model.virtual_pipeline_model_parallel_size")
    pipelined = _more(pp, 1)
    interleaved = _and(pipelined, _more(1 if vpp is None else vpp, 1))
    chosen: dict[str, Any] = {
        "tp_comm_overlap": False,
        "overlap_p2p_comm": interleaved,
        "batch_p2p_comm": _and(pipelined, _not(interleaved)),
        "defer_embedding_wgrad_compute": False,
        "wgrad_deferral_limit": -1,
        "overlap_moe_expert_parallel_comm": False,
        "delay_wgrad_compute": False,
    }
    why = "comm_overlap decides it (training/comm_overlap.py:450-560)"
    for name in OVERLAP_MODEL_FIELDS:
        user = s.get(f"comm_overlap.{name}")
        if name == "tp_comm_overlap" and user is True:
            user = _and(_more(tp, 1), s.get("model.sequence_parallel"))
        value = chosen[name] if user is None or user is NOT_APPLICABLE else user
        if f"model.{name}" in s.values or value is not UNKNOWN:
            s.set(f"model.{name}", value, why)
    if s.get("ddp.use_distributed_optimizer") is not True:
        return
    many = _more(_data_parallel(s), 1)
    chosen = {
        "bucket_size": UNKNOWN if many is UNKNOWN else 128 * 1024 * 1024 if many else None,
        "overlap_grad_reduce": many,
        "overlap_param_gather": many,
        "overlap_param_gather_with_optimizer_step": False,
        "align_param_gather": _and(many, interleaved),
    }
    for name in OVERLAP_GRADIENT_FIELDS:
        user = s.get(f"comm_overlap.{name}")
        value = chosen[name] if user is None or user is NOT_APPLICABLE else user
        for target in ("optimizer", "ddp"):
            if f"{target}.{name}" in s.values:
                s.set(f"{target}.{name}", value, "comm_overlap decides it (training/comm_overlap.py:562-590)")


def _padding(s: Resolution) -> None:
    """bridge training/config.py:1207-1246: fixed shapes are forced on for pipelines and experts; the collate multiple follows CP and SP."""
    fixed = _or(_more(s.get("model.pipeline_model_parallel_size"), 1), _more(s.get("model.expert_model_parallel_size"), 1))
    if fixed is True and s.get("dataset.pad_to_max_length") is False:
        s.set("dataset.pad_to_max_length", True, "a pipeline or expert parallelism needs fixed shapes (training/config.py:1211)")
    elif fixed is UNKNOWN and s.get("dataset.pad_to_max_length") is False:
        s.set("dataset.pad_to_max_length", UNKNOWN, "depends on PP and EP")
    packed = _or(s.get("dataset.enable_offline_packing"), s.get("dataset.enable_in_batch_packing"))
    if (
        packed is True
        and s.get("model.moe_token_dispatcher_type") == "flex"
        and s.get("model.moe_flex_dispatcher_backend") == "hybridep"
        and s.get("model.cuda_graph_impl") in (None, "none")
        and not s.get("model.enable_cuda_graph")
        and not s.get("model.external_cuda_graph")
    ):
        s.set("model.moe_hybridep_pad_uneven_dispatch_inputs", True, "packed data under eager HybridEP (models/transformer_config.py:91)")


def _graph_modules(s: Resolution) -> None:
    """bridge utils/cuda_graph.py:132: without an implementation the module lists are cleared before Megatron Core sees them."""
    if s.get("model.cuda_graph_impl") == "none":
        for name in ("model.cuda_graph_modules", "model.cuda_graph_scope"):
            if name in s.values:
                s.set(name, [] if name.endswith("modules") else None, "cuda_graph_impl is none (utils/cuda_graph.py:132)")


def _model_class(s: Resolution) -> None:
    """bridge models/qwen_vl/*_provider.py, models/sarvam/sarvam_provider.py: what a few model classes settle in their own finalize()."""
    target = s.get("model._target_")
    if target.__class__ is not str:
        return
    name = target.rpartition(".")[2]
    if name in QWEN_VL_CLASSES and _more(s.get("model.context_parallel_size"), 1) is True:
        s.set("model.calculate_per_token_loss", True, "this model always does under context parallelism (models/qwen_vl/qwen3_vl_provider.py:139)")
    if name == "Qwen3VLMoEModelProvider" and _more(s.get("model.tensor_model_parallel_size"), 1) is True:
        s.set("model.sequence_parallel", True, "this model always does under tensor parallelism (models/qwen_vl/qwen3_vl_provider.py:305)")
    if name == "SarvamMoEModelProvider":
        pp, layers = s.get("model.pipeline_model_parallel_size"), s.get("model.num_layers")
        uneven = pp.__class__ is int and layers.__class__ is int and pp > 1 and layers % pp != 0
        given = [s.get(f"model.{field}") for field in ("num_layers_in_first_pipeline_stage", "num_layers_in_last_pipeline_stage")]
        if uneven and given == [None, None] and s.get("model.pipeline_model_parallel_layout") is None:
            s.set("model.pipeline_model_parallel_layout", UNKNOWN, "this model has its own layouts (models/sarvam/sarvam_provider.py:150)")


def _hybrid(s: Resolution) -> None:
    """bridge models/hybrid/hybrid_provider.py:180-249: the pattern decides the number of layers and, with the MTP pattern, of MTP depths."""
    old = s.get("model.hybrid_override_pattern")
    if old.__class__ is str and s.get("model.hybrid_layer_pattern") is None:
        why = "hybrid_override_pattern is its old name (models/hybrid/hybrid_provider.py:192)"
        s.set("model.hybrid_layer_pattern", old, why)
        s.set("model.hybrid_override_pattern", None, why)
    pattern = s.get("model.hybrid_layer_pattern")
    if pattern.__class__ is not str:
        return
    head, depths = s.get("model.mtp_hybrid_override_pattern"), s.get("model.mtp_num_layers")
    if head and head.__class__ is str:
        copies = depths if depths.__class__ is int else 0
        if s.get("model.mtp_use_repeated_layer") is True:
            copies = max(1, copies)
        pattern = pattern.split("/")[0] + "/" + "/".join([head] * copies)
        s.set("model.hybrid_layer_pattern", pattern, "the MTP pattern is joined to it (models/hybrid/hybrid_provider.py:207)")
    try:
        parsed = pipeline_layout.hybrid(pattern)
    except pipeline_layout.BadLayout:
        return
    if head and depths is None and parsed.depths:
        s.set("model.mtp_num_layers", parsed.depths, "the pattern says how many (models/hybrid/hybrid_provider.py:217)")
    s.default("model.num_layers", parsed.layers(), "the pattern says how many (models/hybrid/hybrid_provider.py:249)")


def _transformer(s: Resolution) -> None:
    """bridge models/transformer_config.py:162-190 and core transformer/transformer_config.py __post_init__: derived model fields."""
    pp, tp, ep = s.get("model.pipeline_model_parallel_size"), s.get("model.tensor_model_parallel_size"), s.get("model.expert_model_parallel_size")
    if _more(pp, 1) is True:
        s.default("model.pipeline_dtype", s.get("model.params_dtype"), "PP needs a dtype (models/transformer_config.py:178)")
    if tp == 1:
        if s.get("model.sequence_parallel") is True:
            s.set("model.sequence_parallel", False, "TP is 1 (models/transformer_config.py:180)")
    elif tp is UNKNOWN and s.values.get("model.sequence_parallel") is True:
        s.set("model.sequence_parallel", UNKNOWN, "depends on TP")
    if s.get("model.expert_tensor_parallel_size") is None:
        experts = _more(ep, 1)
        value = UNKNOWN if experts is UNKNOWN else 1 if experts is True else tp
        s.set("model.expert_tensor_parallel_size", value, "1 with EP, else TP (models/transformer_config.py:88, core model_parallel_config.py:507)")
    s.default("model.ffn_hidden_size", _times(4, s.get("model.hidden_size")), "4 x hidden_size (core transformer_config.py:1330)")
    s.default("model.kv_channels", _quotient(s.get("model.hidden_size"), s.get("model.num_attention_heads")), "hidden_size / heads (core transformer_config.py:1333)")
    s.default("model.num_query_groups", s.get("model.num_attention_heads"), "no grouped queries (core transformer_config.py:1336)")
    if s.get("model.num_moe_experts") not in (None, UNKNOWN, NOT_APPLICABLE):
        s.default("model.moe_ffn_hidden_size", s.get("model.ffn_hidden_size"), "the dense width (core transformer_config.py:1535)")
    if s.get("model.moe_enable_deepep") is True:
        s.set("model.moe_flex_dispatcher_backend", "deepep", "moe_enable_deepep is its old name (core transformer_config.py:1594)")
    for old in ("model.moe_deepep_num_sms", "model.moe_hybridep_num_sms"):
        if s.get(old) not in (None, UNKNOWN, NOT_APPLICABLE):
            s.default("model.moe_flex_dispatcher_num_sms", s.get(old), f"{old[6:]} is its old name (core transformer_config.py:1635)")
    factor = s.get("model.moe_expert_capacity_factor")
    if factor.__class__ in (int, float) and factor < 0:
        s.set("model.moe_expert_capacity_factor", None, "negative means none (core transformer_config.py:1662)")
    if s.get("model.moe_router_padding_for_fp8") is True:
        s.set("model.moe_router_padding_for_quantization", True, "moe_router_padding_for_fp8 is its old name (core transformer_config.py:2314)")
    if s.get("model.recompute_granularity") == "selective":
        s.default("model.recompute_modules", ["core_attn"], "selective alone means core_attn (core transformer_config.py:1764)")
    s.default("model.microbatch_group_size_per_vp_stage", pp, "one group is PP microbatches (core model_parallel_config.py:568)")
    layout = s.get("model.pipeline_model_parallel_layout")
    if layout.__class__ in (str, list):
        implied = pipeline_layout.virtual_size(layout, pp)
        if implied is not None and implied > 1:
            s.default("model.virtual_pipeline_model_parallel_size", implied, "the layout implies it (core transformer_config.py:1981)")
    devices = s.get("model.moe_router_topk_limited_devices")
    if devices.__class__ is int and devices and not s.get("model.moe_router_group_topk"):
        why = "moe_router_topk_limited_devices is its old name (core transformer_config.py:2362)"
        s.set("model.moe_router_group_topk", devices, why)
        s.set("model.moe_router_num_groups", ep, why)
    if s.get("dataset.enable_in_batch_packing") is True and _more(pp, 1) is True:
        s.set("model.variable_seq_lengths", True, "in-batch packing over a pipeline (models/transformer_config.py:189)")


def _graphs(s: Resolution) -> None:
    """core transformer/transformer_config.py:2365-2445: the old names of graph settings become the new ones."""
    impl = s.get("model.cuda_graph_impl")
    if impl == "none":
        if s.get("model.enable_cuda_graph") is True:
            impl = "local"
        elif s.get("model.external_cuda_graph") is True:
            impl = "transformer_engine"
        s.set("model.cuda_graph_impl", impl, "enable_cuda_graph and external_cuda_graph are old names (core transformer_config.py:2375)")
    scope = s.get("model.cuda_graph_scope")
    if scope not in (None, UNKNOWN, NOT_APPLICABLE) and s.get("model.cuda_graph_modules") in ("full", None, []):
        s.set("model.cuda_graph_modules", scope, "cuda_graph_scope is its old name (core transformer_config.py:2403)")
        s.set("model.cuda_graph_scope", None, "moved to cuda_graph_modules (core transformer_config.py:2406)")
    modules = s.get("model.cuda_graph_modules")
    if modules.__class__ is str:
        modules = [part for part in modules.split(",") if part]
    if modules.__class__ is list:
        if modules == ["full"]:
            modules = []
        if impl == "local" and "full_iteration" in modules:
            s.set("model.cuda_graph_impl", "full_iteration", "scope full_iteration is its old spelling (core cuda_graph_config.py)")
            modules = [module for module in modules if module != "full_iteration"]
        s.set("model.cuda_graph_modules", modules, "normalised to a list (core transformer_config.py:2437)")


def _rng_tracker(s: Resolution) -> None:
    """bridge training/config.py:1276: either of the two switches turns both on."""
    if s.get("rng.te_rng_tracker") is True or s.get("model.use_te_rng_tracker") is True:
        for name in ("rng.te_rng_tracker", "model.use_te_rng_tracker"):
            s.set(name, True, "the two RNG tracker switches are one (training/config.py:1277)")
    elif UNKNOWN in (s.get("rng.te_rng_tracker"), s.get("model.use_te_rng_tracker")):
        for name in ("rng.te_rng_tracker", "model.use_te_rng_tracker"):
            if name in s.values:
                s.set(name, UNKNOWN, "the two RNG tracker switches are one")


def _evaluation(s: Resolution) -> None:
    """bridge training/config.py:1295-1303: evaluation batches default to the training ones."""
    s.default("validation.eval_global_batch_size", s.get("train.global_batch_size"), "as in training (training/config.py:1298)")
    s.default("validation.eval_micro_batch_size", s.get("train.micro_batch_size"), "as in training (training/config.py:1303)")


def _fsdp(s: Resolution) -> None:
    """bridge training/config.py:1069-1107: what Megatron FSDP switches by itself."""
    fsdp = _or(s.get("ddp.use_megatron_fsdp"), s.get("dist.use_megatron_fsdp"))
    if fsdp is UNKNOWN:
        for name in ("ddp.use_distributed_optimizer", "optimizer.use_distributed_optimizer"):
            if s.values.get(name) is False:
                s.set(name, UNKNOWN, "depends on Megatron FSDP")
    if fsdp is not True:
        return
    why = "Megatron FSDP sets it (training/config.py:1070-1094)"
    for name in ("dist.use_megatron_fsdp", "ddp.use_megatron_fsdp", "ddp.use_distributed_optimizer", "optimizer.use_distributed_optimizer"):
        s.set(name, True, why)
    if s.get("optimizer.use_precision_aware_optimizer") is True:
        s.set("ddp.megatron_fsdp_use_decoupled_grad", True, why)
    if s.get("ddp.average_in_collective") is True and s.get("ddp.disable_symmetric_registration") is False:
        s.set("ddp.average_in_collective", False, why)
    for name in ("ddp.reuse_grad_buf_for_mxfp8_param_ag", "optimizer.reuse_grad_buf_for_mxfp8_param_ag"):
        s.set(name, False, why)
    if s.get("ddp.nccl_ub") is True:
        s.set("ddp.fsdp_manual_registration", True, why)


def _distributed_optimizer(s: Resolution) -> None:
    """bridge training/config.py:1955-1981: ddp and optimizer agree on these two by both becoming true."""
    for field in ("use_distributed_optimizer", "overlap_param_gather"):
        names = (f"ddp.{field}", f"optimizer.{field}")
        values = [s.get(name) for name in names]
        for name in names:
            if True in values:
                s.set(name, True, "ddp and optimizer are synchronised (training/config.py:1966-1981)")
            elif UNKNOWN in values and s.values.get(name) is False:
                s.set(name, UNKNOWN, "ddp and optimizer are synchronised")


def _scheduler(s: Resolution) -> None:
    """bridge training/config.py:1606-1645: the length of the schedule follows the length of training."""
    if s.get("train.train_samples") is not None:
        return
    if s.get("scheduler.max_steps") not in (None, NOT_APPLICABLE, UNKNOWN):
        s.set("scheduler.lr_decay_iters", s.get("scheduler.max_steps"), "max_steps decides it (training/config.py:1634)")
    s.default("scheduler.lr_decay_iters", s.get("train.train_iters"), "as long as training (training/config.py:1636)")


def _validation(s: Resolution) -> None:
    """bridge training/config.py:1519-1526: evaluation settings under train are the old place and win over the new one."""
    for name in ("eval_interval", "eval_iters", "skip_train"):
        value = s.get(f"train.{name}")
        if value is not None and value is not NOT_APPLICABLE and (f"validation.{name}" in s.values or value is not UNKNOWN):
            s.set(f"validation.{name}", value, f"train.{name} is its old place (training/config.py:1520)")


def _switched_off(s: Resolution) -> None:
    """Fields whose master switch is off do nothing: not applicable."""
    off: list[str] = []
    granularity = s.get("model.recompute_granularity")
    if granularity in (None, "full"):
        off.append("model.recompute_modules")
    if granularity is None:
        off += ["model.recompute_method", "model.recompute_num_layers"]
    if s.get("model.cuda_graph_impl") == "none":
        off += ["model.cuda_graph_modules", "model.cuda_graph_scope"]
    if s.get("model.moe_token_dispatcher_type") in ("alltoall", "allgather"):
        off.append("model.moe_flex_dispatcher_backend")
    if s.get("model.cpu_offloading") is False:
        off.append("model.cpu_offloading_num_layers")
    if s.get("model.fine_grained_activation_offloading") is False:
        off.append("model.offload_modules")
    if s.get("optimizer.optimizer_cpu_offload") is False:
        off.append("optimizer.optimizer_offload_fraction")
    if s.get("model.num_moe_experts") is None:
        off += [name for name in s.values if name.startswith("model.moe_")] if s.run.complete else []
    for name in off:
        if name in s.values:
            s.values[name] = NOT_APPLICABLE


STEPS = (
    _mixed_precision,
    _comm_overlap,
    _padding,
    _graph_modules,
    _model_class,
    _hybrid,
    _transformer,
    _graphs,
    _rng_tracker,
    _evaluation,
    _fsdp,
    _distributed_optimizer,
    _scheduler,
    _validation,
    _switched_off,
)


def _more(left: Any, right: Any) -> Any:
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    numbers = left.__class__ in (int, float) and right.__class__ in (int, float)
    return left > right if numbers else False


def _and(left: Any, right: Any) -> Any:
    if left is False or right is False or left in (None, NOT_APPLICABLE) or right in (None, NOT_APPLICABLE):
        return False
    return UNKNOWN if left is UNKNOWN or right is UNKNOWN else bool(left and right)


def _or(left: Any, right: Any) -> Any:
    if left is True or right is True:
        return True
    return UNKNOWN if left is UNKNOWN or right is UNKNOWN else False


def _not(value: Any) -> Any:
    return value if value is UNKNOWN else not value


def _times(left: Any, right: Any) -> Any:
    return left * right if left.__class__ is int and right.__class__ is int else UNKNOWN


def _quotient(left: Any, right: Any) -> Any:
    return left // right if left.__class__ is int and right.__class__ is int and right else UNKNOWN


def _data_parallel(s: Resolution) -> Any:
    """Ranks of data parallelism; UNKNOWN without a world size or where it does not divide."""
    sizes = [s.get(f"model.{name}_parallel_size") for name in ("tensor_model", "pipeline_model", "context")]
    gpus = s.run.missing("cluster.gpus")
    if gpus.__class__ is not int or any(size.__class__ is not int or size < 1 for size in sizes):
        return UNKNOWN
    product = math.prod(sizes)
    return gpus // product if gpus % product == 0 else UNKNOWN
