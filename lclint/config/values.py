"""Turns the values of a config file into plain ones, flat by field name.

A dump encodes what YAML cannot say as mappings with ``_target_``: dtypes, enums, functions, layer specs. They become
their short names. Config objects keep their mapping, and every mapping is also flattened below its own name:
``dataset.offline_packing_specs`` and ``dataset.offline_packing_specs.pad_cu_seqlens``.
"""

from __future__ import annotations

from typing import Any

from lclint.core.errors import InputError
from lclint.core.states import UNKNOWN
from lclint.sources.document import Unresolved

# torch's names for what Megatron's options and logs call fp32, bf16 ...
DTYPES = {
    "float32": "fp32",
    "float": "fp32",
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float64": "fp64",
    "double": "fp64",
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e5m2": "fp8_e5m2",
    "uint8": "uint8",
}

MOST_FIELDS = 200_000


def plain(value: Any) -> Any:
    """The value without its encoding: a dtype, enum member or function is its short name, what cannot be resolved is unknown."""
    if value.__class__ is dict:
        target = value.get("_target_")
        if target.__class__ is not str:
            return value
        if "_name_" in value:
            return value["_name_"]
        if value.get("_call_") is False or value.get("_partial_"):
            return dtype(target) if target.startswith("torch.") else target
        return value
    if value.__class__ is list:
        return [plain(item) for item in value]
    return UNKNOWN if value.__class__ is Unresolved else value


def dtype(name: str) -> str:
    """``torch.bfloat16`` and ``bfloat16`` are ``bf16``; a name that is no dtype stays as it is."""
    short = name[len("torch.") :] if name.startswith("torch.") else name
    return DTYPES.get(short, short if name != short and "." not in short else name)


def flatten(data: dict[str, Any], into: dict[str, Any], prefix: str = "") -> None:
    """Add every field of ``data`` to ``into`` under its dotted name, parents first.

    Raises InputError when there are more fields than any config has (aliases of aliases).
    """
    for key, value in data.items():
        name = f"{prefix}{key}"
        if value.__class__ is dict:
            value = plain(value)
            into[name] = value
            if value.__class__ is dict:
                if len(into) > MOST_FIELDS:
                    raise InputError(f"more than {MOST_FIELDS} fields", hint="aliases that refer to aliases multiply")
                flatten(value, into, name + ".")
        elif value.__class__ is list:
            into[name] = [plain(item) for item in value]
        elif value.__class__ is str and name.endswith("_dtype") and not name.endswith(".moe_router_dtype"):
            # the router's is a word that code compares with 'fp32', and no dtype
            into[name] = dtype(value)
        else:
            into[name] = UNKNOWN if value.__class__ is Unresolved else value


def overlay(below: dict[str, Any], above: dict[str, Any], origins: dict[str, str], origin: str) -> list[str]:
    """Lay the flat fields ``above`` over ``below`` as OmegaConf merges them, noting where each value came from.

    Mappings merge, everything else replaces. Gives the names at which a mapping without a class took the place of
    null or of a string: Bridge then holds a plain dict where it expects a config object.
    """
    classless: list[str] = []
    for name, value in above.items():
        if value.__class__ is dict and "_target_" not in value:
            old = below.get(name, below)
            if old.__class__ is dict and old is not below:
                continue
            if old is not below and "." not in name:
                classless.append(name)
        elif below.get(name).__class__ is dict:
            start = name + "."
            for child in [key for key in below if key.startswith(start)]:
                del below[child]
                origins.pop(child, None)
        below[name] = value
        origins[name] = origin
    return classless
