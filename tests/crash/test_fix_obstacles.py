"""What diagnose must not do: write over a file that says something else, or take prose for a failure."""

from __future__ import annotations

from pathlib import Path

from lclint import api
from lclint.core.options import Options

LOG = """\
[rank3]: Traceback (most recent call last):
[rank3]:   File "/opt/app/megatron/core/transformer/moe/experts.py", line 600, in forward
[rank3]:     fc1_output = self.linear_fc1(x)
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 768.00 MiB. GPU 3 has a total capacity of 79.11 GiB of which 590.00 MiB is free. \
Of the allocated memory 73.60 GiB is allocated by PyTorch, and 520.00 MiB is reserved by PyTorch but unallocated.
"""
ARGUMENTS = """\
------------------------ arguments ------------------------
  num_experts ..................................... 64
  recompute_granularity ........................... None
  tensor_model_parallel_size ...................... 1
-------------------- end of arguments ---------------------
"""
CONFIG = "model:\n  num_moe_experts: 64\n  recompute_granularity: selective\n  recompute_modules: [moe_act, layernorm]\n"


def test_a_list_of_the_file_is_not_replaced(tmp_path: Path) -> None:
    log, config = tmp_path / "train.log", tmp_path / "run.yaml"
    log.write_text(ARGUMENTS + LOG, encoding="utf-8")
    config.write_text(CONFIG, encoding="utf-8")
    diagnosis = api.diagnose_paths([str(log)], str(config), Options(), None)
    for finding in diagnosis.findings:
        for fix in finding.fixes:
            assert not (fix.edits and "model.recompute_modules" in fix.set), fix


def test_an_unknown_degree_is_not_written(tmp_path: Path) -> None:
    log, config = tmp_path / "train.log", tmp_path / "run.yaml"
    log.write_text(LOG.replace("moe/experts.py", "mlp.py"), encoding="utf-8")
    config.write_text("train:\n  micro_batch_size: 1\n", encoding="utf-8")
    diagnosis = api.diagnose_paths([str(log)], str(config), Options(), None)
    fixes = [fix for finding in diagnosis.findings for fix in finding.fixes]
    assert fixes
    assert not [fix for fix in fixes if fix.edits and any(field.endswith("_parallel_size") for field in fix.set)]


def test_an_exit_code_in_prose_is_no_failure(tmp_path: Path) -> None:
    for text in ("INFO: docs: exit code 137 means SIGKILL; we retry\n", "- exit code 137\n", "INFO dataset sample: exitcode: -9 is common\n"):
        log = tmp_path / "train.log"
        log.write_text(text, encoding="utf-8")
        assert not api.diagnose_paths([str(log)], None, Options(), None).memory_failure, text
