"""PyTorch memory snapshots (``snapshot_oom_rank-N.pickle``): what was alive at the failure, by source location, and how broken up the memory was.

A pickle can run code when it is read. This one is read with an unpickler that builds dicts, lists, tuples, sets, strings, numbers and None,
and refuses everything that has to be imported, by name.
"""

from __future__ import annotations

import io
import os
import pickle
import re
from typing import Any, NoReturn

from lclint.core.errors import InputError
from lclint.core.finding import Evidence, Record
from lclint.crash import phases
from lclint.crash.record import Crash, Frame

LIMIT = 2 * 2**30
SHOWN = 8
_RANK = re.compile(r"rank[-_]?(\d+)")


class Snapshot(Record):
    """Bytes of one device at the failure. ``live`` maps source locations to bytes, largest first; ``largest_gap`` is the largest unused block.

    ``settings`` are the allocator's; ``requested`` and ``free`` are None where no failure was recorded.
    """

    __slots__ = ("path", "rank", "allocated", "reserved", "private_pools", "segments", "largest_gap", "live", "settings", "requested", "free", "frames")
    path: str
    rank: int | None
    allocated: int
    reserved: int
    private_pools: int
    segments: int
    largest_gap: int
    live: dict[str, int]
    settings: dict[str, Any]
    requested: int | None
    free: int | None
    frames: list[Frame]


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it wants to import {module}.{name}")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise pickle.UnpicklingError("it refers to objects outside the file")


def read(path: str) -> Snapshot:
    """The snapshot in a file. Raises InputError for a file that is none, and for a pickle that would have to run code."""
    try:
        if os.stat(path).st_size > LIMIT:
            raise InputError(f"is larger than {LIMIT >> 30} GiB", path)
        with open(path, "rb") as file:
            data = load(file.read())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path) from None
    except InputError as error:
        raise InputError(error.message, path, hint=error.hint) from None
    try:
        return _summary(path, data)
    except (TypeError, ValueError, AttributeError, KeyError, IndexError):
        raise InputError("is not a PyTorch memory snapshot", path) from None


def load(data: bytes) -> Any:
    """The plain value in a pickle. Raises InputError when it holds anything else."""
    try:
        return _PlainUnpickler(io.BytesIO(data)).load()
    except pickle.UnpicklingError as error:
        raise InputError(f"the pickle is refused: {error}", hint="a memory snapshot holds plain values only") from None
    except Exception as error:
        # a damaged pickle fails in as many ways as there are opcodes
        raise InputError(f"is not a readable pickle: {type(error).__name__}") from None


def _summary(path: str, data: Any) -> Snapshot:
    if not isinstance(data, dict) or not isinstance(data.get("segments"), list):
        raise InputError("is not a PyTorch memory snapshot", path)
    rank = _RANK.search(os.path.basename(path))
    allocated = reserved = pools = gap = 0
    live: dict[str, int] = {}
    for segment in data["segments"]:
        reserved += int(segment.get("total_size", 0))
        private = tuple(segment.get("segment_pool_id") or (0, 0)) != (0, 0)
        for block in segment.get("blocks", ()):
            size = int(block.get("size", 0))
            if str(block.get("state", "")).startswith("active"):
                allocated += size
                pools += size if private else 0
                where = _location(block.get("frames") or [frame for entry in block.get("history", ())[:1] for frame in entry.get("frames", ())])
                live[where] = live.get(where, 0) + size
            else:
                gap = max(gap, size)
    requested = free = None
    frames: list[Frame] = []
    for trace in data.get("device_traces") or ():
        for entry in trace:
            if entry.get("action") == "oom":
                requested, free = int(entry.get("size", 0)), entry.get("device_free")
                frames = [
                    Frame(file=str(f.get("filename", "")), line=int(f.get("line", 0)), function=str(f.get("name", "")))
                    for f in reversed(entry.get("frames") or ())
                ]
    return Snapshot(
        path=path,
        rank=int(rank[1]) if rank else None,
        allocated=allocated,
        reserved=reserved,
        private_pools=pools,
        segments=len(data["segments"]),
        largest_gap=gap,
        live=dict(sorted(live.items(), key=lambda item: -item[1])),
        settings={str(key): value for key, value in (data.get("allocator_settings") or {}).items()},
        requested=requested,
        free=int(free) if isinstance(free, int) else None,
        frames=frames,
    )


def _location(frames: Any) -> str:
    """The innermost Python frame outside PyTorch itself, else the innermost one."""
    shown = [f"{frame.get('filename', '?')}:{frame.get('line', 0)} in {frame.get('name', '?')}" for frame in frames]
    outside = next((text for text in shown if ".py:" in text and "/torch/" not in text), None)
    return outside or (shown[0] if shown else "unknown")


def evidence(snapshot: Snapshot) -> list[Evidence]:
    """What a report shows of a snapshot: the sums, and the locations that hold most."""
    gib = 2**30
    lines = [
        f"{snapshot.allocated / gib:.2f} GiB alive of {snapshot.reserved / gib:.2f} GiB reserved in {snapshot.segments} segments; "
        f"the largest unused block is {snapshot.largest_gap / gib:.2f} GiB"
    ]
    lines += [f"{size / gib:.2f} GiB alive from {where}" for where, size in list(snapshot.live.items())[:SHOWN]]
    if "expandable_segments" in snapshot.settings:
        lines.append(f"expandable_segments is {'on' if snapshot.settings['expandable_segments'] else 'off'}")
    return [Evidence(path=snapshot.path, line=1, text=text) for text in lines]


def as_crash(snapshot: Snapshot) -> Crash:
    """The crash that a snapshot alone tells of."""
    failed = snapshot.requested is not None
    phase = phases.of_frames(snapshot.frames) if snapshot.frames else "unknown"
    return Crash(
        path=snapshot.path,
        kind=("cuda_graph_oom" if phase == "graph_capture" else "gpu_oom") if failed else "context_only",
        fatal=failed,
        first_rank=snapshot.rank,
        phase=phase,
        signature="snapshot",
        error=f"{snapshot.requested} bytes could not be had" if failed else None,
        line=1,
        requested_bytes=snapshot.requested,
        free_bytes=snapshot.free,
        allocated_bytes=snapshot.allocated,
        reserved_unallocated_bytes=snapshot.reserved - snapshot.allocated,
        private_pools_bytes=snapshot.private_pools or None,
        frames=snapshot.frames,
        evidence=evidence(snapshot),
    )
