r"""One Hydra 1.3 override (``model.seq_length=4096``, ``++a.b=[1,{c:null}]``, ``~x``) without Hydra.

The lexer takes the longest token at each position, as Hydra's does, because that decides what is a number and what a word
(``1e3`` is a float, ``1e3x`` the word). A backslash escapes only ``\()[]{}:=, `` and tab outside of quotes, and only the quote
inside: JSON's ``\n`` stays two characters, as in Hydra. Sweeps are refused: Bridge applies an override to one config.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_UNSIGNED = r"(?:0|[1-9](?:_?[0-9])*)"
_POINT = rf"(?:{_UNSIGNED}?\.[0-9](?:_?[0-9])*|{_UNSIGNED}\.)"
_ID = r"[A-Za-z_][A-Za-z0-9_-]*"
_SPECIAL = r"[A-Za-z_$][A-Za-z0-9_$-]*"

_KEY = re.compile(rf"(?:(?:{_SPECIAL}|{_UNSIGNED})(?:\.(?:{_SPECIAL}|{_UNSIGNED}))+|{_SPECIAL})?")
_GROUP = re.compile(rf"{_ID}(?:/{_ID})+|[^=@]*@")

_NULL, _BOOL, _INT, _FLOAT, _NAME = "null", "bool", "int", "float", "name"
_CHAR, _ESCAPE, _SPACE, _QUOTED, _INTERPOLATION = "char", "escape", "space", "quoted", "interpolation"
# On a tie the first one wins.
_TOKENS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("(", re.compile(r"[ \t]*\([ \t]*")),
    (",", re.compile(r"[ \t]*,[ \t]*")),
    (")", re.compile(r"[ \t]*\)")),
    ("[", re.compile(r"\[[ \t]*")),
    ("]", re.compile(r"[ \t]*\]")),
    ("{", re.compile(r"\{[ \t]*")),
    ("}", re.compile(r"[ \t]*\}")),
    (":", re.compile(r"[ \t]*:[ \t]*")),
    ("=", re.compile(r"[ \t]*=[ \t]*")),
    (_FLOAT, re.compile(rf"[+-]?(?:(?:{_POINT}|{_UNSIGNED})[eE][+-]?[0-9](?:_?[0-9])*|{_POINT}|[Ii][Nn][Ff]|[Nn][Aa][Nn])")),
    (_INT, re.compile(rf"[+-]?{_UNSIGNED}")),
    (_BOOL, re.compile(r"[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]")),
    (_NULL, re.compile(r"[Nn][Uu][Ll][Ll]")),
    (_CHAR, re.compile(r"[/\-\\+.$%*@?|]")),
    (_NAME, re.compile(_ID)),
    (_ESCAPE, re.compile(r"(?:\\[\\()\[\]{}:=, \t])+")),
    (_SPACE, re.compile(r"[ \t]+")),
    (_QUOTED, re.compile(r'"(?:(?:\\\\)*|.*?[^\\](?:\\\\)*)"' + r"|'(?:(?:\\\\)*|.*?[^\\](?:\\\\)*)'", re.DOTALL)),
    (_INTERPOLATION, re.compile(r"\$\{[^}]+\}")),
)
_WORDS = frozenset((_NULL, _BOOL, _INT, _FLOAT, _NAME, _CHAR, _ESCAPE, _SPACE))
_VALUE_WORDS = _WORDS | {_INTERPOLATION, ":"}
_SWEEPS = ("choice", "range", "interval", "glob", "tag", "shuffle")
_MAX_DEPTH = 100


class OverrideError(ValueError):
    """An override that Hydra refuses; ``str()`` says why and ``position`` (0-based) where in the override."""

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.position = position


class Override:
    """A parsed override. ``operation`` is ``""`` (change), ``+`` (add), ``++`` (change or add) or ``~`` (delete).

    ``key`` is the dotted path, ``text`` the whole override. ``value`` is plain Python; interpolations stay text. A deletion
    without a value has ``has_value`` False.
    """

    __slots__ = ("operation", "key", "value", "has_value", "text")

    def __init__(self, operation: str, key: str, value: Any, has_value: bool, text: str) -> None:
        self.operation = operation
        self.key = key
        self.value = value
        self.has_value = has_value
        self.text = text

    def __repr__(self) -> str:
        return f"Override({self.operation!r}, {self.key!r}, {self.value!r})"


def parse_override(text: str) -> Override:
    """Parse one override; raises OverrideError for what Hydra, or Bridge's use of it, refuses."""
    position = 0
    operation = ""
    if text.startswith("~"):
        operation = "~"
    elif text.startswith("+"):
        operation = "++" if text.startswith("++") else "+"
    position = len(operation)
    group = _GROUP.match(text, position)
    if group is not None:
        raise OverrideError("names a config group: write a dotted field such as model.seq_length", position)
    match = _KEY.match(text, position)
    key = match.group() if match else ""
    position += len(key)
    if position == len(text) and key and operation == "~":
        return Override(operation, key, None, False, text)
    if not text.startswith("=", position):
        if position == len(text):
            raise OverrideError("has no value: write key=value", position)
        raise OverrideError(f"has an illegal character {text[position]!r} in the key", position)
    if not key:
        raise OverrideError("has no key: write key=value", position)
    position += 1
    while position < len(text) and text[position] in " \t":
        position += 1
    value = _Parser(_tokens(text, position), len(text)).parse() if position < len(text) else ""
    return Override(operation, key, value, True, text)


