"""The ``lclint`` command: finds the module of a subcommand and runs it."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

import click

from lclint.cli.errors import FAILED, guarded

# Shells ask for completions by this variable: eval "$(_LCLINT_COMPLETE=bash_source lclint)" turns them on.
COMPLETION = "_LCLINT_COMPLETE"


class LazyGroup(click.Group):
    """A group whose subcommands are modules with a ``command``, imported when one is called or listed."""

    def __init__(self, *arguments: Any, modules: dict[str, str], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.modules = modules

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.modules)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        module = self.modules.get(name)
        if module is None:
            return None
        command: click.Command = __import__(module, fromlist=["command"]).command
        return command


def _version(context: click.Context, option: click.Parameter, given: bool) -> None:
    if given:
        from lclint import __version__

        click.echo(f"lclint {__version__}")
        context.exit()


@click.group(
    cls=LazyGroup,
    modules={
        "check": "lclint.cli.check",
        "resolve": "lclint.cli.resolve",
        "diagnose": "lclint.cli.diagnose",
        "memory": "lclint.cli.memory",
        "recipes": "lclint.cli.recipes",
        "rules": "lclint.cli.rules",
        "server": "lclint.cli.server",
        "settings": "lclint.cli.settings",
    },
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 nothing left to report, 1 findings left or a patch printed, 2 usage, unreadable input, internal error.",
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version and exit.")
@click.pass_context
def cli(context: click.Context) -> int:
    """Static analyser for Megatron Bridge training configs."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        return FAILED
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line ``arguments`` (the process's own when None) and return its exit code."""
    if arguments is None:
        # a check allocates much and drops little before it ends: the many collections in between find nothing
        gc.set_threshold(100_000, 20, 20)
    given = list(sys.argv[1:] if arguments is None else arguments)
    status = guarded(lambda: _run(given))
    if arguments is None:
        _leave(status)
    return status


def _leave(status: int) -> None:
    """End the process at once, what it has said being written: taking its modules and values apart takes a sixth of a check's time.

    Under a profiler or a debugger, which have something to do at the end, it ends as usual.
    """
    if sys.getprofile() is None and sys.gettrace() is None and threading.active_count() == 1:
        if sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.flush()
        os._exit(status)


def _run(arguments: list[str]) -> int:
    # Not cli.main(): that ends the process with 1 when the reader of a pipe goes away.
    if os.environ.get(COMPLETION):
        from lclint.cli import completion

        return completion.answer(cli, "lclint", COMPLETION)
    try:
        with cli.make_context("lclint", arguments) as context:
            status: int = cli.invoke(context)
            return status
    except click.exceptions.Exit as end:
        return end.exit_code
