"""Which records of a log are failures, whose they are, and what belongs to them."""

from __future__ import annotations

import re
from typing import Any

from lclint.crash import failures, lines, oom, quoting
from lclint.crash.events import Event
from lclint.crash.prefixes import Origin
from lclint.crash.progress import Progress
from lclint.crash.sentences import Sentences
from lclint.crash.stacks import Stacks

MOST_EVENTS = 3000
MOST_RANKS = 20_000
MOST_TAILS = 64
LONGEST_TEXT = 16_000
# records of other processes that may stand between an error and the stack that belongs to it
ADOPTION = 400

# of so many failures the whole stacks are kept, of the others what is innermost
MOST_WHOLE = 100
SHORT_STACK = 8

_ROOT = re.compile(r"^\s*rank\s*: (\d{1,9}) \(local_rank: (\d{1,6})\)")
_GLOBAL_RANK = re.compile(r"^Global rank: (\d{1,9})")
_IN_WORDS = re.compile(r"\b[Rr]ank[ =:#]{0,2}(\d{1,6})\b")
_ERROR_WORDS = ("Error", "Exception", "Exit", "Interrupt", "Timeout", "OutOfResources")
_PINNED = re.compile(r"pin_memory|cudaHostAlloc|pinned", re.IGNORECASE)

Key = tuple[Any, ...]


class Notice:
    """``take`` looks at records; ``events`` are the failures found. ``failed`` is true once a fatal failure for want of memory is known."""

    def __init__(self, progress: Progress, stacks: Stacks) -> None:
        self.progress = progress
        self.stacks = stacks
        self.events: list[Event] = []
        self.failed = False
        self.root_rank: int | None = None
        self.root_local: int | None = None
        self.first_error: Event | None = None
        self.died: set[int] = set()
        self.failed_ranks: dict[int, None] = {}
        self.processes: dict[tuple[str, str], int] = {}
        self.begin("")

    def begin(self, file: str) -> None:
        """A new file begins."""
        self._file = file
        self.sentences = Sentences(self._sentence)
        self._wanting: list[tuple[Event, int]] = []
        self._root = False
        self._named_rank: int | None = None
        self._tails: dict[Key, tuple[str, Origin]] = {}
        self._time: str | None = None
        self._begun = False
        self._block = 0
        self._opener: Key = ()
        self._order = 0

    def end(self) -> None:
        """The file has come to its end."""
        self.sentences.all()

    def record(self, origin: Origin, order: int) -> None:
        """A record comes: what it says of the time, and how far announced text goes."""
        self._order = order
        if origin.time is not None:
            self._time = origin.time
        if self._block:
            self._block -= 1
            if origin.key() != self._opener and not origin.plain:
                self._block = 0

    def in_stack(self, key: Key) -> None:
        """The record was part of a stack."""
        self._tails.pop(key, None)

    def take(self, text: str, number: int, origin: Origin, key: Key) -> None:
        """Take one record, its prefixes off."""
        if quoting.opens_block(text):
            self._block, self._opener = quoting.LONGEST_BLOCK, key
        elif self._block and "iteration" in text and lines.iteration(text) is not None:
            self._block = 0
        # the sentence's first words may be on two lines
        self._begun = ("CUDA" in text[-40:] or "out" in text[-40:]) and oom.begins_at_end(text)
        self._look(text, number, origin, key)
        if self._begun and len(self._tails) < MOST_TAILS:
            self._tails[key] = (text[-200:], origin)

    def _look(self, text: str, number: int, origin: Origin, key: Key) -> None:
        if self._tails:
            begun = self._tails.pop(key, None) or (self._tails.popitem()[1] if origin.plain else None)
            match = oom.START.search(begun[0] + text) if begun is not None and len(text) < 2000 else None
            if begun is not None and match is not None and match.start() < len(begun[0]) < match.end():
                # the sentence's first words on two lines
                self._out_of_memory(begun[0] + text, match.start(), number, begun[1], begun[1].key())
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
            if quoting.is_quoted(text[: match.start()]) or quoting.is_discussed(text[match.end() :]):
                self._add(self._event("not_memory", "quoted", failures.PROBABLE, text, number, origin, key, quoted=True))
                return
            event = self._event(signature.kind, signature.name, signature.weight, text, number, origin, key)
            event.phase = signature.phase
            if quoting.is_labelled(text[: match.start()]):
                event.announced = "label"
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
                if event.rank is None and event.kind in ("nccl_oom", "shm"):
                    event.rank = self.processes.get((nccl["host"], nccl["pid"]))
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
            if name == "OutOfMemoryError" or inner == "OutOfMemoryError" or self._begun:
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

    def _event(self, kind: str, signature: str, weight: int, text: str, number: int, origin: Origin, key: Key, quoted: bool = False) -> Event:
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
            file=self._file,
            line=number,
            order=self._order,
            rank=origin.rank if origin.rank is not None else origin.task,
            by_task=origin.rank is None and origin.task is not None,
            local=origin.local,
            host=origin.host,
            time=origin.time or self._time,
            stamped=origin.time is not None,
            key=key,
            frames=frames,
            during=self.progress.during,
            during_line=self.progress.during_line,
            iteration=self.progress.iteration,
            iteration_line=self.progress.iteration_line,
            quoted=quoted,
            announced="block" if self._block else "",
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
        memory = event.kind not in ("not_memory", "handled_oom") and not event.quoted and not event.handled and not event.announced
        if memory and event.weight == failures.CAUSE:
            self.failed = True
            if event.rank is not None and len(self.failed_ranks) < MOST_RANKS:
                self.failed_ranks.setdefault(event.rank)
        of_nccl = event.kind == "shm" and "NCCL" in event.text
        if memory and event.rank is None and (of_nccl or event.kind in ("nccl_oom", "nvshmem_oom", "cublas_oom")):
            self._wanting.append((event, self._order))
        if memory and event.kind in ("nccl_oom", "nvshmem_oom") and event.rank is not None and not event.frames:
            self._wanting.append((event, self._order))

    def _adopt(self, event: Event, text: str, key: Key) -> None:
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

    def _out_of_memory(self, text: str, start: int, number: int, origin: Origin, key: Key) -> None:
        lead = text[:start]
        quoted = quoting.is_quoted(lead)
        event = self._event("gpu_oom", "out-of-memory", failures.CAUSE, text[max(0, start - 200) :], number, origin, key, quoted=quoted)
        event.lead = f"{origin.level or ''} {lead[-2000:]}"
        if quoted:
            event.kind, event.signature = "not_memory", "quoted"
            self._add(event)
            return
        if event.rank is None and (named := _IN_WORDS.search(lead[-100:])) is not None:
            event.rank = int(named[1])
        if quoting.is_labelled(lead):
            event.announced = "label"
        elif event.rank is None and not event.frames and not event.announced and quoting.is_doubtful(lead):
            event.announced = "doubt"
        self.sentences.start(event, text[start : start + LONGEST_TEXT])

    def _sentence(self, event: Event) -> None:
        """An out-of-memory sentence has ended, and is read."""
        self._add(event)
        if not event.frames and not event.quoted and not event.handled:
            self.stacks.below = event
