"""Values, places and problems of a config file; values agree with the loaders of record."""

from __future__ import annotations

import math
from pathlib import PurePath
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lclint.core.errors import InputError
from lclint.sources import document as documents
from lclint.sources import yaml_nodes
from lclint.sources.document import Unresolved, load


def _load(text: str, loader: str = "omegaconf") -> documents.Document:
    return load(text.encode(), "f.yaml", loader)


def _same(a: Any, b: Any) -> bool:
    """Equal in value, type and order; sets compare to lists, and nan is itself."""
    if isinstance(b, set):
        return isinstance(a, list) and set(a) == b and len(a) == len(b)
    if isinstance(b, tuple):
        b = list(b)
    if isinstance(b, PurePath):
        b = str(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return (
            len(a) == len(b)
            and all(key in a and _same(a[key], value) for key, value in b.items())
            and set(map(type, a)) == set(map(type, b))
        )
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, float) and math.isnan(a):
        return math.isnan(b)
    return bool(a == b)


# Scalars ----------------------------------------------------------------------------------------------------------------------------

SCALARS = [
    # text, as OmegaConf reads it, as safe_load reads it
    ("1e-5", 1e-5, "1e-5"),
    ("1.0e-05", 1e-5, 1e-5),
    ("1e5", 1e5, "1e5"),
    ("1.e5", 1e5, "1.e5"),
    ("yes", True, True),
    ("OFF", False, False),
    ("y", "y", "y"),
    ("012", 10, 10),
    ("08", "08", "08"),
    ("0x1F", 31, 31),
    ("0b11", 3, 3),
    ("1_000", 1000, 1000),
    ("1:30", 90, 90),
    ("1:30.5", 90.5, 90.5),
    (".inf", math.inf, math.inf),
    ("-.INF", -math.inf, -math.inf),
    ("inf", "inf", "inf"),
    ("~", None, None),
    ("Null", None, None),
    ("", None, None),
    ("nULL", "nULL", "nULL"),
    ("-", "-", "-"),
    ("+1", 1, 1),
    ("1e", "1e", "1e"),
    ("2024-13-01 x", "2024-13-01 x", "2024-13-01 x"),
]


@pytest.mark.parametrize(("text", "omegaconf", "safe"), SCALARS)
def test_scalars(text: str, omegaconf: Any, safe: Any) -> None:
    if text == "-":
        text = "'-'"
    assert _same(_load(f"a: {text}\n").data, {"a": omegaconf})
    assert _same(_load(f"a: {text}\n", "safe_load").data, {"a": safe})


def test_timestamps_stay_strings_in_override_files() -> None:
    assert _load("a: 2024-01-02\n").data == {"a": "2024-01-02"}
    assert _load("a: 2024-01-02\n", "safe_load").data == yaml.safe_load("a: 2024-01-02\n")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(list("0123456789_.:-+eExXbTZ nNaiIfFuUlLyYoOsStrR~<=")), max_size=7).map("".join), st.booleans())
def test_scalars_agree_with_the_loaders(text: str, safe: bool) -> None:
    source = f"a: {text}\n"
    _compare(source, "safe_load" if safe else "omegaconf")


