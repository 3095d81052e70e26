"""Replacing a file's bytes in one step, so that its other properties stay and nobody else's change is lost."""

from __future__ import annotations

import errno
import os
import stat

from lclint.core.errors import InputError
from lclint.sources import files

_DIFF = "apply the output of --diff instead"


def write_atomic(path: str, new: bytes, expected: bytes) -> None:
    """Replace a file's bytes at once: whenever the machine stops, it holds the old bytes or the new ones.

    A symbolic link is followed to the real file. Owner, group, permissions and extended attributes stay (macOS: without the attributes,
    which Python cannot read there). Raises InputError, the file untouched, when it no longer holds ``expected``, when it cannot be
    written, and when it has other names or an owner that a new file cannot have.

    The bytes are compared last right before the new file takes the old one's name; what another program writes between these two system
    calls is lost. No call of POSIX does both.
    """
    real = os.path.realpath(path)
    _compare(real, path, expected)
    if not os.access(real, os.W_OK):
        raise InputError("is read-only; it was not written", path, hint="make it writable")
    try:
        status = os.stat(real)
        if status.st_nlink > 1:
            raise InputError("has several names (hard links), of which only this one would change; it was not written", path, hint=_DIFF)
        descriptor, temporary = beside(real)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(new)
                file.flush()
                _keep_owner(temporary, status, path)
                os.chmod(temporary, stat.S_IMODE(status.st_mode))
                _keep_attributes(temporary, real, path)
                os.fsync(file.fileno())
            _compare(real, path, expected)
            os.replace(temporary, real)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        reason = {
            errno.ENOSPC: "the disk is full",
            errno.EDQUOT: "the disk quota is used up",
            errno.EROFS: "the file system is read-only",
            errno.EACCES: "its directory is not writable",
            errno.EPERM: "its directory is not writable",
        }.get(error.errno or 0, error.strerror or str(error))
        raise InputError(f"cannot be written: {reason}", path, hint="the file was left as it is") from None
    _sync_directory(os.path.dirname(real))


def beside(path: str, mode: int = 0o600) -> tuple[int, str]:
    """A new file in the folder of ``path``, by default readable by its owner alone: its descriptor and its name.

    The name is a random one: what a killed run left behind is never in the way.
    """
    while True:
        name = os.path.join(os.path.dirname(path), f".lclint-{os.urandom(6).hex()}.tmp")
        try:
            return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode), name
        except FileExistsError:
            continue


def _compare(real: str, path: str, expected: bytes) -> None:
    if files.read(real, max(len(expected), files.CONFIG_LIMIT)) != expected:
        raise InputError("changed while lclint was working on it; it was not written", path, hint="run lclint again")


def _keep_owner(temporary: str, status: os.stat_result, path: str) -> None:
    made = os.stat(temporary)
    if (made.st_uid, made.st_gid) == (status.st_uid, status.st_gid):
        return
    try:
        os.chown(temporary, status.st_uid, status.st_gid)
    except PermissionError:
        raise InputError("belongs to a user or group that a new file cannot be given; it was not written", path, hint=_DIFF) from None


def _keep_attributes(temporary: str, real: str, path: str) -> None:
    """Give the new file the extended attributes of the old one, access lists among them, and no others."""
    if not hasattr(os, "listxattr"):
        return
    try:
        wanted = {name: os.getxattr(real, name) for name in os.listxattr(real)}
        present = os.listxattr(temporary)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.ENOSYS):
            return
        raise
    for name in [*wanted, *(name for name in present if name not in wanted)]:
        try:
            if name in wanted:
                os.setxattr(temporary, name, wanted[name])
            else:
                os.removexattr(temporary, name)
        except OSError:
            if not name.startswith(("security.", "trusted.")):  # those the system sets by its own rules
                raise InputError(f"has the extended attribute {name}, which a new file cannot be given; it was not written", path, hint=_DIFF) from None


def _sync_directory(directory: str) -> None:
    try:
        descriptor = os.open(directory or ".", os.O_RDONLY)
    except OSError:
        return  # Windows, or a directory that may be written but not read
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # some network file systems cannot
    finally:
        os.close(descriptor)
