"""Megatron-LM argument files (``MODEL_ARGS:`` with ``--tensor-model-parallel-size: 2``) as fields of a config.

This is the form of Megatron-LM's functional tests. An argument that is not there has Megatron-LM's own default
(megatron/training/arguments.py), which often differs from Bridge's. The translation into fields is Megatron-LM's own: most
arguments are taken over by the core's config fields of the same name.
"""

from __future__ import annotations

import re
from typing import Any

from lclint.catalog import arguments

ARGUMENTS = "MODEL_ARGS"
ENVIRONMENT = "ENV_VARS"

# Besides what the core's config classes take over by name (the catalogue's table): argument -> field of the same meaning and value
SAME = {
    "decoder_first_pipeline_num_layers": "model.num_layers_in_first_pipeline_stage",
    "decoder_last_pipeline_num_layers": "model.num_layers_in_last_pipeline_stage",
    "max_position_embeddings": "model.max_position_embeddings",
    "position_embedding_type": "model.position_embedding_type",
    "num_experts": "model.num_moe_experts",
    "vocab_size": "model.vocab_size",
    "make_vocab_size_divisible_by": "model.make_vocab_size_divisible_by",
    "seq_length": "model.seq_length",
    "micro_batch_size": "train.micro_batch_size",
    "global_batch_size": "train.global_batch_size",
    "train_iters": "train.train_iters",
    "use_torch_fsdp2": "dist.use_torch_fsdp2",
    "ddp_average_in_collective": "ddp.average_in_collective",
    # of older releases
    "microbatch_group_size_per_vp_stage": "model.microbatch_group_size_per_vp_stage",
    "use_custom_fsdp": "ddp.use_custom_fsdp",
    "use_layer_wise_distributed_optimizer": "optimizer.use_layer_wise_distributed_optimizer",
    "cuda_graph_scope": "model.cuda_graph_modules",
}
# switches whose field is their opposite
NEGATED = {
    "untie_embeddings_and_output_weights": "model.share_embeddings_and_output_weights",
    "no_create_attention_mask_in_dataloader": "dataset.skip_getting_attention_mask_from_dataset",
    "no_persist_layer_norm": "model.persist_layer_norm",
}
LISTS = {"cuda_graph_scope"}
# what older releases took, and what is read below
OLDER = ("enable_cuda_graph", "external_cuda_graph", "recompute_activations", "use_rotary_position_embeddings", "fp8_param_gather")
CLOSE = 0.85
PATTERNS = ("hybrid_layer_pattern", "hybrid_override_pattern")

DEFAULTS: dict[str, Any] = {
    "model.virtual_pipeline_model_parallel_size": None,
    "model.position_embedding_type": "learned_absolute",
    "model.share_embeddings_and_output_weights": True,
    "model.gated_linear_unit": False,
    "model.make_vocab_size_divisible_by": 128,
    "model.should_pad_vocab": True,
    "model.num_moe_experts": None,
    "dataset.skip_getting_attention_mask_from_dataset": False,
    "model.persist_layer_norm": True,
    "ddp.average_in_collective": False,
    "train.micro_batch_size": None,
}
# fields that the arguments leave to the model's own shape when they do not say them, so that null is not their value
DERIVED = ("model.kv_channels", "model.ffn_hidden_size", "model.moe_ffn_hidden_size", "model.num_query_groups", "model.expert_tensor_parallel_size")
# tokenizers that know their size themselves
VOCABULARIES = {"GPT2BPETokenizer": 50257, "GPTSentencePieceTokenizer": 256000, "Llama2Tokenizer": 32000, "TikTokenizer": 131072}


