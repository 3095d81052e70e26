"""``lclint rules``: what the rules are, and tests of one's own."""

from __future__ import annotations

from typing import Any

import click

from lclint.cli import output, shared
from lclint.core.finding import SEVERITIES
from lclint.core.project import rule_page
from lclint.report.style import Style

_folders = click.option(
    "--rules",
    "folders",
    multiple=True,
    metavar="DIR",
    shell_complete=shared.completed("folders"),
    help="Directory with rules of your own. Repeatable.",
)


@click.group(no_args_is_help=False, short_help="List, explain and test rules.")
def command() -> None:
    """List, explain and test rules."""


@command.command("list")
@_folders
@shared.colour_option
def list_rules(folders: tuple[str, ...], color: str) -> int:
    """List every rule: code, most severe case, name and title."""
    from lclint.engine import rules

    colour = output.use_colour(color)
    style = Style(colour, output.use_links(colour))
    lines = []
    for rule in sorted(rules.load(folders), key=lambda rule: rule.code):
        severity = min((case.severity for case in rule.cases), key=SEVERITIES.index)
        name = style.link(style.paint(rule.name, "strong"), rule_page(rule.name) if rule.shipped else None)
        lines.append(f"{rule.code}  {style.paint(f'{severity:7}', severity)}  {name}: {rule.title}\n")
    output.write("".join(lines))
    return 0


@command.command("show")
@click.argument("name", shell_complete=shared.completed("rules"))
@_folders
@shared.colour_option
def show(name: str, folders: tuple[str, ...], color: str) -> int:
    """Explain the rule NAME (or its code): why, when, how it is fixed."""
    from lclint.engine import rulefile, rules
    from lclint.report import rule_page

    found = rules.load(folders).find(name)
    page = rule_page.render(_data(found.name, [rulefile.shipped("rules"), *folders]), Style(output.use_colour(color)), output.width())
    output.write(page)
    return 0


def _data(name: str, folders: list[str]) -> dict[str, Any]:
    """The data of the rule's file: usually the one called after it."""
    import os

    from lclint.engine import rulefile

    paths = [path for folder in folders for path in rulefile.find(folder)[0]]
    for path in sorted(paths, key=lambda path: os.path.splitext(os.path.basename(path))[0] != name):
        data = rulefile.read(path).data
        if data["name"] == name:
            return data
    raise LookupError(f"no file holds the rule {name}")


@command.command("facts")
@click.argument("word", required=False)
@shared.colour_option
def facts(word: str | None, color: str) -> int:
    """List the quantities that a rule's expressions can use besides fields, with unit and meaning; WORD narrows the list."""
    from lclint.config.cluster import GPU_FACTS
    from lclint.engine.names import GIVEN
    from lclint.facts.registry import FACTS
    from lclint.report.screen import wrap

    style = Style(output.use_colour(color))
    listed = {name: ("", meaning) for name, meaning in {**GIVEN, **GPU_FACTS}.items()}
    listed.update((fact.name, (fact.unit, " ".join(fact.meaning.replace("``", "").split()))) for fact in FACTS.values())
    lines = []
    for name, (unit, meaning) in sorted(listed.items()):
        if word is None or word.lower() in f"{name} {unit} {meaning}".lower():
            lines.append(f"{style.paint(name, 'strong')}{f' [{unit}]' if unit else ''}\n")
            lines += [f"{line}\n" for line in wrap(meaning[:1].upper() + meaning[1:], output.width(), "  ", "  ")]
    output.write("".join(lines))
    return 0 if lines else 1


@command.command("test")
@click.argument("folder", metavar="DIR", shell_complete=shared.completed("folders"))
@click.option("-v", "--verbose", is_flag=True, help="List the examples that hold, too.")
@shared.colour_option
def test(folder: str, verbose: bool, color: str) -> int:
    """Run the examples of every rule under DIR: what each finds, where, and what its fixes make of it."""
    from lclint import api
    from lclint.report.screen import count, printable

    style = Style(output.use_colour(color))
    results = api.test_rules(folder)
    lines = []
    for result in results:
        where = style.paint(f"{result.path}:{result.line}", "strong")
        if result.problem is not None:
            lines.append(f"{where}: {style.paint('failed', 'error')}: {result.rule}, example {result.example}\n")
            lines += [f"  {printable(line)}\n" for line in result.problem.rstrip().split("\n")]
        elif verbose:
            lines.append(f"{where}: {style.paint('ok', 'fix')}: {result.rule}, example {result.example}\n")
    failed = sum(result.problem is not None for result in results)
    rules = len({result.rule for result in results})
    lines.append(f"{count(len(results), 'example')} of {count(rules, 'rule')}: {f'{failed} failed' if failed else 'all hold'}\n")
    output.write("".join(lines))
    return int(failed > 0)
