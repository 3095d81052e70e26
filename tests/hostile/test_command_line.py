"""Command lines that nobody types: whatever they hold, a finding or one clear line comes out."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lclint.cli.main import main

SECTIONS = ["model", "train", "ddp", "optimizer", "mixed_precision", "dataset", "checkpoint", "env_vars", "nothing", ""]
FIELDS = [
    "tensor_model_parallel_size",
    "num_layers",
    "seq_length",
    "micro_batch_size",
    "pipeline_model_parallel_layout",
    "recompute_modules",
    "x",
    "_target_",
    "0",
    "",
]
VALUES = [
    "1",
    "0",
    "-1",
    "1e400",
    "nan",
    "null",
    "[]",
    "{}",
    "[1,[2,{a:3}]]",
    "'",
    '"',
    "${model.num_layers}",
    "${",
    "a b",
    "${${",
    "\\",
    "\0",
    "é",
    "99999999999999999999",
    "1_0",
    "int(1)",
    "range(9)",
    "{a",
    "a:b",
]

keys = st.builds(
    lambda mark, parts: mark + ".".join(parts), st.sampled_from(["", "+", "++", "~", "~~", "-"]), st.lists(st.sampled_from(SECTIONS + FIELDS), max_size=4)
)
overrides = st.one_of(
    st.builds(lambda key, value: f"{key}={value}", keys, st.one_of(st.sampled_from(VALUES), st.text(max_size=12))),
    st.text(max_size=20),
    keys,
)
numbers = st.one_of(st.integers().map(str), st.sampled_from(["0", "-1", "1e3", "٣", "1" * 5_000, "99999999999999999989", "x", ""]))
versions = st.one_of(
    st.from_regex(r"[0-9.]{0,12}", fullmatch=True), st.sampled_from(["9" * 5_000, "0.6", "0.6.2", "v0.6", "..", "0.6.2rc1", "latest", "²"]), st.text(max_size=8)
)
options = st.one_of(
    st.tuples(st.just("--set"), overrides),
    st.tuples(
        st.just("--env"),
        st.one_of(st.text(max_size=12), st.builds("{}={}".format, st.sampled_from(["NCCL_ALGO", "CUDA_DEVICE_MAX_CONNECTIONS", "=", ""]), st.text(max_size=8))),
    ),
    st.tuples(st.sampled_from(["--gpus", "--gpus-per-node"]), numbers),
    st.tuples(st.sampled_from(["--bridge-version", "--te-version", "--torch-version"]), versions),
    st.tuples(st.just("--gpu"), st.one_of(st.sampled_from(["h100", "H100", "gb200", "r100", ""]), st.text(max_size=6))),
    st.tuples(st.just("--recipe"), st.one_of(st.sampled_from(["llama3_8b_pretrain_8gpu_h100_bf16", "perf_recipes.", ".", "../x"]), st.text(max_size=9))),
    st.tuples(
        st.sampled_from(["--select", "--ignore", "--extend-select"]),
        st.one_of(st.sampled_from(["ALL", "LC", "unknown-key", "unknown-key/", "*", ",", "[", "LC*/x"]), st.text(max_size=9)),
    ),
    st.tuples(st.just("--format"), st.sampled_from(["text", "json", "no"])),
    st.tuples(st.sampled_from(["--env-complete", "--verbose", "--diff", "--unsafe-fixes", "--show-files"])),
)
words = st.lists(options, max_size=5).map(lambda parts: [word for part in parts for word in part])
headers = st.lists(
    st.one_of(
        st.builds(
            "{}={}".format,
            st.sampled_from(["gpu", "gpus", "gpus_per_node", "recipe", "bridge_version", "x", ""]),
            st.one_of(numbers, versions, st.sampled_from(["h100", '"', "''"])),
        ),
        st.text(max_size=12),
        st.sampled_from(["ignore", "ignore[", "ignore[]", "ignore[unknown-key]", "ignore-file[*] x", "ignore[a/b/c]", "#", "lclint:"]),
    ),
    max_size=4,
).map(" ".join)


def _say(arguments: list[str]) -> tuple[int, str, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(arguments)
    out.flush()
    err.flush()
    return status, out.buffer.getvalue().decode("utf-8", "replace"), err.buffer.getvalue().decode()


def _ends_well(arguments: list[str]) -> None:
    status, out, said = _say(arguments)
    assert status in (0, 1, 2)
    assert "internal error" not in said, said
    assert "Traceback" not in said
    if status == 2:
        # `lclint memory` says in its answer what an estimate lacks
        assert said.startswith("lclint: ") or "no estimate" in out, said


@pytest.fixture(scope="module", autouse=True)
def apart(tmp_path_factory: pytest.TempPathFactory) -> Any:
    before = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("apart"))
    Path("run.yaml").write_text("model:\n  tensor_model_parallel_size: 2\n  num_layers: 8\ntrain: {micro_batch_size: 1}\n")
    yield
    os.chdir(before)


bounded = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@bounded
@given(words=words, more=st.lists(overrides, max_size=3))
@pytest.mark.parametrize("command", ["check", "resolve", "memory"])
def test_options(command: str, words: list[str], more: list[str]) -> None:
    if command != "check":
        words = [word for word in words if word not in ("--verbose", "--diff", "--unsafe-fixes", "--show-files")]
    _ends_well([command, "run.yaml", *words, "--", *more])


@bounded
@given(header=headers, words=words)
def test_comments(header: str, words: list[str]) -> None:
    Path("said.yaml").write_text(f"# lclint: {header}\nmodel:\n  num_layers: 8   # lclint: {header}\n", encoding="utf-8", errors="surrogatepass")
    _ends_well(["check", "said.yaml", *words])


@bounded
@given(names=st.lists(st.one_of(st.text(max_size=10), st.text(alphabet="*?[]!/.a-", max_size=30)), min_size=1, max_size=3))
def test_paths(names: list[str]) -> None:
    _ends_well(["check", "--fail-on", "never", *names])


LONG = {
    "5,000 overrides": ["check", "run.yaml", "--", *(f"++model.x{n}=1" for n in range(5_000))],
    "5,000 overrides of one field": ["check", "run.yaml", "--", *["model.num_layers=8"] * 5_000],
    "2,000 deletions": ["check", "run.yaml", "--", *(f"~model.x{n}" for n in range(2_000))],
    "2,000 overrides of a recipe": ["check", "--recipe", "llama3_8b_pretrain_8gpu_h100_bf16", "--", *(f"++model.x{n}=1" for n in range(2_000))],
    "120 KB of open interpolations": ["check", "run.yaml", "--set", "model.x=" + "${" * 60_000],
    "120 KB of nested interpolations": ["check", "run.yaml", "--set", "model.x=" + "${a" * 20_000 + "}" * 20_000],
    "120 KB of open brackets": ["check", "run.yaml", "--set", "model.x=" + "[" * 120_000],
    "120 KB of brackets": ["check", "run.yaml", "--set", "model.x=" + "[" * 60_000 + "]" * 60_000],
    "120 KB of quotes": ["check", "run.yaml", "--set", "model.x=" + "'\\" * 60_000],
    "120 KB of backslashes": ["check", "run.yaml", "--set", "model.x='" + "\\" * 120_000],
    "120 KB of digits": ["check", "run.yaml", "--set", "model.num_layers=" + "1" * 120_000],
    "120 KB of underscores": ["check", "run.yaml", "--set", "model.num_layers=1" + "_1" * 60_000],
    "120 KB of blanks": ["check", "run.yaml", "--set", "model.num_layers=" + " " * 120_000 + "1"],
    "120 KB of words": ["check", "run.yaml", "--set", "model.x=" + "a b" * 40_000],
    "120 KB of list": ["check", "run.yaml", "--set", "model.x=[" + "1," * 60_000 + "1]"],
    "120 KB of mapping": ["check", "run.yaml", "--set", "model.x={" + ",".join(f"k{n}:1" for n in range(12_000)) + "}"],
    "120 KB of casts": ["check", "run.yaml", "--set", "model.x=" + "int(" * 30_000],
    "120 KB of key": ["check", "run.yaml", "--set", "a." * 60_000 + "a=1"],
    "120 KB of path": ["check", "x/" * 60_000],
    "120 KB of variable": ["check", "run.yaml", "--env", "X=" + "x" * 120_000],
    "10^18 GPUs": ["check", "run.yaml", "--gpus", "999999999999999989", "--gpu", "h100", "--set", "model.pipeline_model_parallel_size=3"],
    "10^40 GPUs": ["check", "run.yaml", "--gpus", "9" * 40, "--gpu", "h100"],
    "10^5000 GPUs": ["check", "run.yaml", "--gpus", "9" * 5_000],
    "5,000 rules": ["check", "run.yaml", "--select", ",".join(["unknown-key"] * 5_000)],
    "a rule name of 120 KB": ["check", "run.yaml", "--select", "x" * 120_000],
    "a recipe name of 120 KB": ["check", "--recipe", "x" * 120_000],
    "a release of 120 KB": ["check", "run.yaml", "--bridge-version", "1" * 120_000],
    "a Transformer Engine release of 120 KB": ["check", "run.yaml", "--te-version", "1" * 120_000],
    "an option of 120 KB": ["check", "run.yaml", "--" + "x" * 120_000],
    "2,000 files": ["check", *["run.yaml", "missing.yaml"] * 1_000],
}


@pytest.mark.parametrize("name", LONG)
def test_long(name: str, tmp_path: Path, attack: Callable[..., Any]) -> None:
    (tmp_path / "run.yaml").write_text("model:\n  tensor_model_parallel_size: 2\n  num_layers: 8\n")
    attack(*LONG[name])
