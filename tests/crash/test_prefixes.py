"""What launchers and viewers put in front of a line."""

from __future__ import annotations

import pytest

from lclint.crash.prefixes import clean, strip
from lclint.crash.summary import diagnose_text

PREFIXES = {
    "[rank11]: ": 11,
    "[default3]:[rank11]: ": 11,
    "11: ": 11,
    " 3: ": 3,
    "  3: [rank3]: ": 3,
    "[1,7]<stderr>:": 7,
    "p4_v2/0 [rank2]: ": 2,
    " 2025-02-18 12:54 [rank2]: ": 2,
    "[80746] [rank2]: ": 2,
    "2026-04-04T04:04:04Z [rank5]: ": 5,
    "2026-04-04T04:04:04.123456789Z [rank5]: ": 5,
    "worker-0 | [rank5]: ": 5,
    "pytorch-job-worker-3 | [rank29]: ": 29,
    "(TaskRunner pid=12) [rank3]: ": 3,
    "(WorkerDict pid=99) ": None,
    "(WorkerDict pid=99, ip=10.0.0.1) ": None,
    "\x1b[36m(Actor pid=4)\x1b[0m ": None,
    "[default5]:": None,
    "E                       ": None,
}


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_crash_behind_a_prefix(prefix, pieces) -> None:
    crash = diagnose_text(pieces.stack("step", "mlp", last=pieces.message(), prefix=prefix))
    assert (crash.kind, crash.first_rank, crash.phase, crash.local_gpu) == ("gpu_oom", PREFIXES[prefix], "forward", 3)


def test_indentation_stays() -> None:
    assert strip("12:   seq_length ...... 4")[1] == "  seq_length ...... 4"
    assert strip(" 0:   File")[1] == "  File"


def test_an_iteration_line_is_no_time_stamp(pieces) -> None:
    assert strip(pieces.iteration(3))[1] == pieces.iteration(3)


def test_ray_facts() -> None:
    origin, text = strip("(Worker pid=12, ip=10.1.0.3) hello [repeated 15x across cluster]")
    assert (origin.actor, origin.pid, origin.host, text) == ("Worker", 12, "10.1.0.3", "hello")


def test_levels() -> None:
    assert strip("[rank3]:[W1125 19:49:13.737053108 ProcessGroupNCCL.cpp:1781] [PG ID 0 PG GUID 0(default_pg) Rank 41] text")[0].level == "WARNING"
    assert strip("ERROR:torch.distributed:text")[0].level == "ERROR"


def test_escapes_and_nul() -> None:
    assert clean("\x1b[1;31mred\x1b[0m \x1b]0;title\x07text\0") == "red text"


def test_the_group_rank_is_not_the_rank() -> None:
    origin, text = strip("[rank41]:[E302 10:10:10.1 ProcessGroupNCCL.cpp:6] [Rank 1] Watchdog")
    assert (origin.rank, text) == (41, "Watchdog")
    assert strip("[Rank 5] (after 1 iterations) memory")[1] == "[Rank 5] (after 1 iterations) memory"


def test_a_label_of_srun_that_counts_launchers(pieces) -> None:
    log = f"3: [rank27]: hello\n{pieces.stack('step', 'mlp', last=pieces.message(), prefix='3: ')}"
    assert diagnose_text(log).first_rank is None
    assert diagnose_text(log + "\nRoot Cause (first observed failure):\n[0]:\n  rank      : 26 (local_rank: 2)").first_rank == 26
