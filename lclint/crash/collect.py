"""Takes the lines of a log one by one and keeps what a diagnosis needs: failures with their stacks, progress, settings, memory reports.

Everything that is kept is bounded, whatever the log's size and the number of its ranks.
"""

from __future__ import annotations

import re
from typing import Any

from lclint.core.finding import Record
from lclint.crash import environment, failures, lines, oom, phases
from lclint.crash.prefixes import Origin, clean, strip
from lclint.crash.reading import Log
from lclint.crash.record import Frame, Reading
from lclint.crash.settings import Settings

MOST_EVENTS = 3000
MOST_STREAMS = 5000
MOST_FRAMES = 80
MOST_RANKS = 20_000
LONGEST_TEXT = 16_000
# records of other processes that may stand between an error and the stack that belongs to it
ADOPTION = 400

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
_ITERATION = re.compile(rb" ?\[20[\d .:-]+\] iteration +(\d+)/ *\d+ \|[^\[\]]*?\| elapsed time per iteration \(ms\): (\d+\.\d+) \|[^\[\]]*\|\s*$")
_RANK = re.compile(rb"\[rank(\d+)\]")
_ROOT = re.compile(r"^\s*rank\s*: (\d+) \(local_rank: (\d+)\)")
_GLOBAL_RANK = re.compile(r"^Global rank: (\d+)")
_ERROR_WORDS = ("Error", "Exception", "Exit", "Interrupt", "Timeout", "OutOfResources")
_PINNED = re.compile(r"pin_memory|cudaHostAlloc|pinned", re.IGNORECASE)
_ATTEMPT = re.compile(r"will restart worker group|Restarting worker group|attempts? left", re.IGNORECASE)


class Event(Record):
    """One failure that the log reports, with where it came from and what was known then."""

    __slots__ = (
        "kind",
        "signature",
        "weight",
        "text",
        "lead",
        "file",
        "line",
        "order",
        "rank",
        "local",
        "host",
        "time",
        "key",
        "message",
        "requested",
        "frames",
        "phase",
        "during",
        "during_line",
        "iteration",
        "iteration_line",
        "handled",
        "quoted",
        "attempt",
    )
    kind: str
    signature: str
    weight: int
    text: str
    lead: str
    file: str
    line: int
    order: int
    rank: int | None
    local: int | None
    host: str | None
    time: str | None
    key: tuple[Any, ...]
    message: oom.OutOfMemory | None
    requested: int | None
    frames: list[Frame]
    phase: str | None
    during: str
    during_line: int
    iteration: int | None
    iteration_line: int
    handled: bool
    quoted: bool
    attempt: int
    defaults = {
        "lead": "",
        "rank": None,
        "local": None,
        "host": None,
        "time": None,
        "key": (),
        "message": None,
        "requested": None,
        "frames": [],
        "phase": None,
        "during": "",
        "during_line": 0,
        "iteration": None,
        "iteration_line": 0,
        "handled": False,
        "quoted": False,
        "attempt": 0,
    }


class _Pending:
    """An out-of-memory sentence whose end has not come yet."""

    __slots__ = ("event", "text", "tail", "left")

    def __init__(self, event: Event, text: str) -> None:
        self.event = event
        self.text = text
        self.tail = ""
        self.left = 14


