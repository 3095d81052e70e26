"""Layers of a stage, and microbatches alive at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.config.run import Run
from lclint.memory.estimate import estimate
from lclint.memory.inputs import Inputs
from lclint.memory.schedule import alive, layer_kinds, stages


def layers(run: Run) -> list[list[int]]:
    return [[chunk.layers for chunk in chunks] for chunks in stages(Inputs(run))]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [[16]]),
        ({"pipeline_model_parallel_size": 4}, [[4], [4], [4], [4]]),
        ({"pipeline_model_parallel_size": 4, "num_virtual_stages_per_pipeline_rank": 2}, [[2, 2]] * 4),
        ({"pipeline_model_parallel_size": 4, "decoder_first_pipeline_num_layers": 2, "decoder_last_pipeline_num_layers": 4}, [[2], [5], [5], [4]]),
        (
            {"num_layers": 14, "pipeline_model_parallel_size": 4, "account_for_embedding_in_pipeline_split": True, "account_for_loss_in_pipeline_split": True},
            [[3], [4], [4], [3]],
        ),
        ({"pipeline_model_parallel_size": 2, "pipeline_model_parallel_layout": "Et*3|(tt|)*6tL"}, [[3, 2, 2, 2], [2, 2, 2, 1]]),
        ({"pipeline_model_parallel_size": 2, "hybrid_layer_pattern": "M-M*|M-", "num_layers": None}, [[4], [2]]),
    ],
)
def test_layers_of_each_stage(small: Callable[..., Run], changes: dict[str, Any], expected: list[list[int]]) -> None:
    assert layers(small(8, **changes)) == expected


@pytest.mark.parametrize(
    ("pp", "virtual", "microbatches", "stage", "expected"),
    [
        (4, 1, 64, 0, [4]),
        (4, 1, 64, 3, [1]),
        # fewer microbatches than stages
        (8, 1, 4, 0, [4]),
        (8, 1, 4, 6, [2]),
        # interleaved: (V - 1) PP + 2 (PP - stage - 1) + 1 chunk passes
        (4, 2, 64, 0, [7, 4]),
        (4, 2, 64, 3, [4, 1]),
        (4, 4, 64, 3, [4, 4, 4, 1]),
        # no more than there are
        (4, 4, 4, 0, [4, 4, 4, 4]),
    ],
)
def test_microbatches_alive(small: Callable[..., Run], pp: int, virtual: int, microbatches: int, stage: int, expected: list[int]) -> None:
    run = small(pp, pipeline_model_parallel_size=pp, num_virtual_stages_per_pipeline_rank=virtual, global_batch_size=microbatches)
    assert alive(Inputs(run), stage, virtual) == expected


def test_the_expert_overlap_runs_one_ahead(small: Callable[..., Run]) -> None:
    run = small(4, kind="experts", pipeline_model_parallel_size=4, overlap_moe_expert_parallel_comm=True)
    assert alive(Inputs(run), 3, 1) == [2]


def test_kinds_follow_the_frequencies(small: Callable[..., Run]) -> None:
    m = Inputs(small(8, kind="experts", num_layers=4, moe_layer_freq="([0]*1+[1]*3)"))
    assert [feed for _, feed in layer_kinds(m)] == ["dense", "moe", "moe", "moe"]


def test_stages_of_a_1f1b_pipeline_differ_by_one_microbatch(small: Callable[..., Run]) -> None:
    found = estimate(small(4, pipeline_model_parallel_size=4)).stages
    kept = [stage.components["attention"] + stage.components["mlp"] for stage in found]
    assert kept == [kept[3] * count for count in (4, 3, 2, 1)]


@pytest.mark.parametrize("absurd", [{"num_layers": 10**9}, {"pipeline_model_parallel_size": 10**9}, {"num_virtual_stages_per_pipeline_rank": 10**9}])
def test_absurd_numbers_are_no_work(small: Callable[..., Run], absurd: dict[str, Any]) -> None:
    assert estimate(small(8, **absurd)).verdict == "unknown"
