"""What checking many files costs: CPU time of 500 files of 150 lines, beside yamllint's over the same files.

    python benchmarks/many.py [--files N] [--runs N]

The lclint and the yamllint that this interpreter imports are measured, each in one process; install lclint from a wheel. CPU time is user
plus system time of the process, the median of runs that take turns. Four kinds of files:

- overrides: partial files, of which most rules cannot be decided
- saved: every field of the model and of the training loop, as a saved run_config.yaml has them
- over a recipe: overrides that name the published recipe below them
- at fault: overrides with a handful of mistakes each, so that fixes are tried
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from pathlib import Path

import yaml
from startup import CHOSEN, CONFIG, VALUES, measure

LINES = 150
RECIPES = ("llama3_70b_sft_32gpu_h100_bf16", "qwen3_30b_a3b_pretrain_8gpu_h100_bf16", "deepseek_v3_pretrain_256gpu_gb200_bf16")
SECTIONS = ("train", "checkpoint", "logger", "optimizer", "scheduler", "ddp", "rng", "dist", "profiling", "validation")
FAULTS = ("tensor_paralel_size: 2", "recompute_granularity: ful", "num_layers: '32'", "cuda_graph_impl: locale", "sequence_paralel: true")


def _fields(section: str, target: str | None) -> list[str]:
    """``field: value`` of every field that has a plain default."""
    from lclint.catalog import tables

    found = []
    for field in (tables.section("0.6", section).fields(target) or {}).values():
        value = VALUES.get(field.name, None if field.required else field.default)
        if "dtype" not in field.kinds and not field.deprecated and isinstance(value, (bool, int, float, str)):
            found.append(f"{field.name}: {yaml.safe_dump(value).splitlines()[0]}")
    return found


def overrides(chance: random.Random, header: str = "", faults: int = 0) -> str:
    """An override file of ``LINES`` lines; ``faults`` of them are mistakes."""
    from lclint.catalog import tables

    degrees = {name: 2 ** chance.randrange(3) for name in ("tensor_model", "pipeline_model", "context")}
    lines = [header] if header else []
    lines += ["# Made for a benchmark.", "model:"]
    lines += [f"  {name}_parallel_size: {degree}" for name, degree in degrees.items()]
    lines += ["  seq_length: 8192   # tokens", "  recompute_granularity: selective", "  recompute_modules: [core_attn]"]
    lines += [f"  {fault}" for fault in chance.sample(FAULTS, faults)]
    defaults = tables.sections("0.6")
    for section in SECTIONS:
        fields = _fields(section, defaults[section])
        lines += ["", f"{section}:"] + [f"  {field}" for field in sorted(chance.sample(fields, min(len(fields), 13)))]
    lines += ["", "env_vars:"]
    lines += [f"  VARIABLE_{number}: '1'" for number in range(LINES - len(lines))]
    return "\n".join(lines[:LINES]) + "\n"


def saved(chance: random.Random) -> str:
    """The beginning of a saved config, with different sizes in each."""
    lines = [f"_target_: {CONFIG}.ConfigContainer", "train:", f"  _target_: {CONFIG}.TrainingConfig"]
    lines += [f"  {field}" for field in _fields("train", f"{CONFIG}.TrainingConfig")]
    lines += ["model:", f"  _target_: {CHOSEN['model']}", f"  tensor_model_parallel_size: {2 ** chance.randrange(3)}"]
    lines += [f"  {field}" for field in _fields("model", CHOSEN["model"]) if not field.startswith("tensor_model_parallel_size")]
    return "\n".join(lines[:LINES]) + "\n"


def main() -> None:
    """Make the files, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--files", type=int, default=500, help="files of each kind (default 500)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each command (default 5)")
    arguments = parser.parse_args()
    chance = random.Random(1)
    kinds = {
        "overrides": lambda: overrides(chance),
        "saved": lambda: saved(chance),
        "over a recipe": lambda: overrides(chance, f"# lclint: recipe={chance.choice(RECIPES)} gpu=h100 gpus=256"),
        "at fault": lambda: overrides(chance, "# lclint: gpu=h100 gpus=64", faults=3),
    }
    print(f"Python {sys.version.split()[0]}, {arguments.files} files of {LINES} lines, {arguments.runs} runs")
    print(f"{'':16} {'lclint s':>9} {'yamllint s':>11} {'times':>6} {'RSS MiB':>8}")
    for name, make in kinds.items():
        with tempfile.TemporaryDirectory() as folder:
            for number in range(arguments.files):
                Path(folder, f"{number:04}.yaml").write_text(make(), encoding="utf-8")
            taken: dict[str, list[tuple[float, float]]] = {"lclint": [], "yamllint": []}
            commands = {"lclint": ["lclint", "check", "--fail-on", "never"], "yamllint": ["yamllint", "-d", "relaxed", "-f", "parsable"]}
            for _ in range(arguments.runs):
                for tool, command in commands.items():
                    taken[tool].append(measure([sys.executable, "-m", *command, folder], folder))
        ours, theirs = (statistics.median(cpu for cpu, _ in taken[tool]) for tool in ("lclint", "yamllint"))
        print(f"{name:16} {ours:9.2f} {theirs:11.2f} {theirs / ours:6.1f} {max(rss for _, rss in taken['lclint']):8.1f}")


if __name__ == "__main__":
    main()
