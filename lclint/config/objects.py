"""A ConfigContainer object as the nested mappings that its dump would hold, by reading its dataclass fields.

Nothing of Megatron is imported: the classes are recognised by being dataclasses.
"""

from __future__ import annotations

from typing import Any

DEEPEST = 30


def as_mapping(config: Any, depth: int = 0) -> Any:
    """Plain data of an object: dataclasses carry ``_target_``, enums, dtypes and functions become names."""
    if config is None or (isinstance(config, (bool, int, float, str)) and type(config).__module__ == "builtins"):
        return config
    kind = type(config)
    fields = getattr(kind, "__dataclass_fields__", None)
    if fields is not None and depth < DEEPEST:
        data = {"_target_": f"{kind.__module__}.{kind.__qualname__}"}
        for name in fields:
            if not name.startswith("_") and hasattr(config, name):
                data[name] = as_mapping(getattr(config, name), depth + 1)
        return data
    if isinstance(config, dict) and depth < DEEPEST:
        return {str(key): as_mapping(value, depth + 1) for key, value in config.items()}
    if isinstance(config, (list, tuple, set, frozenset)) and depth < DEEPEST:
        return [as_mapping(value, depth + 1) for value in config]
    name = getattr(config, "name", None)
    if isinstance(name, str) and hasattr(kind, "__members__"):
        return name
    if str(config).startswith("torch."):
        return {"_target_": str(config), "_call_": False}
    qualified = getattr(config, "__qualname__", None)
    if isinstance(qualified, str):
        return {"_target_": f"{getattr(config, '__module__', '')}.{qualified}", "_call_": False}
    return repr(config)[:200]
