"""Keys and values against the field tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.config.keys import check
from lclint.config.run import Run

Make = Callable[..., Run]


def found(run: Run, kind: str, *keys: str) -> list[Any]:
    records = check(run)[kind]
    return [tuple(record[key] for key in keys) if len(keys) > 1 else record[keys[0]] for record in records]


def test_unknown_keys(run_of: Make) -> None:
    run = run_of("model: {tp: 2, hidden_sise: 4, zzz: 1, moe_router_topk: 2}\n")
    assert found(run, "unknown", "path", "suggestion", "taken") == [
        ("model.hidden_sise", "hidden_size", False),
        ("model.tp", "tensor_model_parallel_size", False),
        ("model.zzz", None, False),
    ]
    run = run_of("model: {tp: 2, tensor_model_parallel_size: 4}\n")
    assert found(run, "unknown", "path", "taken") == [("model.tp", True)]


def test_misplaced_keys(run_of: Make) -> None:
    run = run_of("model: {manual_gc: true, use_distributed_optimizer: true, moe_router_topk: 2}\n")
    assert found(run, "misplaced", "path", "only") == [("model.manual_gc", "train"), ("model.use_distributed_optimizer", None)]


def test_sections(run_of: Make) -> None:
    run = run_of("modle: {num_layers: 2}\nmodel: {moe_router_topk: 2}\nsomething: {x: 1}\n")
    assert found(run, "section", "path", "suggestion") == [("modle", "model")]


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("num_layers: '8'", "text"),
        ("num_layers: [8]", "a list"),
        ("num_layers: 8.5", "a number with a fraction"),
        ("num_layers: 8.0", "a float"),
        ("sequence_parallel: 'yes'", "text"),
        ("tensor_model_parallel_size: null", "null"),
        ("recompute_modules: mlp", "text"),
    ],
)
def test_wrong_types(run_of: Make, field: str, kind: str) -> None:
    assert found(run_of(f"model: {{{field}, moe_router_topk: 2}}"), "type", "kind") == [kind]


@pytest.mark.parametrize("field", ["sequence_parallel: 1", "params_dtype: torch.bfloat16", "recompute_modules: null", "layernorm_epsilon: 1"])
def test_right_types(run_of: Make, field: str) -> None:
    assert found(run_of(f"model: {{{field}, moe_router_topk: 2}}"), "type", "path") == []


def test_choices(run_of: Make) -> None:
    run = run_of("model: {fp8_amax_compute_algo: most_recnt, moe_token_drop_policy: probs}")
    assert found(run, "choice", "path", "suggestion", "whole") == [("model.fp8_amax_compute_algo", "most_recent", True)]


def test_none_as_text(run_of: Make) -> None:
    assert found(run_of("model: {recompute_granularity: None, moe_router_topk: 2}"), "none_text", "path") == ["model.recompute_granularity"]


def test_a_class_that_the_tables_lack_says_nothing(run_of: Make) -> None:
    run = run_of("model: {_target_: my.Provider, zzz: 1, num_layers: x}\ntrain: {micro_batch_size: 1}\n")
    assert all(not records for records in check(run).values())


def test_overrides_are_looked_at_and_a_base_is_not(run_of: Make) -> None:
    run = run_of("model: {moe_router_topk: 2}", base="model: {zzz: 1, moe_router_topk: 2}", sets=["++model.yyy=1"])
    assert found(run, "unknown", "path") == ["model.yyy"]
