"""Parameter counts against the public sizes of models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lclint.config.run import Run
from lclint.memory.estimate import estimate

DENSE = {"seq_length": 4096, "make_vocab_size_divisible_by": 1}
MODELS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "models.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model["name"])
@pytest.mark.parametrize("layout", [{}, {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2}], ids=["one rank", "TP 2 PP 2"])
def test_the_size_of_a_public_model(small: Callable[..., Run], model: dict[str, Any], layout: dict[str, Any]) -> None:
    given = {name.replace("-", "_"): value for name, value in model["arguments"].items()}
    found = estimate(small(64, **DENSE, **given, **layout)).parameters / 1e9
    # without a vision tower and prediction layers; a size in whole billions is a rounded one
    assert found == pytest.approx(model["billions"], rel=0.005, abs=0.5 if model["billions"] == int(model["billions"]) and model["billions"] < 100 else 0)


def test_the_ends_of_a_pipeline_hold_the_tables(small: Callable[..., Run]) -> None:
    stages = estimate(small(8, pipeline_model_parallel_size=4)).stages
    middle = stages[1].components["weights"]
    assert stages[2].components["weights"] == middle
    assert stages[0].components["weights"] - middle == 2 * 32000 * 1024
    # the final norm
    assert stages[3].components["weights"] - middle == 2 * 32000 * 1024 + 2 * 1024


def test_tied_tables_are_one_without_a_pipeline_and_two_with_it(small: Callable[..., Run]) -> None:
    tied = {"untie_embeddings_and_output_weights": None}
    apart, together = (estimate(small(8, pipeline_model_parallel_size=pp, **tied)).stages for pp in (2, 1))
    assert sum(stage.components["weights"] for stage in apart) - together[0].components["weights"] == 2 * 32000 * 1024


def test_prediction_layers_bring_an_embedding_of_their_own(small: Callable[..., Run]) -> None:
    without, having = (estimate(small(8, pipeline_model_parallel_size=2, mtp_num_layers=depths)).stages[-1].components["weights"] for depths in (None, 1))
    assert having - without > 2 * (32000 * 1024 + 2 * 1024 * 1024)


def test_adapters_leave_the_base_without_gradients(small: Callable[..., Run]) -> None:
    run = small(8)
    run.resolved.update({"peft": {"_target_": "megatron.bridge.peft.lora.LoRA"}, "peft._target_": "megatron.bridge.peft.lora.LoRA", "peft.dim": 16})
    components = estimate(run).stages[0].components
    assert components["gradients"] < components["weights"] / 20
