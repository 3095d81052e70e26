"""``lclint server``: the language server, over standard input and output."""

from __future__ import annotations

import sys
from typing import Any

import click

from lclint.cli import shared
from lclint.cli.errors import note
from lclint.core.errors import UsageError


@click.command(short_help="Check configs in an editor while they are typed.")
@shared.config_options
@shared.rule_options
@click.option("--delay", type=click.IntRange(0, 10_000), default=20, show_default=True, metavar="MS", help="Check after so many milliseconds without an edit.")
def command(delay: int, **given: Any) -> int:
    """Speak the language server protocol over standard input and output. An editor starts it.

    The options are those of lclint check, for every file; what a file says itself (# lclint: gpu=h100 gpus=64) is for that file.
    """
    options = shared.options(given)
    try:
        import pygls  # noqa: F401
    except ImportError:
        raise UsageError("the language server needs pygls", hint="pip install 'lclint[server]'") from None
    from lclint.server.wire import serve

    if sys.stdin is None or sys.stdout is None:
        raise UsageError("standard input or output is closed", hint="an editor starts this command and talks to it")
    if sys.stdin.isatty():
        note("waiting for an editor on standard input; Ctrl-D ends it")
    return serve(options, delay / 1000)
