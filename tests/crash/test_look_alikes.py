"""Lines of healthy runs that hold the words of failures: in names, counts, documentation, generated text and memories of earlier runs."""

from __future__ import annotations

import pytest

from lclint.crash.summary import diagnose_text

LINES = (
    "INFO: retry policy: on CUDA out of memory the batch is halved",
    "Jobs that are OOM Killed are requeued by the scheduler",
    '"OOMKilled": false, "ExitCode": 0',
    "restartPolicy: on OOMKilled the pod starts again",
    "oom_score_adj set to -1000",
    "(raylet) memory pressure is 0.31, threshold 0.95",
    "NOTE: exit code 137 means that the pod was killed",
    "torch.cuda.OutOfMemoryError handler registered",
    "UserWarning: MemoryError is raised for large arrays",
    'docs: "RuntimeError: CUDA error: out of memory" may appear when the driver is old',
    "if you see CUBLAS_STATUS_ALLOC_FAILED, lower the micro batch",
    "wandb: tags ['oom', 'CUDA out of memory. Tried to allocate 1.00 GiB']",
    "  max_tokens_to_oom ............................... 12000",
    "  oom_retries ..................................... 3",
    "[NeMo W 2026-02-03 10:00:00 nemo_logging:349] /opt/x.py:12: UserWarning: out of memory events are not counted",
    "step 3 | eval/oom_rate: 0.0 | killed: 0",
    '{"role": "user", "content": "why \'CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 7.79 GiB total capacity)\'?"}',
    'prompt 4 -> "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."',
    "Generated: Killed",
    "model answer: Segmentation fault means that",
    "WARNING: /dev/shm has 64 MB; full shared memory may lead to bus errors",
    "INFO:root:NVRM version: NVIDIA UNIX x86_64 Kernel Module 550.54",
    "ECC errors: 0",
    "GPU 0: Xid count 0",
    "Preempted jobs: 0",
    "time limit: 4:00:00",
    "SLURM_JOB_TIME_LIMIT=240",
    "[rank0]:[W402 09:12:41.77 ProcessGroupNCCL.cpp:1] Warning: WARNING: destroy_process_group() was not called before program exit",
    "No available memory for the cache blocks is the message that vLLM prints then",
    "`RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB` is fixed in v2",
    '- fixes "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0)" (#123)',
    "tests/test_oom.py::test_message[CUDA out of memory. Tried to allocate 20.00 MiB] PASSED",
    '+ grep -c "CUDA out of memory. Tried to allocate" old.log',
    "last run failed with: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB.",
    "resuming after 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB.' in the previous attempt",
)
IN_PASSING = (
    "> RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB. We fixed this by",
    "# RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0)",
    "node 7 said: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.79 GiB total capacity)",
    "n1:1:2 [5] include/alloc.h:231 NCCL WARN Cuda failure 2 'out of memory'",
    "Apr 02 10:00:00 n7 kernel: Out of memory: Killed process 99 (jupyter) total-vm:1kB",
)


@pytest.mark.parametrize("after", [0, 2, 5])
@pytest.mark.parametrize("line", LINES)
def test_no_failure(line, after, pieces) -> None:
    crash = diagnose_text("\n".join([pieces.iteration(4), line, *(pieces.iteration(5 + n) for n in range(after))]) + "\n")
    assert (crash.kind in ("context_only", "not_memory"), crash.fatal) == (True, False)
    assert crash.iteration == 4 + after


@pytest.mark.parametrize("line", IN_PASSING)
def test_the_run_goes_on(line, pieces) -> None:
    """What could be the end of a run is not when many iterations follow."""
    lines = [pieces.iteration(4), line]
    assert diagnose_text("\n".join(lines) + "\n").fatal
    crash = diagnose_text("\n".join(lines + [pieces.iteration(5 + n) for n in range(5)]) + "\n")
    assert (crash.fatal, crash.iteration) == (False, 9)