def _compare(source: str, loader: str) -> None:
    """``load`` gives what the loader gives, and a problem or InputError exactly where the loader refuses."""
    reader: Any = yaml.SafeLoader
    if loader == "omegaconf":
        pytest.importorskip("omegaconf")
        from omegaconf._utils import get_yaml_loader

        reader = get_yaml_loader()
    refused = None
    expected: Any = None
    try:
        expected = yaml.load(source, Loader=reader)
    except (yaml.YAMLError, ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        refused = error
    try:
        document = load(source.encode(), "f.yaml", loader)
    except InputError as error:
        if "stands inside its own value" not in str(error):
            assert refused is not None, source
        return
    # What OmegaConf.create refuses after its YAML loader took it.
    problems = [
        problem
        for problem in document.problems
        if problem.kind not in ("key-type", "interpolation") and "OmegaConf has no" not in problem.message
    ]
    if refused is not None:
        assert problems, (source, refused)
    else:
        assert not problems, (source, problems)
        if expected is None and loader == "omegaconf":
            expected = {}
        if not document.problems and "${" not in source:
            assert _same(document.data, expected), (source, document.data, expected)


_WORDS = st.sampled_from(
    [
        "a",
        "b",
        "key",
        "1",
        "1e3",
        "yes",
        "~",
        "null",
        "'q'",
        '"d"',
        "x y",
        "",
        "0x1",
        "!!str 1",
        "!!int '3'",
        "!!float 1",
        "true",
        "1.5",
        "${a}",
    ]
)
_BLOCK_WORDS = st.sampled_from(["|\n{}  text\n{}  more\n", ">-\n{}  folded\n{}  text\n"])


@st.composite
def _yaml(draw: st.DrawFn, depth: int = 0, indent: str = "") -> str:
    """A block of YAML text, lines at ``indent``; mostly valid."""
    lines = []
    names = [f"k{i}" for i in range(3)] + ["1", "yes", "'k0'", "~"]
    sequence = draw(st.integers(0, 3)) == 0 and depth > 0
    for number in range(draw(st.integers(1, 4))):
        head = "- " if sequence else draw(st.sampled_from(names)) + ": "
        kind = draw(st.integers(0, 9 if depth < 3 else 6))
        anchor = draw(st.sampled_from(["", "", "", f"&n{depth}{number} "]))
        if kind < 4:
            value = anchor + draw(_WORDS)
        elif kind == 4:
            value = draw(st.sampled_from([f"{anchor}[{{}}, {{}}]", f"{anchor}{{{{p: {{}}, q: {{}}}}}}"])).format(
                draw(st.sampled_from("ab1~")), draw(st.sampled_from("ab1~"))
            )
        elif kind == 5:
            value = draw(_BLOCK_WORDS).replace("{}", indent).rstrip("\n")
        elif kind == 6:
            value = draw(st.sampled_from(["*n00", "*n01", "*n10", "*n11"]))
            if not sequence and draw(st.booleans()):
                head = "<<: "
        else:
            value = f"{anchor}\n" + draw(_yaml(depth + 1, indent + "  ")).rstrip("\n")
        comment = draw(st.sampled_from(["", "", " # note", "\n" + indent + "# own line"])) if "\n" not in value else ""
        lines.append(f"{indent}{head}{value}{comment}")
    return "\n".join(lines) + "\n"


@settings(max_examples=200, deadline=None)
@given(_yaml(), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_documents_agree_with_the_loaders(source: str, safe: bool, newline: str) -> None:
    _compare(source.replace("\n", newline), "safe_load" if safe else "omegaconf")


@pytest.mark.parametrize(
    "source",
    [
        "a: &a {long: 1}\nb: {<<: *a, other: 2}\n",
        "a: &a {long: 1}\nb:\n  <<: *a\n  long: 3\n",
        "a: {b: &m {<<: &x {kk: 1}, kk: 2}}\nc: {<<: *m}\n",
        "s: !!set {a, b}\n",
        "s: !!set\n  a:\n  b:\n",
        "o: !!omap [a: 1, b: 2]\n",
        "o: !!omap [1]\n",
        "p: !!pairs [a: 1, a: 2]\n",
        "t: !!python/tuple [1]\n",
        "t: !mine 1\n",
        "t: !!seq {a: 1}\n",
        "t: !!map [1]\n",
        "t: ! 12\n",
        "t: !!int abc\n",
        "t: !!bool x\n",
        "t: !!binary aGk=\n",
        "t: !!timestamp 2024-01-02\n",
        "p: !!python/object/apply:pathlib.PosixPath [/, a, b]\n",
        "=: 1\n",
        "a: =\n",
        "a: <<\n",
        "<<: 1\n",
        "<<: [1]\n",
        "<<: [{a: 1}, {b: 2}]\n",
        "? [a]\n: 1\n",
        "? {a: 1}\n: 1\n",
        "~: 1\n",
        "a: 1\n'a': 2\n",
        "1: 1\n1: 2\n",
        "a: 1\n---\nb: 2\n",
        "--- \na: 1\n...\n",
        "a: &x 1\nb: &x 2\n",
        "&x a: *x\n",
        "%YAML 1.1\n---\na: 1\n",
        'a: "\\u00e9\\x41\\n"\n',
        "a: 'it''s'\n",
        "a: 1\n \tb: 2\n",
        "- a\n- b\n",
        "just text\n",
        "a: 123456789012345678901234567890\n",
        "",
        "# only a comment\n",
        "a: 0b_\n",
        "2024-01-02: x\n",
        "a: 2024-13-45\n",
        "a: x\u2028y\n",
        "a: \u00e9\U0001d4d0 # \U0001d4d0\n",
    ],
)
@pytest.mark.parametrize("loader", ["omegaconf", "safe_load"])
def test_special_documents_agree_with_the_loaders(source: str, loader: str) -> None:
    _compare(source, loader)


# Problems ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "kind", "text"),
    [
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "duplicate-key", "c"),
        ("a: 1\n---\nb: 2\n", "several-documents", "---"),
        ("a: &x 1\nb: &x 2\n", "duplicate-anchor", "&x 2"),
        ("~: 1\n", "key-type", "~"),
        ("? [a]\n: 1\n", "unhashable-key", "[a]"),
        ("<<: 3\n", "merge", "3"),
        ("a: !mine x\n", "tag", "!mine x"),
        ("a: !!set {b}\n", "value", "!!set {b}"),
        ("a: ${b\n", "interpolation", "${b"),
        ("a: ${b}\nb: ${a}\n", "interpolation", "${a}"),
    ],
)
def test_problems(source: str, kind: str, text: str) -> None:
    document = _load(source)
    found = [problem for problem in document.problems if problem.kind == kind]
    assert text in [document.text[problem.start : problem.end] for problem in found], document.problems
    assert all(problem.message for problem in found)


