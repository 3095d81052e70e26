"""Runs of lclint that are not trusted: each in a process with bounds on its memory and its time."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

MEMORY = 500 * 2**20
# far more than any run needs, on a machine that is busy with other things too
CPU_SECONDS = 20


class Ended(NamedTuple):
    """How a run ended; ``cpu`` in seconds, ``memory`` in MiB."""

    status: int
    out: bytes
    err: str
    cpu: float
    memory: float


def _bounds() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


@pytest.fixture
def attack(tmp_path: Path, environment: dict[str, str]) -> Callable[..., Ended]:
    """Run ``lclint ARGUMENTS`` in ``tmp_path``. It must end by itself, within its bounds, without a traceback or an internal error."""

    def run(
        *arguments: str,
        stdin: Any = subprocess.DEVNULL,
        prefix: tuple[str, ...] = (),
        cwd: Path = tmp_path,
        env: dict[str, str] | None = None,
        lines: int = 1,
    ) -> Ended:
        with open(tmp_path / ".out", "wb") as out, open(tmp_path / ".err", "wb") as err:
            command = [*prefix, sys.executable, "-m", "lclint", *arguments]
            process = subprocess.Popen(command, cwd=cwd, env=environment | (env or {}), stdin=stdin, stdout=out, stderr=err, preexec_fn=_bounds)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said = (tmp_path / ".err").read_text(encoding="utf-8", errors="replace")
        ended = Ended(process.returncode, (tmp_path / ".out").read_bytes(), said, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
        assert ended.status in (0, 1, 2), (ended.status, said[-500:])
        assert "Traceback" not in said
        assert "internal error" not in said, said[-500:]
        if ended.status == 2:
            assert said.startswith("lclint: error: "), said[:500]
            shown = "\n    " in said  # the expression of a rule, with a caret below
            assert said.count("\n") == lines + 2 * shown, said[:500]
            assert len(said) < 2_000 * lines
        return ended

    return run


@pytest.fixture
def refused(attack: Callable[..., Ended]) -> Callable[..., str]:
    """Run lclint on what it must refuse: exit code 2, nothing on standard output, one message that holds ``message``."""

    def run(message: str, *arguments: str, **settings: Any) -> str:
        ended = attack(*arguments, **settings)
        assert ended.status == 2, (ended.status, ended.out[:500])
        assert ended.out == b""
        assert message in ended.err
        return ended.err

    return run
