"""What every test can use: the command line as users run it, and which lclint is tested."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import lclint

CHECKOUT = Path(__file__).resolve().parent.parent
PACKAGE = Path(lclint.__path__[0]).resolve()


class Outcome(NamedTuple):
    """How one run of the command line ended."""

    status: int
    out: str
    err: str


def pytest_configure() -> None:
    if os.environ.get("LCLINT_TEST_INSTALLED") and PACKAGE.is_relative_to(CHECKOUT):
        pytest.exit(f"these tests are to run against an installed lclint, but import {PACKAGE}", returncode=2)


def pytest_report_header() -> str:
    return f"lclint: {PACKAGE}"


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the source tree that holds these tests."""
    return CHECKOUT


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """The process environment without what changes output, and with the tested lclint in reach of a new process."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LCLINT_DEBUG")}
    return kept | {"PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), *filter(None, [kept.get("PYTHONPATH")])])}


@pytest.fixture
def cli(tmp_path: Path, environment: dict[str, str]) -> Callable[..., Outcome]:
    """Run ``lclint ARGUMENTS`` in a process of its own, in ``tmp_path`` unless told otherwise."""

    def call(*arguments: str, stdin: bytes | None = None, cwd: Path = tmp_path, env: dict[str, str] | None = None) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "lclint", *arguments],
            cwd=cwd,
            env=environment | (env or {}),
            stdin=subprocess.DEVNULL if stdin is None else None,
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call
