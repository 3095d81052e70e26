"""A config object as the mapping that its dump would hold, without importing anything of it."""

from __future__ import annotations

import enum
import functools
import pathlib
from dataclasses import dataclass, field
from typing import Any

import pytest

from lclint.config.objects import as_mapping


class Backend(enum.Enum):
    auto = 5


class Level(enum.IntEnum):
    high = 2


class Dtype:
    def __str__(self) -> str:
        return "torch.bfloat16"


class Text(str):
    pass


class Number:
    def __index__(self) -> int:
        return 8


class Real:
    def __float__(self) -> float:
        return 0.5


class Vector:
    def __index__(self) -> int:
        raise TypeError("not a scalar")


class View:
    """A mapping that is no dict, as OmegaConf's."""

    def keys(self) -> list[str]:
        return ["a"]

    def __getitem__(self, key: str) -> int:
        return 1


@dataclass
class Inner:
    x: Any = None
    _hidden: int = 0


def function() -> None: ...


NAME = f"{__name__}."


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (1.5, 1.5),
        (Backend.auto, "auto"),
        (Level.high, "high"),
        (Text("x"), "x"),
        (Number(), 8),
        (Real(), 0.5),
        (Vector(), {"_target_": NAME + "Vector"}),
        (pathlib.PurePosixPath("/data/x"), "/data/x"),
        (Dtype(), {"_target_": "torch.bfloat16", "_call_": False}),
        (function, {"_target_": NAME + "function", "_call_": False}),
        (Inner, {"_target_": NAME + "Inner", "_call_": False}),
        (functools.partial(function), {"_target_": "functools.partial"}),
        ((1, [2]), [1, [2]]),
        ({"b", "a"}, ["a", "b"]),
        ({1: Backend.auto}, {"1": "auto"}),
        (View(), {"a": 1}),
        (Inner(x=[Inner()]), {"_target_": NAME + "Inner", "x": [{"_target_": NAME + "Inner", "x": None}]}),
    ],
)
def test_values(value: Any, expected: Any) -> None:
    result = as_mapping(value)
    assert result == expected
    assert type(result) is type(expected)


def test_an_object_that_refers_to_itself() -> None:
    @dataclass
    class Ring:
        left: Any = None
        right: Any = None
        more: list[Any] = field(default_factory=list)

    ring = Ring()
    ring.left = ring.right = ring
    ring.more = [ring, ring]
    name = f"{Ring.__module__}.{Ring.__qualname__}"
    assert as_mapping(ring) == {"_target_": name, "left": {"_target_": name}, "right": {"_target_": name}, "more": [{"_target_": name}] * 2}


def test_omegaconf_containers() -> None:
    omegaconf = pytest.importorskip("omegaconf")
    config = omegaconf.OmegaConf.create({"model": {"recompute_modules": ["mlp"], "x": None}})
    assert as_mapping(config) == {"model": {"recompute_modules": ["mlp"], "x": None}}
