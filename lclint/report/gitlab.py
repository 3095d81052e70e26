"""A GitLab code quality report (a subset of Code Climate's format), for ``artifacts: reports: codequality``.

https://docs.gitlab.com/ci/testing/code_quality/: description, check_name, fingerprint, severity and location. Lines only: GitLab shows no columns.
"""

from __future__ import annotations

import json
import os
from typing import Any

from lclint.core.finding import FileReport, Finding, Report
from lclint.core.options import Options
from lclint.report.fingerprint import Fingerprints
from lclint.report.location import message, relative, spot, whole

# an error that stops the job or fills the memory weighs more than one that trains something else
SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}
GRAVE = ("crash", "oom")


def render(report: Report, options: Options) -> str:
    """One object a finding, in ASCII."""
    prints = Fingerprints()
    issues = [_issue(file, finding, options, prints) for file in report.files for finding in file.findings]
    return json.dumps(issues, indent=1) + "\n"


def _issue(file: FileReport, finding: Finding, options: Options, prints: Fingerprints) -> dict[str, Any]:
    at = spot(file, finding.place)
    path = whole(relative(at.path or file.path, os.environ.get("CI_PROJECT_DIR")))
    grave = finding.severity == "error" and finding.impact in GRAVE
    return {
        # the merge request shows the description alone
        "description": f"{finding.rule}: {message(file, finding, options)}",
        "check_name": finding.rule,
        "fingerprint": prints.of(path, finding),
        "severity": "critical" if grave else SEVERITIES[finding.severity],
        "location": {"path": path, "lines": {"begin": at.line or 1, "end": at.end_line or 1}},
    }
