"""Takes the lines of a log one by one and keeps what a diagnosis needs: failures with their stacks, progress, settings, memory reports.

Everything that is kept is bounded, whatever the log's size and the number of its ranks.
"""

from __future__ import annotations

import re
from typing import Any

from lclint.crash import failures, lines, oom
from lclint.crash.events import Event, Pending
from lclint.crash.prefixes import Origin, clean, strip
from lclint.crash.progress import Progress
from lclint.crash.reading import Log
from lclint.crash.record import Frame
from lclint.crash.settings import Settings
from lclint.crash.stacks import Stacks

MOST_EVENTS = 3000
MOST_RANKS = 20_000
LONGEST_TEXT = 16_000
# records of other processes that may stand between an error and the stack that belongs to it
ADOPTION = 400

# of so many failures the whole stacks are kept, of the others what is innermost
MOST_WHOLE = 100
SHORT_STACK = 8

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
_ITERATION = re.compile(rb" ?\[20[\d .:-]+\] iteration +(\d{1,15})/ *\d+ \|[^\[\]]*?\| elapsed time per iteration \(ms\): (\d{1,15}\.\d+) \|[^\[\]]*\|\s*$")
_RANK = re.compile(rb"\[rank(\d{1,6})\]")
_ROOT = re.compile(r"^\s*rank\s*: (\d{1,9}) \(local_rank: (\d{1,6})\)")
_GLOBAL_RANK = re.compile(r"^Global rank: (\d{1,9})")
_ERROR_WORDS = ("Error", "Exception", "Exit", "Interrupt", "Timeout", "OutOfResources")
_PINNED = re.compile(r"pin_memory|cudaHostAlloc|pinned", re.IGNORECASE)


