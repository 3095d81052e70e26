"""Candidate layouts: the nearest first, never one that cannot be."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import pytest

from lclint.config.run import Run
from lclint.layouts.neighbours import DEGREES, MOST_CANDIDATES, candidates

Make = Callable[..., Run]
TP, PP, CP, EP = (f"model.{name}_parallel_size" for name in ("tensor_model", "pipeline_model", "context", "expert_model"))


def text(**fields: Any) -> str:
    defaults = {"tensor_model_parallel_size": 4, "pipeline_model_parallel_size": 1, "context_parallel_size": 2, "num_attention_heads": 16, "moe_router_topk": 2}
    return (
        f"model: {{{', '.join(f'{key}: {value}' for key, value in {**defaults, **fields}.items())}}}\ntrain: {{micro_batch_size: 1, global_batch_size: 30}}\n"
    )


def test_the_nearest_comes_first(run_of: Make) -> None:
    found = [move[TP] for move in candidates(run_of(text(), gpus=32), (TP,))]
    assert found == [2, 8, 1, 16]


def test_degrees_divide_what_they_split(run_of: Make) -> None:
    run = run_of(text(num_moe_experts=12, expert_model_parallel_size=1), gpus=48)
    assert {move[EP] for move in candidates(run, (EP,))} == {2, 3, 4, 6, 12}
    assert all(48 % move[CP] == 0 for move in candidates(run, (CP,)))


def test_moves_of_several_fields(run_of: Make) -> None:
    moves = list(candidates(run_of(text(), gpus=32), (TP, CP)))
    sizes = [sum(abs(math.log2(value / {TP: 4, CP: 2}[field])) for field, value in move.items()) for move in moves]
    assert sizes == sorted(sizes)
    assert moves[0] == {TP: 2}
    assert {TP: 2, CP: 4} in moves
    assert {} not in moves
    assert len({tuple(sorted(move.items())) for move in moves}) == len(moves)


def test_every_field_of_many_can_move(run_of: Make) -> None:
    run = run_of(
        text(num_layers=32, num_moe_experts=64, expert_model_parallel_size=8, expert_tensor_parallel_size=1, virtual_pipeline_model_parallel_size=2), gpus=1024
    )
    fields = tuple(DEGREES)
    start = time.process_time()
    moves = list(candidates(run, fields))
    assert time.process_time() - start < 2
    assert len(moves) == MOST_CANDIDATES
    assert {field for move in moves for field in move} == set(fields)


@pytest.mark.parametrize("value", ["null", "wide", "0", "-4", "[]", "100000000000000000000"])
def test_odd_values(run_of: Make, value: str) -> None:
    run = run_of(text(num_layers=value, num_moe_experts=value, tensor_model_parallel_size=value, virtual_pipeline_model_parallel_size=value), gpus=8)
    for field in (*DEGREES, "model.num_layers", "train.global_batch_size", "model.seq_length", "train.micro_batch_size"):
        assert len(list(candidates(run, (field,)))) <= MOST_CANDIDATES


def test_batches_are_rounded_to_what_a_step_consumes(run_of: Make) -> None:
    found = [move["train.global_batch_size"] for move in candidates(run_of(text(), gpus=32), ("train.global_batch_size",))]
    assert found[0] == 32
    assert all(batch % 4 == 0 for batch in found)
    assert list(candidates(run_of(text()), ("train.global_batch_size",))) == []


def test_a_virtual_size_can_be_taken_away(run_of: Make) -> None:
    name = "model.virtual_pipeline_model_parallel_size"
    assert {name: None} in list(candidates(run_of(text(num_layers=8, virtual_pipeline_model_parallel_size=3), gpus=32), (name,)))


def test_no_fields_no_candidates(run_of: Make) -> None:
    assert list(candidates(run_of(text()), ())) == []


def test_a_size_beyond_all_floats_is_only_far_away(run_of: Any) -> None:
    run = run_of(f"model:\n  tensor_model_parallel_size: {2**2000}\n", gpus=8)
    assert {"model.tensor_model_parallel_size": 1} in list(candidates(run, ("model.tensor_model_parallel_size",)))
