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
        _write_file(path, _utf8(text))
        return
    if sys.stdout is None:
        raise LclintError("cannot write: standard output is closed")
    if exact:
        data = _utf8(text)
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


def _utf8(text: str) -> bytes:
    """UTF-8, in which the bytes of an undecodable file name are what they were."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a pair, as YAML's "\\ud800" gives it
        return text.encode("utf-8", "backslashreplace")


def _write_file(path: str, data: bytes) -> None:
    """Write a report; one that is there already is replaced whole or stays."""
    from lclint.sources.writing import beside

    regular = os.path.isfile(path) or not os.path.exists(path)
    target = os.path.realpath(path) if regular else path
    written: str | None = None
    try:
        if regular:
            descriptor, written = beside(target, 0o666)
        with open(target, "wb") if written is None else os.fdopen(descriptor, "wb") as file:
            file.write(data)
        if written is not None:
            os.replace(written, target)
    except OSError as error:
        if written is not None:
            with contextlib.suppress(OSError):
                os.unlink(written)
        raise LclintError(f"cannot write: {error.strerror}", path=path) from error


def use_colour(choice: str, path: str | None = None) -> bool:
    """Whether to colour what goes to ``path`` or standard output; ``choice`` is auto, always or never.

    auto follows https://no-color.org first, then FORCE_COLOR and CLICOLOR_FORCE, then CLICOLOR (https://bixense.com/clicolors), then asks
    for a terminal. A file is coloured with always only.
    """
    if choice != "auto":
        return choice == "always"
    if path is not None or os.environ.get("NO_COLOR"):
        return False
    if _is_on("FORCE_COLOR") or _is_on("CLICOLOR_FORCE"):
        return True
    return os.environ.get("CLICOLOR") != "0" and _is_terminal() and os.environ.get("TERM") != "dumb"


def use_links(colour: bool, path: str | None = None) -> bool:
    """Whether text that goes to ``path`` or standard output may hold links (OSC 8): on a terminal known to show them, never in a pipe or file.

    FORCE_HYPERLINK=1 says that an unknown terminal can, FORCE_HYPERLINK=0 turns them off; so does what turns colour off.
    """
    if not colour or path is not None or not _is_terminal():
        return False
    forced = os.environ.get("FORCE_HYPERLINK")
    if forced:
        return forced != "0"
    environment = os.environ
    if environment.get("TERM", "").startswith(("screen", "tmux", "linux")) or environment.get("CI"):
        return False
    vte = environment.get("VTE_VERSION", "")
    return (
        environment.get("TERM_PROGRAM") in ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio")
        or environment.get("TERM", "") in ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "foot-extra", "contour")
        or (vte.isascii() and vte.isdigit() and int(vte) >= 5000)
        or any(name in environment for name in ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM"))
    )


def _is_on(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0", "false")


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
