"""The stacks of interleaved processes, each under the key of its stream."""

from __future__ import annotations

import sys
from typing import Any

from lclint.crash import phases
from lclint.crash.events import Event
from lclint.crash.record import Frame

MOST_STREAMS = 5000
MOST_FRAMES = 80
MOST_FILES = 500
# so many lines before the end of a file a traceback can end without having been cut off by it
NEAR_THE_END = 80

Key = tuple[Any, ...]


class Stacks:
    """``take`` says whether a record is part of a stack. ``below`` is an error whose stack is printed after it, ``files`` all files named."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.begin()

    def begin(self) -> None:
        """A new file begins."""
        self._frames: dict[Key, list[Frame]] = {}
        self._open: dict[Key, int] = {}
        self._half: tuple[str, Key] | None = None
        self.below: Event | None = None

    def of(self, key: Key) -> list[Frame]:
        """The stack of a stream, as far as it has been printed."""
        return list(self._frames.get(key, ()))

    def ended(self, key: Key, forget: bool = True) -> None:
        """The error of a stack has come: it is not cut off. ``forget`` drops the stack."""
        self._open.pop(key, None)
        if forget:
            self._frames.pop(key, None)

    def cut_off(self, last_line: int) -> tuple[Key, list[Frame], int] | None:
        """``(stream, frames, line where it begins)`` of a stack near the end of the file that no error has followed."""
        for key, number in self._open.items():
            frames = self._frames.get(key)
            if frames and last_line - frames[-1].at <= NEAR_THE_END:
                return key, frames, number
        return None

    def take(self, text: str, number: int, key: Key) -> bool:
        """Take a record if it is part of a stack."""
        if "Traceback (most recent call last)" in text:
            if len(self._frames) < MOST_STREAMS or key in self._frames:
                self._frames[key] = []
                self._open[key] = number
            self.below = None
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
                self._add(found, key)
                self._code(found, text)
                return True
        if text.isalnum() and len(text) < 60 and (frames := self._standing(key)) and frames[-1].at == number - 1 and not frames[-1].code:
            frames[-1].function += text
            return True
        if text.startswith(("    ", "\t")):
            frames = self._standing(key)
            if frames and not frames[-1].code and "Error:" not in text and "out of memory" not in text:
                frames[-1].code = text.strip()[:300]
                return True
        return False

    def _standing(self, key: Key) -> list[Frame]:
        if self.below is not None and self.below.key == key:
            return self.below.frames
        return self._frames.get(key, [])

    def _add(self, found: Frame, key: Key) -> None:
        found.file = sys.intern(found.file)
        if len(self.files) < MOST_FILES:
            self.files.add(found.file)
        if self.below is not None and self.below.key == key:
            frames = self.below.frames
        elif key in self._frames or len(self._frames) < MOST_STREAMS:
            frames = self._frames.setdefault(key, [])
            self._open.setdefault(key, found.at)
        else:
            return
        frames.append(found)
        if len(frames) > MOST_FRAMES:
            del frames[4]

    def _code(self, found: Frame, text: str) -> None:
        """Source text that stands on the same line (a log without line breaks)."""
        _, _, rest = text.partition(f"in {found.function}") if found.function else ("", "", "")
        if rest.strip():
            found.code = rest.strip()[:300]