def read(data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str], dict[str, tuple[str | int, ...]]]:
    """``(fields, environment, keys)``: the fields with their defaults, and for each field that the file says the key that says it."""
    table = arguments.table()
    given: dict[str, Any] = {}
    keys: dict[str, tuple[str | int, ...]] = {}
    names: dict[str, str] = {}
    for key, value in data[ARGUMENTS].items():
        if key.__class__ is str and key.startswith("--"):
            name = key[2:].replace("-", "_")
            given[name] = value
            names[name] = key
    fields = {field: default for _, default, taking in table.values() for field in taking if field not in DERIVED} | DEFAULTS

    def put(field: str, value: Any, *sources: str) -> None:
        fields[field] = value
        for source in sources:
            if source in names:
                keys[field] = (ARGUMENTS, names[source])

    for name, value in given.items():
        alone, default, taking = table.get("--" + name.replace("_", "-"), (None, None, []))
        if name in NEGATED:
            put(NEGATED[name], not value, name)
            continue
        if alone in (True, False):
            # a switch: the file's true gives it, and anything else is as if it were not there
            value = alone if value else default
        elif alone == "list" or name in LISTS:
            value = _words(value) if value.__class__ in (str, list) else [value]
            # arguments.py takes one word for the word itself, where its default is one
            value = value[0] if len(value) == 1 and default is not None and default.__class__ is not list else value
        for field in [*taking, *([SAME[name]] if name in SAME else [])]:
            put(field, value, name)
    for field, value in fields.items():
        if value == "auto" and field.startswith("ddp.megatron_fsdp_"):
            # arguments.py: no dtype of its own
            fields[field] = None
    communication = fields.get("model.cp_comm_type")
    if communication.__class__ is list and len(communication) == 1:
        fields["model.cp_comm_type"] = communication[0]
    _shape(given, fields, put)
    _pipeline(given, fields, put)
    _states(given, put)
    environment = data.get(ENVIRONMENT)
    found = {str(name): _text(value) for name, value in environment.items()} if environment.__class__ is dict else {}
    keys.update((f"env_vars.{name}", (ENVIRONMENT, name)) for name in found)
    return fields, found, keys


def spelled(field: str, value: Any) -> str | None:
    """How an argument file says that a field is ``value``, None where no argument alone says it."""
    for option, (alone, default, taking) in arguments.table().items():
        if field not in taking and SAME.get(option[2:].replace("-", "_")) != field:
            continue
        if value == default and value.__class__ is default.__class__:
            return f"no {option}"
        if alone in (True, False):
            return f"{option}: true" if value is alone else f"no {option}"
        return None if value is None else f"{option}: {value}"
    return None


def unknown(data: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Keys among the arguments that are no argument of Megatron-LM, now or before, each with the one that it is likely a slip of."""
    table = arguments.table()
    older = {"--" + name.replace("_", "-") for name in (*SAME, *PATTERNS, *OLDER)}
    found = []
    for key in data[ARGUMENTS]:
        if key.__class__ is not str or key in table or key.replace("_", "-") in older:
            continue
        import difflib

        near = difflib.get_close_matches("--" + key.lstrip("-").replace("_", "-"), [*table, *older], 1, CLOSE)
        found.append((key, near[0] if near else None))
    return found


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
    if given.get("linear_attention_freq") is not None:
        put("model.linear_attention_freq", _frequency(given["linear_attention_freq"]), "linear_attention_freq")
    if given.get("num_experts"):
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
    if not virtual:
        # arguments.py: transfers overlap in an interleaved schedule only
        put("model.overlap_p2p_comm", False)
    put("model.batch_p2p_comm", not fields["model.overlap_p2p_comm"])
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
    # training.py hands the optimizer the recipe of the model's arguments
    put("optimizer.fp8_recipe", given.get("fp8_recipe", "delayed"), "fp8_recipe")
    grads = given.get("megatron_fsdp_main_grads_dtype", "auto")
    put("ddp.megatron_fsdp_main_grads_dtype", None if grads == "auto" else grads, "megatron_fsdp_main_grads_dtype")
    if given.get("cpu_offloading_num_layers"):
        put("model.cpu_offloading", True, "cpu_offloading_num_layers")
        put("model.cpu_offloading_num_layers", given["cpu_offloading_num_layers"], "cpu_offloading_num_layers")
    if given.get("recompute_activations"):
        put("model.recompute_granularity", "selective", "recompute_activations")
    if given.get("enable_cuda_graph"):
        put("model.cuda_graph_impl", "local", "enable_cuda_graph")


def _words(value: Any) -> list[Any]:
    """``[layernorm mla_up_proj]`` (one text, or a list of one) as its words; whole numbers are numbers."""
    text = " ".join(str(item) for item in value) if value.__class__ is list else str(value)
    return [int(word) if word.isascii() and word.isdigit() else word for word in re.findall(r"[\w.+]+", text)]


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
