"""Finding and reading files, with one clear line for everything that can go wrong."""

from __future__ import annotations

import errno
import os
import re
import stat

from lclint.core.errors import InputError

# a saved config has some 1,300 lines and 50 KB; a blend of ten thousand data files is a megabyte
CONFIG_LIMIT = 4 * 1024 * 1024
_SUFFIXES = (".yaml", ".yml")
_SKIPPED = frozenset(("node_modules", "__pycache__", "venv", "site-packages"))
_MAX_FILES = 100_000
_MAX_FOLDERS = 10_000


def read(path: str, limit: int = CONFIG_LIMIT) -> bytes:
    """The bytes of a regular file of at most ``limit`` bytes; raises InputError."""
    try:
        # O_NONBLOCK: opening a FIFO must not wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        raise _unreadable(error, path) from None
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise InputError("is a directory", path, hint="name a file in it")
        if not stat.S_ISREG(status.st_mode):
            raise InputError("is not a regular file", path, hint="pipe it in and give - as the path")
        if status.st_size > limit:
            raise _too_large(path, limit)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise _unreadable(error, path) from None
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise _too_large(path, limit)
    return data


def find(paths: list[str]) -> list[str]:
    """The files that ``paths`` name: files as they are, directories searched for YAML files, globs expanded; no file twice.

    Directories are searched in sorted order; hidden ones, virtual environments and ``node_modules`` are left out, links to
    directories are not followed. Raises InputError for a path that does not exist and for a directory or glob without YAML files.
    """
    found: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        if os.path.isdir(path):
            names = _walk(path)
            if not names:
                raise InputError("holds no YAML files", path, hint="name a file, or a directory with *.yaml or *.yml files")
        elif not os.path.lexists(path) and any(character in path for character in "*?["):
            names = _glob(path)
            if not names:
                raise InputError("matches no YAML files", path, hint="check the pattern")
        else:
            names = [path]
        for name in names:
            found.setdefault(_identity(name, folders), name)
        if len(found) > _MAX_FILES:
            raise InputError(f"holds more than {_MAX_FILES} YAML files", path, hint="name a smaller directory")
    for name in found.values():
        try:
            os.lstat(name)
        except (OSError, ValueError) as error:
            raise _unreadable(error, name) from None
    return list(found.values())


def _identity(name: str, folders: dict[str, str]) -> str:
    """What two names of one file have in common. ``folders`` remembers those of folders."""
    folder, last = os.path.split(name)
    if os.path.islink(name) or last in ("", ".", ".."):
        return os.path.realpath(name) if os.path.lexists(name) else name
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    return os.path.join(folders[folder], last)


def _walk(top: str) -> list[str]:
    found: list[str] = []

    def refuse(error: OSError) -> None:
        raise _unreadable(error, str(error.filename))

    for directory, subdirectories, names in os.walk(top, onerror=refuse):
        subdirectories[:] = sorted(name for name in subdirectories if _searched(directory, name))
        found.extend(os.path.join(directory, name) for name in sorted(names) if name.endswith(_SUFFIXES) and not name.startswith("."))
        if len(found) > _MAX_FILES:
            raise InputError(f"holds more than {_MAX_FILES} YAML files", top, hint="name a smaller directory")
    return [name for name in found if os.path.isfile(name)]


def _searched(directory: str, name: str) -> bool:
    path = os.path.join(directory, name)
    return not (name.startswith(".") or name in _SKIPPED or os.path.exists(os.path.join(path, "pyvenv.cfg")))


def _glob(pattern: str) -> list[str]:
    """The files that a pattern matches, sorted; ``**`` stands for any number of directories and follows no links to them."""
    parts = pattern.split("/")
    if "**" not in parts:
        return [name for name in sorted(_expand(parts, pattern)) if os.path.isfile(name)]
    head = parts.index("**")
    rest = [part for part in parts[head:] if part]
    found: list[str] = []
    for top in sorted(_expand(parts[:head], pattern)) if head else ["."]:
        if os.path.isdir(top):
            names = _walk(top)
            below = len(top.rstrip("/")) + 1
            found.extend(name.removeprefix("./") if not head else name for name in names if matches(name[below:].split("/"), rest))
    return found


def _expand(parts: list[str], pattern: str) -> list[str]:
    """What a pattern without ``**`` matches. Of a folder that several links lead to one is kept. Raises InputError where it looks into too many."""
    import fnmatch

    found = ["/" if parts[0] == "" else ""]
    looked_into = 0
    parts = [part for part in parts if part]
    for number, part in enumerate(parts):
        if not any(character in part for character in "*?["):
            found = [name for folder in found if os.path.lexists(name := os.path.join(folder, part))]
            continue
        match = re.compile(fnmatch.translate(part)).match
        names: dict[str, str] = {}
        for folder in found:
            looked_into += 1
            if looked_into > _MAX_FOLDERS:
                raise InputError(f"looks into more than {_MAX_FOLDERS} folders", pattern, hint="name a folder instead")
            try:
                listed = sorted(os.listdir(folder or "."))
            except OSError:
                continue
            for entry in listed:
                if match(entry) and (part.startswith(".") or not entry.startswith(".")):
                    name = os.path.join(folder, entry)
                    if number + 1 == len(parts):
                        names[name] = name
                    elif os.path.isdir(name):
                        names.setdefault(os.path.realpath(name), name)
        found = list(names.values())
    return found


def matches(parts: list[str], pattern: list[str]) -> bool:
    """Whether a path matches a glob, both in parts; ``**`` stands for any number of directories."""
    import fnmatch

    def open_up(states: set[int]) -> set[int]:
        for state in range(len(pattern)):
            if state in states and pattern[state] == "**":
                states.add(state + 1)
        return states

    # where in the pattern one can stand after each part: with every way at once the work does not multiply
    states = open_up({0})
    for part in parts:
        after = set()
        for state in states:
            if state < len(pattern):
                if pattern[state] == "**":
                    after.add(state)
                elif fnmatch.fnmatchcase(part, pattern[state]):
                    after.add(state + 1)
        states = open_up(after)
    return len(pattern) in states


def _too_large(path: str, limit: int) -> InputError:
    return InputError(f"is larger than {limit // (1024 * 1024)} MiB", path, hint="this is not a config")


def _unreadable(error: Exception, path: str) -> InputError:
    number = getattr(error, "errno", None)
    if number == errno.ENOENT:
        if os.path.islink(path):
            return InputError("is a link to a file that does not exist", path, hint="correct the link")
        return InputError("does not exist", path, hint="check the path")
    if number in (errno.EACCES, errno.EPERM):
        return InputError("may not be read", path, hint="check its permissions")
    if number == errno.EISDIR:
        return InputError("is a directory", path, hint="name a file in it")
    if number == errno.ENOTDIR:
        return InputError("does not exist: a part of the path is a file", path, hint="check the path")
    if number == errno.ELOOP:
        return InputError("is a link that leads to itself", path, hint="correct the link")
    if number == errno.ENXIO:
        return InputError("is not a regular file", path, hint="pipe it in and give - as the path")
    if number == errno.ENAMETOOLONG:
        return InputError("is too long a path", path[:60] + "…", hint="check the path")
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(f"cannot be read: {reason}", path.replace("\0", "\\0"), hint="check the path")
