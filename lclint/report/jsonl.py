"""JSON lines: each finding of the JSON report on a line of its own, with the file that it was found in."""

from __future__ import annotations

import json

from lclint.core.finding import Report
from lclint.core.options import Options
from lclint.report.json_report import SCHEMA, finding_data


def render(report: Report, options: Options) -> str:
    """One object a line, in ASCII: ``schema``, ``file`` and the keys of a finding in ``schemas/report.schema.json``."""
    return "".join(
        json.dumps({"schema": SCHEMA, "file": file.path, **finding_data(finding)}, separators=(",", ":"), allow_nan=False) + "\n"
        for file in report.files
        for finding in file.findings
    )
