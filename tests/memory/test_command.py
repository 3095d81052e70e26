"""``lclint memory`` as users run it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

ARGUMENTS = """\
MODEL_ARGS:
  --num-layers: 16
  --hidden-size: 2048
  --num-attention-heads: 16
  --pipeline-model-parallel-size: 2
  --seq-length: 4096
  --micro-batch-size: 1
  --global-batch-size: 64
  --vocab-size: 32000
  --bf16: true
  --swiglu: true
  --disable-bias-linear: true
  --position-embedding-type: rope
  --use-distributed-optimizer: true
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "args.yaml").write_text(ARGUMENTS)
    return "args.yaml"


def test_text(cli: Callable[..., Any], config: str, snapshot: Any) -> None:
    done = cli("memory", config, "--gpu", "h100", "--gpus", "8")
    assert (done.status, done.err) == (0, "")
    assert done.out == snapshot


def test_what_if(cli: Callable[..., Any], config: str, snapshot: Any) -> None:
    done = cli("memory", config, "--gpu", "h100", "--gpus", "8", "--what-if", "model.recompute_granularity=full", "--what-if", "train.micro_batch_size=2")
    assert (done.status, done.err) == (0, "")
    assert done.out == snapshot


def test_json_holds_to_its_schema(cli: Callable[..., Any], config: str, checkout: Path) -> None:
    schema = json.loads((checkout / "schemas" / "memory.schema.json").read_text())
    done = cli("memory", config, "--gpu", "h100", "--gpus", "8", "--format", "json", "--what-if", "model.context_parallel_size=2")
    data = json.loads(done.out)
    jsonschema.validate(data, schema)
    assert [stage["stage"] for stage in data["stages"]] == [0, 1]
    for stage in data["stages"]:
        assert stage["peak_bytes"] == sum(stage["components"].values())
    assert data["what_if"]["stages"][0]["peak_bytes"] < data["stages"][0]["peak_bytes"]


def test_html_is_one_page_that_loads_nothing(cli: Callable[..., Any], config: str, tmp_path: Path) -> None:
    done = cli("memory", config, "--gpu", "h100", "--gpus", "8", "--format", "html", "--output", "page.html", "--what-if", "train.micro_batch_size=2")
    assert (done.status, done.out) == (0, "")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count('class="bar"') == 4
    assert "dashed line: the GPU&#x27;s 79.1 GiB" in page or "dashed line: the GPU's 79.1 GiB" in page
    assert not re.search(r"https?:|<script|@import|url\(", page)


def test_a_path_is_escaped_in_html(cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "<b>.yaml").write_text(ARGUMENTS)
    page = cli("memory", "<b>.yaml", "--gpu", "h100", "--gpus", "8", "--format", "html").out
    assert "&lt;b&gt;.yaml" in page
    assert "<b>.yaml" not in page


def test_a_job_that_cannot_fit_ends_with_one(cli: Callable[..., Any], config: str) -> None:
    done = cli("memory", config, "--gpu", "h100", "--gpus", "8", "--set", "train.micro_batch_size=32", "--set", "train.global_batch_size=4096")
    assert done.status == 1
    assert "out of memory: stage 0 peaks at" in done.out


def test_without_the_gpu_there_is_no_verdict(cli: Callable[..., Any], config: str) -> None:
    done = cli("memory", config, "--gpus", "8")
    assert done.status == 0
    assert "no verdict: stage 0 peaks at" in done.out


def test_without_an_estimate_it_says_what_to_give(cli: Callable[..., Any], config: str) -> None:
    done = cli("memory", config, "--gpu", "h100")
    assert (done.status, done.out) == (2, "args.yaml: GPUs not given h100\nno estimate: give --gpus N\n")
    data = json.loads(cli("memory", config, "--gpu", "h100", "--format", "json").out)
    assert data["stages"] == []
    assert data["not_modelled"] == ["no estimate without cluster.gpus"]
    assert "no verdict: stage 0 peaks at" in cli("memory", config, "--gpus", "8").out
    assert "Give --gpu NAME for a" in cli("memory", config, "--gpus", "8").out
    assert "How much memory a" in cli("memory", config, "--gpus", "8", "--gpu", "vr200").out


