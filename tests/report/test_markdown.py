"""The Markdown summary by a CommonMark parser with GitHub's tables: what a reader sees is what was said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from lclint.core.finding import Finding, Report
from lclint.core.options import Options
from lclint.report import markdown

NOTHING = "\u200b"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("WORKSPACE", "REPOSITORY", "SHA", "SERVER_URL"):
        monkeypatch.delenv(f"GITHUB_{name}", raising=False)


def tokens(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def plain(cell: Token) -> str:
    """What a reader sees of some inline text; anything but code, links and line breaks is a fault."""
    shown = []
    for part in cell.children or []:
        if part.type in ("text", "text_special", "code_inline"):
            shown.append(part.content)
        elif part.type == "html_inline":
            assert part.content == "<br>"
            shown.append("\n")
        else:
            assert part.type in ("link_open", "link_close"), part
    return "".join(shown).replace(NOTHING, "")


def rows(text: str) -> list[list[Token]]:
    found: list[list[Token]] = []
    inside = False
    for token in tokens(text):
        inside = token.type != "tbody_close" and (inside or token.type == "tbody_open")
        if inside and token.type == "tr_open":
            found.append([])
        elif inside and token.type == "inline":
            found[-1].append(token)
    return found


def test_what_is_said_is_what_is_shown(odd: Report) -> None:
    table = rows(markdown.render(odd, Options()))
    assert len(table) == 9
    assert all(len(row) == 4 for row in table)
    assert [row[0].content for row in table] == ["error"] * 5 + ["warning"] * 2 + ["info"] * 2
    severity, where, what, rule = (plain(cell) for cell in table[0])
    assert severity == "error"
    assert where == "conf/a b,c:d%20;[é]|`x`\\x0a::error::\ufffd.yaml:2"
    assert what == (
        "says <b>|`x`|</b> & *this* _that_ @someone #12 http://example.org 50%, ]]> [a](1) {0} ::error::no ##[error]\\x1b[31m\ufffd\ufffe𐐀 end\n"
        "fix [safe]: Say *yes* to `it`: b.v: true\nfix [unsafe]: Two places: b.v: true; a: 名𐐀"
    )
    assert rule == "cuda-graphs-with-variable-length-batches\ncrash"


def test_only_rules_are_linked(odd: Report) -> None:
    links = [part.attrs["href"] for row in rows(markdown.render(odd, Options())) for cell in row for part in cell.children or [] if part.type == "link_open"]
    assert links == ["https://example.org/#x"]


def test_places_are_linked_in_a_workflow(odd: Report, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in (("SERVER_URL", "https://github.com"), ("REPOSITORY", "me/it"), ("SHA", "abc"), ("WORKSPACE", str(tmp_path))):
        monkeypatch.setenv(f"GITHUB_{name}", value)
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    first, *_ = (part for row in rows(markdown.render(odd, Options())) for part in row[1].children or [] if part.type == "link_open")
    assert first.attrs["href"] == (
        "https://github.com/me/it/blob/abc/sub/conf/a%20b%2Cc%3Ad%2520%3B%5B%C3%A9%5D%7C%60x%60%0A%3A%3Aerror%3A%3A%EF%BF%BD.yaml#L2"
    )


def test_nobody_is_called(odd: Report) -> None:
    text = markdown.render(odd, Options())
    assert "@someone" not in text
    assert "#12" not in text


def test_it_fits_into_a_comment(finding: Callable[..., Finding], one: Callable[..., Report]) -> None:
    many = one(*(finding(message=f"{number} " + "[long] " * 200, severity="info") for number in range(300)), finding(message="worst"))
    text = markdown.render(many, Options())
    assert len(text) < 65_536
    table = rows(text)
    assert plain(table[0][2]) == "worst"
    assert plain(table[1][2]).endswith("…")
    assert f"{301 - len(table)} more are not shown here" in text


@pytest.mark.parametrize("text", ["|", "`", "``|`", "a\\|b", "\\", " x ", "`a`", "tab\there", "𐐀"])
def test_code(text: str) -> None:
    (row,) = rows(f"| a | b |\n|---|---|\n| {markdown.code(text)} | x |\n")
    (part,) = row[0].children or []
    assert part.type == "code_inline"
    assert part.content == text


@pytest.mark.parametrize("text", ["# h", "- x", "+ x", "> q", "~~a~~", "$x$", "<!-- c -->", "&lt;", "\\n", "www.example.org", "a__b__c", "[x]: y", "***"])
def test_escape(text: str) -> None:
    (inline,) = (token for token in tokens(markdown.escape(text)) if token.type == "inline")
    assert plain(inline) == text
