"""The options that every command about a config takes, and the ``Options`` that they make."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from lclint.core.errors import UsageError
from lclint.core.options import PROFILES, Options, refuse_slips
from lclint.settings.locate import Finder

# the key of a Hydra override: what else a word can be is a path
_OVERRIDE = re.compile(r"(?P<mark>\+\+?|~)?(?P<key>[A-Za-z_$][\w$-]*(?:\.[\w$-]+)*)(?:(?P<equals>=)|$)")

Function = TypeVar("Function", bound=Callable[..., Any])


def completed(kind: str) -> Callable[[click.Context, click.Parameter, str], list[Any]]:
    """What completes an option or argument in a shell: one of the kinds of ``lclint.cli.completion``."""

    def items(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        from lclint.cli import completion

        return list(completion.complete(kind, incomplete))

    return items


_CONFIG_OPTIONS = (
    click.option("--gpu", metavar="NAME", shell_complete=completed("gpus"), help="GPU that the job runs on, such as h100 or gb200."),
    click.option("--gpus", type=click.IntRange(min=1), metavar="N", help="Number of GPUs of the job."),
    click.option("--gpus-per-node", type=click.IntRange(min=1), metavar="N", help="GPUs in one node."),
    click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override a value, in Hydra's grammar, as the launch does. Repeatable."),
    click.option("--env", multiple=True, metavar="NAME=VALUE", help="Environment variable of the job. Repeatable."),
    click.option("--env-complete", is_flag=True, help="The job has no environment variables but those given."),
    click.option("--base", metavar="FILE", shell_complete=completed("files"), help="Config that the checked files override."),
    click.option(
        "--recipe", metavar="NAME", shell_complete=completed("recipes"), help="Published recipe that the checked files, or the overrides, start from."
    ),
    click.option("--bridge-version", metavar="VERSION", help="Megatron Bridge release to check for, such as 0.6."),
    click.option("--te-version", metavar="VERSION", help="Transformer Engine release."),
    click.option("--torch-version", metavar="VERSION", help="PyTorch release."),
    click.option("--settings", metavar="FILE", help="Settings in the place of the lclint.toml or pyproject.toml nearest to each file."),
    click.option("--no-settings", is_flag=True, help="Leave lclint.toml and pyproject.toml out."),
)

_RULE_OPTIONS = (
    click.option("--rules", multiple=True, metavar="DIR", shell_complete=completed("folders"), help="Directory with rules of your own. Repeatable."),
    click.option("--profile", type=click.Choice(list(PROFILES)), help="Check what stops the job before its first step is done (start-up), or all."),
    click.option(
        "--select",
        multiple=True,
        metavar="RULES",
        shell_complete=completed("rule_list"),
        help="Check these rules only: names, codes, LC1, fp8-*, comma-separated.",
    ),
    click.option("--ignore", multiple=True, metavar="RULES", shell_complete=completed("rule_list"), help="Leave these rules out."),
    click.option("--extend-select", multiple=True, metavar="RULES", shell_complete=completed("rule_list"), help="Check these rules as well."),
)

colour_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="auto: on a terminal, unless NO_COLOR is set.",
)


def config_options(function: Function) -> Function:
    """Add the options that describe a config and its cluster."""
    return _with(_CONFIG_OPTIONS, function)


def rule_options(function: Function) -> Function:
    """Add the options that say which rules are checked."""
    return _with(_RULE_OPTIONS, function)


def overrides_apart(words: tuple[str, ...], recipe: bool) -> tuple[list[str], list[str]]:
    """``(paths, overrides)`` of the words of a command line, wherever ``--`` stands.

    A word that names a file or folder is a path. Else ``key=value`` is an override, as Hydra's words are, unless the key is no dotted
    name or the word can only be a path that does not exist (``lr=1e-4/run.yaml``); ``~key`` is one too, and with a recipe so is a
    dotted name alone: Hydra refuses it, and that is worth a finding.
    """
    paths: list[str] = []
    overrides: list[str] = []
    for word in words:
        match = _OVERRIDE.match(word)
        if match is None or os.path.lexists(word):
            is_override = False
        elif match["equals"]:
            is_override = "." in match["key"] or bool(match["mark"]) or "/" not in word
        else:
            is_override = bool(match["mark"]) or (recipe and "." in word and not word.endswith((".yaml", ".yml")))
        (overrides if is_override else paths).append(word)
    return paths, overrides


def options(given: dict[str, Any]) -> Options:
    """The ``Options`` for what click parsed. Raises UsageError for a value that can only be a slip."""
    taken: dict[str, Any] = {name: given[name] for name in Options.__slots__ if given.get(name) is not None}
    for name in ("select", "ignore", "extend_select"):
        taken[name] = [part.strip() for value in given.get(name, ()) for part in value.split(",") if part.strip()]
        if given.get(name) and not taken[name]:
            raise UsageError(f"--{name.replace('_', '-')} names no rule", hint="lclint rules list shows them all")
    for name in ("sets", "words", "rules"):
        taken[name] = list(given.get(name, ()))
    taken["env"] = _environment(given.get("env", ()))
    if taken.get("gpu"):
        taken["gpu"] = _gpu(taken["gpu"])
    result = Options(**taken)
    refuse_slips(result)
    return result


def report_settings(given: dict[str, Any], choices: Sequence[str]) -> None:
    """Fill ``format_`` (one of ``choices``) and ``output`` from the settings of the working directory, where the command line leaves them out.

    Raises UsageError.
    """
    context = click.get_current_context()
    for source in Finder(given["settings"], given["no_settings"]).near("."):
        for key, name in (("format", "format_"), ("output", "output")):
            taken_from = context.get_parameter_source(name)
            if key not in source.values or taken_from is None or taken_from.name != "DEFAULT" or given.get(f"settled_{key}"):
                continue
            value = source.values[key]
            if key == "format" and value not in choices:
                raise source.error(f"format: there is no {value[:40]}", key, hint=f"there are {', '.join(choices)}")
            if key == "output":
                value = source.below(value)
            given[name] = value
            given[f"settled_{key}"] = True


def _with(added: tuple[Callable[[Function], Function], ...], function: Function) -> Function:
    for option in reversed(added):
        function = option(function)
    return function


def _environment(pairs: tuple[str, ...]) -> dict[str, str]:
    environment = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--env {pair}: expected NAME=VALUE")
        environment[name] = value
    return environment


def _gpu(name: str) -> str:
    from lclint.catalog import tables

    known = tables.gpus()
    if name.lower() not in known:
        raise UsageError(f"unknown GPU '{name}'", hint=f"known: {', '.join(sorted(known))}")
    return name.lower()
