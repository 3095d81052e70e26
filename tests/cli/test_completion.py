"""Completion in real shells, and what becomes of questions that no shell asks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HARNESS = {
    # words of the line, the last one the word to complete; prints what the shell would offer
    "bash": """
eval "$(_LCLINT_COMPLETE=bash_source lclint)"
compopt() { COMPREPLY=("<$1 $2>"); }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_lclint_completion lclint
printf '%s\\n' "${COMPREPLY[@]}"
complete -p lclint
""",
    "zsh": """
compdef() { print -r -- "compdef $*" }
eval "$(_LCLINT_COMPLETE=zsh_source lclint)"
compadd() { print -rl -- $completions }
_describe() { print -rl -- $completions_with_descriptions }
_path_files() { print -r -- "<$*>" }
words=("$@") CURRENT=$#
_lclint_completion
""",
    "fish": """
_LCLINT_COMPLETE=fish_source lclint | source
complete -C "$argv"
""",
}


@pytest.fixture
def path(tmp_path: Path, environment: dict[str, str]) -> dict[str, str]:
    """The environment of a shell that finds lclint and no settings of anybody's."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "lclint").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lclint "$@"\n', encoding="utf-8")
    (tools / "lclint").chmod(0o755)
    return environment | {"PATH": os.pathsep.join([str(tools), os.environ["PATH"]]), "HOME": str(tmp_path), "TERM": "dumb"}


def offered(shell: str, words: list[str], folder: Path, path: dict[str, str]) -> list[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    options = {"bash": ["--noprofile", "--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    line = [" ".join(words)] if shell == "fish" else words
    named = [shell] if shell != "fish" else []
    done = subprocess.run(
        [shell, *options, "-c", HARNESS[shell], *named, *line], cwd=folder, env=path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


LINES = [
    (["lclint", "di"], "diagnose"),
    (["lclint", "check", "--gpu", "gb2"], "gb200"),
    (["lclint", "check", "--ignore", "LC003,pipeline-bub"], "LC003,pipeline-bubble"),
    (["lclint", "check", "--sk"], "--skip-unparsable"),
    (["lclint", "check", "--format", "sa"], "sarif"),
    (["lclint", "check", "--select", "cuda-graphs-with-v"], "cuda-graphs-with-variable-length-batches"),
    (["lclint", "check", "--recipe", "llama3_8b_pretrain_8gpu_h100_b"], "llama3_8b_pretrain_8gpu_h100_bf16_config"),
    (["lclint", "rules", "show", "LC00"], "LC003"),
]


@pytest.mark.parametrize(
    ("shell", "words", "wanted"),
    [("bash", *line) for line in LINES] + [(shell, *line) for shell in ("zsh", "fish") for line in LINES[:3]],
)
def test_words(shell: str, words: list[str], wanted: str, tmp_path: Path, path: dict[str, str]) -> None:
    found = offered(shell, words, tmp_path, path)
    assert any(line.split("\t")[0].split(":")[0] == wanted for line in found), found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_titles_are_shown_where_a_shell_can(shell: str, tmp_path: Path, path: dict[str, str]) -> None:
    text = "\n".join(offered(shell, ["lclint", "rules", "show", "pipeline-bub"], tmp_path, path))
    assert ("stand idle" in text) == (shell != "bash")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_files(shell: str, tmp_path: Path, path: dict[str, str]) -> None:
    (tmp_path / "run.yaml").write_text("", encoding="utf-8")
    found = offered(shell, ["lclint", "check", "ru"], tmp_path, path)
    assert {"bash": "<-o default>", "zsh": "<-f>", "fish": "run.yaml"}[shell] in [line.split("\t")[0] for line in found]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"_LCLINT_COMPLETE": "bash_complete"}, "_LCLINT_COMPLETE=bash_complete needs COMP_WORDS"),
        ({"_LCLINT_COMPLETE": "bash_complete", "COMP_WORDS": "lclint"}, "_LCLINT_COMPLETE=bash_complete needs COMP_CWORD"),
        ({"_LCLINT_COMPLETE": "zsh_complete", "COMP_WORDS": "lclint", "COMP_CWORD": "x"}, "COMP_CWORD is no number: 'x'"),
        ({"_LCLINT_COMPLETE": "bash_complete", "COMP_WORDS": "lclint", "COMP_CWORD": "-1"}, "COMP_CWORD is no number: '-1'"),
        ({"_LCLINT_COMPLETE": "bash_complete", "COMP_WORDS": "lclint", "COMP_CWORD": ""}, "COMP_CWORD is no number: ''"),
        ({"_LCLINT_COMPLETE": "tcsh_source"}, "_LCLINT_COMPLETE=tcsh_source is no question of a shell"),
        ({"_LCLINT_COMPLETE": "bash"}, "_LCLINT_COMPLETE=bash is no question of a shell"),
        ({"_LCLINT_COMPLETE": "bash_\n"}, "_LCLINT_COMPLETE=bash_"),
    ],
)
def test_questions_that_no_shell_asks(asked: dict[str, str], said: str, cli: Callable[..., Any]) -> None:
    found = cli("check", env=asked)
    assert (found.status, found.out) == (2, "")
    assert found.err.startswith(f"lclint: error: {said}")
    assert "Traceback" not in found.err
    assert "internal error" not in found.err


@pytest.mark.parametrize("words", ["lclint check 'unclosed", "lclint", "", "lclint check --gpu", "lclint nothing like it", "lclint rules show '"])
def test_any_line_can_be_completed(words: str, cli: Callable[..., Any]) -> None:
    for number in ("0", "2", "7"):
        found = cli(env={"_LCLINT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": number})
        assert (found.status, found.err) == (0, "")
