"""Facts of the estimate, as rules ask for them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from lclint.config.run import Run
from lclint.core.states import NOT_APPLICABLE, UNKNOWN
from lclint.facts import everything
from lclint.facts.context import Facts

everything.load()


def test_an_estimate_that_fits(small: Callable[..., Run]) -> None:
    facts = Facts(small(8))
    assert facts["memory.verdict"] == "fits"
    assert 0 < facts["memory.peak_gib"] < 10
    assert facts["memory.headroom_gib"] > 60
    assert facts["memory.largest_component"] in ("gradients", "optimizer", "logits", "mlp")


def test_context_and_tensor_parallelism_may_make_room(small: Callable[..., Run]) -> None:
    facts = Facts(small(8, seq_length=262144, global_batch_size=8))
    assert facts["memory.verdict"] == "oom"
    assert facts["memory.fits_with_context_parallelism"] is False
    roomier = Facts(small(8, seq_length=131072, global_batch_size=8))
    assert roomier["memory.verdict"] == "oom"
    assert roomier["memory.fits_with_context_parallelism"] is True
    assert roomier["memory.fits_with_tensor_parallelism"] is True


def test_a_degree_that_does_not_divide_makes_no_room(small: Callable[..., Run]) -> None:
    assert Facts(small(1, seq_length=131072))["memory.fits_with_context_parallelism"] is False
    assert Facts(small(8, num_attention_heads=15, hidden_size=960))["memory.fits_with_tensor_parallelism"] is False


def test_selective_recompute_lies_between_none_and_full(small: Callable[..., Run]) -> None:
    facts = Facts(small(8, kind="experts", recompute_granularity="full", recompute_method="uniform", recompute_num_layers=1))
    assert 0 < facts["memory.selective_share"] <= facts["memory.selective_share_high"] < 1


def test_halving_a_degree(small: Callable[..., Run]) -> None:
    facts = Facts(small(8, tensor_model_parallel_size=2, pipeline_model_parallel_size=2, context_parallel_size=2))
    assert 0 < facts["memory.halved_share"] < 0.5
    assert Facts(small(8))["memory.halved_share"] is NOT_APPLICABLE


def test_what_cannot_be_estimated_is_unknown(small: Callable[..., Run]) -> None:
    run = small(8)
    del run.resolved["model.vocab_size"]
    run.complete = False
    facts = Facts(run)
    names = ("peak_gib", "verdict", "headroom_gib", "largest_component", "fits_with_context_parallelism", "selective_share", "halved_share")
    assert [facts[f"memory.{name}"] for name in names] == [UNKNOWN] * len(names)
    assert Facts(small(8, gpu=None))["memory.verdict"] is UNKNOWN


def test_the_model_is_imported_by_the_first_question() -> None:
    code = "import sys, lclint.api; sys.exit('lclint.memory.estimate' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
