"""Candidate values for layout fields, nearest first.

A candidate need not be legal as a whole: whoever asks tries it against the rules. What is left out here can never be:
degrees that do not divide the GPUs, expert degrees that do not divide the experts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from lclint.config.run import Run

DEGREES = {
    "model.tensor_model_parallel_size": "num_attention_heads",
    "model.pipeline_model_parallel_size": None,
    "model.context_parallel_size": None,
    "model.expert_model_parallel_size": "num_moe_experts",
    "model.expert_tensor_parallel_size": None,
    "model.virtual_pipeline_model_parallel_size": "num_layers",
}
MOST_CANDIDATES = 160
MOST_COMBINATIONS = 20_000


def candidates(run: Run, fields: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Assignments to some of ``fields`` that differ from the run, the smallest move first.

    The size of a move is the sum over fields of ``|log2(new / old)|``; among equal ones the field named first moves.
    """
    choices: list[list[tuple[float, Any]]] = []
    for position, field in enumerate(fields):
        old = run.resolved.get(field)
        distances = [(0.0, old)]
        for value in _values(run, field):
            if value != old:
                distances.append((_distance(old, value) + position * 1e-3, value))
        distances.sort(key=lambda entry: entry[0])
        # of every field the nearest: a product cut short would move the last fields only
        choices.append(distances[: max(2, min(24, int(MOST_COMBINATIONS ** (1 / len(fields)))))])
    moves = []
    for combination in itertools.product(*choices):
        move = sum(distance for distance, _ in combination)
        if move:
            moves.append((move, combination))
    moves.sort(key=lambda entry: entry[0])
    for _, combination in moves[:MOST_CANDIDATES]:
        yield {field: value for field, (distance, value) in zip(fields, combination, strict=True) if distance}


def _distance(old: Any, new: Any) -> float:
    if new is None or old.__class__ is not int or old < 1:
        return 4.0
    return abs(math.log2(new) - math.log2(old)) if new > 0 else 9.0


def _values(run: Run, field: str) -> list[Any]:
    gpus = run.missing("cluster.gpus")
    limit = gpus if gpus.__class__ is int and gpus > 0 else 1024
    if field in DEGREES:
        divided = run.resolved.get(f"model.{DEGREES[field]}") if DEGREES[field] else None
        total = divided if divided.__class__ is int and divided > 0 else None
        found: list[Any] = [n for n in _divisors(limit) if total is None or total % n == 0]
        if field.endswith("virtual_pipeline_model_parallel_size"):
            found = [None] + [n for n in _divisors(total or 64) if 1 < n <= 32]
        return found
    old = run.resolved.get(field)
    if old.__class__ is not int or old < 1:
        return []
    if field in ("train.global_batch_size", "validation.eval_global_batch_size"):
        unit = _batch_unit(run)
        if unit is None:
            return []
        # round to the nearest multiples of what one step consumes
        return [unit * n for n in {old // unit, old // unit + 1, old // unit + 2} if n > 0]
    if field.endswith("micro_batch_size"):
        return [*_divisors(max(old, 1)), old * 2, old * 4]
    if field.endswith("seq_length"):
        units = [64, 128, 256, 512, 1024]
        return [n for unit in units for n in (old // unit * unit, (old // unit + 1) * unit) if n > 0]
    # a count such as num_layers: the neighbours and the divisors of what it is near to
    return list(range(max(1, old - 8), old + 9))


def _batch_unit(run: Run) -> int | None:
    sizes: list[Any] = [run.resolved.get(f"model.{name}_parallel_size") for name in ("tensor_model", "pipeline_model", "context")]
    gpus, micro = run.missing("cluster.gpus"), run.resolved.get("train.micro_batch_size")
    if gpus.__class__ is not int or micro.__class__ is not int or micro < 1 or any(s.__class__ is not int or s < 1 for s in sizes):
        return None
    product: int = math.prod(sizes)
    return micro * (gpus // product) if gpus % product == 0 and gpus >= product else None


def _divisors(number: int) -> list[int]:
    # no size of a training run is beyond the square of this
    small = [n for n in range(1, min(math.isqrt(number), 10_000) + 1) if number % n == 0]
    return sorted({*small, *(number // n for n in small)})
