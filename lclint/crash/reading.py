"""The bytes of a log as a stream of blocks: files, folders of per-rank files, gzip, standard input. Nothing is read twice or kept."""

from __future__ import annotations

import os
import re
import stat
import sys
import zlib
from collections.abc import Iterator

from lclint.core.errors import InputError

BLOCK = 1 << 18
STDIN = "-"
STDIN_NAME = "<stdin>"
GZIP = b"\x1f\x8b"
# logs compress by 10 to 100; zlib cannot do more than 1032
MOST_EXPANSION = 400
FREE_EXPANSION = 256 * 2**20
MOST_FILES = 20_000
_NOT_LOGS = (
    ".pt",
    ".pth",
    ".bin",
    ".safetensors",
    ".npy",
    ".npz",
    ".pickle",
    ".pkl",
    ".so",
    ".py",
    ".tar",
    ".zip",
    ".yaml",
    ".yml",
    ".idx",
    ".png",
    ".nsys-rep",
    ".qdrep",
    ".sqlite",
)
_SNAPSHOT = re.compile(r"snapshot.*\.(?:pickle|pkl)$")


class Log:
    """One file of a log: ``name`` as reported, ``rank`` and ``local`` where its name says them, ``notes`` what went wrong on the way."""

    __slots__ = ("name", "path", "rank", "local", "notes")

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path
        self.rank, self.local = _ranks(name)
        self.notes: list[str] = []

    def blocks(self) -> Iterator[bytes]:
        """The decompressed content. Raises InputError when it cannot be read."""
        if self.path == STDIN:
            yield from _unpacked(_stdin(), self.notes)
            return
        try:
            with open(self.path, "rb", buffering=0) as file:
                yield from _unpacked(_raw(file), self.notes)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", self.path) from None


def logs(path: str) -> list[Log]:
    """The log files that a path names, per-rank files in the order of their numbers. Raises InputError."""
    if path == STDIN:
        return [Log(STDIN_NAME, STDIN)]
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise InputError(
            "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {getattr(error, 'strerror', error)}", path, hint="check the path"
        ) from None
    if not stat.S_ISDIR(mode):
        return [Log(path, path)]
    found = [name for name in _walk(path) if not name.endswith(_NOT_LOGS)]
    if not found:
        raise InputError("holds no log files", path, hint="name a file")
    return [Log(name, name) for name in sorted(found, key=_natural)]


def snapshots(path: str) -> list[str]:
    """PyTorch memory snapshots in a folder, or the path itself when it is one."""
    if os.path.isdir(path):
        return sorted((name for name in _walk(path) if _SNAPSHOT.search(name)), key=_natural)
    return [path] if _SNAPSHOT.search(path) else []


def _walk(top: str) -> list[str]:
    found = []
    for here, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            path = os.path.join(here, name)
            if not name.startswith(".") and os.path.isfile(path):
                found.append(path)
        if len(found) > MOST_FILES:
            raise InputError(f"holds more than {MOST_FILES} files", top, hint="name a smaller folder")
    return found


def _natural(name: str) -> list[tuple[int, int, str]]:
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name)]


def _ranks(name: str) -> tuple[int | None, int | None]:
    """``(global rank, local rank)`` that a file's name says: rank_12.log, or torchrun's attempt_0/3/stderr.log."""
    rank = re.search(r"(?:^|[/_.-])rank[_-]?(\d+)(?:[_.-][^/]*)?$", name)
    if rank is not None:
        return int(rank[1]), None
    local = re.search(r"attempt_\d+/(\d+)/std(?:out|err)[^/]*$", name.replace("\\", "/"))
    return None, int(local[1]) if local is not None else None


def _raw(file: object) -> Iterator[bytes]:
    read = file.read  # type: ignore[attr-defined]
    while True:
        data = read(BLOCK)
        if not data:
            return
        yield data


def _stdin() -> Iterator[bytes]:
    """Standard input as it comes: a pipe gives what it has, so that a log that never ends is seen."""
    descriptor = sys.stdin.fileno() if hasattr(sys.stdin, "fileno") else 0
    while True:
        data = os.read(descriptor, BLOCK)
        if not data:
            return
        yield data


def _unpacked(blocks: Iterator[bytes], notes: list[str]) -> Iterator[bytes]:
    first = next(blocks, b"")
    while len(first) < 2:
        more = next(blocks, b"")
        if not more:
            break
        first += more
    if first[:2] != GZIP:
        if first:
            yield first
        yield from blocks
        return
    taken = given = 0
    unpack = zlib.decompressobj(wbits=31)
    data = first
    while data:
        taken += len(data)
        while data:
            try:
                out = unpack.decompress(data, BLOCK)
            except zlib.error as error:
                notes.append(f"the gzip data is damaged after {given} bytes ({error}): what came before it was read")
                return
            if out:
                given += len(out)
                yield out
            if given > FREE_EXPANSION and given > taken * MOST_EXPANSION:
                notes.append(f"stopped after {given >> 20} MiB: the gzip data expands more than {MOST_EXPANSION} times, which no log does")
                return
            if unpack.eof:
                data = unpack.unused_data.lstrip(b"\0")
                unpack = zlib.decompressobj(wbits=31)
                if data[:2] != GZIP:
                    data = b""
            else:
                data = unpack.unconsumed_tail
        data = next(blocks, b"")
    if taken and not given:
        notes.append("the gzip data is cut off")
