"""From everything that was collected to one ``Crash``: which failure was first, who died of it, what kind and phase it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from lclint.core.errors import InputError
from lclint.core.finding import Evidence
from lclint.crash import environment, evidence, failed_phase, first, phases, snapshot
from lclint.crash.collect import Collector
from lclint.crash.events import Event
from lclint.crash.inputs import logs, snapshots
from lclint.crash.reading import Log
from lclint.crash.record import Crash, Reading
from lclint.crash.scan import scan

# retries and slowdown from which a run that did not fail counts as thrashing its allocator
THRASH_RETRIES = 8
THRASH_SLOWDOWN = 1.25
# without a count of retries: so slow, with so much of a known GPU's memory reserved
FULL_SLOWDOWN = 1.5
FULL_SHARE = 0.94
_ATTEMPT = re.compile(r"attempt_\d+/")


def diagnose(paths: Iterable[str], progress: Callable[[int], None] | None = None) -> Crash:
    """What the logs under those paths say: one file, several, a folder of per-rank files, ``-`` for standard input.

    Ctrl-C ends the reading, and what was seen until then is told. Raises InputError for what cannot be read.
    """
    collector = Collector()
    names = []
    pickles: list[str] = []
    interrupted = False
    taken: list[Log] = []
    for path in paths:
        names.append(path)
        found = snapshots(path)
        pickles += found
        for log in [] if found == [path] else logs(path):
            taken.append(log)
            try:
                scan(log, collector, progress)
            except KeyboardInterrupt:
                interrupted = True
                break
        if interrupted:
            break
    crash = _with_snapshots(summarise(collector), pickles, alone=len(pickles) == len(names))
    crash.path = crash.path or (names[0] if names else "")
    if not interrupted and not pickles:
        _refuse_nothing(crash, taken)
    if interrupted:
        crash.notes.append("reading was interrupted: this is what was seen until then")
    return crash


def _refuse_nothing(crash: Crash, taken: list[Log]) -> None:
    """Raises InputError where there was nothing to read, or nothing that is text."""
    if not any(log.read for log in taken):
        reason = next((note for log in taken for note in log.notes), "is empty")
        raise InputError(reason, taken[0].name if taken else None, hint="name a log with text in it")
    odd = [log for log in taken if log.read and log.other is not None]
    if odd and all(log.other is not None or not log.read for log in taken) and crash.kind == "context_only" and not crash.settings and not crash.notes:
        raise InputError(f"is not a text log but {odd[0].other}", odd[0].name, hint="name a log file")


def _with_snapshots(crash: Crash, pickles: list[str], alone: bool) -> Crash:
    """The crash with what memory snapshots add: that of the rank that failed first, or else the first one."""
    found = []
    for path in pickles:
        try:
            found.append(snapshot.read(path))
        except InputError as error:
            if alone:
                raise
            crash.notes.append(str(error))
    if not found:
        return crash
    mine = next((s for s in found if s.rank is not None and s.rank == crash.first_rank), found[0])
    if alone:
        return snapshot.as_crash(mine)
    crash.evidence += snapshot.evidence(mine)
    return crash


def summarise(collector: Collector) -> Crash:
    """The crash that the collected records amount to."""
    crash = Crash(
        readings=collector.progress.readings,
        throughput=collector.progress.throughput,
        settings=collector.settings.values,
        setting_lines=collector.settings.lines,
        defaults_known=collector.settings.defaults_known,
        environment=collector.progress.environment,
        versions=collector.progress.versions,
        iteration=collector.progress.iteration,
        last_phase=_last_phase(collector),
        notes=collector.notes,
        lines=collector.last_line,
        died_of_it=len(collector.notice.died),
    )
    crash.recipe = collector.settings.recipe
    crash.world_size = collector.settings.world_size or collector.world or None
    crash.world_stated = collector.settings.world_size is not None
    if collector.tasks_are_nodes:
        # srun's label is the number of a launcher, which has several ranks
        for labelled in collector.notice.events:
            labelled.rank = None if labelled.by_task else labelled.rank
    events = first.judged(collector.notice.events, collector.progress)
    crash.handled = sum(event.handled for event in events)
    own = [event.rank for event in events if event.rank in collector.notice.failed_ranks]
    crash.failed_ranks = list(dict.fromkeys([*(rank for rank in own if rank is not None), *collector.notice.failed_ranks]))
    event = first.failure(events, collector.progress)
    if event is None:
        _without_failure(crash, collector, events)
    else:
        _with_failure(crash, collector, event, events)
    crash.gpu = collector.progress.device or (environment.by_capacity(crash.capacity_bytes) if crash.capacity_bytes else None)
    crash.slowdown = _slowdown(collector)
    crash.front_end = phases.front_end([frame.file for frame in crash.frames] or collector.stacks.files)
    error = collector.notice.first_error
    if error is not None and error is not event:
        crash.first_error = evidence.short(error.text)
    return crash


def _with_failure(crash: Crash, collector: Collector, event: Event, events: list[Event]) -> None:
    crash.kind = event.kind
    crash.fatal = True
    crash.path, crash.line = event.file, event.line
    crash.signature, crash.error = event.signature, evidence.short(event.text)
    crash.first_rank, crash.local_gpu, crash.host, crash.time = event.rank, event.local, event.host, event.time
    crash.requested_bytes = event.requested
    if crash.iteration is not None or event.iteration is not None:
        crash.iteration = event.iteration if event.file in collector.progress.iterations else _elsewhere(collector, event.file)
    crash.frames = event.frames
    if event.message is not None:
        _sizes(crash, event)
    else:
        sizes = [e.requested for e in events if e.kind == event.kind and e.signature == event.signature and e.requested]
        if sizes:
            # lines of several processes that ran into each other make numbers too large
            crash.requested_bytes = min(sizes) if event.signature == "rust-allocation" else sizes[0]
    if event.signature == "named-only":
        stated = next((e for e in events if e.message is not None and not e.handled and not e.quoted), None)
        if stated is not None:
            _sizes(crash, stated)
    if crash.first_rank is None and collector.notice.root_rank is not None and event.kind != "not_memory":
        crash.first_rank = collector.notice.root_rank
        crash.local_gpu = collector.notice.root_local if crash.local_gpu is None else crash.local_gpu
    if crash.first_rank is None and event.kind == "host_oom":
        crash.first_rank = next((e.rank for e in events if e.kind == "host_oom" and e.rank is not None), None)
    crash.phase = failed_phase.of(event)
    if crash.kind == "gpu_oom" and crash.phase == "graph_capture":
        crash.kind = "cuda_graph_oom"
    crash.evidence = evidence.of(crash, event, collector)
    after = first.later(events, collector.progress, event)
    if after is not None:
        crash.evidence.append(Evidence(path=after.file, line=after.line, text=f"a later attempt got no further and ended with: {evidence.short(after.text)}"))


def _elsewhere(collector: Collector, file: str) -> int | None:
    """The last iteration in the files of other ranks, of the same attempt where torchrun keeps attempts apart."""
    attempt = _ATTEMPT.search(file)
    reached = [n for name, n in collector.progress.iterations.items() if attempt is None or attempt[0] in name]
    return max(reached) if reached else None


def _sizes(crash: Crash, event: Event) -> None:
    message = event.message
    assert message is not None
    crash.requested_bytes = message.requested
    crash.capacity_bytes = message.capacity
    crash.free_bytes = message.free
    crash.allocated_bytes = message.allocated
    crash.reserved_unallocated_bytes = message.unallocated
    crash.private_pools_bytes = message.private_pools
    crash.allowed_bytes = message.allowed
    crash.process_bytes = message.process
    crash.other_processes = message.others
    crash.device = message.device
    crash.advice = message.advice
    crash.wording = message.wording
    if message.index is not None:
        crash.local_gpu = message.index


def _without_failure(crash: Crash, collector: Collector, events: list[Event]) -> None:
    """No failure: a handled one, an allocator that thrashes, quoted text, or a healthy run."""
    handled = next((event for event in events if event.handled), None)
    quoted = next((event for event in events if event.quoted), None)
    if handled is not None:
        restarted = handled.attempt < collector.progress.attempt and bool(handled.frames)
        crash.kind, crash.signature, crash.error = "handled_oom", "restarted" if restarted else "handled", evidence.short(handled.text)
        crash.path, crash.line = handled.file, handled.line
        crash.first_rank = handled.rank
        if handled.message is not None:
            _sizes(crash, handled)
        crash.frames = handled.frames
        crash.phase = handled.phase or failed_phase.of(handled)
        crash.evidence = evidence.of(crash, handled, collector)
        return
    retries = [(reading.retries, reading) for reading in collector.progress.readings if reading.retries is not None]
    slowdown = _slowdown(collector)
    grown = retries[-1][0] - retries[0][0] if len(retries) > 1 else 0
    if grown >= THRASH_RETRIES and slowdown is not None and slowdown >= THRASH_SLOWDOWN:
        reading = retries[-1][1]
        crash.kind, crash.signature = "allocator_thrash", "retries"
        crash.path, crash.line = collector.progress.iteration_file, reading.line
        crash.error = f"the allocator's retries grew from {retries[0][0]} to {retries[-1][0]}"
        crash.allocated_bytes = reading.allocated
        crash.evidence = [Evidence(path=crash.path, line=r.line, text=f"after {r.iteration} iterations: {n} retries") for n, r in (retries[0], retries[-1])]
        return
    full = _full(collector)
    if full is not None and slowdown is not None and slowdown >= FULL_SLOWDOWN:
        crash.kind, crash.signature = "allocator_thrash", "full"
        crash.path, crash.line = collector.progress.iteration_file, full.line
        crash.error = f"an iteration takes {slowdown:.1f} times as long as at best, with {(full.max_reserved or 0) / 2**30:.1f} GiB reserved"
        crash.allocated_bytes = full.allocated
        crash.evidence = [Evidence(path=crash.path, line=full.line, text=crash.error)]
        return
    if quoted is not None:
        crash.kind, crash.signature, crash.error = "not_memory", "quoted", evidence.short(quoted.text)
        crash.path, crash.line = quoted.file, quoted.line
        crash.evidence = [Evidence(path=quoted.file, line=quoted.line, text=evidence.short(quoted.text))]
        return
    if collector.cut_trace is not None:
        key, frames, file, line = collector.cut_trace
        crash.fatal = True
        crash.frames, crash.path, crash.line = frames, file, line
        crash.phase = phases.of_frames(frames)
        crash.signature = "cut-traceback"
        crash.error = "a traceback whose last line is cut off"
        if key and key[0] == "rank":
            crash.first_rank = key[1]
        crash.evidence = [Evidence(path=file, line=line, text="Traceback (most recent call last)"), *evidence.of_frames(file, frames)]


def _full(collector: Collector) -> Reading | None:
    """A memory report that shows a known GPU almost wholly reserved."""
    for reading in reversed(collector.progress.readings):
        if reading.max_reserved and environment.fills(reading.max_reserved, FULL_SHARE):
            return reading
    return None


def _last_phase(collector: Collector) -> str | None:
    progress = collector.progress
    if progress.ends and progress.iteration_line <= max(progress.ends.values()):
        return "end of training"
    if progress.during:
        return progress.during
    return "training" if progress.throughput or progress.iteration or progress.training else None


def _slowdown(collector: Collector) -> float | None:
    """How many times longer an iteration takes at the end than at the best of times; None with fewer than four iterations."""
    times = [duration for _, duration in collector.progress.throughput]
    if len(times) < 4:
        return None
    # the first iteration compiles and tunes
    times = times[1:] if len(times) > 4 else times
    last = sorted(times[-3:])[1] if len(times) >= 5 else times[-1]
    best = min(times)
    return last / best if best > 0 else None


def diagnose_text(text: str, name: str = "crash.log") -> Crash:
    """What a log that is at hand as text says."""
    collector = Collector()
    log = Log(name, name)
    collector.begin(log)
    collector.lines(text.encode("utf-8", "surrogatepass"), 1)
    collector.end(log)
    crash = summarise(collector)
    crash.path = crash.path or name
    return crash
