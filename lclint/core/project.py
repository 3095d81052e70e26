"""The project's address, and the web page of a rule."""

from __future__ import annotations

REPOSITORY = "https://github.com/lclint/lclint"
ISSUES = f"{REPOSITORY}/issues"


def rule_page(name: str) -> str:
    """The address of a shipped rule in the table of all rules."""
    return f"{REPOSITORY}/blob/main/docs/rules/README.md#{name}"
