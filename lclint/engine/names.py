"""Which names a rule may use: fields of the catalogue, facts, the environment, the cluster. Used when rules are compiled."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from lclint.catalog import tables
from lclint.config.cluster import GPU_FACTS
from lclint.facts import everything
from lclint.facts.registry import FACTS

# given on the command line, by a settings comment or by a log: name -> meaning
GIVEN = {
    "cluster.gpus": "number of GPUs of the job",
    "cluster.gpus_per_node": "number of GPUs of one node",
    "bridge.version": "the Megatron Bridge version that was named",
    "bridge.release": "the Megatron Bridge release that is checked for, such as 0.6",
    "te.version": "Transformer Engine version",
    "torch.version": "PyTorch version",
    "config.kind": "what is checked: dump, override, overrides (a command line), mapping or megatron-args",
    "config.complete": "whether every field is known: a dump, or something over a base or recipe",
}

# written.model.x: before Bridge changes it; user.model.x: as the user wrote it in an override, not applicable where they did not
PREFIXES = ("written.", "user.")

everything.load()
_fields: set[str] = set()


def fields() -> set[str]:
    """Every ``section.field`` of every release, nested ones included."""
    if not _fields:
        for release in tables.releases():
            for section in tables.sections(release):
                _fields.add(section)
                for name in tables.section(release, section).fields() or {}:
                    _fields.add(f"{section}.{name}")
    return _fields


def check(name: str) -> str | None:
    """None for a name that rules may use, else what is wrong with it."""
    plain = name.partition(".")[2] if name.startswith(PREFIXES) else name
    if any(part.startswith("__") for part in name.split(".")):
        return f"{name} is not a name that rules may read"
    if name in FACTS or name in GIVEN or name in GPU_FACTS or plain in fields():
        return None
    if name.startswith("env.") and name.count(".") == 1:
        return None
    parts = plain.split(".")
    # below a field that holds a mapping (dataset.dataset_kwargs.pad_to_max_length) anything can stand
    if len(parts) > 2 and ".".join(parts[:2]) in fields():
        return None
    if len(parts) == 2 and parts[1] == "_target_" and parts[0] in fields():
        return None
    close = difflib.get_close_matches(name, [*FACTS, *fields(), *GIVEN], 1, 0.8)
    return f"no field or fact is called {name}" + (f"; did you mean {close[0]}?" if close else "")


def needs_of(name: str) -> Iterable[str]:
    """The names that a fact is computed from; nothing for a field."""
    declared = FACTS.get(name)
    return declared.needs if declared is not None else ()
