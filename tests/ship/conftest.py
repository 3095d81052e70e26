"""Reads the commands of a Markdown page and runs them in a copy of the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

BLOCK = re.compile(r"^(?:<!-- (?P<mark>[a-z ]+) -->\n+)?```(?P<kind>[a-z]+)\n(?P<body>.*?)^```", re.M | re.S)
ELSEWHERE = re.compile(r"\b(pip|pipx|uv|git|pytest|pre-commit|\.ci/run|docker)\b|https?://")
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "venv", "__pycache__", "dist", "build", ".hypothesis", ".*_cache")


class Command(NamedTuple):
    """One command of a page and what it is said to print (None: not said)."""

    line: int
    text: str
    shown: str | None


class Page:
    """The blocks of code of a Markdown page; a comment on the line before a block is its mark."""

    def __init__(self, text: str) -> None:
        self.text = text

    def blocks(self, kind: str, mark: str | None = None) -> list[str]:
        """The bodies of the blocks in that language with that mark."""
        return [block["body"] for block in BLOCK.finditer(self.text) if block["kind"] == kind and block["mark"] == mark]

    def commands(self) -> list[Command]:
        """The commands of unmarked ``console`` and ``bash`` blocks that can run here."""
        found = []
        for block in BLOCK.finditer(self.text):
            if block["mark"] or block["kind"] not in ("console", "bash", "sh", "shell"):
                continue
            line = self.text[: block.start("body")].count("\n") + 1
            if block["kind"] == "console":
                for part in re.finditer(r"^\$ (?P<text>(?:.*\\\n)*.*)\n(?P<shown>(?:(?!\$ ).*\n)*)", block["body"], re.M):
                    found.append(Command(line + block["body"][: part.start()].count("\n"), part["text"], part["shown"]))
            else:
                for part in re.finditer(r"^(?!#)(?:.*\\\n)*.+$", block["body"], re.M):
                    found.append(Command(line + block["body"][: part.start()].count("\n"), part[0], None))
        return [command for command in found if not ELSEWHERE.search(command.text)]


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def page() -> Callable[[str], Page]:
    return Page


@pytest.fixture
def copy(checkout: Path, tmp_path: Path) -> Path:
    """A copy of the checkout that a test may change."""
    folder = tmp_path / "copy"
    shutil.copytree(checkout, folder, ignore=LEFT_OUT)
    return folder


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder for programs, with ``lclint`` in it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "lclint").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lclint "$@"\n', encoding="utf-8")
    (folder / "lclint").chmod(0o755)
    return folder


@pytest.fixture
def bash(tools: Path, environment: dict[str, str]) -> Run:
    """Run a text with bash, ``lclint`` and this Python in reach; standard error goes where standard output does."""
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])

    def run(text: str, cwd: Path, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", text, "bash", *arguments],
            cwd=cwd,
            env=environment | {"PATH": path} | (env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )

    return run
