"""PyTorch's out-of-memory sentence in its wordings, wrapped, cut and talked about."""

from __future__ import annotations

from typing import Any

import pytest

from lclint.crash import oom

GIB = 2**30
MIB = 2**20
OLD = "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 1; 15.75 GiB total capacity; {}14.00 GiB already allocated; 8.00 MiB free; {})"
NEW = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total {} of 79.00 GiB of which 1.00 GiB is free. "


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (OLD.format("", "1.10 GiB cached"), {"wording": "1.4", "unallocated": round(1.1 * GIB), "allocated": 14 * GIB, "free": 8 * MIB, "index": 1}),
        (OLD.format("", "14.50 GiB reserved in total by PyTorch"), {"wording": "1.5", "unallocated": GIB // 2, "requested": 20 * MIB}),
        (OLD.format("10.00 GiB allowed; ", "14.50 GiB reserved in total by PyTorch"), {"allowed": 10 * GIB, "unallocated": GIB // 2}),
        (
            OLD.format("", "14.50 GiB reserved in total by PyTorch") + " If reserved memory is >> allocated memory try setting max_split_size_mb",
            {"wording": "1.10"},
        ),
        (NEW.format("capacty"), {"wording": "2.1", "capacity": 79 * GIB, "requested": 2 * GIB, "allocated": None, "unallocated": None}),
        (
            NEW.format("capacity") + "Process 12 has 1.50 GiB memory in use. Process 13 has 512.00 MiB memory in use. ",
            {"others": {12: 3 * GIB // 2, 13: GIB // 2}},
        ),
        (NEW.format("capacity") + "Including non-PyTorch memory, this process has 0 bytes memory in use. ", {"process": 0}),
        (
            NEW.format("capacity") + "Of the allocated memory 70.00 GiB is allocated by PyTorch, with 9.00 GiB allocated in private pools (e.g., CUDA Graphs), "
            "and 3.00 GiB is reserved by PyTorch but unallocated. ... try setting PYTORCH_ALLOC_CONF=expandable_segments:True",
            {"private_pools": 9 * GIB, "allocated": 70 * GIB, "unallocated": 3 * GIB, "wording": "2.9", "advice": "PYTORCH_ALLOC_CONF"},
        ),
        (
            "NPU out of memory. Tried to allocate 3.00 GiB (NPU 6; 60.96 GiB total capacity; 45.00 GiB already allocated; 45.00 GiB current active; "
            "3.23 GiB free; 56.00 GiB reserved in total by PyTorch",
            {"device": "NPU", "index": 6, "unallocated": 11 * GIB},
        ),
        ("out of memory. Tried to allocate 512 bytes. GPU 0 has", {"requested": 512}),
        ("CUDA out of memory. Tried to allocate 1024.00 KiB", {"requested": MIB, "capacity": None}),
    ],
)
def test_clauses(text: str, wanted: dict[str, Any]) -> None:
    message = oom.parse(text)
    assert message is not None
    assert {name: getattr(message, name) for name in wanted} == wanted


@pytest.mark.parametrize(
    "text",
    [
        "CUDA out of memory. Tried to allocate 2.00 GiB means that the GPU is full",
        "CUDA out of memory. Tried to allocate",
        "to avoid out of memory, lower the batch",
    ],
)
def test_talk(text: str) -> None:
    assert oom.parse(text) is None


def test_the_second_sentence_of_a_line_is_another_one() -> None:
    message = oom.parse(
        "CUDA out of memory. Tried to allocate 2.00 GiB. CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 9.00 GiB"
    )
    assert message is not None
    assert (message.requested, message.capacity) == (2 * GIB, None)


def test_continuations() -> None:
    assert oom.continues("to allocate 512.00 MiB. GPU 0 has a total capacity")
    assert not oom.continues('  File "x.py", line 1, in f')
    assert not oom.continues("RuntimeError: other memory")
    assert not oom.continues("training goes on")
