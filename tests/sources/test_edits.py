"""Edits: exact text for typical changes, and properties over generated documents."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lclint.sources.directives import comments
from lclint.sources.document import Document, Unresolved, load
from lclint.sources.edits import EditRefused, apply, change, render, verify
from lclint.sources.steps import equal


def _edit(text: str, *operations: tuple[Any, ...], loader: str | None = None) -> str:
    document = load(text.encode(), "f.yaml", loader)
    edits = change(document, list(operations))
    new = apply(document.text, edits)
    assert verify(document, list(operations), new) is None
    assert edits == sorted(edits)
    assert all(document.text[start:end] != text for start, end, text in edits)
    return new


BASE = """\
# head
model:
  hidden: 8  # width
  mods: [a, b]
  rec:
  - x  # first
  # about y
  - y
  # trailing
train:
  lr: 1e-5
nul:
flow: {a: 1, b: 2}
# end
"""

CASES = [
    ("scalar", [("set", ("model", "hidden"), 16)], "  hidden: 8  # width\n", "  hidden: 16  # width\n"),
    ("float", [("set", ("train", "lr"), 1e-06)], "  lr: 1e-5\n", "  lr: 1.0e-06\n"),
    ("string that looks like a boolean", [("set", ("train", "lr"), "no")], "  lr: 1e-5\n", "  lr: 'no'\n"),
    ("null", [("set", ("train", "lr"), None)], "  lr: 1e-5\n", "  lr: null\n"),
    ("value of an empty key", [("set", ("nul",), 3)], "nul:\n", "nul: 3\n"),
    ("into a null section", [("set", ("nul", "x"), 3)], "nul:\n", "nul:\n  x: 3\n"),
    ("new key below the last value", [("set", ("model", "new"), [1])], "  # trailing\n", "  # trailing\n  new: [1]\n"),
    ("new section at the end", [("set", ("ddp", "x", "y"), True)], "# end\n", "# end\nddp:\n  x:\n    y: true\n"),
    ("new key in a flow mapping", [("set", ("flow", "c"), {"d": [1]})], "{a: 1, b: 2}", "{a: 1, b: 2, c: {d: [1]}}"),
    ("remove", [("remove", ("model", "hidden"))], "  hidden: 8  # width\n", "  # width\n"),
    ("remove a block", [("remove", ("train",))], "train:\n  lr: 1e-5\n", ""),
    ("remove the last key", [("remove", ("train", "lr"))], "train:\n  lr: 1e-5\n", "train: {}\n"),
    ("remove and add", [("remove", ("train", "lr")), ("set", ("train", "x"), 1)], "  lr: 1e-5\n", "  x: 1\n"),
    ("remove from a flow mapping", [("remove", ("flow", "a"))], "{a: 1, b: 2}", "{b: 2}"),
    ("remove the last of a flow mapping", [("remove", ("flow", "b"))], "{a: 1, b: 2}", "{a: 1}"),
    ("rename", [("rename", ("model", "mods"), "modules")], "  mods:", "  modules:"),
    ("append to a flow list", [("append", ("model", "mods"), "c")], "[a, b]", "[a, b, c]"),
    ("append to a block list", [("append", ("model", "rec"), "z")], "  - y\n", "  - y\n  - z\n"),
    ("discard", [("discard", ("model", "rec"), "x")], "  - x  # first\n", "  # first\n"),
    ("discard from a flow list", [("discard", ("model", "mods"), "a")], "[a, b]", "[b]"),
    ("replace", [("replace", ("model", "mods"), ("b", "c"))], "[a, b]", "[a, c]"),
    ("append creates the list", [("append", ("model", "q"), 1)], "  # trailing\n", "  # trailing\n  q: [1]\n"),
    ("append to null", [("append", ("nul",), 1)], "nul:\n", "nul: [1]\n"),
    ("several", [("set", ("model", "hidden"), 1), ("set", ("model", "hidden"), 16)], "8", "16"),
    ("mapping for scalar", [("set", ("model", "hidden"), {"a": 1})], "  hidden: 8  # width\n", "  hidden:  # width\n    a: 1\n"),
    ("no change", [("set", ("model", "hidden"), 8), ("remove", ("nope", "x")), ("discard", ("model", "mods"), "q")], "", ""),
]


@pytest.mark.parametrize(("operations", "old", "new"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_typical_changes(operations: list[tuple[Any, ...]], old: str, new: str, newline: str) -> None:
    assert BASE.count(old) == 1 or not old
    expected = BASE.replace(old, new) if old else BASE
    assert _edit(BASE.replace("\n", newline), *operations) == expected.replace("\n", newline)


@pytest.mark.parametrize(
    ("text", "operations", "expected"),
    [
        ("", [("set", ("a", "b"), 1)], "a:\n  b: 1\n"),
        ("# c", [("set", ("a", "b"), 1)], "# c\na:\n  b: 1"),
        ("a: 1", [("set", ("b",), 1)], "a: 1\nb: 1"),
        ("a: 1\n\n\n# c\n", [("set", ("b",), 1)], "a: 1\n\n\n# c\nb: 1\n"),
        ("{}\n", [("set", ("a", "b"), 1)], "a:\n  b: 1\n"),
        ("---\n", [("set", ("a",), 1)], "---\na: 1\n"),
        ("a: 1\n", [("remove", ("a",))], ""),
        ("a: {}  # c\n", [("set", ("a", "b"), 1)], "a:  # c\n  b: 1\n"),
        ("a: null  # c\n", [("set", ("a", "b"), 1)], "a:  # c\n  b: 1\n"),
        ("a:\n    b: 1\n", [("set", ("c", "d", "e"), 1)], "a:\n    b: 1\nc:\n    d:\n        e: 1\n"),
        ("a:\n- x\n", [("set", ("b",), [1, 2])], "a:\n- x\nb:\n- 1\n- 2\n"),
        ("a:\n  - x\n", [("set", ("b",), [1, 2])], "a:\n  - x\nb:\n  - 1\n  - 2\n"),
        ("a:\n  # why\n  - x # t\nb: 1\n", [("discard", ("a",), "x")], "# why\n# t\na: []\nb: 1\n"),
        ("a: 'x'\nb: \"x\"\n", [("set", ("a",), "y"), ("set", ("b",), "z")], "a: 'y'\nb: \"z\"\n"),
        ("a: |\n  x\n\n# c\nb: 1\n", [("set", ("a",), 1)], "a: 1\n\n# c\nb: 1\n"),
        ("a:\n  b: |\n    x\n", [("set", ("a", "c"), 1)], "a:\n  b: |\n    x\n  c: 1\n"),
        ("a:\n  b: |+\n    x\n\nc: 1\n", [("set", ("a", "d"), 1)], "a:\n  b: |+\n    x\n\n  d: 1\nc: 1\n"),
        ("a: &x 1\nb: 2\n", [("set", ("a",), 3)], "a: &x 3\nb: 2\n"),
        ("a: &x 1\nb: *x\nc: *x\n", [("set", ("a",), 3)], "a: 3\nb: &x 1\nc: *x\n"),
        ("a: &x 1\nb: *x\nc: *x\n", [("remove", ("a",))], "b: &x 1\nc: *x\n"),
        ("s: {a: &x 1, b: 2}\nb: *x\n", [("remove", ("s", "a"))], "s: {b: 2}\nb: &x 1\n"),
        ("f: {a: 8, \n    b: 4 } # c\n", [("remove", ("f", "b"))], "f: {a: 8, \n    } # c\n"),
        ("a: &x 1\nb: *x\n", [("set", ("b",), 3)], "a: &x 1\nb: 3\n"),
        ("a: &x {k: 1}\nb: *x\n", [("set", ("b", "k"), 2)], "a: &x {k: 1}\nb:\n  <<: *x\n  k: 2\n"),
        ("a: &x {k: 1, l: 2}\nb: *x\n", [("remove", ("b", "k"))], "a: &x {k: 1, l: 2}\nb:\n  l: 2\n"),
        ("a: &x [1]\nb: *x\n", [("append", ("b",), 2)], "a: &x [1]\nb: [1, 2]\n"),
        ("a: &x {k: 1}\nb:\n  <<: *x\n", [("set", ("b", "k"), 2)], "a: &x {k: 1}\nb:\n  <<: *x\n  k: 2\n"),
        ("a: &x {k: {l: 1}}\nb: {<<: *x}\n", [("set", ("b", "k", "m"), 2)], "a: &x {k: {l: 1}}\nb: {<<: *x, k: {l: 1, m: 2}}\n"),
        ("a: ${b}\nb: 1\n", [("set", ("a",), 2)], "a: 2\nb: 1\n"),
        ("a: ${b}\nb: 1\n", [("set", ("b",), 2), ("set", ("a",), 2)], "a: ${b}\nb: 2\n"),
        ("a: 1\na: 2\n", [("remove", ("a",))], ""),
        ("_target_: x\na: 1\na: 2\n", [("set", ("a",), 3)], "_target_: x\na: 1\na: 3\n"),
        ("l:\n- a: 1  # x\n  b: 2\n", [("remove", ("l", 0, "a"))], "l:\n# x\n- b: 2\n"),
        ("l:\n- a: 1\n", [("set", ("l", 0, "b"), 2)], "l:\n- a: 1\n  b: 2\n"),
        ("l:\n- a: 1\n", [("set", ("l", 0), 2)], "l:\n- 2\n"),
        ("f: {\n  a: 1,  # x\n  b: 2  # y\n}\n", [("set", ("f", "c"), 3)], "f: {\n  a: 1,  # x\n  b: 2,  # y\n  c: 3\n}\n"),
        ("f: {\n  a: 1,  # x\n  b: 2,  # y\n}\n", [("set", ("f", "c"), 3)], "f: {\n  a: 1,  # x\n  b: 2,  # y\n  c: 3,\n}\n"),
        ("f: [\n  a,  # x\n  b,  # y\n]\n", [("discard", ("f",), "a")], "f: [\n  # x\n  b,  # y\n]\n"),
        ("f: [\n  a,  # x\n  b   # y\n]\n", [("discard", ("f",), "b")], "f: [\n  a,  # x\n  # y\n]\n"),
        ("f: [a, [b], 'c,']  # x\n", [("discard", ("f",), "c,")], "f: [a, [b]]  # x\n"),
        ("a: !!set {x}\n", [("append", ("a",), "y")], "a: [x, y]\n"),
        ("a:  # t\n  b: 1\n", [("set", ("a",), 2)], "a: 2  # t\n"),
        ("a: &k  # t\n  b: 1\n", [("set", ("a",), 2)], "a: &k 2  # t\n"),
        ("a: 1\n", [("set", ("a",), {})], "a: {}\n"),
        ("a: 1\n", [("set", ("x y: z",), "# no")], "a: 1\n'x y: z': '# no'\n"),
        ("a: 1\r\nb:\r\n", [("set", ("b", "c"), 1)], "a: 1\r\nb:\r\n  c: 1\r\n"),
    ],
)
def test_special_changes(text: str, operations: list[tuple[Any, ...]], expected: str) -> None:
    loader = "safe_load" if "!!set" in text else None
    assert _edit(text, *operations, loader=loader) == expected


@pytest.mark.parametrize(
    ("text", "operation", "reason"),
    [
        ("a: 1\n", ("set", ("a", "b"), 1), "not a section"),
        ("a: 1\n", ("append", ("a",), 1), "not a list"),
        ("a: &x {k: 1}\nb: *x\n", ("set", ("a", "k"), 2), "b.k"),
        ("a: &x {k: 1}\nb: *x\n", ("remove", ("a",)), "anchor"),
        ("a: &x {k: 1}\nb: {<<: *x}\n", ("remove", ("b", "k")), "merge key"),
        ("a: ${b}\nb: 1\n", ("set", ("b",), 2), "a would not be as intended"),
        ("a: ${b}\nb: {c: 1}\n", ("remove", ("a", "c")), "interpolation"),
        ("a: 1\nb: 2\n", ("rename", ("a",), "b"), "exists already"),
        ("a: 1\n", ("set", ("a",), object()), "cannot be written"),
        ("a: 1\n", ("remove", ()), "whole file"),
        ("a: 1\na: 2\n", ("set", ("a",), 3), "a is given twice"),
        ("s: {a: 1}\ns: {b: 2}\n", ("set", ("s", "c"), 3), "s is given twice"),
        ("a: {x: 1}\nb: {x: 2}\n", ("move", ("a", "x"), ("b", "x")), "b.x exists already"),
        ("a: 1\n---\n", ("set", ("l", 0), 1), "not an element"),
    ],
)
def test_refused(text: str, operation: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(EditRefused, match=reason):
        change(load(text.encode(), "f.yaml"), [operation])


def test_byte_order_mark_is_not_counted() -> None:
    document = load("\ufeffa: 1\n".encode(), "f.yaml")
    assert change(document, [("set", ("a",), 2)]) == [(3, 4, "2")]


def test_verify_finds_what_else_changed() -> None:
    document = load(b"a: 1\nb: 2\n", "f.yaml")
    assert verify(document, [("set", ("a",), 3)], "a: 3\nb: 2\n") is None
    assert "b" in str(verify(document, [("set", ("a",), 3)], "a: 3\nb: 4\n"))
    assert "a" in str(verify(document, [("set", ("a",), 3)], "a: 3.0\nb: 2\n"))
    assert "YAML" in str(verify(document, [("set", ("a",), 3)], "a: [\n"))
    assert "problem" in str(verify(document, [("set", ("a",), 3)], "a: 1\na: 3\nb: 2\n"))


# render -----------------------------------------------------------------------------------------------------------------------------

_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(
        [
            "yes",
            "1e-5",
            "012",
            "",
            "~",
            "a: b",
            "a #b",
            "${x}",
            "\\${x}",
            "-",
            "- a",
            "?",
            "=",
            "<<",
            "2024-01-01",
            "1:30",
            "a\nb",
            "!x",
            "&a",
            "*a",
            "\u2028",
            "'\"",
            "x:",
            "[",
            "\ufeff",
            "...",
            "---",
        ]
    ),
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(_VALUES, st.sampled_from(["omegaconf", "safe_load"]), st.sampled_from([None, "'", '"']))
def test_render_reads_back(value: Any, loader: str, style: str | None) -> None:
    text = f"a: {render(value, loader, style)}\nb: [{render(value, loader)}]\n"
    data = load(text.encode(), "f", loader).data
    assert equal(data, {"a": value, "b": [value]}), text
    if loader == "safe_load" and "1e-0" not in text:
        assert equal(yaml.safe_load(text)["a"], value)


def test_render_numbers() -> None:
    values = [1e-05, 1e16, 1.0, -0.0, float("inf"), float("-inf"), 1e300, 5e-324]
    for value in values:
        text = render(value, "omegaconf")
        assert text == render(value, "safe_load")
        assert repr(yaml.safe_load(text)) == repr(value)
    assert render(Unresolved("${a}"), "omegaconf") == "'${a}'"


# Properties -------------------------------------------------------------------------------------------------------------------------

_NAMES = st.sampled_from(["alpha", "beta", "gamma", "delta", "eps", "zeta"])
_LEAVES = st.sampled_from([1, 2, 30, 0.5, 1e-05, True, None, "word", "two words", "yes", "it's", "a: b", "", "x" * 30, "multi\nline\n"])
_DATA = st.recursive(_LEAVES, lambda inner: st.dictionaries(_NAMES, inner, max_size=4) | st.lists(inner, max_size=3), max_leaves=12)
_ROOT = st.dictionaries(_NAMES, _DATA, max_size=5)


class _Writer:
    """Writes data as YAML in a drawn layout."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.count = 0
        self.unit = draw(st.sampled_from([2, 4]))
        self.list_indent = draw(st.sampled_from([0, 2]))

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def comment(self) -> str:
        if self.one_of(0, 0, 1):
            self.count += 1
            return f"  # note {self.count}"
        return ""

    def own_line(self, indent: str) -> list[str]:
        kind = self.one_of("", "", "", "blank", "comment")
        if kind == "comment":
            self.count += 1
            return [f"{indent}# line {self.count}"]
        return [""] if kind else []

    def inline(self, value: Any) -> str:
        if isinstance(value, dict):
            close = self.one_of("}", " }", ",}") if value else "}"
            return "{" + ", ".join(f"{key}: {self.inline(item)}" for key, item in value.items()) + close
        if isinstance(value, list):
            return (
                "["
                + self.one_of(", ", ",").join(self.inline(item) for item in value)
                + ("]" if not value else self.one_of("]", " ]", ",]"))
            )
        if isinstance(value, str):
            return render(value, "omegaconf", self.one_of(None, "'", '"'))
        return render(value, "omegaconf")

    def entry(self, head: str, value: Any, indent: str, in_list: bool) -> list[str]:
        """The lines of ``key:`` or ``-`` with its value."""
        if value is None and self.one_of(0, 1):
            return [head + self.comment()]
        if isinstance(value, str) and value.endswith("\n") and self.one_of(0, 1):
            return [f"{head} |", *(f"{indent}  {line}" for line in value.split("\n")[:-1]), *self.one_of([], [""])]
        if isinstance(value, dict) and value and self.one_of(0, 1, 1):
            if in_list:
                lines = self.block(value, indent + "  ", compact=True)
                return [f"{head} {lines[0].lstrip()}", *lines[1:]]
            return [head + self.comment(), *self.block(value, indent + " " * self.unit)]
        if isinstance(value, list) and value and not in_list and self.one_of(0, 1):
            return [head + self.comment(), *self.items(value, indent + " " * self.list_indent)]
        if isinstance(value, (dict, list)) and value and self.one_of(0, 0, 1):
            brackets = "{}" if isinstance(value, dict) else "[]"
            inner = (
                [f"{key}: {self.inline(item)}" for key, item in value.items()]
                if isinstance(value, dict)
                else [self.inline(item) for item in value]
            )
            last = self.one_of(",", "")
            lines = [f"{indent}    {part}{',' if number < len(inner) - 1 else last}{self.comment()}" for number, part in enumerate(inner)]
            return [f"{head} {brackets[0]}{self.comment()}", *lines, f"{indent}  {brackets[1]}{self.comment()}"]
        return [f"{head} {self.inline(value)}{self.comment()}"]

    def block(self, data: dict[str, Any], indent: str, compact: bool = False) -> list[str]:
        lines: list[str] = []
        for number, (key, value) in enumerate(data.items()):
            if number or not compact:
                lines += self.own_line(indent)
            lines += self.entry(f"{indent}{key}:", value, indent, in_list=False)
        return lines

    def items(self, data: list[Any], indent: str) -> list[str]:
        lines: list[str] = []
        for value in data:
            lines += self.own_line(indent)
            lines += self.entry(f"{indent}-", value, indent, in_list=True)
        return lines


