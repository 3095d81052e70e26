"""Plain YAML scalars as the two loaders of record read them.

``safe_load`` is PyYAML's resolver for YAML 1.1 (``yes`` is a boolean, ``012`` is octal, ``1:30`` is sexagesimal, ``1e-5`` is a
string because it lacks a dot). OmegaConf 2.3 adds floats without a dot and leaves timestamps as strings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_BOOLS = {
    spelling: value
    for word, value in (("yes", True), ("no", False), ("true", True), ("false", False), ("on", True), ("off", False))
    for spelling in (word, word.capitalize(), word.upper())
}
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))

_FLOAT = re.compile(
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?"
    r"|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*"
    r"|[-+]?\.(?:inf|Inf|INF)"
    r"|\.(?:nan|NaN|NAN)"
)
_INT = re.compile(
    r"[-+]?0b[01_]+"
    r"|[-+]?0[0-7_]+"
    r"|[-+]?(?:0|[1-9][0-9_]*)"
    r"|[-+]?0x[0-9a-fA-F_]+"
    r"|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+"
)
# Compiled when one is met.
_TIMESTAMP = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"|[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?(?:[Tt]|[ \t]+)[0-9][0-9]?:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
    r"(?:[ \t]*(?:Z|[-+][0-9][0-9]?(?::[0-9][0-9])?))?"
)
_OMEGACONF_FLOAT = re.compile(
    r"[-+]?[0-9]+(?:_[0-9]+)*\.[0-9_]*(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?[0-9]+(?:_[0-9]+)*[eE][-+]?[0-9]+"
    r"|\.[0-9]+(?:_[0-9]+)*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9]+(?:_[0-9]+)*(?::[0-5]?[0-9])+\.[0-9_]*"
)
_MOST_PARTS = 2_400
_WORD_STARTS = frozenset("yYnNtTfFoO~<=")
_NUMBER_STARTS = frozenset("-+0123456789.")


class BadScalar(ValueError):
    """A scalar that the loader's resolver gives a type which its constructor then refuses (``2024-13-45``, a bare ``=``)."""


def plain(text: str, loader: str) -> Any:
    """The value of a plain scalar without a tag; raises BadScalar where the loader raises."""
    if not text:
        return None
    first = text[0]
    if first in _NUMBER_STARTS:
        if _FLOAT.fullmatch(text):
            return to_float(text)
        if _INT.fullmatch(text):
            return to_int(text)
        if loader == "omegaconf":
            return to_float(text) if _OMEGACONF_FLOAT.fullmatch(text) else text
        return to_timestamp(text) if re.fullmatch(_TIMESTAMP, text) else text
    if first in _WORD_STARTS:
        if text in _BOOLS:
            return _BOOLS[text]
        if text in _NULLS:
            return None
        if text == "=" or text == "<<":
            raise BadScalar(f"{text!r} is a YAML keyword: quote it")
    return text


def to_int(text: str) -> int:
    """An integer in YAML 1.1 notation: decimal, ``0b``, ``0x``, octal with a leading 0, base 60 with colons."""
    digits = text.replace("_", "")
    sign = -1 if digits[:1] == "-" else 1
    if digits[:1] in ("-", "+"):
        digits = digits[1:]
    try:
        if digits == "0":
            return 0
        if digits[:2] == "0b":
            return sign * int(digits[2:], 2)
        if digits[:2] == "0x":
            return sign * int(digits[2:], 16)
        if digits[:1] == "0":
            return sign * int(digits, 8)
        if ":" in digits:
            total = 0
            for part in _parts(digits):
                total = total * 60 + int(part)
            return sign * total
        return sign * int(digits)
    except ValueError:
        raise BadScalar(f"{text[:40]!r} is not an integer") from None


def _parts(digits: str) -> list[str]:
    """The parts of a base-60 number, about as many as Python takes decimal digits."""
    if digits.count(":") > _MOST_PARTS:
        raise ValueError
    return digits.split(":")


def to_float(text: str) -> float:
    """A float in YAML 1.1 notation: ``.inf``, ``.nan`` and base 60 included."""
    digits = text.replace("_", "").lower()
    sign = -1.0 if digits[:1] == "-" else 1.0
    if digits[:1] in ("-", "+"):
        digits = digits[1:]
    try:
        if digits == ".inf":
            return sign * float("inf")
        if digits == ".nan":
            return float("nan")
        if ":" in digits:
            # The loaders sum from the last part on; rounding has to be the same.
            total, base = 0.0, 1
            for part in reversed(_parts(digits)):
                total += float(part) * base
                base *= 60
            return sign * total
        return sign * float(digits)
    except (ValueError, OverflowError):
        raise BadScalar(f"{text[:40]!r} is not a number") from None


def to_bool(text: str) -> bool:
    try:
        return _BOOLS[text.lower()]
    except KeyError:
        raise BadScalar(f"{text[:40]!r} is not a boolean") from None


def to_null(text: str) -> None:
    return None


def to_timestamp(text: str) -> Any:
    """A ``datetime.date`` or ``datetime.datetime``, made by PyYAML itself: nobody writes one in a training config."""
    import yaml

    try:
        return yaml.SafeLoader("").construct_yaml_timestamp(yaml.ScalarNode("tag:yaml.org,2002:timestamp", text))
    except (ValueError, AttributeError, OverflowError):
        raise BadScalar(f"{text[:40]!r} is not a date") from None


def to_binary(text: str) -> bytes:
    import base64
    import binascii

    try:
        return base64.decodebytes(text.encode("ascii"))
    except (binascii.Error, UnicodeEncodeError):
        raise BadScalar("not base64") from None


# By the part of the tag after "tag:yaml.org,2002:".
TAGGED: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": to_int,
    "float": to_float,
    "bool": to_bool,
    "null": to_null,
    "timestamp": to_timestamp,
    "binary": to_binary,
}
