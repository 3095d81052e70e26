"""What Bridge makes of a config, for tools: ``schemas/resolve.schema.json`` describes it."""

from __future__ import annotations

import json
from typing import Any

from lclint.config.explain import Resolved, Value
from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.report.json_report import plain

SCHEMA = 1


def render(resolved: Resolved, values: list[Value]) -> str:
    """The chosen ``values`` as one line of ASCII JSON."""
    return json.dumps(data(resolved, values), separators=(",", ":"), allow_nan=False) + "\n"


def data(resolved: Resolved, values: list[Value]) -> dict[str, Any]:
    """The same as plain lists and dicts."""
    return {
        "schema": SCHEMA,
        "path": resolved.path,
        "kind": resolved.kind,
        "base": resolved.base,
        "recipe": resolved.recipe,
        "bridge_version": resolved.bridge_version,
        "cluster": {"gpu": resolved.gpu, "gpus": resolved.gpus},
        "values": [_value(value) for value in values],
        "problems": resolved.problems,
    }


def _value(value: Value) -> dict[str, Any]:
    state = "unknown" if value.value is UNKNOWN else "not_applicable" if value.value is NOT_APPLICABLE else "known"
    place = value.place
    by_bridge = value.changed or not value.written
    return {
        "field": value.field,
        "state": state,
        "value": plain(value.value) if state == "known" else None,
        "origin": "bridge" if by_bridge and value.reasons else place.origin,
        "written": _written(value),
        "override": value.override,
        "changed": value.changed,
        "reasons": value.reasons if by_bridge else [],
    }


def _written(value: Value) -> dict[str, Any] | None:
    place = value.place
    if not value.written:
        return None
    return {"value": plain(value.was), "origin": place.origin, "path": place.path, "line": place.line, "column": place.column}
