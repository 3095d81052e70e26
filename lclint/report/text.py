"""The report that people read in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lclint.core.finding import SEVERITIES, FileReport, Finding, Fix, Report
from lclint.core.options import Options
from lclint.report.excerpt import excerpt
from lclint.report.screen import count, printable, wrap
from lclint.report.style import Style

CHANGES_SHOWN = 6
# when a case strikes, behind its impact; one that strikes during training says nothing that the impact does not
STRIKES = {"load": "at load", "start-up": "at start-up", "model-build": "at model build", "first-step": "at the first step"}


class TextReport:
    """Renders reports for one command line.

    ``verbose`` adds cases of rules, the undecided cases and the skipped files; ``quiet`` leaves only the findings.
    ``width`` is in columns; only paths, rule names and single long words go beyond it.
    """

    def __init__(self, options: Options, *, colour: bool = False, links: bool = False, width: int = 80, verbose: bool = False, quiet: bool = False) -> None:
        self.options = options
        self.style = Style(colour, links)
        self.width = width
        self.verbose = verbose
        self.quiet = quiet

    def render(self, report: Report, fixed: str = "") -> str:
        """The whole report. ``fixed`` is a sentence on what has been changed already; it starts the summary."""
        explained: set[tuple[str, str]] = set()
        lines: list[str] = []
        for file in report.files:
            for finding in file.findings:
                lines.extend(self._finding(file, finding, explained))
                lines.append("")
        if not self.quiet:
            if self.verbose:
                lines.extend(self._releases(report))
                lines.extend(self._undecided(report))
                lines.extend(self._suppressed(report))
                lines.extend(self._skipped(report))
            lines.append(self.summary(report, fixed))
        return "".join(f"{line}\n" for line in lines)

    def summary(self, report: Report, fixed: str = "") -> str:
        """One line: what was checked, found, fixable, undecided, suppressed and skipped. What is zero is left out."""
        parts = []
        counts = [count(number, severity) for severity in SEVERITIES if (number := report.count(severity))]
        parts.append(", ".join(counts).replace("infos", "info") or "no findings")
        fixable = [next_way for file in report.files for finding in file.findings if (next_way := way(finding))]
        safe, unsafe = fixable.count("safe"), fixable.count("unsafe")
        if safe and unsafe:
            parts.append(f"fixable: up to {safe} with --fix, {unsafe} more with --fix --unsafe-fixes")
        elif fixable:
            parts.append(f"fixable: up to {safe} with --fix" if safe else f"fixable: up to {unsafe} with --fix --unsafe-fixes")
        undecided = sum(len(file.undecided) for file in report.files)
        if undecided:
            parts.append(f"{undecided} undecided" + ("" if self.verbose else " (--verbose)"))
        suppressed = sum(file.suppressed for file in report.files)
        if suppressed:
            parts.append(f"{suppressed} suppressed" + ("" if self.verbose else " (--verbose)"))
        if report.excluded:
            parts.append(f"{count(len(report.excluded), 'file')} excluded")
        if report.skipped:
            why = "" if self.verbose else " (--verbose says why)"
            parts.append(f"{count(len(report.skipped), 'file')} skipped as no Megatron Bridge config{why}")
        return f"{fixed}{count(len(report.files), 'file')} checked: " + "; ".join(parts)

    def _releases(self, report: Report) -> Iterator[str]:
        """What each file was taken for, where nobody said it."""
        if self.options.bridge_version is None:
            for file in report.files:
                yield f"{printable(file.path)}: taken for Megatron Bridge {file.bridge_version} (--bridge-version names another)"
            yield ""

    def _finding(self, file: FileReport, finding: Finding, explained: set[tuple[str, str]]) -> Iterator[str]:
        paint = self.style.paint
        rule = f"{finding.rule}/{finding.case}" if self.verbose and finding.case else finding.rule
        rule = self.style.link(paint(rule, "strong"), finding.url)
        tags = ", ".join(tag for tag in (finding.code, outcome(finding)) if tag)
        yield f"{paint(_where(file, finding), 'strong')}: {paint(finding.severity, finding.severity)}: {rule} [{tags}]"
        yield from wrap(finding.message, self.width, "  ", "  ")
        yield from excerpt(file, finding, self.options, self.style, self.width)
        for evidence in finding.evidence:
            yield f"    {printable(evidence.path)}:{evidence.line}: {printable(evidence.text.strip())}"
        key = (finding.rule, finding.reason)
        if finding.reason and key not in explained:
            explained.add(key)
            yield from wrap(finding.reason, self.width, "  why: ", "       ")
        for fix in finding.fixes:
            yield from self._fix(fix)

    def _fix(self, fix: Fix) -> Iterator[str]:
        label = f"  fix [{fix.applicability if applies(fix) else 'by hand'}]: "
        first, *others = wrap(fix.title, self.width, label, "    ")
        yield first.replace(label, self.style.paint(label, "fix"), 1)
        yield from others
        if fix.action and fix.action != fix.title:
            yield from wrap(fix.action, self.width, "    ", "    ")
            if not fix.edits and all(field in fix.action for field in [*fix.set, *fix.remove, *fix.env]):
                # it spells the changes out
                return
        made = changes(fix)
        for change in made[:CHANGES_SHOWN]:
            yield from wrap(change, self.width, "    ", "      ")
        if len(made) > CHANGES_SHOWN:
            yield f"    and {count(len(made) - CHANGES_SHOWN, 'more change')}"

    def _undecided(self, report: Report) -> Iterator[str]:
        """Undecided cases under what they need, the needs that decide most first."""
        waiting: dict[str, dict[str, int]] = {}
        for file in report.files:
            for case in file.undecided:
                name = f"{case.rule}/{case.case}" if case.case else case.rule
                names = waiting.setdefault(" + ".join(case.needs) or "nothing that can be given", {})
                names[name] = names.get(name, 0) + 1
        if not waiting:
            return
        yield self.style.paint("Undecided, by what would decide it:", "strong")
        for needs, names in sorted(waiting.items(), key=lambda item: (-len(item[1]), item[0])):
            yield from wrap(f"{needs}:", self.width, "  ", "    ")
            listed = ", ".join(name if files == 1 else f"{name} ({files} files)" for name, files in names.items())
            yield from wrap(listed, self.width, "    ", "    ")
        yield ""

    def _suppressed(self, report: Report) -> Iterator[str]:
        """What is silenced, where and why."""
        if not any(file.suppressions for file in report.files):
            return
        yield self.style.paint("Suppressed:", "strong")
        for file in report.files:
            for why in file.suppressions:
                finding = why.finding
                case = f"/{finding.case}" if finding.case else ""
                by = why.by if why.line is None else f"comment in line {why.line}" + (f": {printable(why.reason)}" if why.reason else ", no reason given")
                yield from wrap(f"{_where(file, finding)}: {finding.rule}{case} ({by})", self.width, "  ", "    ")
        yield ""

    def _skipped(self, report: Report) -> Iterator[str]:
        if not report.skipped and not report.excluded:
            return
        yield self.style.paint("Skipped:", "strong")
        for path, place in report.excluded.items():
            yield f"  {printable(path)}: excluded in {printable(place)}"
        for path, reason in report.skipped.items():
            yield f"  {printable(path)}: {printable(reason)}"
        yield ""


def outcome(finding: Finding) -> str:
    """What comes of it, and when: ``crash`` where start-up was seen to refuse it, ``fails`` where the sources say so."""
    if finding.strikes in STRIKES and (finding.impact == "crash" or (finding.impact == "advice" and finding.severity == "error")):
        return f"{'crash' if finding.impact == 'crash' else 'fails'} {STRIKES[finding.strikes]}"
    return finding.impact


def applies(fix: Fix) -> bool:
    """Whether lclint can make this fix itself, in the files."""
    return bool(fix.edits) and fix.applicability != "display-only"


def way(finding: Finding) -> str:
    """The mildest applicability by which the finding can be fixed: safe, unsafe, or empty when a person has to."""
    usable = {fix.applicability for fix in finding.fixes if applies(fix)}
    return "safe" if "safe" in usable else "unsafe" if usable else ""


def changes(fix: Fix) -> list[str]:
    """What the fix changes, one phrase for each value: a renamed key and a changed list stand among the others too, and are said once."""
    listed = [f"{field}: {literal(value)}" for field, value in fix.set.items() if field not in fix.rename.values()]
    listed += [f"remove {field}" for field in fix.remove if field not in fix.rename]
    listed += [f"rename {old} to {new}" for old, new in fix.rename.items()]
    for operation, field, value in fix.lists:
        if field in fix.set:
            continue
        if operation == "replace":
            old, new = value
            listed.append(f"{field}: {literal(old)} becomes {literal(new)}")
        else:
            listed.append(f"{field}: {'add' if operation == 'append' else 'take out'} {literal(value)}")
    listed += [f"environment: {name}={value}" for name, value in fix.env.items()]
    return listed


def literal(value: Any) -> str:
    """A value as one would write it in YAML."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {literal(item)}' for key, item in value.items())}}}"
    return '""' if value == "" else str(value)


def _where(file: FileReport, finding: Finding) -> str:
    place = finding.place
    if place.line is None:
        return printable(file.path or "command line")
    return printable(f"{place.path or file.path}:{place.line}:{place.column or 1}")
