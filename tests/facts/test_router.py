"""The router's dtype as the file spells it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.core.states import NOT_APPLICABLE
from lclint.facts.context import Facts


@pytest.mark.parametrize(
    ("text", "options", "is_object"),
    [
        ("model:\n  moe_router_dtype:\n    _target_: torch.float32\n    _call_: false\n", {}, True),
        ("model:\n  moe_router_dtype: fp32\n", {}, False),
        ("model:\n  moe_router_dtype: null\n", {}, False),
        ("model:\n  num_moe_experts: 8\n", {}, NOT_APPLICABLE),
        ("model:\n  moe_router_dtype:\n    _target_: torch.float32\n    _call_: false\n", {"sets": ["model.moe_router_dtype=fp32"]}, NOT_APPLICABLE),
    ],
)
def test_dtype_object(facts: Callable[..., Facts], text: str, options: dict[str, Any], is_object: Any) -> None:
    assert facts(text, **options)["router.dtype_object"] is is_object
