"""Configs that nobody means well with."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SPEC = importlib.util.spec_from_file_location("kinds", Path(__file__).with_name("kinds.py"))
assert SPEC is not None
assert SPEC.loader is not None
kinds = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(kinds)


def _bytes(make: Callable[[], bytes | str]) -> bytes:
    made = make()
    return made if isinstance(made, bytes) else made.encode()


@pytest.mark.parametrize("name", kinds.REFUSED)
def test_refused(name: str, tmp_path: Path, refused: Callable[..., str]) -> None:
    make, message = kinds.REFUSED[name]
    (tmp_path / "run.yaml").write_bytes(_bytes(make))
    line = refused(message, "check", "run.yaml")
    assert line.startswith("lclint: error: run.yaml:")
    assert line.endswith(")\n"), "it says what to do"


@pytest.mark.parametrize("name", kinds.CHECKED)
def test_checked(name: str, tmp_path: Path, attack: Callable[..., object]) -> None:
    text = _bytes(kinds.CHECKED[name])
    (tmp_path / "run.yaml").write_bytes(text)
    attack("check", "run.yaml")
    assert (tmp_path / "run.yaml").read_bytes() == text
    assert not (tmp_path / "done").exists()


@pytest.mark.parametrize("name", ["binary", "billion laughs", "10,000 braces"])
@pytest.mark.parametrize("how", ["base", "stdin", "fix", "resolve", "memory"])
def test_wherever_a_config_is_read(name: str, how: str, tmp_path: Path, refused: Callable[..., str]) -> None:
    make, message = kinds.REFUSED[name]
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "bad.yaml").write_bytes(_bytes(make))
    (tmp_path / "good.yaml").write_text("model:\n  tensor_model_parallel_size: 2\n")
    if how == "stdin":
        with open(tmp_path / "conf" / "bad.yaml", "rb") as file:
            refused(message.removeprefix(":3: "), "check", "-", stdin=file)
    else:
        arguments = {
            "base": ("check", "good.yaml", "--base", "conf/bad.yaml"),
            "fix": ("check", "--fix", "--unsafe-fixes", "conf/bad.yaml"),
            "resolve": ("resolve", "conf/bad.yaml"),
            "memory": ("memory", "conf/bad.yaml"),
        }[how]
        refused(message, *arguments)
    assert (tmp_path / "conf" / "bad.yaml").read_bytes() == _bytes(make)
    assert sorted(path.name for path in (tmp_path / "conf").iterdir()) == ["bad.yaml"]


def test_bad_files_among_good_ones(tmp_path: Path, attack: Callable[..., Any]) -> None:
    """What cannot be read and may be a config is named, the rest is checked, and nothing is written of the bad ones."""
    texts = {f"{name}.yaml": _bytes(kinds.REFUSED[name][0]) for name in ("billion laughs", "10,000 braces", "a quote never closed")}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    (tmp_path / "good.yaml").write_text("model:\n  tensor_paralel_size: 2\n")
    ended = attack("check", "--format", "json", "--fix", "good.yaml", prefix=())
    assert ended.status == 0
    done = attack("check", "--fail-on", "never", ".", lines=3)
    assert done.status == 2
    assert all(f"{name}:" in done.err for name in texts)
    assert {name: (tmp_path / name).read_bytes() for name in texts} == texts
