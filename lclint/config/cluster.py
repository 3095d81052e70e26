"""What is said about the GPUs: from a name that users type to the ``gpu.*`` values that rules read."""

from __future__ import annotations

from typing import Any

from lclint.catalog import tables
from lclint.core.errors import UsageError
from lclint.core.states import UNKNOWN

# name in rules -> what it is, with its unit
GPU_FACTS = {
    "gpu.name": "the name as users type it, such as gb200",
    "gpu.device_prefix": "how the device name that PyTorch reports begins",
    "gpu.memory_gib": "total memory as PyTorch reports it, GiB",
    "gpu.capability_major": "first number of the compute capability",
    "gpu.nvlink_domain": "GPUs that one NVLink domain connects, 0 for none",
    "gpu.host_gb": "host memory for each GPU in common machines, GB",
    "gpu.gpus_per_node": "GPUs of one node as NVIDIA builds it",
    "gpu.precisions": "list of fp8_tensorwise, fp8_blockwise, mxfp8, nvfp4 that the GPU supports",
    "gpu.dispatchers": "list of MoE dispatchers that Bridge accepts on it",
}


def gpu_facts(name: str) -> dict[str, Any]:
    """The ``gpu.*`` values of a GPU; a figure that is not known is unknown.

    Raises UsageError for a name that the catalogue does not have.
    """
    known = tables.gpus()
    gpu = known.get(name.lower())
    if gpu is None:
        raise UsageError(f"no such GPU: {name}", hint=f"known are {', '.join(sorted(known))}")
    values = {
        "gpu.name": gpu.key,
        "gpu.device_prefix": gpu.device_prefix,
        "gpu.memory_gib": gpu.torch_total_gib,
        "gpu.capability_major": None if gpu.capability is None else gpu.capability[0],
        "gpu.nvlink_domain": gpu.nvlink_domain,
        "gpu.host_gb": gpu.host_gb,
        "gpu.gpus_per_node": gpu.gpus_per_node,
        "gpu.precisions": None if gpu.precisions is None else list(gpu.precisions),
        "gpu.dispatchers": None if gpu.dispatchers is None else list(gpu.dispatchers),
    }
    return {field: UNKNOWN if value is None else value for field, value in values.items()}
