"""Which data a config names, and how they are packed and padded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.context import Facts

SFT = "dataset:\n  _target_: megatron.bridge.data.builders.gpt_sft.GPTSFTDatasetConfig\n"
VLM = "dataset:\n  _target_: megatron.bridge.data.builders.mock_vlm_sft.MockVLMSFTDatasetConfig\n"
PRETRAIN = "dataset:\n  _target_: megatron.bridge.training.config.GPTDatasetConfig\n"


def test_classes(facts: Callable[..., Facts]) -> None:
    found = facts(SFT + "  enable_offline_packing: true\n")
    assert found["classes.dataset"] == "GPTSFTDatasetConfig"
    assert (found["data.is_sft"], found["data.is_text_sft"], found["data.is_collated"], found["data.is_pretraining"]) == (True, True, False, False)
    assert found["classes.model"] is UNKNOWN


@pytest.mark.parametrize(
    ("text", "padded", "field"),
    [
        (SFT + "  dataset_kwargs: {pad_to_max_length: true}\n", True, "dataset.dataset_kwargs.pad_to_max_length"),
        (SFT + "  dataset_kwargs: {chat: true}\n", UNKNOWN, "dataset.dataset_kwargs.pad_to_max_length"),
        (VLM + "  pad_to_max_length: true\n", True, "dataset.pad_to_max_length"),
    ],
)
def test_padding(facts: Callable[..., Facts], text: str, padded: Any, field: str) -> None:
    found = facts(text)
    assert found["data.padded"] is padded
    assert found["data.padding_field"] == field


@pytest.mark.parametrize(
    ("specs", "there", "boundaries"),
    [
        ("null", False, NOT_APPLICABLE),
        ("{packed_sequence_size: 2048, pad_cu_seqlens: true}", True, True),
        ("{packed_sequence_size: 2048}", True, UNKNOWN),
    ],
)
def test_packing_specs(facts: Callable[..., Facts], specs: str, there: bool, boundaries: Any) -> None:
    found = facts(SFT + f"  offline_packing_specs: {specs}\n")
    assert found["data.specs"] is there
    assert found["data.pad_cu_seqlens"] is boundaries


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ("data_path: null; blend: null; blend_per_split: null", False),
        ("data_path: null; blend: null; blend_per_split: [null, null, null]", False),
        ("data_path: /data/a", True),
        ("blend: [[/data/a], null]", True),
    ],
)
def test_sources(facts: Callable[..., Facts], lines: str, named: Any) -> None:
    assert facts(PRETRAIN + "".join(f"  {line}\n" for line in lines.split("; ")))["data.sources"] is named


def test_sources_are_unknown_while_one_is(facts: Callable[..., Facts]) -> None:
    assert facts("dataset:\n  data_path: null\n  blend: null\n  split: 99,1,0\n")["data.sources"] is UNKNOWN


def test_weights_that_do_not_match_their_paths(facts: Callable[..., Facts]) -> None:
    found = facts(PRETRAIN + "  blend: null\n  blend_per_split: [[[/a, /b], [1.0]], null, null]\n")
    assert found["data.unequal_weights"] == ["dataset.blend_per_split[0]: 2 paths, 1 weights"]
    assert found["data.split_blends"] == 1


def test_hugging_face_sources(facts: Callable[..., Facts]) -> None:
    found = facts(
        SFT + "  hf_dataset: {dataset_name: sqad, path_or_dataset: null}\n  hf_validation_dataset: {dataset_name: gsm8k, path_or_dataset: null, split: test}\n"
    )
    first, second = found["data.hf_sources"]
    assert (first["field"], first["preset"], first["near"]) == ("dataset.hf_dataset", False, "squad")
    assert (second["preset"], second["wrong_split"], second["owned"]) == (True, False, False)


@pytest.mark.parametrize(("name", "missing"), [("gsm8k", ["validation"]), ("squad", ["test"]), ("cord_v2", []), ("rajpurkar/squad", [])])
def test_missing_splits(facts: Callable[..., Facts], name: str, missing: list[str]) -> None:
    assert facts(SFT + f"  hf_dataset: {{dataset_name: {name}}}\n")["data.missing_splits"] == missing


def test_keys_of_dataset_kwargs(facts: Callable[..., Facts]) -> None:
    found = facts(SFT + "  dataset_kwargs: {chat: true, label_key: x, batch_size: 4}\n")
    assert found["data.semantic_kwargs"] == ["chat", "label_key"]
    assert found["data.energon_kwargs"] == ["batch_size"]
