"""Python values as YAML text that both loaders of record read back as the same value of the same type."""

from __future__ import annotations

import re
from typing import Any

from lclint.sources import scalars
from lclint.sources.document import Unresolved

# Words that are text in every position, in block and in flow style.
_SAFE_WORD = re.compile(r"[A-Za-z0-9_./+$(\\^;<=~-](?:[A-Za-z0-9_./+$()\\^;<=~@%*&|!?-]|:(?=[^\s,\[\]{}])| (?=[^\s#]))*")
_UNSAFE_START = re.compile(r"-(?:\s|$)|\.\.\.$|---|[?:](?:\s|$)")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


class NotYaml(ValueError):
    """A value that has no YAML text: an object, a date, a lone surrogate."""


def render(value: Any, loader: str, style: str | None = None) -> str:
    """One line of YAML for ``value``, collections in flow style; it reads back the same within a flow collection too.

    ``style`` is the quote to use for a string where quoting is possible. A ``${`` in a string is escaped for OmegaConf; an
    ``Unresolved`` is written as its text. Raises NotYaml.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Unresolved):
        return quote(value.text, style)
    if isinstance(value, str):
        return quote(escape(value) if loader == "omegaconf" else value, style)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(render(item, loader) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{render_key(key)}: {render(item, loader)}" for key, item in value.items()) + "}"
    raise NotYaml(f"a value of type {type(value).__name__} cannot be written")


def render_key(key: Any) -> str:
    """A mapping key; its text is not interpolated."""
    if isinstance(key, str):
        return quote(key, None)
    if key is None or isinstance(key, (bool, int, float)):
        return render(key, "safe_load")
    raise NotYaml(f"a key of type {type(key).__name__} cannot be written")


def block(value: Any, indent: str, loader: str, unit: int, block_lists: bool, list_indent: int) -> list[str]:
    """The lines of a non-empty mapping, or of a list when ``block_lists``, in block style at ``indent``.

    ``unit`` is the indentation of a nested mapping, ``list_indent`` that of a list's dashes below their key.
    """
    if isinstance(value, dict):
        lines: list[str] = []
        for key, item in value.items():
            head = indent + render_key(key) + ":"
            if is_block(item, block_lists):
                step = unit if isinstance(item, dict) else list_indent
                lines.append(head)
                lines.extend(block(item, indent + " " * step, loader, unit, block_lists, list_indent))
            else:
                lines.append(f"{head} {render(item, loader)}")
        return lines
    return [f"{indent}- {render(item, loader)}" for item in value]


def is_block(value: Any, block_lists: bool) -> bool:
    return bool(value) and (isinstance(value, dict) or (block_lists and isinstance(value, (list, tuple))))


def escape(text: str) -> str:
    r"""``${`` as text for OmegaConf: ``\${``, backslashes before it doubled."""
    if "${" not in text:
        return text
    return re.sub(r"(\\*)\$\{", lambda match: match.group(1) * 2 + "\\${", text)


def quote(text: str, style: str | None) -> str:
    """A string scalar: plain when both loaders read it as that string, else in ``style`` or whatever quotes can hold it."""
    if style is None and _SAFE_WORD.fullmatch(text) and not _UNSAFE_START.match(text) and _is_text(text):
        return text
    if style != '"' and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(character if _plain_character(character) else _escaped(character) for character in text) + '"'


def _plain_character(character: str) -> bool:
    return character not in _ESCAPES and character.isprintable()


def _escaped(character: str) -> str:
    known = _ESCAPES.get(character)
    if known is not None:
        return known
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        raise NotYaml("a text with a lone surrogate cannot be written")
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _is_text(text: str) -> bool:
    try:
        return bool(scalars.plain(text, "omegaconf") == text and scalars.plain(text, "safe_load") == text)
    except scalars.BadScalar:
        return False


def _float(value: float) -> str:
    if value != value:
        return ".nan"
    if value in (float("inf"), float("-inf")):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    # YAML 1.1 wants a dot before an exponent, and a sign in it.
    mantissa, mark, exponent = text.partition("e")
    if mark and "." not in mantissa:
        mantissa += ".0"
    return mantissa + mark + exponent
