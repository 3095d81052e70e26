"""``lclint recipes``: which names ``--recipe`` takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


def test_every_word_is_in_the_name(cli: Run) -> None:
    done = cli("recipes", "dsv3", "fp8mx", "FSDP")
    assert done.status == 0
    assert [line.split() for line in done.out.splitlines()] == [["deepseek_v3_pretrain_64gpu_gb300_fp8mx_fsdp_config", "pretrain", "64", "x", "gb300"]]


def test_all_of_them_and_each_is_taken(cli: Run) -> None:
    from lclint.catalog import recipes

    names = [line.split()[0] for line in cli("recipes").out.splitlines()]
    assert names == sorted(names)
    assert len(set(names)) == len(names) > 700
    assert {recipes.about("0.6", name).name for name in names[::40]} == set(names[::40])


def test_approximate_ones_are_marked(cli: Run) -> None:
    from lclint.catalog import recipes

    marked = {line.split()[0] for line in cli("recipes").out.splitlines() if " ~ " in line}
    assert marked == {each.name for each in recipes.every("0.6") if each.approximate}
    assert marked


def test_no_such_recipe(cli: Run) -> None:
    done = cli("recipes", "llama3", "nosuch")
    assert (done.status, done.out) == (2, "")
    assert "no recipe's name holds llama3 and nosuch" in done.err


@pytest.mark.parametrize(("name", "words"), [("DSV3-pretrain", ["deepseek", "v3", "pretrain"]), ("qwen3_30b_a3b_config", ["qwen3", "30b", "a3b"]), ("", [])])
def test_words_of_a_name(name: str, words: list[str]) -> None:
    from lclint.catalog import recipes

    assert recipes.words(name) == words
