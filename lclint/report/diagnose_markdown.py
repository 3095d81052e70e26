"""A diagnosis for an issue, a comment or a job page: verdict, evidence, what helps, the patch."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lclint.core.finding import Finding
from lclint.curing import Cure
from lclint.diagnosing import DIFFERENCES, Diagnosis
from lclint.engine.operations import show
from lclint.report.location import one_line, whole
from lclint.report.markdown import CHARACTERS, code, escape
from lclint.report.remedy import remedies
from lclint.report.screen import printable

LINE = 500


def render(diagnosis: Diagnosis, cured: Cure | None = None) -> str:
    """The page, in GitHub's Markdown, cut at a length that a comment can hold; ``cured`` is the config with the fixes made."""
    text = ""
    for part in _parts(diagnosis, cured):
        if len(text) + len(part) > CHARACTERS:
            return f"{text}\nThe rest is not shown here.\n"
        text += part
    return text


def _parts(diagnosis: Diagnosis, cured: Cure | None) -> Iterator[str]:
    crash = diagnosis.crash
    yield f"## {_plain(diagnosis.verdict)}\n"
    facts = [("kind", crash.kind), ("phase", crash.phase), ("first rank", crash.first_rank), ("GPU", diagnosis.gpu), ("GPUs", diagnosis.gpus)]
    known = [f"{name} {code(whole(str(value)))}" for name, value in facts if value not in (None, "unknown")]
    if known:
        yield f"\n{', '.join(known)}\n"
    if crash.evidence:
        yield f"\n{_block([f'{item.path}:{item.line}: {item.text}' for item in crash.evidence])}"
    if diagnosis.differences:
        yield "\nThe log is what ran, and the config file says otherwise:\n\n| field | in the log | in the file |\n|---|---|---|\n"
        for item in diagnosis.differences:
            yield f"| {' | '.join(code(one_line(text)) for text in (item['field'], show(item['log']), show(item['config'])))} |\n"
    for finding in diagnosis.findings:
        if finding.rule != DIFFERENCES:
            yield from _finding(finding)
    if cured is not None and diagnosis.config_text is not None and cured.text != diagnosis.config_text:
        from lclint.report.diff import unified

        yield "\n### Patch\n\n" + "".join(f"- {_plain(fix.title)}\n" for fix in cured.made)
        if cured.estimate:
            yield f"\n{_plain(cured.estimate)}\n"
        lines = unified(diagnosis.config_path or "", diagnosis.config_text, cured.text).split("\n")
        yield f"\n{_block(lines[:-1], 'diff')}"
    for text in crash.notes:
        yield f"\n{_plain(text)}\n"


def _finding(finding: Finding) -> Iterator[str]:
    rule = f"[{code(finding.rule)}]({finding.url})" if finding.url else code(finding.rule)
    at = "" if finding.place.origin == "log" or finding.at == "file" else f" at {code(one_line(finding.at))}"
    yield f"\n**{finding.severity}** {rule}{at}: {_plain(finding.message)}\n"
    listed = remedies(finding)
    if listed:
        yield "\n" + "".join(f"- {_plain(line)}\n" for line in listed)


def _plain(text: str) -> str:
    return escape(one_line(text))


def _block(lines: list[str], language: str = "") -> str:
    """Lines as they are, in a fence that none of them closes."""
    shown = [whole(printable(line)) for line in lines]
    shown = [line if len(line) <= LINE else f"{line[:LINE]}…" for line in shown]
    longest = max((len(run) for line in shown for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence + language, *shown, fence]) + "\n"
