"""What the model reads of a run: plain numbers, with a note for each that the config does not say.

A field that the config's classes do not have takes the value that its absence means; one that is merely unknown takes the same value
and is named among the assumptions; without the few that nothing can stand in for there is no estimate.
"""

from __future__ import annotations

from lclint.config.run import Run
from lclint.memory.reader import Reader
from lclint.memory.vocabulary import padded_vocabulary

# what no model has more of: a number that is a slip must not fill the memory of the machine that reads it
MOST = 20_000
# several models in one, each with a layout of its own
SEVERAL_MODELS = "MegatronMIMOProvider"
# transformers without a vocabulary
DIFFUSION = ("WanModelProvider", "FluxProvider")


class Inputs:
    """The numbers of one run. Sizes are elements, degrees are ranks."""

    def __init__(self, run: Run) -> None:
        self.reader = r = Reader(run)
        self.model_class = str(r.raw("model._target_")).rpartition(".")[2]
        self._layout(r)
        self._batch(r)
        self._shape(r)
        self._attention(r)
        self._experts(r)
        self._loss(r)
        self._precision(r)
        self._optimizer(r)
        self._saving(r)
        self._gpu(r)
        if max(self.layers, self.pp * self.vpp, self.mtp, self.experts) > MOST:
            r.wrong.append(f"layers, pipeline stages and experts are not in the range of real models (up to {MOST})")
        if self.model_class == SEVERAL_MODELS:
            r.needs.append("one model: each of several has a layout of its own")

    def _layout(self, r: Reader) -> None:
        self.tp = r.essential("model.tensor_model_parallel_size")
        self.pp = r.essential("model.pipeline_model_parallel_size")
        self.cp = r.essential("model.context_parallel_size")
        self.ep = r.number("model.expert_model_parallel_size", 1)
        self.etp = r.number("model.expert_tensor_parallel_size", 1)
        self.vpp = r.number("model.virtual_pipeline_model_parallel_size", 1)
        self.group = r.number("model.microbatch_group_size_per_vp_stage", self.pp)
        self.sp = self.tp > 1 and r.flag("model.sequence_parallel")
        self.gpus = r.essential("cluster.gpus", self.tp * self.pp * self.cp)
        ranks = self.tp * self.pp * self.cp
        self.dp = max(1, self.gpus // ranks)
        self.edp = max(1, self.gpus // (self.ep * self.etp * self.pp))
        if not r.needs and not r.wrong and self.gpus % ranks:
            r.wrong.append(f"{self.gpus} GPUs are no multiple of TP x PP x CP = {ranks}")
        self.layout = r.value("model.pipeline_model_parallel_layout", None)
        self.first_layers = r.value("model.num_layers_in_first_pipeline_stage", None)
        self.last_layers = r.value("model.num_layers_in_last_pipeline_stage", None)
        self.count_embedding = r.flag("model.account_for_embedding_in_pipeline_split")
        self.count_loss = r.flag("model.account_for_loss_in_pipeline_split")
        self.expert_overlap = r.flag("model.overlap_moe_expert_parallel_comm")

    def _batch(self, r: Reader) -> None:
        self.sequence = r.essential("model.seq_length")
        self.micro_batch = r.essential("train.micro_batch_size")
        batch = r.raw("train.global_batch_size")
        if batch.__class__ is int and batch > 0:
            self.microbatches = max(1, batch // (self.micro_batch * self.dp))
        else:
            r.assumptions.append("train.global_batch_size is not known: as many microbatches as the pipeline can hold assumed")
            self.microbatches = 1_000_000
        # tokens of one microbatch in attention and MLP, and in the residual stream
        self.tokens = max(1, self.sequence * self.micro_batch // self.cp)
        self.residual = max(1, self.tokens // self.tp) if self.sp else self.tokens

    def _shape(self, r: Reader) -> None:
        self.hidden = r.essential("model.hidden_size")
        self.pattern = r.text("model.hybrid_layer_pattern", "")
        self.layers = r.number("model.num_layers", 0) if self.pattern else r.essential("model.num_layers")
        self.ffn = r.number("model.ffn_hidden_size", 4 * self.hidden)
        self.gated = r.flag("model.gated_linear_unit")
        self.bias = r.flag("model.add_bias_linear", True)
        self.norm = 1 if r.text("model.normalization", "LayerNorm") == "RMSNorm" else 2
        self.tied = r.flag("model.share_embeddings_and_output_weights", True)
        self.hidden_dropout = r.value("model.hidden_dropout", 0.1) not in (0, 0.0)
        self.attention_dropout = r.value("model.attention_dropout", 0.1) not in (0, 0.0)
        self.vocabulary = 0 if self.model_class in DIFFUSION else padded_vocabulary(r, self.tp)
        self.positions = 0
        if r.text("model.position_embedding_type", "learned_absolute") == "learned_absolute":
            self.positions = r.number("model.max_position_embeddings", self.sequence)
        self.rope = r.text("model.position_embedding_type", "learned_absolute") in ("rope", "yarn", "mrope")
        self.fused_rope = r.flag("model.apply_rope_fusion")
        depths = r.value("model.mtp_num_layers", 0)
        self.mtp = depths if depths.__class__ is int and depths > 0 else 0
        self.mtp_shared = r.flag("model.mtp_use_repeated_layer")
        self.linear_frequency = r.value("model.linear_attention_freq", None)

    def _attention(self, r: Reader) -> None:
        self.heads = r.essential("model.num_attention_heads") if "*" in self.pattern or not self.pattern else r.number("model.num_attention_heads", 1)
        self.groups = r.number("model.num_query_groups", self.heads)
        self.head = r.number("model.kv_channels", max(1, self.hidden // self.heads))
        self.qk_norm = r.flag("model.qk_layernorm")
        self.qkv_bias = r.flag("model.add_qkv_bias") or self.bias
        self.gate = r.flag("model.attention_output_gate")
        self.mla = r.flag("model.multi_latent_attention")
        self.variant = r.text("model.experimental_attention_variant", "")
        self.dsa = self.variant.startswith("dsa") or self.variant.startswith("dsv4")
        if self.mla:
            self.q_rank = r.number("model.q_lora_rank", 0)
            self.kv_rank = r.number("model.kv_lora_rank", 512)
            self.qk_head = r.number("model.qk_head_dim", 128)
            self.rope_head = r.number("model.qk_pos_emb_head_dim", 64)
            self.v_head = r.number("model.v_head_dim", 128)
        if self.dsa:
            self.index_heads = r.number("model.dsa_indexer_n_heads", 32)
            self.index_head = r.number("model.dsa_indexer_head_dim", 128)
        if self.variant == "gated_delta_net" or "G" in self.pattern:
            self.linear_key_heads = r.number("model.linear_num_key_heads", 16)
            self.linear_value_heads = r.number("model.linear_num_value_heads", 32)
            self.linear_key = r.number("model.linear_key_head_dim", 128)
            self.linear_value = r.number("model.linear_value_head_dim", 128)
            self.linear_kernel = r.number("model.linear_conv_kernel_dim", 4)
        if "M" in self.pattern:
            self.mamba_head = r.number("model.mamba_head_dim", 64)
            self.mamba_heads = r.number("model.mamba_num_heads", max(1, 2 * self.hidden // self.mamba_head))
            self.mamba_groups = r.number("model.mamba_num_groups", 8)
            self.mamba_state = r.number("model.mamba_state_dim", 128)
            self.mamba_chunk = r.number("model.mamba_chunk_size", 128)
        self.backend = r.text("model.attention_backend", "auto").rpartition(".")[2]
        self.local = r.text("model.transformer_impl", "transformer_engine") == "local"
        self.deterministic = r.flag("model.deterministic_mode") or r.environment("NVTE_ALLOW_NONDETERMINISTIC_ALGO") == "0"
        self.fused_off = r.environment("NVTE_FUSED_ATTN") == "0" and r.environment("NVTE_FLASH_ATTN") == "0"
        types = r.raw("model.cp_comm_type")
        self.cp_type = types[0] if types.__class__ is list and types else types if types.__class__ is str else "p2p"
        # Megatron-LM's loader sends a mask of one byte an element, Bridge's does not (training/gpt_step.py)
        self.mask = r.raw("dataset.skip_getting_attention_mask_from_dataset") is False

    def _experts(self, r: Reader) -> None:
        experts = r.value("model.num_moe_experts", 0)
        self.experts = experts if experts.__class__ is int and experts > 0 else 0
        self.moe_frequency = r.value("model.moe_layer_freq", 1) if self.experts else 0
        if not self.experts:
            self.shared_ffn = self.latent = self.topk = self.expert_ffn = 0
            self.dispatcher = self.dispatcher_backend = ""
            self.imbalance = self.imbalance_high = 1.0
            return
        self.topk = r.number("model.moe_router_topk", 2)
        self.expert_ffn = r.number("model.moe_ffn_hidden_size", self.ffn)
        self.shared_ffn = r.number("model.moe_shared_expert_intermediate_size", 0)
        self.shared_gate = r.flag("model.moe_shared_expert_gate")
        self.latent = r.number("model.moe_latent_size", 0)
        self.grouped = r.flag("model.moe_grouped_gemm")
        self.dispatcher = r.text("model.moe_token_dispatcher_type", "allgather")
        self.dispatcher_backend = r.text("model.moe_flex_dispatcher_backend", "deepep") if self.dispatcher == "flex" else ""
        balanced = r.flag("model.moe_router_force_load_balancing")
        capacity = r.value("model.moe_expert_capacity_factor", None)
        rank_capacity = r.value("model.moe_expert_rank_capacity_factor", None)
        padded = r.flag("model.moe_pad_expert_input_to_capacity")
        # Fitted on the measured MoE rows (natural routing): 1.2 centres them, single runs went up to 1.6
        self.imbalance, self.imbalance_high = (1.0, 1.05) if balanced or self.ep == 1 else (1.2, 1.6)
        if capacity.__class__ in (int, float) and capacity > 0:
            self.imbalance, self.imbalance_high = (float(capacity) if padded else min(self.imbalance, float(capacity))), float(capacity)
        if rank_capacity.__class__ in (int, float) and rank_capacity > 0:
            # the buffers of the dispatcher are made for that many tokens, whatever the router does
            self.imbalance_high = max(self.imbalance, float(rank_capacity))

    def _loss(self, r: Reader) -> None:
        fused = r.flag("model.cross_entropy_loss_fusion")
        self.cross_entropy = r.text("model.cross_entropy_fusion_impl", "native") if fused else "unfused"
        self.defer_wgrad = r.flag("model.defer_embedding_wgrad_compute")
        limit = r.value("model.wgrad_deferral_limit", 0)
        self.defer_limit = limit if limit.__class__ is int and limit > 0 else 0

    def _precision(self, r: Reader) -> None:
        half = {"bf16": r.flag("model.bf16"), "fp16": r.flag("model.fp16")}
        self.half = next((name for name, on in half.items() if on), "")
        # bytes of an element of the residual stream and of everything that is not quantised
        self.element = 2 if self.half else 4
        self.fp8 = bool(r.value("model.fp8", None))
        self.fp4 = bool(r.value("model.fp4", None))
        self.fp8_recipe = r.text("model.fp8_recipe", "tensorwise") if self.fp8 else ""
        self.fp8_params = self.fp8 and (r.flag("model.fp8_param") or r.flag("ddp.fp8_param_gather"))
        self.fp4_params = self.fp4 and (r.flag("model.fp4_param") or r.flag("ddp.fp4_param_gather"))
        self.reuse_gradients = r.flag("ddp.reuse_grad_buf_for_mxfp8_param_ag")
        self.transpose_dropped = r.flag("model.disable_parameter_transpose_cache")
        self.fused_gradients = r.flag("model.gradient_accumulation_fusion", True)
        self.gradients = 4 if not self.half or r.flag("ddp.grad_reduce_in_fp32") else 2

    def _optimizer(self, r: Reader) -> None:
        self.distributed = r.flag("ddp.use_distributed_optimizer")
        self.instances = r.number("ddp.num_distributed_optimizer_instances", 1)
        self.optimizer = r.text("optimizer.optimizer", "adam")
        self.muon = "muon" in self.optimizer
        self.layer_wise = self.muon and (self.distributed or self.optimizer.startswith("dist_") or r.flag("optimizer.use_layer_wise_distributed_optimizer"))
        self.precision_aware = r.flag("optimizer.use_precision_aware_optimizer")
        self.moments = tuple(_width(r.text(f"optimizer.{name}", "fp32")) for name in ("exp_avg_dtype", "exp_avg_sq_dtype"))
        self.main_width = _width(r.text("optimizer.main_params_dtype", "fp32"))
        recipe = r.value("optimizer.fp8_recipe", None)
        self.decoupled = self.precision_aware and (self.main_width != 4 or recipe in (None, "delayed") or r.flag("optimizer.optimizer_cpu_offload"))
        self.remainders = r.flag("optimizer.store_param_remainders", True)
        self.offloaded = 0.0
        self.host_optimizer = r.flag("optimizer.optimizer_cpu_offload")
        if self.host_optimizer:
            self.offloaded = r.factor("optimizer.optimizer_offload_fraction", 1.0)
        self.fsdp = ""
        if r.flag("ddp.use_megatron_fsdp") or r.flag("dist.use_megatron_fsdp") or r.flag("ddp.use_custom_fsdp"):
            self.fsdp = r.text("ddp.data_parallel_sharding_strategy", "no_shard")
        elif r.flag("dist.use_torch_fsdp2"):
            self.fsdp = "torch"
        given = r.value("ddp.megatron_fsdp_main_grads_dtype", None) if self.fsdp else None
        self.fsdp_gradients = 0 if given is None else _width(str(given).rpartition(".")[2])
        self.outer_sharding = r.text("ddp.outer_dp_sharding_strategy", "no_shard")
        target = r.raw("peft._target_")
        self.adapter = target.rpartition(".")[2] if target.__class__ is str else ""
        if not self.adapter and r.raw("peft").__class__ is dict:
            self.adapter = "LoRA"
        if self.adapter:
            self.adapter_rank = r.number("peft.dim", 32)
            self.adapter_targets = r.names("peft.target_modules") or ("linear_qkv", "linear_proj", "linear_fc1", "linear_fc2")
            self.adapter_regather = r.flag("peft.sequence_parallel_input_regather")

    def _saving(self, r: Reader) -> None:
        self.recompute = r.text("model.recompute_granularity", "")
        self.recompute_modules = frozenset(r.names("model.recompute_modules") or ("core_attn",)) if self.recompute == "selective" else frozenset()
        self.recompute_method = r.text("model.recompute_method", "uniform") if self.recompute == "full" else ""
        self.recompute_layers = r.number("model.recompute_num_layers", 1) if self.recompute == "full" else 0
        self.saved_split = r.flag("model.distribute_saved_activations")
        self.offload_modules = frozenset(r.names("model.offload_modules")) if r.flag("model.fine_grained_activation_offloading") else frozenset()
        self.offload_fraction = r.factor("model.activation_offload_fraction", 1.0) if self.offload_modules else 1.0
        self.offload_layers = 0
        if r.flag("model.cpu_offloading"):
            self.offload_layers = r.number("model.cpu_offloading_num_layers", 0)
        self.graphs = r.text("model.cuda_graph_impl", "none")
        self.graph_modules = frozenset(r.names("model.cuda_graph_modules") or r.names("model.cuda_graph_scope")) if self.graphs != "none" else frozenset()
        # steps without graphs before they are captured
        steps = r.value("model.cuda_graph_warmup_steps", 3) if self.graphs != "none" else 3
        self.graph_warmup = steps if steps.__class__ is int else 3
        self.tp_overlap = self.tp > 1 and r.flag("model.tp_comm_overlap")
        self.expandable = "expandable_segments:True" in r.environment("PYTORCH_CUDA_ALLOC_CONF")

    def _gpu(self, r: Reader) -> None:
        name = r.run.missing("gpu.name")
        self.gpu = name if name.__class__ is str else ""
        major = r.run.missing("gpu.capability_major")
        self.architecture = major if major.__class__ is int else 0
        self.cublas = r.environment("CUBLAS_WORKSPACE_CONFIG")


def _width(dtype: str) -> int:
    """Bytes of one element of an optimizer dtype."""
    return {"fp32": 4, "float32": 4, "bf16": 2, "bfloat16": 2, "fp16": 2, "float16": 2}.get(dtype, 1 if dtype.startswith(("fp8", "uint8")) else 4)
