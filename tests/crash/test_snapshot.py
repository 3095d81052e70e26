"""Memory snapshots, and pickles that are none."""

from __future__ import annotations

import os
import pickle

import pytest

from lclint.core.errors import InputError
from lclint.crash import snapshot
from lclint.crash.summary import diagnose

MIB = 2**20


def frames(file: str, name: str) -> list[dict[str, object]]:
    return [{"filename": "/env/torch/nn/functional.py", "line": 1, "name": "linear"}, {"filename": file, "line": 7, "name": name}]


DATA = {
    "segments": [
        {
            "device": 0,
            "total_size": 100 * MIB,
            "segment_pool_id": (0, 0),
            "blocks": [
                {"size": 60 * MIB, "state": "active_allocated", "frames": frames("/opt/app/mlp.py", "forward")},
                {"size": 40 * MIB, "state": "inactive", "frames": []},
            ],
        },
        {
            "device": 0,
            "total_size": 20 * MIB,
            "segment_pool_id": (0, 1),
            "blocks": [{"size": 20 * MIB, "state": "active_allocated", "frames": frames("/opt/app/graph.py", "run")}],
        },
    ],
    "device_traces": [
        [
            {"action": "alloc", "size": 1},
            {"action": "oom", "size": 50 * MIB, "device_free": 10 * MIB, "frames": frames("/opt/app/megatron/core/transformer/mlp.py", "forward")},
        ]
    ],
    "allocator_settings": {"expandable_segments": False},
}


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch pwned",)


def test_a_snapshot(tmp_path) -> None:
    path = tmp_path / "snapshot_oom_rank-5.pickle"
    path.write_bytes(pickle.dumps(DATA))
    crash = diagnose([str(path)])
    assert (crash.kind, crash.fatal, crash.first_rank, crash.phase) == ("gpu_oom", True, 5, "forward")
    assert (crash.requested_bytes, crash.free_bytes, crash.allocated_bytes, crash.reserved_unallocated_bytes) == (50 * MIB, 10 * MIB, 80 * MIB, 40 * MIB)
    assert crash.private_pools_bytes == 20 * MIB
    assert any("mlp.py:7" in item.text for item in crash.evidence)


def test_beside_a_log(tmp_path, pieces) -> None:
    (tmp_path / "job.log").write_text(pieces.stack("step", "backward", last=pieces.message(), prefix="[rank5]: "))
    (tmp_path / "snapshot_oom_rank-4.pickle").write_bytes(b"junk")
    (tmp_path / "snapshot_oom_rank-5.pickle").write_bytes(pickle.dumps(DATA))
    crash = diagnose([str(tmp_path)])
    assert (crash.phase, crash.first_rank) == ("backward", 5)
    assert any("alive from /opt/app/mlp.py:7" in item.text for item in crash.evidence)
    assert "rank-4" in crash.notes[0]


@pytest.mark.parametrize("data", [pickle.dumps(Evil()), pickle.dumps({"segments": [Evil()]}, protocol=0)])
def test_a_pickle_that_wants_to_run_code(data, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"refused: it wants to import \w+\.system"):
        diagnose([str(path)])
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("data", [b"", b"junk", pickle.dumps([1]), pickle.dumps({"segments": [1]}), b"\x80\x04\x8c\xff", b"P1\n."])
def test_other_files(data, tmp_path) -> None:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(data)
    with pytest.raises(InputError):
        snapshot.read(str(path))
