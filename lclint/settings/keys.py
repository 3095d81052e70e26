"""What settings may say: each key with the values that it takes. ``schemas/settings.schema.json`` says the same for editors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from lclint.core.finding import SEVERITIES
from lclint.core.options import LEVELS, PROFILES, VERSION

FAIL_ON = (*SEVERITIES, "never")


class Fault(Exception):
    """A value that a key does not take: what is wrong, which part of the value it is, and what to do."""

    def __init__(self, message: str, part: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.part = part
        self.hint = hint


def near(word: str, words: list[str]) -> str:
    """A hint at what was meant by a word that is none of ``words``."""
    import difflib

    close = difflib.get_close_matches(word, words, 1, 0.6)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(words)}"


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Fault("it takes a text")
    return value


def _choice(*choices: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value not in choices:
            raise Fault(f"there is no {str(value)[:40]}", str(value), near(str(value), list(choices)))
        return value

    return check


def _gpu(value: Any) -> str:
    from lclint.catalog import tables

    name = _text(value).lower()
    known = tables.gpus()
    if name not in known:
        raise Fault(f"unknown GPU '{value[:40]}'", value, near(name, sorted(known)))
    return name


def _count(value: Any) -> int:
    if value.__class__ is not int or not 1 <= value < 10**9:
        raise Fault("it takes a number of GPUs")
    return int(value)


def _flag(value: Any) -> bool:
    if value.__class__ is not bool:
        raise Fault("it takes true or false")
    return bool(value)


def _version(value: Any) -> str:
    if re.fullmatch(VERSION, _text(value)) is None:
        raise Fault(f"{value[:40]!r} is no version", value, 'write it as text, such as "2.9"')
    return str(value)


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise Fault('it takes a list of texts, such as ["a", "b"]')
    return list(value)


def _environment(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise Fault('it takes a table, such as {NCCL_DEBUG = "INFO"}')
    for name, item in value.items():
        if isinstance(item, bool) or not isinstance(item, (str, int)):
            raise Fault(f"{name} takes a text or an integer", name)
    return {name: str(item) for name, item in value.items()}


def _levels(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise Fault('it takes a table, such as {"unknown-key" = "warning"}')
    for name, level in value.items():
        if level not in LEVELS:
            raise Fault(f"{name}: there is no severity {str(level)[:40]}", name, near(str(level), list(LEVELS)))
    return dict(value)


def _bridge(value: Any) -> str:
    from lclint.config import release
    from lclint.core.errors import UsageError

    try:
        release.named(_version(value))
    except UsageError as error:
        raise Fault(error.message, value, error.hint) from None
    return str(value)


Check = Callable[[Any], Any]

# what may differ from file to file
PER_PATH: dict[str, Check] = {
    "gpu": _gpu,
    "gpus": _count,
    "gpus-per-node": _count,
    "recipe": _text,
    "base": _text,
    "env": _environment,
    "env-complete": _flag,
    "bridge-version": _bridge,
    "te-version": _version,
    "torch-version": _version,
    "profile": _choice(*PROFILES),
    "select": _texts,
    "ignore": _texts,
    "extend-select": _texts,
    "severity": _levels,
    "fail-on": _choice(*FAIL_ON),
}

# what is meant of single fields as well: paths = ["conf/*.yaml#model.recompute_*"]
PER_FIELD = ("ignore", "severity")

KEYS: dict[str, Check] = {
    **PER_PATH,
    "rules": _texts,
    "exclude": _texts,
    "baseline": _text,
    "format": _text,
    "output": _text,
}
# whose values name rules
ENTRIES = ("select", "ignore", "extend-select", "severity")
OVERRIDES = "overrides"
PATHS = "paths"
