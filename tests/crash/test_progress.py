"""How much has been read is said on a terminal, after two seconds, and not before."""

from __future__ import annotations

import io

from lclint.cli import diagnose


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_after_two_seconds(monkeypatch) -> None:
    terminal, now = Terminal(), [0.0]
    monkeypatch.setattr("sys.stderr", terminal)
    progress = diagnose._Progress(lambda: now[0])
    assert progress.wanted
    now[0] = 1.9
    progress.add(2**30)
    assert terminal.getvalue() == ""
    now[0] = 2.6
    progress.add(2**30)
    assert terminal.getvalue() == "\rlclint: 2,048 MiB read"
    progress.end()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_nothing_where_it_is_no_terminal(monkeypatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert not diagnose._Progress().wanted
