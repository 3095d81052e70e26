"""The lines of a log that show what a diagnosis says."""

from __future__ import annotations

from lclint.core.finding import Evidence
from lclint.crash import phases
from lclint.crash.collect import Collector
from lclint.crash.events import Event
from lclint.crash.record import Crash, Frame

SHOWN = 240


def of(crash: Crash, event: Event, collector: Collector) -> list[Evidence]:
    """The failure's own line, its telling frames, and how far the run had come."""
    shown = [Evidence(path=event.file, line=event.line, text=short(event.text))]
    shown += of_frames(event.file, event.frames)
    if not event.frames and event.during and event.during_line:
        shown.append(Evidence(path=event.file, line=event.during_line, text=f"begins {event.during}"))
    if event.iteration is not None and collector.progress.iteration_file == event.file and 0 < event.iteration_line < event.line:
        shown.append(Evidence(path=event.file, line=event.iteration_line, text=_reached(event.iteration)))
    full = [reading for reading in collector.progress.readings if reading.max_reserved]
    if full:
        most = max(full, key=lambda reading: reading.max_reserved or 0)
        shown.append(
            Evidence(
                path=collector.progress.iteration_file or event.file,
                line=most.line,
                text=f"rank {most.rank or '?'} had reserved {(most.max_reserved or 0) / 2**30:.2f} GiB at most after iteration {most.iteration}",
            )
        )
    return shown


def _reached(iteration: int) -> str:
    return f"iteration {iteration} is the last one reported before it" if iteration else "training begins; no iteration is reported before it"


def of_frames(file: str, frames: list[Frame]) -> list[Evidence]:
    """The innermost frame of the stack that tells a phase, and the innermost of all."""
    telling = next((frame for frame in reversed(frames) if phases.of_frames([frame]) != "unknown"), None)
    chosen = [frame for frame in (telling, frames[-1] if frames else None) if frame is not None]
    if len(chosen) == 2 and chosen[0] is chosen[1]:
        chosen.pop()
    return [Evidence(path=file, line=f.at, text=short(f"{f.file}:{f.line} in {f.function or '?'}" + (f": {f.code}" if f.code else ""))) for f in chosen]


def short(text: str) -> str:
    """A record on one line of at most so many letters."""
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
