"""One failure that a log reports, and the out-of-memory sentence whose end has not come yet."""

from __future__ import annotations

from typing import Any

from lclint.core.finding import Record
from lclint.crash import oom
from lclint.crash.record import Frame


class Event(Record):
    """One failure that the log reports, with where it came from and what was known then.

    ``time`` is the last one seen before it, ``stamped`` says that it is the record's own. ``announced`` is "block" for a
    failure below a line such as ``generated text:``, "label" for one behind such a word and "doubt" for one behind others: text if the run goes
    on after it.
    """

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
        "by_task",
        "local",
        "host",
        "time",
        "stamped",
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
        "announced",
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
    by_task: bool
    local: int | None
    host: str | None
    time: str | None
    stamped: bool
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
    announced: str
    attempt: int
    defaults = {
        "lead": "",
        "rank": None,
        "by_task": False,
        "local": None,
        "host": None,
        "time": None,
        "stamped": False,
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
        "announced": "",
        "attempt": 0,
    }


class Pending:
    """An out-of-memory sentence whose end has not come yet."""

    __slots__ = ("event", "text", "tail", "left", "waited")

    def __init__(self, event: Event, text: str) -> None:
        self.event = event
        self.text = text
        self.tail = ""
        self.left = 30
        self.waited = 0
