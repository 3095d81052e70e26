"""The configuration that a log prints."""

from __future__ import annotations

import pytest

from lclint.crash.names import fields_of, value_of
from lclint.crash.summary import diagnose_text

ROW = "  {} {} {}"
BEGIN = "------------------------ arguments ------------------------"
END = "-------------------- end of arguments ---------------------"


def row(name: str, value: object) -> str:
    return ROW.format(name, "." * (48 - len(name)), value)


def test_arguments() -> None:
    rows = [
        row("num_experts", 64),
        row("micro_batch_size", 2),
        row("recompute_modules", "['core_attn', 'moe_act']"),
        row("lr", 0.0003),
        row("virtual_pipeline_model_parallel_size", None),
        row("use_distributed_optimizer", True),
        row("world_size", 16),
        row("swiglu", True),
        "  overlap_param_gather_with_optimizer_step_in_bf16_x  False",
        "WARNING: another process prints between the rows",
        row("num_layers", 4),
    ]
    crash = diagnose_text("\n".join([BEGIN, *rows, END, row("hidden_size", 8)]))
    assert crash.settings == {
        "model.num_moe_experts": 64,
        "train.micro_batch_size": 2,
        "model.recompute_modules": ["core_attn", "moe_act"],
        "optimizer.lr": 0.0003,
        "model.virtual_pipeline_model_parallel_size": None,
        "ddp.use_distributed_optimizer": True,
        "optimizer.use_distributed_optimizer": True,
        "model.gated_linear_unit": True,
        "model.num_layers": 4,
        "model.hidden_size": 8,
    }
    assert crash.world_size == 16
    assert crash.setting_lines["model.num_moe_experts"] == 2


def test_a_part_of_the_arguments_behind_a_label() -> None:
    crash = diagnose_text("\n".join(" 0: " + row(name, value) for name, value in (("seq_length", 4096), ("bf16", True))))
    assert crash.settings == {"model.seq_length": 4096, "model.bf16": True, "optimizer.bf16": True}


def test_summary_of_what_is_not_default() -> None:
    crash = diagnose_text(
        """
======================================================================
Configuration Summary (Non-Default Values vs Megatron Core)
======================================================================

[model] Non-default values (vs Mcore TransformerConfig):
  moe_router_dtype: 'fp32'  (Mcore default: None)
  params_dtype: torch.bfloat16  (Mcore default: torch.float32)
  moe_layer_freq: [0, 1, 1]  (Mcore default: 1)

----------------------------------------------------------------------
Other Configuration Values:
----------------------------------------------------------------------

[train]:
  global_batch_size: 64

======================================================================
  global_batch_size: 128
"""
    )
    assert crash.defaults_known
    assert crash.settings == {"model.moe_router_dtype": "fp32", "model.params_dtype": "bf16", "model.moe_layer_freq": [0, 1, 1], "train.global_batch_size": 64}


DUMP = """checkpoint:
  _target_: megatron.bridge.training.config.CheckpointConfig
  async_save: false
  load: null
ddp:
  _target_: megatron.bridge.training.config.DistributedDataParallelConfig
  grad_reduce_in_fp32: true
model:
  _target_: megatron.bridge.models.llama.llama_provider.LlamaModelProvider
  attention_backend:
    _args_:
    - 5
    _call_: true
    _target_: megatron.core.transformer.enums.AttnBackend
  params_dtype:
    _call_: false
    _target_: torch.bfloat16
  recompute_modules:
  - core_attn
  seq_length: 131072
peft: null
train:
  _target_: megatron.bridge.training.config.TrainingConfig
  micro_batch_size: 1

----------------------------------
"""


def test_yaml_dump() -> None:
    crash = diagnose_text(DUMP)
    assert crash.settings["model.seq_length"] == 131072
    assert crash.settings["model.recompute_modules"] == ["core_attn"]
    assert crash.settings["model.params_dtype"] == "bf16"
    assert crash.settings["checkpoint.load"] is None
    assert crash.settings["ddp.grad_reduce_in_fp32"] is True


def test_yaml_dump_with_a_line_that_is_no_yaml() -> None:
    crash = diagnose_text(DUMP.replace("  async_save: false\n", "  async_save: false\n  }{ : from elsewhere\n"))
    assert crash.settings["train.micro_batch_size"] == 1


def test_other_yaml_is_no_dump() -> None:
    assert diagnose_text("model:\n  seq_length: 4\n").settings == {}


