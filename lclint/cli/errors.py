"""How a command ends when it cannot do its work: one line on standard error, exit code 2, never a traceback.

A fault in a rule's expression has more lines: the expression, and a caret under the fault.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import click

from lclint.core.errors import LclintError
from lclint.core.project import ISSUES
from lclint.report.screen import printable

FAILED = 2
LONGEST = 1_600


def guarded(call: Callable[[], int]) -> int:
    """The exit code of ``call``, whatever happens in it.

    ``LCLINT_DEBUG=1`` in the environment adds the traceback of an error that is lclint's own fault.
    """
    status = _status(call)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        _drop_output()
    return status


def _status(call: Callable[[], int]) -> int:
    try:
        status = call()
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        pass  # the reader has gone (lclint check . | head): nobody is left to be told
    except (KeyboardInterrupt, click.exceptions.Abort):
        _say("interrupted")
    except click.ClickException as error:
        _say(_usage(error))
    except LclintError as error:
        _say(str(error))
    except OSError as error:
        _say(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
    except Exception as error:
        if os.environ.get("LCLINT_DEBUG"):
            sys.excepthook(type(error), error, error.__traceback__)
        _say(
            f"internal error, a bug in lclint: {_where(error)}{type(error).__name__}: {' '.join(str(error).split())[:200]} "
            f"(please report it at {ISSUES}; LCLINT_DEBUG=1 shows the traceback)"
        )
    return FAILED


def note(message: str) -> None:
    """A line on standard error that is no failure."""
    if sys.stderr is None:
        return
    encoding = sys.stderr.encoding or "ascii"
    text = "\n".join(map(printable, message.rstrip().split("\n")))
    try:
        sys.stderr.write("lclint: " + text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        sys.stderr.flush()
    except OSError:
        pass


def _say(message: str) -> None:
    if len(message) > LONGEST:
        # a word of the command line stands in it
        message = f"{message[: LONGEST // 2]} … {message[-LONGEST // 4 :]}"
    note(f"error: {message}")


def _usage(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split())
    context = getattr(error, "ctx", None)
    return f"{message} (see '{context.command_path} --help')" if context is not None else message


def _where(error: Exception) -> str:
    trace = error.__traceback__
    place = ""
    while trace is not None:
        place = f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}: "
        trace = trace.tb_next
    return place


def _drop_output() -> None:
    """Let what is still buffered for standard output go nowhere, or the interpreter fails on it when it exits."""
    try:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)
    except (AttributeError, OSError, ValueError):
        pass
