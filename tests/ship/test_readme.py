"""The README's commands do what it shows.

Every command in a ``console`` or ``bash`` block that needs no network runs, in the order of the page, in a copy of the
checkout. In a ``console`` block a command follows ``$``; what stands under it has to be what it prints, where a line of
``...`` stands for any lines, and ``; ...`` for the rest of one. ``<!-- not run -->`` on the line before a block leaves the block out.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

BLOCK = re.compile(r"^(?P<skip><!-- not run -->\n+)?```(?P<kind>console|bash|sh|shell)\n(?P<body>.*?)^```", re.M | re.S)
ELSEWHERE = re.compile(r"\b(pip|pipx|uv|git|pytest|pre-commit|\.ci/run|docker)\b|https?://")
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "venv", "__pycache__", "dist", "build", ".hypothesis", ".*_cache")


class Command(NamedTuple):
    """One command of the README and what it is said to print (None: not said)."""

    line: int
    text: str
    shown: str | None


def commands(page: str) -> list[Command]:
    """The commands of a Markdown page that can run here."""
    found = []
    for block in BLOCK.finditer(page):
        if block["skip"]:
            continue
        line = page[: block.start("body")].count("\n") + 1
        if block["kind"] == "console":
            for part in re.finditer(r"^\$ (?P<text>(?:.*\\\n)*.*)\n(?P<shown>(?:(?!\$ ).*\n)*)", block["body"], re.M):
                found.append(Command(line + block["body"][: part.start()].count("\n"), part["text"], part["shown"]))
        else:
            for part in re.finditer(r"^(?!#)(?:.*\\\n)*.+$", block["body"], re.M):
                found.append(Command(line + block["body"][: part.start()].count("\n"), part[0], None))
    return [command for command in found if not ELSEWHERE.search(command.text)]


def matches(shown: str, printed: str) -> bool:
    """Whether the output is the one shown, blanks at line ends and blank lines around it aside."""

    def trim(text: str) -> str:
        return "\n".join(line.rstrip() for line in text.strip().split("\n"))

    pattern = re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", trim(shown))
    return fnmatch.fnmatchcase(trim(printed), re.sub(r"(^|; )\.\.\.$", r"\1*", pattern, flags=re.M))


def test_commands_and_output_are_read() -> None:
    page = "```console\n$ echo a \\\n  b\na b\n$ pip install x\n```\n<!-- not run -->\n```bash\nfalse\n```\n```bash\n# why\ntrue\n```\n"
    assert commands(page) == [Command(2, "echo a \\\n  b", "a b\n"), Command(13, "true", None)]


@pytest.mark.parametrize(("shown", "good"), [("a\n...\nd", True), ("a\nb", False), ("a\n[b]\nc\nd\n", True), ("a\n[c]\nc\nd", False)])
def test_output_is_compared(shown: str, good: bool) -> None:
    assert matches(shown, "a  \n[b]\nc\nd\n") is good


def test_readme(checkout: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    readme = checkout / "README.md"
    if not readme.exists():
        pytest.skip("no README in this tree")
    copy = tmp_path / "copy"
    shutil.copytree(checkout, copy, ignore=LEFT_OUT)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "lclint").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lclint "$@"\n', encoding="utf-8")
    (tools / "lclint").chmod(0o755)
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    run = commands(readme.read_text(encoding="utf-8"))
    assert run, "the README shows no command"
    wrong = []
    for command in run:
        done = subprocess.run(
            ["bash", "-c", command.text],
            cwd=copy,
            env=environment | {"PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode not in (0, 1) or "internal error" in done.stdout or "Traceback" in done.stdout:
            wrong.append(f"README.md:{command.line}: {command.text}\nends with {done.returncode}:\n{done.stdout}")
        elif command.shown and not matches(command.shown, done.stdout):
            wrong.append(f"README.md:{command.line}: {command.text}\nshows\n{command.shown}\nbut prints\n{done.stdout}")
    assert not wrong, "\n".join(wrong)


def test_the_number_of_rules_is_true(checkout: Path) -> None:
    rules = [path for path in (checkout / "rules").rglob("*.yaml") if path.parent.name != "bundles"]
    assert f"{len(rules)} rules." in (checkout / "README.md").read_text(encoding="utf-8")
