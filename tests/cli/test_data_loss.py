"""Nothing that the user has is lost on the way: the config, the report that was there, the end of a pipe."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SLIP = "model:\n  context_parallel_size: 2\n  seq_lenght: 8192\n"


Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def lclint(environment: dict[str, str]) -> Run:
    def run(*arguments: str, data: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "lclint", *arguments]
        return subprocess.run(command, input=data, capture_output=True, timeout=60, cwd=cwd, env=environment, check=False)

    return run


def test_standard_input_is_not_cut(lclint: Run) -> None:
    big = SLIP.encode() + b"# comment\n" * (4 << 20)
    done = lclint("check", "-", "--fix", data=big)
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"larger than 4 MiB" in done.stderr


def test_the_report_does_not_replace_the_config(lclint: Run, tmp_path: Path) -> None:
    config, base = tmp_path / "a.yaml", tmp_path / "b.yaml"
    config.write_text(SLIP, encoding="utf-8")
    base.write_text(SLIP, encoding="utf-8")
    for output in ("a.yaml", "b.yaml", "./a.yaml"):
        done = lclint("check", "a.yaml", "--base", "b.yaml", "--output", output, cwd=tmp_path)
        assert done.returncode == 2
        assert b"would overwrite" in done.stderr
    folder = tmp_path / "conf"
    folder.mkdir()
    inside = folder / "c.yaml"
    inside.write_text(SLIP, encoding="utf-8")
    for paths in (["conf"], ["conf/*.yaml"], ["a.yaml", "."]):
        done = lclint("check", *paths, "--output", "conf/c.yaml", cwd=tmp_path)
        assert (done.returncode, b"would overwrite" in done.stderr) == (2, True), paths
    assert b"is a folder" in lclint("check", "conf", "--output", "conf", cwd=tmp_path).stderr
    (tmp_path / "report.txt").write_text("old", encoding="utf-8")
    assert lclint("check", "conf", "--output", "report.txt", cwd=tmp_path).returncode == 1
    assert b"does not exist" in lclint("check", "nowhere", "--output", "report.txt", cwd=tmp_path).stderr
    assert lclint("check", "-", "--output", "report.txt", data=SLIP.encode(), cwd=tmp_path).returncode == 1
    assert config.read_text(encoding="utf-8") == base.read_text(encoding="utf-8") == inside.read_text(encoding="utf-8") == SLIP


def test_the_byte_order_mark_of_a_pipe_stays(lclint: Run) -> None:
    done = lclint("check", "-", "--fix", data=b"\xef\xbb\xbf" + SLIP.encode())
    assert done.stdout.startswith(b"\xef\xbb\xbfmodel:")
    assert b"seq_length: 8192" in done.stdout


def test_a_file_called_like_standard_input_is_written(lclint: Run, tmp_path: Path) -> None:
    config = tmp_path / "<stdin>"
    config.write_text(SLIP, encoding="utf-8")
    lclint("check", "--fix", "<stdin>", cwd=tmp_path)
    assert "seq_length: 8192" in config.read_text(encoding="utf-8")
