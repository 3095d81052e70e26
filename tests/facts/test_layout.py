"""How GPUs are divided, with what is not given left open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.context import Facts

SIZES = "model:\n  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 4\n  context_parallel_size: {cp}\n"


@pytest.mark.parametrize(
    ("cp", "gpus", "dp"),
    [(1, 64, 8), (2, 64, 4), (3, 64, NOT_APPLICABLE), (0, 64, NOT_APPLICABLE), (1, None, UNKNOWN)],
)
def test_data_parallel_size(facts: Callable[..., Facts], cp: int, gpus: int | None, dp: Any) -> None:
    assert facts(SIZES.format(cp=cp), gpus=gpus)["layout.dp"] == dp


def test_evaluation_with_its_own_context_parallel_size(facts: Callable[..., Facts]) -> None:
    text = SIZES.format(cp=4)
    assert facts(text + "dist:\n  eval_context_parallel_size: 1\n", gpus=64)["layout.eval_dp"] == 8
    assert facts(text + "dist:\n  eval_context_parallel_size: null\n", gpus=64)["layout.eval_dp"] == 2
    assert facts(text + "dist:\n  eval_context_parallel_size: 3\n", gpus=64)["layout.eval_dp"] is NOT_APPLICABLE
    assert facts(text, gpus=64)["layout.eval_dp"] is UNKNOWN


@pytest.mark.parametrize(
    ("batch", "decrease", "microbatches"),
    [(64, "false", 8), (65, "false", NOT_APPLICABLE), (65, "true", 8), (0, "false", NOT_APPLICABLE)],
)
def test_microbatches(facts: Callable[..., Facts], batch: int, decrease: str, microbatches: Any) -> None:
    train = f"train:\n  global_batch_size: {batch}\n  micro_batch_size: 1\n  decrease_batch_size_if_needed: {decrease}\n"
    assert facts(SIZES.format(cp=1) + train, gpus=64)["layout.microbatches"] == microbatches


def test_language_model_on_gpus_of_its_own(facts: Callable[..., Facts]) -> None:
    text = SIZES.format(cp=1) + "  dist_train:\n    use_dist_train: true\n    language_world_size: 32\n"
    assert facts(text, gpus=64)["layout.gpus"] == 32
    assert facts(text, gpus=64)["layout.dp"] == 4
