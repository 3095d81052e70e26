"""What is offered while typing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.core.options import Options
from lclint.per_file import PerFile
from lclint.server import completion
from lclint.server.analysis import Analysis
from lclint.server.positions import Text

GPT = "_target_: megatron.bridge.models.gpt_provider.GPTModelProvider"


def offered(text: str, **options: Any) -> dict[str, str]:
    """Labels and what is inserted for them, where ``|`` stands in the text; a dictionary keeps the order."""
    offset = text.index("|")
    value = Text(text.replace("|", "", 1), "utf-16")
    found = completion.complete(Analysis("run.yaml", value, 1, PerFile(Options(**options))), offset)
    if found is None:
        return {}
    result = {}
    for item in found.items:
        assert value.offset(item.text_edit.range.start) <= offset <= value.offset(item.text_edit.range.end)
        result[item.label] = item.text_edit.new_text
    return result


@pytest.mark.parametrize(
    "text",
    [
        "model:\n  num_layers: 8\n  context_par|\n",
        "model:\n  context_par|\n  num_layers: 8\n",
        "model:\n  num_layers: 8\n  context_par|",
        "model: {num_layers: 8, context_par|}\n",
        "model: {context_par|, num_layers: 8}\n",
        "model:\r\n  num_layers: 8\r\n  context_par|\r\ntrain: {}\r\n",
        "model:\n  num_layers: 8\n  context_par|   # here\n",
        "model:\n  num_layers: 8\n  context_par|\nbroken: [1,\n",
    ],
)
def test_a_key_in_every_style(text: str) -> None:
    assert offered(text)["context_parallel_size"] == "context_parallel_size: "


def test_the_colon_that_is_there_already() -> None:
    assert offered("model:\n  num_layers: 8\n  context_par|: 2\n")["context_parallel_size"] == "context_parallel_size"


def test_no_key_twice_and_what_begins_as_typed_first() -> None:
    keys = list(offered("model:\n  num_layers: 8\n  num_|\n"))
    assert "num_layers" not in keys
    assert keys[0].startswith("num_")
    assert "num_attention_heads" in keys


def test_an_empty_line() -> None:
    keys = offered(f"model:\n  {GPT}\n  num_layers: 8\n  |\ntrain: {{}}\n")
    assert "hidden_size" in keys
    assert "num_layers" not in keys
    assert "micro_batch_size" not in keys


def test_only_fields_of_the_class() -> None:
    mine = "mamba_num_heads"
    assert mine in offered("model:\n  num_layers: 8\n  mamba_num|\n")
    assert mine in offered(f"model:\n  {GPT}\n  num_layers: 8\n  mamba_num|\n")
    peft = "peft:\n  _target_: megatron.bridge.peft.lora.LoRA\n  |\nmodel: {num_layers: 8}\n"
    assert "target_modules" in offered(peft)
    assert not set(offered(peft)) & {"num_layers", "lr"}


def test_the_class_that_the_recipe_has() -> None:
    keys = offered("# lclint: recipe=llama3_70b_sft_32gpu_h100_bf16\npeft:\n  targ|\nmodel: {num_layers: 80}\n")
    assert "target_modules" in keys


def test_deprecated_and_computed_fields_are_not_offered() -> None:
    assert "cuda_graph_scope" not in offered("model:\n  num_layers: 8\n  cuda_graph_sc|\n")


def test_sections() -> None:
    sections = offered("model:\n  num_layers: 8\n|\n")
    assert sections["train"] == "train:"
    assert "model" not in sections


@pytest.mark.parametrize(
    "text", ["model:\n  cuda_graph_impl: |\n", "model: {cuda_graph_impl: l|}\n", 'model:\n  cuda_graph_impl: "l|"\n', "model:\n  cuda_graph_impl: l|oc # why\n"]
)
def test_values_of_an_enum(text: str) -> None:
    assert offered(text)["local"] == "local"


def test_values_of_a_switch_and_of_null() -> None:
    assert list(offered("model:\n  num_layers: 8\n  sequence_parallel: |\n")) == ["true", "false"]
    assert "null" in offered("model:\n  num_layers: 8\n  recompute_granularity: |\n")


def test_elements_of_a_list() -> None:
    assert "layernorm" in offered("model:\n  recompute_granularity: selective\n  recompute_modules: [core_attn, |]\n")
    assert "moe_act" in offered("model:\n  recompute_granularity: selective\n  recompute_modules:\n  - core_attn\n  - moe|\n")


def test_presets_and_classes() -> None:
    assert "bf16_with_mxfp8_mixed" in offered("model: {num_layers: 8}\nmixed_precision: bf16_w|\n")
    assert "megatron.bridge.models.gpt_provider.GPTModelProvider" in offered("model:\n  num_layers: 8\n  _target_: gpt|\n")


def test_the_header() -> None:
    assert set(offered("# lclint: |\nmodel: {num_layers: 8}\n")) >= {"gpu=", "gpus=", "recipe=", "ignore["}
    assert "gb200" in offered("# lclint: gpus=8 gpu=gb|\n")
    assert "llama3_70b_sft_32gpu_h100_bf16_config" in offered("# lclint: gpu=h100 recipe=llama3_70b|\n")
    assert "gpus=" not in offered("# lclint: gpus=8 |\n")


def test_rules_in_an_ignore() -> None:
    rules = offered("model:\n  num_layers: 8  # lclint: ignore[head|]\n")
    assert "heads-not-divisible-by-tensor-parallelism" in rules
    assert offered("model:\n  num_layers: 8  # lclint: ignore[other, head|\n").keys() == rules.keys()


@pytest.mark.parametrize(
    "text", ["services:\n  web: {|}\n", "services:\n  |\n", "|\n", "model: |\n", "a: [\n|", "# comment |\n", "model:\n  name: resnet\n  dep|\nother: 1\n"]
)
def test_nothing_where_nothing_is_known(text: str) -> None:
    assert offered(text) == {}


def test_over_the_wire(editor: Callable[..., Any]) -> None:
    client = editor()
    uri = client.open("model:\n  num_layers: 8\n  context_par\n")
    labels = [item.label for item in client.complete(uri, 2, 13)]
    assert labels[0].startswith("context_par")
    assert "context_parallel_size" in labels
