"""Values as files hold them against the fields of the catalogue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from lclint.catalog import kinds, tables

DUMP = Path(__file__).with_name("sample_dump.yaml")


class Loader(yaml.SafeLoader):
    """Reads the sets of a LoRA dump too."""


def construct_set(loader: Loader, node: yaml.Node) -> set[str]:
    assert isinstance(node, yaml.MappingNode)
    return {str(key) for key in loader.construct_mapping(node)}


Loader.add_constructor("tag:yaml.org,2002:set", construct_set)


def enum(name: str) -> dict[str, Any]:
    return {"_target_": "megatron.core.transformer.enums.AttnBackend", "_call_": True, "_args_": [1], "_name_": name}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, "bool"),
        (1, "int"),
        (1.0, "float"),
        ("x", "str"),
        (None, "null"),
        ([1], "list"),
        ({"x"}, "list"),
        ({"a": 1}, "dict"),
        ({"_target_": "torch.bfloat16", "_call_": False}, "dtype"),
        ({"_target_": "torch.nn.functional.silu", "_call_": False}, "callable"),
        ({"_target_": "torch.nn.init.normal_", "_partial_": True}, "callable"),
        (enum("flash"), "enum"),
        ({"_target_": "a.Specs", "size": 1}, "object"),
    ],
)
def test_kind_of_a_value(value: object, kind: str) -> None:
    assert kinds.kind_of(value) == kind


@pytest.mark.parametrize(
    ("section", "name", "value", "accepted"),
    [
        ("train", "train_iters", 100, True),
        ("train", "train_iters", "100", False),
        ("train", "train_iters", 1e6, False),
        ("optimizer", "lr", 1, True),
        ("optimizer", "lr", "3e-4", False),
        ("model", "attention_backend", "flash", True),
        ("model", "attention_backend", enum("flash"), True),
        ("model", "params_dtype", "bf16", True),
        ("model", "params_dtype", {"_target_": "torch.bfloat16", "_call_": False}, True),
        ("model", "recompute_modules", ["core_attn"], True),
        ("model", "recompute_modules", [1], False),
        ("model", "recompute_modules", "core_attn", False),
        ("model", "moe_layer_freq", [0, 1], True),
        ("model", "sequence_parallel", "yes", False),
        ("model", "transformer_layer_spec", {"_target_": "a.spec", "_call_": False}, True),
    ],
)
def test_what_a_field_accepts(section: str, name: str, value: object, accepted: bool) -> None:
    fields = tables.section("0.6", section).fields()
    assert fields is not None
    assert kinds.accepts(fields[name], value) is accepted


def complaints(section: tables.Section, class_name: str, values: dict[str, Any], path: str) -> list[str]:
    """Unknown keys and values of a wrong kind, below classes that the catalogue knows."""
    fields = section.fields(class_name)
    found: list[str] = []
    for key, value in values.items():
        if key.startswith("_") or fields is None:
            continue
        if key not in fields:
            found.append(f"{path}.{key}: unknown")
            continue
        if not kinds.accepts(fields[key], value):
            found.append(f"{path}.{key}: {value!r}")
        if isinstance(value, dict) and fields[key].nested and "_target_" in value:
            found += complaints(section, value["_target_"], value, f"{path}.{key}")
    return found


def test_a_dump_as_bridge_writes_it_is_known_throughout() -> None:
    config = yaml.load(DUMP.read_text(encoding="utf-8"), Loader)
    config.pop("_target_")
    found: list[str] = []
    for name, values in config.items():
        section = tables.section("0.6", name)
        assert kinds.kind_of(values) in section.kinds, name
        if isinstance(values, dict) and section.classes:
            found += complaints(section, values["_target_"], values, name)
    assert found == ["dataset.offline_packing_specs.packed_sequence_sise: unknown", "train.train_iters: '100'"]
