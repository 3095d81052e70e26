"""Facts of a config given as YAML text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lclint.config import build
from lclint.core.options import Options
from lclint.facts import everything
from lclint.facts.context import Facts
from lclint.sources import document

everything.load()


@pytest.fixture
def facts() -> Callable[..., Facts]:
    """``facts(text, **options)``: the facts of an override file with that text."""

    def of(text: str, **options: object) -> Facts:
        source = document.load(text.encode(), "config.yaml")
        run, reason = build.from_document(source, Options(**options))
        assert run is not None, reason
        return Facts(run)

    return of
