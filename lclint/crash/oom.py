"""PyTorch's out-of-memory sentence, read clause by clause.

People wrap the sentence at 80 columns, cut it, and print several at once. So all white space is taken out first, and each clause is looked
for by itself: a clause that is missing is None, and the others stand. The wordings are those of torch 1.4 to 2.9 and of torch_npu.
"""

# ruff: noqa: E501 - a pattern is easier to read on one line
from __future__ import annotations

import re

from lclint.core.finding import Record

SIZE = r"(\d{1,15}(?:\.\d{1,9})?)(bytes?|[KMGT]i?B)"
UNITS = {"byte": 1, "bytes": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

# In running text, to find the sentence; the request's size has to end a clause: "2.00 GiB means that ..." is talk about it.
START = re.compile(r"\bout\s*of\s*memory\W{0,4}\s*Tr\s?ied\s*to\s*allocate\b", re.IGNORECASE)
_REQUEST = re.compile(r"Triedtoallocate" + SIZE + r"(?=\.(?!\d)|\(|,|;|\"|'|\\|$)")
_FIRST_WORDS = "CUDAoutofmemory.Triedtoallocate"
# so many letters of them tell them from other words
LEAST = 5
# the number or its unit is where a line was cut
_CUT = re.compile(r"Triedtoallocate(?:(\d{1,15}(?:\.\d{0,9})?)([KMGT]?)i?)?(?:$|\.\.\.|…|\[\.\.|\(trunc|<trunc)")
_CLAUSES = {
    "capacity": (re.compile(SIZE + r"totalcapaci?ty"), re.compile(r"totalcapaci?tyof" + SIZE)),
    "free": (re.compile(r"ofwhich" + SIZE + "isfree"), re.compile(SIZE + r"free")),
    "allocated": (
        re.compile(SIZE + r"alreadyallocated"),
        re.compile(r"llocatedmemory" + SIZE + r"isallocatedbyPyTorch"),
        re.compile(SIZE + r"isallocatedbyPyTorch"),
    ),
    "private_pools": (re.compile(SIZE + r"allocatedinprivatepools"),),
    "unallocated": (re.compile(SIZE + r"isreservedbyPyTorchbutunallocated"),),
    "reserved": (re.compile(SIZE + r"reservedintotal"),),
    "cached": (re.compile(SIZE + r"cached"),),
    "allowed": (re.compile(SIZE + r"allowed"),),
    "process": (re.compile(r"thisprocesshas" + SIZE + r"memoryinuse"),),
}
_OTHER = re.compile(r"Process(\d{1,12})has" + SIZE + r"memoryinuse")

_DEVICE_LOOSE = re.compile(r"(GPU|NPU|XPU|MUSA|HPU)(\d{1,6})(?:;|hasatotal)")
_END = re.compile(r"environment-variables|CUDA_ALLOC_CONF\)?$|reservedintotalbyPyTorch\)(?!If)|cached\)")
# what the sentence is made of: a line without any of it does not continue a wrapped one
_PART = re.compile(
    r"[KMGT]iB|bytes|memory|PyTorch|reserved|llocat|fragment|Management|https?:|expandable|capac|\bfree\b|process|pools|CONF|environment|html|Tried|segments|GPU \d|max_split",
)  # fmt: skip
_NOT_PART = re.compile(
    r"^\s*(Traceback|File \"|During handling|The above|srun|slurmstepd|WARNING|INFO|ERROR|[EWIF]\d{4} |\^+$|raise |at 0x|\[20|[\w.]*(?:Error|Exception)\b|NCCL|iteration )",
)  # fmt: skip


class OutOfMemory(Record):
    """One such sentence: sizes in bytes, None where a clause is missing; ``others`` maps process ids to bytes."""

    __slots__ = (
        "requested",
        "capacity",
        "free",
        "allocated",
        "unallocated",
        "private_pools",
        "allowed",
        "process",
        "others",
        "device",
        "index",
        "advice",
        "wording",
    )
    requested: int | None
    capacity: int | None
    free: int | None
    allocated: int | None
    unallocated: int | None
    private_pools: int | None
    allowed: int | None
    process: int | None
    others: dict[int, int]
    device: str
    index: int | None
    advice: str | None
    wording: str
    defaults = {
        "requested": None,
        "capacity": None,
        "free": None,
        "allocated": None,
        "unallocated": None,
        "private_pools": None,
        "allowed": None,
        "process": None,
        "others": {},
        "device": "GPU",
        "index": None,
        "advice": None,
        "wording": "",
    }


def size(number: str, unit: str) -> int:
    """Bytes of ``4.01`` ``GiB``; GB counts as GiB, since the allocators print nothing else."""
    factor = UNITS.get(unit) or UNITS[unit[0]]
    return round(float(number) * factor)


def complete(text: str) -> bool:
    """Whether the sentence has come to its end."""
    return _END.search(_squeeze(text)) is not None


def closes(before: str, line: str) -> bool:
    """Whether a line is the last letters of a sentence in parentheses: ``ed)``."""
    return len(line) < 40 and line.rstrip().endswith(")") and before.count("(") > before.count(")")


def begins_at_end(text: str) -> bool:
    """Whether a line ends within the first words of the sentence, so that the rest is on the next one."""
    end = _squeeze(text[-60:])
    return any(end.endswith(_FIRST_WORDS[:length]) for length in range(LEAST, len(_FIRST_WORDS))) or any(
        end.endswith(_FIRST_WORDS[4:length]) for length in range(4 + LEAST, len(_FIRST_WORDS))
    )


def is_cut(text: str) -> bool:
    """Whether the sentence was cut at the request's size."""
    return _CUT.search(_squeeze(text)) is not None


def continues(line: str) -> bool:
    """Whether a line can be the next piece of a wrapped sentence."""
    return _PART.search(line) is not None and _NOT_PART.search(line) is None


def parse(text: str) -> OutOfMemory | None:
    """The sentence that begins in ``text``; None when its request is not a size that ends a clause (talk about such an error)."""
    squeezed = _squeeze(text)
    request = _REQUEST.search(squeezed)
    if request is None:
        cut = _CUT.search(squeezed)
        if cut is None or cut[1] is None:
            return None
        return OutOfMemory(requested=size(cut[1], cut[2]) if cut[2] else None)
    squeezed = squeezed[request.start() :]
    following = squeezed.find("Triedtoallocate", 10)
    if following > 0:
        squeezed = squeezed[:following]
    found: dict[str, int | None] = {}
    for name, patterns in _CLAUSES.items():
        match = next((m for m in (pattern.search(squeezed) for pattern in patterns) if m is not None), None)
        found[name] = None if match is None else size(match[1], match[2])
    result = OutOfMemory(requested=size(request[1], request[2]))
    for name in ("capacity", "free", "allocated", "private_pools", "allowed", "process"):
        setattr(result, name, found[name])
    result.unallocated = found["unallocated"]
    if result.unallocated is None:
        if found["reserved"] is not None and found["allocated"] is not None:
            result.unallocated = max(0, found["reserved"] - found["allocated"])
        else:
            # torch up to 1.4: what is cached beyond what is allocated
            result.unallocated = found["cached"]
    result.others = {int(m[1]): size(m[2], m[3]) for m in _OTHER.finditer(squeezed)}
    device = _DEVICE_LOOSE.search(squeezed)
    if device is not None:
        result.device, result.index = device[1], int(device[2])
    advice = re.search(r"PYTORCH_(?:CUDA_|NPU_|HIP_)?ALLOC_CONF", squeezed)
    result.advice = advice[0] if advice else None
    result.wording = _wording(squeezed, found, result.device)
    return result


def _wording(text: str, found: dict[str, int | None], device: str) -> str:
    """Which generation of torch wrote it, as far as the clauses tell: 1.4, 1.5, 1.10, 2.1, 2.2, 2.9, npu."""
    if device == "NPU":
        return "npu"
    if found["cached"] is not None:
        return "1.4"
    if "PYTORCH_ALLOC_CONF" in text:
        return "2.9"
    if "capacty" in text:
        return "2.1"
    if "hasatotal" in text:
        return "2.2"
    return "1.10" if "max_split_size" in text else "1.5"


def _squeeze(text: str) -> str:
    return "".join(text.split())
