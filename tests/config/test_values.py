"""Values of a file flat by name, and one file laid over another as OmegaConf does it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lclint.config import values
from lclint.core.errors import InputError
from lclint.core.states import UNKNOWN
from lclint.sources.document import Unresolved


def flat(data: dict[str, Any]) -> dict[str, Any]:
    into: dict[str, Any] = {}
    values.flatten(data, into)
    return into


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"_target_": "torch.bfloat16", "_call_": False}, "bf16"),
        ({"_target_": "torch.float32", "_call_": False}, "fp32"),
        ({"_target_": "torch.float8_e4m3fn", "_call_": False}, "fp8_e4m3"),
        ({"_target_": "torch.int8", "_call_": False}, "int8"),
        ({"_target_": "torch.nn.functional.gelu", "_call_": False}, "torch.nn.functional.gelu"),
        ({"_target_": "megatron.core.enums.AttnBackend", "_args_": [5], "_name_": "auto", "_call_": True}, "auto"),
        ({"_target_": "functools.partial", "_partial_": True, "x": 1}, "functools.partial"),
        ({"_target_": "some.Class", "x": 1}, {"_target_": "some.Class", "x": 1}),
        ({"_target_": 3, "x": 1}, {"_target_": 3, "x": 1}),
        ([{"_target_": "torch.half", "_call_": False}, None], ["fp16", None]),
        ([Unresolved("${x}")], [UNKNOWN]),
        (Unresolved("${x}"), UNKNOWN),
        (None, None),
        ("torch.bfloat16", "torch.bfloat16"),
    ],
)
def test_encodings(value: Any, expected: Any) -> None:
    assert flat({"model": {"field": value}})["model.field"] == expected


@pytest.mark.parametrize(("text", "name"), [("torch.bfloat16", "bf16"), ("bfloat16", "bf16"), ("bf16", "bf16"), ("half", "fp16"), ("auto", "auto")])
def test_dtypes_as_text(text: str, name: str) -> None:
    assert flat({"model": {"params_dtype": text}})["model.params_dtype"] == name


def test_mappings_are_listed_with_what_they_hold() -> None:
    assert flat({"dataset": {"specs": {"pad": True, 1: {"x": []}}}, "env_vars": {}}) == {
        "dataset": {"specs": {"pad": True, 1: {"x": []}}},
        "dataset.specs": {"pad": True, 1: {"x": []}},
        "dataset.specs.pad": True,
        "dataset.specs.1": {"x": []},
        "dataset.specs.1.x": [],
        "env_vars": {},
    }


def test_aliases_of_aliases_do_not_multiply_without_end() -> None:
    bomb: dict[str, Any] = {"x": 1}
    for _ in range(9):
        bomb = {f"k{n}": bomb for n in range(9)}
    with pytest.raises(InputError, match="fields"):
        flat({"model": bomb})


scalars = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from(["", "a", "full"]))
keys = st.sampled_from(["a", "b", "c"])
trees = st.dictionaries(
    st.sampled_from(["model", "train", "comm_overlap"]),
    st.one_of(
        scalars,
        st.recursive(
            st.dictionaries(keys, st.one_of(scalars, st.lists(scalars, max_size=2)), max_size=3), lambda t: st.dictionaries(keys, t, max_size=2), max_leaves=4
        ),
    ),
    max_size=3,
)


def leaves(tree: Any, prefix: str = "") -> dict[str, Any]:
    """A plain tree by dotted names, empty mappings included."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            found |= leaves(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def flat_leaves(fields: dict[str, Any]) -> dict[str, Any]:
    parents = {name.rpartition(".")[0] for name in fields}
    return {name: {} if isinstance(value, dict) else value for name, value in fields.items() if not (isinstance(value, dict) and name in parents)}


@settings(max_examples=400, deadline=None)
@given(below=trees, above=trees)
def test_merging_is_omegaconfs(below: dict[str, Any], above: dict[str, Any]) -> None:
    omegaconf = pytest.importorskip("omegaconf")
    create = omegaconf.OmegaConf.create
    try:
        merged = omegaconf.OmegaConf.to_container(omegaconf.OmegaConf.merge(create(copy.deepcopy(below)), create(copy.deepcopy(above))))
    except TypeError:
        # a list over a mapping
        assume(False)
    fields, origins = flat(below), dict.fromkeys(flat(below), "base")
    values.overlay(fields, flat(above), origins, "file")
    assert flat_leaves(fields) == leaves(merged)
    assert origins.keys() == fields.keys()
    for name in leaves(above):
        assert origins[name] == "file" or above_mapping_is_empty(above, name)


def above_mapping_is_empty(above: dict[str, Any], name: str) -> bool:
    """``a: {}`` over a mapping changes nothing: its origin stays."""
    return leaves(above)[name] == {}


@pytest.mark.parametrize(
    ("below", "above", "classless"),
    [
        ({"comm_overlap": None}, {"comm_overlap": {"tp_comm_overlap": True}}, ["comm_overlap"]),
        ({"mixed_precision": "bf16_mixed"}, {"mixed_precision": {"fp8": "e4m3"}}, ["mixed_precision"]),
        ({"comm_overlap": None}, {"comm_overlap": {"_target_": "x.CommOverlapConfig", "tp_comm_overlap": True}}, []),
        ({"comm_overlap": {"_target_": "x.C"}}, {"comm_overlap": {"tp_comm_overlap": True}}, []),
        ({}, {"comm_overlap": {"tp_comm_overlap": True}}, []),
        ({"model": {"x": None}}, {"model": {"x": {"y": 1}}}, []),
    ],
)
def test_sections_that_become_plain_mappings(below: dict[str, Any], above: dict[str, Any], classless: list[str]) -> None:
    assert values.overlay(flat(below), flat(above), {}, "file") == classless
