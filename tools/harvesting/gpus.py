"""``tools/gpus.csv`` -> ``lclint/catalog/data/gpus.json``. An empty cell is unknown, and stays unknown."""

from __future__ import annotations

import csv
import pathlib
from typing import Any

_NUMBERS = {
    "memory_gb": int, "torch_total_gib": float, "nvlink_domain": int, "gpus_per_node": int, "host_gb": int, "host_gb_per_s": int,
    "bf16_tflops": int, "fp8_tflops": int, "fp4_tflops": int,
}  # fmt: skip
_PRECISIONS = ("fp8_tensorwise", "fp8_blockwise", "mxfp8", "nvfp4")


def record(row: dict[str, str]) -> dict[str, Any]:
    """One GPU as the catalogue holds it."""
    result: dict[str, Any] = {"name": row["name"], "aliases": row["same_as"].split()}
    for column, number in _NUMBERS.items():
        result[column] = number(row[column]) if row[column] else None
    result["capability"] = [int(p) for p in row["capability"].split(".")] if row["capability"] else None
    known = all(row[p] in ("yes", "no") for p in _PRECISIONS)
    result["precisions"] = [p for p in _PRECISIONS if row[p] == "yes"] if known else None
    result["dispatchers"] = row["dispatchers"].split() or None
    result["device_prefix"] = row["device_prefix"]
    result["source"] = row["source"]
    return result


def read(path: pathlib.Path) -> dict[str, dict[str, Any]]:
    """Every GPU of the table by its key, in the order of the table."""
    with path.open(encoding="utf-8", newline="") as file:
        return {row["key"]: record(row) for row in csv.DictReader(file)}