def test_duplicates_are_no_problem_for_safe_load() -> None:
    document = _load("a: 1\na: 2\n", "safe_load")
    assert document.data == {"a": 2}
    assert not document.problems
    assert document.span(("a",)) == (8, 9)


@pytest.mark.parametrize(
    ("data", "line", "part"),
    [
        (b"\xff\xfea\x00", None, "UTF-16"),
        (b"a: \x00", None, "binary"),
        (b"a: 1\nb: \xe9\n", 2, "UTF-8"),
        (b"a: 1\nb: c: d\n", 2, "':'"),
        (b"a:\n\tb: 1\n", 2, "tab"),
        (b"a: [1\n", 2, "not closed"),
        (b"a: 'x\nb: 1\n", 1, "never closed"),
        (b"a: *x\n", 1, "refers to no anchor"),
        (b"a: &x [*x]\n", 1, "inside its own value"),
        (b"[" * 5000, 1, "nested"),
        (b"a: \x07\n", None, "control"),
    ],
)
def test_unreadable(data: bytes, line: int | None, part: str) -> None:
    with pytest.raises(InputError) as caught:
        load(data, "f.yaml")
    assert caught.value.line == line
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_alias_expansion_is_bounded() -> None:
    bomb = "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
    for previous, name in zip("abcdef", "bcdefg", strict=True):
        bomb += f"{name}: &{name} [{','.join(['*' + previous] * 10)}]\n"
    with pytest.raises(InputError, match="aliases expanded"):
        _load(bomb)
    deep = "a0: &a0 [1]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}]\n" for i in range(400))
    with pytest.raises(InputError, match="levels deep"):
        _load(deep)
    merges = "a0: &a0 {k: 1}\n" + "".join(f"a{i + 1}: &a{i + 1} {{<<: *a{i}}}\n" for i in range(400))
    with pytest.raises(InputError, match="levels deep"):
        _load(merges)


def test_aliases_share_their_value() -> None:
    data = _load("a: &x {b: 1}\nc: *x\n").data
    assert data["a"] is data["c"]


# Interpolation ----------------------------------------------------------------------------------------------------------------------


