"""``lclint check``: findings and patches for config files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from lclint.cli import output, shared
from lclint.cli.errors import FAILED, note
from lclint.core.errors import InputError, LclintError, UsageError
from lclint.core.finding import SEVERITIES, FileReport, Report
from lclint.core.options import Options
from lclint.report import formats
from lclint.report.screen import count, printable

if TYPE_CHECKING:
    from lclint.api import Applied

STDIN = "-"


@click.command(short_help="Find what is wrong in configs, and fix it.")
@click.argument("words", nargs=-1, metavar="[PATH|-]... [-- KEY=VALUE...]", shell_complete=shared.completed("files"))
@shared.config_options
@shared.rule_options
@click.option("--fix", is_flag=True, help="Apply the safe fixes to the files.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: the unsafe fixes too.")
@click.option("--diff", is_flag=True, help="Print what --fix would change as a patch; write nothing.")
@click.option("--format", "format_", type=click.Choice(formats.NAMES), default="text", show_default=True, help="Form of the report.")
@click.option("--output", metavar="FILE", shell_complete=shared.completed("files"), help="Write the report to FILE.")
@click.option(
    "--fail-on",
    type=click.Choice([*SEVERITIES, "never"]),
    help="Least severity that makes the exit code 1; warning where the settings do not say it.",
)
@click.option("--baseline", metavar="FILE", help="File of known findings, which are not reported.")
@click.option("--write-baseline", is_flag=True, help="Record all findings in the baseline (default: lclint-baseline.json).")
@click.option("--prune-baseline", is_flag=True, help="Take out of the baseline what is no longer found.")
@click.option("--statistics", is_flag=True, help="Count the findings of each rule instead of showing them.")
@click.option("--stdin-filename", metavar="NAME", help="Name to report standard input by.")
@click.option("--skip-unparsable", is_flag=True, help="Pass over named files that are not YAML and hold nothing of Megatron's.")
@click.option("--show-files", is_flag=True, help="List the files and why each is checked or skipped, and do no more.")
@click.option("-v", "--verbose", is_flag=True, help="Also list what could not be decided, and what would decide it.")
@click.option("-q", "--quiet", is_flag=True, help="Findings only: no summary.")
@click.option("-s", "--silent", is_flag=True, help="Nothing but the exit code, and errors; --output FILE is still written.")
@shared.colour_option
def command(words: tuple[str, ...], **given: Any) -> int:
    """Check Megatron Bridge configs: override files, saved run_config.yaml files, or the overrides of a launch command.

    PATH is a file, a directory, a glob, or - for standard input. KEY=VALUE is a Hydra override, as behind --set; with
    --recipe no file is needed: lclint check --recipe NAME -- model.seq_length=8192
    """
    shared.report_settings(given, formats.NAMES)
    paths, given["words"] = shared.overrides_apart(words, given["recipe"] is not None)
    options = shared.options(given)
    options.needs = given["verbose"] or given["format_"] != "text"
    if not paths and not options.sets and not options.words and options.recipe is None:
        raise UsageError("nothing to check", hint="give a file, a directory, - for standard input, --recipe NAME, or overrides KEY=VALUE")
    _refuse_to_overwrite(given["output"], [*paths, options.base])
    if given["show_files"]:
        return _show_files(paths, options)
    if given["write_baseline"]:
        return _write_baseline(paths, options)
    if options.diff:
        return _diff(paths, options, given)
    if options.fix:
        return _fix(paths, options, given)
    if options.unsafe_fixes:
        note("--unsafe-fixes changes nothing without --fix or --diff")
    from lclint import api

    try:
        report = api.check_paths(paths, options)
    except InputError as error:
        if given["format_"] not in formats.WITH_ERRORS:
            raise
        # an annotation or a report says more in a pipeline than a line in its log
        report = Report(errors=[error])
    _write_report(report, options, given)
    return _status(report, given["fail_on"])


def _write_baseline(paths: list[str], options: Options) -> int:
    if options.diff or options.fix:
        raise UsageError("--write-baseline neither fixes nor shows a patch", hint="fix first, then record what is left")
    from lclint import api
    from lclint.cli import known

    options.bare = True
    report = api.check_paths(paths, options)
    known.write(report)
    return _errors(report)


def _refuse_to_overwrite(report: str | None, inputs: list[str | None]) -> None:
    """A report must not take the place of what it is about, also where a folder or a pattern brought it in."""
    if report is None or not os.path.exists(report):
        return
    if os.path.isdir(report):
        raise UsageError(f"--output {report} is a folder", hint="name a file")
    from lclint.sources import files

    try:
        found = files.find([path for path in inputs if path is not None and path != STDIN])
    except InputError:
        return  # the check says it, in the report's form
    for path in found:
        if os.path.exists(path) and os.path.samefile(path, report):
            raise UsageError(f"--output {report} would overwrite the config {path}", hint="name another file")


def _diff(paths: list[str], options: Options, given: dict[str, Any]) -> int:
    if given["format_"] != "text" and given["output"] is None:
        raise UsageError("--diff prints a patch", hint="give --output FILE for the report")
    from lclint import api
    from lclint.report.diff import unified
    from lclint.report.text import TextReport

    options.fix = False
    report, applied = api.fix_paths(paths, options)
    patch = "".join(unified(change.path, change.before, change.after) for change in applied)
    if given["output"] is not None:
        _write_report(report, options, given)
    if not given["silent"]:
        output.write(patch, exact=True)
    _note_all(applied)
    if not given["quiet"] and not given["silent"]:
        changed = sum(change.before != change.after for change in applied)
        note(TextReport(options).summary(report, f"{count(changed, 'file')} would change; after that, "))
    status = _status(report, given["fail_on"])
    return max(status, 1) if patch else status


def _fix(paths: list[str], options: Options, given: dict[str, Any]) -> int:
    from lclint import api
    from lclint.report.text import TextReport

    if STDIN in paths and len(paths) > 1:
        raise UsageError("--fix takes standard input alone", hint="it prints the fixed text")
    report, applied = api.fix_paths(paths, options)
    _note_all(applied)
    changed = sum(change.before != change.after for change in applied)
    fixed = f"{count(changed, 'file')} changed; " if changed else ""
    if paths == [STDIN]:
        _write_fixed(report)
        if given["output"] is None:
            if not given["silent"]:
                note(TextReport(options).summary(report, fixed))
            return _status(report, given["fail_on"])
    _write_report(report, options, given, fixed)
    return _status(report, given["fail_on"])


def _write_fixed(report: Report) -> None:
    """Print the fixed standard input. What cannot be fixed is an error: an editor would take no output for the new text."""
    for file in report.files:
        if file.text is not None:
            output.write(file.mark + file.text, exact=True)
            return
    reasons = [*report.skipped.values(), *(f"excluded in {place}" for place in report.excluded.values())]
    raise LclintError("standard input is no config that can be fixed", hint=reasons[0] if reasons else None)


def _note_all(applied: list[Applied]) -> None:
    for change in applied:
        for text in change.notes:
            note(f"{printable(change.path)}: {text}")


def _write_report(report: Report, options: Options, given: dict[str, Any], fixed: str = "") -> None:
    path = given["output"]
    _note_approximate(report)
    if given["prune_baseline"] or any(file.baseline for file in report.files):
        _note_baseline(report, given["prune_baseline"])
    if given["silent"] and path is None:
        return
    if given["statistics"]:
        _write_statistics(report, given)
        return
    name = given["format_"]
    if name == "concise":
        from lclint.report import concise
        from lclint.report.style import Style

        output.write(concise.render(report, options, Style(output.use_colour(given["color"], path))), path)
        return
    if name != "text":
        output.write(formats.render(name, report, options), path, exact=True)
        return
    from lclint.report.text import TextReport

    colour = output.use_colour(given["color"], path)
    form = TextReport(
        options,
        colour=colour,
        links=output.use_links(colour, path),
        width=output.width(path),
        verbose=given["verbose"],
        quiet=given["quiet"],
    )
    output.write(form.render(report, fixed), path)


def _note_baseline(report: Report, pruned: bool) -> None:
    from lclint.cli import known

    if pruned:
        if not any(file.baseline for file in report.files):
            raise UsageError("there is no baseline to prune", hint="give --baseline FILE, or name it in lclint.toml")
        known.prune(report)
    known.note_outlived(report, pruned)


def _write_statistics(report: Report, given: dict[str, Any]) -> None:
    from lclint.report import statistics

    if given["format_"] not in ("text", "json"):
        raise UsageError(f"--statistics has no form {given['format_']}", hint="it is text or json")
    if given["format_"] == "json":
        output.write(statistics.render_json(report), given["output"], exact=True)
        return
    from lclint.report.style import Style

    output.write(statistics.render(report, Style(output.use_colour(given["color"], given["output"]))), given["output"])


def _note_approximate(report: Report) -> None:
    """Say so where a recipe's model is known only roughly: a finding about its sizes may then be wrong."""
    for name, release in dict.fromkeys((file.recipe, file.bridge_version) for file in report.files):
        if name is not None:
            from lclint.catalog import recipes

            if recipes.about(release, name).approximate:
                note(f"recipe {name}: some sizes of its model are approximate, as its published config was not at hand for the catalogue")


def _show_files(paths: list[str], options: Options) -> int:
    from lclint import api

    report = api.check_paths(paths, options)
    lines = {file.path: f"checked as {file.kind}" for file in report.files}
    lines.update((path, f"skipped: {reason}") for path, reason in report.skipped.items())
    lines.update((path, f"excluded in {place}") for path, place in report.excluded.items())
    output.write("".join(f"{printable(path)}: {printable(lines[path])}\n" for path in sorted(lines)))
    return _errors(report)


def _errors(report: Report) -> int:
    """Name the files that could not be read; 2 when there are any."""
    for error in report.errors:
        note(f"error: {error}")
    return FAILED if report.errors else 0


def _status(report: Report, fail_on: str | None) -> int:
    """2 when a file could not be read, 1 when a finding is at or above ``fail_on`` (else what the file's settings say), else 0."""
    return _errors(report) or int(any(_fails(file, fail_on or file.fail_on or "warning") for file in report.files))


def _fails(file: FileReport, fail_on: str) -> bool:
    return fail_on != "never" and any(SEVERITIES.index(finding.severity) <= SEVERITIES.index(fail_on) for finding in file.findings)
