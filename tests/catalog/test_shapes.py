"""Annotations to kinds, by both ways: imported ``typing`` objects and source text."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import pathlib
import signal
import typing
from typing import Any

import pytest
from harvesting import pack, shapes


class Backend(enum.Enum):
    flash = 1
    fused = 2


@dataclasses.dataclass
class Specs:
    size: int = 1


class dtype:  # stands for torch.dtype
    __module__ = "torch"


CASES: list[tuple[Any, str, list[str], list[str] | None, list[Any] | None]] = [
    (int, "int", ["int"], None, None),
    (bool, "bool", ["bool", "int"], None, None),
    (float | None, "float | None", ["int", "float", "null"], None, None),
    (typing.Optional[str], "Optional[str]", ["str", "null"], None, None),  # noqa: UP045
    (list[str], "list[str]", ["list"], ["str"], None),
    (typing.List[int], "List[int]", ["list"], ["bool", "int"], None),  # noqa: UP006
    (tuple[int, ...], "Tuple[int, ...]", ["list"], ["bool", "int"], None),
    (set[str], "Set[str]", ["list"], ["str"], None),
    (list, "list", ["list"], None, None),
    (int | list[int], "Union[int, List[int]]", ["int", "list"], ["bool", "int"], None),
    (dict[str, Any], "dict[str, Any]", ["dict"], None, None),
    (typing.Literal["a", "b"], "Literal['a', 'b']", ["str"], None, ["a", "b"]),
    (typing.Optional[typing.Literal["a"]], "Optional[Literal['a']]", ["str", "null"], None, ["a"]),  # noqa: UP045
    (typing.Literal[0, 1], "Literal[0, 1]", ["int"], None, [0, 1]),
    (typing.Literal["fp32", "fp64"], "Literal['fp32', 'fp64']", ["str", "dtype"], None, ["fp32", "fp64"]),
    (typing.Literal["a"] | str, "Union[Literal['a'], str]", ["str"], None, None),
    (collections.abc.Callable[[int], int], "Callable[[int], int]", ["str", "dict", "callable", "object"], None, None),
    (typing.Callable | None, "Optional[Callable]", ["str", "null", "dict", "callable", "object"], None, None),
    (Any, "Any", ["any"], None, None),
    (object, "object", ["any"], None, None),
    (str | pathlib.Path, "str | pathlib.Path", ["str", "object"], None, None),
    (dtype, "torch.dtype", ["str", "dtype"], None, None),
    ("int | None", "'int | None'", ["int", "null"], None, None),
]


@pytest.mark.parametrize(("hint", "text", "kinds", "items", "choices"), CASES, ids=[c[1] for c in CASES])
def test_kinds(hint: Any, text: str, kinds: list[str], items: list[str] | None, choices: list[Any] | None) -> None:
    for tree in (shapes.from_hint(hint), shapes.from_text(text)):
        shape = shapes.shape_of(tree)
        assert (shape["kinds"], shape["items"], shape["choices"]) == (kinds, items, choices)


def test_an_enum_is_its_members_by_name() -> None:
    shape = shapes.shape_of(shapes.from_hint(Backend | None))
    assert shape["kinds"] == ["str", "null", "enum"]
    assert shape["choices"] == ["flash", "fused"]
    assert shape["text"] == "flash | fused | null"


def test_an_enum_of_numbers_takes_numbers() -> None:
    assert "int" in shapes.shape_of(shapes.from_hint(signal.Signals))["kinds"]


def test_a_config_class_names_what_may_stand_in_its_place() -> None:
    name = shapes.qualified(Specs)
    shape = shapes.shape_of(shapes.from_hint(Specs | None), lambda n: [n, "other.Specs"])
    assert shape["kinds"] == ["null", "dict", "object"]
    assert shape["nested"] == [name, "other.Specs"]


def test_names_of_an_annotation_are_resolved_by_the_caller() -> None:
    tree = shapes.from_text("Optional[m.Specs]", {"m.Specs": ("class", "a.Specs")}.__getitem__)
    assert shapes.shape_of(tree)["nested"] == ["a.Specs"]
    assert shapes.from_text("Unknown[int]") == shapes.ANY
    assert shapes.from_text("not python") == shapes.ANY


def test_a_default_widens_what_it_contradicts() -> None:
    assert shapes.widen(shapes.shape_of(("int",)), None)["kinds"] == ["int", "null"]
    assert shapes.widen(shapes.shape_of(("literal", "a")), "b")["choices"] == ["a", "b"]
    assert shapes.widen(shapes.shape_of(("dtype",)), "bf16")["kinds"] == ["str", "dtype"]
    assert shapes.widen(shapes.shape_of(shapes.ANY), 3)["kinds"] == ["any"]


def test_only_torch_has_dtypes() -> None:
    assert shapes.dtype_name("torch.float32") is None
    assert shapes.dtype_name(Backend.flash) is None


def test_a_delta_gives_its_class_back() -> None:
    base = {"a": [1], "b": [2], "c": [3]}
    rows = {"a": [1], "b": [9], "d": [4]}
    changed, gone = pack.delta(rows, base)
    assert changed == {"b": [9], "d": [4]}
    assert gone == ["c"]
    assert {k: v for k, v in {**base, **changed}.items() if k not in gone} == rows
