"""Faults of the written form: what ``lclint.config.keys`` and the overrides found, as lists for ``each:``."""

from __future__ import annotations

from typing import Any

from lclint.facts.registry import fact

SOURCE = "field tables of the release, harvested from the published wheels"


def _records(g: Any) -> dict[str, list[dict[str, Any]]]:
    found = g.get("keys._all")
    if found is None:
        from lclint.config.keys import check

        found = g["keys._all"] = check(g.run)
    return found  # type: ignore[no-any-return]


def _problems(g: Any, kind: str) -> list[dict[str, Any]]:
    return [{"path": p.path, "text": p.text, "at": f"{p.path}#{p.span[0]}:{p.span[1]}" if p.span else p.path} for p in g.run.problems if p.kind == kind]


@fact("keys.unknown", needs=(), unit="records: path, key, parent, suggestion, new, taken, owner", source=SOURCE, raw=True)
def unknown(g: Any) -> list[dict[str, Any]]:
    """Keys that no class which may stand there has."""
    return _records(g)["unknown"]


@fact("keys.misplaced", needs=(), unit="records: path, key, sections, only, owner", source=SOURCE, raw=True)
def misplaced(g: Any) -> list[dict[str, Any]]:
    """Keys that are fields of another section only."""
    return _records(g)["misplaced"]


@fact("keys.unknown_sections", needs=(), unit="records: path, suggestion", source=SOURCE, raw=True)
def unknown_sections(g: Any) -> list[dict[str, Any]]:
    """Top-level keys that are a slip of a section's name."""
    return _records(g)["section"]


@fact("keys.wrong_type", needs=(), unit="records: path, value, kind, type", source=SOURCE, raw=True)
def wrong_type(g: Any) -> list[dict[str, Any]]:
    """Values of a kind that the field's annotation does not have; whole numbers written as floats among them."""
    return _records(g)["type"]


@fact("keys.not_a_choice", needs=(), unit="records: path, value, choices, suggestion, whole", source=SOURCE, raw=True)
def not_a_choice(g: Any) -> list[dict[str, Any]]:
    """Values outside the closed set that the field's annotation names."""
    return _records(g)["choice"]


@fact("keys.none_text", needs=(), unit="records: path", source=SOURCE, raw=True)
def none_text(g: Any) -> list[dict[str, Any]]:
    """Fields that hold the text None where null is meant."""
    return _records(g)["none_text"]


@fact("keys.deprecated", needs=(), unit="records: path, note", source=SOURCE, raw=True)
def deprecated(g: Any) -> list[dict[str, Any]]:
    """Deprecated fields that were given a value of their own."""
    return _records(g)["deprecated"]


@fact("keys.other_release", needs=(), unit="records: path, key, value, there, newer, new, how, more, taken, harmless", source=SOURCE, raw=True)
def other_release(g: Any) -> list[dict[str, Any]]:
    """Keys and sections that are of another Bridge release."""
    return _records(g)["release"]


@fact("keys.other_release_class", needs=(), unit="records: path, place, short, there, newer, new, new_short, how, more", source=SOURCE, raw=True)
def other_release_class(g: Any) -> list[dict[str, Any]]:
    """Classes that are of another Bridge release."""
    return _records(g)["class_release"]


@fact("keys.unknown_arguments", needs=(), unit="records: path, key, suggestion", source="Megatron-LM megatron/training/arguments.py (core 0.19.2)", raw=True)
def unknown_arguments(g: Any) -> list[dict[str, Any]]:
    """Arguments in a MODEL_ARGS file that Megatron-LM does not have."""
    return [{"path": p.path, "key": p.text, "suggestion": p.suggestion} for p in g.run.problems if p.kind == "argument"]


@fact("keys.override", needs=(), unit="records: path, text, at", source="Hydra 1.3 override grammar", raw=True)
def override(g: Any) -> list[dict[str, Any]]:
    """Overrides that Hydra refuses."""
    return _problems(g, "override")


@fact("keys.dropped", needs=(), unit="records: path, text, at", source="Bridge training/utils/omegaconf_utils.py (0.6.2)", raw=True)
def dropped(g: Any) -> list[dict[str, Any]]:
    """Overrides that Hydra takes and Bridge drops."""
    return _problems(g, "dropped")


@fact("keys.refused", needs=(), unit="records: path, text, at", source="OmegaConf 2.3 and yaml.safe_load", raw=True)
def refused(g: Any) -> list[dict[str, Any]]:
    """What the loader of the file refuses although the rest can be read."""
    return _problems(g, "loader")


@fact("keys.classless", needs=(), unit="records: path, text, target", source="Bridge training/utils/omegaconf_utils.py (0.6.2)", raw=True)
def classless(g: Any) -> list[dict[str, Any]]:
    """Sections that are null or a name, and that an override fills with a plain mapping."""
    from lclint.config.changes import section_class

    return [{**record, "target": section_class(g.run, record["path"])} for record in _problems(g, "classless-section")]


# start-up reads a field of these first of all; the second group may be null
NEVER_NULL = ("model", "train", "optimizer", "ddp", "scheduler", "logger", "checkpoint", "rng", "dist", "validation", "env_vars")
CAN_BE_NULL = ("profiling", "comm_overlap", "mixed_precision", "nvrx_straggler", "tensor_inspect")


@fact("keys.no_section", needs=(), unit="records: path, value, empty", source="Bridge 0.6.2 start-up, tried section by section", raw=True)
def no_section(g: Any) -> list[dict[str, Any]]:
    """Sections of which the user made null or a plain value, and that start-up cannot do without; ``empty`` when it is null."""
    found = []
    for name in (*NEVER_NULL, *CAN_BE_NULL):
        value = g.run.written.get(name, g)
        if g.run.origins.get(name) not in ("file", "set") or value is g or value.__class__ not in (type(None), str, int, float, bool, list):
            continue
        # the name of a precision preset stands for the section
        if (value is not None or name in NEVER_NULL) and not (name == "mixed_precision" and value.__class__ is str):
            found.append({"path": name, "value": value, "empty": value is None})
    return found
