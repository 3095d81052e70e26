"""Which of a log's failures ended the run: the others follow from it, or the run went on after them."""

from __future__ import annotations

from collections.abc import Sequence

from lclint.crash import failures
from lclint.crash.events import Event
from lclint.crash.progress import Progress
from lclint.crash.record import MEMORY_FAILURES

# iterations after an error that show that it was not the end; output that lags behind by one or two proves nothing
SURVIVED = 3
# what a run can live through: messages of libraries that try another way, of a kernel that killed something else, of Ray, which starts workers anew
SURVIVABLE = ("error", "disk-full", "nccl-buffer", "nvshmem-heap", "kernel-oom-killer", "ray-memory-monitor", "gpu-fault", "gpu-program-fault")


def judged(events: Sequence[Event], progress: Progress) -> list[Event]:
    """The failures in the order of time, those that turn out to have been text or to have been dealt with marked so.

    The order is that of the stream, but where every failure for want of memory carries its own time, or several files have times, that of
    those.
    """
    for event in events:
        if event.announced and not event.handled and _is_text(event, progress):
            event.kind, event.signature, event.quoted = "not_memory", "quoted", True
        elif event.message is not None and not event.quoted and not event.handled and _line_of_end(event, progress) > event.line:
            # training came to its end all the same
            event.kind, event.handled = "handled_oom", True
    own = [event for event in events if event.kind in MEMORY_FAILURES and event.weight == failures.CAUSE]
    timed = bool(own) and all(event.stamped for event in own)
    if timed or (len({event.file for event in events}) > 1 and all(event.time for event in events)):
        return sorted(events, key=lambda event: (event.time or "", event.order))
    return sorted(events, key=lambda event: event.order)


def failure(events: Sequence[Event], progress: Progress) -> Event | None:
    """The failure that ended the run: the first one that no later attempt got past."""
    return _first(_standing(events, progress))


def later(events: Sequence[Event], progress: Progress, found: Event) -> Event | None:
    """What a later attempt than that of the failure ``found`` ended with, where it is of another kind."""
    after = _first([event for event in _standing(events, progress) if event.attempt > found.attempt])
    return after if after is not None and after.kind != found.kind else None


def _standing(events: Sequence[Event], progress: Progress) -> list[Event]:
    """The failures that can have ended the run."""
    real = [e for e in events if not e.handled and not e.quoted and not _survived(e, progress) and not _after_the_end(e, progress)]
    reached: dict[int, int] = {}
    for event in real:
        reached[event.attempt] = max(reached.get(event.attempt, -1), -1 if event.iteration is None else event.iteration)
    return [e for e in real if not any(attempt > e.attempt and n > (-1 if e.iteration is None else e.iteration) for attempt, n in reached.items())]


def _first(real: Sequence[Event]) -> Event | None:
    """The failure that the others follow from: the first one for want of memory, unless it is only probable and another was before it."""
    memory = next((e for e in real if e.kind in MEMORY_FAILURES and e.weight == failures.CAUSE), None)
    probable = next((e for e in real if e.kind in MEMORY_FAILURES and e.weight == failures.PROBABLE), None)
    if probable is not None and probable.kind == "cublas_oom" and _assertion_near(probable, real):
        probable = next((e for e in real if e.signature == "device-assert"), None)
    cause = next((e for e in real if e.kind == "not_memory" and e.weight == failures.CAUSE), None)
    if memory is not None:
        # a full /dev/shm says so first in other words, and so does a killed process
        if probable is not None and probable.kind == memory.kind and probable.order < memory.order and probable.rank is not None and memory.rank is None:
            memory.rank = probable.rank
        if cause is not None and cause.signature == "device-assert" and memory.kind == "cublas_oom":
            return cause
        if memory.kind == "host_oom" and memory.signature == "bad-alloc" and cause is not None and cause.order < memory.order and "bad_alloc" not in cause.text:
            return cause
        return memory
    if probable is not None:
        before = next((e for e in real if e.kind == "not_memory" and e.order < probable.order and not _is_wrapper(e)), None)
        return before or probable
    if cause is not None:
        return cause
    return next((e for e in real if e.weight == failures.PROBABLE), None) or next((e for e in real if not _is_wrapper(e)), None) or (real[0] if real else None)


def _survived(event: Event, progress: Progress) -> bool:
    """Whether the run went on for iterations after a message that need not be the end."""
    if event.signature not in SURVIVABLE or event.file != progress.iteration_file:
        return False
    return _goes_on(event, progress)


def _goes_on(event: Event, progress: Progress) -> bool:
    """Whether more iterations follow in the same attempt than output lags behind."""
    return event.attempt == progress.attempt and (progress.iteration or 0) >= (event.iteration or 0) + SURVIVED and _went_on(event, progress)


def _is_text(event: Event, progress: Progress) -> bool:
    """Whether a failure that stands where generated texts stand is one: the run goes on after it, or nothing shows that a program failed."""
    if _line_of_end(event, progress) > event.line:
        return True
    if event.announced == "doubt":
        return _goes_on(event, progress)
    return _went_on(event, progress) or (event.announced == "label" and not event.frames and event.rank is None)


def _went_on(event: Event, progress: Progress) -> bool:
    return event.file == progress.iteration_file and progress.iteration_line > event.line


def _line_of_end(event: Event, progress: Progress) -> int:
    return progress.ends.get(event.file, 0)


def _after_the_end(event: Event, progress: Progress) -> bool:
    """Whether training was over, and what came then is how its processes were ended."""
    return event.weight < failures.CAUSE and 0 < _line_of_end(event, progress) < event.line


def _is_wrapper(event: Event) -> bool:
    return event.signature == "error" and event.weight == failures.CONSEQUENCE and "ChildFailedError" in event.text


def _assertion_near(event: Event, events: Sequence[Event]) -> bool:
    return any(e.signature == "device-assert" and abs(e.line - event.line) <= 20 and e.file == event.file for e in events) or "device-side assert" in event.text
