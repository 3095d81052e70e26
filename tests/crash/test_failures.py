"""What counts as which failure, and which of several was first."""

from __future__ import annotations

from typing import Any

import pytest

from lclint.crash.failures import SIGNATURES, STEMS
from lclint.crash.progress import Progress
from lclint.crash.summary import diagnose_text

ELASTIC = "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: {}) local_rank: 2 (pid: 6) of binary: /usr/bin/python"
CASES: list[tuple[str, dict[str, Any]]] = [
    ("RuntimeError: CUDA error: out of memory", {"kind": "gpu_oom", "requested_bytes": None}),
    ("torch.AcceleratorError: CUDA error: out of memory", {"kind": "gpu_oom"}),
    ("[torch_memory_saver.cpp] CUresult error: 2 (out of memory) file=core.cpp func=cu_mem_create line=187", {"kind": "gpu_oom"}),
    ("ray.exceptions.RayTaskError(OutOfMemoryError): ray::Worker.train() (pid=1, ip=10.0.0.1)", {"kind": "gpu_oom", "requested_bytes": None}),
    ("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", {"kind": "cublas_oom"}),
    ("RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", {"kind": "cublas_oom"}),
    (
        "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`\n"
        "/src/Loss.cu:1: nll_loss: Assertion `t >= 0 && t < n_classes` failed.",
        {"kind": "not_memory", "signature": "device-assert"},
    ),
    ("n1:1:2 [5] include/alloc.h:231 NCCL WARN Cuda failure 2 'out of memory'", {"kind": "nccl_oom", "local_gpu": 5, "phase": "nccl_init", "host": "n1"}),
    (
        "n1:7:8 [1] NCCL INFO comm 0x55 rank 9 nranks 16 cudaDev 1 nvmlDev 1 busId 1b000 commId 0x5 - Init COMPLETE\n"
        "n1:7:9 [1] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'\nn1:7:9 [1] include/alloc.h:185 NCCL WARN Failed to CUDA calloc 8388608 bytes",
        {"kind": "nccl_oom", "first_rank": 9, "requested_bytes": 8388608, "world_size": 16},
    ),
    ("/src/mem_heap.cpp:1509: non-zero status: 2 cuMemCreate failed", {"kind": "nvshmem_oom"}),
    ("nvshmem_align(128, 16,106,127,360) PASS", {"kind": "context_only"}),
    ("RuntimeError: DataLoader worker (pid 12) is killed by signal: Killed. ", {"kind": "host_oom", "phase": "dataloader"}),
    ("RuntimeError: DataLoader worker (pid 12) is killed by signal: Bus error. It is possible that", {"kind": "shm", "phase": "dataloader"}),
    ("RuntimeError: unable to write to file </torch_12_34_5>: No space left on device (28)", {"kind": "shm"}),
    ("n1:1:2 [0] NCCL WARN Error: failed to extend /dev/shm/nccl-abc to 9637888 bytes", {"kind": "shm"}),
    ("slurmstepd: error: Detected 3 oom_kill events in StepId=7.0. Some of the step tasks have been OOM Killed.", {"kind": "host_oom"}),
    ("slurmstepd: error: Detected 1 oom-kill event(s) in step 7.batch cgroup. Some of your processes may have been killed", {"kind": "host_oom"}),
    ("srun: error: n1: task 11: Out Of Memory", {"kind": "host_oom", "first_rank": 11}),
    ("/var/spool/job: line 7: 3297567 Killed   bash -c train", {"kind": "host_oom"}),
    (ELASTIC.format(-9), {"kind": "host_oom", "local_gpu": 2, "first_rank": None}),
    (ELASTIC.format(-9) + "\nRoot Cause (first observed failure):\n[0]:\n  rank      : 10 (local_rank: 2)", {"kind": "host_oom", "first_rank": 10}),
    (
        "E1223 05:18:02.971000 77 site-packages/torch/distributed/elastic/multiprocessing/api.py:882] failed (exitcode: -9) local_rank: 3 (pid: 5)",
        {"kind": "host_oom"},
    ),
    ("[2024-01-01 10:00:00,123] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: -9) local_rank: 1 (pid: 9)", {"kind": "host_oom"}),
    ("command terminated with exit code 137", {"kind": "host_oom"}),
    (ELASTIC.format(-11), {"kind": "not_memory", "fatal": True}),
    (ELASTIC.format(-7), {"kind": "shm"}),
    ("(raylet) node_manager.cc:3069: 2 Workers (tasks / actors) killed due to memory pressure (OOM)", {"kind": "host_oom"}),
    ("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.", {"kind": "host_oom", "capacity_bytes": None}),
    ("The worker may have exceeded K8s pod memory limits.", {"kind": "host_oom"}),
    (
        "memory allocation of memory allocation of 41943044194304 bytes failed\n bytes failed\nmemory allocation of 4194304 bytes failed",
        {"requested_bytes": 4194304},
    ),
    ("MemoryError: std::bad_alloc", {"kind": "host_oom"}),
    ("RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 1024 bytes.", {"kind": "host_oom", "requested_bytes": 1024}),
    ("numpy.core._exceptions._ArrayMemoryError: Unable to allocate 64.0 GiB for an array", {"kind": "host_oom"}),
    ("OSError: [Errno 12] Cannot allocate memory", {"kind": "host_oom"}),
    ("[12345.678] Out of memory: Killed process 4711 (python3) total-vm:1000kB", {"kind": "host_oom"}),
    ("    Reason:       OOMKilled", {"kind": "host_oom"}),
    ("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 1, Hardware limit: 2.", {"kind": "not_memory", "fatal": True}),
    ("triton.code_gen.OutOfResources: out of resource: shared memoryRequired: 147456Hardware limit: 101376", {"kind": "not_memory"}),
    ("n1:5:5 [3] misc/ibvwrap.cc:190 NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory", {"kind": "not_memory", "local_gpu": 3}),
    ("WARN: device mlx5_0 cannot allocate buffer on the specified memory type", {"kind": "not_memory"}),
    ("RDMA buffer MR registration failed: Bad address", {"kind": "not_memory"}),
    ("OSError: [Errno 28] No space left on device", {"kind": "not_memory", "fatal": True}),
    ("AssertionError: world size (16) is not divisible by the model", {"kind": "not_memory", "phase": "init"}),
    ("pretrain_gpt.py: error: unrecognized arguments: --foo", {"kind": "not_memory", "phase": "init"}),
    (
        "Global rank: 3, num_recv_tokens: -1\nGlobal rank: 11, num_recv_tokens: -1\nRuntimeError: DeepEP error: timeout (dispatch CPU)",
        {"first_rank": 3, "phase": "moe"},
    ),
    ("  max_tokens_to_oom ............................... 12000", {"kind": "context_only", "fatal": False}),
    ("To avoid CUDA out of memory errors, set micro_batch_size to 1", {"kind": "context_only", "fatal": False}),
    ("{'text': 'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB means that it is full'}", {"kind": "not_memory", "fatal": False}),
    ("{'prompt': 'CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB'}", {"kind": "not_memory", "fatal": False}),
    ("UserWarning: expandable_segments not supported on this platform", {"kind": "context_only"}),
    ("", {"kind": "context_only", "fatal": False, "phase": "unknown", "iteration": None}),
]


