"""Runs the examples of rule files: each config must give exactly the findings that its rule says, and its fixes the text."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from lclint.core.errors import LclintError
from lclint.core.finding import FileReport, Record
from lclint.engine import rulefile


class ExampleResult(Record):
    """One example: ``problem`` is None when it holds, else what differs. ``line`` is where it stands in the rule file."""

    __slots__ = ("rule", "example", "path", "line", "problem")
    rule: str
    example: str
    path: str
    line: int
    problem: str | None
    defaults = {"problem": None}


Check = Callable[[str, dict[str, Any]], "FileReport | str"]


def run(folder: str, check: Check) -> list[ExampleResult]:
    """Run every example of every rule under ``folder``.

    ``check(text, given)`` checks a config text under an example's ``given`` and is supplied by whoever has the whole tool.
    Raises RuleError for a rule file that is not allowed.
    """
    if os.path.isfile(folder):
        paths = [folder]
    else:
        paths, _ = rulefile.find(folder)
    results = []
    for path in paths:
        file = rulefile.read(path)
        for number, example in enumerate(file.data["examples"]):
            try:
                problem = _problem(file.data["name"], example, check)
            except LclintError as error:
                problem = str(error)
            line = file.line("examples", number) or 1
            results.append(ExampleResult(rule=file.data["name"], example=example["name"], path=path, line=line, problem=problem))
    return results


def _problem(rule: str, example: dict[str, Any], check: Check) -> str | None:
    report = check(example["config"], example.get("given", {}))
    if isinstance(report, str):
        return f"the config is not taken for a Megatron Bridge config: {report}"
    found = [finding for finding in report.findings if finding.rule == rule]
    wanted = example["finds"]
    if len(found) != len(wanted):
        shown = ", ".join(f"{f.case} at {f.at}" for f in found) or "nothing"
        undecided = [f"{u.case} needs {', '.join(u.needs)}" for u in report.undecided if u.rule == rule]
        return f"finds {shown}, not {len(wanted)} finding(s)" + (f"; undecided: {'; '.join(undecided)}" if undecided and wanted else "")
    left = list(found)
    for want in wanted:
        match = next((f for f in left if _matches(f, want)), None)
        if match is None:
            shown = ", ".join(f"{f.case} at {f.at} line {f.place.line}: {f.message}" for f in left)
            return f"no finding is {want}; there is {shown}"
        left.remove(match)
    for name, text in example.get("fixed", {}).items():
        fix = next((fix for finding in found for fix in finding.fixes if fix.name == name), None)
        if fix is None:
            offered = sorted({fix.name for finding in found for fix in finding.fixes})
            return f"the fix {name} is not offered (offered: {', '.join(offered) or 'none'})"
        from lclint.sources import edits

        new = edits.apply(example["config"], [(edit.start, edit.end, edit.text) for edit in fix.edits])
        if new.rstrip("\n") != text.rstrip("\n"):
            return f"the fix {name} gives\n{new}\nand not\n{text}" + (f"\n({fix.action})" if fix.action else "")
    return None


def _matches(finding: Any, want: dict[str, Any]) -> bool:
    return (
        finding.case == want["case"]
        and ("at" not in want or finding.at == want["at"])
        and ("line" not in want or finding.place.line == want["line"])
        and ("message" not in want or want["message"] in finding.message)
    )
