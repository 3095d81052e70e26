"""What is said of the key or value under the pointer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from lsprotocol import types

from lclint.core.options import Options
from lclint.memory.estimate import estimate
from lclint.per_file import PerFile
from lclint.server import hover, spots
from lclint.server.analysis import Analysis
from lclint.server.positions import Text

RECIPE = "# lclint: gpu=h100 gpus=32 recipe=llama3_70b_sft_32gpu_h100_bf16\n"
PRETRAINING = "# lclint: gpu=h100 gpus=8 recipe=llama3_8b_pretrain_8gpu_h100_bf16\n"


def said(text: str, **options: Any) -> str | None:
    """What is said where ``|`` stands in the text."""
    offset = text.index("|")
    analysis = Analysis("run.yaml", Text(text.replace("|", "", 1), "utf-16"), 1, PerFile(Options(**options)))
    assert analysis.document is not None
    spot = spots.at(analysis.document, offset)
    return None if spot is None else hover.text(analysis, spot)


def test_type_default_and_choices() -> None:
    text = said("model:\n  cuda_graph_|impl: transformer_engine\n")
    assert text is not None
    assert text.startswith("**model.cuda_graph_impl**")
    assert "One of `none`, `local`, `transformer_engine`, `full_iteration`; default `none`" in text
    assert "Type:" not in text
    # rules that read crash logs say nothing about a config
    assert "graph-memory" not in text
    assert "Here: `transformer_engine` (this file)" in text


def test_names_that_a_list_takes() -> None:
    text = said("model:\n  recompute_|modules: [mlp]\n")
    assert text is not None
    assert "Type: `list of str | null`; default `null`" in text
    assert re.search("Allowed: .*`core_attn`.*`null`", text)


@pytest.mark.parametrize(
    "text",
    [
        "model:\n  num_layers: |8\n  tensor_model_parallel_size: 1\n",
        "model: {tensor_model_parallel_size: 1, num_layers: 8|}\n",
        "model:\n  ? num_|layers\n  : 8\n  tensor_model_parallel_size: 1\n",
        '"model":\n  "num_layers": "|8"\n  tensor_model_parallel_size: 1\n',
    ],
)
def test_key_and_value_in_every_style(text: str) -> None:
    found = said(text)
    assert found is not None
    assert found.startswith("**model.num_layers**")


@pytest.mark.parametrize(
    "text", ["model:\n  num_layers: 8\n|", "# com|ment\nmodel: {num_layers: 8}\n", "model: {num_layers: 8}\nmine:\n  a|: 1\n", "model:\n  no_such_field|: 1\n"]
)
def test_nothing_is_said_of_what_is_not_known(text: str) -> None:
    assert said(text) is None


def test_what_bridge_makes_of_it() -> None:
    text = said("model:\n  tensor_model_parallel_size: 1\n  sequence_|parallel: true\n")
    assert text is not None
    assert re.search(r"Here: `false`, not `true` of this file: \S", text)


def test_a_value_that_only_the_recipe_knows() -> None:
    text = said(RECIPE + "model:\n  num_layers|: 80\n")
    assert text is not None
    assert "Here: `80` (this file)" in text


def test_the_effect_on_memory_is_that_of_the_estimate(run_of: Callable[..., Any]) -> None:
    text = said(PRETRAINING + "train:\n  micro_|batch_size: 1\n")
    assert text is not None
    shown = re.search(r"- `2`: ([+-][\d.]+) GiB, most of it (\w+) \(([+-][\d.]+) GiB\)", text)
    assert shown is not None, text
    one, two = (estimate(run_of(PRETRAINING + f"train:\n  micro_batch_size: {size}\n")).worst for size in (1, 2))
    assert float(shown[1]) == pytest.approx((two.peak_bytes - one.peak_bytes) / 2**30, abs=0.051)
    moved = {name: two.components[name] - one.components[name] for name in two.components}
    assert shown[2] == max(moved, key=lambda name: abs(moved[name]))
    assert float(shown[3]) == pytest.approx(moved[shown[2]] / 2**30, abs=0.051)


def test_no_effect_is_named_for_what_the_start_up_refuses() -> None:
    # 64 heads and 8 groups do not split over 3, and twice the size is more than the batch holds
    text = said(RECIPE + "model:\n  tensor_model_|parallel_size: 4\n")
    assert text is not None
    values = [int(value) for value in re.findall(r"^- `(\d+)`: ", text, re.MULTILINE)]
    assert all(64 % value == 0 for value in values)


def test_no_effect_without_a_model() -> None:
    text = said("train:\n  micro_batch_|size: 1\n  global_batch_size: 8\n")
    assert text is not None
    assert "GiB" not in text


def test_rules_that_read_it_are_linked() -> None:
    text = said("model:\n  cuda_graph_|impl: transformer_engine\n")
    assert text is not None
    links = re.findall(r"^- \[([a-z-]+)\]\(https://\S+/docs/rules/README\.md#\1\): \S", text, re.MULTILINE)
    assert 0 < len(links) <= hover.MOST_RULES


def test_an_environment_variable() -> None:
    text = said("model: {tensor_model_parallel_size: 2}\nenv_vars: {CUDA_DEVICE_MAX_|CONNECTIONS: 1}\n")
    assert text is not None
    assert "Here: `1` (this file)" in text
    assert "#connections-on-this-gpu" in text


def test_a_section() -> None:
    text = said("tra|in:\n  micro_batch_size: 1\n  global_batch_size: 8\n")
    assert text is not None
    assert "a section of Megatron Bridge 0.6's config" in text
    assert "2 of " in text
    text = said("train:\n  _target_: megatron.bridge.training.|config.TrainingConfig\n  micro_batch_size: 1\n")
    assert text is not None
    assert "Class: `megatron.bridge.training.config.TrainingConfig`" in text


def test_other_releases_have_their_own_fields() -> None:
    assert said("model:\n  num_layers: 8\n  cuda_graph_|modules: [attn]\n", bridge_version="0.3") is None


def test_a_text_cannot_break_out_of_its_code_span() -> None:
    assert hover.code("a`b\nc") == "``a`b c``"


def test_over_the_wire(editor: Callable[..., Any]) -> None:
    client = editor()
    uri = client.open("model:\n  num_layers: 8\n  tensor_model_parallel_size: 1\n")
    found = client.hover(uri, 1, 4)
    assert found.contents.kind is types.MarkupKind.Markdown
    assert found.contents.value.startswith("**model.num_layers**")
    assert found.range == types.Range(types.Position(1, 2), types.Position(1, 12))