class Collector:
    """``lines`` takes blocks of whole lines; the rest are results. ``failed`` is true once a fatal failure for want of memory is known."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.events: list[Event] = []
        self.progress = Progress()
        self.stacks = Stacks()
        self.failed = False
        self.root_rank: int | None = None
        self.root_local: int | None = None
        self.world = 0
        self.last_line = 0
        self.first_error: Event | None = None
        self.cut_trace: tuple[tuple[Any, ...], list[Frame], str, int] | None = None
        self.died: set[int] = set()
        self.failed_ranks: dict[int, None] = {}
        self.notes: list[str] = []
        self.tasks_are_nodes = False
        self.close_read = 0
        self.needles: dict[bytes, int] = {}
        self._ranks: dict[tuple[str, str], int] = {}
        self._order = 0
        self._reset()
        self._log = Log("", "")

    def _reset(self) -> None:
        self._pending: Pending | None = None
        self._wanting: list[tuple[Event, int]] = []
        self._root = False
        self._named_rank: int | None = None
        self._tail: tuple[str, Origin, tuple[Any, ...]] | None = None
        self._time: str | None = None

    def begin(self, log: Log) -> None:
        """A new file begins."""
        self._log = log
        self._reset()
        self.progress.begin(log.name)
        self.stacks.begin()

    def end(self, log: Log) -> None:
        """The file has come to its end."""
        self._settle()
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
            elif self._pending is not None:
                self._pending.left -= 1
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
            if rank is not None and len(self.died) < MOST_RANKS:
                self.died.add(int(rank[1]))
            return True
        if self._pending is None and (match := _ITERATION.match(raw)) is not None:
            self.progress.reached(int(match[1]), float(match[2]), number)
            return True
        return False

    def _nccl(self, text: str) -> None:
        found = lines.nccl_rank(text)
        if found is not None:
            process, rank, ranks = found
            self.world = max(self.world, ranks)
            if len(self._ranks) < MOST_RANKS and ranks == self.world:
                self._ranks[process] = rank

    def _line(self, raw: bytes, number: int) -> None:
        text = clean(raw.decode("utf-8", "replace"))
        parts = [part for part in text.split("\r") if part] if "\r" in text else [text]
        for part in parts:
            splitter = _SPLIT_LONG if len(part) > 3000 else _SPLIT
            starts = [match.start() for match in splitter.finditer(part) if match.start() > 0]
            if not starts:
                self._record(part, number)
                continue
            begin = 0
            lead = Origin()
            for start in [*starts, len(part)]:
                piece = part[begin:start]
                begin = start
                if not piece or (splitter is _SPLIT_LONG and self._skip(piece.encode("utf-8", "replace"), number)):
                    continue
                # a bare prefix: it belongs to what follows it
                origin, rest = strip(piece)
                if not rest.strip() and not origin.plain:
                    origin.join(lead)
                    lead = origin
                    continue
                self._record(piece, number, lead)
                lead = Origin()

    def _record(self, text: str, number: int, lead: Origin | None = None) -> None:
        origin, rest = strip(text)
        if lead is not None and not lead.plain:
            origin.join(lead)
        if origin.rank is None and origin.task is None and self._log.rank is not None:
            origin.rank = self._log.rank
        if origin.local is None and self._log.local is not None:
            origin.local = self._log.local
        if origin.time is not None:
            self._time = origin.time.replace("T", " ")
        if origin.rank is not None and origin.task is not None and origin.rank != origin.task:
            self.tasks_are_nodes = True
        self._order += 1
        if self._pending is not None and self._continue(rest, origin):
            return
        self.progress.feed(rest, number)
        self.settings.feed(rest, number)
        if "using world size" in rest:
            layout = lines.world(rest)
            if layout is not None:
                self.settings.layout(layout, number)
        key = origin.key()
        if self.stacks.take(rest, number, key):
            self._tail = None
            return
        self._failure(text, rest, number, origin, key)
        self._tail = (rest[-200:], origin, key)

    # failures

    def _failure(self, whole: str, text: str, number: int, origin: Origin, key: tuple[Any, ...]) -> None:
        if self._tail and len(text) < 2000 and "out of" in self._tail[0][-60:]:
            # the sentence's first words on two lines
            before, came_from, came_key = self._tail
            match = oom.START.search(before + text)
            if match is not None and match.start() < len(before) < match.end():
                self._out_of_memory(before + text, match.start(), number, came_from, came_key)
                return
        if "emory" in text or "llocate" in text:
            match = oom.START.search(text)
            if match is not None:
                self._out_of_memory(text, match.start(), number, origin, key)
                return
        if "rank" in text:
            if self._root and self.root_rank is None and (root := _ROOT.match(text)) is not None:
                self.root_rank, self.root_local = int(root[1]), int(root[2])
            elif text.startswith("Global rank") and self._named_rank is None and (root := _GLOBAL_RANK.match(text)) is not None:
                self._named_rank = int(root[1])
        if "Root Cause" in text:
            self._root = True
        found = failures.match(text)
        error = failures.ERROR.match(text.strip()) if any(word in text for word in _ERROR_WORDS) else None
        if found is None and error is None:
            return
        if found is not None:
            signature, match = found
            if failures.is_quoted(text[: match.start()]):
                self._add(self._event("not_memory", "quoted", failures.PROBABLE, text, number, origin, key, quoted=True))
                return
            event = self._event(signature.kind, signature.name, signature.weight, text, number, origin, key)
            event.phase = signature.phase
            groups = match.groupdict()
            if groups.get("bytes"):
                event.requested = int(groups["bytes"])
            if groups.get("task"):
                event.rank = int(groups["task"])
            if groups.get("local"):
                event.local = int(groups["local"])
            nccl = lines.NCCL_ORIGIN.search(text)
            if nccl is not None:
                event.host = nccl["host"]
                event.local = int(nccl["gpu"])
                if event.rank is None and event.kind == "nccl_oom":
                    event.rank = self._ranks.get((nccl["host"], nccl["pid"]))
            if signature.name == "deepep-timeout" and event.rank is None:
                event.rank = self._named_rank
            if signature.name == "cuda-malloc" and any(_PINNED.search(f.code) or _PINNED.search(f.function) for f in event.frames[-3:]):
                event.kind = "host_oom"
                event.signature = "pinned-memory"
            if event.kind == "not_memory" and signature.name == "illegal-access" and error is None:
                event.weight = failures.PROBABLE
        else:
            assert error is not None
            name, inner = error["name"], error["inner"]
            shown = error["text"] or ""
            if name == "OutOfMemoryError" or inner == "OutOfMemoryError":
                # ray.exceptions.OutOfMemoryError is the host's, every other one the GPU's; the sentence itself, if there is one, says more
                host = "ray.exceptions.OutOfMemoryError" in text
                kind, pattern = ("host_oom", "ray-memory-monitor") if host else ("gpu_oom", "named-only")
                event = self._event(kind, pattern, failures.PROBABLE, text, number, origin, key)
            else:
                weight = failures.CONSEQUENCE if failures.is_consequence(name, shown) else failures.CAUSE
                if origin.level == "WARNING" or "Warning" in name:
                    return
                event = self._event("not_memory", "error", weight, text, number, origin, key)
        self._adopt(event, text, key)
        if not event.frames and event.weight >= failures.PROBABLE and event.signature != "named-only":
            self.stacks.below = event
        if event.weight == failures.CONSEQUENCE and event.rank is not None and len(self.died) < MOST_RANKS:
            self.died.add(event.rank)
        self._add(event)

    def _event(self, kind: str, signature: str, weight: int, text: str, number: int, origin: Origin, key: tuple[Any, ...], quoted: bool = False) -> Event:
        frames = self.stacks.of(key)
        if not quoted:
            # what follows a bare class name may be the sentence itself
            self.stacks.ended(key, forget=signature != "named-only")
        if len(self.events) > MOST_WHOLE:
            frames = frames[-SHORT_STACK:]
        return Event(
            kind=kind,
            signature=signature,
            weight=weight,
            text=text.strip()[:2000],
            file=self._log.name,
            line=number,
            order=self._order,
            rank=origin.rank if origin.rank is not None else origin.task,
            by_task=origin.rank is None and origin.task is not None,
            local=origin.local,
            host=origin.host,
            time=self._time,
            key=key,
            frames=frames,
            during=self.progress.during,
            during_line=self.progress.during_line,
            iteration=self.progress.iteration,
            iteration_line=self.progress.iteration_line,
            quoted=quoted,
            attempt=self.progress.attempt,
        )

    def _add(self, event: Event) -> None:
        if len(self.events) >= MOST_EVENTS:
            return
        if event.weight == failures.CONSEQUENCE and sum(1 for e in self.events[-50:] if e.weight == failures.CONSEQUENCE) >= 40:
            return
        self.events.append(event)
        if self.first_error is None and not event.quoted and not event.handled:
            self.first_error = event
        memory = event.kind not in ("not_memory", "handled_oom") and not event.quoted and not event.handled
        if memory and event.weight == failures.CAUSE:
            self.failed = True
            if event.rank is not None and len(self.failed_ranks) < MOST_RANKS:
                self.failed_ranks.setdefault(event.rank)
        if memory and event.rank is None and event.kind in ("nccl_oom", "nvshmem_oom", "cublas_oom"):
            self._wanting.append((event, self._order))
        if memory and event.kind in ("nccl_oom", "nvshmem_oom") and event.rank is not None and not event.frames:
            self._wanting.append((event, self._order))

    def _adopt(self, event: Event, text: str, key: tuple[Any, ...]) -> None:
        """An error of a rank right behind a library's message without one: it is that rank's, and its stack belongs to the message."""
        if not self._wanting:
            return
        still = []
        for wanting, order in self._wanting:
            if self._order - order > ADOPTION:
                continue
            same = wanting.rank is None or wanting.rank == event.rank
            if event.rank is not None and same and ("NCCL" in text or "CUDA" in text or "nvshmem" in text.lower() or event.kind == wanting.kind):
                wanting.rank = event.rank
                wanting.frames = wanting.frames or list(event.frames)
                self.failed_ranks.setdefault(event.rank)
                if not wanting.frames:
                    still.append((wanting, order))
            else:
                still.append((wanting, order))
        self._wanting = still

    def _out_of_memory(self, text: str, start: int, number: int, origin: Origin, key: tuple[Any, ...]) -> None:
        lead = text[:start]
        body = text[start : start + LONGEST_TEXT]
        event = self._event("gpu_oom", "out-of-memory", failures.CAUSE, text[max(0, start - 200) :], number, origin, key)
        event.lead = f"{origin.level or ''} {lead[-2000:]}"
        event.quoted = failures.is_quoted(lead)
        if event.quoted:
            event.kind, event.signature = "not_memory", "quoted"
            self._add(event)
            return
        self._settle()
        self._pending = Pending(event, body)
        if oom.complete(body):
            self._pending.tail = body.rpartition("environment-variables")[2][:300]
            self._settle()

    def _continue(self, text: str, origin: Origin) -> bool:
        """Whether the record is the next piece of the pending sentence."""
        pending = self._pending
        assert pending is not None
        pending.left -= 1
        mine = origin.plain or origin.key() == pending.event.key or pending.event.key == ("",)
        if not mine:
            if pending.left <= -40:
                self._settle()
            return False
        if pending.left < 0 or not oom.continues(text) or oom.START.search(text) is not None:
            self._settle()
            return False
        pending.text += text
        if oom.complete(pending.text):
            pending.tail = pending.text.rpartition("environment-variables")[2][:300]
            self._settle()
        return True

    def _settle(self) -> None:
        """The pending sentence is over: read it."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        event = pending.event
        event.message = oom.parse(pending.text)
        level = "WARNING" if re.search(r"\bWARN(?:ING)?\b|\[W\d{3,4} |^W\d{4} ", event.lead) else None
        if event.message is None:
            event.kind, event.signature, event.weight, event.quoted = "not_memory", "quoted", failures.PROBABLE, True
        elif failures.is_handled(event.lead, pending.tail, level):
            event.handled, event.kind = True, "handled_oom"
            event.phase = "checkpoint_load" if "tensors merging" in event.lead else None
        self._add(event)
        if not event.frames and not event.quoted and not event.handled:
            self.stacks.below = event
