"""``lclint diagnose``: from a crash log to the cause and what to change."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from lclint.cli import output, shared
from lclint.cli.errors import note
from lclint.core.errors import UsageError

if TYPE_CHECKING:
    from lclint.curing import Cure
    from lclint.diagnosing import Diagnosis

QUIET_SECONDS = 2.0


@click.command(short_help="Say why a job died, from its log.")
@click.argument("logs", nargs=-1, metavar="LOG|DIR|-...", shell_complete=shared.completed("files"))
@click.option("--config", metavar="FILE", shell_complete=shared.completed("files"), help="Config that the job ran with; the fixes are made for it.")
@shared.config_options
@shared.rule_options
@click.option("--diff", is_flag=True, help="Print what --fix would change as a patch; write nothing.")
@click.option("--fix", is_flag=True, help="Make the fixes in the config file, one by one, until the run fits.")
@click.option("--unsafe-fixes", is_flag=True, help="With --diff or --fix: an unsafe one too. Most of what helps against want of memory is.")
@click.option("--format", "format_", type=click.Choice(["text", "json", "markdown", "html"]), default="text", show_default=True, help="Form of the report.")
@click.option("--output", metavar="FILE", shell_complete=shared.completed("files"), help="Write the report to FILE.")
@shared.colour_option
def command(logs: tuple[str, ...], config: str | None, **given: Any) -> int:
    """Read crash logs and say what ran out, where, on which rank first, why, and what to change.

    LOG is a file (also .gz), a folder of per-rank files, a PyTorch memory snapshot (.pickle), or - for standard input; several are read as
    the parts of one log. The exit code is 1 when the run failed for want of memory.
    """
    options = shared.options(given)
    if not logs:
        raise UsageError("nothing to diagnose", hint="give a log file, a folder, or - for standard input")
    if (given["diff"] or given["fix"]) and config is None:
        raise UsageError("--diff and --fix change a config", hint="name it with --config FILE")
    report = given["output"]
    for path in (*logs, config) if report is not None and os.path.exists(report) else ():
        inside = path is not None and os.path.isdir(path) and os.path.realpath(report).startswith(os.path.join(os.path.realpath(path), ""))
        if path is not None and (inside or (os.path.exists(path) and os.path.samefile(path, report))):
            raise UsageError(f"--output {report} would overwrite what is diagnosed", hint="name another file")
    from lclint import api

    progress = _Progress()
    diagnosis = api.diagnose_paths(list(logs), config, options, progress.add if progress.wanted else None)
    progress.end()
    if given["format_"] != "text" or given["diff"]:
        for text in diagnosis.crash.notes:
            note(text)
    changing = given["diff"] or given["fix"]
    cured = api.cure(diagnosis, options, given["unsafe_fixes"] or not changing) if config is not None and (changing or given["format_"] != "json") else None
    if given["diff"] or given["fix"]:
        _patch(diagnosis, cured, given)
        if given["diff"] and given["output"] is None:
            return int(diagnosis.memory_failure)
    if given["format_"] == "json":
        from lclint.report.diagnose_json import render

        output.write(render(diagnosis), given["output"], exact=True)
    elif given["format_"] == "markdown":
        from lclint.report import diagnose_markdown

        output.write(diagnose_markdown.render(diagnosis, cured), given["output"], exact=True)
    elif given["format_"] == "html":
        from lclint.report import diagnose_html

        output.write(diagnose_html.render(diagnosis, cured), given["output"], exact=True)
    else:
        from lclint.report.diagnose_text import DiagnosisText

        form = DiagnosisText(colour=output.use_colour(given["color"], given["output"]), width=output.width(given["output"]))
        output.write(form.render(diagnosis, cured), given["output"])
    return int(diagnosis.memory_failure)


def _patch(diagnosis: Diagnosis, cured: Cure | None, given: dict[str, Any]) -> None:
    """Print the patch, or write the config file."""
    from lclint.report.diff import unified
    from lclint.sources.writing import write_atomic

    path, before, mark = diagnosis.config_path or "", diagnosis.config_text or "", diagnosis.config_mark
    if cured is None or cured.text == before:
        unsafe = any(fix.edits and fix.applicability == "unsafe" for finding in diagnosis.findings for fix in finding.fixes)
        hint = "; --unsafe-fixes allows those that change speed or layout" if unsafe and not given["unsafe_fixes"] else ""
        note(f"no fix for the config file{hint}")
    elif given["diff"]:
        output.write(unified(path, mark + before, mark + cured.text), exact=True)
    else:
        write_atomic(path, (mark + cured.text).encode(), (mark + before).encode())
    if cured is not None:
        for fix in cured.made:
            note(f"{path}: {fix.title}")
        for text in [*cured.notes, cured.estimate]:
            if text:
                note(f"{path}: {text}")


class _Progress:
    """How much has been read, on a terminal's standard error, once it takes longer than two seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.wanted = sys.stderr is not None and sys.stderr.isatty()
        self._clock = clock
        self._begun = self._shown = clock()
        self._bytes = 0
        self._written = False

    def add(self, size: int) -> None:
        self._bytes += size
        now = self._clock()
        if now - self._begun > QUIET_SECONDS and now - self._shown > 0.5:
            self._shown = now
            self._written = True
            sys.stderr.write(f"\rlclint: {self._bytes / 2**20:,.0f} MiB read")
            sys.stderr.flush()

    def end(self) -> None:
        if self._written:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
