"""The functions that rules may call, over known values, null and the two states."""

from __future__ import annotations

import time
from typing import Any

import pytest

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.engine.operations import FUNCTIONS, show


def call(name: str, *arguments: Any) -> Any:
    return FUNCTIONS[name][2](*arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("len", ([1, 2],), 2),
        ("len", ((),), 0),
        ("len", ("text",), NOT_APPLICABLE),
        ("min", (3, 1.5), 1.5),
        ("max", ([3, 4],), 4),
        ("max", ([],), NOT_APPLICABLE),
        ("max", (1, "2"), NOT_APPLICABLE),
        ("sum", ([1, 2.5],), 3.5),
        ("sum", ([],), 0),
        ("sum", ([True],), NOT_APPLICABLE),
        ("product", ([2, 3],), 6),
        ("product", ([1 << 70, 1 << 70],), NOT_APPLICABLE),
        ("abs", (-2,), 2),
        ("lcm", (4, 6), 12),
        ("gcd", (4, 6.0), NOT_APPLICABLE),
        ("ceil", (1.2,), 2),
        ("floor", (-1.2,), -2),
        ("ceil", (float("inf"),), NOT_APPLICABLE),
        ("without", (["a", "b"], ["a"]), ["b"]),
        ("common", (["a", "b"], ["b"]), ["b"]),
        ("common", ("ab", ["b"]), NOT_APPLICABLE),
        ("count", (["a", "a"], "a"), 2),
        ("unique", (["a", "b", "a"],), ["a", "b"]),
        ("lower", ("ABC",), "abc"),
        ("lower", (None,), NOT_APPLICABLE),
        ("startswith", ("torch.bf16", "torch."), True),
        ("endswith", ("a.b", "b"), True),
        ("includes", ("abc", "b"), True),
        ("is_list", ([],), True),
        ("is_list", (None,), False),
        ("is_string", ("",), True),
        ("is_number", (True,), False),
        ("is_number", (0.5,), True),
        ("number", ("12",), 12),
        ("number", (" -3 ",), -3),
        ("number", ("1e3",), 1000.0),
        ("number", ("nan",), NOT_APPLICABLE),
        ("number", ("inf",), NOT_APPLICABLE),
        ("number", ("x",), NOT_APPLICABLE),
        ("number", ("9" * 5000,), NOT_APPLICABLE),
        ("at_least", ("2.10", "2.9"), True),
        ("at_least", ("2.9", "2.9.0"), True),
        ("at_least", ("2.9.0rc1", "2.9"), True),
        ("below", ("0.6.2", "0.7"), True),
        ("below", ("x", "0.7"), NOT_APPLICABLE),
    ],
)
def test_known_values(name: str, arguments: tuple[Any, ...], expected: Any) -> None:
    result = call(name, *arguments)
    assert result is expected if expected in (NOT_APPLICABLE,) else (type(result), result) == (type(expected), expected)


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {"known", "applies"}))
def test_states_pass_through(name: str) -> None:
    fewest = FUNCTIONS[name][0]
    rest = [1] * (fewest - 1)
    assert call(name, UNKNOWN, *rest) is UNKNOWN
    assert call(name, NOT_APPLICABLE, *rest) is NOT_APPLICABLE
    if fewest == 2:
        assert call(name, UNKNOWN, NOT_APPLICABLE) is NOT_APPLICABLE


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "", "x", [], [None], {"a": 1}, [[1]], {}, float("nan"), 10**400])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_no_value_breaks_a_function(name: str, value: Any) -> None:
    for count in {FUNCTIONS[name][0], FUNCTIONS[name][1]}:
        call(name, *[value] * count)


def test_states_can_be_asked_for() -> None:
    assert [call("known", v) for v in (UNKNOWN, NOT_APPLICABLE, None, 1)] == [False, True, True, True]
    assert [call("applies", v) for v in (UNKNOWN, NOT_APPLICABLE, None)] == [UNKNOWN, False, True]


def test_an_unknown_element_makes_a_list_function_unknown() -> None:
    assert call("sum", [1, UNKNOWN]) is UNKNOWN


def test_long_lists_are_not_compared_pair_by_pair() -> None:
    long = list(range(100_000))
    start = time.process_time()
    for name, arguments in {"unique": (long,), "without": (long, long), "common": (long, long)}.items():
        assert call(name, *arguments) is NOT_APPLICABLE
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (8.0, "8"),
        (0.123456, "0.1235"),
        (4096.5, "4096.5"),
        (68719.47673, "68719"),
        ("x", "x"),
        ([1, [None]], "[1, [null]]"),
        ({"a": 1}, "{...}"),
    ],
)
def test_show(value: Any, text: str) -> None:
    assert show(value) == text


def test_show_cuts_long_lists() -> None:
    assert show(list(range(20))) == "[0, 1, 2, 3, 4, 5, 6, 7, 8, ...]"


def test_an_integer_that_python_does_not_print() -> None:
    assert show(1 << 20_000) == "an integer of 20001 bits"
