"""Finding, reading and replacing files."""

from __future__ import annotations

import errno
import os
import stat
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


def test_write_atomic_keeps_mode_and_link(tmp_path: Path) -> None:
    real = tmp_path / "real.yaml"
    real.write_bytes(b"a: 1\n")
    real.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to("real.yaml")
    files.write_atomic(str(link), b"a: 2\n", b"a: 1\n")
    assert link.is_symlink()
    assert real.read_bytes() == b"a: 2\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link.yaml", "real.yaml"]


def test_write_atomic_refuses_a_changed_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a: 9\n")
    with pytest.raises(InputError, match="changed while"):
        files.write_atomic(str(path), b"a: 2\n", b"a: 1\n")
    assert path.read_bytes() == b"a: 9\n"


@pytest.mark.parametrize(("number", "reason"), [(errno.ENOSPC, "disk is full"), (errno.EROFS, "read-only"), (errno.EACCES, "not writable")])
def test_a_failed_write_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a: 1\n")

    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match=reason):
        files.write_atomic(str(path), b"a: 2\n", b"a: 1\n")
    assert path.read_bytes() == b"a: 1\n"
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_directory(tmp_path: Path) -> None:
    path = tmp_path / "d" / "f"
    path.parent.mkdir()
    path.write_bytes(b"a: 1\n")
    path.parent.chmod(0o500)
    try:
        with pytest.raises(InputError, match="directory is not writable"):
            files.write_atomic(str(path), b"a: 2\n", b"a: 1\n")
    finally:
        path.parent.chmod(0o700)
