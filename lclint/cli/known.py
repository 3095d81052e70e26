"""The baseline of ``lclint check``: writing it, pruning it, and saying what in it is out of date."""

from __future__ import annotations

from lclint.cli import output
from lclint.cli.errors import note
from lclint.core.errors import UsageError
from lclint.core.finding import FileReport, Report
from lclint.engine import baseline
from lclint.engine.baseline import DEFAULT_NAME, Baseline
from lclint.report.screen import count

# of a name that somebody else may have written
LONGEST = 300


def write(report: Report) -> None:
    """Record all findings of the checked files in their baselines; what those say of other files stays."""
    for path, files in _by_baseline(report, DEFAULT_NAME).items():
        known = _present(path)
        recorded = [number for file in files if (number := known.record(file)) is not None]
        if not recorded:
            raise UsageError("there is no file whose findings could be recorded", hint="name the configs; standard input and a command line have no path")
        for name in known.gone():
            del known.entries[name]
        output.write(known.render(), path, exact=True)
        use = "" if any(file.baseline is not None for file in files) else f'; use it with --baseline {path}, or baseline = "{path}" in lclint.toml'
        note(f"{path}: {count(sum(recorded), 'finding')} of {count(len(recorded), 'file')} recorded{use}")


def prune(report: Report) -> None:
    """Take out of the baselines what the checked files do not have any more."""
    for path, files in _by_baseline(report).items():
        known = baseline.read(path)
        before = known.render()
        known.prune(files)
        if known.render() != before:
            output.write(known.render(), path, exact=True)


def note_outlived(report: Report, pruned: bool) -> None:
    """One line for each baseline that has entries for what is gone; which entries, with their files, stand in front."""
    for path, files in _by_baseline(report).items():
        lines = [f"{name}: {rule} at {at}" for name, gone in ((file.path, file.outlived) for file in files) for rule, at, _ in gone]
        lines += [f"{name}: the file is gone" for name in (baseline.read(path).gone() if not pruned else ())]
        if lines:
            shown = "; ".join(line[:LONGEST] for line in lines[:3]) + (f"; {len(lines) - 3} more" if len(lines) > 3 else "")
            does = "pruned" if pruned else "--prune-baseline takes them out"
            note(f"{path}: {count(len(lines), 'known finding')} no longer found ({does}): {shown}")


def _by_baseline(report: Report, default: str | None = None) -> dict[str, list[FileReport]]:
    found: dict[str, list[FileReport]] = {}
    for file in report.files:
        path = file.baseline or default
        if path is not None:
            found.setdefault(path, []).append(file)
    return found


def _present(path: str) -> Baseline:
    import os

    return baseline.read(path) if os.path.lexists(path) else Baseline(path)
