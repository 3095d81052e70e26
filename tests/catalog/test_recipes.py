"""Recipes of the catalogue: what makes one, its names, and how they are packed."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from harvesting import pack, pack_recipes

from lclint.catalog import recipes, tables
from lclint.config import values
from lclint.core.errors import UsageError
from lclint.sources import document

RELEASE = "0.6"
LLAMA = "llama3_70b_sft_32gpu_h100_bf16_config"


def test_a_recipe_is_what_bridge_dumps() -> None:
    data = recipes.load(RELEASE, LLAMA)
    assert data["_target_"] == "megatron.bridge.training.config.ConfigContainer"
    assert set(data) - {"_target_"} <= set(tables.sections(RELEASE))
    model = data["model"]
    assert model["_target_"] == "megatron.bridge.models.gpt_provider.GPTModelProvider"
    assert (model["num_layers"], model["hidden_size"], model["context_parallel_size"]) == (80, 8192, 1)
    fields: dict[str, Any] = {}
    values.flatten(data, fields)
    assert fields["model.params_dtype"] == "bf16"
    assert fields["optimizer.main_params_dtype"] == "fp32"


@pytest.mark.parametrize("name", ["llama3_70b_sft_32gpu_h100_bf16", "llama3_70b_sft_config", "llama3_70b_sft"])
def test_short_and_older_names(name: str) -> None:
    assert recipes.load(RELEASE, name) is recipes.load(RELEASE, LLAMA)


def test_a_name_of_two_recipes_is_the_one_that_the_launcher_takes() -> None:
    library, benchmark = recipes.about(RELEASE, LLAMA), recipes.about(RELEASE, f"perf_recipes.{LLAMA}")
    assert library.module.startswith("megatron.bridge.recipes.")
    assert benchmark.module.startswith("megatron.bridge.perf_recipes.")
    assert recipes.load(RELEASE, benchmark.name)["comm_overlap"] is not None


def test_what_the_index_knows() -> None:
    known = recipes.about(RELEASE, "deepseek_v3_pretrain_256gpu_gb200_bf16")
    assert (known.gpu, known.gpus, known.task, known.family, known.approximate) == ("gb200", 256, "pretrain", "deepseek", False)
    assert known.model_class == "megatron.bridge.models.mla_provider.MLAModelProvider"
    assert recipes.about(RELEASE, "glm52_sft_416gpu_h100_bf16_config").approximate


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("lama3_70b_sft", "llama3_70b_sft"),
        ("llama3-70b-sft", "llama3_70b_sft"),
        ("llama3_70b_gb200_fp8mx", "llama3_70b_sft_32gpu_gb200_fp8mx"),
        ("DeepSeek_V3_pretrain_config", "deepseek_v3_pretrain"),
    ],
)
def test_near_names(name: str, near: str) -> None:
    with pytest.raises(UsageError) as caught:
        recipes.load(RELEASE, name)
    assert caught.value.message == f"unknown recipe '{name}'"
    assert near in (caught.value.hint or "")


@pytest.mark.parametrize("name", ["", "_config", "recipes", "modules", "../index", 'x":1', "x\n", "qwertz"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(UsageError, match="unknown recipe"):
        recipes.load(RELEASE, name)


def test_a_release_without_recipes() -> None:
    with pytest.raises(UsageError) as caught:
        recipes.names("0.3")
    assert "0.6" in (caught.value.hint or "")


def test_every_name_leads_to_a_recipe() -> None:
    names = recipes.names(RELEASE)
    assert len(names) == len(set(names)) > 900
    for name in random.Random(7).sample(names, 40):
        fields: dict[str, Any] = {}
        values.flatten(recipes.load(RELEASE, name), fields)
        assert len(fields) > 600, name
        assert "model.tensor_model_parallel_size" in fields, name


def test_packing_gives_back_every_value(tmp_path: Path) -> None:
    def config(name: str, **changes: Any) -> dict[str, Any]:
        model = {"_target_": "a.Model", "n": 1, "rate": 1.0, "flag": True, "layers": [1, {"_target_": "a.Layer", "k": None}], "spec": {"_target_": "a.Spec"}}
        return {"_target_": "a.Config", "name": name, "model": model | changes, "env_vars": {"A": 1, "B": "x"}, "labels": {0: "zero"}}

    configs = [
        config("one"),
        config("two", n=True, rate=1, flag=1),
        config("three", n=1.0, spec=None) | {"env_vars": {"B": "x", "C": {"D": [{}]}}, "labels": {}},
        config("four", more=2) | {"env_vars": {}},
        config("four", layers=[]) | {"model": None},
    ]
    modules = ["megatron.bridge.recipes.f.h100.m", "megatron.bridge.perf_recipes.f.h100.m"]
    raw: dict[str, Any] = {"recipes": [], "exported": {"old_config": [modules[0], "one_config"]}, "bound": [["other", modules[0], "one_config"]]}
    for number, each in enumerate(configs):
        record = {"name": f"{each['name']}_config", "module": modules[number // 4], "gpu": None, "gpus": None, "task": None}
        raw["recipes"].append(record | {"model_class": "a.Model", "approximate": False})
    made = pack_recipes.write(raw, configs, tmp_path)
    assert set(made) == {"one_config", "two_config", "three_config", "four_config", "perf_recipes.four_config"}
    written = recipes.Recipes(str(tmp_path))
    for name, each in made.items():
        assert pack_recipes.key_of(written.load(name)) == pack_recipes.key_of(each), name
    assert [written.find(name) for name in ("old_config", "old", "other", "one", "none")] == ["one_config"] * 4 + [None]


def test_keys_tell_apart_what_python_takes_for_the_same() -> None:
    alike = [{"a": 1}, {"a": 1.0}, {"a": True}, {"a": "1"}]
    assert len({pack_recipes.key_of(value) for value in alike}) == 4
    assert pack_recipes.key_of({"a": 1, "b": 2}) == pack_recipes.key_of({"b": 2, "a": 1})
    assert pack_recipes.key_of({1: 0}) != pack_recipes.key_of({"1": 0})


def test_an_entry_is_found_by_its_line(tmp_path: Path) -> None:
    pack.write(tmp_path / "x.json", {"recipes": {"a": [1, "b\n"], "ab": {"x": "]"}}, "last": []})
    lines = recipes.Lines(str(tmp_path / "x.json"))
    assert (lines.by_key("a"), lines.by_key("ab"), lines.by_key("b")) == ([1, "b\n"], {"x": "]"}, None)


@pytest.mark.oracle
@pytest.mark.skipif(not os.environ.get("LCLINT_RECIPE_DUMPS"), reason="needs LCLINT_RECIPE_DUMPS: a folder of NAME.yaml, written by to_yaml()")
def test_recipes_equal_their_dumps() -> None:
    compared = 0
    for path in sorted(Path(os.environ["LCLINT_RECIPE_DUMPS"]).glob("*.yaml")):
        data = document.load(path.read_bytes(), str(path)).data
        # of two recipes of one name, one dump has the name and the other is called after its module
        names = [path.stem, f"perf_recipes.{path.stem}", path.stem.partition("__")[2]]
        known = [recipes.load(RELEASE, name) for name in names if name in recipes.names(RELEASE)]
        assert known, path.stem
        expected: dict[str, Any] = {}
        values.flatten(data, expected)
        found = []
        for each in known:
            fields: dict[str, Any] = {}
            values.flatten(each, fields)
            found.append(pack_recipes.key_of(fields))
        assert pack_recipes.key_of(expected) in found, path.stem
        compared += 1
    assert compared
