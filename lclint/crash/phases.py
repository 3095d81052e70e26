"""Which phase of a run a stack, or the last progress line, belongs to.

The deepest frame that says something wins, except that evaluation, graph capture, checkpoint loading and saving and building the optimizer
win wherever they stand: what runs inside them is part of them.
"""

# ruff: noqa: E501 - a pattern is easier to read on one line
from __future__ import annotations

import re
from collections.abc import Iterable

from lclint.crash.record import Frame

_FRAME = re.compile(r'File ["\'](?P<file>[^"\'\n]{1,400})["\'], line (?P<line>\d{1,9})(?:, in (?P<function>[\w<>.]+))?')
# what pytest, rich and some launchers print
_SHORT_FRAME = re.compile(r"^[\s│|]*(?P<file>[\w./-]+\.py):(?P<line>\d{1,9}) in (?P<function>[\w<>]+)")

# (phase, what file name, function and source text must match); the first that matches, outermost rules before innermost ones
_ANYWHERE = (
    ("eval", re.compile(r"(?:^|/)eval(?:uate)?\.py$"), re.compile(r"evaluate|run_eval"), None),
    ("eval", None, re.compile(r"^(?:evaluate|evaluate_and_print_results|validation_loop|validation_step|run_validation)$"), None),
    ("graph_capture", None, re.compile(r"create_cudagraphs|make_graphed_callables|capture_begin|_capture|create_(?:fwd|bwd)_graph|record_graph|warmup_and_capture"), None),
    ("graph_capture", re.compile(r"(?:torch/cuda/graphs|cuda_graphs|full_cuda_graph)\.py$"), re.compile(r"capture|__enter__|create"), None),
    ("checkpoint_load", None, re.compile(r"^_?(?:load_(?:\w*_)?checkpoint\w*|load_dist\w*|load_sharded\w*|cat_with_oom_fallback|load_ckpt|_load_global_dist\w*)$"), None),
    ("checkpoint_load", re.compile(r"checkpoint\w*\.py$|dist_checkpointing/"), re.compile(r"load"), None),
    ("checkpoint_save", None, re.compile(r"^_?(?:save_checkpoint\w*|save_checkpoint_and_time|save_dist\w*|async_save\w*|save_ckpt|preload_tensors|write_preloaded\w*)$"), None),
    ("checkpoint_save", re.compile(r"checkpoint\w*\.py$|dist_checkpointing/|filesystem_async\.py$|state_dict_saver\.py$"), re.compile(r"save|write"), None),
    (
        "optimizer_init",
        None,
        re.compile(r"^(?:initialize_optimizer_states|get_megatron_optimizer\w*|_get_megatron_optimizer\w*|setup_optimizer|_build_model_and_main_param_groups)$"),
        None,
    ),
    ("optimizer_init", re.compile(r"(?:optimizer|optim)\w*\.py$"), re.compile(r"^__init__$"), None),
)  # fmt: skip
_DEEPEST = (
    ("moe", re.compile(r"deep_ep/|hybrid_ep|fused_a2a\.py$"), None, None),
    ("dataloader", re.compile(r"torch/utils/data/|(?:^|/)(?:gpt_dataset|data_samplers|indexed_dataset|sft_dataset|blended\w*|collate\w*|tokenization\w*)\.py$"), None, None),
    ("dataloader", None, re.compile(r"^(?:get_batch\w*|_next_data|__next__|collate_fn|get_batch_on_this_tp_rank|_get_ltor_masks\w*|build_train_valid_test\w*|__getitem__)$"), None),
    (
        "model_build",
        re.compile(r"/models?/|transformer|/moe/|embedding|modules?/|layers\.py$|model\w*\.py$|lora|peft"),
        re.compile(r"^(?:__init__|reset_parameters|_init_\w+|build_module|reset_parameter\w*)$"),
        None,
    ),
    ("model_build", None, re.compile(r"^(?:get_model|build_model|reset_parameters|to_megatron_model|provide|provide_distributed_model|model_provider|import_ckpt|load_hf_weights|load_weights_hf_to_megatron|hf_to_megatron|_materialize\w*)$"), None),
    ("model_build", re.compile(r"utils/_device\.py$"), re.compile(r"__torch_function__"), None),
    ("model_build", re.compile(r"(?:param_and_grad_buffer|distributed_data_parallel)\.py$"), re.compile(r"^(?:__init__|_allocate\w*)$"), None),
    ("grad_reduce", re.compile(r"(?:param_and_grad_buffer|finalize_model_grads)\.py$"), None, None),
    ("grad_reduce", None, re.compile(r"finish_grad_sync|start_grad_sync|finalize_model_grads|reduce_scatter_grad|_reduce_gradients|allreduce_gradients"), None),
    ("logits_loss", re.compile(r"(?:cross_entropy|fused_cross_entropy|linear_cross_entropy|ppo_utils)\w*\.py$|/verl/.*tensor_parallel\.py$"), None, None),
    ("logits_loss", re.compile(r"(?:model_chunk_schedule_plan|combined_1f1b)\.py$"), re.compile(r"post_process"), None),
    ("logits_loss", None, re.compile(r"cross_entropy|log_?prob|entropy|float16_to_fp32|compute_language_model_loss|output_layer|lm_head|calculate_logits|^_postprocess$"), None),
    ("logits_loss", None, None, re.compile(r"output_layer\(|\b_postprocess\(|post_process\.(?:forward|backward)\(|cross_entropy\(|float16_to_fp32\(|logits\.(?:float|clone|to)\(|log_softmax\(|compute_entropy|vocab_parallel_log|lm_head\(")),
    ("moe", re.compile(r"(?:experts|grouped_linear|token_dispatcher|moe_utils|moe_layer|router|grouped_gemm\w*|permutation|paged_stash)\.py$"), None, None),
    ("moe", re.compile(r"/moe/"), None, None),
    (
        "optimizer_step",
        re.compile(r"(?:distrib_optimizer|fused_adam|adamw?|cpu_offloading|hybrid_optimizer|layer_wise_optimizer|clip_grads|muon|optim\w*/\w*optimizer\w*)\.py$"),
        None,
        None,
    ),
    ("optimizer_step", re.compile(r"megatron/core/optimizer/"), None, None),
    ("optimizer_step", None, re.compile(r"step_with_ready_grads|_copy_main_params|_copy_model_grads|prepare_grads|clip_grad_norm"), None),
    ("optimizer_step", None, None, re.compile(r"\boptim(?:izer)?\.step\((?!closure)|exp_avg")),
    ("backward", re.compile(r"torch/autograd/graph\.py$|torch/_tensor\.py$"), re.compile(r"_engine_run_backward|^backward$"), None),
    ("backward", None, re.compile(r"^(?:backward_step\w*|custom_backward|backward|backward_dw|_engine_run_backward|backward_step_helper\w*)$"), None),
    ("backward", None, None, re.compile(r"\bloss\w*\.backward\(|run_backward\(|custom_backward\(|autograd\.grad\(")),
    ("forward", None, re.compile(r"^(?:forward_step\w*|_?forward\w*|custom_forward|_checkpointed_forward|training_step|forward_backward\w*|get_query_key_value_tensors|_apply_rotary\w*)$"), None),
    ("forward", re.compile(r"(?:transformer_layer|transformer_block|attention|dot_product_attention\w*|mlp|rmsnorm|layernorm\w*|gpt_model|mamba_\w+|multi_token_prediction|rope\w*|rotary\w*)\.py$"), None, None),
    ("forward", None, None, re.compile(r"\bforward_step\(|forward_backward_func\(")),
    ("optimizer_init", re.compile(r"fused_adam\.py$"), re.compile(r"__init__"), None),
    ("init", re.compile(r"(?:initialize|arguments|parallel_state)\.py$"), None, None),
    ("nccl_init", None, re.compile(r"^(?:init_process_group|_new_process_group_helper|new_group|_new_group_with_tag|barrier)$"), None),
    ("init", None, re.compile(r"^(?:validate|validate_args|__post_init__|finalize|prepare_trainer|_init_rollout_engine|runtime_config_update|_validate\w*|initialize_megatron|__init__)$"), None),
)  # fmt: skip
# a plain linear layer, norm or communication helper: whoever calls it says what it is for
_SILENT = re.compile(
    r"(?:tensor_parallel/(?:layers|mappings|random|data)|distributed_c10d|c10d_logger|nn/modules/module|_contextlib|site-packages/torch/(?:_ops|functional))\.py$"
)
_INSIDE_BACKWARD = ("forward",)

