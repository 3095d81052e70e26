"""Megatron-LM argument files (``MODEL_ARGS:`` with ``--tensor-model-parallel-size: 2``) as fields of a config.

This is the form of Megatron-LM's functional tests. An argument that is not there has Megatron-LM's own default
(megatron/training/arguments.py), which often differs from Bridge's; an argument that means nothing to lclint is passed over.
"""

from __future__ import annotations

import re
from typing import Any

ARGUMENTS = "MODEL_ARGS"
ENVIRONMENT = "ENV_VARS"

# argument -> field of the same meaning and value
SAME = {
    "tensor_model_parallel_size": "model.tensor_model_parallel_size",
    "pipeline_model_parallel_size": "model.pipeline_model_parallel_size",
    "context_parallel_size": "model.context_parallel_size",
    "expert_model_parallel_size": "model.expert_model_parallel_size",
    "expert_tensor_parallel_size": "model.expert_tensor_parallel_size",
    "sequence_parallel": "model.sequence_parallel",
    "microbatch_group_size_per_virtual_pipeline_stage": "model.microbatch_group_size_per_vp_stage",
    "microbatch_group_size_per_vp_stage": "model.microbatch_group_size_per_vp_stage",
    "decoder_first_pipeline_num_layers": "model.num_layers_in_first_pipeline_stage",
    "decoder_last_pipeline_num_layers": "model.num_layers_in_last_pipeline_stage",
    "account_for_embedding_in_pipeline_split": "model.account_for_embedding_in_pipeline_split",
    "account_for_loss_in_pipeline_split": "model.account_for_loss_in_pipeline_split",
    "overlap_moe_expert_parallel_comm": "model.overlap_moe_expert_parallel_comm",
    "delay_wgrad_compute": "model.delay_wgrad_compute",
    "num_layers": "model.num_layers",
    "hidden_size": "model.hidden_size",
    "num_attention_heads": "model.num_attention_heads",
    "kv_channels": "model.kv_channels",
    "max_position_embeddings": "model.max_position_embeddings",
    "position_embedding_type": "model.position_embedding_type",
    "rotary_base": "model.rotary_base",
    "rotary_percent": "model.rotary_percent",
    "normalization": "model.normalization",
    "hidden_dropout": "model.hidden_dropout",
    "attention_dropout": "model.attention_dropout",
    "add_qkv_bias": "model.add_qkv_bias",
    "qk_layernorm": "model.qk_layernorm",
    "attention_output_gate": "model.attention_output_gate",
    "apply_query_key_layer_scaling": "model.apply_query_key_layer_scaling",
    "attention_softmax_in_fp32": "model.attention_softmax_in_fp32",
    "attention_backend": "model.attention_backend",
    "deterministic_mode": "model.deterministic_mode",
    "multi_latent_attention": "model.multi_latent_attention",
    "q_lora_rank": "model.q_lora_rank",
    "kv_lora_rank": "model.kv_lora_rank",
    "qk_head_dim": "model.qk_head_dim",
    "qk_pos_emb_head_dim": "model.qk_pos_emb_head_dim",
    "v_head_dim": "model.v_head_dim",
    "experimental_attention_variant": "model.experimental_attention_variant",
    "linear_num_key_heads": "model.linear_num_key_heads",
    "linear_num_value_heads": "model.linear_num_value_heads",
    "linear_key_head_dim": "model.linear_key_head_dim",
    "linear_value_head_dim": "model.linear_value_head_dim",
    "linear_conv_kernel_dim": "model.linear_conv_kernel_dim",
    "mamba_head_dim": "model.mamba_head_dim",
    "mamba_num_heads": "model.mamba_num_heads",
    "mamba_num_groups": "model.mamba_num_groups",
    "mamba_state_dim": "model.mamba_state_dim",
    "num_experts": "model.num_moe_experts",
    "moe_router_topk": "model.moe_router_topk",
    "moe_shared_expert_intermediate_size": "model.moe_shared_expert_intermediate_size",
    "moe_shared_expert_gate": "model.moe_shared_expert_gate",
    "moe_latent_size": "model.moe_latent_size",
    "moe_router_enable_expert_bias": "model.moe_router_enable_expert_bias",
    "moe_router_dtype": "model.moe_router_dtype",
    "moe_router_force_load_balancing": "model.moe_router_force_load_balancing",
    "moe_router_fusion": "model.moe_router_fusion",
    "moe_router_num_groups": "model.moe_router_num_groups",
    "moe_router_group_topk": "model.moe_router_group_topk",
    "moe_router_pre_softmax": "model.moe_router_pre_softmax",
    "moe_router_score_function": "model.moe_router_score_function",
    "moe_router_topk_scaling_factor": "model.moe_router_topk_scaling_factor",
    "moe_aux_loss_coeff": "model.moe_aux_loss_coeff",
    "moe_grouped_gemm": "model.moe_grouped_gemm",
    "moe_permute_fusion": "model.moe_permute_fusion",
    "moe_expert_capacity_factor": "model.moe_expert_capacity_factor",
    "moe_expert_rank_capacity_factor": "model.moe_expert_rank_capacity_factor",
    "moe_pad_expert_input_to_capacity": "model.moe_pad_expert_input_to_capacity",
    "moe_token_dispatcher_type": "model.moe_token_dispatcher_type",
    "moe_flex_dispatcher_backend": "model.moe_flex_dispatcher_backend",
    "mtp_num_layers": "model.mtp_num_layers",
    "mtp_use_repeated_layer": "model.mtp_use_repeated_layer",
    "cross_entropy_loss_fusion": "model.cross_entropy_loss_fusion",
    "cross_entropy_fusion_impl": "model.cross_entropy_fusion_impl",
    "defer_embedding_wgrad_compute": "model.defer_embedding_wgrad_compute",
    "wgrad_deferral_limit": "model.wgrad_deferral_limit",
    "recompute_granularity": "model.recompute_granularity",
    "recompute_method": "model.recompute_method",
    "recompute_num_layers": "model.recompute_num_layers",
    "distribute_saved_activations": "model.distribute_saved_activations",
    "fine_grained_activation_offloading": "model.fine_grained_activation_offloading",
    "tp_comm_overlap": "model.tp_comm_overlap",
    "transformer_impl": "model.transformer_impl",
    "cuda_graph_impl": "model.cuda_graph_impl",
    "cuda_graph_warmup_steps": "model.cuda_graph_warmup_steps",
    "activation_offload_fraction": "model.activation_offload_fraction",
    "fp8_format": "model.fp8",
    "fp8_recipe": "model.fp8_recipe",
    "bf16": "model.bf16",
    "fp16": "model.fp16",
    "first_last_layers_bf16": "model.first_last_layers_bf16",
    "vocab_size": "model.vocab_size",
    "make_vocab_size_divisible_by": "model.make_vocab_size_divisible_by",
    "seq_length": "model.seq_length",
    "micro_batch_size": "train.micro_batch_size",
    "global_batch_size": "train.global_batch_size",
    "train_iters": "train.train_iters",
    "num_distributed_optimizer_instances": "ddp.num_distributed_optimizer_instances",
    "overlap_grad_reduce": "ddp.overlap_grad_reduce",
    "overlap_param_gather": "ddp.overlap_param_gather",
    "use_megatron_fsdp": "ddp.use_megatron_fsdp",
    "use_custom_fsdp": "ddp.use_custom_fsdp",
    "data_parallel_sharding_strategy": "ddp.data_parallel_sharding_strategy",
    "outer_dp_sharding_strategy": "ddp.outer_dp_sharding_strategy",
    "use_torch_fsdp2": "dist.use_torch_fsdp2",
    "optimizer": "optimizer.optimizer",
    "use_precision_aware_optimizer": "optimizer.use_precision_aware_optimizer",
    "main_grads_dtype": "optimizer.main_grads_dtype",
    "main_params_dtype": "optimizer.main_params_dtype",
    "exp_avg_dtype": "optimizer.exp_avg_dtype",
    "exp_avg_sq_dtype": "optimizer.exp_avg_sq_dtype",
    "optimizer_cpu_offload": "optimizer.optimizer_cpu_offload",
    "optimizer_offload_fraction": "optimizer.optimizer_offload_fraction",
    "use_layer_wise_distributed_optimizer": "optimizer.use_layer_wise_distributed_optimizer",
    "lr": "optimizer.lr",
    "min_lr": "optimizer.min_lr",
    "clip_grad": "optimizer.clip_grad",
    "weight_decay": "optimizer.weight_decay",
}
# switches whose field is their opposite
NEGATED = {
    "disable_bias_linear": "model.add_bias_linear",
    "untie_embeddings_and_output_weights": "model.share_embeddings_and_output_weights",
    "no_rope_fusion": "model.apply_rope_fusion",
    "no_gradient_accumulation_fusion": "model.gradient_accumulation_fusion",
    "no_create_attention_mask_in_dataloader": "dataset.skip_getting_attention_mask_from_dataset",
}
LISTS = {
    "recompute_modules": "model.recompute_modules",
    "offload_modules": "model.offload_modules",
    "cp_comm_type": "model.cp_comm_type",
    "cuda_graph_modules": "model.cuda_graph_modules",
    # its old name
    "cuda_graph_scope": "model.cuda_graph_modules",
}
PATTERNS = ("hybrid_layer_pattern", "hybrid_override_pattern")