def _tokens(text: str, position: int) -> list[tuple[str, str, int]]:
    tokens: list[tuple[str, str, int]] = []
    closed = text.rfind("}")
    while position < len(text):
        best_kind, best = "", ""
        for kind, pattern in _TOKENS:
            if kind == _INTERPOLATION and position > closed:
                continue
            match = pattern.match(text, position)
            if match is not None and len(match.group()) > len(best):
                best_kind, best = kind, match.group()
        if not best:
            character = text[position]
            if character in "'\"":
                raise OverrideError("has a quote that is not closed", position)
            raise OverrideError(f"has the character {character!r} outside of quotes: quote the value", position)
        tokens.append((best_kind, best, position))
        position += len(best)
    return tokens


class _Parser:
    def __init__(self, tokens: list[tuple[str, str, int]], end: int) -> None:
        self.tokens = tokens
        self.index = 0
        self.end = end
        self.depth = 0

    def parse(self) -> Any:
        value = self.element()
        kind = self.peek()
        if kind == ",":
            raise OverrideError("has several values (a sweep): write a list in brackets, or quote the comma", self.position())
        if kind:
            raise self.unexpected()
        return value

    def peek(self) -> str:
        return self.tokens[self.index][0] if self.index < len(self.tokens) else ""

    def position(self) -> int:
        return self.tokens[self.index][2] if self.index < len(self.tokens) else self.end

    def unexpected(self) -> OverrideError:
        if self.index >= len(self.tokens):
            return OverrideError("ends too early: a bracket is not closed or a value is missing", self.end)
        text = self.tokens[self.index][1].strip()
        return OverrideError(f"has an unexpected {text[:20]!r}: quote the value", self.position())

    def expect(self, kind: str) -> None:
        if self.peek() != kind:
            raise self.unexpected()
        self.index += 1

    def element(self) -> Any:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise OverrideError("is nested too deeply", self.position())
        kind = self.peek()
        if kind == "[":
            value: Any = self.items()
        elif kind == "{":
            value = self.pairs()
        elif kind == _NAME and self.index + 1 < len(self.tokens) and self.tokens[self.index + 1][0] == "(":
            value = self.function()
        elif kind == _QUOTED:
            value = _unquote(self.tokens[self.index][1])
            self.index += 1
        else:
            value = self.words(_VALUE_WORDS)
        self.depth -= 1
        return value

    def items(self) -> list[Any]:
        self.index += 1
        values: list[Any] = []
        if self.peek() != "]":
            values.append(self.element())
            while self.peek() == ",":
                self.index += 1
                values.append(self.element())
        self.expect("]")
        return values

    def pairs(self) -> dict[Any, Any]:
        self.index += 1
        values: dict[Any, Any] = {}
        if self.peek() != "}":
            self.pair(values)
            while self.peek() == ",":
                self.index += 1
                self.pair(values)
        self.expect("}")
        return values

    def pair(self, values: dict[Any, Any]) -> None:
        if self.peek() == _QUOTED:
            raise OverrideError("has a quoted key: Hydra takes keys without quotes", self.position())
        key = self.words(_WORDS)
        self.expect(":")
        values[key] = self.element()

    def words(self, kinds: frozenset[str]) -> Any:
        """A value without quotes: one token keeps its type, several are text."""
        first = self.index
        while self.peek() in kinds:
            self.index += 1
        if self.index == first:
            raise self.unexpected()
        tokens = self.tokens[first : self.index]
        if tokens[0][0] == _SPACE:
            if len(tokens) == 1:
                raise OverrideError("has a value of blanks only: quote it", tokens[0][2])
            tokens = tokens[1:]
        if tokens[-1][0] == _SPACE:
            tokens = tokens[:-1]
        if len(tokens) > 1:
            return "".join(text[1::2] if kind == _ESCAPE else text for kind, text, _ in tokens)
        kind, text, position = tokens[0]
        try:
            if kind == _INT:
                return int(text)
            if kind == _FLOAT:
                return float(text)
        except ValueError:  # Python refuses integers of thousands of digits
            raise OverrideError("has a number that is too long", position) from None
        if kind == _NULL:
            return None
        if kind == _BOOL:
            return text.lower() == "true"
        return text[1::2] if kind == _ESCAPE else text

    def function(self) -> Any:
        _, name, position = self.tokens[self.index]
        if name in _SWEEPS:
            raise OverrideError(f"has {name}(), which gives several values (a sweep): give one value", position)
        cast = _CASTS.get(name)
        if cast is None:
            raise OverrideError(f"calls an unknown function {name}(): quote the value", position)
        self.index += 2
        if self.peek() == ")":
            raise OverrideError(f"calls {name}() without a value", position)
        if self.peek() == _NAME and self.index + 1 < len(self.tokens) and self.tokens[self.index + 1][0] == "=":
            if self.tokens[self.index][1] != "value":
                raise OverrideError(f"calls {name}() with an unknown argument", self.position())
            self.index += 2
        value = self.element()
        self.expect(")")
        try:
            return _cast(value, cast)
        except (ValueError, TypeError, OverflowError):
            raise OverrideError(f"calls {name}() with a value that it cannot convert", position) from None


def _unquote(text: str) -> str:
    quote = text[0]
    # Backslashes before a quote, the closing one included, are halved; others stay.
    halved = re.sub(rf"(\\+){quote}", lambda match: match.group()[1::2], text[1:])
    return halved if re.search(rf"\\{quote}$", text) else halved[:-1]


def _cast(value: Any, cast: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _cast(item, cast) for key, item in value.items()}
    if isinstance(value, list):
        return [_cast(item, cast) for item in value]
    if value is None:
        raise TypeError
    return cast(value)


def _cast_bool(value: Any) -> bool:
    if isinstance(value, str):
        if value.lower() not in ("true", "false"):
            raise ValueError
        return value.lower() == "true"
    return bool(value)


def _cast_str(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_CASTS: dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "bool": _cast_bool, "str": _cast_str}
