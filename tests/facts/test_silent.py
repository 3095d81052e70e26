"""What the user set and Bridge replaces without refusing it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.facts.context import Facts

Make = Callable[..., Facts]


def fields(found: Facts) -> list[tuple[str, Any, Any]]:
    return [(item["field"], item["written"], item["becomes"]) for item in found["silent.replaced"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model: {apply_query_key_layer_scaling: true, attention_softmax_in_fp32: false}\n", [("model.attention_softmax_in_fp32", False, True)]),
        ("model: {apply_query_key_layer_scaling: true, attention_softmax_in_fp32: true}\n", []),
        ("model: {apply_query_key_layer_scaling: true, attention_softmax_in_fp32: null}\n", []),
        # whether it is replaced is unknown
        ("model: {attention_softmax_in_fp32: false}\n", []),
        # rules of their own
        ("model: {tensor_model_parallel_size: 1, sequence_parallel: true}\n", []),
        ("mixed_precision: bf16_mixed\nmodel: {tensor_model_parallel_size: 1, fp8: hybrid}\n", []),
        ("model: {moe_expert_capacity_factor: -1}\n", []),
    ],
)
def test_what_is_replaced(facts: Make, text: str, expected: list[tuple[str, Any, Any]]) -> None:
    assert fields(facts(text)) == expected


def test_where_it_is_decided(facts: Make) -> None:
    text = "tokenizer:\n  tokenizer_hf_no_use_fast: true\n  trust_remote_code: true\n  hf_tokenizer_kwargs: {use_fast: true, trust_remote_code: false}\n"
    found = {item["field"]: (item["decider"], item["wanted"]) for item in facts(text)["silent.replaced"]}
    assert found == {
        "tokenizer.tokenizer_hf_no_use_fast": ("tokenizer.hf_tokenizer_kwargs.use_fast", False),
        "tokenizer.trust_remote_code": ("tokenizer.hf_tokenizer_kwargs.trust_remote_code", True),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train: {train_iters: 9, eval_iters: 3}\n", [("train.eval_iters", 3, False)]),
        ("train: {train_iters: 9, eval_iters: 3}\nvalidation: {eval_iters: 3}\n", [("train.eval_iters", 3, False)]),
        ("train: {train_iters: 9, eval_iters: 3}\nvalidation: {eval_iters: 5}\n", [("train.eval_iters", 3, True)]),
        ("train: {train_iters: 9, eval_iters: null}\nvalidation: {eval_iters: 5}\n", []),
    ],
)
def test_evaluation_settings_at_their_old_place(facts: Make, text: str, expected: list[tuple[str, Any, bool]]) -> None:
    found = facts(text)
    assert [(item["old"], item["value"], item["contradicted"]) for item in found["silent.moved_evaluation"]] == expected
    assert fields(found) == []
