"""The hooks work through pre-commit itself, on a repository with YAML of all kinds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.network, pytest.mark.skipif(shutil.which("git") is None, reason="no git")]

BAD = "model:\n  # a comment\n  hidden_sise: 4096\n  tensor_model_parallel_size: 2\n"
OTHERS = {
    ".github/workflows/ci.yaml": "on: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps: [{run: make}]\n",
    "deploy/chart.yaml": "apiVersion: v1\nkind: List\nitems: []\n---\napiVersion: v1\nkind: ConfigMap\n",
    "deploy/values.yml": "image: {tag: latest}\nmodel: gpt\n",
    "empty.yaml": "",
    "list.yaml": "- 1\n- 2\n",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps the environments of the hooks, one for all tests here."""
    pytest.importorskip("pre_commit")
    return tmp_path_factory.mktemp("pre-commit")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> Path:
    """The checkout as a repository of its own with one commit: what a user's configuration names by its address."""
    folder = tmp_path_factory.mktemp("source") / "lclint"
    ignored = shutil.ignore_patterns(".git", ".venv", "venv", "__pycache__", "dist", "build", ".hypothesis", ".*_cache", "tests")
    shutil.copytree(checkout, folder, ignore=ignored)
    _commit(folder)
    return folder


def _git(folder: Path, *arguments: str) -> str:
    settings = ["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *settings, *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


def _commit(folder: Path) -> str:
    _git(folder, "init", "--quiet")
    _git(folder, "add", "--all", "--force")
    _git(folder, "commit", "--quiet", "--no-verify", "-m", "all")
    return _git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, source: Path) -> Path:
    """A user's repository: YAML of other tools, and pre-commit set up to run both hooks."""
    for name, text in OTHERS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    revision = _git(source, "rev-parse", "HEAD")
    (tmp_path / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {source.as_uri()}\n  rev: {revision}\n  hooks:\n  - id: lclint\n  - id: lclint-fix\n", encoding="utf-8"
    )
    _commit(tmp_path)
    return tmp_path


def _run(hook: str, repository: Path, home: Path) -> subprocess.CompletedProcess[str]:
    _git(repository, "add", "--all")
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "GIT_DIR", "GIT_INDEX_FILE")}
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", hook, "--all-files", "--verbose", "--color", "never"],
        cwd=repository,
        env=kept | {"PRE_COMMIT_HOME": str(home), "GIT_ALLOW_PROTOCOL": "file"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.parametrize("hook", ["lclint", "lclint-fix"])
def test_yaml_of_other_tools_passes(hook: str, repository: Path, home: Path) -> None:
    done = _run(hook, repository, home)
    assert done.returncode == 0, done.stdout
    assert "Passed" in done.stdout


def test_a_broken_config_fails(repository: Path, home: Path) -> None:
    (repository / "conf.yaml").write_text(BAD, encoding="utf-8")
    done = _run("lclint", repository, home)
    assert done.returncode == 1, done.stdout
    assert "conf.yaml:3:" in done.stdout


def test_the_fixing_hook_fixes_once(repository: Path, home: Path) -> None:
    conf = repository / "conf.yaml"
    conf.write_text(BAD, encoding="utf-8")
    first = _run("lclint-fix", repository, home)
    assert first.returncode == 1, first.stdout
    assert "files were modified by this hook" in first.stdout
    assert conf.read_text(encoding="utf-8") == BAD.replace("hidden_sise", "hidden_size")
    assert _run("lclint-fix", repository, home).returncode == 0
