"""No edit takes a comment away.

Who owns a comment: one behind a value belongs to that line, one above an entry, at its column and with no blank line between, to that
entry, and one below the last entry of a section, indented as its entries are, to the section. Blank lines belong to nobody and stay where
they are, those within a removed value excepted.

An entry that is removed leaves its comments in its place, each on a line of its own at the entry's column. A value that is replaced leaves
those within it above its key, the one on the key's line stays behind the new value. An entry that moves takes them along: those above it,
behind it and within it. Only ``# lclint: ignore`` goes with what it speaks of: left behind, it would silence something else.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from lclint.sources.directives import comments
from lclint.sources.document import Document
from lclint.sources.lines import BREAK, Edit
from lclint.sources.page import Page
from lclint.sources.steps import EditRefused

Span = tuple[int, int]


def keep(page: Page, edits: list[Edit], entry: int) -> list[Edit]:
    """``edits``, completed by the comments that they would take away; ``entry`` is where the changed entry starts."""
    lost = _lost(page, edits)
    if not lost:
        return edits
    kept = [text for text in (_without_ignores(page.document, span) for span in lost) if text]
    if not kept:
        return edits
    if lost[0][1] <= page.line_end(entry):
        edits, moved = _behind(page, edits, lost[0], kept[0])
        kept = kept[moved:]
    return _above(page, edits, entry, kept)


def take(page: Page, edits: list[Edit], entry: int) -> tuple[list[Edit], list[str], str]:
    """``edits`` that remove a whole entry, extended to the comment lines above it; the comments of those lines and within it, and the one behind it."""
    line = page.line_start(entry)
    if not page.text[line:entry].strip():
        top = page.above_own_comments(line, entry - line)
        first = min((start for start, end, _ in edits if start < line <= end), default=line)
        if first == page.break_before(line):  # the last line goes, with the break before it
            top = page.break_before(top)
        if top < first:
            edits = [(top, first, ""), *edits]
    lost = _lost(page, edits)
    behind = lost.pop() if lost and entry < lost[-1][0] <= page.line_end(entry) else None
    # what silences the entry goes along, what silences a part of it would come to silence all
    above = [page.text[span[0] : span[1]].rstrip() if span[0] < entry else _without_ignores(page.document, span) for span in lost]
    return edits, [text for text in above if text], "" if behind is None else page.text[behind[0] : behind[1]].rstrip()


def give(page: Page, above: list[str], behind: str, entry: int, end: int) -> list[Edit]:
    """Edits that give the entry at ``entry``, which ends at ``end``, comments above it and one behind it, where there is room, or above too."""
    if not behind:
        return _above(page, [], entry, above)
    line_end = page.line_end(end)
    if page.line_start(entry) != page.line_start(end) or page.text[end:line_end].strip():
        return _above(page, [], entry, [*above, behind])
    return [*_above(page, [], entry, above), (line_end, line_end, "  " + behind)]


def drop_ignores(page: Page, edits: list[Edit], entry: int) -> list[Edit]:
    """``edits`` and, where they take the line of ``entry`` away, those that take away the ``# lclint: ignore`` lines above that speak of it."""
    line_start = page.line_start(entry)
    if "lclint:" not in page.text or not any(start <= line_start and page.line_end(entry) <= end for start, end, _ in edits):
        return edits
    target = page.document.position(entry)[0]
    # where the last line goes, the break before each line goes rather than the one behind it
    last = any(start < line_start and BREAK.fullmatch(page.text, start, line_start) for start, _, _ in edits)
    above: list[Edit] = []
    for directive in page.document.directives():
        start, end = directive.span
        if directive.kind != "ignore" or directive.scope != "own-line" or directive.target != target:
            continue
        if start > entry or any(first <= start < final for first, final, _ in edits):
            continue
        line = page.line_start(start)
        if page.text[line:start].strip():
            above.append((line + len(page.text[line:start].rstrip()), end, ""))
        elif last:
            above.append((page.break_before(line), page.line_end(end), ""))
        else:
            after = BREAK.match(page.text, page.line_end(end))
            above.append((line, after.end() if after else page.line_end(end), ""))
    return [*above, *edits]


def check(before: Document, after: Document) -> None:
    """Raise EditRefused when a comment is lost between two texts of a document, ``# lclint: ignore`` excepted."""
    missing = Counter(_texts(before))
    missing.subtract(_texts(after))
    for text, number in missing.items():
        if number > 0:
            raise EditRefused(f"the comment {text[:60]!r} would be lost")


def _texts(document: Document) -> list[str]:
    found = (_without_ignores(document, span) for span in comments(document))
    return [text for text in found if text]


def _lost(page: Page, edits: list[Edit]) -> list[Span]:
    """The comments within what the edits take away."""
    if not any("#" in page.text[start:end] for start, end, _ in edits):
        return []
    spans = comments(page.document)
    ends = [end for _, end in spans]
    lost: list[Span] = []
    for start, end, _ in sorted(edits, key=lambda edit: edit[:2]):
        index = bisect_left(ends, start + 1)
        while index < len(spans) and spans[index][0] < end:
            lost.append(spans[index])
            index += 1
    return lost


def _without_ignores(document: Document, span: Span) -> str:
    """The text of a comment without the suppressions in it; empty when it is nothing else."""
    text = document.text[span[0] : span[1]]
    if "lclint:" in text:
        for directive in reversed(document.directives()):
            start, end = directive.span
            if directive.kind == "ignore" and span[0] <= start and end <= span[1]:
                text = text[: start - span[0]].rstrip() + text[end - span[0] :]
    return text.rstrip()


def _behind(page: Page, edits: list[Edit], span: Span, text: str) -> tuple[list[Edit], int]:
    """Put a comment behind the new value where it stood behind the old one's first line; and how many were put, 0 or 1."""
    for number, (start, end, new) in enumerate(edits):
        one_line = new and not BREAK.search(new)
        if one_line and start < span[0] < end and not page.text[end : page.line_end(end)].strip():
            return [*edits[:number], (start, end, f"{new}  {text}"), *edits[number + 1 :]], 1
    return edits, 0


def _above(page: Page, edits: list[Edit], entry: int, texts: list[str]) -> list[Edit]:
    """Put comments on lines of their own above the line of ``entry``, or in the place of that line when it goes."""
    if not texts:
        return edits
    line = page.free_line(entry)
    margin = page.margin(line)
    lines = [margin + text for text in texts]
    for number, (start, end, new) in enumerate(edits):
        if start < line <= end:  # the last line goes, with the break before it
            return [*edits[:number], (start, end, page.newline.join(["", *lines]) + new), *edits[number + 1 :]]
    return [(line, line, "".join(text + page.newline for text in lines)), *edits]