def test_interpolation() -> None:
    document = _load(
        "a: {b: 2, c: '${.b}', d: '${..e}', f: '${a.b}-${e}', l: [1, '${a.l.0}', '${a[l][0]}', '${.[0]}']}\ne: text\n"
        "g: ${a}\nn: ${a.${o}}\no: b\np: \\${x}\nq: ${a.g}\nr: ${r2}\nr2: ${a.b}\nm: '???'\nmm: ${m}\n"
    )
    data = document.data
    assert data["a"] == {"b": 2, "c": 2, "d": "text", "f": "2-text", "l": [1, 1, 1, 1]}
    assert data["g"] == data["a"]
    assert data["n"] == 2
    assert data["p"] == "${x}"
    assert data["r"] == 2
    assert data["q"] == Unresolved("${a.g}")
    assert data["q"].needs == ("a.g",)
    assert data["mm"] == Unresolved("${m}")
    assert not document.problems
    assert document.interpolations[("a", "c")] == "${.b}"


def test_resolvers_stay_unresolved() -> None:
    data = _load("a: ${oc.env:HOME,x}\nb: ${mul:2,${c}}\nc: 3\nd: x-${oc.env:'N'}-${model.size}\n").data
    assert data["a"] == Unresolved("${oc.env:HOME,x}")
    assert data["a"].needs == ("env.HOME",)
    assert data["b"].needs == ("mul",)
    assert data["d"].needs == ("oc.env", "model.size")


def test_saved_configs_do_not_interpolate() -> None:
    assert _load("a: ${b}\nb: 1\n", "safe_load").data == {"a": "${b}", "b": 1}


def test_endless_and_exploding_interpolations_are_cut() -> None:
    document = _load("x: {p: '${y}'}\ny: {q: '${x}'}\n")
    assert [problem.kind for problem in document.problems] == ["interpolation"]
    assert repr(document.data)
    lists = ["a0: [1,1,1,1,1,1,1,1,1,1]"]
    texts = ["a0: xxxxxxxxxx"]
    for number in range(9):
        reference = f"${{a{number}}}"
        lists.append(f"a{number + 1}: [{', '.join([repr(reference)] * 10)}]")
        texts.append(f"a{number + 1}: {reference * 10}")
    for lines in (lists, texts):
        assert any(problem.kind == "interpolation" for problem in _load("\n".join(lines)).problems)


_INTERPOLATED = st.lists(
    st.sampled_from(
        [
            "${a}",
            "${.a}",
            "${..a}",
            "${b.c}",
            "${b.l.0}",
            "${b.l[1]}",
            "${b[c]}",
            "\\",
            "\\\\",
            "x",
            " ",
            "$",
            "{",
            "}",
            "${",
            "${b.${k}}",
            "${b}",
            "${n}",
            "${ a }",
            "${.}",
            "-",
            "${b.}",
        ]
    ),
    min_size=1,
    max_size=4,
).map("".join)


@settings(max_examples=200, deadline=None)
@given(_INTERPOLATED, _INTERPOLATED)
def test_interpolation_agrees_with_omegaconf(first: str, second: str) -> None:
    omegaconf = pytest.importorskip("omegaconf")

    source = {"a": 1, "k": "c", "n": None, "b": {"c": 2.5, "l": [True, "t"], "a": "in"}, "x": {"a": "first", "y": first}, "z": second}
    document = load(yaml.safe_dump(source).encode(), "f.yaml", "omegaconf")
    try:
        expected = omegaconf.OmegaConf.to_container(omegaconf.OmegaConf.create(source), resolve=True)
    except Exception:
        assert document.problems or _holds_unresolved(document.data), source
        return
    assert not document.problems, (source, document.problems)
    if first in ("${b}",) or "${b}" in first + second:  # a container inside of text is written differently
        return
    assert _same(document.data, expected)


def _holds_unresolved(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_unresolved, value.values()))
    if isinstance(value, list):
        return any(map(_holds_unresolved, value))
    return isinstance(value, Unresolved)


# Places -----------------------------------------------------------------------------------------------------------------------------