_LINES = (
    ("checkpoint_load", re.compile(r"\bloading (?:distributed |release |the )?checkpoint\b|Loading checkpoint from|loading checkpoint from")),
    ("checkpoint_save", re.compile(r"\bsaving checkpoint at iteration\b|Saving checkpoint (?:at|to)|before save_checkpoint for")),
    ("eval", re.compile(r"\bEvaluating (?:on \d+|iter)\b|^ ?Evaluating\b")),
    ("graph_capture", re.compile(r"Start CUDA Graphs? capture|Captur(?:e|ing) CUDA graph|start capturing cuda graph", re.IGNORECASE)),
    ("model_build", re.compile(r"\bbuilding \w+ model|Initializing Megatron Bridge for conversion")),
    ("dataloader", re.compile(r"building train, validation, and test datasets")),
    ("nccl_init", re.compile(r"initializing torch distributed")),
    ("", re.compile(r"successfully (?:loaded|saved) checkpoint|CUDA Graphs? capture (?:done|finished|complete)|Time spent in CUDA Graphs? capture|after dataloaders are built|after model, optimizer|done with setup|could not find the metadata file|validation loss at iteration", re.IGNORECASE)),
)  # fmt: skip


def frame(text: str, at: int) -> Frame | None:
    """The stack frame that a line shows, or None."""
    match = _FRAME.search(text) or _SHORT_FRAME.match(text)
    if match is None:
        return None
    return Frame(file=match["file"], line=int(match["line"]), function=match["function"] or "", at=at)


