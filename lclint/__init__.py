"""lclint: a static analyser for NVIDIA Megatron Bridge training configs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["LclintError", "Report", "check", "diagnose", "estimate_memory", "resolve"]

if TYPE_CHECKING:
    from lclint.api import check, diagnose, estimate_memory, resolve
    from lclint.core.errors import LclintError
    from lclint.core.finding import Report


def __getattr__(name: str) -> Any:
    # the command line imports this package on every commit of its users: the rest is loaded when it is asked for
    if name == "check":
        from lclint.api import check

        return check
    if name == "diagnose":
        from lclint.api import diagnose

        return diagnose
    if name == "estimate_memory":
        from lclint.api import estimate_memory

        return estimate_memory
    if name == "resolve":
        from lclint.api import resolve

        return resolve
    if name == "LclintError":
        from lclint.core.errors import LclintError

        return LclintError
    if name == "Report":
        from lclint.core.finding import Report

        return Report
    raise AttributeError(f"module 'lclint' has no attribute {name!r}")
