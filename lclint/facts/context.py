"""The facts of one run: a mapping from every name that rules may use to its value, computed on first use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lclint.config.run import NO_SECTIONS
from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.registry import FACTS

if TYPE_CHECKING:
    from lclint.config.run import Run


# By section the fields that some run did not have, with the value of one that may be anything and of one that cannot be there, and the
# fields of which the written value was asked for: the same few hundred names are asked for in every file.
_ASKED: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, str]]] = {}
_WRITTEN = "written."
_MOST_SECTIONS = 100
_MOST_FIELDS = 1_000


class Facts(dict[str, Any]):
    """``facts[name]`` is a known value, null, UNKNOWN or NOT_APPLICABLE; never a KeyError."""

    __slots__ = ("run",)

    def __init__(self, run: Run) -> None:
        super().__init__()
        written = run.written
        for section, (unknown, absent, as_written) in _ASKED.items():
            is_open = run.is_open(section)
            self.update(unknown if is_open else absent)
            other = UNKNOWN if is_open else NOT_APPLICABLE
            for name, plain in as_written.items():
                self[name] = written.get(plain, other)
        self.update(run.resolved)
        self.run = run

    def __missing__(self, name: str) -> Any:
        declared = FACTS.get(name)
        value = self.run.missing(name) if declared is None else declared.value(self)
        self[name] = value
        if declared is None:
            plain = name[len(_WRITTEN) :] if name.startswith(_WRITTEN) else name
            section, dot, field = plain.partition(".")
            if dot and "." not in field and section not in NO_SECTIONS and len(_ASKED) < _MOST_SECTIONS:
                unknown, absent, as_written = _ASKED.setdefault(section, ({}, {}, {}))
                if len(unknown) + len(as_written) < _MOST_FIELDS:
                    if plain is name:
                        unknown[name], absent[name] = UNKNOWN, NOT_APPLICABLE
                    else:
                        as_written[name] = plain
        return value

    def undecided_needs(self, names: Iterable[str]) -> list[str]:
        """What would decide those names that are unknown: fields, ``env.NAME`` or command-line options, sorted."""
        found: set[str] = set()
        seen: set[str] = set()
        todo = [name for name in names if self[name] is UNKNOWN]
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            declared = FACTS.get(name)
            if declared is None:
                found.add(_need(name))
            else:
                behind = [need for need in declared.needs if self[need] is UNKNOWN]
                todo += behind
                if not behind:
                    found.add(name)
        return sorted(found)


_OPTIONS = {
    "cluster.gpus": "--gpus",
    "cluster.gpus_per_node": "--gpus-per-node",
    "te.version": "--te-version",
    "torch.version": "--torch-version",
    "bridge.version": "--bridge-version",
}


def _need(name: str) -> str:
    if name.startswith(("written.", "user.")):
        name = name.partition(".")[2]
    return "--gpu" if name.startswith("gpu.") else _OPTIONS.get(name, name)
