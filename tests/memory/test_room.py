"""What each lever frees, whether a run would fit with it, and what counts as changed by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lclint.catalog import recipes
from lclint.config import build
from lclint.config.run import Run
from lclint.core.options import Options
from lclint.core.states import NOT_APPLICABLE
from lclint.facts import everything
from lclint.facts.context import Facts
from lclint.facts.room import LEVERS
from lclint.memory import levers

everything.load()


def of_recipe(name: str, gpu: str, gpus: int, *sets: str) -> Facts:
    return Facts(build.from_overrides(Options(recipe=name, gpu=gpu, gpus=gpus, sets=list(sets))))


def test_every_lever_has_its_facts() -> None:
    assert set(LEVERS) == set(levers.LEVERS)


@pytest.mark.parametrize("lever", [name for name in LEVERS if name not in ("expert_parallelism", "sharded_optimizer", "no_graphs", "short_gradients")])
def test_levers_free_memory(small: Callable[..., Run], lever: str) -> None:
    facts = Facts(small(8, micro_batch_size=4, seq_length=8192))
    assert facts[f"memory.freed_by_{lever}_gib"] > 0


@pytest.mark.parametrize("lever", ["expert_parallelism", "sharded_optimizer", "no_graphs"])
def test_levers_that_are_not_there(small: Callable[..., Run], lever: str) -> None:
    facts = Facts(small(8))
    assert facts[f"memory.freed_by_{lever}_gib"] is NOT_APPLICABLE
    assert facts[f"memory.fits_with_{lever}"] is False


def test_experts_over_more_ranks_free_weights(small: Callable[..., Run]) -> None:
    assert Facts(small(8, kind="experts"))["memory.freed_by_expert_parallelism_gib"] > 0


def test_sharding_the_optimizer_frees_what_the_other_ranks_hold(small: Callable[..., Run]) -> None:
    whole = Facts(small(8, use_distributed_optimizer=None))
    states = 12 * whole["memory.parameters"]
    assert whole["memory.freed_by_sharded_optimizer_gib"] == pytest.approx(states * 7 / 8 / 2**30, rel=0.25)


def test_more_gpus_help_only_as_far_as_states_are_divided() -> None:
    assert of_recipe("llama3_8b_pretrain_2gpu_h100_bf16_config", "h100", 2)["memory.enough_gpus"] in (8, 16)
    assert of_recipe("llama31_70b_pretrain_32gpu_h100_bf16_config", "h100", 32)["memory.enough_gpus"] is NOT_APPLICABLE


OFFLOADED = ("optimizer.optimizer_cpu_offload=true", "optimizer.optimizer_offload_fraction=1.0")


def test_states_of_experts_and_of_an_offloaded_optimizer() -> None:
    facts = of_recipe("qwen3_30b_a3b_pretrain_16gpu_h100_bf16_config", "h100", 16)
    assert 0.05 < facts["memory.experts_share"] < 0.5
    assert facts["memory.offloaded_gib"] == 0
    assert of_recipe("qwen3_30b_a3b_pretrain_16gpu_h100_bf16_config", "h100", 16, *OFFLOADED)["memory.offloaded_gib"] > 5
    # of a fine-tuned model only the adapter's states are there to offload
    assert of_recipe("qwen3_32b_peft_1gpu_h100_bf16_config", "h100", 1, *OFFLOADED)["memory.offloaded_gib"] < 20


RECIPE = ("llama3_8b_pretrain_8gpu_h100_bf16_config", "h100", 8)


@pytest.mark.parametrize(
    ("sets", "raised", "by_hand"),
    [
        ([], False, False),
        (["train.train_iters=10"], False, False),
        (["train.micro_batch_size=1"], False, False),
        (["train.micro_batch_size=2"], True, True),
        (["model.recompute_granularity=full", "model.recompute_method=uniform", "model.recompute_num_layers=1"], False, True),
        (["model.bf16=true"], False, False),
    ],
)
def test_what_counts_as_changed_by_hand(sets: list[str], raised: bool, by_hand: bool) -> None:
    facts = of_recipe(*RECIPE, *sets)
    assert (facts["memory.raised"], facts["memory.by_hand"]) == (raised, by_hand)


def test_a_file_of_its_own_is_all_by_hand(small: Callable[..., Run]) -> None:
    assert Facts(small(8))["memory.by_hand"] is True


def test_lengths_that_vary_are_never_called_too_large() -> None:
    facts = of_recipe("qwen25_vl_72b_sft_32gpu_h100_bf16_config", "h100", 32)
    assert facts["memory.lengths_vary"] is False  # a pipeline pads to the full length
    varying = of_recipe("qwen35_vl_4b_peft_1gpu_h100_bf16_config", "h100", 1)
    assert varying["memory.lengths_vary"] is True
    assert varying["memory.verdict"] == "tight"


def test_no_performance_recipe_is_called_too_large() -> None:
    """They were run on the GPUs in their names, but for three that Bridge itself refuses (60 layers over 8 stages)."""
    wrong = []
    seen = 0
    for name in recipes.names("0.6"):
        entry = recipes.about("0.6", name)
        if name.startswith("qwen35_vl_397b_a17b_pretrain_64gpu_b200") or "perf_recipes" not in entry.module or entry.gpu is None or entry.gpus is None:
            continue
        facts = of_recipe(name, entry.gpu, entry.gpus)
        seen += 1
        if facts["memory.verdict"] == "oom":
            wrong.append(name)
    assert seen > 350
    assert not wrong
