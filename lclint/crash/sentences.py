"""PyTorch's out-of-memory sentences whose end has not come yet: people wrap them, and several ranks write theirs at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from lclint.crash import failures, oom
from lclint.crash.events import Event, Pending
from lclint.crash.prefixes import Origin

Key = tuple[Any, ...]
MOST = 64
# records of other processes after which a sentence is over
PATIENCE = 60
_WARNING = re.compile(r"\bWARN(?:ING)?\b|\[W\d{3,4} |^W\d{4} ")
_NAMED = re.compile(r"(?:Error|Exception)\)?: *$")


class Sentences:
    """Sentences by the stream that they came from; each is handed to ``done`` once it has ended."""

    def __init__(self, done: Callable[[Event], None]) -> None:
        self._done = done
        self._open: dict[Key, Pending] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    def start(self, event: Event, text: str) -> None:
        """A sentence begins. One of the same stream that was open is over."""
        self.settle(event.key)
        if len(self._open) >= MOST:
            self.settle(next(iter(self._open)))
        pending = self._open[event.key] = Pending(event, text)
        self._end(pending)

    def blank(self) -> None:
        """An empty line came."""
        for pending in self._open.values():
            pending.left -= 1

    def take(self, text: str, origin: Origin) -> bool:
        """Take a record if it is the next piece of an open sentence; sentences that have waited long enough are settled."""
        pending = self._of(origin)
        for other in list(self._open.values()):
            if other is not pending:
                other.waited += 1
                if other.waited > PATIENCE:
                    self.settle(other.event.key)
        if pending is None:
            return False
        pending.left -= 1
        if pending.left < 0 or not (oom.continues(text) or oom.closes(pending.text, text)) or oom.START.search(text) is not None:
            self.settle(pending.event.key)
            return False
        pending.text += text
        self._end(pending)
        return True

    def _of(self, origin: Origin) -> Pending | None:
        """The sentence of a record's stream; where it has no prefix, the one that began last."""
        pending = self._open.get(origin.key())
        if pending is None and origin.plain and self._open:
            pending = next(reversed(self._open.values()))
        return pending if pending is not None else self._open.get(("",))

    def _end(self, pending: Pending) -> None:
        if oom.complete(pending.text):
            pending.tail = pending.text.rpartition("environment-variables")[2][:300]
            self.settle(pending.event.key)

    def all(self) -> None:
        """The file is over, and so are they."""
        for key in list(self._open):
            self.settle(key)

    def settle(self, key: Key) -> None:
        """The sentence of a stream is over: read it."""
        pending = self._open.pop(key, None)
        if pending is None:
            return
        event = pending.event
        event.message = oom.parse(pending.text)
        level = "WARNING" if _WARNING.search(event.lead) else None
        if event.message is None and not (oom.is_cut(pending.text) and (event.frames or _NAMED.search(event.lead))):
            event.kind, event.signature, event.weight, event.quoted = "not_memory", "quoted", failures.PROBABLE, True
        elif failures.is_handled(event.lead, pending.tail, level):
            event.handled, event.kind = True, "handled_oom"
            event.phase = "checkpoint_load" if "tensors merging" in event.lead else None
        self._done(event)
