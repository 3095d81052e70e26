"""The JSON of ``lclint diagnose``: ``schemas/diagnose.schema.json`` describes it."""

from __future__ import annotations

import json
from typing import Any

from lclint.diagnosing import Diagnosis
from lclint.report.json_report import SCHEMA, finding_data, plain


def render(diagnosis: Diagnosis) -> str:
    """The diagnosis as one line of ASCII JSON."""
    return json.dumps(data(diagnosis), separators=(",", ":"), allow_nan=False) + "\n"


def data(diagnosis: Diagnosis) -> dict[str, Any]:
    """The diagnosis as plain lists and dicts; null where the log does not say."""
    crash = diagnosis.crash
    return {
        "schema": SCHEMA,
        "kind": crash.kind,
        "fatal": crash.fatal,
        "first_rank": crash.first_rank,
        "requested_bytes": crash.requested_bytes,
        "capacity_bytes": crash.capacity_bytes,
        "free_bytes": crash.free_bytes,
        "allocated_bytes": crash.allocated_bytes,
        "reserved_unallocated_bytes": crash.reserved_unallocated_bytes,
        "private_pools_bytes": crash.private_pools_bytes,
        "phase": crash.phase,
        "iteration": crash.iteration,
        "recovered_config": {field: plain(value) for field, value in crash.settings.items()},
        "cluster": {"gpu": diagnosis.gpu, "gpus": diagnosis.gpus},
        "verdict": diagnosis.verdict,
        "findings": [finding_data(finding) for finding in diagnosis.findings],
    }
