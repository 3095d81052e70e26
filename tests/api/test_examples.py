"""What lclint says about the example configs, and the patches that it makes, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from lclint import api
from lclint.core.options import Options

EXAMPLES = Path(__file__).resolve().parents[2] / "fixtures" / "examples"
NAMES = sorted(file.name for file in EXAMPLES.glob("*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_findings(name: str, snapshot: SnapshotAssertion) -> None:
    report = api.check_paths([str(EXAMPLES / name)], Options())
    (file,) = report.files
    lines = []
    for finding in file.findings:
        place = finding.place
        lines.append(f"{place.line}:{place.column} {finding.severity} {finding.impact} {finding.rule}/{finding.case} at {finding.at}")
        lines.append(f"    {finding.message}")
        lines += [f"    [{fix.applicability}] {fix.title}" + (f" - {fix.action}" if fix.action else "") for fix in finding.fixes]
    assert "\n".join(lines) == snapshot


@pytest.mark.parametrize("name", NAMES)
def test_patches(name: str, snapshot: SnapshotAssertion) -> None:
    import difflib

    _, applied = api.fix_paths([str(EXAMPLES / name)], Options(diff=True, unsafe_fixes=True))
    lines = []
    for entry in applied:
        lines += difflib.unified_diff(entry.before.splitlines(), entry.after.splitlines(), "before", "after", lineterm="", n=1)
        lines += entry.notes
    assert "\n".join(lines) == snapshot


@pytest.mark.parametrize("name", NAMES)
def test_patches_are_complete(name: str, tmp_path: Path) -> None:
    """Fixing a second time changes nothing, and nothing that was fixed is wrong again."""
    copy = tmp_path / name
    copy.write_bytes((EXAMPLES / name).read_bytes())
    first, _ = api.fix_paths([str(copy)], Options(fix=True, unsafe_fixes=True))
    text = copy.read_bytes()
    second, _ = api.fix_paths([str(copy)], Options(fix=True, unsafe_fixes=True))
    assert copy.read_bytes() == text
    assert [(f.rule, f.at) for f in second.files[0].findings] == [(f.rule, f.at) for f in first.files[0].findings]
