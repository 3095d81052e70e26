"""Errors that end a command with exit code 2 and one line for the user."""

from __future__ import annotations


class LclintError(Exception):
    """Something that stops lclint: what it is, where, and what to do about it.

    ``path``, ``line`` and ``column`` (1-based) say where; ``hint`` says what to do. ``str()`` gives what is shown: one line, but for messages that
    have more themselves.
    """

    # whether the message may have several lines; else a line break in it is one of what the user wrote
    _LINES = False

    def __init__(self, message: str, path: str | None = None, line: int | None = None, hint: str | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.line = line
        self.hint = hint
        self.column = column

    def __str__(self) -> str:
        # a line break in a file's name would make two messages of one
        path = None if self.path is None else self.path.replace("\n", "\\n").replace("\r", "\\r")
        where = "" if path is None else f"{path}:{self.line}: " if self.line else f"{path}: "
        message = self.message if self._LINES else self.message.replace("\n", "\\n").replace("\r", "\\r")
        return f"{where}{message}" + (f" ({self.hint})" if self.hint else "")


class UsageError(LclintError):
    """The command line or the settings ask for something that does not exist."""


class InputError(LclintError):
    """A file that cannot be read, or is not what it has to be."""


class RuleError(LclintError):
    """A rule file that lclint refuses to load."""

    _LINES = True
