"""What is shipped: the files of the package, its metadata, the documents that speak of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import lclint
from lclint.core.project import ISSUES
from lclint.engine import rulefile

PACKAGE = Path(lclint.__path__[0])
INSTALLED = "site-packages" in PACKAGE.parts
# What a check may not import: each costs more time than a whole check.
HEAVY = {"argparse", "dataclasses", "difflib", "importlib.metadata", "importlib.resources", "jsonschema", "logging", "omegaconf", "pathlib"}


def test_the_version_is_the_one_in_the_changelog(checkout: Path) -> None:
    changelog = (checkout / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[([^]]+)\]", changelog, re.M)[0] == lclint.__version__


def test_the_project_has_one_address(checkout: Path) -> None:
    urls = re.findall(r'^Issues = "(.+)"$', (checkout / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    assert urls == [ISSUES]


def test_the_licence_is_the_one_declared(checkout: Path) -> None:
    assert "Apache License" in (checkout / "LICENSE").read_text(encoding="utf-8")
    assert 'license = "Apache-2.0"' in (checkout / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.skipif(not INSTALLED, reason="looks into an installed package")
def test_the_wheel_holds_what_is_read_at_run_time(checkout: Path) -> None:
    for folder in ("rules", "schemas"):
        shipped = Path(rulefile.shipped(folder))
        assert shipped == PACKAGE / folder
        names = {path.relative_to(checkout / folder) for path in (checkout / folder).rglob("*") if path.is_file()}
        assert {path.relative_to(shipped) for path in shipped.rglob("*") if path.is_file()} == names
    assert (PACKAGE / "_compiled_rules.py").is_file()
    assert (PACKAGE / "py.typed").is_file()


@pytest.mark.skipif(not INSTALLED, reason="a checkout compiles its rules when it is first used")
def test_a_check_imports_little(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "conf.yaml").write_text("model:\n  tensor_model_parallel_size: 3\n", encoding="utf-8")
    program = "import sys; from lclint.cli.main import main; main(['check', 'conf.yaml']); print(*sys.modules, sep='\\n', file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    bare = subprocess.run([sys.executable, "-c", "import sys; print(*sys.modules)"], env=environment, capture_output=True, text=True)
    assert (set(done.stderr.split()) - set(bare.stdout.split())) & HEAVY == set()
