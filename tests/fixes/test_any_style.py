"""Fixes of generated configs in every YAML style: ``tools/fuzz_fixes.py`` in small."""

from __future__ import annotations

import contextlib

import fuzz_fixes
import pytest
from fuzzing import properties, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from lclint import api
from lclint.core.errors import InputError
from lclint.core.options import Options
from lclint.engine.rules import RuleSet
from lclint.sources import document as documents


@pytest.fixture(scope="module")
def pool() -> list[seeds.Seed]:
    return seeds.examples()


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    return api.load_rules(Options())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(number=st.integers(0, 1 << 30))
def test_every_fix_keeps_comments_lines_and_values(pool: list[seeds.Seed], rules: RuleSet, number: int) -> None:
    text, seed, draw = fuzz_fixes.generated(number, 0, pool)
    base = documents.load(seed.given["base"].encode(), "base.yaml") if "base" in seed.given else None
    with contextlib.suppress(InputError):  # a tab in the wrong place
        assert list(properties.File(text, api.options_of(seed.given), base, rules).complaints(draw)) == [], text


@settings(max_examples=60, deadline=None, derandomize=True)
@given(number=st.integers(0, 1 << 30))
def test_both_parsers_give_the_same(pool: list[seeds.Seed], number: int) -> None:
    text, _, draw = fuzz_fixes.generated(number, 0, pool)
    for form in (text, fuzz_fixes.spoiled(text, draw)):
        assert properties.parser_difference(form) is None, form


@pytest.mark.parametrize(
    "text",
    [
        "a: [x?y]\n",
        "a: {b?: 1}\r",
        "a: {b: , c: 1}\n",
        "a: {b: # c: d\n , e: 1}\n",
        "a: {? }\n",
        "a: {b: !c, d: 1}\n",
        "a: |# c\n  b\n",
        "a: [b\nc: 1\n",
        "a: {b: 1, c:[ d]}\n",
        "a:\t1\n",
    ],
)
def test_where_the_parsers_part(text: str) -> None:
    assert properties.parser_difference(text) is None


def test_the_examples_of_the_repository(rules: RuleSet) -> None:
    for path in ("dsv3-128k-h100-wrong.yaml", "llama3-70b-sft-graphs-packing.yaml", "qwen3-235b-128k-gb200.yaml"):
        text = (fuzz_fixes.ROOT / "fixtures" / "examples" / path).read_text(encoding="utf-8")
        file = properties.File(text, Options(), None, rules)
        assert list(file.complaints(fuzz_fixes.random.Random(0))) == []
        assert properties.parser_difference(text) is None
