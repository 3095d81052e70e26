"""Replacing a file: at once, with all that belongs to it, and only while it is what was read."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lclint.core.errors import InputError
from lclint.sources import files, writing


def test_write_atomic_keeps_mode_and_link(tmp_path: Path) -> None:
    real = tmp_path / "real.yaml"
    real.write_bytes(b"a: 1\n")
    real.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to("real.yaml")
    writing.write_atomic(str(link), b"a: 2\n", b"a: 1\n")
    assert link.is_symlink()
    assert real.read_bytes() == b"a: 2\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link.yaml", "real.yaml"]


def test_write_atomic_refuses_a_changed_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a: 9\n")
    with pytest.raises(InputError, match="changed while"):
        writing.write_atomic(str(path), b"a: 2\n", b"a: 1\n")
    assert path.read_bytes() == b"a: 9\n"


@pytest.mark.parametrize(("number", "reason"), [(errno.ENOSPC, "disk is full"), (errno.EROFS, "read-only"), (errno.EACCES, "not writable")])
def test_a_failed_write_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a: 1\n")

    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match=reason):
        writing.write_atomic(str(path), b"a: 2\n", b"a: 1\n")
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
            writing.write_atomic(str(path), b"a: 2\n", b"a: 1\n")
    finally:
        path.parent.chmod(0o700)


def test_extended_attributes_stay(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a: 1\n")
    try:
        os.setxattr(path, "user.origin", b"sweep 7")
    except (AttributeError, OSError):
        pytest.skip("no extended attributes here")
    writing.write_atomic(str(path), b"a: 2\n", b"a: 1\n")
    assert os.getxattr(path, "user.origin") == b"sweep 7"


def test_attributes_that_cannot_stay_end_the_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a: 1\n")

    def refuse(*_: Any) -> None:
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(os, "listxattr", lambda name: ["user.x"] if str(name) == str(path) else [], raising=False)
    monkeypatch.setattr(os, "getxattr", lambda *_: b"1", raising=False)
    monkeypatch.setattr(os, "setxattr", refuse, raising=False)
    with pytest.raises(InputError, match=r"attribute user\.x"):
        writing.write_atomic(str(path), b"a: 2\n", b"a: 1\n")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"a: 1\n", ["f"])


def test_an_owner_that_cannot_stay_ends_the_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a: 1\n")
    real = os.stat

    def stat_of(name: Any, **options: Any) -> os.stat_result:
        status = real(name, **options)
        return os.stat_result((*status[:4], 12345, *status[5:])) if str(name) == str(path) else status

    def refuse(*_: Any) -> None:
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(os, "stat", stat_of)
    monkeypatch.setattr(os, "chown", refuse)
    with pytest.raises(InputError, match="belongs to a user or group"):
        writing.write_atomic(str(path), b"a: 2\n", b"a: 1\n")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"a: 1\n", ["f"])


def test_a_file_with_several_names_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a: 1\n")
    os.link(path, tmp_path / "g")
    with pytest.raises(InputError, match="several names"):
        writing.write_atomic(str(path), b"a: 2\n", b"a: 1\n")
    assert path.read_bytes() == (tmp_path / "g").read_bytes() == b"a: 1\n"


def test_a_change_while_the_new_file_is_written_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a: 1\n")

    def another_writer(_: int) -> None:
        path.write_bytes(b"a: 9\n")

    monkeypatch.setattr(os, "fsync", another_writer)
    with pytest.raises(InputError, match="changed while"):
        writing.write_atomic(str(path), b"a: 2\n", b"a: 1\n")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"a: 9\n", ["f"])


def test_a_long_name_that_is_not_ascii(tmp_path: Path) -> None:
    path = tmp_path / ("設" * 83 + ".yaml")
    path.write_bytes(b"a: 1\n")
    writing.write_atomic(str(path), b"a: 2\n", b"a: 1\n")
    assert path.read_bytes() == b"a: 2\n"


def test_what_a_killed_run_left_is_not_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a: 1\n")
    code = f"""
import os, signal
from lclint.sources import writing
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
writing.write_atomic({str(path)!r}, b"a: 2\\n", b"a: 1\\n")
"""
    root = str(Path(files.__file__).parents[2])
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": root}, check=False).returncode == -9
    assert path.read_bytes() == b"a: 1\n"
    assert len(os.listdir(tmp_path)) == 2
    writing.write_atomic(str(path), b"a: 2\n", b"a: 1\n")
    assert path.read_bytes() == b"a: 2\n"


def test_nothing_to_fix_writes_nothing(tmp_path: Path, cli: Callable[..., Any]) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xef\xbb\xbfmodel:\r\n  num_layers:  4  # t\r\n")
    os.utime(path, ns=(1, 1))
    before = path.stat()
    assert cli("check", "--fix", "--unsafe-fixes", "f.yaml").status == 0
    after = path.stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    assert path.read_bytes() == b"\xef\xbb\xbfmodel:\r\n  num_layers:  4  # t\r\n"
