"""Compiled expressions against an independent interpreter, and what an expression may not be."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lclint.core.states import NOT_APPLICABLE, UNKNOWN, State
from lclint.engine.expression import ExpressionError, Translator, split_template
from lclint.engine.operations import FUNCTIONS

HEADER = "from lclint.engine.operations import *\nfrom lclint.engine.operations import FUNCTIONS\n"


def compiled(source: str, as_truth: bool = False) -> Any:
    translator = Translator(lambda name: None, {name: row[:2] for name, row in FUNCTIONS.items()})
    space: dict[str, Any] = {}
    exec(HEADER + translator.function("f", source, as_truth), space)
    return space["f"]


def value_of(source: str, **names: Any) -> Any:
    return compiled(source)(names)


# An interpreter that shares nothing with the compiler: expressions are nested tuples, and text only in ``text_of``.

U, NA = UNKNOWN, NOT_APPLICABLE
Tree = tuple[Any, ...]


def truth(value: Any) -> Any:
    return value if isinstance(value, State) else bool(value)


def absorb(*values: Any) -> Any:
    return NA if any(v is NA for v in values) else U if any(v is U for v in values) else None


def number(value: Any) -> bool:
    return type(value) in (int, float)


def same(left: Any, right: Any) -> Any:
    if left is U or right is U:
        return U
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return False
        parts = [same(a, b) for a, b in zip(left, right, strict=True)]
        return False if False in parts else U if U in parts else True
    return left == right


def conjunction(values: list[Any]) -> Any:
    if any(v is False for v in values):
        return False
    state = absorb(*values)
    return True if state is None else state


def negation(value: Any) -> Any:
    return value if isinstance(value, State) else not value


def compare(operator: str, left: Any, right: Any) -> Any:
    state = absorb(left, right)
    if state is not None:
        return state
    if operator in ("==", "!="):
        result = same(left, right)
        return result if operator == "==" else negation(result)
    if operator in ("in", "not in"):
        if not isinstance(right, list):
            return NA
        found = [same(left, item) for item in right]
        result = True if any(f is True for f in found) else U if any(f is U for f in found) else False
        return result if operator == "in" else negation(result)
    if not (number(left) and number(right)):
        return NA
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[operator]


def arithmetic(operator: str, left: Any, right: Any) -> Any:
    state = absorb(left, right)
    if state is not None:
        return state
    if not (number(left) and number(right)):
        return NA
    try:
        result = {
            "+": lambda: left + right,
            "-": lambda: left - right,
            "*": lambda: left * right,
            "/": lambda: left / right,
            "//": lambda: left // right,
            "%": lambda: left % right,
        }[operator]()
    except (ZeroDivisionError, OverflowError):
        return NA
    return NA if (isinstance(result, float) and not math.isfinite(result)) or abs(result) >= 2**80 else result


def meaning(tree: Tree, names: dict[str, Any]) -> Any:
    kind, *parts = tree
    if kind == "name":
        return names[parts[0]]
    if kind == "constant":
        return parts[0]
    if kind == "not":
        return negation(meaning(parts[0], names))
    if kind == "minus":
        return arithmetic("-", 0, meaning(parts[0], names))
    if kind == "and":
        return conjunction([truth(meaning(part, names)) for part in parts[0]])
    if kind == "or":
        values = [truth(meaning(part, names)) for part in parts[0]]
        if any(v is True for v in values):
            return True
        return U if any(v is U for v in values) else NA if any(v is NA for v in values) else False
    if kind == "null":
        value = meaning(parts[1], names)
        return value if isinstance(value, State) else (value is None) == (parts[0] == "is")
    if kind == "compare":
        values = [meaning(part, names) for part in parts[1]]
        return conjunction([compare(op, a, b) for op, a, b in zip(parts[0], values[:-1], values[1:], strict=True)])
    if kind == "arithmetic":
        return arithmetic(parts[0], meaning(parts[1], names), meaning(parts[2], names))
    if kind == "if":
        condition, value, other = (meaning(part, names) for part in parts)
        if isinstance(condition, State):
            agree = not isinstance(value, State) and not isinstance(other, State) and same(value, other) is True
            return value if agree else condition
        return value if condition else other
    if kind == "list":
        values = [meaning(part, names) for part in parts[0]]
        return NA if any(v is NA for v in values) else values
    assert kind == "item"
    items, index = meaning(parts[0], names), meaning(parts[1], names)
    state = absorb(items, index)
    if state is not None:
        return state
    if not isinstance(items, list) or type(index) is not int or not -len(items) <= index < len(items):
        return NA
    return items[index]


def text_of(tree: Tree) -> str:
    kind, *parts = tree
    if kind == "name":
        return str(parts[0])
    if kind == "constant":
        return {None: "null", True: "true", False: "false"}.get(parts[0], repr(parts[0])) if not number(parts[0]) else repr(parts[0])
    if kind == "not":
        return f"not ({text_of(parts[0])})"
    if kind == "minus":
        return f"-({text_of(parts[0])})"
    if kind in ("and", "or"):
        return f" {kind} ".join(f"({text_of(part)})" for part in parts[0])
    if kind == "null":
        return f"({text_of(parts[1])}) {parts[0]} null"
    if kind == "compare":
        texts = [f"({text_of(part)})" for part in parts[1]]
        return texts[0] + "".join(f" {op} {text}" for op, text in zip(parts[0], texts[1:], strict=True))
    if kind == "arithmetic":
        return f"({text_of(parts[1])}) {parts[0]} ({text_of(parts[2])})"
    if kind == "if":
        return f"({text_of(parts[1])}) if ({text_of(parts[0])}) else ({text_of(parts[2])})"
    if kind == "list":
        return "[" + "".join(text_of(part) + ", " for part in parts[0]) + "]"
    return f"({text_of(parts[0])})[{text_of(parts[1])}]"


NAMES = ("a", "model.b", "graphs.c")
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, 1.0, -2.5, 1e300, 2**70, "", "x", "full", "1"]),
)
values = st.one_of(scalars, st.sampled_from([U, NA]), st.lists(st.one_of(scalars, st.just(U)), max_size=3))


def compound(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    comparisons = st.lists(st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in"]), min_size=1, max_size=2)
    return st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.just("minus"), inner),
        st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3)),
        st.tuples(st.just("null"), st.sampled_from(["is", "is not"]), inner),
        comparisons.flatmap(lambda ops: st.tuples(st.just("compare"), st.just(ops), st.lists(inner, min_size=len(ops) + 1, max_size=len(ops) + 1))),
        st.tuples(st.just("arithmetic"), st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner, inner),
        st.tuples(st.just("if"), inner, inner, inner),
        st.tuples(st.just("list"), st.lists(inner, max_size=3)),
        st.tuples(st.just("item"), inner, inner),
    )


leaves = st.one_of(
    st.tuples(st.just("name"), st.sampled_from(NAMES)),
    st.tuples(st.just("constant"), st.one_of(st.none(), st.booleans(), st.integers(0, 4), st.sampled_from([0.5, 2.0, "x", "full"]))),
)
trees = st.recursive(leaves, compound, max_leaves=8)


def alike(left: Any, right: Any) -> bool:
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(alike(a, b) for a, b in zip(left, right, strict=True))
    return type(left) is type(right) and (left is right if isinstance(left, State) else left == right)


@settings(max_examples=1_000, deadline=None)
@given(tree=trees, known=st.fixed_dictionaries(dict.fromkeys(NAMES, values)))
def test_compiled_expressions_mean_what_the_interpreter_says(tree: Tree, known: dict[str, Any]) -> None:
    source = text_of(tree)
    expected = meaning(tree, known)
    assert alike(compiled(source)(known), expected), source
    # a condition may say false for what is not applicable
    wanted = truth(expected)
    assert compiled(source, as_truth=True)(known) in ((False, NOT_APPLICABLE) if wanted in (False, NOT_APPLICABLE) else (wanted,)), source


@settings(max_examples=300, deadline=None)
@given(tree=trees, known=st.fixed_dictionaries(dict.fromkeys(NAMES, values)))
def test_what_unknown_becomes_never_changes_a_decision(tree: Tree, known: dict[str, Any]) -> None:
    """A truth that is decided although something is unknown stays, or does not apply, whatever that turns out to be."""
    decided = compiled(text_of(tree), as_truth=True)(known)
    if decided in (True, False):
        for guess in (0, 3):
            full = {
                name: guess if value is U else [guess if item is U else item for item in value] if isinstance(value, list) else value
                for name, value in known.items()
            }
            assert compiled(text_of(tree), as_truth=True)(full) in (decided, NOT_APPLICABLE)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a and b or c", True),
        ("not a or c", True),
        ("1 + 2 * 3", 7),
        ("7 // 2 % 2", 1),
        ("-2 - -2", 0),
        ("not not not false", True),
        ("1 < 2 < 3", True),
        ("1 < 2 > 3", False),
        ("[1, 2][-1]", 2),
        ("null == null", True),
        ("None is null", True),
        ("'a' in 'abc'", NA),
        ("true == 1", False),
        ("1 in [true]", False),
        ("[true] == [1]", False),
        ("'a' 'b'", "ab"),
        ("a # and what follows", True),
        ("a\n or nothing", True),
    ],
)
def test_values(source: str, expected: Any) -> None:
    assert alike(value_of(source, a=True, b=False, c=True, nothing=None), expected)


def test_long_chains_compile() -> None:
    assert value_of(" and ".join(["true"] * 190)) is True
    assert value_of(" or ".join(["false"] * 190)) is False


def test_nested_comparisons_do_not_double() -> None:
    source = "a"
    for _ in range(30):
        source = f"(1 < {source} < 2)"
    translator = Translator(lambda name: None, {})
    assert len(translator.function("f", source)) < 10_000


REFUSED = {
    "empty": "",
    "blank": " \n ",
    "dunder": "a.__class__",
    "call of a field": "model.x(1)",
    "unknown function": "open('x')",
    "method": "'a'.upper()",
    "lambda": "(lambda: 1)()",
    "comprehension": "[x for x in a]",
    "generator": "sum(x for x in a)",
    "walrus": "(x := 1)",
    "bare walrus": "x := 1",
    "f-string": "f'{a}'",
    "starred": "[*a]",
    "starred argument": "len(*a)",
    "keyword argument": "len(x=a)",
    "too few arguments": "len()",
    "too many arguments": "len(a, a)",
    "power": "9 ** 9 ** 9",
    "shift": "1 << 9",
    "bits": "a | 1",
    "matrix": "a @ b",
    "invert": "~a",
    "plus": "+a",
    "slice": "a[1:2]",
    "two indices": "a[1, 2]",
    "dict": "{1: 2}",
    "set": "{1}",
    "await": "await a",
    "yield": "(yield)",
    "is with a value": "a is 1",
    "is in a chain": "a is null is null",
    "bytes": "b'x'",
    "ellipsis": "...",
    "complex": "1j",
    "infinite": "a < 1e999",
    "huge integer": "a < " + "9" * 300,
    "huge string": "'" + "x" * 100_000 + "'",
    "long": "a or " * 20_000 + "a",
    "deep brackets": "[" * 50 + "]" * 50,
    "unclosed": "[" * 39,
    "deep not": "not " * 60 + "a",
    "deep minus": "-" * 60 + "a",
    "deep minus, spaced": "- " * 60 + "a",
    "deep tilde": "~" * 900 + "a",
    "deep sum": "1 + " * 60 + "1",
    "deep if": "a if b else " * 60 + "c",
    "attributes": "a" + ".b" * 900,
    "closed too early": "a) or (b",
    "call by closing": "a)(b",
    "statement": "import os",
    "two statements": "a; b",
    "assignment": "a = 1",
    "null byte": "a\0b",
    "surrogate": "a == '\ud800'",
    "keyword": "class",
}


def check_name(name: str) -> str | None:
    return "no such name" if "__" in name or name.endswith("(") else None


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED.keys())
def test_refusals_are_quick_and_say_where(source: str) -> None:
    translator = Translator(check_name, {name: row[:2] for name, row in FUNCTIONS.items()})
    start = time.process_time()
    with pytest.raises(ExpressionError) as error:
        translator.function("f", source)
    assert time.process_time() - start < 1
    lines = source.split("\n")
    assert error.value.message
    assert 0 <= error.value.line < len(lines)
    assert 0 <= error.value.column <= len(lines[error.value.line]) + 1


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.text(max_size=40), st.text(alphabet="ab.()[]{}+-*/%<>=!'\" \n,:#0179eniotrandsfl", max_size=60)))
def test_any_text_compiles_or_is_refused(source: str) -> None:
    translator = Translator(check_name, {name: row[:2] for name, row in FUNCTIONS.items()})
    try:
        body = translator.function("f", source, as_truth=True)
    except ExpressionError:
        return
    space: dict[str, Any] = {}
    exec(HEADER + body, space)
    assert space["f"](dict.fromkeys(translator.names, 1)) in (True, False, U, NA)


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("a and open(1)", 0, 6),
        ("a and\n  open(1)", 1, 2),
        ("'ü' == open(1)", 0, 7),
        ("a\nand ü.__x__", 1, 4),
        ("a and\nb == = c", 1, 5),
        ("a > 1e999", 0, 4),
    ],
)
def test_the_caret_counts_code_points_of_its_line(source: str, line: int, column: int) -> None:
    translator = Translator(check_name, {name: row[:2] for name, row in FUNCTIONS.items()})
    with pytest.raises(ExpressionError) as error:
        translator.function("f", source)
    assert (error.value.line, error.value.column) == (line, column)


def test_the_rest_of_a_settled_condition_is_not_computed() -> None:
    class Facts(dict[str, Any]):
        def __missing__(self, name: str) -> Any:
            raise AssertionError(name)

    assert compiled("a or expensive")(Facts(a=1)) is True
    assert compiled("a and (b or expensive) and expensive")(Facts(a=True, b=True) | {"expensive": 0}) is False
    assert compiled("not a and expensive")(Facts(a=1)) is False


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("plain", [("plain", None, 5)]),
        ("", [("", None, 0)]),
        ("{{a}}", [("{a}", None, 5)]),
        ("x {a} y", [("x ", "a", 3), (" y", None, 7)]),
        ("{a}{b}", [("", "a", 1), ("", "b", 4)]),
    ],
)
def test_templates(template: str, expected: list[Any]) -> None:
    assert split_template(template) == expected


@pytest.mark.parametrize("template", ["{", "}", "a {b", "a } b", "{a}}", "{{a}"])
def test_lone_braces_are_refused(template: str) -> None:
    with pytest.raises(ExpressionError):
        split_template(template)


def test_messages_show_values_in_the_words_of_yaml() -> None:
    translator = Translator(lambda name: None, {})
    space: dict[str, Any] = {}
    exec(HEADER + translator.message("m", "{a}, {b} {{and}} {c + 1}, {d}, {e}"), space)
    known = {"a": None, "b": True, "c": 1, "d": ["x", None, 0.5], "e": 1e-5}
    assert space["m"](known) == "null, true {and} 2, [x, null, 0.5], 1e-05"
