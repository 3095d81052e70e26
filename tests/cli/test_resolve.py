"""``lclint resolve`` from end to end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import lclint

Run = Callable[..., Any]

BASE = """\
mixed_precision: bf16_mixed
comm_overlap: null
model:
  _target_: megatron.bridge.models.gpt_provider.GPTModelProvider
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 1
  context_parallel_size: 1
  sequence_parallel: true
  fp8: null
  hidden_size: 4096
  num_attention_heads: 32
  kv_channels: null
train:
  _target_: megatron.bridge.training.config.TrainingConfig
  train_iters: 100
  global_batch_size: 8
  train_samples: null
scheduler:
  _target_: megatron.bridge.training.config.SchedulerConfig
  max_steps: null
  lr_decay_iters: null
"""
RUN = """\
model:
  tensor_model_parallel_size: 1
  fp8: hybrid  # hopeful
"""


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    (tmp_path / "base.yaml").write_text(BASE, encoding="utf-8")
    file = tmp_path / "run.yaml"
    file.write_text(RUN, encoding="utf-8")
    return file


def test_what_the_user_wrote_and_what_becomes_of_it(cli: Run, conf: Path) -> None:
    done = cli("resolve", "run.yaml", "--base", "base.yaml", "--gpus", "8", "--set", "train.train_iters=50")
    assert done.status == 0
    assert done.err == ""
    mine, others = done.out.split("Filled in by Bridge:")
    assert mine == (
        "run.yaml over base.yaml: 8 GPUs, Megatron Bridge 0.6\n"
        "\n"
        "Not as you wrote it:\n"
        "  model.fp8: null\n"
        "      Bridge: mixed_precision replaces it (training/mixed_precision.py:154); was\n"
        "      hybrid (line 3)\n"
        "\n"
        "Replaced by Bridge:\n"
        "  model.sequence_parallel: false\n"
        "      Bridge: TP is 1 (models/transformer_config.py:180); was true (base)\n"
        "\n"
        "As you wrote it:\n"
        "  model.tensor_model_parallel_size: 1\n"
        "      line 2\n"
        "  train.train_iters: 50\n"
        "      override train.train_iters=50\n"
        "\n"
    )
    assert "  scheduler.lr_decay_iters: 50\n      Bridge: as long as training (training/config.py:1636)\n" in others
    assert "model.hidden_size" not in others
    assert others.rstrip().endswith("(--all lists every one)")


def test_every_value(cli: Run, conf: Path) -> None:
    done = cli("resolve", "run.yaml", "--base", "base.yaml", "--all")
    assert done.status == 0
    assert "  model.hidden_size: 4096\n      base\n" in done.out
    assert "  mixed_precision.bf16: true\n      Bridge: the preset bf16_mixed\n" in done.out


def test_without_a_base_the_rest_is_unknown(cli: Run, conf: Path) -> None:
    done = cli("resolve", "run.yaml")
    assert done.status == 0
    assert "  model.fp8: unknown\n      written as hybrid (line 3); open here: mixed_precision replaces it" in done.out
    assert "--base or --recipe would say more" in done.out


def test_named_fields_and_sections(cli: Run, conf: Path) -> None:
    done = cli("resolve", "run.yaml", "--base", "base.yaml", "--field", "model.kv_channels", "--field", "train")
    assert done.status == 0
    fields = [line.split(":")[0].strip() for line in done.out.splitlines()[1:] if line.startswith("  ") and not line.startswith("   ")]
    assert fields == ["model.kv_channels", "train.global_batch_size", "train.train_iters", "train.train_samples"]
    assert "model.kv_channels: 128" in done.out


def test_a_field_that_the_config_lacks(cli: Run, conf: Path) -> None:
    assert "optimizer.lr: unknown\n      not in this config" in cli("resolve", "run.yaml", "--field", "optimizer.lr").out
    assert "optimizer.lr: not used\n      not in this config" in cli("resolve", "run.yaml", "--base", "base.yaml", "--field", "optimizer.lr").out


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("model.context_paralel_size", "did you mean model.context_parallel_size?"),
        ("context_parallel_size", "did you mean model.context_parallel_size?"),
        ("modle.hidden_size", "did you mean model.hidden_size?"),
        ("train.hidden_size", "did you mean model.hidden_size?"),
        ("no.such.thing", None),
    ],
)
def test_a_field_that_does_not_exist(cli: Run, conf: Path, name: str, hint: str | None) -> None:
    done = cli("resolve", "run.yaml", "--field", name)
    assert done.status == 2
    assert done.out == ""
    assert done.err == f"lclint: error: no such field: {name}" + (f" ({hint})" if hint else "") + "\n"


def test_json(cli: Run, conf: Path, checkout: Path) -> None:
    done = cli("resolve", "run.yaml", "--base", "base.yaml", "--gpus", "8", "--set", "train.train_iters=50", "--format", "json")
    assert done.status == 0
    report = json.loads(done.out)
    jsonschema.validate(report, json.loads((checkout / "schemas" / "resolve.schema.json").read_text(encoding="utf-8")))
    assert (report["path"], report["base"], report["kind"], report["cluster"]) == ("run.yaml", "base.yaml", "override", {"gpu": None, "gpus": 8})
    values = {value["field"]: value for value in report["values"]}
    assert values["model.fp8"] == {
        "field": "model.fp8",
        "state": "known",
        "value": None,
        "origin": "bridge",
        "written": {"value": "hybrid", "origin": "file", "path": "run.yaml", "line": 3, "column": 8},
        "override": None,
        "changed": True,
        "reasons": ["mixed_precision replaces it (training/mixed_precision.py:154)"],
    }
    assert values["train.train_iters"]["origin"] == "set"
    assert values["train.train_iters"]["override"] == "train.train_iters=50"


def test_every_state_is_in_the_schema(cli: Run, conf: Path, checkout: Path) -> None:
    schema = json.loads((checkout / "schemas" / "resolve.schema.json").read_text(encoding="utf-8"))
    for arguments in (["run.yaml"], ["--recipe", "llama3_8b_sft_8gpu_h100_bf16_config"], ["base.yaml", "model.recompute_modules=[mlp]"]):
        done = cli("resolve", *arguments, "--all", "--format", "json")
        assert done.status == 0, done.err
        jsonschema.validate(json.loads(done.out), schema)


def test_overrides_over_a_recipe(cli: Run) -> None:
    done = cli("resolve", "--recipe", "llama3_8b_sft_8gpu_h100_bf16_config", "--", "tokenizer.trust_remote_code=true")
    assert done.status == 0
    assert "  tokenizer.trust_remote_code: false\n      Bridge: hf_tokenizer_kwargs decides it" in done.out


def test_an_override_that_does_not_count_is_named(cli: Run, conf: Path) -> None:
    done = cli("resolve", "base.yaml", "--set", "model.hidden_sise=1")
    assert done.status == 0
    assert "Hydra refuses model.hidden_sise" in done.err


def test_standard_input_and_output_to_a_file(cli: Run, tmp_path: Path) -> None:
    done = cli("resolve", "-", "--output", "out.txt", stdin=BASE.encode())
    assert (done.status, done.out) == (0, "")
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").startswith("<stdin>: GPUs not given")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to resolve"),
        (["run.yaml", "base.yaml"], "one config at a time"),
        (["absent.yaml"], "absent.yaml"),
        (["other.yaml"], "not a Megatron Bridge config"),
        (["run.yaml", "--base", "base.yaml", "--recipe", "llama3_8b_sft_8gpu_h100_bf16_config"], "--base and --recipe are both given"),
    ],
)
def test_what_cannot_be_resolved(cli: Run, conf: Path, arguments: list[str], message: str) -> None:
    conf.with_name("other.yaml").write_text("on: push\njobs: {}\n", encoding="utf-8")
    done = cli("resolve", *arguments)
    assert done.status == 2
    assert message in done.err


def test_from_python(conf: Path) -> None:
    report = lclint.resolve(conf, fields=["model.sequence_parallel"], base=str(conf.with_name("base.yaml")))
    (value,) = report.values
    assert (value.value, value.was, value.changed, value.place.origin) == (False, True, True, "base")
    assert lclint.resolve({"model": {"tensor_model_parallel_size": 1, "sequence_parallel": True}}).values
