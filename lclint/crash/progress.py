"""How far a run had come: iterations, memory reports, the phase that progress lines tell, and what they say of the environment."""

from __future__ import annotations

import re
from typing import Any

from lclint.crash import environment, lines, phases
from lclint.crash.record import Reading

MOST_KEPT = 600
MOST_VARIABLES = 200
_END = re.compile(r"\[after training is done\]|\[exiting program|Training finished|training finished|`Trainer\.fit` stopped|max_steps=\d+` reached")
_ATTEMPT = re.compile(r"attempt_(\d{1,6})/")
_BEGUN = re.compile(r"before the start of training step|[Ss]tarting training loop|^training \.\.\.$")
# what a program prints once, at its start: behind iterations it is another attempt in the same file
_START = re.compile(
    r"using world size: \d|Setting rerun_state_machine\.current_iteration to|[Ss]tarting training loop at iteration|"
    r"\[after megatron is initialized\]"
)
_RESTART = re.compile(r"will restart worker group|Restarting worker group|attempts? left", re.IGNORECASE)


class Progress:
    """``feed`` takes records; ``during`` is the phase that the last progress line began ("" for none), ``attempt`` counts restarts.

    An attempt is a start of the training program: torchrun says so, or the lines of a start follow iterations.
    ``iterations`` holds the last iteration of each file, ``ends`` the line on which a file says that training is over;
    ``training`` says that it has begun.
    """

    def __init__(self) -> None:
        self.readings: list[Reading] = []
        self.throughput: list[tuple[int, float]] = []
        self.environment: dict[str, str] = {}
        self.versions: dict[str, str] = {}
        self.device: str | None = None
        self.iteration: int | None = None
        self.iteration_line = 0
        self.iteration_file = ""
        self.iterations: dict[str, int] = {}
        self.during = ""
        self.during_line = 0
        self.attempt = 0
        self.ends: dict[str, int] = {}
        self.training = False
        self._trained = False
        self._file = ""

    def begin(self, file: str) -> None:
        """A new file begins."""
        self._file = file
        named = _ATTEMPT.search(file.replace("\\", "/"))
        self.attempt = 0 if named is None else int(named[1])
        self._trained = False
        self.during = ""
        self.during_line = 0

    def feed(self, text: str, number: int) -> None:
        """Take one record."""
        if "iteration" in text or "step" in text:
            found = lines.iteration(text)
            if found is not None:
                self.reached(found, lines.milliseconds(text), number)
            else:
                started = lines.started_at(text)
                if started is not None:
                    self._set(started, number)
        if "memory (" in text:
            for reading in lines.readings(text, number):
                _keep(self.readings, reading)
                if self.iteration is None or reading.iteration > self.iteration:
                    self._set(reading.iteration, number)
        phase = phases.of_line(text) if len(text) < 2000 else None
        if phase is not None:
            self.during = phase
            self.during_line = number
        if len(self.environment) < MOST_VARIABLES:
            self.environment.update(environment.variables(text))
        for name, version in environment.versions(text).items():
            self.versions.setdefault(name, version)
        if self.device is None:
            self.device = environment.device_name(text)
        if _RESTART.search(text) or (self._trained and _START.search(text)):
            self.attempt += 1
            self._trained = False
        if "training" in text and not self.training and _BEGUN.search(text):
            self.training = True
        if ("done" in text or "exiting" in text or "raining" in text or "reached" in text) and _END.search(text):
            self.ends.setdefault(self._file, number)

    def reached(self, iteration: int, milliseconds: float | None, number: int) -> None:
        """An iteration is complete."""
        self._set(iteration, number)
        self._trained = True
        self.during = ""
        if milliseconds is not None:
            _keep(self.throughput, (iteration, milliseconds))

    def _set(self, value: int, number: int) -> None:
        self.iteration = value
        self.iteration_line = number
        self.iteration_file = self._file
        self.iterations[self._file] = value


def _keep(items: list[Any], item: Any) -> None:
    """Add to a list that stays short: of its middle, every second one goes."""
    items.append(item)
    if len(items) > MOST_KEPT:
        del items[100 : MOST_KEPT - 100 : 2]
