"""The vision encoder: its weights, and what its patches keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.config.run import Run
from lclint.memory.estimate import estimate
from lclint.memory.inputs import Inputs
from lclint.memory.vision import Vision, activations, weights

# Qwen3-VL's encoder: 0.41 B in its layers, 0.03 B in its merger
ENCODER = {
    "depth": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "patch_size": 16,
    "in_channels": 3,
    "temporal_patch_size": 2,
    "spatial_merge_size": 2,
    "num_position_embeddings": 2304,
    "out_hidden_size": 1024,
}


def seeing(small: Callable[..., Run], **options: Any) -> Run:
    run = small(8, pipeline_model_parallel_size=2)
    run.resolved.update({f"model.vision_config.{name}": value for name, value in ENCODER.items()})
    run.resolved.update({"model.vision_config": ENCODER, **options})
    return run


def test_weights_lie_on_the_first_stage(small: Callable[..., Run]) -> None:
    run = seeing(small)
    elements = weights(Vision(Inputs(run)))
    assert elements / 1e9 == pytest.approx(0.439, rel=0.02)
    plain, found = estimate(small(8, pipeline_model_parallel_size=2)).stages, estimate(run).stages
    # bf16 weights and FP32 gradients, and 12 bytes over four ranks
    assert found[0].static_bytes - plain[0].static_bytes == pytest.approx(elements * (6 + 12 / 4), abs=2)
    assert found[1].static_bytes == plain[1].static_bytes


def test_a_frozen_encoder_is_weights_only(small: Callable[..., Run]) -> None:
    run = seeing(small, **{"model.freeze_vision_model": True, "dataset.image_size": [256, 256], "dataset.num_images": 1})
    plain, found = estimate(small(8, pipeline_model_parallel_size=2)).stages, estimate(run).stages
    assert found[0].peak_bytes - plain[0].peak_bytes == 2 * weights(Vision(Inputs(run)))


def test_patches_of_mock_images_keep_activations(small: Callable[..., Run]) -> None:
    run = seeing(small, **{"dataset.image_size": [256, 256], "dataset.num_images": 2})
    m = Inputs(run)
    vision = Vision(m)
    assert vision.patches == 2 * 16 * 16
    assert activations(m, vision) == 2 * 27 * 512 * (8 * 1152 + 2 * 4304)
    assert not any("vision" in text for text in estimate(run).not_modelled)


def test_unknown_images_are_named(small: Callable[..., Run]) -> None:
    assert any(text.startswith("what the vision encoder keeps") for text in estimate(seeing(small)).not_modelled)
