"""``lclint settings``: what is in force for a file, and where each value came from."""

from __future__ import annotations

import os
from typing import Any

import click

from lclint.cli import output
from lclint.report.screen import printable
from lclint.report.text import literal


@click.command(short_help="Show which settings are in force for a file, and where they come from.")
@click.argument("path", default=".", metavar="[FILE|DIR]")
@click.option("--settings", metavar="FILE", help="Settings in the place of the lclint.toml or pyproject.toml nearest to the file.")
def command(path: str, settings: str | None) -> int:
    """Show the settings for FILE, or for the files of DIR (default: the working directory): each value with its place."""
    from lclint.core.options import Options
    from lclint.per_file import PerFile

    per_file = PerFile(Options(settings=settings))
    probe = os.path.join(path, "config.yaml") if os.path.isdir(path) else path
    lines = [*_files(per_file, probe), *_values(per_file, path, probe)]
    output.write("".join(f"{line}\n" for line in lines))
    return 0


def _files(per_file: Any, probe: str) -> list[str]:
    near = per_file.near(probe)
    return [f"settings: {', '.join(printable(source.path) for source in near)}" if near else "no lclint.toml, and no [tool.lclint] in a pyproject.toml"]


def _values(per_file: Any, path: str, probe: str) -> list[str]:
    from lclint.config import header
    from lclint.core.options import DEFAULT_PROFILE
    from lclint.settings.fill import Layer, fill
    from lclint.sources import document as documents
    from lclint.sources import files

    left_out = per_file.excluded(probe)
    if left_out is not None:
        return [f"excluded: {printable(path)} is not checked ({left_out})"]
    document = documents.load(files.read(path), path) if probe == path else None
    said, faults = header.read(document)
    origins: dict[str, Layer] = {}
    per_file.options(probe, document)  # refuses names of rules that do not exist
    filled = fill(per_file.given, per_file.near(probe), probe, said, origins)
    rows = [(name.replace("_", "-"), literal(value), "the file's # lclint: comment") for name, value in said.items()]
    rows += [(fault.option.partition("=")[0], "not taken", str(fault.error)) for fault in faults]
    for key, layer in origins.items():
        value = getattr(filled, key.replace("-", "_"))
        rows.append((key, literal({entry: level for group in value for entry, level in group} if key == "severity" else value), layer.place(key)))
    for key in ("exclude", "format", "output"):
        source = next((each for each in per_file.near(probe) if key in each.values), None)
        if source is not None:
            rows.append((key, literal(source.values[key]), f"{source.path}:{source.line(key)}"))
    rows += [(f"at {field}", ", ".join(f"{entry}: {level}" for entry, level in levels), "overrides") for field, levels in filled.at_fields]
    for key, value in (("profile", DEFAULT_PROFILE), ("fail-on", "warning")):
        if key not in origins and not (key == "profile" and "select" in origins):
            rows.append((key, value, "default"))
    width = max(len(key) for key, _, _ in rows)
    return [printable(f"{key:{width}} = {value}  ({where})") for key, value, where in rows]
