"""``lclint resolve``: the values that Bridge will really use."""

from __future__ import annotations

from typing import Any

import click

from lclint.cli import output, shared
from lclint.cli.errors import note
from lclint.core.errors import UsageError


@click.command(short_help="Show the values that Bridge will really use.")
@click.argument("words", nargs=-1, metavar="[CONFIG|-] [-- KEY=VALUE...]", shell_complete=shared.completed("files"))
@shared.config_options
@click.option("--field", "fields", multiple=True, metavar="NAME", help="Only this field or section. Repeatable.")
@click.option("--all", "everything", is_flag=True, help="Every value, not only those that differ from what is written.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of the report.")
@click.option("--output", metavar="FILE", shell_complete=shared.completed("files"), help="Write the report to FILE.")
@shared.colour_option
def command(words: tuple[str, ...], fields: tuple[str, ...], everything: bool, **given: Any) -> int:
    """Show the values that Megatron Bridge will really use, and where each comes from.

    Without --all or --field: what differs from what is written, and over a --base or --recipe also all that you set yourself.
    CONFIG is an override file, a saved run_config.yaml, or - for standard input. KEY=VALUE is a Hydra override, as behind --set.
    """
    paths, given["words"] = shared.overrides_apart(words, given["recipe"] is not None)
    options = shared.options(given)
    if len(paths) > 1:
        raise UsageError("one config at a time", hint=f"{paths[0]} and {paths[1]} are given")
    if not paths and not options.sets and not options.words and options.recipe is None:
        raise UsageError("nothing to resolve", hint="give a file, - for standard input, --recipe NAME, or overrides KEY=VALUE")
    from lclint import api

    resolved = api.resolve_path(paths[0] if paths else None, options, list(fields))
    for problem in resolved.problems:
        note(problem)
    values = resolved.values if everything or fields else resolved.telling()
    if given["format_"] == "json":
        from lclint.report.resolve_json import render

        output.write(render(resolved, values), given["output"], exact=True)
        return 0
    from lclint.report import resolve_text
    from lclint.report.style import Style

    style = Style(output.use_colour(given["color"], given["output"]))
    text = resolve_text.render(resolved, values, style, output.width(given["output"]), listed=everything or bool(fields))
    output.write(text, given["output"])
    return 0
