"""Where the values of a run stand in its file."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lclint.api import load_rules
from lclint.config.run import Run, field_path
from lclint.core.finding import FileReport
from lclint.core.options import Options

TEXT = """\
defaults: &defaults
  hidden_size: 64
model:
  <<: *defaults
  num_layers:   8   # depth
  "seq_length": 128
  recompute_modules:
  - mlp
  -   moe
  moe_layer_freq: [1,
    0]
  pipeline_model_parallel_layout:
    - [embedding]
    - [decoder, loss]
  moe_router_topk:
env_vars:
  NCCL_DEBUG: INFO
train: &t {micro_batch_size: 1, größe: 2}
validation: *t
"""


@pytest.mark.parametrize(
    ("at", "origin", "start", "end"),
    [
        ("model.num_layers", "file", (5, 17), (5, 18)),
        ("model.num_layers#key", "file", (5, 3), (5, 13)),
        ("model.seq_length", "file", (6, 17), (6, 20)),
        ("model.recompute_modules[0]", "file", (8, 5), (8, 8)),
        ("model.recompute_modules[1]", "file", (9, 7), (9, 10)),
        # a value of several lines: its key
        ("model.recompute_modules", "file", (7, 3), (7, 20)),
        ("model.moe_layer_freq", "file", (10, 3), (10, 17)),
        ("model.pipeline_model_parallel_layout[1]", "file", (14, 7), (14, 22)),
        # a value that is not there
        ("model.moe_router_topk", "file", (15, 3), (15, 18)),
        ("model", "file", (3, 1), (3, 6)),
        # what a merge key brings in stands where it was written
        ("model.hidden_size", "file", (2, 16), (2, 18)),
        ("env.NCCL_DEBUG", "file", (17, 15), (17, 19)),
        ("train.größe", "file", (18, 40), (18, 41)),
        ("validation.micro_batch_size", "file", (18, 30), (18, 31)),
        ("file", "default", (1, 1), (1, 1)),
        ("model.context_parallel_size", "default", (None, None), (None, None)),
        ("env.OTHER", "env", (None, None), (None, None)),
        ("train.micro_batch_size", "file", (18, 30), (18, 31)),
    ],
)
def test_places(run_of: Callable[..., Run], at: str, origin: str, start: tuple[int, int], end: tuple[int, int]) -> None:
    place = run_of(TEXT).place(at)
    assert (place.line, place.column) == start
    assert (place.end_line, place.end_column) == end
    assert place.at == at.removesuffix("#key")
    if at != "file":
        assert place.origin == origin


def test_values_from_elsewhere_have_no_line(run_of: Callable[..., Run]) -> None:
    run = run_of(TEXT, base="model: {moe_ffn_hidden_size: 1, moe_router_topk: 8}", sets=["model.num_layers=4"])
    assert [(run.place(at).origin, run.place(at).line) for at in ("model.num_layers", "model.moe_ffn_hidden_size")] == [("set", None), ("base", None)]
    assert run.place("model.moe_router_topk").origin == "file"


def test_columns_do_not_count_a_byte_order_mark_or_carriage_returns(run_of: Callable[..., Run]) -> None:
    run = run_of("\ufeff" + TEXT.replace("\n", "\r\n"))
    assert (run.place("model.num_layers").line, run.place("model.num_layers").column) == (5, 17)
    assert run.place("model.recompute_modules").line == 7


@pytest.mark.parametrize(
    ("at", "keys"),
    [
        ("model.x", ("model", "x")),
        ("model.x[1]", ("model", "x", 1)),
        ("model.x[1][0].y", ("model", "x", 1, 0, "y")),
        ("file", ("file",)),
        ("model.x[y]", ("model", "x")),
    ],
)
def test_field_paths(at: str, keys: tuple[str | int, ...]) -> None:
    assert field_path(at) == keys


ODD = "model:\n  context_parallel_size: 4\n  1: x\n  off: y\n  a.b: z\n---\ntrain: {}\n"


@pytest.mark.parametrize(
    ("at", "start", "end"),
    [
        # keys that are no texts, or hold dots
        ("model.1", (3, 6), (3, 7)),
        ("model.1#key", (3, 3), (3, 4)),
        ("model.False#key", (4, 3), (4, 6)),
        ("model.a.b", (5, 8), (5, 9)),
        # offsets of the file
        ("file#59:62", (6, 1), (6, 4)),
        ("model#2:5", (1, 3), (1, 6)),
    ],
)
def test_odd_places(run_of: Callable[..., Run], at: str, start: tuple[int, int], end: tuple[int, int]) -> None:
    place = run_of(ODD).place(at)
    assert place.at == at.partition("#")[0]
    assert (place.line, place.column, place.end_line, place.end_column) == (*start, *end)


def test_a_finding_about_the_form_points_at_what_is_refused(report_of: Callable[..., FileReport]) -> None:
    text = "model:\n  context_parallel_size: 4\n  null: x\n  [1, 2]: y\n---\ntrain: {}\n"
    report = report_of(load_rules(Options(select=["file-refused-by-its-loader"])), text)
    assert [(found.at, found.place.line, found.place.column) for found in report.findings] == [("model", 3, 3), ("model", 4, 3), ("file", 5, 1)]
