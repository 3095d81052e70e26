"""Multiples of sequence lengths, and kinds of context-parallel communication."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.context import Facts


@pytest.mark.parametrize(
    ("cp", "tp", "sequence_parallel", "eval_cp", "multiple"),
    [
        (1, 1, "true", "null", 1),
        (2, 1, "false", "null", 4),
        (2, 4, "true", "null", 8),
        (3, 2, "true", "null", 6),
        (2, 2, "true", 4, 8),
        (0, 2, "true", "null", NOT_APPLICABLE),
    ],
)
def test_collate_multiple(facts: Callable[..., Facts], cp: int, tp: int, sequence_parallel: str, eval_cp: Any, multiple: Any) -> None:
    found = facts(
        f"model:\n  context_parallel_size: {cp}\n  tensor_model_parallel_size: {tp}\n  sequence_parallel: {sequence_parallel}\n"
        f"dist:\n  eval_context_parallel_size: {eval_cp}\n"
    )
    assert found["sequence.collate_multiple"] == multiple


@pytest.mark.parametrize(
    ("kind", "kinds", "hierarchical", "size"),
    [
        ("null", ["p2p"], False, NOT_APPLICABLE),
        ("a2a", ["a2a"], False, 8),
        ("a2a+p2p", ["a2a+p2p"], True, 4),
        ("[p2p, a2a]", ["p2p", "a2a"], False, 8),
        ("4", NOT_APPLICABLE, NOT_APPLICABLE, NOT_APPLICABLE),
    ],
)
def test_communication(facts: Callable[..., Facts], kind: str, kinds: Any, hierarchical: Any, size: Any) -> None:
    found = facts(f"model:\n  context_parallel_size: 8\n  cp_comm_type: {kind}\n  hierarchical_context_parallel_sizes: [4, 2]\n")
    assert found["sequence.cp_comm_types"] == kinds
    assert found["sequence.hierarchical"] == hierarchical
    assert found["sequence.a2a_size"] == size


def test_communication_is_unknown(facts: Callable[..., Facts]) -> None:
    assert facts("model:\n  context_parallel_size: 8\n")["sequence.hierarchical"] is UNKNOWN
