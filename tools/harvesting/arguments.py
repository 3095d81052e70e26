"""Read the argument parser of an importable Megatron-LM. Runs in the interpreter that has torch, not in lclint's.

``PYTHONPATH=tools:WHEELS python -m harvesting.arguments OUT.json`` writes, for each option string of
``megatron/training/arguments.py``, ``[sets, default, fields]``: what it sets when it is given without a value (true or false; null
for an option that takes one, ``"list"`` for one that takes several), the value without it, and the config fields that take the
parsed value over. Those are, as in Megatron-LM's own translation (argument_utils.py, training.py), the fields of the core's config
classes that are called as the argument's destination.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import enum
import importlib
import io
import json
import logging
import sys
import warnings
from typing import Any

from harvesting import stand_ins

CLASSES = (
    ("model", "megatron.core.transformer.transformer_config", "MLATransformerConfig"),
    ("ddp", "megatron.core.distributed", "DistributedDataParallelConfig"),
    ("optimizer", "megatron.core.optimizer", "OptimizerConfig"),
)


def plain(value: Any) -> Any:
    """A default as JSON has it; what JSON does not have, by its name."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def sets(action: argparse.Action) -> Any:
    """What the option alone sets, null when it needs a value, ``"list"`` when it takes several."""
    if action.nargs == 0:
        return bool(action.const)
    if isinstance(action, argparse.BooleanOptionalAction):
        return True
    return "list" if action.nargs in ("+", "*") else None


def main() -> None:
    """Write the JSON to the file named on the command line."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    stand_ins.install()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        parser = importlib.import_module("megatron.training.arguments").add_megatron_arguments(argparse.ArgumentParser(allow_abbrev=False))
        names = {section: {f.name for f in dataclasses.fields(getattr(importlib.import_module(module), name))} for section, module, name in CLASSES}
    table = {}
    for action in parser._actions:
        fields = [f"{section}.{action.dest}" for section, known in names.items() if action.dest in known]
        for option in action.option_strings:
            if not option.startswith("--") or action.dest == "help":
                continue
            alone = sets(action)
            if isinstance(action, argparse.BooleanOptionalAction):
                alone = not option.startswith("--no-")
            table[option] = [alone, plain(action.default), fields]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(table, file)


if __name__ == "__main__":
    main()
