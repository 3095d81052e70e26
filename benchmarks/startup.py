"""What one `lclint check` costs: CPU time as a ratio to the imports that it cannot avoid, and memory.

    python benchmarks/startup.py [--runs N]

The lclint that this interpreter imports is measured, so install the wheel first: a checkout also hashes its rule files
at every start. The commands run in a folder of their own: ``-m`` would import a checkout that it is started in. CPU time is
user plus system time of the process, the median of runs that take turns, so that a busy machine slows all of them alike.
RSS is the peak of the process in MiB.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

FLOOR = "import click, yaml"
OVERRIDES = """\
# A fine-tuning run on two nodes.
model:
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 1
  context_parallel_size: 2
  sequence_parallel: true
  seq_length: 8192
  recompute_granularity: selective
  recompute_modules: [core_attn]
train:
  train_iters: 1000
  global_batch_size: 128
  micro_batch_size: 1
dataset:
  seq_length: 8192
optimizer:
  lr: 5e-6
  min_lr: 0.0
scheduler:
  lr_warmup_iters: 50
checkpoint:
  save: /checkpoints/run
  save_interval: 200
logger:
  log_interval: 10
"""
RECIPE = "llama3_70b_sft_32gpu_h100_bf16"
CONFIG = "megatron.bridge.training.config"
# What Bridge does not make by itself, or gives no default for.
CHOSEN = {
    "model": "megatron.bridge.models.gpt_provider.GPTModelProvider",
    "dataset": f"{CONFIG}.MockGPTDatasetConfig",
    "mixed_precision": "megatron.bridge.training.mixed_precision.MixedPrecisionConfig",
    "comm_overlap": "megatron.bridge.training.comm_overlap.CommOverlapConfig",
    "peft": "megatron.bridge.peft.lora.LoRA",
}
DUMP_LINES = 1000
VALUES = {
    "num_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "seq_length": 8192,
    "vocab_size": 128256,
    "global_batch_size": 128,
    "micro_batch_size": 1,
    "train_iters": 1000,
    "lr": 3e-4,
    "bf16": True,
    "tokenizer_type": "NullTokenizer",
    "reset_position_ids": False,
    "reset_attention_mask": False,
    "eod_mask_loss": False,
}


def dump() -> str:
    """A saved run_config.yaml: every field of the sections that Bridge writes, at its default where it has one.

    Variables of the environment fill it up to ``DUMP_LINES``.
    """
    from lclint.catalog import tables

    lines = [f"_target_: {CONFIG}.ConfigContainer"]
    for name, default in tables.sections("0.6").items():
        target = CHOSEN.get(name, default)
        fields = tables.section("0.6", name).fields(target) if target else None
        if not fields:
            continue
        lines += [f"{name}:", f"  _target_: {target}"]
        for field in fields.values():
            value = VALUES.get(field.name, None if field.required else field.default)
            if "dtype" not in field.kinds and (value is None or isinstance(value, (bool, int, float, str))):
                lines.append(f"  {field.name}: {yaml.safe_dump(value).splitlines()[0]}")
    lines.append("env_vars:")
    lines += [f"  VARIABLE_{number}: '1'" for number in range(DUMP_LINES - len(lines))]
    return "\n".join(lines) + "\n"


def measure(command: list[str], folder: str) -> tuple[float, float]:
    """CPU seconds and peak RSS in MiB of one run in ``folder``. The command may end with any status below 2."""
    # Byte code has to be kept between the runs, as it is for a user.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, cwd=folder, env=kept, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)} ends with {process.returncode}: {error.decode()}")
    scale = 1024 * 1024 if sys.platform == "darwin" else 1024
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=25, help="runs of each command (default 25)")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        override, saved = Path(folder, "override.yaml"), Path(folder, "run_config.yaml")
        override.write_text(OVERRIDES, encoding="utf-8")
        saved.write_text(dump(), encoding="utf-8")
        lclint = [sys.executable, "-m", "lclint", "check"]
        commands = {
            f"python -c '{FLOOR}'": [sys.executable, "-c", FLOOR],
            "lclint --version": [sys.executable, "-m", "lclint", "--version"],
            "lclint check override.yaml": [*lclint, str(override)],
            "lclint check run_config.yaml": [*lclint, str(saved)],
            "lclint check --recipe NAME -- KEY=VALUE": [*lclint, "--recipe", RECIPE, "--", "model.context_parallel_size=2"],
            "lclint check --format json run_config.yaml": [*lclint, "--format", "json", str(saved)],
        }
        for command in commands.values():
            measure(command, folder)  # fills the caches of byte code and of the file system
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _ in range(runs):
            for name, command in commands.items():
                taken[name].append(measure(command, folder))
        print(f"Python {sys.version.split()[0]}, {runs} runs, {len(OVERRIDES.splitlines())} and {saved.read_text().count(chr(10))} lines")
        print(f"{'':44} {'CPU ms':>7} {'ratio':>6} {'RSS MiB':>8}")
        floor = None
        for name, values in taken.items():
            cpu = statistics.median(value[0] for value in values)
            floor = floor or cpu
            print(f"{name:44} {cpu * 1000:7.1f} {cpu / floor:6.2f} {max(value[1] for value in values):8.1f}")


if __name__ == "__main__":
    main()
