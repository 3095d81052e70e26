"""Every wording of PyTorch's sentence, behind every kind of prefix, cut into lines at any width: the figures, the rank and the phase are the same."""

from __future__ import annotations

import random

import pytest

from lclint.crash.summary import diagnose_text

GIB = 2**30
TAIL = "  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF"
OLD = "CUDA out of memory. Tried to allocate 3.25 GiB (GPU 2; 44.40 GiB total capacity; 38.50 GiB already allocated; 1.75 GiB free; "
NEW = (
    "CUDA out of memory. Tried to allocate 3.25 GiB. GPU 2 has a total capac{}ty of 44.40 GiB of which 1.75 GiB is free. "
    "Process 411 has 512.00 MiB memory in use. "
    "Of the allocated memory 38.50 GiB is allocated by PyTorch, and 2.50 GiB is reserved by PyTorch but unallocated. "
    "If reserved but unallocated memory is large try setting "
)
WORDINGS = {
    "1.4": OLD + "2.50 GiB cached)",
    "1.5": OLD + "41.00 GiB reserved in total by PyTorch)",
    "1.10": OLD
    + "41.00 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation."
    + TAIL,
    "2.1": NEW.format("") + "max_split_size_mb to avoid fragmentation." + TAIL,
    "2.2": NEW.format("i") + "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  "
    "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
    "2.9": NEW.format("i") + "PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  "
    "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
}
PREFIXES = {
    "none": ("", None),
    "torchrun": ("[rank41]: ", 41),
    "tee": ("[default1]:[rank41]: ", 41),
    "srun": (" 41: ", 41),
    "mpi": ("[1,41]<stderr>:", 41),
    "ray": ("\x1b[36m(WorkerDict pid=41, ip=10.0.0.4)\x1b[0m ", None),
    "nemo-run": ("exp.pretrain/0 [rank41]: ", 41),
    "journald": ("May 01 10:11:12 n5 torchrun[44]: [rank41]: ", 41),
    "rsyslog": ("2026-05-01T10:11:12.000123+00:00 n5 torchrun[44]: [rank41]: ", 41),
    "cri": ("2026-05-01T10:11:12.123456789Z stderr F [rank41]: ", 41),
    "kubectl": ("[pod/w-4/main] [rank41]: ", 41),
    "compose": ("trainer-1  | [rank41]: ", 41),
    "logging": ("2026-05-01 10:11:12,123 - train.loop - ERROR - [rank41]: ", 41),
    "bars": ("2026-05-01 10:11:12.123 | ERROR | rank=41 | ", 41),
    "viewer": ("[80746] [rank41]: ", 41),
    "pytest": ("E                       ", None),
    "pdsh": ("node-5: [rank41]: ", 41),
}
CLASSES = (
    "torch.OutOfMemoryError: ",
    "torch.cuda.OutOfMemoryError: ",
    "RuntimeError: ",
    "ray.exceptions.RayTaskError(OutOfMemoryError): torch.OutOfMemoryError: ",
)


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("wording", WORDINGS)
def test_any_width(wording, prefix, pieces) -> None:
    before, rank = PREFIXES[prefix]
    dice = random.Random(f"{wording} {prefix}")
    for width in (400, 132, *dice.sample(range(40, 120), 12)):
        *stack, last = pieces.stack("step", "experts", last=dice.choice(CLASSES) + WORDINGS[wording]).split("\n")
        lines = stack + [last[start : start + width] for start in range(0, len(last), width)]
        log = "\n".join(before + line for line in lines) + "\n" + pieces.timeout(7) + "\n"
        crash = diagnose_text(log)
        found = (crash.kind, crash.phase, crash.first_rank, crash.requested_bytes, crash.capacity_bytes, crash.free_bytes, crash.allocated_bytes)
        sizes = tuple(round(size * GIB) for size in (3.25, 44.4, 1.75, 38.5))
        assert found == ("gpu_oom", "moe", rank, *sizes), log
        assert crash.reserved_unallocated_bytes == round(2.5 * GIB), log


DUMPS = {
    "arguments": (
        "------------------------ arguments ------------------------\n  micro_batch_size ................................ 2\n"
        "  recompute_modules ............................... ['core_attn', 'mlp']\n  sequence_parallel ............................... True\n"
        "  virtual_pipeline_model_parallel_size ............ None\n-------------------- end of arguments ---------------------\n"
    ),
    "summary": (
        "======\nConfiguration Summary (Non-Default Values vs Megatron Core)\n======\n\n[model] Non-default values (vs Mcore TransformerConfig):\n"
        "  recompute_modules: ['core_attn', 'mlp']  (Mcore default: None)\n  sequence_parallel: True  (Mcore default: False)\n"
        "  virtual_pipeline_model_parallel_size: None  (Mcore default: 1)\n\nOther Configuration Values:\n[train]:\n  micro_batch_size: 2\n======\n"
    ),
    "yaml": (
        "checkpoint:\n  _target_: megatron.bridge.training.config.CheckpointConfig\n  async_save: false\nmodel:\n"
        "  _target_: megatron.bridge.models.llama.llama_provider.LlamaModelProvider\n  params_dtype:\n    _call_: false\n    _target_: torch.bfloat16\n"
        "  recompute_modules:\n  - core_attn\n  - mlp\n  sequence_parallel: true\n  virtual_pipeline_model_parallel_size: null\ntrain:\n"
        "  _target_: megatron.bridge.training.config.TrainingConfig\n  micro_batch_size: 2\n----------------------------------\n"
    ),
}


# pytest indents by as many blanks as it likes
@pytest.mark.parametrize("prefix", [name for name in PREFIXES if name != "pytest"])
@pytest.mark.parametrize("dump", DUMPS)
def test_settings(dump, prefix, pieces) -> None:
    before, _ = PREFIXES[prefix]
    log = "".join(f"{before}{line}\n" for line in DUMPS[dump].splitlines()) + pieces.iteration(3) + "\n"
    found = diagnose_text(log).settings
    assert found["train.micro_batch_size"] == 2
    assert found["model.recompute_modules"] == ["core_attn", "mlp"]
    assert found["model.sequence_parallel"] is True
    assert found["model.virtual_pipeline_model_parallel_size"] is None
