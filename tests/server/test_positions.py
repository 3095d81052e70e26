"""Offsets and the client's lines and code units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from lclint.server.positions import Text

ENCODINGS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
TEXTS = st.text(st.sampled_from("ab \n\r\x0b\x85\u2028\xe9\u20ac\U0001f9ea"), max_size=40)


def lines(text: str) -> list[str]:
    """The lines of a text for the protocol: three things end one."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


@given(TEXTS, st.sampled_from(sorted(ENCODINGS)))
def test_an_offset_there_and_back(value: str, encoding: str) -> None:
    text = Text(value, encoding)
    codec, size = ENCODINGS[encoding]
    for offset in range(len(value) + 1):
        if value[offset - 1 : offset + 1] == "\r\n":
            continue  # inside of a line break there is no position
        position = text.position(offset)
        before = lines(value[:offset])
        assert (position.line, position.character) == (len(before) - 1, len(before[-1].encode(codec)) // size)
        assert text.offset(position) == offset


@given(TEXTS, TEXTS, st.data(), st.sampled_from(sorted(ENCODINGS)))
def test_a_change_replaces_what_lies_between(value: str, new: str, data: st.DataObject, encoding: str) -> None:
    text = Text(value, encoding)
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(value))] * 2)))
    change = types.TextDocumentContentChangePartial(text.range(start, end), new)
    start, end = text.offset(change.range.start), text.offset(change.range.end)
    assert text.changed([change]).value == value[:start] + new + value[end:]


@pytest.mark.parametrize(
    ("line", "character", "offset"),
    [(0, 99, 2), (1, 0, 4), (1, 1, 4), (1, 2, 5), (1, 99, 5), (2, 0, 6), (99, 3, 7)],
)
def test_positions_outside_are_moved_inside(line: int, character: int, offset: int) -> None:
    assert Text("ab\r\n\U0001f9ea\nc", "utf-16").offset(types.Position(line, character)) == offset


def test_a_byte_order_mark_is_no_part_of_the_content() -> None:
    text = Text("\ufeffab\ncd", "utf-16")
    assert text.content == "ab\ncd"
    assert [text.offset(types.Position(0, n)) for n in range(4)] == [0, 0, 1, 2]
    assert text.position(0) == types.Position(0, 1)
    assert (text.at(1, 1), text.at(2, 1), text.line(1), text.line(2)) == (0, 3, (0, 2), (3, 5))
    assert text.position(3) == types.Position(1, 0)


def test_half_a_surrogate_is_a_replacement_character() -> None:
    assert Text("a: \ud83e\n", "utf-16").content == "a: \ufffd\n"