DEFAULTS: dict[str, Any] = {
    "model.tensor_model_parallel_size": 1,
    "model.pipeline_model_parallel_size": 1,
    "model.context_parallel_size": 1,
    "model.expert_model_parallel_size": 1,
    "model.sequence_parallel": False,
    "model.virtual_pipeline_model_parallel_size": None,
    "model.position_embedding_type": "learned_absolute",
    "model.normalization": "LayerNorm",
    "model.hidden_dropout": 0.1,
    "model.attention_dropout": 0.1,
    "model.add_bias_linear": True,
    "model.share_embeddings_and_output_weights": True,
    "model.apply_rope_fusion": True,
    "model.gradient_accumulation_fusion": True,
    "model.gated_linear_unit": False,
    "model.attention_backend": "auto",
    "model.transformer_impl": "transformer_engine",
    "model.make_vocab_size_divisible_by": 128,
    "model.should_pad_vocab": True,
    "model.recompute_granularity": None,
    "model.cuda_graph_impl": "none",
    "model.cross_entropy_loss_fusion": False,
    "model.fp8": None,
    "model.bf16": False,
    "model.fp16": False,
    "model.num_moe_experts": None,
    "dataset.skip_getting_attention_mask_from_dataset": False,
    "ddp.use_distributed_optimizer": False,
    "ddp.num_distributed_optimizer_instances": 1,
    "optimizer.optimizer": "adam",
    "train.micro_batch_size": None,
}
# what an expert model has without being told
EXPERT_DEFAULTS: dict[str, Any] = {
    "model.moe_router_topk": 2,
    "model.moe_token_dispatcher_type": "allgather",
    "model.moe_grouped_gemm": False,
    "model.moe_layer_freq": 1,
}
LATENT_DEFAULTS: dict[str, Any] = {
    "model.kv_lora_rank": 32,
    "model.qk_head_dim": 128,
    "model.qk_pos_emb_head_dim": 64,
    "model.v_head_dim": 128,
}
# tokenizers that know their size themselves
VOCABULARIES = {"GPT2BPETokenizer": 50257, "GPTSentencePieceTokenizer": 256000, "Llama2Tokenizer": 32000, "TikTokenizer": 131072}


