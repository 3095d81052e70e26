"""Every format over the findings of all rules' examples at once: messages, fixes and places as they really are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import junitparser
import pytest
import yaml

from lclint import api
from lclint.config import build
from lclint.core.finding import FileReport, Report
from lclint.core.options import Options
from lclint.report import formats
from lclint.sources import document as documents
from lclint.sources import edits

HERE = Path(__file__).parent
GIVEN = ("gpu", "gpus", "gpus_per_node", "recipe", "bridge_version", "te_version", "torch_version", "env_complete")


@pytest.fixture(scope="module")
def report(checkout: Path) -> Report:
    """The first example of each rule that finds something, as files of one check."""
    whole = Report()
    rules = api.load_rules(Options())
    for path in sorted((checkout / "rules").rglob("*.yaml")):
        rule = yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        example = next((example for example in rule.get("examples", []) if example["finds"] and "log" not in example.get("given", {})), None)
        if example is None or "base" in example.get("given", {}):
            continue
        given = example.get("given", {})
        options: dict[str, Any] = {name: given[name] for name in GIVEN if name in given}
        # Windows line ends, a mark and wide characters before everything: columns and offsets have to hold all the same
        data = b"\xef\xbb\xbf" + f"# 名𐐀é\n{example['config']}".replace("\n", "\r\n").encode()
        document = documents.load(data, f"conf/{path.name}")
        run, _ = build.from_document(document, Options(sets=given.get("set", []), **options), named=True)
        if run is not None:
            whole.files.append(api.check_run(run, rules))
    assert sum(len(file.findings) for file in whole.files) > 200
    return whole


def bytes_of(file: FileReport) -> bytes:
    return (file.mark + (file.text or "")).encode()


def offset(data: bytes, at: dict[str, int]) -> int:
    lines = data.split(b"\n")
    return sum(len(line) + 1 for line in lines[: at["line"] - 1]) + at["column"] - 1


def test_sarif(report: Report) -> None:
    log = json.loads(formats.render("sarif", report, Options()))
    jsonschema.Draft4Validator(json.loads((HERE / "schemas" / "sarif-2.1.0.json").read_text(encoding="utf-8"))).validate(log)
    (run,) = log["runs"]
    findings = [(file, finding) for file in report.files for finding in [*file.findings, *(why.finding for why in file.suppressions)]]
    assert len(run["results"]) == len(findings)
    assert len({result["partialFingerprints"]["lclint/v1"] for result in run["results"]}) == len(findings)
    assert all(len(rule["help"]["text"]) > 60 and rule["helpUri"] for rule in run["tool"]["driver"]["rules"])
    applied = 0
    for (file, finding), result in zip(findings, run["results"], strict=True):
        text = file.text or ""
        lines = text.split("\n")
        starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines) + 1)]
        made = [fix for fix in finding.fixes if fix.edits and fix.applicability != "display-only"]
        assert len(result.get("fixes", [])) == len(made)
        for fix, shown in zip(made, result.get("fixes", []), strict=True):
            replacements = []
            for replacement in shown["artifactChanges"][0]["replacements"]:
                region = replacement["deletedRegion"]
                start = starts[region["startLine"] - 1] + region["startColumn"] - 1
                end = starts[region["endLine"] - 1] + region["endColumn"] - 1
                replacements.append((start, end, replacement["insertedContent"]["text"]))
            assert edits.apply(text, replacements) == edits.apply(text, [(edit.start, edit.end, edit.text) for edit in fix.edits])
            applied += 1
    assert applied > 100


def test_rdjson(report: Report) -> None:
    result = json.loads(formats.render("rdjson", report, Options()))
    jsonschema.Draft7Validator(json.loads((HERE / "schemas" / "rdjson.json").read_text(encoding="utf-8"))).validate(result)
    findings = [(file, finding) for file in report.files for finding in file.findings]
    suggested = 0
    for (file, finding), shown in zip(findings, result["diagnostics"], strict=True):
        data = bytes_of(file)
        place = finding.place
        if place.line is not None and place.line == place.end_line and place.column and place.end_column:
            span = shown["location"]["range"]
            line = (file.text or "").split("\n")[place.line - 1]
            assert data[offset(data, span["start"]) : offset(data, span["end"])].decode() == line[place.column - 1 : place.end_column - 1]
        for suggestion in shown.get("suggestions", []):
            start, end = (offset(data, suggestion["range"][name]) for name in ("start", "end"))
            fix = next(fix for fix in finding.fixes if fix.applicability == "safe" and fix.edits)
            expected = file.mark + edits.apply(file.text or "", [(edit.start, edit.end, edit.text) for edit in fix.edits])
            assert (data[:start] + suggestion["text"].encode() + data[end:]).decode() == expected
            suggested += 1
    assert suggested > 10


def test_the_others(report: Report) -> None:
    found = sum(len(file.findings) for file in report.files)
    suites = list(junitparser.JUnitXml.fromstring(formats.render("junit", report, Options()).encode()))
    assert len(suites) == len(report.files)
    issues = json.loads(formats.render("gitlab", report, Options()))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) == found
    for name in ("github", "concise", "jsonl"):
        assert formats.render(name, report, Options()).count("\n") == found
    assert len(formats.render("markdown", report, Options())) < 65_536
