"""The options of a call from Python, which no command line has looked at."""

from __future__ import annotations

import os
from typing import Any

from lclint.core.errors import UsageError
from lclint.core.options import LEVELS, PROFILES, Options, refuse_slips

# made of settings, not given
_INNER = ("at_fields",)


def options(given: dict[str, Any]) -> Options:
    """The options that keyword arguments give. Raises UsageError.

    ``severity`` is a mapping of rules to severities, as in the settings.
    """
    names = [name for name in Options.__slots__ if name not in _INNER]
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in names:
            import difflib

            close = difflib.get_close_matches(name, names, 1)
            raise UsageError(f"there is no option {name}", hint=f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}")
        default = Options.defaults[name]
        if name in ("gpus", "gpus_per_node"):
            kind, fits = "a positive integer", value is None or (value.__class__ is int and value > 0)
        elif name == "severity":
            kind = "a mapping of rules to " + ", ".join(LEVELS)
            fits = isinstance(value, dict) and all(_is_text(rule) and level in LEVELS for rule, level in value.items())
        elif name == "profile":
            kind, fits = f"one of {', '.join(PROFILES)}", value is None or value in PROFILES
        elif isinstance(default, list):
            kind, fits = "a list of texts", isinstance(value, (list, tuple)) and all(_is_text(item) for item in value)
        elif default is None:
            kind, fits = "a text", value is None or _is_text(value)
        else:
            kind, fits = f"a {type(default).__name__}", isinstance(value, type(default))
        if not fits:
            raise UsageError(f"{name} takes {kind}, not {value!r:.60}")
        values[name] = [list(value.items())] if name == "severity" else _plain(value)
    result = Options(**values)
    refuse_slips(result)
    return result


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or hasattr(value, "__fspath__")


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return os.fspath(value) if hasattr(value, "__fspath__") else value
