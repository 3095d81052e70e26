"""SARIF by the official schema, and by what a viewer does with regions, addresses and fixes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import jsonschema
import pytest

from lclint import api
from lclint.core.finding import Report, Suppressed
from lclint.core.options import Options
from lclint.core.project import rule_page
from lclint.report import sarif

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft4Validator:
    schema = json.loads((HERE / "schemas" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    jsonschema.Draft4Validator.check_schema(schema)
    return jsonschema.Draft4Validator(schema)


def run_of(report: Report, validator: jsonschema.Draft4Validator, **options: Any) -> dict[str, Any]:
    log = json.loads(sarif.render(report, Options(**options)))
    validator.validate(log)
    assert len(log["runs"]) == 1
    for result in log["runs"][0]["results"]:
        assert log["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    return dict(log["runs"][0])


def marked(text: str, region: dict[str, int]) -> str:
    """The text of a region, counted in code points as the log's columnKind says."""
    lines = text.split("\n")
    first, last = region["startLine"] - 1, region["endLine"] - 1
    start = sum(len(line) + 1 for line in lines[:first]) + region["startColumn"] - 1
    end = sum(len(line) + 1 for line in lines[:last]) + region["endColumn"] - 1
    return text[start:end]


def applied(text: str, fix: dict[str, Any]) -> str:
    lines = text.split("\n")
    (change,) = fix["artifactChanges"]
    edits = []
    for replacement in change["replacements"]:
        region = replacement["deletedRegion"]
        start = sum(len(line) + 1 for line in lines[: region["startLine"] - 1]) + region["startColumn"] - 1
        edits.append((start, start + len(marked(text, region)), replacement["insertedContent"]["text"]))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


@pytest.mark.parametrize("which", ["full", "odd"])
def test_schema(which: str, request: pytest.FixtureRequest, validator: jsonschema.Draft4Validator) -> None:
    run = run_of(request.getfixturevalue(which), validator)
    assert run["columnKind"] == "unicodeCodePoints"
    assert len(run["results"]) == (4 if which == "full" else 9)
    assert run["invocations"][0]["executionSuccessful"] == (which == "full")


def test_an_empty_report(validator: jsonschema.Draft4Validator) -> None:
    assert run_of(Report(), validator)["results"] == []


