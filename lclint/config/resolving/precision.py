"""What a ``mixed_precision`` section does to model, optimizer and ddp."""

from __future__ import annotations

from typing import Any

from lclint.catalog import tables
from lclint.config.resolving.state import Resolution
from lclint.core.states import NOT_APPLICABLE, UNKNOWN

TARGETS = ("model", "optimizer", "ddp")
SECTION = "mixed_precision"
WHY = "mixed_precision replaces it (training/mixed_precision.py:154)"
CLASS = "megatron.bridge.training.mixed_precision.MixedPrecisionConfig"


def mixed_precision(s: Resolution) -> None:
    """bridge training/mixed_precision.py:66-166: every field of the section replaces the same field of model, optimizer and ddp."""
    written = s.get(SECTION)
    if written is None or written is NOT_APPLICABLE:
        return
    fields = _fields(s, written)
    for kind in ("fp8", "fp4"):
        # two names of one switch, kept in step: the gather is assigned last and wins
        if f"{kind}_param_gather" in fields:
            fields[f"{kind}_param"] = fields[f"{kind}_param_gather"]
    if written.__class__ is str and fields:
        s.set(SECTION, {"_target_": CLASS}, "the preset's name stands for its fields (training/config.py:1875)")
        for name, value in fields.items():
            s.values[f"{SECTION}.{name}"] = value
    else:
        for kind in ("fp8_param", "fp4_param"):
            if kind in fields:
                s.set(f"{SECTION}.{kind}", fields[kind], f"{kind}_gather goes before it (training/mixed_precision.py:73)")
    for name, value in fields.items():
        for section in TARGETS:
            field = f"{section}.{name}"
            if field in s.values or (value is not UNKNOWN and s.has(field)):
                s.set(field, value, WHY)


def _fields(s: Resolution, written: Any) -> dict[str, Any]:
    """The section's fields; empty for a preset that Bridge does not have."""
    if written.__class__ is str:
        return dict(tables.precision_presets(s.run.release).get(written.replace("-", "_"), {}))
    fields: dict[str, Any] = {}
    if written.__class__ is dict:
        start = SECTION + "."
        fields = {name[len(start) :]: value for name, value in s.values.items() if name.startswith(start) and name != start + "_target_"}
    if written.__class__ is not dict or not s.run.complete:
        # the rest of the section is in a base that is not here
        fields = {name: fields.get(name, UNKNOWN) for name in tables.section(s.run.release, SECTION).fields(None) or {}}
    return fields
