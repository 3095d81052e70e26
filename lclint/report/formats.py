"""The output formats of ``lclint check`` besides the text: each is a module, imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lclint.core.finding import Report
    from lclint.core.options import Options

_MODULES = {
    "concise": "concise",
    "json": "json_report",
    "jsonl": "jsonl",
    "github": "github",
    "gitlab": "gitlab",
    "sarif": "sarif",
    "junit": "junit",
    "rdjson": "rdjson",
    "markdown": "markdown",
}
NAMES = ("text", *_MODULES)
# those that have a place for a file that could not be read
WITH_ERRORS = ("github", "sarif", "junit", "markdown")


def render(name: str, report: Report, options: Options) -> str:
    """The report in one of ``NAMES`` but ``text``, which knows about terminals."""
    module = __import__(f"lclint.report.{_MODULES[name]}", fromlist=["render"])
    text: str = module.render(report, options)
    return text
