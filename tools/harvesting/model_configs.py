"""Hugging Face model configs without the network: recipes ask the hub for them, the harvest answers from ``tools/models.json``.

An entry there has ``type`` and ``architectures`` of the published config.json and the ``values`` by which it differs from what
transformers makes by default. ``like`` names another type whose class stands in for one that transformers lacks, ``remote`` marks
a config without a class of its own, ``then`` are attributes assigned at dotted places after the config is made. ``approximate``
marks values that are not the published ones in full; recipes that use them are marked in the catalogue.
"""

from __future__ import annotations

import copy
import json
import sys
from typing import Any


class Models:
    """The model configs of one file. ``used`` are the names that were asked for since it was last cleared."""

    def __init__(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:
            self.entries: dict[str, dict[str, Any]] = json.load(file)
        self.used: set[str] = set()

    def approximate(self) -> bool:
        """Whether one of the used configs is approximate."""
        return any(self.entries[name].get("approximate", False) for name in self.used)

    def config(self, name: Any, *_: Any, **__: Any) -> Any:
        """The config of the model ``name``. Raises OSError, as transformers does, for one that the file does not have."""
        name = str(name)
        if name not in self.entries:
            raise OSError(f"tools/models.json has no config of {name}")
        self.used.add(name)
        return make(name, self.entries[name])

    def install(self) -> None:
        """Answer for transformers and for Bridge's own loader, wherever Bridge's modules have imported it already."""
        import transformers

        transformers.AutoConfig.from_pretrained = self.config
        for module in list(sys.modules.values()):
            if getattr(module, "__name__", "").startswith("megatron.bridge") and hasattr(module, "safe_load_config_with_retry"):
                module.safe_load_config_with_retry = self.config  # type: ignore[attr-defined]


def make(name: str, entry: dict[str, Any]) -> Any:
    """A transformers config object."""
    import torch
    import transformers

    values = copy.deepcopy(entry["values"])
    if entry.get("remote"):
        config = transformers.PretrainedConfig()
        config.model_type = entry["type"]
        for key, value in values.items():
            setattr(config, key, value)
        config.architectures = entry["architectures"]
        config.name_or_path = name
        return config
    config = transformers.AutoConfig.for_model(entry.get("like", entry["type"]), **values)
    for place, value in entry.get("then", {}).items():
        _assign(config, place.split("."), value)
    config.architectures = entry["architectures"]
    config.name_or_path = name
    if "like" in entry:
        config.model_type = entry["type"]
    config.dtype = torch.bfloat16
    return config


def _assign(target: Any, place: list[str], value: Any) -> None:
    for key in place[:-1]:
        target = target[key] if isinstance(target, dict) else getattr(target, key)
    if isinstance(target, dict):
        target[place[-1]] = value
    else:
        setattr(target, place[-1], value)