def test_dict_of_verl() -> None:
    crash = diagnose_text(
        "(Worker pid=3) {'num_layers': 4, 'hidden_size': 8, 'f': <function silu at 0x7f>, 'pipeline_dtype': torch.bfloat16, 'moe_layer_freq': [0, 1], "
        "'virtual_pipeline_model_parallel_size': None, 'rope': {'a': 1}} [repeated 15x across cluster]"
    )
    assert crash.settings["model.num_layers"] == 4
    assert crash.settings["model.moe_layer_freq"] == [0, 1]
    assert crash.settings["model.virtual_pipeline_model_parallel_size"] is None


def test_launch_command() -> None:
    crash = diagnose_text(
        "+ torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 4 --micro-batch-size=2 --sequence-parallel --lr 1e-4\n"
        "python scripts/train.py --recipe x model.context_parallel_size=2 checkpoint.save=/ckpt\n" + row("micro_batch_size", 8)
    )
    assert crash.settings["model.tensor_model_parallel_size"] == 4
    assert crash.settings["model.sequence_parallel"] is True
    assert crash.settings["model.context_parallel_size"] == 2
    # a dump goes before the command
    assert crash.settings["train.micro_batch_size"] == 8


def test_layout_line() -> None:
    crash = diagnose_text(
        "using world size: 64, data-parallel size: 2, context-parallel size: 2, tensor-model-parallel size: 4, pipeline-model-parallel size: 4"
    )
    assert crash.world_size == 64
    assert crash.settings["model.pipeline_model_parallel_size"] == 4


def test_values() -> None:
    assert [value_of(text) for text in ("None", "true", "3", "1e-05", "'a'", "a b", "[1, 'x']", "torch.float32", "(1, 2)")] == [
        None,
        True,
        3,
        1e-05,
        "a",
        "a b",
        [1, "x"],
        "fp32",
        [1, 2],
    ]
    assert fields_of("no_such_argument") == []


@pytest.mark.parametrize(
    "prefix",
    ["", "[default0]:", " 0: ", "[1,0]<stdout>:", "(Worker pid=7) ", "2026-04-04T04:04:04Z ", "p4/0 ", "[80746] ", "worker-0 | ", "[default0]:[rank0]: "],
)
def test_indentation_behind_prefixes(prefix) -> None:
    rows = [BEGIN, row("num_layers", 4), "  overlap_param_gather_with_optimizer_step_in_bf16_x  False", END, *DUMP.splitlines()]
    crash = diagnose_text("\n".join(prefix + line for line in rows))
    assert crash.settings["model.num_layers"] == 4
    assert crash.settings["train.micro_batch_size"] == 1
    assert crash.settings["model.recompute_modules"] == ["core_attn"]


def test_a_config_that_verl_prints() -> None:
    crash = diagnose_text(
        "(TaskRunner pid=3) {'actor_rollout_ref': {'actor': {'megatron': {'context_parallel_size': 2,\n(TaskRunner pid=3)   'tensor_model_parallel_size': 4},"
    )
    assert crash.settings["model.tensor_model_parallel_size"] == 4


@pytest.mark.parametrize(
    ("log", "want"),
    [
        (
            "torchrun \\\n  --nproc_per_node 8 \\\n  pretrain_gpt.py \\\n  --tensor-model-parallel-size 4 \\\n  --sequence-parallel\ntraining ...\n",
            {"model.tensor_model_parallel_size": 4, "model.sequence_parallel": True},
        ),
        (
            "+ srun python run.py 'model.recompute_modules=[core_attn,mlp]' ++train.micro_batch_size=2\n",
            {"model.recompute_modules": ["core_attn", "mlp"], "train.micro_batch_size": 2},
        ),
        (
            "GPTModelProvider(tensor_model_parallel_size=4, sequence_parallel=True, num_layers=32, hidden_size=4096, recompute_modules=['core_attn'], "
            "params_dtype=torch.bfloat16, activation_func=<function silu at 0x7f>)\n",
            {"model.tensor_model_parallel_size": 4, "model.num_layers": 32, "model.recompute_modules": ["core_attn"], "model.params_dtype": "bf16"},
        ),
        (
            "{'actor_rollout_ref': {'actor': {'megatron': {'context_parallel_size': 2,\n                    'expert_model_parallel_size': 8,\n",
            {"model.context_parallel_size": 2, "model.expert_model_parallel_size": 8},
        ),
    ],
)
def test_other_forms(log, want) -> None:
    found = diagnose_text(log).settings
    assert {field: found.get(field) for field in want} == want


def test_the_recipe_of_a_launch_command() -> None:
    assert diagnose_text("+ torchrun run_recipe.py --recipe llama3_8b_pretrain_config train.micro_batch_size=2\n").recipe == "llama3_8b_pretrain_config"
    assert diagnose_text("see --recipe NAME in the manual\n").recipe is None
