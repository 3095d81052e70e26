"""What the paths on a command line stand for: log files, folders of per-rank files, memory snapshots, standard input."""

from __future__ import annotations

import os
import re
import stat

from lclint.core.errors import InputError
from lclint.crash.reading import STDIN, STDIN_NAME, Log

MOST_FILES = 20_000
_NOT_LOGS = (
    ".pt",
    ".pth",
    ".bin",
    ".safetensors",
    ".npy",
    ".npz",
    ".pickle",
    ".pkl",
    ".so",
    ".py",
    ".tar",
    ".zip",
    ".yaml",
    ".yml",
    ".idx",
    ".png",
    ".nsys-rep",
    ".qdrep",
    ".sqlite",
)
_SNAPSHOT = re.compile(r"snapshot.*\.(?:pickle|pkl)$")
_PICKLES = (".pickle", ".pkl")


def logs(path: str) -> list[Log]:
    """The log files that a path names, per-rank files in the order of their numbers. Raises InputError."""
    if path == STDIN:
        return [Log(STDIN_NAME, STDIN)]
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise InputError(
            "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {getattr(error, 'strerror', error)}", path, hint="check the path"
        ) from None
    if not stat.S_ISDIR(mode):
        return [Log(path, path)]
    found = [name for name in _walk(path) if not name.endswith(_NOT_LOGS)]
    if not found:
        raise InputError("holds no log files", path, hint="name a file")
    return [Log(name, name) for name in sorted(found, key=_natural)]


def snapshots(path: str) -> list[str]:
    """PyTorch memory snapshots in a folder, or the path itself when it is one: by its name, or because it is a pickle."""
    if os.path.isdir(path):
        return sorted((name for name in _walk(path) if _SNAPSHOT.search(name) or (name.endswith(_PICKLES) and _is_pickle(name))), key=_natural)
    return [path] if path != STDIN and (_SNAPSHOT.search(path) or _is_pickle(path)) else []


def _is_pickle(path: str) -> bool:
    """Whether a file begins as pickles of protocol 2 and later do."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            head = file.read(2)
    except OSError:
        return False
    return len(head) == 2 and head[0] == 0x80 and 2 <= head[1] <= 5


def _walk(top: str) -> list[str]:
    found = []
    for here, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            path = os.path.join(here, name)
            if not name.startswith(".") and os.path.isfile(path):
                found.append(path)
        if len(found) > MOST_FILES:
            raise InputError(f"holds more than {MOST_FILES} files", top, hint="name a smaller folder")
    return found


def _natural(name: str) -> list[tuple[int, int, str]]:
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name)]
