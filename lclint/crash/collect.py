"""Takes the lines of a log one by one and keeps what a diagnosis needs: failures with their stacks, progress, settings, memory reports.

Everything that is kept is bounded, whatever the log's size and the number of its ranks.
"""

from __future__ import annotations

import re
from typing import Any

from lclint.crash import lines, structured
from lclint.crash.notice import Notice
from lclint.crash.prefixes import Origin, clean, strip
from lclint.crash.progress import Progress
from lclint.crash.reading import Log
from lclint.crash.record import Frame
from lclint.crash.settings import Settings
from lclint.crash.stacks import Stacks

MOST_RANKS = 20_000
MOST_NOTES = 20

# where a record can begin in the middle of a line
_SPLIT = re.compile(
    r"\[rank\d+\]:|\[Rank \w+\] \((?:after|before) |Traceback \(most recent call last\)|Number of parameters in |"
    r"\[20\d\d-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\] +iteration |srun: error: |slurmstepd: error: "
)
_SPLIT_LONG = re.compile(
    _SPLIT.pattern + r"|File \"|saving checkpoint at iteration|successfully (?:saved|loaded) checkpoint|"
    r"(?:[Ss]tarting|Training) training loop|Setting rerun_state_machine|\[(?:before|after) the |using world size: |torch\.distributed\.elastic|"
    r"E\d{4} \d\d:\d\d|(?:torch\.)?(?:cuda\.)?OutOfMemoryError: "
)
# a whole iteration line and nothing else
_ITERATION = re.compile(
    rb" ?\[20[\d .:-]+\] iteration +(\d{1,15})/ *\d+ \|[^\[\]|]*\|(?:[^\[\]|]*\|)? elapsed time per iteration \(ms\): (\d{1,15}\.\d+)"
    rb"(?: \| [\w ()/-]{1,60}: +[\d.E+-]+)*(?: \|)?\s*$"
)
_RANK = re.compile(rb"\[rank(\d{1,6})\]")


class Collector:
    """``lines`` takes blocks of whole lines; the rest are results, the failures in ``notice``."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.progress = Progress()
        self.stacks = Stacks()
        self.notice = Notice(self.progress, self.stacks)
        self.world = 0
        self.last_line = 0
        self.cut_trace: tuple[tuple[Any, ...], list[Frame], str, int] | None = None
        self.notes: list[str] = []
        self.tasks_are_nodes = False
        self.close_read = 0
        self.needles: dict[bytes, int] = {}
        self._order = 0
        self._log = Log("", "")

    @property
    def failed(self) -> bool:
        """Whether a fatal failure for want of memory is known."""
        return self.notice.failed

    def begin(self, log: Log) -> None:
        """A new file begins."""
        self._log = log
        self.progress.begin(log.name)
        self.stacks.begin()
        self.notice.begin(log.name)

    def end(self, log: Log) -> None:
        """The file has come to its end."""
        self.notice.end()
        self.settings.close()
        cut = self.stacks.cut_off(self.last_line)
        if cut is not None and self.cut_trace is None:
            self.cut_trace = (cut[0], cut[1], log.name, cut[2])
        self.notes += log.notes

    def lines(self, data: bytes, number: int) -> None:
        """Whole lines, of which the first has that number."""
        for raw in data.split(b"\n"):
            if raw:
                if not self._skip(raw, number):
                    self._line(raw, number)
            else:
                self.notice.sentences.blank()
            self.last_line = number
            number += 1

    def _skip(self, raw: bytes, number: int) -> bool:
        """The three lines that make up most of a long log, each on a short way. True when the line needs no more."""
        if b"NCCL INFO" in raw and len(raw) < 1000 and b"iteration " not in raw and b"Error" not in raw:
            if b"nranks" in raw:
                self._nccl(raw.decode("latin-1"))
            return True
        if self.failed and b"Watchdog caught" in raw and len(raw) < 1000:
            rank = _RANK.search(raw)
            if rank is not None and len(self.notice.died) < MOST_RANKS:
                self.notice.died.add(int(rank[1]))
            return True
        if not self.notice.sentences and (match := _ITERATION.match(raw)) is not None:
            self.progress.reached(int(match[1]), float(match[2]), number)
            return True
        return False

    def _nccl(self, text: str) -> None:
        found = lines.nccl_rank(text)
        if found is not None:
            process, rank, ranks = found
            self.world = max(self.world, ranks)
            if len(self.notice.processes) < MOST_RANKS and ranks == self.world:
                self.notice.processes[process] = rank

    def _line(self, raw: bytes, number: int) -> None:
        text = clean(raw.decode("utf-8", "replace"))
        if '{"' in text:
            origin, rest = strip(text)
            unpacked = structured.unpack(rest)
            if unpacked is not None:
                unpacked[1].join(origin)
                for line in unpacked[0]:
                    self._pieces(line, number, unpacked[1])
                return
        for part in [part for part in text.split("\r") if part] if "\r" in text else [text]:
            self._pieces(part, number, None)

    def _pieces(self, part: str, number: int, whole: Origin | None) -> None:
        """The records of a line; ``whole`` is where all of it comes from."""
        splitter = _SPLIT_LONG if len(part) > 3000 else _SPLIT
        starts = [match.start() for match in splitter.finditer(part) if match.start() > 0]
        begin = 0
        lead = Origin()
        for start in [*starts, len(part)]:
            piece = part[begin:start]
            begin = start
            if starts:
                if not piece or (splitter is _SPLIT_LONG and self._skip(piece.encode("utf-8", "replace"), number)):
                    continue
                # a bare prefix: it belongs to what follows it
                origin, rest = strip(piece)
                if not rest.strip() and not origin.plain:
                    origin.join(lead)
                    lead = origin
                    continue
            if whole is not None:
                lead.join(whole)
            self._record(piece, number, lead)
            lead = Origin()

    def _record(self, text: str, number: int, lead: Origin) -> None:
        origin, rest = strip(text)
        if not lead.plain:
            origin.join(lead)
        if origin.rank is None and origin.task is None and self._log.rank is not None:
            origin.rank = self._log.rank
        if origin.local is None and self._log.local is not None:
            origin.local = self._log.local
        if origin.rank is not None and origin.task is not None and origin.rank != origin.task:
            self.tasks_are_nodes = True
        self._order += 1
        self.notice.record(origin, self._order)
        if self.notice.sentences and self.notice.sentences.take(rest, origin):
            return
        self.progress.feed(rest, number)
        self.settings.feed(rest, number)
        if "using world size" in rest:
            layout = lines.world(rest)
            if layout is not None:
                self.settings.layout(layout, number)
        counted = lines.memory_summary(rest)
        if counted is not None and len(self.notes) < MOST_NOTES:
            self.notes.append(f"{counted} (line {number})")
        key = origin.key()
        if self.stacks.take(rest, number, key):
            self.notice.in_stack(key)
            return
        self.notice.take(rest, number, origin, key)
