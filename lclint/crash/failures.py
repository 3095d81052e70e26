"""The lines by which a run says that it failed, apart from PyTorch's sentence: memory of other kinds, and what is not memory.

A signature has a weight: 3 says the cause, 2 makes one probable (a process that got SIGKILL), 1 is what other ranks die of.
"""

# ruff: noqa: E501 - a pattern is easier to read on one line
from __future__ import annotations

import re

from lclint.core.finding import Record

CAUSE, PROBABLE, CONSEQUENCE = 3, 2, 1


class Signature(Record):
    """One pattern. ``needles`` are texts of which one must be there before the pattern is tried; ``phase`` is set where the line itself says it."""

    __slots__ = ("name", "kind", "weight", "needles", "pattern", "phase")
    name: str
    kind: str
    weight: int
    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    phase: str | None
    defaults = {"phase": None}


def _s(name: str, kind: str, weight: int, needles: tuple[str, ...], pattern: str, phase: str | None = None) -> Signature:
    return Signature(name=name, kind=kind, weight=weight, needles=needles, pattern=re.compile(pattern), phase=phase)


# fmt: off
SIGNATURES = (
    _s("nic-memory", "not_memory", CAUSE, ("ibv_", "mlx5", "RDMA", "MR registration"), r"ibv_\w+ failed with error Cannot allocate memory|cannot allocate buffer on the specified memory type|MR registration failed", "nccl_init"),
    _s("nccl-buffer", "nccl_oom", CAUSE, ("NCCL WARN",), r"NCCL WARN (?:Cuda failure (?:2 )?'out of memory'|Failed to CUDA (?:calloc|malloc|host alloc)\w*(?: async)? (?P<bytes>\d{1,15}) bytes)"),
    _s("nccl-buffer", "nccl_oom", CAUSE, ("Cuda failure", "CUDA calloc", "CUDA malloc"), r"Cuda failure (?:2 )?'out of memory'|Failed to CUDA (?:calloc|malloc)\w*(?: async)? (?P<bytes>\d{1,15}) bytes"),
    _s("nccl-buffer", "nccl_oom", CAUSE, ("Multicast memory", "NCCL WARN"), r"NVLS\) Multicast memory[^\n]*'out of memory'|NCCL WARN [^\n]{0,200}C(?:uda|UDA) (?:failure|error):? (?:2 )?'out of memory'"),
    _s("nvshmem-heap", "nvshmem_oom", CAUSE, ("non-zero status", "nvshmem"), r"non-zero status: \d+,? ?(?:cuMemCreate failed|allocate_physical_memory_to_heap failed|cuMem\w+ failed)|nvshmem\w*[^\n]*(?:out of memory|failed to allocate)"),
    _s("memory-saver", "gpu_oom", CAUSE, ("CUresult error",), r"CUresult error: 2 \(out of memory\)"),
    _s("device-assert", "not_memory", CAUSE, ("device-side assert", "Assertion `"), r"device-side assert triggered|Assertion `[^`]*` failed"),
    _s("cublas-handle", "cublas_oom", CAUSE, ("CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED"), r"CU(?:BLAS|DNN)_STATUS_ALLOC_FAILED"),
    _s("cublas-handle", "cublas_oom", PROBABLE, ("CUBLAS_STATUS_NOT_INITIALIZED", "CUDNN_STATUS_NOT_INITIALIZED"), r"CU(?:BLAS|DNN)_STATUS_NOT_INITIALIZED"),
    _s("cublas-handle", "cublas_oom", CAUSE, ("the resource allocation failed",), r"cu(?:BLAS|DNN)\w* [Ee]rror: the resource allocation failed"),
    _s("cuda-malloc", "gpu_oom", CAUSE, ("rror: out of memory", "CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation"), r"CUDA (?:driver |runtime )?[Ee]rror: out of memory|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation(?!\s*=)"),
    _s("cache-blocks", "gpu_oom", CAUSE, ("cache blocks", "mem-fraction-static", "KV cache", "on startup is less than"), r"No available memory for the cache blocks|Not enough memory\. Please try to increase --mem-fraction-static|(?:max seq len|model length)[^\n]{0,80}is larger than the [^\n]{0,60}KV cache|larger than the available KV cache memory|Free memory on device[^\n]{0,80}on startup is less than desired", "init"),
    _s("dataloader-bus-error", "shm", CAUSE, ("Bus error",), r"killed by signal: Bus error|out of shared memory\. Please try to raise|Unexpected bus error", "dataloader"),
    _s("shared-memory", "shm", CAUSE, ("/dev/shm", "torch_shm", "shared memory", "</torch_", "No space left on device: '/psm_"), r"No space left on device: '/psm_|(?:No space left|failed to extend|failed to open|unable to (?:open|write|mmap|resize))[^\n]*(?:/dev/shm|</torch_|shared memory object)|/dev/shm[^\n]{0,60}(?:No space left|is full)"),
    _s("dataloader-killed", "host_oom", CAUSE, ("is killed by signal: Killed",), r"DataLoader worker \(pid[^)]*\) is killed by signal: Killed", "dataloader"),
    _s("cgroup", "host_oom", CAUSE, ("oom_kill", "oom-kill", "OOM Killed", "out-of-memory handler"), r"Detected \d+ oom[_-]kill event|have been OOM Killed|cgroup out-of-memory handler|oom-kill:constraint"),
    _s("cgroup", "host_oom", CAUSE, ("Out Of Memory",), r"srun: error: \S+ tasks? (?P<task>\d{1,9})[\d,-]*: Out Of Memory"),
    _s("cgroup", "host_oom", CAUSE, ("job killed: ", "memory limit", "memory usage limit"), r"=>> PBS: job killed: \w*mem \S+ exceeded limit|^TERM_MEMLIMIT: |slurmstepd: error: (?:Exceeded (?:job|step) memory limit|(?:Job|Step) \S+ exceeded memory limit)"),
    _s("kernel-oom-killer", "host_oom", CAUSE, ("ut of memory: Kill", "OOMKilled"), r"[Oo]ut of memory: Kill(?:ed)? process|(?<!\bon )(?<!\bif )(?<!\bwhen )(?<!\bnot )(?<!\bare )(?<!\bbe )(?<!\bfor )\bOOMKilled\b(?![\"']?\s*[:=]\s*(?:false|0|null))"),
    _s("ray-memory-monitor", "host_oom", CAUSE, ("memory pressure", "running low on memory"), r"killed due to memory pressure|due to the node running low on memory"),
    _s("ray-system-error", "host_oom", PROBABLE, ("exceeded K8s pod memory", "memory limits"), r"may have exceeded K8s pod memory limits"),
    _s("rust-allocation", "host_oom", CAUSE, ("memory allocation of",), r"memory allocation of (?P<bytes>\d{1,15}) bytes failed", "dataloader"),
    _s("bad-alloc", "host_oom", CAUSE, ("bad_alloc",), r"std::bad_alloc"),
    _s("host-allocation", "host_oom", CAUSE, ("DefaultCPUAllocator", "MemoryError", "Errno 12"), r"DefaultCPUAllocator: [^\n]*?tried to allocate (?P<bytes>\d{1,15}) bytes|DefaultCPUAllocator: (?:can't|not enough) [^\n]*memory|\b_?(?:Array)?MemoryError\b(?::|$)|\[Errno 12\] Cannot allocate memory"),
    _s("sigkill", "host_oom", PROBABLE, ("exitcode: -9", "exitcode  : -9", "exitcode: 137", "SIGKILL"), r"failed \(exitcode: (?:-9|137)\) local_rank: (?P<local>\d{1,6})|exitcode\s*: (?:-9|137) \(pid|Signal 9 \(SIGKILL\) received"),
    _s("sigkill", "host_oom", PROBABLE, ("signal SIGKILL", "Signals.SIGKILL", "exits with return code"), r"process \d+ terminated with signal SIGKILL|died with <Signals\.SIGKILL: 9>|exits with return code = -9"),
    _s("sigkill", "host_oom", PROBABLE, ("exit code 137", "Exit Code: 137", "exit status 137"), r"(?i)(?:terminated|exited|failed|finished|died|process|container|command|task \d+)\b[^.;]{0,60}\bexit (?:code|status):? 137\s*$|^\s*exit (?:code|status):\s*137\s*$"),
    _s("time-limit", "not_memory", CAUSE, ("DUE TO TIME", "due to time limit"), r"CANCELLED AT \S+ DUE TO TIME ?LIMIT|Terminated due to time limit"),
    _s("preempted", "not_memory", CAUSE, ("PREEMPTION", "Preempted", "preempted"), r"CANCELLED AT \S+ DUE TO PREEMPTION|(?:job|pod|node|instance|Pod|Job) (?:was |is being )?[Pp]reempted"),
    _s("node-failure", "not_memory", CAUSE, ("Node failure", "NODE FAIL"), r"srun: error: Node failure on|DUE TO NODE ?FAIL"),
    _s("cancelled", "not_memory", CONSEQUENCE, ("CANCELLED AT",), r"\*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT"),
    _s("gpu-fault", "not_memory", CAUSE, ("Xid",), r"Xid \([^)\n]*\): (?:48|64|74|79|92|9[45]|1[124]\d)\b"),
    _s("gpu-fault", "not_memory", CAUSE, ("ECC error", "fallen off the bus", "GPU is lost"), r"uncorrectable ECC error|fallen off the bus|GPU is lost"),
    _s("gpu-program-fault", "not_memory", CONSEQUENCE, ("Xid",), r"Xid \([^)\n]*\): \d+"),
    _s("evicted", "host_oom", CAUSE, ("low on resource: memory",), r"was low on resource: memory"),
    _s("sigkill", "host_oom", PROBABLE, (": Killed",), r"srun: error: \S+ task (?P<task>\d{1,9}): Killed"),
    _s("sigkill", "host_oom", PROBABLE, (" Killed ", "Killed"), r"line \d+:\s+\d+ Killed\b|^Killed$|\(core dumped\) Killed"),
    _s("sigbus", "shm", PROBABLE, ("exitcode: -7", "exitcode  : -7", "SIGBUS"), r"failed \(exitcode: -7\) local_rank: (?P<local>\d{1,6})|exitcode\s*: -7\b|Signal 7 \(SIGBUS\) received"),
    _s("triton-shared-memory", "not_memory", CAUSE, ("OutOfResources", "out of resource"), r"out of resources?: shared memory"),
    _s("deepep-timeout", "not_memory", CAUSE, ("DeepEP",), r"DeepEP error: timeout|DeepEP (?:dispatch|combine)[^\n]*timeout", "moe"),
    _s("expandable-segments-guard", "not_memory", CAUSE, ("NCCL_GRAPH_REGISTER",), r"(?:Error|assert)[^\n]*NCCL_GRAPH_REGISTER=0[^\n]*expandable_segments", "init"),
    _s("offload-with-pipeline", "not_memory", CAUSE, ("CPU offloading", "cpu offloading"), r"(?i)no support for Pipeline parallelism with CPU offloading", "init"),
    _s("recompute-method", "not_memory", CAUSE, ("activation recompute method",), r"Invalid activation recompute method"),
    _s("optimizer-instances", "not_memory", CAUSE, ("partial DistOpt shard factor", "num_distributed_optimizer_instances"), r"Expert data parallel size should be divisible by partial DistOpt|not divisible by num_distributed_optimizer_instances", "init"),
    _s("pinned-offload", "not_memory", CAUSE, ("invalid argument",), r"CUDA error: invalid argument"),
    _s("illegal-access", "not_memory", CAUSE, ("illegal memory access",), r"CUDA error: an illegal memory access|Warp Illegal Address"),
    _s("collective-timeout", "not_memory", CONSEQUENCE, ("Watchdog caught",), r"Watchdog caught collective operation timeout"),
    _s("disk-full", "not_memory", CAUSE, ("No space left", "Disk quota"), r"\[Errno 28\] No space left on device|Disk quota exceeded"),
    _s("arguments", "not_memory", CAUSE, ("error: unrecognized arguments", "error: argument"), r"error: (?:unrecognized arguments|argument [^\n]*invalid)", "init"),
    _s("segmentation-fault", "not_memory", PROBABLE, ("exitcode: -11", "exitcode: -6", "Segmentation fault", "SIGSEGV"), r"failed \(exitcode: -(?:11|6)\) local_rank: (?P<local>\d{1,6})|Segmentation fault|Signal 11 \(SIGSEGV\) received"),
)
# fmt: on