def test_regions_hold_what_the_finding_is_about(odd: Report, validator: jsonschema.Draft4Validator) -> None:
    results = run_of(odd, validator)["results"]
    text = odd.files[0].text or ""
    assert marked(text, results[0]["locations"][0]["physicalLocation"]["region"]) == "false"
    assert marked(text, results[0]["relatedLocations"][0]["physicalLocation"]["region"]) == "'é𐐀'"
    assert marked(text, results[2]["locations"][0]["physicalLocation"]["region"]) == "'é𐐀' # x\r\nb:"
    assert results[3]["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


def test_what_is_silenced_is_there_as_suppressed(full: Report, validator: jsonschema.Draft4Validator) -> None:
    full.files[0].suppressions.append(Suppressed(finding=full.files[0].findings[2], by="baseline"))
    listed = [result["suppressions"] for result in run_of(full, validator)["results"]]
    assert listed[:3] == [[], [], []]
    (comment,), (baseline,) = listed[3:]
    assert (comment["kind"], comment["justification"]) == ("inSource", "measured: faster")
    assert comment["location"]["physicalLocation"]["region"] == {"startLine": 9}
    assert baseline == {"kind": "external", "status": "accepted"}


def test_fixes_are_the_edits(odd: Report, validator: jsonschema.Draft4Validator) -> None:
    fixes = run_of(odd, validator)["results"][0]["fixes"]
    text = odd.files[0].text or ""
    assert applied(text, fixes[0]) == text.replace("false", "true")
    assert applied(text, fixes[1]) == text.replace("true", "no").replace("false", "true").replace("'é𐐀'", "'名𐐀'")
    assert [fix["description"]["text"].split("[")[1] for fix in fixes] == ["safe]", "unsafe]"]


def test_addresses_lead_to_the_file(odd: Report, validator: jsonschema.Draft4Validator) -> None:
    run = run_of(odd, validator)
    address = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    parts = urlsplit(address["uri"])
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("", "", "", "")
    assert unquote_to_bytes(address["uri"]) == os.fsencode(odd.files[0].path)
    root = run["originalUriBaseIds"][address["uriBaseId"]]["uri"]
    assert root.startswith("file:///")
    assert root.endswith("/")
    assert os.path.samefile(unquote_to_bytes(urlsplit(root).path), os.curdir)


@pytest.mark.parametrize(
    ("path", "uri"),
    [("/elsewhere/a b.yaml", "file:///elsewhere/a%20b.yaml"), ("../up.yaml", "../up.yaml"), ("./a:b#c?d.yaml", "a%3Ab%23c%3Fd.yaml")],
)
def test_addresses(path: str, uri: str, odd: Report, validator: jsonschema.Draft4Validator) -> None:
    odd.files[0].path = path
    for finding in odd.files[0].findings:
        finding.place.path = path
    address = run_of(odd, validator)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert address["uri"] == uri
    assert ("uriBaseId" in address) == (not path.startswith("/"))


def test_a_file_named_from_the_root_is_relative_where_it_lies_below(
    odd: Report, validator: jsonschema.Draft4Validator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    odd.files[0].path = str(tmp_path / "conf" / "x.yaml")
    for finding in odd.files[0].findings:
        finding.place.path = odd.files[0].path
    assert run_of(odd, validator)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "conf/x.yaml"


def test_what_is_in_no_file_names_its_field(odd: Report, validator: jsonschema.Draft4Validator) -> None:
    stdin, override = run_of(odd, validator)["results"][4:6]
    for result in (stdin, override):
        (location,) = result["locations"]
        assert "physicalLocation" not in location
        assert "fixes" not in result
    assert override["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "model.x"
    assert override["message"]["text"] == "is 3 [model.x = 3 (--set)]"


def test_messages_are_plain(odd: Report, validator: jsonschema.Draft4Validator) -> None:
    text = run_of(odd, validator)["results"][0]["message"]["text"]
    assert "[a\\](1) {{0}}" in text
    assert "\n" not in text


CONFIG = "model:\n  hidden_sise: 4096\n  tensor_model_parallel_size: 2\n  num_atention_heads: 8\n"


def results(path: Path, text: str, validator: jsonschema.Draft4Validator) -> list[dict[str, Any]]:
    path.write_text(text, encoding="utf-8")
    return list(run_of(api.check_paths([str(path)], Options()), validator)["results"])


def test_fingerprints_stay_when_lines_move(tmp_path: Path, validator: jsonschema.Draft4Validator) -> None:
    path = tmp_path / "run.yaml"
    before = results(path, CONFIG, validator)
    after = results(path, "# new\n\n" + CONFIG.replace("model:\n", "model:\n  # one more\n"), validator)
    assert [result["locations"] for result in before] != [result["locations"] for result in after]
    assert [result["partialFingerprints"] for result in before] == [result["partialFingerprints"] for result in after]
    assert len({json.dumps(result["partialFingerprints"]) for result in before}) == len(before) >= 2


def test_rules_carry_their_page(tmp_path: Path, validator: jsonschema.Draft4Validator, rule_text: Any) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    own = tmp_path / "own"
    own.mkdir()
    rule = {"name": "mine", "code": "MY001", "cases": [{"when": "model.tensor_model_parallel_size == 2", "at": ["model.tensor_model_parallel_size"]}]}
    (own / "mine.yaml").write_text(rule_text(rule), encoding="utf-8")
    options = Options(rules=[str(own)])
    rules = {rule["id"]: rule for rule in run_of(api.check_paths([str(path)], options), validator, rules=[str(own)])["tool"]["driver"]["rules"]}
    assert "helpUri" not in rules["mine"]
    assert rules["mine"]["help"]["text"] == "A reason that is long enough for the schema of rule files.\n\nReferences:\n- nowhere"
    shipped = rules["unknown-key"]
    assert shipped["helpUri"] == rule_page("unknown-key")
    assert len(shipped["help"]["text"]) > 200
    assert shipped["properties"]["code"].startswith("LC")


def test_every_rule_has_an_anchor_on_the_page(checkout: Path) -> None:
    page = (checkout / "docs" / "rules" / "README.md").read_text(encoding="utf-8")
    for path in (checkout / "rules").rglob("*.yaml"):
        if path.parent.name != "bundles":
            assert f'<a id="{path.stem}"></a>' in page