def of_frames(frames: Iterable[Frame]) -> str:
    """The phase of a stack, outermost frame first; unknown where no frame says."""
    phases: list[str] = []
    for item in frames:
        anywhere = _match(_ANYWHERE, item)
        if anywhere is not None:
            return anywhere
    for item in frames:
        if _SILENT.search(item.file) and item.function != "backward":
            continue
        phase = _match(_DEEPEST, item)
        if phase is not None:
            phases.append(phase)
    if not phases:
        return "unknown"
    # recomputation: a layer's forward that the backward pass runs again
    return "backward" if phases[-1] in _INSIDE_BACKWARD and "backward" in phases else phases[-1]


_LINE_WORDS = re.compile(r"heckpoint|valuat|apture|apturing|building|distributed|dataloaders|done with|conversion|validation|metadata|scheduler")


def of_line(text: str) -> str | None:
    """The phase that a progress line begins, "" where it ends one, None where it says nothing."""
    if _LINE_WORDS.search(text) is None:
        return None
    for phase, pattern in _LINES:
        if pattern.search(text):
            return phase
    return None


def _match(table: Iterable[tuple[str, re.Pattern[str] | None, re.Pattern[str] | None, re.Pattern[str] | None]], item: Frame) -> str | None:
    file = item.file.replace("\\", "/")
    for phase, in_file, in_function, in_code in table:
        if in_file is not None and not in_file.search(file):
            continue
        if in_function is not None and not in_function.search(item.function):
            continue
        if in_code is not None and not in_code.search(item.code):
            continue
        return phase
    return None


FRONT_ENDS = (
    ("slime", re.compile(r"(?:^|/)slime/")),
    ("easyr1", re.compile(r"/EasyR1/")),
    ("verl", re.compile(r"(?:^|/)verl/")),
    ("nemo_rl", re.compile(r"/nemo_rl/|/NeMo-RL/|NeMo-RL", re.IGNORECASE)),
    ("swift", re.compile(r"/swift/")),
    ("nemo", re.compile(r"/nemo/(?:lightning|collections)/|lightning/pytorch/")),
    ("bridge", re.compile(r"megatron/bridge/|Megatron-Bridge")),
    ("megatron", re.compile(r"megatron/(?:core|training)/")),
)


def front_end(files: Iterable[str]) -> str | None:
    """The program whose stack it is: slime, verl, nemo and so on, the most particular one."""
    files = list(files)
    for name, pattern in FRONT_ENDS:
        if any(pattern.search(file) for file in files):
            return name
    return None