# an exception's last line; what wraps another error or follows from one is not a cause
ERROR = re.compile(
    r"^\W{0,3}(?:[A-Za-z_][\w]*\.)*(?P<name>[A-Z]\w*(?:Error|Exception|OutOfResources|Exit|Interrupt|Timeout))(?:\((?P<inner>\w+)\))?(?:: (?P<text>.*)|:?$)"
)
WRAPPERS = (
    "ChildFailedError",
    "RayTaskError",
    "DistBackendError",
    "RayActorError",
    "ActorDiedError",
    "KeyboardInterrupt",
    "SystemExit",
    "SignalException",
    "BrokenPipeError",
    "ConnectionResetError",
    "DistNetworkError",
    "DistStoreError",
    "WorkerCrashedError",
)
_DIES_OF_IT = re.compile(
    r"Connection (?:closed|reset)|closed by (?:remote )?peer|Broken pipe|ncclRemoteError|Socket Timeout|TCPStore|recvValue failed|unhandled (?:system|cuda) error|aborted|NCCL (?:timeout|error)"
)
_HANDLED = re.compile(
    r"(?i)switching to|fall(?:ing|s)? ?back|retry|retri(?:ed|es)|skipping|will (?:be )?(?:split|reduced)|encountered during|caught|recover|continu|ignored|trying again|(?<!un)handled"
)