@st.composite
def _documents(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    data = draw(_ROOT)
    writer = _Writer(draw)
    if not data:
        text = draw(st.sampled_from(["", "{}\n", "# only\n", "\n# x"]))
    else:
        text = "\n".join([*writer.own_line(""), *writer.block(data, ""), *writer.own_line(""), *writer.own_line("  ")])
        if draw(st.integers(0, 3)):
            text += "\n"
        # A literal block needs its last line break, and takes an indented comment below it for text.
        assume(equal(yaml.safe_load(text), data))
    return text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n"]))), data


def _paths(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(data, dict):
        for key, value in data.items():
            found += _paths(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            found += _paths(value, (*path, index))
    return found


def _get(data: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        data = data[part]
    return data


@st.composite
def _operations(draw: st.DrawFn, data: dict[str, Any]) -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
    """Operations and the data that they must give, worked out on plain values."""
    data = copy.deepcopy(data)
    operations: list[tuple[Any, ...]] = []
    for _ in range(draw(st.integers(1, 3))):
        paths = _paths(data)
        sections = [()] + [path for path in paths if isinstance(_get(data, path), dict)]
        lists = [path for path in paths if isinstance(_get(data, path), list)]
        kind = draw(st.sampled_from(["set", "set", "add", "add", "deep", "remove", "remove", "rename", "append", "discard", "replace"]))
        if kind in ("append", "discard", "replace"):
            assume(lists)
            path = draw(st.sampled_from(lists))
            items = _get(data, path)
            old = draw(st.sampled_from([*items, "absent"]))
            new = draw(_LEAVES)
            if kind == "append":
                operations.append((kind, path, new))
                items.append(new)
            elif kind == "discard":
                operations.append((kind, path, old))
                items[:] = [item for item in items if not equal(item, old)]
            else:
                operations.append((kind, path, (old, new)))
                items[:] = [new if equal(item, old) else item for item in items]
        elif kind in ("add", "deep"):
            path = (*draw(st.sampled_from(sections)), "new")
            value = draw(_DATA)
            if kind == "deep":
                holder = _get(data, path[:-1])
                assume(not isinstance(holder.get("new"), (int, float, str, list)) or holder.get("new") is None)
                if not isinstance(holder.get("new"), dict):
                    holder["new"] = {}
                path = (*path, "inner")
            operations.append(("set", path, copy.deepcopy(value)))
            _get(data, path[:-1])[path[-1]] = value
        else:
            assume(paths)
            path = draw(st.sampled_from(paths))
            holder = _get(data, path[:-1])
            if kind == "set":
                value = draw(_DATA)
                operations.append((kind, path, copy.deepcopy(value)))
                holder[path[-1]] = value
            elif kind == "remove":
                operations.append((kind, path))
                del holder[path[-1]]
            else:
                assume(isinstance(holder, dict) and "fresh" not in holder)
                operations.append((kind, path, "fresh"))
                holder["fresh"] = holder.pop(path[-1])
    return operations, data


def _comments(document: Document) -> list[str]:
    return [document.text[start:end].strip() for start, end in comments(document)]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_changes_are_exact(choose: st.DataObject) -> None:
    text, data = choose.draw(_documents())
    document = load(text.encode(), "f.yaml", "omegaconf")
    assert equal(document.data, data), text
    operations, expected = choose.draw(_operations(data))
    edits = change(document, operations)
    new = apply(document.text, edits)
    assert equal(load(new.encode(), "f.yaml", "omegaconf").data, expected), (text, operations, new)
    assert verify(document, operations, new) is None
    if equal(data, expected):
        assert new == text
    # Lines that no edit touches are the same bytes; line breaks stay of one kind.
    assert "\r\n" not in text or new.count("\n") == new.count("\r\n")
    kept = _comments(load(new.encode(), "f.yaml", "omegaconf"))
    assert sorted(kept) == sorted(_comments(document)), (text, operations, new)
    ruamel = pytest.importorskip("ruamel.yaml")
    reader = ruamel.YAML(typ="rt")
    reader.version = (1, 1)
    assert (reader.load(io.StringIO(new)) or {}) == expected


def _lookup(data: Any, path: tuple[Any, ...]) -> Any:
    try:
        return _get(data, path)
    except (KeyError, IndexError, TypeError):
        return None


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_scalar_changes_its_own_span_only(choose: st.DataObject) -> None:
    text, data = choose.draw(_documents())
    paths = [path for path in _paths(data) if not isinstance(_get(data, path), (dict, list))]
    assume(paths)
    path = choose.draw(st.sampled_from(paths))
    document = load(text.encode(), "f.yaml", "omegaconf")
    span = document.span(path)
    assert span is not None
    for start, end, _ in change(document, [("set", path, 12345)]):
        assert (start, end) == span


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_nothing_to_change_gives_no_edits(choose: st.DataObject) -> None:
    text, data = choose.draw(_documents())
    document = load(text.encode(), "f.yaml", "omegaconf")
    assert change(document, [("set", path, copy.deepcopy(_get(data, path))) for path in _paths(data)]) == []


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_removed_entry_takes_only_its_own_comments(choose: st.DataObject) -> None:
    text, data = choose.draw(_documents())
    paths = [path for path in _paths(data) if isinstance(_get(data, path[:-1]), dict) and len(_get(data, path[:-1])) > 1]
    assume(paths)
    path = choose.draw(st.sampled_from(paths))
    document = load(text.encode(), "f.yaml", "omegaconf")
    span = document.span(path, "entry")
    assert span is not None
    last_line = document.position(span[1])[0]
    new = load(apply(document.text, change(document, [("remove", path)])).encode(), "f.yaml", "omegaconf")
    kept = _comments(new)
    for start, end in comments(document):
        inside = span[0] <= start < span[1] or document.position(start)[0] == last_line
        assert inside or document.text[start:end].strip() in kept, (text, path, new.text)
