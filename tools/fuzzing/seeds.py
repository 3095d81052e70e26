"""Configs in which rules fire: the rules' own examples, several laid over each other."""

from __future__ import annotations

import copy
import glob
import os
import random
from typing import Any

from lclint.sources import document as documents

RULES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "rules")


class Seed:
    """One example: its values and the options that it is checked under."""

    def __init__(self, data: dict[str, Any], given: dict[str, Any]) -> None:
        self.data = data
        self.given = given


def examples(folder: str = RULES) -> list[Seed]:
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.yaml"), recursive=True)):
        with open(path, "rb") as file:
            rule = documents.load(file.read(), path, "safe_load").data
        for example in rule.get("examples", ()):
            if "log" in example or not example.get("config", "").strip():
                continue
            document = documents.load(example["config"].encode(), path)
            if isinstance(document.data, dict) and document.data and not document.problems and not document.interpolations:
                found.append(Seed(document.data, example.get("given", {})))
    return found


def mixed(seeds: list[Seed], draw: random.Random) -> Seed:
    """One to three examples over each other, under the options of the first."""
    first = draw.choice(seeds)
    data = copy.deepcopy(first.data)
    for _ in range(draw.choice((0, 0, 1, 2))):
        other = draw.choice(seeds)
        if ("_target_" in data) == ("_target_" in other.data):
            _lay_over(data, copy.deepcopy(other.data))
    if draw.random() < 0.3:
        data = dict(draw.sample(list(data.items()), len(data)))
    return Seed(data, first.given)



def _lay_over(data: dict[str, Any], other: dict[str, Any]) -> None:
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(data.get(key), dict):
            _lay_over(data[key], value)
        else:
            data[key] = value