# every needle holds one of these: a line without them is passed over quickly (a test compares the two)
# fmt: off
STEMS = (
    "emory", "xit", "Kill", "kill", "CUDA", "CUBLAS", "CUDNN", "rror", "SIG", "NCCL", "No space", "Errno", "Watchdog", "invalid", "Cuda", "nvshmem", "quota",
    "bad_alloc", "DeepEP", "mlx5", "ibv_", "RDMA", "status", "shm", "OOM", "oom", "ssert", "fault", "resource", "Resource", "activation", "ffloading", "DistOpt",
    "optimizer_instances", "torch_", "registration", "cache blocks", "mem-fraction", "KV cache", "startup", "TIME", "time limit", "reempt", "PREEMPT", "NODE", "Node ",
    "CANCELLED", "Xid", "ECC", "bus", "GPU is",
)
# fmt: on


def match(text: str) -> tuple[Signature, re.Match[str]] | None:
    """The first signature that a record shows."""
    for stem in STEMS:
        if stem in text:
            break
    else:
        return None
    for signature in SIGNATURES:
        for needle in signature.needles:
            if needle in text:
                found = signature.pattern.search(text)
                if found is not None:
                    return signature, found
                break
    return None


def is_consequence(name: str, text: str) -> bool:
    """Whether an exception is what a rank dies of when another one has failed, or wraps another error."""
    return name in WRAPPERS or _DIES_OF_IT.search(text) is not None


def is_handled(lead: str, tail: str, level: str | None) -> bool:
    """Whether the text around an out-of-memory sentence says that the program dealt with it."""
    if _HANDLED.search(lead):
        return True
    if level == "WARNING" and "Error:" not in lead[-40:]:
        return True
    return _HANDLED.search(tail) is not None
