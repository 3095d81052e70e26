"""Call every recipe function of an importable Megatron Bridge. Runs in the interpreter that has torch, not in lclint's.

``PYTHONPATH=tools:WHEELS python -m harvesting.recipes OUT.json`` writes

- ``recipes``: a list of {"name", "module", "gpu", "gpus", "task", "model_class", "approximate", "yaml" (what
  ``ConfigContainer.to_yaml()`` writes)}; gpu and gpus are read off the name, null where it does not say
- ``exported``: name in ``megatron.bridge.recipes`` -> [module, name] of the recipe that it means there
- ``bound``: [name, module and name of the recipe] for every further name that some module gives to a recipe
- ``left_out``: one line for each recipe that could not be called
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import logging
import os
import pathlib
import pkgutil
import re
import sys
import tempfile
import types
import warnings
from collections.abc import Callable
from typing import Any

from harvesting import gpus, stand_ins
from harvesting.model_configs import Models

SUITES = ("megatron.bridge.recipes", "megatron.bridge.perf_recipes")
RECIPE = re.compile(r"(?!_).*(?:_config$|_config_|pretrain|finetune).*")
HARDWARE = re.compile(r"_(\d+)gpu_([a-z]+\d+)(?=_|$)")
DEFAULT_GPU = "h100"

Found = dict[tuple[str, str], Callable[..., Any]]


def modules() -> tuple[list[types.ModuleType], list[str]]:
    """Every module of the recipe packages, and one line for each that does not import."""
    found: list[types.ModuleType] = []
    failures: list[str] = []
    for suite in SUITES:
        try:
            package = importlib.import_module(suite)
        except ModuleNotFoundError:
            continue
        found.append(package)
        for module in pkgutil.walk_packages(package.__path__, suite + ".", onerror=failures.append):
            try:
                found.append(importlib.import_module(module.name))
            except (Exception, SystemExit) as error:  # a module that wants a GPU must not end the harvest
                failures.append(f"{module.name}: {type(error).__name__}: {str(error)[:100]}")
    return found, failures


def functions(loaded: list[types.ModuleType]) -> Found:
    """Recipe functions by the module that defines them and the names that it gives them."""
    defined: Found = {}
    for module in loaded:
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__ and RECIPE.fullmatch(name):
                defined[module.__name__, name] = value
    return defined


def places_of(recipes: Found) -> dict[int, tuple[str, str]]:
    """Where each function is defined, by its id. One that its own module names twice goes by the name it was defined under."""
    return {id(function): place for place, function in sorted(recipes.items(), key=lambda item: item[0][1] == item[1].__name__)}


def names_bound(loaded: list[types.ModuleType], places: dict[int, tuple[str, str]]) -> list[list[str]]:
    """``[name, module of the recipe, name of the recipe]`` for every other public name of a recipe."""
    bound = set()
    for module in loaded:
        for name, value in vars(module).items():
            place = places.get(id(value))
            if place is not None and name != place[1] and not name.startswith("_"):
                bound.add((name, *place))
    return [list(row) for row in sorted(bound)]


def supply_missing_files(folder: pathlib.Path) -> None:
    """Let recipes read from ``folder`` the quantisation files that the wheels leave out."""
    with contextlib.suppress(ImportError):
        quantisation = importlib.import_module("megatron.core.quantization.quant_config").RecipeConfig
        read = quantisation.from_yaml_file

        def from_yaml_file(path: Any) -> Any:
            spare = folder / pathlib.Path(path).name
            return read(str(spare if spare.exists() and not os.path.exists(path) else path))

        quantisation.from_yaml_file = staticmethod(from_yaml_file)


class Device:
    """What recipes may ask a GPU, answered for the one that the recipe's name speaks of."""

    def __init__(self, table: pathlib.Path) -> None:
        self.table = gpus.read(table)
        self.name = DEFAULT_GPU

    def properties(self, *_: Any, **__: Any) -> types.SimpleNamespace:
        major, minor = self.capability()
        gpu = self.table[self.name]
        return types.SimpleNamespace(major=major, minor=minor, name=gpu["device_prefix"], total_memory=(gpu["memory_gb"] or 0) * 2**30)

    def capability(self, *_: Any, **__: Any) -> tuple[int, int]:
        known = self.table[self.name]["capability"]
        if known is None:
            raise RuntimeError(f"the compute capability of {self.name} is not known")
        return known[0], known[1]

    def install(self) -> None:
        import torch

        torch.cuda.get_device_properties = self.properties
        torch.cuda.get_device_capability = self.capability
        torch.cuda.current_device = lambda: 0


def task(name: str, config: Any) -> str | None:
    """pretrain, sft or peft."""
    if config.peft is not None:
        return "peft"
    if "sft" in name or "finetune" in name:
        return "sft"
    return "pretrain" if "pretrain" in name else None


def call(place: tuple[str, str], function: Callable[..., Any], models: Models, device: Device, container: type) -> dict[str, Any] | str:
    """The record of one recipe, or why there is none."""
    module, name = place
    asked = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
    if asked:
        return f"it needs {', '.join(asked)}"
    said = HARDWARE.search(name)
    device.name = said[2] if said and said[2] in device.table else DEFAULT_GPU
    models.used.clear()
    try:
        config = function()
        if not isinstance(config, container):
            return f"it gives a {type(config).__name__}"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "config.yaml")
            config.to_yaml(str(path))  # type: ignore[attr-defined]
            text = path.read_text(encoding="utf-8")
    except Exception as error:  # whatever a recipe raises on a machine without GPU and network
        return f"{type(error).__name__}: {str(error)[:200]}"
    model = type(config.model)  # type: ignore[attr-defined]
    return {
        "name": name,
        "module": module,
        "gpu": said[2] if said else None,
        "gpus": int(said[1]) if said else None,
        "task": task(name, config),
        "model_class": f"{model.__module__}.{model.__qualname__}",
        "approximate": models.approximate(),
        "yaml": text,
    }


def main() -> None:
    """Write the JSON to the file named on the command line."""
    tools = pathlib.Path(__file__).resolve().parents[1]
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    stand_ins.install()
    records = []
    with contextlib.redirect_stdout(io.StringIO()):
        loaded, left_out = modules()
        found = functions(loaded)
        models = Models(str(tools / "models.json"))
        models.install()
        device = Device(tools / "gpus.csv")
        device.install()
        supply_missing_files(tools / "not_in_wheel")
        container = importlib.import_module("megatron.bridge.training.config").ConfigContainer
        for place, function in sorted(found.items()):
            record = call(place, function, models, device, container)
            if isinstance(record, str):
                left_out.append(f"{place[0]}.{place[1]}: {record}")
            else:
                records.append(record)
    shown = vars(sys.modules[SUITES[0]])
    places = places_of(found)
    exported = {name: list(places[id(value)]) for name, value in sorted(shown.items()) if id(value) in places}
    content = {"recipes": records, "exported": exported, "bound": names_bound(loaded, places), "left_out": left_out}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        # what a recipe derives from the folder it is called in is written as in NVIDIA's containers, which start in /workspace
        file.write(json.dumps(content).replace(json.dumps(os.getcwd())[1:-1], "/workspace"))


if __name__ == "__main__":
    main()
