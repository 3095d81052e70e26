"""The bytes of a log as a stream of blocks: files, folders of per-rank files, gzip, standard input. Nothing is read twice or kept."""

from __future__ import annotations

import os
import re
import stat
import sys
import time
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
# so long is waited for somebody to write to a named pipe
WAIT = 10.0
# what a file that is no log begins with
_OTHER = {
    b"PK\x03\x04": "a zip archive (PyTorch's own files are such)",
    b"(\xb5/\xfd": "compressed with zstd: unpack it first",
    b"\xfd7zXZ": "compressed with xz: unpack it first",
    b"BZh": "compressed with bzip2: unpack it first",
    b"\x7fELF": "a program",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF",
}


class Log:
    """One file of a log: ``name`` as reported, ``rank`` and ``local`` where its name says them, ``notes`` what went wrong on the way.

    ``read`` counts the bytes that came out of it; ``other`` says what it seems to be when that is no text.
    """

    __slots__ = ("name", "path", "rank", "local", "notes", "read", "other")

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path
        self.rank, self.local = _ranks(name)
        self.notes: list[str] = []
        self.read = 0
        self.other: str | None = None

    def blocks(self) -> Iterator[bytes]:
        """The decompressed content. Raises InputError when it cannot be read."""
        for data in self._unpacked():
            if not self.read:
                self.other = _not_text(data)
            self.read += len(data)
            yield data

    def _unpacked(self) -> Iterator[bytes]:
        if self.path == STDIN:
            yield from _unpacked(_stdin(), self.notes)
            return
        try:
            if stat.S_ISFIFO(os.stat(self.path).st_mode):
                yield from _unpacked(_pipe(self.path), self.notes)
                return
            with open(self.path, "rb", buffering=0) as file:
                yield from _unpacked(_raw(file), self.notes)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", self.path) from None


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


def _pipe(path: str) -> Iterator[bytes]:
    """What comes through a named pipe; a pipe that nobody writes to is not waited for without end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        until = time.monotonic() + WAIT
        while True:
            try:
                data = os.read(descriptor, BLOCK)
            except BlockingIOError:
                # somebody has it open and will write
                os.set_blocking(descriptor, True)
                continue
            if data:
                os.set_blocking(descriptor, True)
                yield data
            elif os.get_blocking(descriptor):
                return
            elif time.monotonic() > until:
                raise InputError("is a pipe that nobody writes to", path, hint="name the file, or start what writes to it first")
            else:
                time.sleep(0.02)
    finally:
        os.close(descriptor)


def _not_text(data: bytes) -> str | None:
    """What the beginning of a file seems to be, None for text."""
    for magic, name in _OTHER.items():
        if data.startswith(magic):
            return name
    head = data[:4096]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    odd = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in head)
    return "binary data" if odd > len(head) // 10 and not _looks_wide(head) else None


def _looks_wide(head: bytes) -> bool:
    """UTF-16 without its mark: every second byte is zero."""
    return head[1::2].count(0) > 0.8 * (len(head) // 2) or head[::2].count(0) > 0.8 * (len(head) // 2)


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
    # whether the present member has had no byte yet
    fresh = True
    data = first
    while data:
        taken += len(data)
        while data:
            fresh = False
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
                fresh = True
                if data[:2] != GZIP:
                    data = b""
            else:
                data = unpack.unconsumed_tail
        data = next(blocks, b"")
    if taken and not unpack.eof and (unpack.unconsumed_tail or not fresh):
        notes.append(f"the gzip data is cut off: its first {given} bytes were read" if given else "the gzip data is cut off before its first byte")
