"""What is no log, is cut off, or never comes: one clear line and exit code 2, or what was read and a word on the rest."""

from __future__ import annotations

import gzip
import os
import pickle
import threading

import pytest

from lclint.core.errors import InputError
from lclint.crash import reading
from lclint.crash.summary import diagnose


@pytest.fixture
def crash_text(pieces) -> str:
    return pieces.stack("step", "mlp", last=pieces.message(), prefix="[rank3]: ") + "\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (bytes(range(256)) * 40, "not a text log but binary data"),
        (b"PK\x03\x04" + bytes(range(200)) * 9, "a zip archive"),
        (b"(\xb5/\xfd" + b"\x04\x58" * 900, "compressed with zstd"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (gzip.compress(b"x" * 5000, mtime=0)[:9], "cut off before its first byte"),
    ],
)
def test_nothing_to_read(content, said, cli, tmp_path) -> None:
    (tmp_path / "a.log").write_bytes(content)
    done = cli("diagnose", "a.log")
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") <= 2
    assert said in done.err


def test_an_empty_pipe(cli) -> None:
    done = cli("diagnose", "-", stdin=b"")
    assert done.status == 2
    assert "is empty" in done.err


def test_gzip_that_was_cut_off(cli, tmp_path, crash_text) -> None:
    whole = gzip.compress((crash_text + "".join(f"line {n * n}\n" for n in range(20_000))).encode())
    (tmp_path / "a.log.gz").write_bytes(whole[: len(whole) // 2])
    done = cli("diagnose", "a.log.gz")
    assert done.status == 1
    assert "on rank 3" in done.out
    assert "note: the gzip data is cut off: its first " in done.out


def test_empty_ranks_beside_one_that_failed(tmp_path, crash_text) -> None:
    (tmp_path / "rank_0.log").write_text("")
    (tmp_path / "rank_1.log").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "rank_2.log").write_text(crash_text)
    assert diagnose([str(tmp_path)]).first_rank == 3


def test_a_pipe_that_nobody_writes_to(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(reading, "WAIT", 0.1)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="nobody writes to"):
        diagnose([str(tmp_path / "pipe")])


def test_a_pipe_with_a_slow_writer(tmp_path, crash_text) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write() -> None:
        with open(path, "w") as file:
            for line in crash_text.splitlines(keepends=True):
                file.write(line)
                file.flush()
                threading.Event().wait(0.02)

    writer = threading.Thread(target=write)
    writer.start()
    crash = diagnose([str(path)])
    writer.join()
    assert (crash.first_rank, crash.phase) == (3, "forward")


def test_a_folder_with_a_pipe_in_it(tmp_path, crash_text) -> None:
    os.mkfifo(tmp_path / "aaa.log")
    (tmp_path / "rank_3.log").write_text(crash_text)
    assert diagnose([str(tmp_path)]).first_rank == 3


@pytest.mark.parametrize("name", ["dump.bin", "oom.log"])
def test_a_snapshot_of_any_name(name, tmp_path) -> None:
    data = {"segments": [{"total_size": 2**30, "blocks": [{"size": 2**29, "state": "active_allocated", "frames": []}]}], "device_traces": []}
    (tmp_path / name).write_bytes(pickle.dumps(data))
    assert diagnose([str(tmp_path / name)]).allocated_bytes == 2**29


def test_a_pickle_of_any_name_runs_nothing(cli, tmp_path) -> None:
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    (tmp_path / "crash.log").write_bytes(pickle.dumps(Evil()))
    done = cli("diagnose", "crash.log")
    assert done.status == 2
    assert "mkdir" in done.err
    assert not (tmp_path / "made").exists()


def test_escape_sequences(tmp_path, pieces) -> None:
    lines = pieces.stack("step", "experts", last=pieces.message()).splitlines()
    coloured = "".join(f"\x1b[36m(Worker pid=7)\x1b[0m \x1b[31m{line}\x1b[39m\r\n" for line in lines)
    (tmp_path / "a.log").write_text(coloured + "\x1b]0;title\x07\n")
    crash = diagnose([str(tmp_path / "a.log")])
    assert (crash.kind, crash.phase, crash.requested_bytes) == ("gpu_oom", "moe", round(4.01 * 2**30))


def test_lines_in_a_compressed_file_of_a_folder(tmp_path, crash_text) -> None:
    (tmp_path / "rank_5.log").write_text("fine\n")
    (tmp_path / "rank_3.log.gz").write_bytes(gzip.compress(("first\nsecond\n" + crash_text).encode()))
    crash = diagnose([str(tmp_path)])
    assert (os.path.basename(crash.path), crash.line) == ("rank_3.log.gz", 8)
    assert {os.path.basename(item.path) for item in crash.evidence} == {"rank_3.log.gz"}