@pytest.mark.parametrize(("log", "wanted"), CASES, ids=[log[:40] for log, _ in CASES])
def test_one_line(log: str, wanted: dict[str, Any]) -> None:
    crash = diagnose_text(log)
    assert {name: getattr(crash, name) for name in wanted} == wanted


def test_time_outs_follow_from_the_failure(pieces) -> None:
    log = "\n".join(
        [
            pieces.iteration(7),
            pieces.timeout(3),
            pieces.stack("step", "backward", last=pieces.message(), prefix="[rank5]: "),
            pieces.timeout(4),
            pieces.timeout(6),
        ]
    )
    crash = diagnose_text(log)
    assert (crash.kind, crash.first_rank, crash.iteration, crash.died_of_it) == ("gpu_oom", 5, 7, 3)


def test_only_time_outs(pieces) -> None:
    crash = diagnose_text("\n".join(pieces.timeout(rank) for rank in (3, 1, 2)))
    assert (crash.kind, crash.fatal, crash.first_rank, crash.phase) == ("not_memory", True, 3, "unknown")


def test_a_handled_failure_is_not_the_crash(pieces) -> None:
    sentence = pieces.message().removeprefix("torch.OutOfMemoryError: ")
    merging = f"WARNING:megatron.core.transformer.utils:CUDA OutOfMemoryError encountered during tensors merging. Switching to CPU merge. (Error: {sentence})"
    alone = diagnose_text(f"{merging}\n{pieces.iteration(401)}")
    assert (alone.kind, alone.fatal, alone.phase, alone.iteration, alone.handled) == ("handled_oom", False, "checkpoint_load", 401, 1)
    later = diagnose_text(f"{merging}\n{pieces.stack('step', 'backward', last=pieces.message('2.00 GiB'), prefix='[rank4]: ')}")
    assert (later.kind, later.fatal, later.first_rank, later.requested_bytes) == ("gpu_oom", True, 4, 2 * 2**30)


@pytest.mark.parametrize(
    "line",
    [
        "[rank3]:[W1125 19:49:13.737053108 CUDACachingAllocator.cpp:1] CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.11 GiB",
        "WARNING - CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.11 GiB of which 1.00 GiB is free. Skipping this batch",
    ],
)
def test_warnings(line, pieces) -> None:
    assert diagnose_text(f"{line}\n{pieces.iteration(5)}").kind == "handled_oom"


