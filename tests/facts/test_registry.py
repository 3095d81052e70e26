"""How facts are computed from their needs, and what an undecided one would need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts import registry
from lclint.facts.context import Facts
from lclint.facts.registry import declare, fact


@pytest.fixture(autouse=True)
def own_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts that a test declares are gone after it."""
    monkeypatch.setattr(registry, "FACTS", registry.FACTS.copy())
    monkeypatch.setattr("lclint.facts.context.FACTS", registry.FACTS)


@pytest.fixture
def facts(run_of: Callable[..., Any]) -> Facts:
    return Facts(run_of("model: {num_layers: 8, moe_router_topk: null, hidden_size: wide, recompute_granularity: full}"))


def declared(name: str, needs: tuple[str, ...], compute: Callable[..., Any], **options: Any) -> None:
    fact(name, needs=needs, unit="x", source="x", **options)(compute)


A, B = "model.num_layers", "model.context_parallel_size"
NULL, WRONG, OFF = "model.moe_router_topk", "model.hidden_size", "model.recompute_modules"


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        ((), 0),
        ((A,), 8),
        ((A, A), 16),
        ((B,), UNKNOWN),
        ((A, B), UNKNOWN),
        ((NULL,), NOT_APPLICABLE),
        ((B, NULL), NOT_APPLICABLE),
        (("item.x",), NOT_APPLICABLE),
        ((B, "item.x"), NOT_APPLICABLE),
        ((WRONG,), NOT_APPLICABLE),
        (("cluster.gpus",), UNKNOWN),
    ],
)
def test_states_of_the_needs(facts: Facts, needs: tuple[str, ...], expected: Any) -> None:
    declared("t.sum", needs, lambda *values: sum(values))
    assert facts["t.sum"] is expected if expected in (UNKNOWN, NOT_APPLICABLE) else facts["t.sum"] == expected


def test_null_where_it_is_wanted(facts: Facts) -> None:
    declared("t.null", (A, NULL), lambda layers, topk: (layers, topk), nullable=(NULL,))
    assert facts["t.null"] == (8, None)


@pytest.mark.parametrize("error", [TypeError, ValueError, ZeroDivisionError, OverflowError, AttributeError, IndexError, KeyError])
@pytest.mark.parametrize("raw", [True, False])
def test_wrong_types_make_a_fact_not_applicable(facts: Facts, error: type[Exception], raw: bool) -> None:
    def fail(*values: Any) -> Any:
        raise error

    declared("t.fail", (A,), fail, raw=raw)
    assert facts["t.fail"] is NOT_APPLICABLE


def test_other_errors_are_bugs(facts: Facts) -> None:
    def fail(layers: int) -> Any:
        raise NotImplementedError

    declared("t.fail", (A,), fail)
    with pytest.raises(NotImplementedError):
        facts["t.fail"]


def test_raw_facts_see_the_states(facts: Facts) -> None:
    declared("t.raw", (A, B), lambda g: [g[A], g[B]], raw=True)
    assert facts["t.raw"] == [8, UNKNOWN]


def test_facts_are_computed_once(facts: Facts) -> None:
    calls = []
    declared("t.once", (A,), lambda layers: calls.append(layers))
    assert [facts["t.once"], facts["t.once"], len(calls)] == [None, None, 1]


def test_facts_without_a_function_are_unknown(facts: Facts) -> None:
    declare("t.later", needs=(A,), unit="x", source="x", meaning="x")
    declared("t.on-top", ("t.later",), lambda value: value)
    assert (facts["t.later"], facts["t.on-top"]) == (UNKNOWN, UNKNOWN)
    assert facts.undecided_needs(["t.on-top"]) == ["t.later"]


def test_names_are_declared_once() -> None:
    declared("t.twice", (), lambda: 1)
    with pytest.raises(ValueError, match=r"t\.twice"):
        declared("t.twice", (), lambda: 1)
    with pytest.raises(ValueError, match=r"t\.twice"):
        declare("t.twice", needs=(), unit="x", source="x", meaning="x")


def test_what_would_decide(facts: Facts) -> None:
    declared("t.inner", (A, B, "cluster.gpus"), lambda *values: 1)
    declared("t.outer", ("t.inner", "gpu.memory_gib", "env.X", "te.version"), lambda *values: 1)
    needs = ["--gpu", "--gpus", "--te-version", "env.X", "model.context_parallel_size"]
    assert facts.undecided_needs(["t.outer", "t.outer", A, "written.model.context_parallel_size"]) == needs
    assert facts.undecided_needs([A, NULL, "item.x"]) == []
    assert facts.undecided_needs(["gpu.name", "gpu.memory_gib"]) == ["--gpu"]


def test_facts_that_need_each_other_come_to_an_end_when_asked_for_needs(facts: Facts) -> None:
    facts["t.a"] = facts["t.b"] = UNKNOWN
    declared("t.a", ("t.b",), lambda value: value)
    declared("t.b", ("t.a",), lambda value: value)
    assert facts.undecided_needs(["t.a"]) == []


def test_every_shipped_fact_says_what_it_is() -> None:
    for name, known in registry.FACTS.items():
        assert known.meaning.strip(), name
        assert known.unit, name
        assert known.source, name
