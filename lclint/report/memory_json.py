"""A memory estimate for tools: ``schemas/memory.schema.json`` describes it."""

from __future__ import annotations

import json
from typing import Any

from lclint.memory.result import Estimate

SCHEMA = 1


def render(estimate: Estimate, what_if: Estimate | None = None) -> str:
    """The estimate as one line of ASCII JSON; ``what_if`` is that of the changed config."""
    return json.dumps(data(estimate, what_if), separators=(",", ":"), allow_nan=False) + "\n"


def data(estimate: Estimate, what_if: Estimate | None = None) -> dict[str, Any]:
    """The same as plain lists and dicts."""
    out = {"schema": SCHEMA, **_estimate(estimate)}
    if what_if is not None:
        out["what_if"] = _estimate(what_if)
    return out


def _estimate(estimate: Estimate) -> dict[str, Any]:
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
                "components": stage.components,
            }
            for stage in estimate.stages
        ],
        "assumptions": estimate.assumptions,
        "not_modelled": [*(f"no estimate without {need}" for need in estimate.needs), *estimate.not_modelled],
    }
