"""Where a command's output goes, and what it may look like there."""

from __future__ import annotations

import contextlib
import os
import sys

from lclint.core.errors import LclintError

DEFAULT_WIDTH = 80


def write(text: str, path: str | None = None, *, exact: bool = False) -> None:
    """Write ``text`` to the file ``path``, or to standard output.

    A character that the terminal's encoding does not have is escaped; ``exact`` output (JSON, patches) is UTF-8
    wherever it goes. Lines end as ``text`` has them, on every platform. Raises LclintError when it cannot be written.
    """
    if path is not None:
        data = text.encode("utf-8", "surrogateescape")
        _write_file(path, data)
        return
    if sys.stdout is None:
        raise LclintError("cannot write: standard output is closed")
    if exact:
        data = text.encode("utf-8", "surrogateescape")
    else:
        data = text.encode(sys.stdout.encoding or "utf-8", "backslashreplace")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise LclintError(f"cannot write to standard output: {error.strerror}") from error


def _write_file(path: str, data: bytes) -> None:
    """Write a report; one that is there already is replaced whole or stays."""
    regular = os.path.isfile(path) or not os.path.exists(path)
    target = os.path.realpath(path) if regular else path
    written = f"{target}.{os.getpid()}.tmp" if regular else target
    try:
        with open(written, "wb") as file:
            file.write(data)
        if regular:
            os.replace(written, target)
    except OSError as error:
        if regular:
            with contextlib.suppress(OSError):
                os.unlink(written)
        raise LclintError(f"cannot write: {error.strerror}", path=path) from error


def use_colour(choice: str, path: str | None = None) -> bool:
    """Whether to colour what goes to ``path`` or standard output; ``choice`` is auto, always or never.

    auto follows https://no-color.org and FORCE_COLOR, then asks for a terminal.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") != "0":
        return path is None
    return path is None and _is_terminal() and os.environ.get("TERM") != "dumb"


def width(path: str | None = None) -> int:
    """Columns to write for: those of the terminal, else 80, within what can be read."""
    if path is not None or not _is_terminal():
        return DEFAULT_WIDTH
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except OSError:
        return DEFAULT_WIDTH
    return min(max(columns, 40), 120) if columns else DEFAULT_WIDTH


def _is_terminal() -> bool:
    try:
        return sys.stdout is not None and sys.stdout.isatty()
    except ValueError:
        return False
