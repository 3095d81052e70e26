"""Arguments of Megatron-LM, as ``tools/harvest.py`` read them from the newest release's parser."""

from __future__ import annotations

import json
import os
from typing import Any

from lclint.catalog import tables

_table: dict[str, tuple[Any, Any, list[str]]] = {}


def table() -> dict[str, tuple[Any, Any, list[str]]]:
    """``--option`` -> (what it sets alone, its default, the fields that take its value).

    What it sets alone is true or false for a switch, null for an option with one value, ``"list"`` for one with several.
    """
    if not _table:
        with open(os.path.join(tables.DATA, "arguments.json"), encoding="utf-8") as file:
            _table.update(json.load(file)["arguments"])
    return _table
