"""What a file says about its own run: ``# lclint: gpu=gb200 gpus=128 recipe=…``."""

from __future__ import annotations

from typing import Any

from lclint.catalog import tables
from lclint.core.errors import LclintError, UsageError
from lclint.sources.directives import Directive
from lclint.sources.document import Document

OPTIONS = ("gpu", "gpus", "gpus_per_node", "recipe")


class Fault:
    """An option in a comment that cannot be taken: the comment, the option as written, and what is wrong."""

    __slots__ = ("directive", "option", "error")

    def __init__(self, directive: Directive, option: str, error: LclintError) -> None:
        self.directive = directive
        self.option = option
        self.error = error


def read(document: Document | None) -> tuple[dict[str, Any], list[Fault]]:
    """The options that the comments of a file give, by the names of ``Options``, and what is wrong with the others.

    Of an option that is given twice the last counts. Whether there is a recipe of that name is not looked up.
    """
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    for directive in document.directives() if document is not None else ():
        if directive.kind == "options":
            for name, text in directive.options.items():
                option = name.replace("-", "_")
                try:
                    values[option] = _value(option, text)
                except UsageError as error:
                    faults.append(Fault(directive, f"{name}={text[:40]}", error))
    return values, faults


def _value(option: str, text: str) -> Any:
    """The value of one option. Raises UsageError."""
    if option == "gpu":
        known = tables.gpus()
        if text.lower() not in known:
            raise UsageError(f"no such GPU: {text[:40]}", hint=f"known are {', '.join(sorted(known))}")
        return text.lower()
    if option in ("gpus", "gpus_per_node"):
        if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < 1:
            raise UsageError(f"{option}={text[:40]} is not a number of GPUs")
        return int(text)
    if option == "recipe":
        return text
    import difflib

    close = difflib.get_close_matches(option, OPTIONS, 1, 0.6)
    raise UsageError(f"# lclint: knows no option {option[:40]}", hint=f"did you mean {close[0]}?" if close else f"it takes {', '.join(OPTIONS)}")
