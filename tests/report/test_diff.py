"""Diffs are what git and patch take."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from lclint.report.diff import unified

TEXTS = {
    "plain": ("a: 1\nb: 2\n", "a: 1\nb: 3\n"),
    "no newline at the end": ("a: 1\nb: 2", "a: 1\nb: 3"),
    "newline added": ("a: 1", "a: 1\nb: 2\n"),
    "crlf": ("a: 1\r\nb: 2\r\n", "a: 1\r\nb: 3\r\n"),
    "byte order mark": ("\ufeffa: 1\nb: 2\n", "\ufeffa: 2\nb: 2\n"),
    "other line separators": ("a: 'x\u2028y\x0cz\x85'\nb: 2\n", "a: 'x\u2028y\x0cz\x85'\nb: 3\n"),
    "two hunks": (
        "a: 1\n" + "".join(f"k{i}: {i}\n" for i in range(30)),
        "a: 2\n" + "".join(f"k{i}: {i}\n" for i in range(29)) + "k29: 0\n",
    ),
    "lone carriage return": ("a: 1\rb: 2\nc: 3\n", "a: 1\rb: 2\nc: 4\n"),
}
NAMES = ["conf.yaml", "conf/a b.yaml", './x/"q".yaml', "conf/ü.yaml", "a\\b.yaml"]


def _apply(tool: str, folder: Path, patch: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"no {tool}")
    command = ["git", "apply", "-"] if tool == "git" else ["patch", "-p1", "--binary", "--silent"]
    done = subprocess.run(command, cwd=folder, input=patch.encode(), capture_output=True, check=False, timeout=30)
    assert done.returncode == 0, done.stderr.decode() + patch


@pytest.mark.parametrize("tool", ["git", "patch"])
@pytest.mark.parametrize("case", TEXTS)
def test_texts(tool: str, case: str, tmp_path: Path) -> None:
    before, after = TEXTS[case]
    file = tmp_path / "conf.yaml"
    file.write_bytes(before.encode())
    _apply(tool, tmp_path, unified("conf.yaml", before, after))
    assert file.read_bytes() == after.encode()


@pytest.mark.parametrize("tool", ["git", "patch"])
@pytest.mark.parametrize("name", NAMES)
def test_names(tool: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("a: 1\n", encoding="utf-8")
    _apply(tool, tmp_path, unified(name, "a: 1\n", "a: 2\n"))
    assert file.read_text(encoding="utf-8") == "a: 2\n"


def test_no_change_no_diff() -> None:
    assert unified("a.yaml", "a: 1\n", "a: 1\n") == ""


def test_an_absolute_path_is_relative_to_the_root() -> None:
    assert unified("/etc/a.yaml", "a: 1\n", "a: 2\n").startswith("--- a/etc/a.yaml\n+++ b/etc/a.yaml\n@@ -1 +1 @@\n")