def _texts(document: documents.Document, path: tuple[Any, ...]) -> list[str]:
    spans = [document.span(path, part) for part in ("value", "key", "entry")]
    return [document.text[span[0] : span[1]] for span in spans if span]


def test_spans() -> None:
    text = (
        "\ufeffa: 1  # c\r\nb: &x\r\n  c: 'q'\r\n  l:\r\n  - 1\r\n  - {k: v}\r\n\r\n# end\r\nd: *x\r\n"
        "e: |\r\n  t\r\n\r\nf: {<<: *x, \U0001d4d0: 2}\r\ng:\r\n"
    )
    document = _load(text)
    assert document.bom
    assert document.text[0] == "a"
    assert _texts(document, ("a",)) == ["1", "a", "a: 1"]
    assert _texts(document, ("b",))[0] == "c: 'q'\r\n  l:\r\n  - 1\r\n  - {k: v}"
    assert _texts(document, ("b", "l", 1, "k"))[0] == "v"
    assert _texts(document, ("d",)) == ["*x", "d", "d: *x"]
    assert _texts(document, ("d", "c"))[0] == "'q'"
    assert _texts(document, ("e",))[0] == "|\r\n  t"
    assert _texts(document, ("f", "c"))[0] == "'q'"
    assert _texts(document, ("f", "\U0001d4d0")) == ["2", "\U0001d4d0", "\U0001d4d0: 2"]
    assert _texts(document, ("g",)) == ["", "g", "g:"]
    assert document.span(("nope",)) is None
    assert document.span(("a", "b")) is None
    assert document.span(("b", "l", 7)) is None
    start = document.span(("f", "\U0001d4d0"))
    assert start is not None
    assert document.position(start[0]) == (13, 16)
    assert document.line_text(1) == "a: 1  # c"
    assert document.line_text(99) == ""


def test_lines_break_as_editors_see_them() -> None:
    document = _load("a: 'x\u2028y'\rb: 1\r\nc: 2\n")
    assert [document.position(document.span((key,), "key")[0])[0] for key in "abc"] == [1, 2, 3]  # type: ignore[index]


@settings(max_examples=200, deadline=None)
@given(_yaml(), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_nodes_nest_and_stand_where_their_text_is(source: str, newline: str, astral: bool) -> None:
    source = source.replace("\n", newline)
    if astral:
        source = source.replace("text", "t\U0001d4d0\u00e9t").replace("# ", "# \U0001d4d0")
    try:
        tree = yaml_nodes.parse(source, "f")
    except InputError:
        return
    stack = [tree.root] if tree.root else []
    while stack:
        node = stack.pop()
        assert node is not None
        assert 0 <= node.start <= node.end <= len(source)
        children = [child for pair in node.pairs for child in pair] + node.items
        position = node.start
        for child in children:
            assert position <= child.start <= child.end <= node.end, (source, node, child)
            position = child.end
        if children and not node.flow:
            assert node.end == children[-1].end
        if node.kind == "scalar" and node.style is None and not node.anchor and not node.tag and "\n" not in str(node.value):
            assert source[node.start : node.end] == node.value
        stack.extend(children)


def test_the_python_parser_gives_the_same_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: &x [1, {b: 'c'}]\nd: !!str\ne: |\n  t\n\n# c\nf: *x\ng:\n- 1\n-\n"
    spans = [node_repr(yaml_nodes.parse(text, "f").root)]
    monkeypatch.setattr(yaml_nodes, "_Parser", yaml.SafeLoader)
    spans.append(node_repr(yaml_nodes.parse(text, "f").root))
    assert spans[0] == spans[1]


def node_repr(node: Any) -> Any:
    return (
        repr(node),
        node.tag,
        node.value,
        node.style,
        node.anchor,
        [(node_repr(k), node_repr(v)) for k, v in node.pairs],
        [node_repr(i) for i in node.items],
    )


def test_the_loader_follows_the_root() -> None:
    assert load(b"_target_: x\nlr: 1e-5\n", "f").data["lr"] == "1e-5"
    assert load(b"lr: 1e-5\n", "f").data["lr"] == 1e-5
    assert load(b"", "f").data == {}
    assert load(b"", "f").root is None
