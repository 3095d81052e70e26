"""The README's commands do what it shows.

Every command in a ``console`` or ``bash`` block that needs no network runs, in the order of the page, in a copy of the
checkout. In a ``console`` block a command follows ``$``; what stands under it has to be what it prints, where a line of
``...`` stands for any lines, and ``; ...`` for the rest of one. ``<!-- not run -->`` on the line before a block leaves the block out.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def matches(shown: str, printed: str) -> bool:
    """Whether the output is the one shown, blanks at line ends and blank lines around it aside."""

    def trim(text: str) -> str:
        return "\n".join(line.rstrip() for line in text.strip().split("\n"))

    pattern = re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", trim(shown))
    return fnmatch.fnmatchcase(trim(printed), re.sub(r"(^|; )\.\.\.$", r"\1*", pattern, flags=re.M))


def test_commands_and_output_are_read(page: Callable[[str], Any]) -> None:
    text = "```console\n$ echo a \\\n  b\na b\n$ pip install x\n```\n<!-- not run -->\n```bash\nfalse\n```\n```bash\n# why\ntrue\n```\n"
    assert page(text).commands() == [(2, "echo a \\\n  b", "a b\n"), (13, "true", None)]
    assert page(text).blocks("bash", "not run") == ["false\n"]


@pytest.mark.parametrize(("shown", "good"), [("a\n...\nd", True), ("a\nb", False), ("a\n[b]\nc\nd\n", True), ("a\n[c]\nc\nd", False)])
def test_output_is_compared(shown: str, good: bool) -> None:
    assert matches(shown, "a  \n[b]\nc\nd\n") is good


@pytest.mark.parametrize("name", ["README.md", "docs/usage.md", "docs/adopting.md", "docs/integrations.md", "skills/lclint/SKILL.md"])
def test_commands_of_a_page(name: str, copy: Path, page: Callable[[str], Any], bash: Callable[..., Any]) -> None:
    commands = page((copy / name).read_text(encoding="utf-8")).commands()
    assert commands, f"{name} shows no command"
    # what a page calls the reader's own files
    for own, example in (("run.yaml", "examples/dsv3-128k-h100-wrong.yaml"), ("train.log", "logs/experts-on-one-rank.log")):
        (copy / own).write_bytes((copy / "fixtures" / example).read_bytes())
    wrong = []
    for command in commands:
        done = bash(command.text, copy)
        if done.returncode not in (0, 1) or "internal error" in done.stdout or "Traceback" in done.stdout:
            wrong.append(f"{name}:{command.line}: {command.text}\nends with {done.returncode}:\n{done.stdout}")
        elif command.shown and not matches(command.shown, done.stdout):
            wrong.append(f"{name}:{command.line}: {command.text}\nshows\n{command.shown}\nbut prints\n{done.stdout}")
    assert not wrong, "\n".join(wrong)


def test_the_number_of_rules_is_true(checkout: Path) -> None:
    rules = [path for path in (checkout / "rules").rglob("*.yaml") if path.parent.name != "bundles"]
    assert f"{len(rules)} rules." in (checkout / "README.md").read_text(encoding="utf-8")


def test_the_two_commands_of_a_fresh_machine(checkout: Path) -> None:
    """What is not run here is what CI runs from nothing: it reads the second one from the page."""
    text = (checkout / "README.md").read_text(encoding="utf-8")
    assert "\npip install . && lclint check fixtures/examples/dsv3-128k-h100-wrong.yaml\n" in text
    assert "\npip install '.[test]' && pytest\n" in text
