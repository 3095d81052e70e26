"""Settings files of strangers: a folder's lclint.toml is read without being asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

REFUSED = {
    "binary": b"\0\1\2" * 1_000,
    "invalid UTF-8": b"gpu = '\xff\xfe'\n",
    "no TOML": b"gpu: h100\n",
    "a quote never closed": b"gpu = '" + b"x" * 100_000,
    "10,000 brackets": b"select = " + b"[" * 10_000 + b"]" * 10_000 + b"\n",
    "10,000 tables in each other": b"[" + b".".join([b"a"] * 10_000) + b"]\n",
    "20,000 unknown keys": b"".join(b"key_%d = 1\n" % number for number in range(20_000)),
    "a number of 5,000 digits": b"gpus = " + b"9" * 5_000 + b"\n",
    "a hexadecimal number of 5,000 digits": b"gpus = 0x" + b"f" * 5_000 + b"\n",
    "10 MB": b"# padding\n" * 1_000_000,
    "a list in the place of a name": b"gpu = [1, 2]\n",
    "a GPU that does not exist": b"gpu = 'x'\n",
    "a rule that does not exist": b"select = ['no-such-rule']\n",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path, refused: Callable[..., str]) -> None:
    (tmp_path / "lclint.toml").write_bytes(REFUSED[name])
    (tmp_path / "run.yaml").write_text("model: {num_layers: 8}\n")
    assert "lclint.toml" in refused("", "check", "run.yaml")


def test_no_ordinary_file(tmp_path: Path, refused: Callable[..., str]) -> None:
    (tmp_path / "run.yaml").write_text("model: {num_layers: 8}\n")
    os.mkfifo(tmp_path / "lclint.toml")
    refused("lclint.toml: is not a regular file", "check", "run.yaml")
