"""Finding, reading and replacing files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lclint.core.errors import InputError
from lclint.sources import files


def _error(path: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        files.read(str(path), **options)
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    return str(caught.value)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 2_000_000)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "fifo")
    assert "is a directory" in _error(tmp_path)
    assert "does not exist" in _error(tmp_path / "missing")
    assert "link to a file that does not exist" in _error(tmp_path / "dangling")
    assert "leads to itself" in _error(tmp_path / "loop")
    assert "not a regular file" in _error(tmp_path / "fifo")
    assert "not a regular file" in _error("/dev/null")
    assert "part of the path is a file" in _error(tmp_path / "big" / "x")
    assert "larger than 1 MiB" in _error(tmp_path / "big", limit=1024 * 1024)
    assert "too long" in _error(tmp_path / ("n" * 300))
    assert "cannot be read" in _error("a\0b")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_permissions(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("a: 1\n")
    path.chmod(0)
    assert "may not be read" in _error(path)


def test_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a: 1\r\n")
    (tmp_path / "link").symlink_to("f")
    assert files.read(str(tmp_path / "link")) == b"a: 1\r\n"


def test_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (
        "b.yaml",
        "a.yml",
        "x/c.yaml",
        "x/y/d.yaml",
        ".git/e.yaml",
        "node_modules/f.yaml",
        "my env/g.yaml",
        "z/note.txt",
        ".h.yaml",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a: 1\n")
    (tmp_path / "my env" / "pyvenv.cfg").write_text("")
    (tmp_path / "x" / "loop").symlink_to("..")
    assert files.find(["."]) == ["./a.yml", "./b.yaml", "./x/c.yaml", "./x/y/d.yaml"]
    assert files.find(["x", "b.yaml", "./b.yaml", "z/note.txt"]) == ["x/c.yaml", "x/y/d.yaml", "b.yaml", "z/note.txt"]
    assert files.find(["x/**/*.yaml"]) == ["x/c.yaml", "x/y/d.yaml"]
    for path, reason in (("z", "no YAML files"), ("*.json", "matches no"), ("nope.yaml", "does not exist")):
        with pytest.raises(InputError, match=reason):
            files.find([path])


def test_a_file_whose_name_is_a_pattern(tmp_path: Path) -> None:
    path = tmp_path / "a[1].yaml"
    path.write_text("a: 1\n")
    assert files.find([str(path)]) == [str(path)]