def read(data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str], dict[str, tuple[str | int, ...]]]:
    """``(fields, environment, keys)``: the fields with their defaults, and for each field that the file says the key that says it."""
    given: dict[str, Any] = {}
    keys: dict[str, tuple[str | int, ...]] = {}
    names: dict[str, str] = {}
    for key, value in data[ARGUMENTS].items():
        if key.__class__ is str and key.startswith("--"):
            name = key[2:].replace("-", "_")
            given[name] = value
            names[name] = key
    fields = dict(DEFAULTS)

    def put(field: str, value: Any, *sources: str) -> None:
        fields[field] = value
        for source in sources:
            if source in names:
                keys[field] = (ARGUMENTS, names[source])

    for name, value in given.items():
        if name in SAME:
            put(SAME[name], value, name)
        elif name in NEGATED:
            put(NEGATED[name], not value, name)
        elif name in LISTS:
            put(LISTS[name], _words(value), name)
    _shape(given, fields, put)
    _pipeline(given, fields, put)
    _states(given, put)
    environment = data.get(ENVIRONMENT)
    found = {str(name): _text(value) for name, value in environment.items()} if environment.__class__ is dict else {}
    keys.update((f"env_vars.{name}", (ENVIRONMENT, name)) for name in found)
    return fields, found, keys


def _shape(given: dict[str, Any], fields: dict[str, Any], put: Any) -> None:
    hidden = fields.get("model.hidden_size")
    gated = bool(given.get("swiglu") or given.get("quick_geglu"))
    put("model.gated_linear_unit", gated, "swiglu", "quick_geglu")
    function = "torch.nn.functional.silu" if given.get("swiglu") else "torch._C._nn.gelu"
    put("model.activation_func", "megatron.core.activations.squared_relu" if given.get("squared_relu") else function, "swiglu", "squared_relu")
    width = given.get("ffn_hidden_size")
    if width is None and hidden.__class__ is int:
        # arguments.py: two thirds of 4h, in steps of 64, where the unit is gated
        width = int(4 * hidden * 2 / 3 / 64) * 64 if given.get("swiglu") else 4 * hidden
    put("model.ffn_hidden_size", width, "ffn_hidden_size")
    grouped = given.get("group_query_attention")
    put("model.num_query_groups", given.get("num_query_groups", 1) if grouped else fields.get("model.num_attention_heads"), "num_query_groups")
    if given.get("use_rotary_position_embeddings"):
        put("model.position_embedding_type", "rope", "use_rotary_position_embeddings")
    if given.get("use_flash_attn"):
        put("model.attention_backend", "flash", "use_flash_attn")
    if given.get("multi_latent_attention"):
        for field, value in LATENT_DEFAULTS.items():
            fields.setdefault(field, value)
    if given.get("num_experts"):
        for field, value in EXPERT_DEFAULTS.items():
            fields.setdefault(field, value)
        if fields["model.moe_token_dispatcher_type"] == "flex":
            fields.setdefault("model.moe_flex_dispatcher_backend", "deepep")
        put("model.moe_layer_freq", _frequency(given.get("moe_layer_freq", 1)), "moe_layer_freq")
        put("model.moe_ffn_hidden_size", given.get("moe_ffn_hidden_size", width), "moe_ffn_hidden_size")
        tp = fields["model.tensor_model_parallel_size"]
        put("model.expert_tensor_parallel_size", given.get("expert_tensor_parallel_size", tp), "expert_tensor_parallel_size")
    if "vocab_size" not in given:
        known = VOCABULARIES.get(str(given.get("tokenizer_type", "GPT2BPETokenizer")))
        if known is not None:
            put("model.vocab_size", known, "tokenizer_type")


