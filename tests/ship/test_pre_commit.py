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
# what else is called .yaml in a repository: none of it may fail a hook or be changed by one
OTHERS = {
    ".github/workflows/ci.yaml": "on: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps: [{run: make}]\n",
    ".gitlab-ci.yml": "test: {script: [!reference [.setup, script]]}\n",
    "ansible/play.yml": "- hosts: all\n  vars: {secret: !vault \"$ANSIBLE_VAULT\"}\n  tasks: [{name: x, ping: }]\n",
    "cfn/stack.yaml": "Resources:\n  B: {Type: AWS::S3::Bucket, Properties: {BucketName: !Sub \"${AWS::StackName}-b\", Tags: !GetAtt [A, B]}}\n",
    "docker-compose.yml": "services:\n  db: {image: postgres, environment: &env {A: 1}}\n  model:\n    environment:\n      <<: *env\n",
    "deploy/chart.yaml": "apiVersion: v1\nkind: List\nitems: []\n---\napiVersion: v1\nkind: ConfigMap\ndata: {model: gpt, train: \"1\"}\n",
    "deploy/job.yaml": "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec: {pytorchReplicaSpecs: {Worker: {replicas: 4}}}\n",
    "deploy/values.yml": "image: {tag: latest}\nmodel: gpt\ntrain: {enabled: true}\n",
    "helm/templates/deploy.yaml": "{{- if .Values.enabled }}\nkind: Service\nmetadata:\n  name: {{ include \"x.name\" . }}\n{{- end }}\n",
    "hydra/config.yaml": "defaults:\n  - model: gpt\n  - optimizer: adam\n  - _self_\nhydra: {run: {dir: \"outputs/${now:%Y-%m-%d}\"}}\nseed: 1\n",
    "hydra/model/gpt.yaml": "# @package _global_\nmodel:\n  _target_: my.models.GPT\n  hidden: 512\n  layers: ${oc.env:LAYERS,12}\n",
    "hydra/optimizer/adam.yaml": "_target_: torch.optim.Adam\nlr: 1e-3\nbetas: [0.9, 0.999]\n",
    "hydra/train.yaml": "trainer: {max_epochs: 10}\nmodel: {name: bert, dropout: 0.1}\noptimizer: {name: adamw, lr: 0.001}\n",
    "mkdocs.yml": "site_name: x\nmarkdown_extensions: [{pymdownx.emoji: {emoji_index: !!python/name:materialx.emoji.twemoji ''}}]\n",
    "nemo.yaml": "trainer: {devices: 8, num_nodes: 1}\nexp_manager: {name: x}\nmodel: {micro_batch_size: 4, tensor_model_parallel_size: 1}\n",
    "alias.yaml": "a: &x [*x]\n",
    "broken.yaml": "a: [1\nb: }\n",
    "comment.yaml": "# nothing\n",
    "duplicate.yaml": "a: 1\na: 2\n",
    "empty.yaml": "",
    "end.yaml": "---\n...\n",
    "list.yaml": "- 1\n- 2\n",
    "null.yaml": "null\n",
    "tabs.yaml": "a:\n\tb: 1\n",
    "text.yaml": "just text\n",
    "with space/\u00e9\u4e2d.yaml": "a: 1\r\n",
}
BINARY = {"binary.yaml": b"\x00\x01\xff\xfePK\x03\x04" * 50, "latin.yaml": "name: caf\u00e9\n".encode("latin-1"), "wide.yaml": "a: 1\n".encode("utf-16")}


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
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    for name, data in BINARY.items():
        (tmp_path / name).write_bytes(data)
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
    assert "error" not in done.stdout
    assert not _git(repository, "diff", "--name-only")


def test_the_hooks_look_at_all_of_it(repository: Path, home: Path) -> None:
    """Among all those files is a config that is checked: the others did not pass for want of anyone looking."""
    (repository / "hydra" / "bridge.yaml").write_text(BAD, encoding="utf-8")
    done = _run("lclint", repository, home)
    assert "1 file checked: 1 error" in done.stdout
    assert "hydra/bridge.yaml:3:" in done.stdout
    assert f"{len(OTHERS) + len(BINARY) + 1} files skipped" in done.stdout  # and pre-commit's own


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