def test_pinned_host_memory(pieces) -> None:
    assert diagnose_text(pieces.stack("pin", last="RuntimeError: CUDA error: out of memory")).kind == "host_oom"
    assert diagnose_text(pieces.stack("step", "mlp", last="RuntimeError: CUDA error: out of memory")).kind == "gpu_oom"
    assert diagnose_text(pieces.stack("pin", last="torch.AcceleratorError: CUDA error: invalid argument")).kind == "not_memory"


def test_nccl_buffers_belong_to_the_rank_that_dies_of_them(pieces) -> None:
    log = "n1:5:6 [2] include/alloc.h:231 NCCL WARN Cuda failure 2 'out of memory'\n"
    log += "n1:5:6 [2] include/alloc.h:246 NCCL WARN Failed to CUDA calloc async 16777216 bytes\n"
    log += pieces.stack("step", "reduce", last="torch.distributed.DistBackendError: NCCL error in: x.hpp:268, unhandled cuda error", prefix="[rank10]: ")
    crash = diagnose_text(log)
    assert (crash.kind, crash.first_rank, crash.phase, crash.requested_bytes) == ("nccl_oom", 10, "grad_reduce", 16777216)


def test_a_traceback_without_its_end(pieces) -> None:
    crash = diagnose_text(pieces.stack("arguments", last="", prefix="[rank4]: ").rsplit("\n", 1)[0])
    assert (crash.kind, crash.fatal, crash.first_rank, crash.phase) == ("context_only", True, 4, "init")


def test_two_attempts(pieces) -> None:
    first = pieces.stack("step", "backward", last=pieces.message(), prefix="[rank1]: ")
    second = pieces.stack("step", "backward", last=pieces.message(), prefix="[rank6]: ")
    crash = diagnose_text(
        "\n".join([pieces.iteration(120), first, "[ft_launcher] 2/3 attempts left; will restart worker group", pieces.iteration(116), second])
    )
    assert (crash.first_rank, crash.iteration) == (1, 120)


def test_thrash(pieces) -> None:
    lines = []
    for number, (time, retries) in enumerate([(4000, 0), (4100, 3), (5900, 19), (9800, 61), (16400, 140)], 1):
        lines += [pieces.iteration(number * 10, time), pieces.memory(number * 10, retries)]
    crash = diagnose_text("\n".join(lines))
    assert (crash.kind, crash.fatal, crash.phase, crash.iteration, crash.allocated_bytes) == ("allocator_thrash", False, "unknown", 50, 52_110_000_000)
    steady = [line.replace("16400", "4100").replace("9800", "4100").replace("5900", "4100") for line in lines]
    assert diagnose_text("\n".join(steady)).kind == "context_only"


@pytest.mark.parametrize(
    "line",
    [
        "[Rank 0] (after 20 iterations) memory (MB) | allocated: 7210.80 | reserved: 13980.0.. | max reserved: .",
        "CUDA out of memory. Tried to allocate " + "9" * 5000 + ".00 GiB. GPU 0 has a total capacity of 79.11 GiB",
        " iteration " + "9" * 5000 + "/ 100 | elapsed time per iteration (ms): " + "9" * 5000 + " |",
        "[rank" + "1" * 5000 + "]: text",
        "memory allocation of " + "9" * 5000 + " bytes failed",
        "  seq_length ...................................... " + "9" * 5000,
    ],
)
def test_numbers_that_are_none(line) -> None:
    assert diagnose_text(line).kind in ("context_only", "gpu_oom", "host_oom", "not_memory")


def test_every_needle_holds_a_stem() -> None:
    for signature in SIGNATURES:
        for needle in signature.needles:
            assert any(stem in needle for stem in STEMS), needle


def test_a_memory_summary_is_told() -> None:
    crash = diagnose_text("|            CUDA OOMs: 2            |        cudaMalloc retries: 7         |\n| Allocated memory      |   61218 MB |\n")
    assert (crash.kind, crash.notes) == ("context_only", ["PyTorch's memory summary counts 2 out-of-memory errors and 7 retries (line 1)"])


def test_attempts_are_those_of_a_file(pieces) -> None:
    """A start behind iterations is another attempt; the same lines at the beginning of another file are not."""
    progress = Progress()
    start = "using world size: 8, data-parallel size: 8"
    progress.begin("node-0.log")
    for number, line in enumerate([start, pieces.iteration(1), start, "[after megatron is initialized] datetime: 2026-01-02", pieces.iteration(1)], 1):
        progress.feed(line, number)
    assert progress.attempt == 1
    progress.begin("node-1.log")
    progress.feed(start, 1)
    assert progress.attempt == 0
