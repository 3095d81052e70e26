"""Walks through a log of any size at the speed of a byte search, and reads closely only where something can stand.

The beginning and the end of each file are read line by line, and so is the surrounding of every place in between that holds one of a few
needles. Of the rest the last iteration line of every block is read, so that progress and throughput are known throughout.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from lclint.crash.collect import Collector
from lclint.crash.reading import Log

# what is read closely at the beginning of a file: configuration, communicators of thousands of ranks, the first iterations
HEAD = 4 * 2**20
# of thousands of files only so much is read closely at the beginning and the end of each, once so much has been read closely in all
CLOSE = 32 * 2**20
SHORT = 2**15
# blocks that are kept, to read closely what comes before a needle: tracebacks of many ranks at once take up to that much
BEFORE = 4
AFTER = 2
# a line longer than this is read in pieces
LONGEST = 1 << 20
OVERLAP = 1 << 14

# in blocks in which training goes on, nothing but these can matter
_ALIVE = (b"out of memory", b"Traceback (most recent call last)")
_ALL = (
    *_ALIVE,
    b"OutOfMemoryError",
    b"oom_kill",
    b"oom-kill",
    b"Killed",
    b"exitcode",
    b"Out Of Memory",
    b"Bus error",
    b"bad_alloc",
    b"memory pressure",
    b"memory allocation of",
    b"cuMemCreate",
    b"_STATUS_ALLOC_FAILED",
    b"Watchdog caught",
    b"Error: ",
    b"NVRM: Xid",
    b"CANCELLED AT",
    b"low on resource: memory",
    b"Configuration Summary (Non-Default",
    b" arguments ---",
)
# once a fatal failure for want of memory is known, only others of its kind count
_AFTER_FAILURE = (b"Tried to allocate",)
# so many blocks are read closely for one needle before it is left to the beginning and the end of the file
QUOTA = {b"Watchdog caught": 4, b"Error: ": 12, b"exitcode": 8, b"Killed": 12, _ALIVE[1]: 24, b"Tried to allocate": 24}
DEFAULT_QUOTA = 48
# times that quota in all files together
ALL_FILES = 16


def scan(log: Log, collector: Collector, progress: Callable[[int], None] | None = None) -> None:
    """Read one file into the collector. KeyboardInterrupt passes through, with all that came before it handled by ``finish``."""
    walker = _Walker(collector)
    collector.begin(log)
    try:
        for data, line, ends in _lines(log.blocks()):
            walker.feed(data, line, ends)
            if progress is not None:
                progress(len(data))
    finally:
        walker.finish()
        collector.end(log)


def _lines(blocks: Iterator[bytes]) -> Iterator[tuple[bytes, int, int]]:
    """``(whole lines, number of the first, number of the line behind them)``; of an endless line, pieces cut at blanks."""
    rest = b""
    line = 1
    for data in blocks:
        if rest:
            data = rest + data
        end = data.rfind(b"\n") + 1
        if not end:
            if len(data) < LONGEST:
                rest = data
                continue
            end = data.rfind(b" [rank", len(data) - OVERLAP) + 1 or data.rfind(b" ", len(data) - OVERLAP) + 1 or len(data)
        rest = data[end:]
        data = data[:end] if rest else data
        following = line + data.count(b"\n")
        yield data, line, following
        line = following
    if rest:
        yield rest, line, line


class _Walker:
    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self.kept: deque[tuple[bytes, int, int]] = deque()
        self.read = 0
        self.close = 0
        self.used: dict[bytes, int] = {}

    def feed(self, data: bytes, line: int, ends: int) -> None:
        """Whole lines, of which the first has the number ``line`` and what follows them ``ends``."""
        self.read += len(data)
        if self.read <= HEAD and (self.read <= SHORT or self.collector.close_read < CLOSE):
            self._closely(data, line)
        elif self._matters(data):
            while self.kept:
                self._closely(*self.kept.popleft()[:2])
            self._closely(data, line)
            self.close = AFTER
        elif self.close:
            self.close -= 1
            self._closely(data, line)
        else:
            self.kept.append((data, line, ends))
            if len(self.kept) > BEFORE:
                self._glance(*self.kept.popleft()[::2])

    def finish(self) -> None:
        """The end of the file: what is kept is read closely, of one file of thousands its last lines only."""
        while self.kept:
            data, line, ends = self.kept.popleft()
            if self.collector.close_read < CLOSE:
                self._closely(data, line)
            elif self.kept:
                self._glance(data, ends)
            else:
                start = data.rfind(b"\n", 0, max(0, len(data) - SHORT)) + 1
                self._closely(data[start:], ends - data.count(b"\n", start))

    def _closely(self, data: bytes, line: int) -> None:
        self.collector.close_read += len(data)
        self.collector.lines(data, line)

    def _matters(self, data: bytes) -> bool:
        needles: tuple[bytes, ...]
        if self.collector.failed:
            needles = _AFTER_FAILURE
        elif data.rfind(b"iteration ", max(0, len(data) - 20_000)) >= 0:
            needles = _ALIVE
        else:
            needles = _ALL
        everywhere = self.collector.needles
        for needle in needles:
            quota = QUOTA.get(needle, DEFAULT_QUOTA)
            if self.used.get(needle, 0) < quota and everywhere.get(needle, 0) < ALL_FILES * quota and needle in data:
                self.used[needle] = self.used.get(needle, 0) + 1
                everywhere[needle] = everywhere.get(needle, 0) + 1
                return True
        return False

    def _glance(self, data: bytes, ends: int) -> None:
        """The last iteration line of a block and what stands right behind it."""
        at = data.rfind(b"iteration ")
        if at >= 0:
            start = data.rfind(b"\n", 0, at) + 1
            self.collector.lines(data[max(start, at - 400) : at + 4000], ends - data.count(b"\n", start))
