"""``--set``: what Hydra accepts and refuses, what Bridge makes of it, and where values come from."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lclint.config import build, values
from lclint.config.run import Run
from lclint.core.errors import InputError, UsageError
from lclint.core.options import Options
from lclint.core.states import NOT_APPLICABLE, UNKNOWN

Make = Callable[..., Run]

DUMP = """\
_target_: megatron.bridge.training.config.ConfigContainer
model:
  _target_: megatron.bridge.models.gpt_provider.GPTModelProvider
  num_layers: 8
  context_parallel_size: 1
  recompute_granularity: null
  recompute_modules: [mlp, moe]
  params_dtype: {_target_: torch.bfloat16, _call_: false}
train:
  _target_: megatron.bridge.training.config.TrainingConfig
  micro_batch_size: 1
comm_overlap: null
mixed_precision: bf16_mixed
env_vars: {NCCL_DEBUG: INFO}
"""
FILE = "model: {context_parallel_size: 2, moe_router_topk: 2}\n"


def problems(run: Run) -> list[tuple[str, str]]:
    return [(problem.kind, problem.path) for problem in run.problems]


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("model.num_layers=4", "model.num_layers", 4),
        ("++model.num_layers=4", "model.num_layers", 4),
        ("+model.recompute_granularity=full", "model.recompute_granularity", "full"),
        ("model.recompute_modules=[moe_act]", "model.recompute_modules", ["moe_act"]),
        ("+model.recompute_modules=[moe_act]", "model.recompute_modules", ["moe_act"]),
        ("model.recompute_modules.1=moe_act", "model.recompute_modules", ["mlp", "moe_act"]),
        ("model.recompute_modules=null", "model.recompute_modules", None),
        ("model.params_dtype=torch.float16", "model.params_dtype", "fp16"),
        ("model={num_layers:4}", "model.num_layers", 4),
        ("train=null", "train", None),
        ("mixed_precision=fp16_mixed", "mixed_precision", "fp16_mixed"),
        ("+env_vars.NCCL_X=1", "env_vars.NCCL_X", 1),
        ("env_vars.NCCL_DEBUG=WARN", "env_vars.NCCL_DEBUG", "WARN"),
        ("~env_vars.NCCL_DEBUG", "env_vars.NCCL_DEBUG", None),
        (
            "comm_overlap={_target_:megatron.bridge.training.comm_overlap.CommOverlapConfig}",
            "comm_overlap._target_",
            "megatron.bridge.training.comm_overlap.CommOverlapConfig",
        ),
    ],
)
def test_accepted(run_of: Make, text: str, name: str, value: Any) -> None:
    run = run_of(DUMP, sets=[text])
    assert run.written.get(name) == value
    assert problems(run) == []
    if value is not None:
        assert run.origins[name] == "set"
        assert run.sets[name] == text


@pytest.mark.parametrize(
    ("text", "kind", "path"),
    [
        ("model.nope=1", "override", "model.nope"),
        ("nope.x=1", "override", "nope.x"),
        ("+model.num_layers=4", "override", "model.num_layers"),
        ("+mixed_precision=fp16_mixed", "override", "mixed_precision"),
        ("+model.nope=1", "dropped", "model.nope"),
        ("env_vars.NCCL_X=1", "override", "env_vars.NCCL_X"),
        ("comm_overlap.tp_comm_overlap=true", "override", "comm_overlap.tp_comm_overlap"),
        ("mixed_precision.fp8=e4m3", "override", "mixed_precision.fp8"),
        ("+comm_overlap.tp_comm_overlap=true", "classless-section", "comm_overlap"),
        ("++comm_overlap.tp_comm_overlap=true", "classless-section", "comm_overlap"),
        ("++mixed_precision.fp8=e4m3", "classless-section", "mixed_precision"),
        ("comm_overlap={tp_comm_overlap:true}", "classless-section", "comm_overlap"),
        ("model={nope:1}", "override", "model"),
        ("model.recompute_modules.7=mlp", "override", "model.recompute_modules.7"),
        ("~model.nope", "override", "model.nope"),
        ("~comm_overlap", "override", "comm_overlap"),
        ("~env_vars.NCCL_DEBUG=WARN", "override", "env_vars.NCCL_DEBUG"),
        ("~model.num_layers", "dropped", "model.num_layers"),
        ("model.recompute_modules=[mlp", "override", "model.recompute_modules"),
        ("model.num_layers=1,2", "override", "model.num_layers"),
        ("model.num_layers", "override", "model.num_layers"),
    ],
)
def test_refused_or_without_effect(run_of: Make, text: str, kind: str, path: str) -> None:
    run = run_of(DUMP, sets=[text])
    assert problems(run) == [(kind, path)]
    if kind in ("override", "dropped"):
        assert run.written == run_of(DUMP).written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model.num_layers=4", []),
        ("+model.tensor_model_parallel_size=4", [("override", "model.tensor_model_parallel_size")]),
        ("+model.context_parallel_size=4", [("override", "model.context_parallel_size")]),
        # null in most recipes, and then Hydra takes it
        ("+model.recompute_granularity=full", []),
        ("+env_vars.NCCL_X=1", []),
        ("env_vars.NCCL_X=1", []),
        ("model.nope=1", [("override", "model.nope")]),
        ("++model.nope=1", []),
        ("~model.context_parallel_size", []),
        ("~model.num_layers", []),
    ],
)
def test_over_a_file_without_its_base(run_of: Make, text: str, expected: list[Any]) -> None:
    assert problems(run_of(FILE, sets=[text])) == expected


def test_a_deleted_override_gives_way_to_the_base(run_of: Make) -> None:
    run = run_of(FILE, base=DUMP, sets=["~model.context_parallel_size"])
    assert (run.written["model.context_parallel_size"], run.origins["model.context_parallel_size"]) == (1, "base")
    run = run_of(FILE, sets=["~model.context_parallel_size"])
    assert run.missing("written.model.context_parallel_size") is UNKNOWN
    assert problems(run_of(FILE, base=DUMP, sets=["~model.num_layers"])) == [("dropped", "model.num_layers")]


def test_a_deleted_mapping_takes_its_fields_along(run_of: Make) -> None:
    run = run_of("env_vars: {A: 1}\n" + FILE, sets=["~env_vars"])
    assert [name for name in (*run.written, *run.origins) if name.startswith("env_vars")] == []


def test_precedence(run_of: Make) -> None:
    file = "model: {context_parallel_size: 2, num_layers: 4, moe_router_topk: 2}"
    run = run_of(file, base=DUMP, sets=["model.num_layers=16", "model.num_layers=32"])
    expected = {"model.num_layers": (32, "set"), "model.context_parallel_size": (2, "file"), "train.micro_batch_size": (1, "base")}
    assert {name: (run.written[name], run.origins[name]) for name in expected} == expected
    assert run.complete
    assert run.base is not None
    assert run.base["model.num_layers"] == 8
    assert run.written["model.params_dtype"] == "bf16"
    assert run.missing("model.nope") is NOT_APPLICABLE


def test_command_line_alone() -> None:
    run = build.from_overrides(Options(sets=["model.num_layers=4", "env_vars.A=2"], env={"B": "3"}))
    assert (run.kind, run.written) == ("overrides", {"model.num_layers": 4, "env_vars.A": 2})
    assert run.environment == {"A": "2", "B": "3"}
    assert (run.missing("env.C"), run.missing("model.x")) == (UNKNOWN, UNKNOWN)


def test_the_environment(run_of: Make) -> None:
    run = run_of(DUMP, env={"NCCL_DEBUG": "WARN"}, env_complete=True)
    assert run.missing("env.NCCL_DEBUG") == "WARN"
    assert run.missing("env.OTHER") is None
    assert run_of(DUMP).missing("env.OTHER") is UNKNOWN


def test_the_header(run_of: Make) -> None:
    run = run_of("# lclint: gpu=gb200 gpus=128\n" + FILE)
    assert (run.given["gpu.name"], run.given["cluster.gpus"]) == ("gb200", 128)
    run = run_of("# lclint: gpu=gb200 gpus=128\n" + FILE, gpu="h100", gpus=8)
    assert (run.given["gpu.name"], run.given["cluster.gpus"]) == ("h100", 8)


@pytest.mark.parametrize("header", ["gpu=z900", "gpus=many", "gpus=0", "gpus=-8", "gpus_per_node=x"])
def test_a_wrong_header_says_where(run_of: Make, header: str) -> None:
    with pytest.raises(InputError) as error:
        run_of(f"# a run\n# lclint: {header}\n{FILE}")
    assert (error.value.path, error.value.line) == ("run.yaml", 2)


def test_unknown_names(run_of: Make) -> None:
    with pytest.raises(UsageError, match="z900") as error:
        run_of(FILE, gpu="z900")
    assert "h100" in str(error.value)
    with pytest.raises(UsageError, match=r"9\.1"):
        run_of(FILE, bridge_version="9.1")
    with pytest.raises(InputError, match=r"--base"):
        run_of(FILE, base="on: push")


# Against Hydra itself, on trees whose every key Bridge would know.

TREE = {
    "model": {"num_layers": 8, "recompute_modules": ["mlp"], "recompute_granularity": None, "bf16": True},
    "train": {"micro_batch_size": 1},
    "comm_overlap": None,
    "mixed_precision": "bf16_mixed",
    "env_vars": {"A": 1},
}
KEYS = ["model.num_layers", "model.recompute_modules", "model.recompute_granularity", "model.nope", "model.recompute_modules.0", "env_vars.A"]
KEYS += ["env_vars.B", "env_vars", "comm_overlap", "comm_overlap.tp_comm_overlap", "mixed_precision", "mixed_precision.fp8", "nope", "nope.x", "train"]
TEXTS = ["1", "8", "null", "x", "[a,b]", "{A:2}", "{A:2,B:[1]}", "{num_layers:4}", "''", "true", "0.5"]


def hydra_result(texts: list[str]) -> Any:
    """The tree after those overrides, None where Hydra refuses one."""
    loader = pytest.importorskip("hydra._internal.config_loader_impl")
    parser = pytest.importorskip("hydra.core.override_parser.overrides_parser")
    omegaconf = pytest.importorskip("omegaconf").OmegaConf
    tree = omegaconf.create(copy.deepcopy(TREE))
    omegaconf.set_struct(tree, True)
    try:
        loader.ConfigLoaderImpl._apply_overrides_to_config(parser.OverridesParser.create().parse_overrides(texts), tree)
    except Exception:
        return None
    return omegaconf.to_container(tree)


overrides = st.one_of(
    st.builds("{}{}={}".format, st.sampled_from(["", "+", "++"]), st.sampled_from(KEYS), st.sampled_from(TEXTS)),
    st.builds("~{}".format, st.sampled_from(KEYS)),
    st.builds("~{}={}".format, st.sampled_from(KEYS), st.sampled_from(TEXTS)),
)


@settings(max_examples=300, deadline=None)
@given(overrides)
def test_refused_exactly_where_hydra_refuses(text: str) -> None:
    run = Run("dump", "x.yaml", None)
    run.complete = True
    fields: dict[str, Any] = {}
    values.flatten(copy.deepcopy(TREE), fields)
    values.overlay(run.written, fields, run.origins, "file")
    build.override(run, text)
    refused = any(problem.kind == "override" for problem in run.problems)
    result = hydra_result([text])
    assert refused == (result is None), [(p.kind, p.text) for p in run.problems]
    if result is not None and not run.problems:
        expected: dict[str, Any] = {}
        values.flatten(result, expected)
        assert {name: value for name, value in run.written.items() if not isinstance(value, dict)} == {
            name: value for name, value in expected.items() if not isinstance(value, dict)
        }
        assert run.origins.keys() == run.written.keys()
