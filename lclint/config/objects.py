"""A ConfigContainer object as the nested mappings that its dump would hold, by reading its dataclass fields.

Nothing of Megatron is imported: the classes are recognised by being dataclasses.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

DEEPEST = 30


def as_mapping(config: Any) -> Any:
    """Plain data of an object: dataclasses carry ``_target_``, enums, dtypes and functions become names."""
    return _plain(config, ())


def _plain(value: Any, above: tuple[int, ...]) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if hasattr(kind, "__members__"):
        return str(value.name)
    fields = getattr(kind, "__dataclass_fields__", None)
    mapping = hasattr(kind, "keys") and hasattr(kind, "__getitem__")
    if fields is not None or mapping or (isinstance(value, (Sequence, Set)) and not isinstance(value, (str, bytes))):
        if id(value) in above or len(above) >= DEEPEST:
            # an object that refers back to one that holds it
            return {"_target_": f"{kind.__module__}.{kind.__qualname__}"}
        above = (*above, id(value))
        if fields is not None:
            data = {"_target_": f"{kind.__module__}.{kind.__qualname__}"}
            for name in fields:
                if not name.startswith("_") and hasattr(value, name):
                    data[name] = _plain(getattr(value, name), above)
            return data
        if mapping:
            return {str(key): _plain(value[key], above) for key in value.keys()}  # noqa: SIM118 - it need not be a dict
        items = sorted(value, key=str) if isinstance(value, Set) else value
        return [_plain(item, above) for item in items]
    if str(value).startswith("torch."):
        return {"_target_": str(value), "_call_": False}
    for base in (str, int, float):
        if isinstance(value, base):
            return base(value)
    if hasattr(kind, "__fspath__"):
        return str(value)
    for convert, method in ((int, "__index__"), (float, "__float__")):
        if hasattr(kind, method):
            # a number of another library
            try:
                return convert(value)
            except (TypeError, ValueError, OverflowError, RuntimeError):
                break
    qualified = getattr(value, "__qualname__", None)
    if isinstance(qualified, str):
        return {"_target_": f"{getattr(value, '__module__', '')}.{qualified}", "_call_": False}
    return {"_target_": f"{kind.__module__}.{kind.__qualname__}"}
