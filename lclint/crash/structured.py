"""Log lines that are JSON objects, as docker, Kubernetes and structured loggers write them: the text in them, and where it comes from."""

from __future__ import annotations

import json
import re
from typing import Any

from lclint.crash.prefixes import Origin

LONGEST = 1 << 18
_MESSAGES = ("log", "message", "msg", "event", "MESSAGE", "textPayload")
_STACKS = ("exc_info", "exception", "traceback", "stack_trace", "stacktrace", "error.stack", "stack", "exc_text")
_RANKS = ("rank", "global_rank", "RANK", "process_rank", "rank_id")
_LOCAL = ("local_rank", "LOCAL_RANK")
_HOSTS = ("host", "hostname", "node", "node_name", "pod", "_HOSTNAME")
_TIMES = ("timestamp", "time", "@timestamp", "asctime", "ts", "datetime")
_LEVELS = ("level", "levelname", "severity", "lvl")
# a record of generated text has a field like these
_DATA = ("prompt", "completion", "response", "generated_text", "answer", "question", "conversations")
_TIME = re.compile(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?")


def unpack(text: str) -> tuple[list[str], Origin] | None:
    """``(lines, origin)`` of a JSON log line; None for what is none."""
    text = text.strip()
    if not text.startswith('{"') or not text.endswith("}") or len(text) > LONGEST:
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or any(name in data for name in _DATA):
        return None
    flat = {**{name: value for inner in data.values() if isinstance(inner, dict) for name, value in inner.items()}, **data}
    message = next((flat[name] for name in _MESSAGES if isinstance(flat.get(name), str)), None)
    if message is None:
        return None
    lines = message.splitlines()
    for name in _STACKS:
        stack = flat.get(name)
        if isinstance(stack, list) and all(isinstance(part, str) for part in stack):
            stack = "".join(stack)
        if isinstance(stack, str) and "\n" in stack and stack.strip() not in message:
            lines += stack.splitlines()
    return [line for line in lines if line.strip()], _origin(flat)


def _origin(data: dict[str, Any]) -> Origin:
    origin = Origin()
    origin.rank = _number(data, _RANKS)
    origin.local = _number(data, _LOCAL)
    host = next((data[name] for name in _HOSTS if isinstance(data.get(name), str)), None)
    origin.host = host
    level = next((data[name] for name in _LEVELS if isinstance(data.get(name), str)), None)
    origin.level = None if level is None else level.upper()
    for name in _TIMES:
        found = _TIME.match(str(data.get(name, "")))
        if found is not None:
            origin.time = found[0].replace("T", " ").replace(",", ".")
            break
    origin.plain = origin.rank is None and origin.local is None and origin.host is None
    return origin


def _number(data: dict[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = data.get(name)
        if isinstance(value, str) and value.isdigit() and len(value) < 7:
            value = int(value)
        if value.__class__ is int and 0 <= value < 10**6:
            return int(value)
    return None
