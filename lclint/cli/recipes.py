"""``lclint recipes``: which names ``--recipe`` takes."""

from __future__ import annotations

import click

from lclint.cli import output, shared
from lclint.report.style import Style


@click.command(short_help="List the recipes that --recipe knows.")
@click.argument("words", nargs=-1, metavar="[WORD]...")
@shared.colour_option
def command(words: tuple[str, ...], color: str) -> int:
    """List the recipes whose names hold every WORD, with the GPU and the number of GPUs of their names, and what they train.

    The GPU and its number are where NVIDIA ran a recipe: lclint never takes them for yours. Sizes of a recipe marked ~ are
    approximate, since its model's published config was not at hand when it was harvested.
    """
    from lclint.catalog import recipes
    from lclint.config.release import NEWEST
    from lclint.core.errors import UsageError

    style = Style(output.use_colour(color))
    wanted = [part for word in words for part in recipes.words(word)]
    found = [about for about in recipes.every(NEWEST) if all(part in about.name for part in wanted)]
    if not found:
        raise UsageError(f"no recipe's name holds {' and '.join(words)}", hint="'lclint recipes' alone lists them all")
    longest = max(len(about.name) for about in found)
    lines = []
    for about in found:
        machine = f"{about.gpus or '?'} x {about.gpu}" if about.gpu else f"{about.gpus} GPUs" if about.gpus else ""
        lines.append(f"{style.paint(about.name.ljust(longest), 'strong')} {'~' if about.approximate else ' '} {about.task or '':8}  {machine}".rstrip() + "\n")
    output.write("".join(lines))
    return 0
