"""A memory estimate for tools: ``schemas/memory.schema.json`` describes it."""

from __future__ import annotations

import json
from typing import Any

from lclint.memory.asking import Asked
from lclint.memory.result import Estimate

SCHEMA = 1


def render(asked: Asked) -> str:
    """The estimate as one line of ASCII JSON, with that of the changed config where there is one."""
    return json.dumps(data(asked), separators=(",", ":"), allow_nan=False) + "\n"


def data(asked: Asked) -> dict[str, Any]:
    """The same as plain lists and dicts."""
    out = {"schema": SCHEMA, **_estimate(asked.estimate, asked.refusals)}
    if asked.what_if is not None:
        out["what_if"] = _estimate(asked.what_if, asked.what_if_refusals)
    return out


def _estimate(estimate: Estimate, refusals: list[str]) -> dict[str, Any]:
    return {
        "gpu": estimate.gpu,
        "capacity_bytes": estimate.capacity_bytes,
        "verdict": estimate.verdict,
        "stages": [
            {
                "stage": stage.stage,
                "static_bytes": stage.static_bytes,
                "peak_bytes": stage.peak_bytes,
                "low_bytes": stage.low_bytes,
                "high_bytes": stage.high_bytes,
                "first_step_peak_bytes": stage.first_step_peak_bytes,
                "instant": stage.instant,
                "components": stage.components,
            }
            for stage in estimate.stages
        ],
        "assumptions": estimate.assumptions,
        "not_modelled": [
            *(f"no estimate: {text}" for text in estimate.wrong),
            *(f"no estimate without {need}" for need in estimate.needs),
            *estimate.not_modelled,
        ],
        "refused": refusals,
    }
