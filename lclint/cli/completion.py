"""What a shell completes the words of a command line with, and the answers to its questions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem, FishComplete, add_completion_class, shell_complete

from lclint.core.errors import LclintError, UsageError

if TYPE_CHECKING:
    import click

INSTRUCTIONS = ("source", "complete")
SHELLS = ("bash", "zsh", "fish")


class Fish(FishComplete):
    """Click's, but a completion may hold commas."""

    source_template = FishComplete.source_template.replace('string split ","', 'string split -m 1 ","')


def answer(cli: click.Command, program: str, variable: str) -> int:
    """Print what the shell asks for by the environment ``variable``: its script, or completions. Raises UsageError.

    ``bash_source`` prints a script for bash; ``bash_complete`` completes the word COMP_CWORD of COMP_WORDS, as that script asks.
    """
    instruction = os.environ[variable]
    shell, _, what = instruction.partition("_")
    if what not in INSTRUCTIONS or shell not in SHELLS:
        asked = " ".join(f"{shell}_source" for shell in SHELLS)
        raise UsageError(f"{variable}={instruction} is no question of a shell", hint=f"one of {asked} prints its script")
    if what == "complete":
        for name in ("COMP_WORDS", "COMP_CWORD"):
            if name not in os.environ:
                raise UsageError(f"{variable}={instruction} needs {name}", hint="the script that lclint prints for the shell sets it")
        # fish puts the word itself there
        if shell != "fish" and not os.environ["COMP_CWORD"].isdecimal():
            raise UsageError(f"COMP_CWORD is no number: {os.environ['COMP_CWORD']!r}")
    add_completion_class(Fish)
    return shell_complete(cli, {}, program, variable, instruction)


def gpus(incomplete: str) -> list[CompletionItem]:
    """Names of GPUs."""
    from lclint.catalog import tables

    return _starting(incomplete.lower(), sorted(tables.gpus()))


def recipes(incomplete: str) -> list[CompletionItem]:
    """Names of published recipes."""
    from lclint.catalog import recipes
    from lclint.config.release import NEWEST

    return _starting(incomplete, recipes.names(NEWEST))


def rules(incomplete: str) -> list[CompletionItem]:
    """Names of the shipped rules, with their titles where a shell shows them; codes when that is what was begun."""
    from lclint.engine import rules

    loaded = rules.load()
    if incomplete[:2].upper() == "LC":
        return [CompletionItem(rule.code, help=rule.title) for rule in loaded if rule.code.startswith(incomplete.upper())]
    return [CompletionItem(rule.name, help=rule.title) for rule in loaded if rule.name.startswith(incomplete)]


def rule_list(incomplete: str) -> list[CompletionItem]:
    """The last of several rules, separated by commas."""
    before, comma, last = incomplete.rpartition(",")
    return [CompletionItem(f"{before}{comma}{item.value}", help=item.help) for item in rules(last)]


def files(incomplete: str) -> list[CompletionItem]:
    """Files, which the shell finds itself."""
    return [CompletionItem(incomplete, type="file")]


def folders(incomplete: str) -> list[CompletionItem]:
    """Folders, which the shell finds itself."""
    return [CompletionItem(incomplete, type="dir")]


def complete(kind: str, incomplete: str) -> list[CompletionItem]:
    """The items of one of this module's kinds; none when lclint cannot read what they come from: a shell has no place for an error."""
    try:
        found: list[CompletionItem] = globals()[kind](incomplete)
    except LclintError:
        return []
    return found


def _starting(incomplete: str, names: list[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