OVERRIDES = """\
model:
  tensor_model_parallel_size: 3
  num_layers: 32
  hidden_size: 4096
  num_attention_heads: 32
  vocab_size: 32000
  seq_length: 4096
  pipeline_model_parallel_size: 1
  context_parallel_size: 1
train:
  micro_batch_size: 1
  global_batch_size: 48
"""


@pytest.fixture
def refused(tmp_path: Path) -> str:
    (tmp_path / "run.yaml").write_text(OVERRIDES)
    return "run.yaml"


def test_a_config_that_bridge_refuses_is_said_before_the_figures(cli: Callable[..., Any], refused: str) -> None:
    done = cli("memory", refused, "--gpu", "h100", "--gpus", "24")
    assert done.status == 1
    assert done.out.splitlines()[1].startswith("Megatron Bridge refuses this config: the figures are of a job that does not")
    assert "  - line 2: 32 attention heads do not split over TP 3" in done.out
    assert done.out.index("heads do not split") < done.out.index("peaks at")
    data = json.loads(cli("memory", refused, "--gpu", "h100", "--gpus", "24", "--format", "json").out)
    assert len(data["refused"]) == 1
    assert "heads-not-divisible" in cli("memory", refused, "--gpu", "h100", "--gpus", "24", "--format", "html").out


def test_a_change_that_makes_the_config_legal(cli: Callable[..., Any], refused: str) -> None:
    done = cli("memory", refused, "--gpu", "h100", "--gpus", "24", "--what-if", "model.tensor_model_parallel_size=4")
    assert "the changed config" not in done.out
    other = cli("memory", refused, "--gpu", "h100", "--gpus", "24", "--what-if", "train.global_batch_size=50")
    assert "Megatron Bridge refuses the changed config" in other.out


def test_numbers_that_no_memory_has_keep_the_table(cli: Callable[..., Any], refused: str) -> None:
    done = cli("memory", refused, "--gpu", "h100", "--gpus", "24", "--set", "model.tensor_model_parallel_size=2", "--set", "model.hidden_size=100000000")
    assert done.status == 1
    assert max(len(line) for line in done.out.splitlines()) <= 80


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--set", "model.tensor_model_parallell_size=2", "the config has no such key; did you mean model.tensor_model_parallel_size?"),
        ("--set", "model.tensor_model_parallel_size=[", "Hydra does not parse the override model.tensor_model_parallel_size=["),
        ("--what-if", "model.num_layers=[1", "Hydra does not parse the override model.num_layers=[1"),
        ("--what-if", "model.no_such_thing=3", "--what-if model.no_such_thing: there is no such field"),
        ("--what-if", "model.tensor_model_parallell_size=2", "did you mean model.tensor_model_parallel_size?"),
        ("--what-if", "model.micro_batch_size=2", "micro_batch_size is in train and dataset"),
    ],
)
def test_an_override_that_does_not_count_gives_no_figures(cli: Callable[..., Any], refused: str, option: str, value: str, message: str) -> None:
    done = cli("memory", refused, "--gpu", "h100", "--gpus", "24", option, value)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to estimate"),
        (["args.yaml", "args.yaml"], "one config at a time"),
        (["args.yaml", "--gpus", "8", "--what-if", "nonsense"], "--what-if nonsense: expected KEY=VALUE"),
        (["none.yaml"], "none.yaml"),
    ],
)
def test_slips_are_usage_errors(cli: Callable[..., Any], config: str, arguments: list[str], message: str) -> None:
    done = cli("memory", *arguments)
    assert done.status == 2
    assert message in done.err
