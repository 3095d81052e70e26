"""Comments that speak to lclint."""

from __future__ import annotations

import pytest

from lclint.sources.directives import Directive
from lclint.sources.document import load

TEXT = """\
# lclint: gpu=gb200 gpus="128"
# prose  # lclint: ignore[a-b, c/d] because
a: 1 # lclint: ignore[LC001]: why
b: "# lclint: ignore[quoted]"
c: |  # lclint: ignore[header]
  # lclint: ignore[text]
d: plain# lclint, no comment
# lclint: ignore-file[x] generated

e: &x  # lclint: ignore
  f: [1, '# lclint: ignore[q]']  # lclint: ignore[all-*]
# lclint: gpu=h100
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_directives(newline: str) -> None:
    document = load(TEXT.replace("\n", newline).encode(), "f.yaml")
    found = [(d.kind, d.line, d.target, d.scope, d.leading, d.rules, d.options, d.reason) for d in document.directives()]
    assert found == [
        ("options", 1, 3, "own-line", True, (), {"gpu": "gb200", "gpus": "128"}, ""),
        ("ignore", 2, 3, "own-line", True, ("a-b", "c/d"), {}, "because"),
        ("ignore", 3, 3, "trailing", False, ("LC001",), {}, "why"),
        ("ignore", 5, 5, "trailing", False, ("header",), {}, ""),
        ("ignore-file", 8, 10, "own-line", False, ("x",), {}, "generated"),
        ("ignore", 10, 10, "trailing", False, (), {}, ""),
        ("ignore", 11, 11, "trailing", False, ("all-*",), {}, ""),
        ("options", 12, 12, "own-line", False, (), {"gpu": "h100"}, ""),
    ]
    assert all(document.text[slice(*directive.span)].startswith("# lclint: ") for directive in document.directives())


@pytest.mark.parametrize(
    "comment", ["# lclint: what", "# lclint:", "# lclint: ignore[a b]", "# lclint: ignored", "# lclint: gpu=", "# lclint: ignore[]"]
)
def test_a_directive_that_says_nothing_is_invalid(comment: str) -> None:
    (directive,) = _directives(f"{comment}\na: 1\n")
    assert directive.kind == "invalid"
    assert directive.reason


def test_files_without_directives() -> None:
    assert _directives("a: 1 # lclint is nice\n") == []
    assert _directives("# lclint: gpu=h100\n")[0].leading


def _directives(text: str) -> list[Directive]:
    return load(text.encode(), "f.yaml").directives()
