"""What every test can use: the command line as users run it, and which lclint is tested."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

import lclint
from lclint.api import check_run
from lclint.config import build
from lclint.config.run import Run
from lclint.core.finding import FileReport
from lclint.core.options import Options
from lclint.engine.rules import RuleSet, load_only
from lclint.sources import document as documents

CHECKOUT = Path(__file__).resolve().parent.parent
PACKAGE = Path(lclint.__path__[0]).resolve()


class Outcome(NamedTuple):
    """How one run of the command line ended."""

    status: int
    out: str
    err: str


def pytest_configure() -> None:
    if os.environ.get("LCLINT_TEST_INSTALLED") and PACKAGE.is_relative_to(CHECKOUT):
        pytest.exit(f"these tests are to run against an installed lclint, but import {PACKAGE}", returncode=2)


def pytest_report_header() -> str:
    return f"lclint: {PACKAGE}"


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the source tree that holds these tests."""
    return CHECKOUT


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """The process environment without what changes output, and with the tested lclint in reach of a new process."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LCLINT_DEBUG")}
    return kept | {"PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), *filter(None, [kept.get("PYTHONPATH")])])}


@pytest.fixture
def cli(tmp_path: Path, environment: dict[str, str]) -> Callable[..., Outcome]:
    """Run ``lclint ARGUMENTS`` in a process of its own, in ``tmp_path`` unless told otherwise."""

    def call(*arguments: str, stdin: bytes | None = None, cwd: Path = tmp_path, env: dict[str, str] | None = None) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "lclint", *arguments],
            cwd=cwd,
            env=environment | (env or {}),
            stdin=subprocess.DEVNULL if stdin is None else None,
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


@pytest.fixture
def ruleset(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., RuleSet]:
    """Compile small rules: each a mapping with its cases, in which whatever else a rule needs is filled in."""

    def make(*written: dict[str, Any], bundles: Sequence[dict[str, Any]] = ()) -> RuleSet:
        folder = tmp_path_factory.mktemp("rules")
        for number, rule in enumerate(written):
            (folder / f"{number:03}.yaml").write_text(yaml.safe_dump(whole_rule(rule, number)), encoding="utf-8")
        for bundle in bundles:
            (folder / "bundles").mkdir(exist_ok=True)
            (folder / "bundles" / f"{bundle['name']}.yaml").write_text(yaml.safe_dump(bundle), encoding="utf-8")
        return load_only(str(folder))

    return make


@pytest.fixture(scope="session")
def rule_text() -> Callable[..., str]:
    """The YAML text of one small rule, filled in as ``ruleset`` does."""
    return lambda rule, number=0: yaml.safe_dump(whole_rule(rule, number), sort_keys=False)


@pytest.fixture(scope="session")
def run_of() -> Callable[..., Run]:
    """The run of a config text; the options are those of a check, ``base`` is the text of a base."""

    def make(text: str, base: str | None = None, path: str = "run.yaml", **options: Any) -> Run:
        below = None if base is None else documents.load(base.encode(), "base.yaml")
        run, reason = build.from_document(documents.load(text.encode(), path), Options(**options), below)
        assert run is not None, reason
        return run

    return make


@pytest.fixture(scope="session")
def report_of(run_of: Callable[..., Run]) -> Callable[..., FileReport]:
    """The report of a config text under the given rules."""
    return lambda rules, text, **options: check_run(run_of(text, **options), rules)


def whole_rule(rule: dict[str, Any], number: int) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "name": f"rule-{number}",
        "code": f"TT{number:03}",
        "since": "0.1",
        "title": "A rule of the tests",
        "why": "A reason that is long enough for the schema of rule files.",
        "references": ["nowhere"],
        "examples": [{"name": "a", "config": "", "finds": []}, {"name": "b", "config": "", "finds": []}],
        **rule,
    }
    whole["cases"] = [
        {"id": f"case-{index}", "severity": "error", "impact": "crash", "at": "model.num_layers", "message": "it is wrong", **case}
        for index, case in enumerate(whole["cases"])
    ]
    for fix in whole.get("fixes", {}).values():
        fix.setdefault("title", "Mend it")
        fix.setdefault("applicability", "safe")
    return whole
