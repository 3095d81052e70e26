"""The ``env_vars`` section of a config."""

from __future__ import annotations

from typing import Any

from lclint.core.states import UNKNOWN
from lclint.facts.registry import fact

KINDS = {type(None): "null", list: "a list", dict: "a mapping"}


@fact("environment.not_scalar", needs=("written.env_vars",), unit="records", source="Bridge training/config.py:1848 (0.6.2)", raw=True)
def not_scalar(g: Any) -> Any:
    """Variables of env_vars whose value is null, a list or a mapping: name, kind."""
    start = "env_vars."
    found = []
    for name, value in g.run.written.items():
        if name.startswith(start) and value is not UNKNOWN and value.__class__ in KINDS and "." not in name[len(start) :]:
            found.append({"name": name[len(start) :], "kind": KINDS[value.__class__]})
    return found
