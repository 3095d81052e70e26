"""A rule explained in a terminal, from its rule file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lclint.core.finding import Fix
from lclint.report.screen import printable, wrap
from lclint.report.style import Style
from lclint.report.text import STRIKES, changes

LISTS = ("append", "discard", "replace")


def render(rule: dict[str, Any], style: Style, width: int) -> str:
    """The page of one rule; ``rule`` is the data of its file. Its Markdown is shown as it is written."""
    return "".join(f"{line}\n" for line in _page(rule, style, width))


def _page(rule: dict[str, Any], style: Style, width: int) -> Iterator[str]:
    yield f"{style.paint(rule['name'], 'strong')} [{rule['code']}], since {rule['since']}"
    yield from wrap(rule["title"], width)
    yield ""
    yield from _prose(rule["why"], width)
    yield ""
    yield style.paint("Cases" + (" (every one that holds is reported)" if rule.get("report") == "all" else ""), "strong")
    if "releases" in rule:
        releases = "for every release of Bridge" if rule["releases"] == "any" else f"only for Bridge {_expression(rule['releases'])}"
        yield from wrap(releases, width, "  ", "    ")
    for name, key in (("only where", "where"), ("for each item of", "each")):
        if key in rule:
            yield from wrap(f"{name} {_expression(rule[key])}", width, "  ", "    ")
    for case in rule["cases"]:
        when = f" {STRIKES[case['strikes']]}" if case.get("strikes") in STRIKES else ""
        yield f"  {style.paint(case['severity'], case['severity'])} {case['id']} [{case['impact']}{when}]"
        yield from wrap(case["message"], width, "    ", "    ")
        yield from wrap(f"when {_expression(case['when'])}", width, "    ", "      ")
        if case.get("fixes"):
            yield from wrap(f"fixes: {', '.join(case['fixes'])}", width, "    ", "      ")
    if rule.get("fixes"):
        yield ""
        yield style.paint("Fixes", "strong")
        for name, fix in rule["fixes"].items():
            yield from _fix(name, fix, width)
    yield ""
    yield style.paint("References", "strong")
    for reference in rule["references"]:
        yield from wrap(reference, width, "  - ", "    ")
    yield ""
    yield "To accept it in a file, write there:"
    yield f"  # lclint: ignore[{rule['name']}] and why"


def _prose(markdown: str, width: int) -> Iterator[str]:
    """Markdown with its paragraphs filled to the width; lists, tables, code and headings keep their lines."""
    code = False
    for number, block in enumerate(markdown.strip("\n").split("\n\n")):
        if number:
            yield ""
        lines = block.split("\n")
        fences = sum(line.lstrip().startswith("```") for line in lines)
        if code or fences or any(line.startswith(("    ", "- ", "* ", "|", "#", ">")) or line[:1].isdigit() for line in lines):
            yield from map(printable, lines)
        else:
            yield from wrap(block, width)
        code ^= fences % 2 == 1


def _fix(name: str, fix: dict[str, Any], width: int) -> Iterator[str]:
    yield from wrap(f"{name} [{fix['applicability']}]: {fix['title']}", width, "  ", "    ")
    if "when" in fix:
        yield from wrap(f"offered when {_expression(fix['when'])}", width, "    ", "      ")
    made = Fix(
        title=fix["title"],
        applicability=fix["applicability"],
        set=fix.get("set", {}),
        remove=fix.get("remove", []),
        rename=fix.get("rename", {}),
        lists=[(operation, field, value) for operation in LISTS for field, value in fix.get(operation, {}).items()],
        env=fix.get("env", {}),
    )
    described = changes(made)
    described += [f"with {bundle}" for bundle in fix.get("also", [])]
    if "search" in fix:
        described.append(f"search the nearest layout by {', '.join(fix['search'])}")
    if "ladder" in fix:
        described.append(f"the cheapest of {fix['ladder']['levers']} after which {_expression(fix['ladder']['until'])}")
    if "action" in fix:
        described.append(fix["action"])
    for change in described:
        yield from wrap(change, width, "    ", "      ")


def _expression(value: str | bool) -> str:
    return value if isinstance(value, str) else str(value).lower()