class Collector:
    """``lines`` takes blocks of whole lines; the rest are results. ``failed`` is true once a fatal failure for want of memory is known."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.events: list[Event] = []
        self.readings: list[Reading] = []
        self.throughput: list[tuple[int, float]] = []
        self.environment: dict[str, str] = {}
        self.versions: dict[str, str] = {}
        self.device: str | None = None
        self.iteration: int | None = None
        self.iteration_line = 0
        self.iteration_file = ""
        self.iterations: dict[str, int] = {}
        
        self.failed = False
        self.root_rank: int | None = None
        self.root_local: int | None = None
        self.world = 0
        self.last_line = 0
        self.first_error: Event | None = None
        self.cut_trace: tuple[tuple[Any, ...], list[Frame], str, int] | None = None
        self.died: set[int] = set()
        self.failed_ranks: dict[int, None] = {}
        self.all_files: set[str] = set()
        self.notes: list[str] = []
        self.parameters: int | None = None
        self.attempt = 0
        self.close_read = 0
        self._ranks: dict[tuple[str, str], int] = {}
        self._order = 0
        self._reset()
        self._log = Log("", "")

    def _reset(self) -> None:
        self._frames: dict[tuple[Any, ...], list[Frame]] = {}
        self._open: dict[tuple[Any, ...], int] = {}
        self._pending: _Pending | None = None
        self._wanting: list[tuple[Event, int]] = []
        self._after: Event | None = None
        self._during = ""
        self._during_line = 0
        self._root = False
        self._named_rank: int | None = None
        self._tail: tuple[str, Origin, tuple[Any, ...]] | None = None
        self._half: tuple[str, tuple[Any, ...]] | None = None
        self._time: str | None = None

    def begin(self, log: Log) -> None:
        """A new file begins."""
        self._log = log
        self._reset()

    def end(self, log: Log) -> None:
        """The file has come to its end."""
        self._settle()
        self.settings.close()
        for key, number in self._open.items():
            if self._frames.get(key) and self.cut_trace is None:
                self.cut_trace = (key, self._frames[key], log.name, number)
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
        if b"NCCL INFO" in raw and len(raw) < 1000:
            if b"nranks" in raw:
                self._nccl(raw.decode("latin-1"))
            return True
        if self.failed and b"Watchdog caught" in raw and len(raw) < 1000:
            rank = _RANK.search(raw)
            if rank is not None and len(self.died) < MOST_RANKS:
                self.died.add(int(rank[1]))
            return True
        if self._pending is None and (match := _ITERATION.match(raw)) is not None:
            self._set_iteration(int(match[1]), number)
            _keep(self.throughput, (int(match[1]), float(match[2])))
            self._during = ""
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
                if not piece:
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
            self._time = origin.time
        self._order += 1
        if self._pending is not None and self._continue(rest, origin):
            return
        self._progress(rest, number)
        self.settings.feed(rest, number)
        key = origin.key()
        if self._stack(rest, number, key):
            self._tail = None
            return
        self._failure(text, rest, number, origin, key)
        self._tail = (rest[-200:], origin, key)

    # progress

    def _progress(self, text: str, number: int) -> None:
        if "iteration" in text or "step" in text:
            found = lines.iteration(text)
            if found is not None:
                self._set_iteration(found, number)
                self._during = ""
                duration = lines.milliseconds(text)
                if duration is not None:
                    _keep(self.throughput, (found, duration))
            else:
                started = lines.started_at(text)
                if started is not None:
                    self._set_iteration(started, number)
        if "memory (" in text:
            for reading in lines.readings(text, number):
                _keep(self.readings, reading)
                if self.iteration is None or reading.iteration > self.iteration:
                    self._set_iteration(reading.iteration, number)
        if "using world size" in text:
            found_world = lines.world(text)
            if found_world is not None:
                self.settings.layout(found_world, number)
        if "number of parameters on" in text and self.parameters is None:
            match = lines.PARAMETERS.search(text)
            self.parameters = int(match[1]) if match else None
        phase = phases.of_line(text) if len(text) < 2000 else None
        if phase is not None:
            self._during = phase
            self._during_line = number
        if not self.environment or len(self.environment) < 200:
            self.environment.update(environment.variables(text))
        for name, version in environment.versions(text).items():
            self.versions.setdefault(name, version)
        if self.device is None:
            self.device = environment.device_name(text)
        if _ATTEMPT.search(text):
            self.attempt += 1

    def _set_iteration(self, value: int, number: int) -> None:
        self.iteration = value
        self.iteration_line = number
        self.iteration_file = self._log.name
        self.iterations[self._log.name] = value

    # stacks

    def _stack(self, text: str, number: int, key: tuple[Any, ...]) -> bool:
        """Take a line of a stack; True when it is one."""
        if "Traceback (most recent call last)" in text:
            if len(self._frames) < MOST_STREAMS or key in self._frames:
                self._frames[key] = []
                self._open[key] = number
            self._after = None
            return len(text) < 200 and "Error" not in text
        if self._half is not None:
            # a label of srun cuts lines anywhere
            (half, whose), self._half = self._half, None
            if whose == key and '", line ' in text and 'File "' not in text:
                text = half + text
        elif 'File "' in text and '", line ' not in text and len(text) < 400:
            self._half = (text, key)
            return True
        if '", line ' in text or ".py:" in text:
            found = phases.frame(text, number)
            if found is not None:
                if self._after is not None and self._after.key == key:
                    # printed below its error: innermost frame first, as some do, or last
                    self._after.frames.append(found)
                    self._code(found, text)
                    return True
                if key in self._frames or len(self._frames) < MOST_STREAMS:
                    frames = self._frames.setdefault(key, [])
                    frames.append(found)
                    if len(frames) > MOST_FRAMES:
                        del frames[4]
                    self._open.setdefault(key, number)
                    self._code(found, text)
                if len(self.all_files) < 500:
                    self.all_files.add(found.file)
                return True
        if text.startswith(("    ", "\t")):
            frames = self._after.frames if self._after is not None and self._after.key == key else self._frames.get(key, [])
            if frames and not frames[-1].code and not any(word in text for word in ("Error:", "out of memory")):
                frames[-1].code = text.strip()[:300]
                return True
        return False

    def _code(self, frame: Frame, text: str) -> None:
        """Source text that stands on the same line (a log without line breaks)."""
        _, _, rest = text.partition(f"in {frame.function}") if frame.function else ("", "", "")
        if rest.strip():
            frame.code = rest.strip()[:300]

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
            self._after = event
        if event.weight == failures.CONSEQUENCE and event.rank is not None and len(self.died) < MOST_RANKS:
            self.died.add(event.rank)
        self._add(event)

    def _event(self, kind: str, signature: str, weight: int, text: str, number: int, origin: Origin, key: tuple[Any, ...], quoted: bool = False) -> Event:
        frames = self._frames.get(key, [])
        if not quoted:
            self._open.pop(key, None)
        return Event(
            kind=kind,
            signature=signature,
            weight=weight,
            text=text.strip()[:2000],
            file=self._log.name,
            line=number,
            order=self._order,
            rank=origin.rank if origin.rank is not None else origin.task,
            local=origin.local,
            host=origin.host,
            time=origin.time or self._time,
            key=key,
            frames=list(frames),
            during=self._during,
            during_line=self._during_line,
            iteration=self.iteration,
            iteration_line=self.iteration_line,
            quoted=quoted,
            attempt=self.attempt,
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
            if event.frames:
                self._open.setdefault(key, number)
            event.kind, event.signature = "not_memory", "quoted"
            self._add(event)
            return
        self._settle()
        self._pending = _Pending(event, body)
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
            self._after = event


def _keep(items: list[Any], item: Any) -> None:
    """Add to a list of at most 600: of the middle, every second one goes."""
    items.append(item)
    if len(items) > 600:
        del items[100:500:2]