def _pipeline(given: dict[str, Any], fields: dict[str, Any], put: Any) -> None:
    for name in PATTERNS:
        if given.get(name):
            pattern = str(given[name]).replace("\\", "").strip("\"'")
            put("model.hybrid_layer_pattern", pattern, name)
            put("model.num_layers", len(pattern.split("/")[0].replace("|", "")), name)
    if given.get("pipeline_model_parallel_layout"):
        put("model.pipeline_model_parallel_layout", str(given["pipeline_model_parallel_layout"]).replace("\\", ""), "pipeline_model_parallel_layout")
    pp, layers = fields["model.pipeline_model_parallel_size"], fields.get("model.num_layers")
    virtual = given.get("num_virtual_stages_per_pipeline_rank")
    per = given.get("num_layers_per_virtual_pipeline_stage")
    if virtual is None and per.__class__ is int and per > 0 and layers.__class__ is int and pp.__class__ is int and pp > 0:
        virtual = layers // pp // per
    if virtual.__class__ is int and virtual > 1:
        put(
            "model.virtual_pipeline_model_parallel_size",
            virtual,
            "num_virtual_stages_per_pipeline_rank",
            "num_layers_per_virtual_pipeline_stage",
        )


def _states(given: dict[str, Any], put: Any) -> None:
    distributed = bool(given.get("use_distributed_optimizer"))
    put("ddp.use_distributed_optimizer", distributed, "use_distributed_optimizer")
    put("optimizer.use_distributed_optimizer", distributed, "use_distributed_optimizer")
    # arguments.py: bf16 accumulates its gradients in FP32 unless it is told not to
    fp32 = bool(given.get("accumulate_allreduce_grads_in_fp32")) or (bool(given.get("bf16")) and not given.get("grad_reduce_in_bf16"))
    put("ddp.grad_reduce_in_fp32", fp32, "accumulate_allreduce_grads_in_fp32", "grad_reduce_in_bf16")
    half = "bf16" if given.get("bf16") else "fp16" if given.get("fp16") else "fp32"
    put("model.params_dtype", half, "bf16", "fp16")
    if given.get("fp8_format"):
        gather = bool(given.get("fp8_param_gather"))
        put("model.fp8_param", gather, "fp8_param_gather")
        put("ddp.fp8_param_gather", gather, "fp8_param_gather")
        put("model.fp8_recipe", given.get("fp8_recipe", "delayed"), "fp8_recipe")
    if given.get("recompute_activations"):
        put("model.recompute_granularity", "selective", "recompute_activations")
    if given.get("enable_cuda_graph"):
        put("model.cuda_graph_impl", "local", "enable_cuda_graph")


def _words(value: Any) -> list[str]:
    """``[layernorm mla_up_proj]`` (one text, or a list of one) as its words."""
    text = " ".join(str(item) for item in value) if value.__class__ is list else str(value)
    return re.findall(r"[\w.+]+", text)


def _frequency(value: Any) -> Any:
    """``([0]*3+[1]*12)`` as the list that it is; a number or a list stays, anything else is 1."""
    if value.__class__ is int or value.__class__ is list:
        return value
    row: list[int] = []
    for part in str(value).strip("()\"' ").split("+"):
        found = re.fullmatch(r"\s*\(?\[([\d,\s]+)\]\)?(?:\*(\d{1,4}))?\s*", part)
        if found is None:
            return int(value) if str(value).isdigit() else 1
        row += [int(number) for number in found.group(1).split(",")] * int(found.group(2) or 1)
    return row


def _text(value: Any) -> str:
    return {True: "1", False: "0"}[value] if value.__class__ is bool else str(value)
