"""No fix takes a comment away: where each goes."""

from __future__ import annotations

from typing import Any

import pytest

from lclint.sources.document import load
from lclint.sources.edits import apply, change

MOVE = ("move", ("a", "x"), ("b", "x"))


def _edit(text: str, *operations: tuple[Any, ...]) -> str:
    document = load(text.encode(), "f.yaml")
    return apply(document.text, change(document, list(operations)))


@pytest.mark.parametrize(
    ("text", "operation", "expected"),
    [
        # removed: own lines in its place, at its column
        ("a:\n  x: 1  # t\n  y: 2\n", ("remove", ("a", "x")), "a:\n  # t\n  y: 2\n"),
        ("a: 1\ns:  # t\n    # u\n    x: 1  # v\n    # w\nb: 1\n", ("remove", ("s",)), "a: 1\n# t\n# u\n# v\n# w\nb: 1\n"),
        ("a: 1\nb: 2  # t", ("remove", ("b",)), "a: 1\n# t"),
        ("a: |\n  x\nb:\n  c: 1\n  # d\ne: 1\n", ("remove", ("b",)), "a: |\n  x\n# d\ne: 1\n"),
        ("s:\n  x: 1  # t\n  # u\n", ("remove", ("s", "x")), "s: {}\n  # t\n  # u\n"),
        ("f: [a,  # x\n    b]\n", ("discard", ("f",), "a"), "f: [  # x\n    b]\n"),
        ("f: {a: [  # x\n  1], b: 2}\n", ("remove", ("f", "a")), "# x\nf: {b: 2}\n"),
        # replaced: above the key, the one on the key's line behind the new value
        ("a: |  # t\n  x\n", ("set", ("a",), 1), "a: 1  # t\n"),
        ("a: [  # t\n  1,  # u\n  2]  # v\n", ("set", ("a",), None), "# t\n# u\na: null  # v\n"),
        ("s:\n  a: [  # t\n    1,  # u\n  ]\n", ("set", ("s", "a"), None), "s:\n  # u\n  a: null  # t\n"),
        ("s:\n  a:  # t\n    # u\n    b: 1  # v\n", ("set", ("s", "a"), "x"), "s:\n  # u\n  # v\n  a: x  # t\n"),
        ('f: {k: "x\n  y", a: [1,  # t\n  2]}\n', ("set", ("f", "a"), 1), '# t\nf: {k: "x\n  y", a: 1}\n'),
        # a list keeps the comments of the elements that stay
        ("l:\n- a  # A\n# B\n- b\n- c  # C\n", ("set", ("l",), ["b", "c", "d"]), "l:\n# A\n# B\n- b\n- c  # C\n- d\n"),
        ("l:\n# A\n- a\n# B\n- b\n", ("set", ("l",), ["n", "a", "m", "b"]), "l:\n- n\n# A\n- a\n- m\n# B\n- b\n"),
        ("l: [\n  a,  # A\n  # B\n  b,  # b\n]\n", ("set", ("l",), ["a", "m", "b"]), "l: [\n  a,  # A\n  m,\n  # B\n  b,  # b\n]\n"),
        # moved: those above it, behind it and within it go along
        ("a:\n  # t\n  x: 1  # u\n  y: 2\nb:\n  z: 1\n", MOVE, "a:\n  y: 2\nb:\n  z: 1\n  # t\n  x: 1  # u\n"),
        ("a:\n  # far\n\n  x: 1\n  y: 2\nb:\n  z: 1\n", MOVE, "a:\n  # far\n\n  y: 2\nb:\n  z: 1\n  x: 1\n"),
        ("a:\n  x: [1,  # u\n    2]  # v\n  y: 2\nb: {z: 1}\n", MOVE, "a:\n  y: 2\n# u\n# v\nb: {z: 1, x: [1, 2]}\n"),
        ("a:\n  # t\n  x: 1  # u\nb:\n  z: 1\n", MOVE, "a: {}\nb:\n  z: 1\n  # t\n  x: 1  # u\n"),
        ("b: {}\na:\n  y: 2\n  # t\n  x: 1  # u", MOVE, "b:\n  # t\n  x: 1  # u\na:\n  y: 2"),
        ("a:\n  x: 1  # u\n  y: 2\n", ("move", ("a", "x"), ("a", "z")), "a:\n  z: 1  # u\n  y: 2\n"),
        (
            "a:\n  # lclint: ignore[r] t\n  x: 1  # lclint: ignore[s]\n  y: 2\nb:\n  z: 1\n",
            MOVE,
            "a:\n  y: 2\nb:\n  z: 1\n  # lclint: ignore[r] t\n  x: 1  # lclint: ignore[s]\n",
        ),
        # what silences findings goes with what it speaks of, the rest of its comment stays
        ("a:\n  # lclint: ignore[r] because\n  x: 1\n  y: 2\n", ("remove", ("a", "x")), "a:\n  y: 2\n"),
        ("a:\n  x: 1  # t  # lclint: ignore[r]\n  y: 2\n", ("remove", ("a", "x")), "a:\n  # t\n  y: 2\n"),
        ("a:\n  # t # lclint: ignore[r]\n  x: 1\n  y: 2\n", ("remove", ("a", "x")), "a:\n  # t\n  y: 2\n"),
        ("a:\n  y: 2\n  # lclint: ignore[r]\n  x: 1", ("remove", ("a", "x")), "a:\n  y: 2"),
        ("a:\n  # lclint: ignore[r]\n  x: 1\n", ("remove", ("a", "x")), "a: {}\n"),
        ("a: [1]  # lclint: ignore[r]\n", ("set", ("a",), 2), "a: 2  # lclint: ignore[r]\n"),
        ("a: 1  # lclint: gpus=8\nb: 2\n", ("remove", ("a",)), "# lclint: gpus=8\nb: 2\n"),
        # blank lines stay, those within a removed value excepted
        ("a: 1\n\nb:\n  c: 1\n\n  d: 2\n\ne: 1\n", ("remove", ("b",)), "a: 1\n\n\ne: 1\n"),
        ("a:\n  x: 1\n\nb: 1\n", ("set", ("a", "y"), 2), "a:\n  x: 1\n  y: 2\n\nb: 1\n"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_where_comments_go(text: str, operation: tuple[Any, ...], expected: str, newline: str) -> None:
    assert _edit(text.replace("\n", newline), operation) == expected.replace("\n", newline)
