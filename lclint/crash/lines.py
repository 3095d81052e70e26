"""What Megatron and Bridge print while a run goes on: iterations, memory reports, sizes, ranks.

Units are not what they are called: Megatron's "MB" is 2**20 bytes, Bridge's "gigabytes" are 10**9. A reading after iteration 1 is taken before
the optimizer's moments exist in the activation peak.
"""

from __future__ import annotations

import re

from lclint.crash.record import Reading

ITERATION = re.compile(r"\biteration\s+(\d{1,15})/\s*\d+\s*\|")
_ELAPSED = re.compile(r"elapsed time per iteration \(ms\): (\d{1,15}(?:\.\d*)?)")
_MEMORY = re.compile(r"(?:\[Rank (?P<rank>\w+)\] )?\(after (?P<iteration>\d{1,15}) iterations\) memory \((?P<unit>MB|GB)\)(?P<rest>[^\n\[]*)")
_PAIR = re.compile(r"([a-z][a-z -]*?)(?:-gigabytes)?: (\d{1,15}(?:\.\d*)?)")
_STEP = re.compile(r"model\.py:\d+ - step (\d{1,15}):|\bstep (\d{1,15}): \{'train/|\bstep:(\d{1,15}) - \w+/")
STARTS = (
    re.compile(r"current_iteration to (\d{1,15})\.\.\."),
    re.compile(r"[Ss]tarting training loop at iteration (\d{1,15})"),
    re.compile(r"(?:loading|loaded) (?:distributed |release )?checkpoint [^\n]*?\bat iteration (\d{1,15})"),
    re.compile(r"saving checkpoint at iteration\s+(\d{1,15})"),
    re.compile(r"save_checkpoint for iteration (\d{1,15})"),
    re.compile(r"successfully saved checkpoint from iteration\s+(\d{1,15})"),
)
_SUMMARY = re.compile(r"CUDA OOMs: (\d{1,9})\s*\|\s*cudaMalloc retries: (\d{1,9})")
_WORLD = re.compile(
    r"using world size: (?P<world>\d{1,9})(?:, data-parallel size: \d+)?(?:, context-parallel size: (?P<cp>\d{1,9}))?"
    r"(?:[^\n]*?tensor-model-parallel size: (?P<tp>\d{1,9}))?(?:[^\n]*?pipeline-model-parallel size: (?P<pp>\d{1,9}))?"
)
_NCCL_RANK = re.compile(r"(?P<host>[\w.-]+):(?P<pid>\d+):\d+ \[(?P<gpu>\d{1,6})\] NCCL INFO comm \S+ rank (?P<rank>\d{1,9}) nranks (?P<ranks>\d{1,9})")
NCCL_ORIGIN = re.compile(r"(?P<host>[\w.-]+):(?P<pid>\d+):\d+ \[(?P<gpu>\d{1,6})\] ")
_KEYS = {
    "allocated": "allocated",
    "max allocated": "max_allocated",
    "max-allocated": "max_allocated",
    "reserved": "reserved",
    "max reserved": "max_reserved",
    "max-reserved": "max_reserved",
}


def iteration(text: str) -> int | None:
    """The last iteration that a text reports complete."""
    found = None
    for match in ITERATION.finditer(text):
        found = int(match[1])
    if found is None:
        step = _STEP.search(text)
        if step is not None:
            found = int(step[1] or step[2] or step[3])
    return found


def started_at(text: str) -> int | None:
    """The iteration at which a text says that training starts, loads or saves."""
    for pattern in STARTS:
        match = pattern.search(text)
        if match is not None:
            return int(match[1])
    return None


def milliseconds(text: str) -> float | None:
    """The time per iteration of an iteration line."""
    match = _ELAPSED.search(text)
    return float(match[1]) if match else None


def readings(text: str, line: int) -> list[Reading]:
    """The memory reports in a text; several records can stand on one line."""
    found = []
    for match in _MEMORY.finditer(text):
        factor = 10**9 if match["unit"] == "GB" else 2**20
        reading = Reading(rank=match["rank"] or "", iteration=int(match["iteration"]), line=line)
        for name, value in _PAIR.findall(match["rest"]):
            name = name.strip().removeprefix("mem-")
            if name in _KEYS:
                setattr(reading, _KEYS[name], round(float(value) * factor))
            elif name in ("alloc-retires", "alloc-retries"):
                reading.retries = int(float(value))
        found.append(reading)
    return found


def memory_summary(text: str) -> str | None:
    """What the head of PyTorch's ``torch.cuda.memory_summary()`` counts, in words."""
    match = _SUMMARY.search(text) if "CUDA OOMs" in text else None
    return None if match is None else f"PyTorch's memory summary counts {match[1]} out-of-memory errors and {match[2]} retries"


def world(text: str) -> dict[str, int] | None:
    """World size and layout of Megatron's line about them: keys world, cp, tp, pp as far as they are there."""
    match = _WORLD.search(text)
    return None if match is None else {name: int(value) for name, value in match.groupdict().items() if value is not None}


def nccl_rank(text: str) -> tuple[tuple[str, str], int, int] | None:
    """``((host, pid), rank, ranks)`` of a communicator that NCCL has made."""
    match = _NCCL_RANK.search(text)
    return None if match is None else ((match["host"], match["pid"]), int(match["rank"]), int(match["ranks"]))
