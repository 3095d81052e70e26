"""JUnit XML: a suite for every file, a case for every finding; Jenkins, GitLab, Azure and others show it as test results.

Errors and warnings are failures, the rest passes with its text; a file without findings is one case that passes, one that could not be
read is an error.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

from lclint.core.finding import FileReport, Finding, Report
from lclint.core.options import Options
from lclint.report.location import failure, message, one_line, relative, spot, whole
from lclint.report.remedy import remedies
from lclint.report.screen import printable

# what XML 1.0 has no way to write, besides the control characters and surrogates that are gone by then
_NONCHARACTERS = re.compile("[\ufffe\uffff]")


def render(report: Report, options: Options) -> str:
    """The document, UTF-8."""
    top = Xml.Element("testsuites", name="lclint")
    for file in report.files:
        _suite(top, file, options)
    for error in report.errors:
        suite = Xml.SubElement(top, "testsuite", name=_text(relative(error.path or "lclint")))
        case = Xml.SubElement(suite, "testcase", name="readable", classname=_text(relative(error.path or "lclint")))
        Xml.SubElement(case, "error", message=_text(failure(error)), type="error")
    for suite in [*top, top]:
        suite.set("tests", str(len(list(suite.iter("testcase")))))
        suite.set("failures", str(len(list(suite.iter("failure")))))
        suite.set("errors", str(len(list(suite.iter("error")))))
    Xml.indent(top, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{Xml.tostring(top, encoding="unicode")}\n'


def _suite(top: Xml.Element, file: FileReport, options: Options) -> None:
    path = _text(relative(file.path))
    suite = Xml.SubElement(top, "testsuite", name=path)
    for finding in file.findings:
        _case(suite, file, finding, options)
    if not file.findings:
        Xml.SubElement(suite, "testcase", name="no findings", classname=path)


def _case(suite: Xml.Element, file: FileReport, finding: Finding, options: Options) -> None:
    at = spot(file, finding.place)
    path = _text(relative(at.path or file.path))
    rule = f"{finding.rule}/{finding.case}" if finding.case else finding.rule
    case = Xml.SubElement(suite, "testcase", name=_text(f"{rule} at {finding.at}"), classname=path)
    case.set("file", path)
    if at.line is not None:
        case.set("line", str(at.line))
    text = message(file, finding, options)
    where = path if at.line is None else f"{path}:{at.line}:{at.column}"
    body = "\n".join([f"{where}: {finding.severity}: {text} [{finding.rule}]", *remedies(finding)])
    if finding.severity == "info":
        Xml.SubElement(case, "system-out").text = _clean(body)
    else:
        Xml.SubElement(case, "failure", message=_text(text), type=finding.severity).text = _clean(body)


def _text(text: str) -> str:
    return _NONCHARACTERS.sub("\ufffd", whole(printable(text)))


def _clean(text: str) -> str:
    return "\n".join(_NONCHARACTERS.sub("\ufffd", one_line(line)) for line in text.split("\n"))
