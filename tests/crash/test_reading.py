"""Bytes from anywhere, of any size and in any state."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
import tracemalloc

import pytest

from lclint.core.errors import InputError
from lclint.crash import reading, scan
from lclint.crash.summary import diagnose


@pytest.fixture
def crash_text(pieces) -> str:
    return pieces.stack("step", "mlp", last=pieces.message(), prefix="[rank3]: ") + "\n"


def noise(pieces, first: int, count: int) -> str:
    return "".join(f"{pieces.iteration(first + n)}\nn1:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB\n" for n in range(count))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_ends(ending, tmp_path, crash_text) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(crash_text.replace("\n", ending).encode())
    crash = diagnose([str(path)])
    assert (crash.kind, crash.first_rank, crash.phase, crash.line) == ("gpu_oom", 3, "forward", 6)


def test_overwritten_lines(tmp_path, crash_text) -> None:
    path = tmp_path / "a.log"
    path.write_text(" 10%|#   | 1/10\r 20%|##  | 2/10\r" + crash_text)
    assert diagnose([str(path)]).first_rank == 3


def test_bytes_that_are_no_text(tmp_path, crash_text) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(os.urandom(5000) + b"\n\xff\xfe\0\0\n" + crash_text.encode().replace(b"GiB", b"Gi\0B"))
    assert diagnose([str(path)]).requested_bytes == round(4.01 * 2**30)


def test_gzip(tmp_path, crash_text, pieces) -> None:
    path = tmp_path / "a.log.gz"
    # two members, as rotated logs have
    path.write_bytes(gzip.compress(noise(pieces, 1, 50).encode()) + gzip.compress(crash_text.encode()))
    crash = diagnose([str(path)])
    assert (crash.first_rank, crash.iteration) == (3, 50)


def test_damaged_gzip(tmp_path, crash_text) -> None:
    path = tmp_path / "a.log.gz"
    data = bytearray(gzip.compress(crash_text.encode()) + gzip.compress(os.urandom(100_000)))
    data[-60_000] ^= 255
    path.write_bytes(data)
    crash = diagnose([str(path)])
    assert crash.first_rank == 3


def test_gzip_bomb(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(reading, "FREE_EXPANSION", 4 * 2**20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"\0" * (64 * 2**20)))
    tracemalloc.start()
    crash = diagnose([str(path)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "expands more than" in crash.notes[0]
    assert peak < 40 * 2**20


def test_folder_of_ranks(tmp_path, crash_text, pieces) -> None:
    for rank in range(12):
        folder = tmp_path / "attempt_0" / str(rank)
        folder.mkdir(parents=True)
        (folder / "stdout.log").write_text(pieces.iteration(5) + "\n" if rank == 11 else "")
        (folder / "stderr.log").write_text(crash_text if rank == 3 else pieces.timeout(rank) + "\n")
    (tmp_path / "weights.pt").write_bytes(b"CUDA out of memory. Tried to allocate 9.00 GiB.")
    crash = diagnose([str(tmp_path)])
    assert (crash.kind, crash.first_rank, crash.iteration, crash.died_of_it) == ("gpu_oom", 3, 5, 11)
    assert crash.path.endswith("3/stderr.log")


def test_the_last_attempt_of_a_folder(tmp_path, crash_text, pieces) -> None:
    """torchrun keeps attempts apart: the first one ran out of memory, the second died of its data."""
    for attempt, rank, text in ((0, 3, crash_text), (1, 2, "".join(pieces.iteration(n) + "\n" for n in range(1, 6)) + "ValueError: bad shard\n")):
        folder = tmp_path / f"attempt_{attempt}" / str(rank)
        folder.mkdir(parents=True)
        (folder / "stderr.log").write_text(text)
    crash = diagnose([str(tmp_path)])
    assert (crash.kind, crash.iteration, crash.failed_ranks) == ("not_memory", 5, [3])


def test_ranks_by_file_name(tmp_path, pieces) -> None:
    for rank in range(3):
        (tmp_path / f"rank_{rank}.log").write_text("fine\n" if rank != 2 else pieces.message() + "\n")
    assert diagnose([str(tmp_path)]).first_rank == 2


def test_several_paths(tmp_path, crash_text, pieces) -> None:
    (tmp_path / "a.log").write_text(pieces.iteration(8) + "\n")
    (tmp_path / "b.log").write_text(crash_text)
    crash = diagnose([str(tmp_path / "a.log"), str(tmp_path / "b.log")])
    assert (crash.first_rank, crash.iteration) == (3, 8)


def test_nothing_there(tmp_path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        diagnose([str(tmp_path / "no.log")])
    with pytest.raises(InputError, match="no log files"):
        diagnose([str(tmp_path)])


@pytest.mark.parametrize("where", ["middle", "end"])
@pytest.mark.parametrize("alive", [True, False])
def test_a_needle_in_a_large_file(where, alive, tmp_path, crash_text, pieces) -> None:
    path = tmp_path / "a.log"
    after = noise(pieces, 20_001, 8_000) if alive else "".join(pieces.timeout(rank) + "\n" for rank in range(4, 20_000))
    with open(path, "w") as file:
        file.write(noise(pieces, 1, 20_000))
        if where == "middle":
            file.write(crash_text + after)
        else:
            file.write(noise(pieces, 20_001, 8_000) + crash_text)
    assert path.stat().st_size > scan.HEAD + 2 * scan.BEFORE * reading.BLOCK
    crash = diagnose([str(path)])
    assert (crash.kind, crash.first_rank, crash.phase, crash.iteration) == ("gpu_oom", 3, "forward", 20_000 if where == "middle" else 28_000)
    with open(path) as file:
        assert "Tried to allocate" in file.readlines()[(crash.line or 0) - 1]


def test_a_killed_process_in_the_middle(tmp_path, pieces) -> None:
    path = tmp_path / "a.log"
    killed = "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.\n"
    path.write_text(noise(pieces, 1, 20_000) + killed + "waiting for the launcher\n" * 200_000)
    crash = diagnose([str(path)])
    assert (crash.kind, crash.iteration) == ("host_oom", 20_000)


def test_one_line_of_many_megabytes(tmp_path, pieces, crash_text) -> None:
    path = tmp_path / "a.log"
    path.write_text((noise(pieces, 1, 20_000) + crash_text + "".join(pieces.timeout(rank) + "\n" for rank in range(50))).replace("\n", " "))
    crash = diagnose([str(path)])
    assert (crash.kind, crash.first_rank, crash.phase, crash.iteration, crash.line) == ("gpu_oom", 3, "forward", 20_000, 1)


def test_thousands_of_ranks_fail(tmp_path, pieces) -> None:
    path = tmp_path / "a.log"
    path.write_text("".join(pieces.stack("step", "mlp", last=pieces.message(), prefix=f"[rank{rank}]: ") + "\n" for rank in range(2047, -1, -1)))
    crash = diagnose([str(path)])
    assert (crash.first_rank, len(crash.failed_ranks)) == (2047, 2048)


def test_a_log_that_never_ends(environment, crash_text) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "lclint", "diagnose", "-", "--format", "json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert process.stdin is not None
    process.stdin.write(crash_text.encode())
    process.stdin.flush()
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert b'"kind":"gpu_oom"' in out
    assert b"interrupted" in err
