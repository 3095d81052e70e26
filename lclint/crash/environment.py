"""What a log tells about the environment of the job: variables, versions, the GPU."""

# ruff: noqa: E501 - a pattern is easier to read on one line
from __future__ import annotations

import re

from lclint.catalog import tables

_VARIABLE = re.compile(
    r"(?:^|[\s'\"])(?:export |declare -x )?((?:NCCL|PYTORCH|CUDA|NVTE|NVSHMEM|TORCH|TORCHINDUCTOR|NVLINK|HYBRIDEP|USE|UB|GLOO|OMP|RAY)_[A-Z0-9_]+|CUDA_LAUNCH_BLOCKING)=(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\s'\",;)]+))"
)
_NCCL_SET = re.compile(r"NCCL INFO (NCCL_[A-Z0-9_]+) set by environment to ([^\s.]+)")
_VERSIONS = {
    "torch": re.compile(r"(?i)\b(?:pytorch|torch)(?: version)?\s*(?:==|[:=])\s*v?(\d+\.\d+(?:\.\d+)?)"),
    "te": re.compile(r"(?i)\btransformer[-_ ]engine(?: version)?\s*(?:==|[:=])\s*v?(\d+\.\d+(?:\.\d+)?)"),
    "nccl": re.compile(r"NCCL version (\d+\.\d+(?:\.\d+)?)"),
}
_DEVICE_NAME = re.compile(r"NVIDIA (?:GB|H|A|B|L|R|VR)\d{2,3}\w*(?: [A-Z0-9 -]*\d+ ?GB\w*)?")
_QUICK = ("NCCL_", "PYTORCH_", "CUDA_", "NVTE_", "NVSHMEM_", "TORCH_", "RAY_")
_QUICK_VERSIONS = ("version", "==", "NVIDIA ")

# capacities that PyTorch reports, GiB, where one card alone has them (+-0.5 %)
TOLERANCE = 0.005


def variables(text: str) -> dict[str, str]:
    """Environment variables that a text sets or shows; advice ("try setting X=...") is none."""
    if not any(quick in text for quick in _QUICK) or "try setting" in text or "Error" in text:
        return {}
    found = {match[1]: match[2] or match[3] or match[4] or "" for match in _VARIABLE.finditer(text)}
    shown = _NCCL_SET.search(text)
    if shown is not None:
        found[shown[1]] = shown[2]
    return found


def versions(text: str) -> dict[str, str]:
    """Versions of torch, te and nccl that a text names."""
    if not any(quick in text for quick in _QUICK_VERSIONS):
        return {}
    return {name: match[1] for name, pattern in _VERSIONS.items() if (match := pattern.search(text)) is not None}


def device_name(text: str) -> str | None:
    """The catalogue's key of a device name such as NVIDIA H100 80GB HBM3."""
    if "NVIDIA " not in text:
        return None
    match = _DEVICE_NAME.search(text)
    if match is None:
        return None
    keys = {gpu.key for gpu in tables.gpus().values() if gpu.device_prefix and match[0].startswith(gpu.device_prefix) and gpu.torch_total_gib}
    return keys.pop() if len(keys) == 1 else None


def by_capacity(size: int) -> str | None:
    """The GPU whose capacity this is; None where several or none of the catalogue's have it."""
    gib = size / 2**30
    keys = {gpu.key for gpu in tables.gpus().values() if gpu.torch_total_gib and abs(gpu.torch_total_gib - gib) <= TOLERANCE * gib}
    return keys.pop() if len(keys) == 1 else None


def fills(size: int, share: float) -> bool:
    """Whether that many reserved bytes are at least that share of the capacity of some GPU, and no more than it."""
    return any(gpu.torch_total_gib and share <= size / 2**30 / gpu.torch_total_gib <= 1.005 for gpu in tables.gpus().values())
