"""Unified diffs that ``git apply`` and ``patch -p1`` take."""

from __future__ import annotations

import os
from difflib import unified_diff

NO_NEWLINE = "\\ No newline at end of file\n"


def unified(path: str, before: str, after: str) -> str:
    """The diff from ``before`` to ``after`` of the file ``path``; empty when they are the same.

    Both texts are whole files with their byte order mark and line endings. An absolute path loses its leading slash.
    """
    name = path.replace(os.sep, "/").removeprefix("./").lstrip("/")
    body = unified_diff(_lines(before), _lines(after), _header("a", name), _header("b", name))
    return "".join(line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}" for line in body)


def _lines(text: str) -> list[str]:
    """Lines as a patch counts them: only a line feed ends one, whatever else ``str.splitlines`` would split at."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _header(side: str, name: str) -> str:
    full = f"{side}/{name}"
    if any(character in '"\\' or character < " " for character in full):
        special = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
        return '"' + "".join(special.get(c) or (f"\\{ord(c):03o}" if c < " " else c) for c in full) + '"'
    # A tab ends a name that holds a blank, else patch takes the first word.
    return f"{full}\t" if " " in full else full
