"""Override parsing: recorded pairs, and agreement with Hydra's own parser where it is installed."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lclint.sources.hydra import OverrideError, parse_override

# (override, operation, key, value), as hydra-core 1.3 reads them.
RECORDED: list[tuple[str, str, str, Any]] = [
    ("a.b=1", "", "a.b", 1),
    ("++a.b=[1,x]", "++", "a.b", [1, "x"]),
    ("+a=null", "+", "a", None),
    ("a=NULL", "", "a", None),
    ("a=tRue", "", "a", True),
    ("a=", "", "a", ""),
    ("a= ", "", "a", ""),
    ("a=1_000", "", "a", 1000),
    ("a=012", "", "a", "012"),
    ("a=1e3", "", "a", 1000.0),
    ("a=1e-5", "", "a", 1e-5),
    ("a=1.", "", "a", 1.0),
    ("a=.5", "", "a", 0.5),
    ("a=-inf", "", "a", -math.inf),
    ("a=yes", "", "a", "yes"),
    ("a=1e3x", "", "a", "1e3x"),
    ("a=hello world", "", "a", "hello world"),
    ("a=  padded  ", "", "a", "padded"),
    ("a=/path/to-x/file.bin", "", "a", "/path/to-x/file.bin"),
    ("a='it\\'s'", "", "a", "it's"),
    ('a="x\\\\"', "", "a", "x\\"),
    ('a="line\\nbreak"', "", "a", "line\\nbreak"),
    ("a='1'", "", "a", "1"),
    ("a=x\\,y", "", "a", "x,y"),
    ("a={b:1,c:{d:[]}}", "", "a", {"b": 1, "c": {"d": []}}),
    ("a={ b : 1 , 2 : x }", "", "a", {"b": 1, 2: "x"}),
    ("a=[[1,2],[3]]", "", "a", [[1, 2], [3]]),
    ("a=${b.c}", "", "a", "${b.c}"),
    ("a=x:y", "", "a", "x:y"),
    ("a=int(3.7)", "", "a", 3),
    ("a=str([1,true])", "", "a", ["1", "true"]),
    ("~a.b=3", "~", "a.b", 3),
    ("model.0.x=1", "", "model.0.x", 1),
]
REFUSED = [
    "a",
    "=1",
    "a b=1",
    "a=1,2",
    "a=choice(1,2)",
    "a=range(1,3)",
    "a=foo(1)",
    "a=[1",
    "a={b}",
    'a={"b":1}',
    "a='x",
    "a=x=y=z,",
    "a=#",
    "a=é",
    "db/x=1",
    "a@b=1",
    "a[0]=1",
    "a-b.c=1 ]",
    "a=(",
    "a=str(null)",
]


@pytest.mark.parametrize(("text", "operation", "key", "value"), RECORDED)
def test_recorded(text: str, operation: str, key: str, value: Any) -> None:
    override = parse_override(text)
    assert (override.operation, override.key, repr(override.value)) == (operation, key, repr(value))
    assert override.has_value
    assert override.text == text


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    with pytest.raises(OverrideError) as caught:
        parse_override(text)
    assert str(caught.value)
    assert 0 <= caught.value.position <= len(text)


def test_delete_without_value() -> None:
    override = parse_override("~a.b")
    assert (override.operation, override.key, override.value, override.has_value) == ("~", "a.b", None, False)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(OverrideError):
        parse_override("a=" + "[" * 5000)


def _theirs(text: str) -> tuple[str, Any, Any]:
    """What Hydra makes of an override that Bridge can apply; raises where either refuses."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import OverrideType

    theirs = OverridesParser.create().parse_override(text)
    if theirs.is_sweep_override() or theirs.package is not None or "/" in theirs.key_or_group or not theirs.key_or_group:
        raise ValueError
    operation = {OverrideType.CHANGE: "", OverrideType.ADD: "+", OverrideType.FORCE_ADD: "++", OverrideType.DEL: "~"}[theirs.type]
    return operation, theirs.key_or_group, theirs.value()


_PIECES = st.sampled_from(
    [
        *list("abx=,:[]{}()'\"\\ \t+-~.$%*@?|/#0129_eE"),
        "null",
        "true",
        "False",
        "inf",
        "nan",
        "1e3",
        "1_0",
        "${a}",
        "${",
        "\\\\",
        "\\'",
        '\\"',
        "a.b",
        "int(",
        "é",
        "\n",
        "[]",
        "{}",
        "b:",
    ]
)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["a=", "+a.b=", "++a=", "~a=", "a=[", "a={b:", "a='", 'a="', "", "a=str("]), st.lists(_PIECES, max_size=8).map("".join)
)
def test_agrees_with_hydra(head: str, tail: str) -> None:
    pytest.importorskip("hydra")
    text = head + tail
    expected: Any
    try:
        expected = _theirs(text)
    except Exception:
        expected = None
    actual: Any
    try:
        override = parse_override(text)
        actual = (override.operation, override.key, override.value)
    except OverrideError:
        actual = None
    if expected is None and actual is None:
        return
    assert repr(actual) == repr(expected), text
