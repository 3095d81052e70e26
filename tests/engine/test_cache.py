"""The cache of compiled rules: never wrong, never needed."""

from __future__ import annotations

import marshal
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lclint.engine import compile as compiler
from lclint.engine import rules


@pytest.fixture
def folder(tmp_path: Path, rule_text: Callable[..., str]) -> Path:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "one.yaml").write_text(rule_text({"cases": [{"when": "model.num_layers > 3"}]}), encoding="utf-8")
    return tmp_path / "rules"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "lclint"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every time that rules are compiled."""
    calls: list[Any] = []
    real = compiler.compile_directories

    def counted(*arguments: Any) -> str:
        calls.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(compiler, "compile_directories", counted)
    return calls


def test_rules_are_compiled_once(folder: Path, cache: Path, compiled: list[Any]) -> None:
    first, second = rules.load_only(str(folder)), rules.load_only(str(folder))
    assert len(compiled) == 1
    assert [rule.name for rule in first] == [rule.name for rule in second] == ["rule-0"]
    assert [file.name.startswith("rules-") for file in cache.iterdir()] == [True]
    assert cache.stat().st_mode & 0o077 == 0


def test_a_changed_rule_is_compiled_anew(folder: Path, cache: Path, compiled: list[Any], rule_text: Callable[..., str]) -> None:
    rules.load_only(str(folder))
    (folder / "two.yaml").write_text(rule_text({"cases": [{"when": True}]}, 1), encoding="utf-8")
    assert len(rules.load_only(str(folder))) == 2
    assert len(compiled) == 2


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:40],
        lambda data: data[:-1],
        lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
        lambda data: b"x" * len(data),
        lambda data: marshal.dumps(5),
        lambda data: marshal.dumps(compile("1/0", "x", "exec")),
    ],
)
def test_a_spoilt_cache_is_not_run(folder: Path, cache: Path, compiled: list[Any], spoil: Callable[[bytes], bytes]) -> None:
    rules.load_only(str(folder))
    (file,) = cache.iterdir()
    file.write_bytes(spoil(file.read_bytes()))
    assert len(rules.load_only(str(folder))) == 1
    assert len(compiled) == 2
    rules.load_only(str(folder))
    assert len(compiled) == 2


def test_a_cache_that_others_may_write_is_left_alone(folder: Path, cache: Path, compiled: list[Any]) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    rules.load_only(str(folder))
    rules.load_only(str(folder))
    assert len(compiled) == 2
    assert list(cache.iterdir()) == []


def test_a_cache_folder_that_is_a_file(folder: Path, cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("in the way", encoding="utf-8")
    assert len(rules.load_only(str(folder))) == 1


def test_a_cache_file_that_is_a_folder(folder: Path, cache: Path) -> None:
    rules.load_only(str(folder))
    (file,) = cache.iterdir()
    file.unlink()
    file.mkdir()
    assert len(rules.load_only(str(folder))) == 1
    assert [entry.name for entry in cache.iterdir()] == [file.name]


def test_a_cache_file_that_is_a_pipe_is_not_waited_for(folder: Path, cache: Path, compiled: list[Any]) -> None:
    rules.load_only(str(folder))
    (file,) = cache.iterdir()
    file.unlink()
    os.mkfifo(file)
    signal.alarm(20)
    try:
        assert len(rules.load_only(str(folder))) == 1
    finally:
        signal.alarm(0)
    assert len(compiled) == 2
    assert file.is_file()


@pytest.mark.parametrize("base", ["~", "relative/cache", ""])
def test_nothing_is_written_beside_the_user(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: str) -> None:
    """Without a home ``~`` stays as it is: it must not become a folder of that name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", base)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert len(rules.load_only(str(folder))) == 1
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["rules"]
