"""One configured run: its values by field, what Bridge makes of them, where each came from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lclint.core.finding import Place
from lclint.core.states import NOT_APPLICABLE, UNKNOWN

if TYPE_CHECKING:
    from lclint.config.header import Fault
    from lclint.crash.record import Crash
    from lclint.sources.document import Document


# the first words of names that are no fields: what the command line says, the environment, the element of each:, other readings of a field
NO_SECTIONS = frozenset(("written", "user", "item", "index", "env", "gpu", "cluster", "te", "torch", "bridge", "config"))
# names as (first word, the rest, the names that they stand below): the same few hundred are asked for in every file
_PARTS: dict[str, tuple[str, str, tuple[str, ...]]] = {}
_MOST_PARTS = 20_000

# origins of values that lie below the checked file
BELOW = ("base", "recipe")

# what may stand behind a field where a finding points: at its key, at offsets of the file
_MARK = re.compile(r"#(?:key|([0-9]+):([0-9]+))$")


class Problem:
    """A fault of the config's form (not of its meaning), for the catalogue rules to report.

    ``kind`` says which, ``path`` is the field, ``text`` and ``suggestion`` depend on the kind; ``span`` are offsets in the file, where only
    they say which place is meant.
    """

    __slots__ = ("kind", "path", "text", "suggestion", "span")

    def __init__(self, kind: str, path: str, text: str = "", suggestion: str | None = None, span: tuple[int, int] | None = None) -> None:
        self.kind = kind
        self.path = path
        self.text = text
        self.suggestion = suggestion
        self.span = span


class Change:
    """A value that Bridge sets by itself at start-up: ``old`` is what the config holds."""

    __slots__ = ("name", "old", "new", "why")

    def __init__(self, name: str, old: Any, new: Any, why: str) -> None:
        self.name = name
        self.old = old
        self.new = new
        self.why = why


class Run:
    """The values of one run.

    ``written`` are the fields before Bridge touches them, ``resolved`` after; ``origins`` says for each field of ``written`` whether it
    is of the file, set (an override), base or recipe. ``complete`` is true for a full config, where an absent field does not exist, and
    false for an override file, where it is unknown. ``given`` holds cluster, GPU and versions. ``base`` are the fields below the file,
    ``base_origin`` whether they are a base's or those of the published recipe ``recipe``, ``sets`` the text of the override that gave a
    field its value.
    """

    __slots__ = (
        "kind",
        "release",
        "document",
        "written",
        "resolved",
        "origins",
        "complete",
        "given",
        "environment",
        "environment_complete",
        "problems",
        "changes",
        "path",
        "base",
        "base_origin",
        "crash",
        "crash_differences",
        "recipe",
        "sets",
        "keys",
        "faults",
    )

    def __init__(self, kind: str, path: str, document: Document | None) -> None:
        self.kind = kind
        self.path = path
        self.document = document
        self.release = "0.6"
        self.written: dict[str, Any] = {}
        self.resolved: dict[str, Any] = {}
        self.origins: dict[str, str] = {}
        self.complete = False
        self.given: dict[str, Any] = {}
        self.environment: dict[str, str] = {}
        self.environment_complete = False
        self.problems: list[Problem] = []
        self.changes: list[Change] = []
        self.base: dict[str, Any] | None = None
        self.base_origin = "base"
        self.crash: Crash | None = None
        self.crash_differences: list[dict[str, Any]] = []
        self.recipe: str | None = None
        self.sets: dict[str, str] = {}
        # where a field stands whose key in the file is not its name
        self.keys: dict[str, tuple[str | int, ...]] = {}
        # options in the file's comments that cannot be taken
        self.faults: list[Fault] = []

    def missing(self, name: str) -> Any:
        """The value of a name that ``resolved`` does not hold."""
        section, rest, parents = _PARTS.get(name) or _parts(name)
        if section in NO_SECTIONS:
            return self._special(name, section, rest)
        return self._below(parents)

    def _special(self, name: str, section: str, rest: str) -> Any:
        """The value of a name that is no field."""
        if section == "written":
            return self.written[rest] if rest in self.written else self._absent(rest)
        if section == "user":
            origin = self.origins.get(rest)
            by_hand = origin == "set" or (origin == "file" and self.kind != "dump")
            return self.written[rest] if by_hand and rest in self.written else NOT_APPLICABLE
        if section in ("item", "index"):
            # the element of each: has no such key
            return NOT_APPLICABLE
        if section == "env":
            value = self.environment.get(rest, self)
            return value if value is not self else None if self.environment_complete else UNKNOWN
        if name in self.given:
            return self.given[name]
        if section in ("gpu", "cluster", "te", "torch", "bridge"):
            return UNKNOWN
        return self._absent(name)

    def _absent(self, name: str) -> Any:
        return self._below((_PARTS.get(name) or _parts(name))[2])

    def _below(self, parents: tuple[str, ...]) -> Any:
        """What a field is that is not there, by the names that it would stand below, the innermost first."""
        for parent in parents:
            if parent in self.written:
                return UNKNOWN if self.is_open(parent) else NOT_APPLICABLE
        return NOT_APPLICABLE if self.complete else UNKNOWN

    def value_at(self, at: str) -> Any:
        """The value that is written at a place of a finding, None where there is none."""
        name = _MARK.sub("", at)
        if name.startswith("env."):
            return self.environment.get(name[4:])
        keys = field_path(name)
        indices = [key for key in keys if key.__class__ is int]
        value = self.written.get(".".join(str(key) for key in keys if key.__class__ is str))
        for index in indices:
            value = value[index] if value.__class__ is list and index < len(value) else None
        return value

    def is_open(self, parent: str) -> bool:
        """Whether a field that is not there could be, with any value, below ``parent``."""
        if self.complete:
            return False
        # below null, or below a scalar where a mapping could be, there is nothing
        value = self.written.get(parent, self)
        return value is self or (value.__class__ is dict and "_target_" not in value)

    def key_path(self, at: str) -> tuple[Any, ...]:
        """The keys of the file that lead to a field: as its name says, unless they are no texts (``1: x``) or hold dots."""
        keys = field_path(at)
        name = ".".join(str(key) for key in keys if key.__class__ is str)
        keys = self.keys.get(name, keys)
        if self.document is None or self.document.node(keys) is not None:
            return keys
        return _spelled(self.document.data, at) or keys

    def place(self, at: str) -> Place:
        """Where a finding at that field points: into the file when the value stands there.

        ``model.x#key`` points at the key instead of the value, ``model.x#12:15`` at these offsets of the file.
        """
        mark = _MARK.search(at)
        at = at[: mark.start()] if mark else at
        if mark is not None and mark.group() != "#key" and self.document is not None:
            place = Place(at=at, path=self.path)
            place.line, place.column = self.document.position(int(mark.group(1)))
            place.end_line, place.end_column = self.document.position(int(mark.group(2)))
            return place
        wants_key = mark is not None
        if self.document is not None and at == "file":
            return Place(at=at, path=self.path, line=1, column=1, end_line=1, end_column=1)
        keys = field_path(at)
        if keys[0] == "env":
            name = ".".join(str(key) for key in keys[1:])
            keys = self.keys.get(f"env_vars.{name}", ("env_vars", name))
            origin = "env" if self.origins.get(f"env_vars.{name}") is None else self.origins[f"env_vars.{name}"]
        else:
            name = ".".join(str(key) for key in keys if key.__class__ is str)
            # what is said about the cluster is no field, and the user's own word like an override
            said = name in self.sets or (name.startswith("cluster.") and name in self.given)
            origin = "set" if said else self.origins.get(name, "default")
            keys = self.key_path(at) if origin == "file" else keys
        place = Place(at=at, origin=origin, path=self.path)
        if origin in BELOW:
            value = self.written.get(at)
            place.value = None if value.__class__ is dict else value
        if origin == "file" and self.document is not None:
            span = self.document.span(keys, "value") or self.document.span(keys[:-1] or keys, "value")
            key = self.document.span(keys, "key")
            written = self.written.get(".".join(str(part) for part in keys))
            # a block of lines, or nothing at all: its key stands for it
            block = span is None or written.__class__ is dict or span[0] == span[1] or "\n" in self.document.text[span[0] : span[1]]
            if key is not None and (wants_key or block):
                span = key
            if span is not None:
                place.line, place.column = self.document.position(span[0])
                place.end_line, place.end_column = self.document.position(span[1])
        return place


def _parts(name: str) -> tuple[str, str, tuple[str, ...]]:
    """The entry of ``_PARTS`` for a name that is asked for the first time."""
    section, _, rest = name.partition(".")
    parents = []
    parent = name.rpartition(".")[0]
    while parent:
        parents.append(parent)
        parent = parent.rpartition(".")[0]
    if len(_PARTS) >= _MOST_PARTS:
        _PARTS.clear()
    found = _PARTS[name] = (section, rest, tuple(parents))
    return found


def _spelled(data: Any, at: str) -> tuple[Any, ...] | None:
    """The keys below ``data`` of which the texts, joined with dots, are ``at``."""
    if data.__class__ is not dict:
        return None
    for key, value in data.items():
        text = str(key)
        if at == text:
            return (key,)
        rest = _spelled(value, at[len(text) + 1 :]) if at.startswith(text + ".") else None
        if rest is not None:
            return (key, *rest)
    return None


def field_path(at: str) -> tuple[str | int, ...]:
    """``model.recompute_modules[1]`` as ``("model", "recompute_modules", 1)``."""
    keys: list[str | int] = []
    for part in at.split("."):
        name, *indices = part.split("[")
        keys.append(name)
        keys += [int(index[:-1]) for index in indices if index[:-1].isdigit()]
    return tuple(keys)
