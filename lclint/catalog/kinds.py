"""Which kinds a value of a config file is of, in the words of ``Field.kinds``."""

from __future__ import annotations

from typing import Any

from lclint.catalog.tables import Field

_SCALARS = {bool: "bool", int: "int", float: "float", str: "str", type(None): "null"}
# fmt: off
_DTYPES = frozenset((
    "float", "float16", "float32", "float64", "half", "double", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "long",
    "float8_e4m3fn", "float8_e5m2",
))
# fmt: on


def kind_of(value: Any) -> str:
    """Kind of a value as a YAML file holds it; what a ``_target_`` mapping makes is told by its other keys."""
    kind = _SCALARS.get(value.__class__)
    if kind is not None:
        return kind
    if not isinstance(value, dict):
        return "list"
    target = value.get("_target_")
    if not isinstance(target, str):
        return "dict"
    package, _, name = target.rpartition(".")
    if package == "torch" and name in _DTYPES:
        return "dtype"
    if "_name_" in value:
        return "enum"
    return "callable" if value.get("_partial_") is True or value.get("_call_") is False else "object"


def accepts(field: Field, value: Any) -> bool:
    """Whether Bridge takes a value of this kind for ``field``; elements of a list are looked at too, ``choices`` are not."""
    kinds = field.kinds
    if "any" in kinds:
        return True
    kind = kind_of(value)
    if kind not in kinds:
        return False
    items = field.items
    return kind != "list" or items is None or "any" in items or all(kind_of(v) in items for v in value)
