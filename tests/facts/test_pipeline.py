"""Layers over pipeline stages: layouts, counts for the ends, hybrid patterns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.context import Facts

GPT = "model:\n  _target_: megatron.bridge.models.gpt_provider.GPTModelProvider\n"
HYBRID = "model:\n  _target_: megatron.bridge.models.hybrid.hybrid_provider.HybridModelProvider\n"


def test_split(facts: Callable[..., Facts]) -> None:
    assert facts(GPT)["pipeline.split"] == "even"
    assert facts(GPT + "  pipeline_model_parallel_layout: Et|tL\n")["pipeline.split"] == "layout"
    assert facts(GPT + "  num_layers_in_last_pipeline_stage: 3\n")["pipeline.split"] == "ends"
    assert facts(GPT + "  account_for_loss_in_pipeline_split: true\n")["pipeline.split"] == "accounted"
    assert facts("model:\n  num_layers: 4\n  pipeline_model_parallel_size: 2\n")["pipeline.split"] is UNKNOWN


def test_kind(facts: Callable[..., Facts]) -> None:
    assert facts(GPT)["pipeline.kind"] == "decoder"
    assert facts(HYBRID + "  hybrid_layer_pattern: M*\n")["pipeline.kind"] == "hybrid"
    assert facts("model:\n  num_layers: 4\n  pipeline_model_parallel_size: 2\n")["pipeline.kind"] is UNKNOWN


def test_middle(facts: Callable[..., Facts]) -> None:
    found = facts(GPT + "  num_layers: 61\n  pipeline_model_parallel_size: 8\n  num_layers_in_first_pipeline_stage: 7\n")
    assert (found["pipeline.middle_layers"], found["pipeline.middle_stages"]) == (54, 7)
    assert facts(GPT + "  account_for_loss_in_pipeline_split: true\n  num_layers: 61\n")["pipeline.counted_layers"] == 62


@pytest.mark.parametrize(
    ("layout", "fault", "detail"),
    [
        ("Et*2|t*2L", None, None),
        ("E,t,t|(t)*2L", None, None),
        ("[[embedding, decoder, decoder], [decoder, Decoder, loss]]", None, None),
        ("Et*2|t*3L", "decoders", "5"),
        ("Et*2|t|tL", "stages", "3"),
        ("t*2|t*2L", "first", "decoder"),
        ("Et*2|t*2", "last", "decoder"),
        ("EEt*2|t*2L", "once", "embedding"),
        ("Et*2|x*2L", "letter", "x"),
        ("E(t|t)*2|t*2L", "decoders", "6"),
        ("Et*999999999|L", "too-long", "t*999999999"),
        ("[[embedding, foo], [loss]]", "layer", "foo"),
        ("[embedding, loss]", "not-lists", ""),
        ("Et*2|t*2mL", "mtp-count", "1"),
    ],
)
def test_layout_fault(facts: Callable[..., Facts], layout: str, fault: Any, detail: Any) -> None:
    text = layout if layout[0] == "[" else f'"{layout}"'
    found = facts(GPT + f"  num_layers: 4\n  mtp_num_layers: null\n  pipeline_model_parallel_size: 2\n  pipeline_model_parallel_layout: {text}\n")
    assert found["pipeline.layout_fault"] == fault
    assert found["pipeline.layout_detail"] == detail


def test_layout_sets_virtual_stages(facts: Callable[..., Facts]) -> None:
    found = facts(GPT + "  pipeline_model_parallel_size: 2\n  virtual_pipeline_model_parallel_size: null\n  pipeline_model_parallel_layout: Et|t|t|tL\n")
    assert found["model.virtual_pipeline_model_parallel_size"] == 2
    assert found["pipeline.layout_stages"] == 4


def test_layout_without_counts_is_undecided(facts: Callable[..., Facts]) -> None:
    found = facts("model:\n  pipeline_model_parallel_size: 2\n  pipeline_model_parallel_layout: Et|tL\n")
    assert found["pipeline.layout_fault"] is UNKNOWN


@pytest.mark.parametrize(
    ("pattern", "fault", "layers", "segments", "depths"),
    [
        ("MEM*", None, 4, 1, 0),
        ("ME|M*/*E/*E", None, 4, 2, 2),
        ("ME|M*/", None, 4, 2, 0),
        ("MXE", "letter", NOT_APPLICABLE, NOT_APPLICABLE, NOT_APPLICABLE),
        ("M*D", "mixed-attention", NOT_APPLICABLE, NOT_APPLICABLE, NOT_APPLICABLE),
        ("ME/*/M", "mtp-differ", NOT_APPLICABLE, NOT_APPLICABLE, NOT_APPLICABLE),
    ],
)
def test_hybrid_pattern(facts: Callable[..., Facts], pattern: str, fault: Any, layers: Any, segments: Any, depths: Any) -> None:
    found = facts(HYBRID + f'  hybrid_layer_pattern: "{pattern}"\n')
    assert found["hybrid.fault"] == fault
    assert (found["hybrid.layers"], found["hybrid.segments"], found["hybrid.mtp_depths"]) == (layers, segments, depths)


def test_pattern_decides_layers(facts: Callable[..., Facts]) -> None:
    found = facts(HYBRID + "  num_layers: null\n  hybrid_layer_pattern: MEM*\n  mtp_hybrid_override_pattern: '*E'\n  mtp_num_layers: 2\n")
    assert found["model.num_layers"] == 4
    assert found["model.hybrid_layer_pattern"] == "MEM*/*E/*E"
