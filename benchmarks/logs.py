"""What reading a big log costs: CPU time as a ratio to a bare loop over its lines, and memory.

    python benchmarks/logs.py [--mib N]

Three logs are made: one out-of-memory error near the end, one at 5 % with noise behind it, and a handled one before the fatal one.
The lclint that this interpreter imports is measured. CPU time is user plus system time of the process.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

LOOP = "import sys\nfor line in open(sys.argv[1], 'rb'): pass"
ERROR = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.10 GiB is free. "
    "Of the allocated memory 74.10 GiB is allocated by PyTorch, and 610.00 MiB is reserved by PyTorch but unallocated.\n"
)
TRACEBACK = (
    'Traceback (most recent call last):\n  File "/opt/app/megatron/core/transformer/mlp.py", line 90, in forward\n    h = self.linear_fc1(x)\n' + ERROR
)
HANDLED = "loading failed, trying again with smaller shards: " + ERROR


def noise(size: int, first: int) -> tuple[str, int]:
    """About ``size`` bytes of what training prints from iteration ``first`` on, and the next iteration."""
    lines = []
    length = 0
    while length < size:
        line = (
            f" [2026-03-02 10:41:07.123456] iteration {first:8d}/ 1000000 | consumed samples: {first * 512:12d} | "
            "elapsed time per iteration (ms): 1234.5 | lm loss: 2.1E+00 | grad norm: 0.412\n"
        )
        if first % 3 == 0:
            line += f"node-{first % 64:02d}:2200:3100 [{first % 8}] NCCL INFO Connected all rings\n"
        lines.append(line)
        length += len(line)
        first += 1
    return "".join(lines), first


def cost(command: list[str]) -> tuple[float, float]:
    """CPU seconds and peak MiB of a command."""
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, _, usage = os.wait4(pid, 0)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Make the logs, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of each log")
    size = parser.parse_args().mib * 2**20
    shapes = {
        "one error near the end": ((0.99, TRACEBACK), (0.01, "")),
        "one error at 5 %": ((0.05, TRACEBACK), (0.95, "")),
        "a handled one first": ((0.30, HANDLED), (0.69, TRACEBACK), (0.01, "")),
    }
    print(f"{'':28}{'ratio':>8}{'RSS MiB':>9}")
    for name, parts in shapes.items():
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "train.log"
            with log.open("w", encoding="utf-8") as file:
                first = 1
                for share, text in parts:
                    for _ in range(max(1, int(size * share) >> 24)):
                        lines, first = noise(min(int(size * share), 1 << 24), first)
                        file.write(lines)
                    file.write(text)
            floor, _ = cost([sys.executable, "-c", LOOP, str(log)])
            spent, memory = cost([sys.executable, "-m", "lclint", "diagnose", str(log)])
            print(f"{name:28}{spent / floor:8.2f}{memory:9.1f}")


if __name__ == "__main__":
    main()
