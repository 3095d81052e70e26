"""Every fact of a crash log is on the page about them, with its unit and its meaning."""

from __future__ import annotations

import subprocess
import sys

import lclint.facts.crash  # noqa: F401 - declares them
from lclint.facts.registry import FACTS


def test_the_page_is_current(checkout, environment) -> None:
    done = subprocess.run([sys.executable, "tools/crash_facts.py", "--check"], cwd=checkout, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_each_has_a_unit_and_a_meaning() -> None:
    mine = [fact for name, fact in FACTS.items() if name.startswith("crash.")]
    assert len(mine) > 40
    assert [fact.name for fact in mine if not fact.unit or not fact.meaning.strip() or not fact.source] == []
