"""Which modules are recomputed, and what an unknown name means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.context import Facts
from lclint.facts.recompute import ALLOWED, OTHER_NAMES, suggestion


@pytest.mark.parametrize(
    ("granularity", "modules", "listed", "recomputed"),
    [
        ("selective", "[mlp]", ["mlp"], ["mlp"]),
        ("selective", "null", ["core_attn"], ["core_attn"]),
        ("selective", "[]", [], []),
        ("null", "[moe]", ["moe"], NOT_APPLICABLE),
        ("full", "[moe]", ["moe"], NOT_APPLICABLE),
    ],
)
def test_modules(facts: Callable[..., Facts], granularity: str, modules: str, listed: Any, recomputed: Any) -> None:
    found = facts(f"model:\n  recompute_granularity: {granularity}\n  recompute_modules: {modules}\n  moe_layer_recompute: false\n")
    assert found["recompute.listed"] == listed
    assert found["recompute.modules"] == recomputed
    assert found["recompute.effective"] == recomputed


def test_unknown_without_granularity(facts: Callable[..., Facts]) -> None:
    assert facts("model:\n  recompute_modules: [moe]\n")["recompute.modules"] is UNKNOWN


def test_the_old_switch_adds_moe(facts: Callable[..., Facts]) -> None:
    found = facts("model:\n  recompute_granularity: null\n  recompute_modules: [mlp]\n  moe_layer_recompute: true\n")
    assert found["recompute.effective"] == ["mlp", "moe"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("up_proj", "mla_up_proj"), ("Norm", "layernorm"), ("shared-experts", "shared_experts"), ("moe_atc", "moe_act"), ("mhc", None), (3, None)],
)
def test_suggestion(name: Any, meant: str | None) -> None:
    assert suggestion(name, ALLOWED, OTHER_NAMES) == meant


def test_suggestions_stand_beside_the_list(facts: Callable[..., Facts]) -> None:
    found = facts("model:\n  recompute_granularity: selective\n  recompute_modules: [mlp, up_proj]\n")
    assert found["recompute.unknown_modules"] == ["up_proj"]
    assert found["recompute.suggestions"] == [None, "mla_up_proj"]
