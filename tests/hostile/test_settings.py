"""Settings, baselines and words of the command line that nobody means well with."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CONFIG = "model:\n  tensor_paralel_size: 2\n"

REFUSED = {
    "a key of 100,000 parts": ("a." * 100_000 + "a = 1\n", "lclint.toml:1: is nested too deeply"),
    "a quoted key of 20,000 parts": ("\n" + "'a b' . " * 20_000 + "a = 1\n", "lclint.toml:2: is nested too deeply"),
    "a table of 100,000 parts": ("[" + "a." * 100_000 + "a]\n", "nested too deeply"),
    "a key of 100,000 parts in a table in a line": ("x = {" + "a." * 100_000 + "a = 1}\n", "nested too deeply"),
    "100,000 brackets": ("ignore = " + "[" * 100_000, "nested too deeply"),
    "100,000 braces": ("x = " + "{a=" * 100_000, "nested too deeply"),
    "a number of 900,000 digits": ("gpus = " + "9" * 900_000 + "\n", "lclint.toml"),
    "80,000 keys": ("".join(f"k{n} = 1\n" for n in range(80_000)), "there is no setting k0"),
    "more than a megabyte": ("# x\n" * 300_000, "is larger than"),
    "bytes that are no text": (b'ignore = ["\xff"]\n', "is not UTF-8"),
    "a zero byte": (b'ignore = ["\0"]\n', "not valid TOML"),
    "binary": (b"\0\1\2" * 1_000, "lclint.toml"),
    "no TOML": ("gpu: h100\n", "lclint.toml"),
    "a quote never closed": ("gpu = '" + "x" * 100_000, "lclint.toml"),
    "a hexadecimal number of 5,000 digits": ("gpus = 0x" + "f" * 5_000 + "\n", "lclint.toml"),
    "a list in the place of a name": ("gpu = [1, 2]\n", "lclint.toml"),
    "a GPU that does not exist": ("gpu = 'x'\n", "lclint.toml"),
    "a rule that does not exist": ("select = ['no-such-rule']\n", "lclint.toml"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_settings_that_are_refused(name: str, tmp_path: Path, refused: Callable[..., str]) -> None:
    text, message = REFUSED[name]
    (tmp_path / "run.yaml").write_text(CONFIG)
    (tmp_path / "lclint.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    refused(message, "check", "run.yaml")


READ = {
    "keys of 99 parts in comments": "# " + ("a." * 99 + " . ") * 3_000 + "\n",
    "800 KB of one word": "# " + "ab" * 400_000 + "\n",
    "800 KB of blanks": "ignore = []" + " " * 800_000 + "\n",
    "800 KB of quotes": "# " + "\"'" * 400_000 + "\n",
    "16,000 overrides": '[[overrides]]\npaths=["**/*.yaml"]\nignore=["unknown-key"]\n' * 16_000,
    "a glob of 5,000 stars": '[[overrides]]\npaths=["' + "*r" * 5_000 + '"]\nignore=["unknown-key"]\n',
    "a glob of 50,000 folders": '[[overrides]]\npaths=["' + "**/" * 50_000 + 'x"]\nignore=["unknown-key"]\n',
}


@pytest.mark.parametrize("name", READ)
def test_settings_that_are_read(name: str, tmp_path: Path, attack: Callable[..., Any]) -> None:
    (tmp_path / "run.yaml").write_text(CONFIG)
    (tmp_path / "lclint.toml").write_text(READ[name])
    ended = attack("check", "run.yaml")
    assert ended.status in (0, 1)


@pytest.mark.parametrize("name", ["lclint.toml", "pyproject.toml"])
@pytest.mark.parametrize("kind", ["fifo", "folder", "zeros", "loop", "nothing"])
def test_settings_that_are_no_ordinary_file(name: str, kind: str, tmp_path: Path, attack: Callable[..., Any]) -> None:
    path = tmp_path / name
    (tmp_path / "run.yaml").write_text(CONFIG)
    {
        "fifo": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "zeros": lambda: path.symlink_to("/dev/zero"),
        "loop": lambda: path.symlink_to(name),
        "nothing": lambda: path.symlink_to("gone"),
    }[kind]()
    # it must not wait for a writer: the bound on the processor's time does not see that
    ended = attack("check", "run.yaml", prefix=("timeout", "60"))
    # a pyproject.toml that cannot be read is a matter of others
    assert ended.status == (2 if name == "lclint.toml" and kind in ("fifo", "folder", "zeros") else 1), ended.err


@pytest.mark.parametrize(
    "words",
    [
        ("--recipe", "a\nb"),
        ("--select", "a\nb"),
        ("--ignore", "a\rb"),
        ("--gpu", "a\nb"),
        ("--bridge-version", "a\nb"),
        ("--te-version", "a\nb"),
        ("--torch-version", "a\nb"),
        ("--env", "a\nb"),
        ("--settings", ""),
        ("--baseline", ""),
        ("--base", ""),
        ("--rules", ""),
    ],
)
def test_words_with_line_breaks_and_empty_ones(words: tuple[str, str], tmp_path: Path, refused: Callable[..., str]) -> None:
    (tmp_path / "run.yaml").write_text(CONFIG)
    said = refused("", "check", "run.yaml", *words)
    assert "\r" not in said


def _entries(name: str, rule: str = "a") -> str:
    return json.dumps({"version": 1, "files": {name: [{"rule": rule, "at": "b", "value": "c", "count": 1}]}})


BASELINES = {
    "a name of 100 KB": _entries("x" * 100_000),
    "a rule of 100 KB": _entries("run.yaml", "x" * 100_000),
    "a name with a zero byte": _entries("a\0b"),
    "half of a pair as the name": _entries("\ud800"),
    "a name with line breaks and colours": '{"version": 1, "files": {"\\u001b[31m\\n\\r": [1]}}',
    "a number of 3 MB": _entries("run.yaml").replace("1}]", "9" * 3_000_000 + "}]"),
    "1,000,000 brackets": "[" * 1_000_000,
    "not a number": '{"version": NaN, "files": {}}',
    "a list in the place of files": '{"version": 1, "files": []}',
    "50,000 files": json.dumps({"version": 1, "files": {f"f{n}": [] for n in range(50_000)}}),
}


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("words", [(), ("--prune-baseline",), ("--write-baseline",)])
def test_baselines(name: str, words: tuple[str, ...], tmp_path: Path, attack: Callable[..., Any]) -> None:
    (tmp_path / "run.yaml").write_text(CONFIG)
    (tmp_path / "b.json").write_text(BASELINES[name])
    ended = attack("check", "run.yaml", "--baseline", "b.json", *words)
    assert len(ended.err) < 2_000
    assert ended.err.count("\n") <= 1
    if ended.status == 2:
        assert (tmp_path / "b.json").read_text() == BASELINES[name]
