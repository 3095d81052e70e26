"""``lclint memory``: peak memory of every pipeline stage, by component."""

from __future__ import annotations

from typing import Any

import click

from lclint.cli import output, shared
from lclint.cli.errors import FAILED, note
from lclint.core.errors import UsageError


@click.command(short_help="Estimate the peak memory of every pipeline stage.")
@click.argument("words", nargs=-1, metavar="[CONFIG|-] [-- KEY=VALUE...]", shell_complete=shared.completed("files"))
@shared.config_options
@click.option("--what-if", "what_if", multiple=True, metavar="KEY=VALUE", help="Also estimate with this value, and show the difference. Repeatable.")
@click.option("--format", "format_", type=click.Choice(["text", "json", "html"]), default="text", show_default=True, help="Form of the report.")
@click.option("--output", metavar="FILE", shell_complete=shared.completed("files"), help="Write the report to FILE.")
@shared.colour_option
def command(words: tuple[str, ...], what_if: tuple[str, ...], **given: Any) -> int:
    """Estimate peak memory for each pipeline stage, and whether it fits the GPU.

    CONFIG is an override file, a saved run_config.yaml, a Megatron-LM MODEL_ARGS file, or - for standard input. The exit code is 1 when the job
    cannot fit, or when Megatron Bridge would refuse the config at start-up, and 2 when there is nothing to estimate from.
    """
    paths, given["words"] = shared.overrides_apart(words, given["recipe"] is not None)
    options = shared.options(given)
    if len(paths) > 1:
        raise UsageError("one config at a time", hint=f"{paths[0]} and {paths[1]} are given")
    if not paths and not options.sets and not options.words and options.recipe is None:
        raise UsageError("nothing to estimate", hint="give a file, - for standard input, --recipe NAME, or overrides KEY=VALUE")
    from lclint import api

    found = api.estimate_path(paths[0] if paths else None, options, list(what_if))
    for problem in found.problems:
        note(problem)
    if given["format_"] == "json":
        from lclint.report.memory_json import render

        output.write(render(found), given["output"], exact=True)
    elif given["format_"] == "html":
        from lclint.report import memory_html

        output.write(memory_html.render(found), given["output"], exact=True)
    else:
        from lclint.report import memory_text
        from lclint.report.style import Style

        style = Style(output.use_colour(given["color"], given["output"]))
        output.write(memory_text.render(found, style, output.width(given["output"])), given["output"])
    if not found.estimate.stages:
        return FAILED
    return int(found.estimate.verdict == "oom" or bool(found.refusals))
