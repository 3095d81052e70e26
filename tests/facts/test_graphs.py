"""What is captured in CUDA graphs, from every spelling of the fields that say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts.context import Facts

OLD = "  enable_cuda_graph: false\n  external_cuda_graph: false\n"


def model(lines: str) -> str:
    return "model:\n" + OLD + "".join(f"  {line}\n" for line in lines.split("; "))


@pytest.mark.parametrize(
    ("lines", "impl", "modules"),
    [
        ("cuda_graph_impl: none; cuda_graph_scope: full", "none", NOT_APPLICABLE),
        ("cuda_graph_impl: transformer_engine; cuda_graph_scope: full; cuda_graph_modules: null", "transformer_engine", []),
        ("cuda_graph_impl: transformer_engine; cuda_graph_scope: 'attn,mlp'; cuda_graph_modules: null", "transformer_engine", ["attn", "mlp"]),
        ("cuda_graph_impl: transformer_engine; cuda_graph_scope: null; cuda_graph_modules: [attn]", "transformer_engine", ["attn"]),
        ("cuda_graph_impl: transformer_engine; cuda_graph_modules: [attn]", "transformer_engine", ["attn"]),
        ("cuda_graph_impl: transformer_engine; cuda_graph_scope: null; cuda_graph_modules: null", "transformer_engine", []),
        ("cuda_graph_impl: transformer_engine", "transformer_engine", UNKNOWN),
        ("cuda_graph_impl: local; cuda_graph_scope: [full_iteration]", "full_iteration", []),
        ("cuda_graph_impl: local; cuda_graph_scope: [moe_router]", "local", ["moe_router", "moe_preprocess"]),
        ("cuda_graph_scope: [attn]", UNKNOWN, UNKNOWN),
    ],
)
def test_impl_and_modules(facts: Callable[..., Facts], lines: str, impl: Any, modules: Any) -> None:
    found = facts(model(lines))
    assert found["graphs.impl"] == impl
    assert found["graphs.modules"] == modules


def test_an_old_switch_names_the_implementation(facts: Callable[..., Facts]) -> None:
    found = facts("model:\n  cuda_graph_impl: none\n  enable_cuda_graph: false\n  external_cuda_graph: true\n")
    assert found["graphs.impl"] == "transformer_engine"
    assert found["graphs.impl_field"] == "model.external_cuda_graph"
    # Bridge has emptied the list of modules by then
    assert found["graphs.modules"] == []


@pytest.mark.parametrize(
    ("lines", "captured"),
    [
        ("cuda_graph_impl: transformer_engine; cuda_graph_modules: [mlp]", False),
        ("cuda_graph_impl: transformer_engine; cuda_graph_modules: [attn, mlp]", True),
        ("cuda_graph_impl: full_iteration; cuda_graph_modules: []; cuda_graph_scope: null", True),
        ("cuda_graph_impl: local; cuda_graph_modules: [attn]", False),
    ],
)
def test_captures_attention(facts: Callable[..., Facts], lines: str, captured: bool) -> None:
    assert facts(model(lines))["graphs.captures_attention"] is captured


def test_both_fields_are_collected_as_bridge_does(facts: Callable[..., Facts]) -> None:
    found = facts(model("cuda_graph_impl: transformer_engine; cuda_graph_scope: [attn]; cuda_graph_modules: [mlp, attn, full_iteration]"))
    assert found["graphs.named"] == ["mlp", "attn"]


def test_an_unknown_module_and_what_it_means(facts: Callable[..., Facts]) -> None:
    found = facts(model("cuda_graph_impl: transformer_engine; cuda_graph_modules: [attention, mlp]"))
    assert found["graphs.unknown_modules"] == ["attention"]
    assert found["graphs.renamed"] == ["attn", "mlp"]


@pytest.mark.parametrize(("frequency", "only"), [("1", True), ("2", False), ("[1, 1]", True), ("[0, 1]", False), ("null", NOT_APPLICABLE)])
def test_layers_with_experts(facts: Callable[..., Facts], frequency: str, only: Any) -> None:
    assert facts(f"model:\n  num_moe_experts: 8\n  moe_layer_freq: {frequency}\n")["graphs.only_moe_layers"] is only


@pytest.mark.parametrize(
    ("target", "checks"),
    [
        ("megatron.bridge.models.mla_provider.MLAModelProvider", True),
        ("megatron.bridge.models.qwen_vl.qwen3_vl_provider.Qwen3VLModelProvider", False),
    ],
)
def test_which_provider_asks_for_the_tracker(facts: Callable[..., Facts], target: str, checks: bool) -> None:
    assert facts(f"model:\n  _target_: {target}\n  cuda_graph_impl: none\n")["graphs.provider_checks_rng"] is checks
