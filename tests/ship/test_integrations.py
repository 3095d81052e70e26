"""What docs/integrations.md, action.yml and the skill say works: by the schemas of those who read them, and in bash."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import lclint
from lclint.core.project import REPOSITORY

BAD = "model: {hidden_sise: 1, tensor_model_parallel_size: 2}\n"
GOOD = "model: {tensor_model_parallel_size: 2}\n"
EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")


@pytest.fixture
def document(checkout: Path, page: Callable[[str], Any]) -> Any:
    return page((checkout / "docs" / "integrations.md").read_text(encoding="utf-8"))


@pytest.fixture
def action(checkout: Path) -> dict[str, Any]:
    return dict(yaml.safe_load((checkout / "action.yml").read_text(encoding="utf-8")))


@pytest.fixture
def steps(action: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {step["name"]: step for step in action["runs"]["steps"]}


def schema(name: str) -> Any:
    """A schema that check-jsonschema brings along."""
    pytest.importorskip("check_jsonschema")
    text = resources.files("check_jsonschema").joinpath("builtin_schemas", "vendor", f"{name}.json").read_text(encoding="utf-8")
    data = json.loads(text)
    return jsonschema.validators.validator_for(data)(data)


# --- the action


def test_the_action_is_one(action: dict[str, Any]) -> None:
    schema("github-actions").validate(action)
    assert action["runs"]["using"] == "composite"


def test_no_input_reaches_a_shell_but_through_its_environment(action: dict[str, Any]) -> None:
    used = set()
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"]
        used |= {name.removeprefix("inputs.") for value in step["env"].values() for name in EXPRESSION.findall(value)}
    assert used - {"github.action_path"} == action["inputs"].keys() - {"working-directory"}


class Job:
    """A job that runs the action's check, as GitHub's runner does."""

    def __init__(self, folder: Path, action: dict[str, Any], step: dict[str, Any], bash: Callable[..., Any]) -> None:
        self.folder = folder
        self.action = action
        self.step = step
        self.bash = bash
        for name in ("output", "summary"):
            (folder / name).write_text("", encoding="utf-8")

    def run(self, **inputs: str) -> Any:
        given = {f"inputs.{name}": str(about["default"]) for name, about in self.action["inputs"].items()}
        given |= {f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()}
        env = {name: EXPRESSION.sub(lambda found: given[found[1]], value) for name, value in self.step["env"].items()}
        env |= {"GITHUB_OUTPUT": str(self.folder / "output"), "GITHUB_STEP_SUMMARY": str(self.folder / "summary"), "GITHUB_WORKSPACE": str(self.folder)}
        # what the runner calls bash with
        return self.bash(f"set -eo pipefail\n{self.step['run']}", self.folder / given["inputs.working-directory"], env=env)

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in (self.folder / "output").read_text(encoding="utf-8").splitlines())

    @property
    def summary(self) -> str:
        return (self.folder / "summary").read_text(encoding="utf-8")


@pytest.fixture
def job(tmp_path: Path, action: dict[str, Any], steps: dict[str, dict[str, Any]], bash: Callable[..., Any]) -> Job:
    folder = tmp_path / "work"
    (folder / "conf" / "two words").mkdir(parents=True)
    (folder / "conf" / "bad.yaml").write_text(BAD, encoding="utf-8")
    (folder / "conf" / "two words" / "good.yaml").write_text(GOOD, encoding="utf-8")
    return Job(folder, action, steps["Check"], bash)


def test_the_action_checks(job: Job) -> None:
    done = job.run(paths="conf", sarif_file="out.sarif", args="--gpu h100 --gpus 8")
    assert done.returncode == 1, done.stdout
    assert done.stdout.startswith("::error file=conf/bad.yaml,line=1,col=9,")
    assert job.outputs == {"exit-code": "1", "sarif-file": "out.sarif"}
    assert job.summary.startswith("## lclint\n\n2 files checked: 1 error")
    (result,) = json.loads((job.folder / "out.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "conf/bad.yaml"


def test_the_action_passes(job: Job) -> None:
    done = job.run(paths="conf/two words\n", summary="false", format="text")
    assert done.returncode == 0, done.stdout
    assert "no findings" in done.stdout
    assert (job.outputs, job.summary) == ({"exit-code": "0"}, "")


@pytest.mark.parametrize(
    ("inputs", "status"),
    [
        ({"paths": "conf/bad.yaml\n\nconf/two words\n"}, 1),
        ({"paths": "conf", "args": "--fail-on never"}, 0),
        ({"paths": "conf", "args": "--ignore 'unknown-key' --set \"model.num_layers=2\""}, 0),
        ({"paths": "conf/two words", "args": "-- model.hidden_sise=3"}, 1),
        ({"paths": "bad.yaml", "working_directory": "conf"}, 1),
        ({"paths": "missing.yaml"}, 2),
        ({"paths": ""}, 2),
        ({"paths": "conf", "args": "--no-such-option"}, 2),
        ({"paths": "conf", "args": "--set 'x"}, 2),
        ({"paths": "conf", "args": "$(touch made) `touch made` ; touch made"}, 2),
        ({"paths": "$(touch made)", "format": "concise"}, 2),
    ],
)
def test_the_action_hands_its_words_on(inputs: dict[str, str], status: int, job: Job) -> None:
    done = job.run(**inputs)
    assert done.returncode == status, done.stdout
    assert "Traceback" not in done.stdout
    assert not (job.folder / "made").exists()
    if "'x" not in inputs.get("args", ""):
        assert job.outputs["exit-code"] == str(status)


@pytest.mark.network
def test_the_action_installs_itself(tmp_path: Path, checkout: Path, steps: dict[str, dict[str, Any]], bash: Callable[..., Any]) -> None:
    (tmp_path / "path").write_text("", encoding="utf-8")
    env = {"PYTHON": sys.executable, "VERSION": "", "SOURCE": str(checkout), "RUNNER_TEMP": str(tmp_path), "GITHUB_PATH": str(tmp_path / "path")}
    done = bash(f"set -eo pipefail\n{steps['Install lclint']['run']}", tmp_path, env=env | {"PYTHONPATH": ""})
    assert done.returncode == 0, done.stdout
    program = Path((tmp_path / "path").read_text(encoding="utf-8").strip()) / "lclint"
    said = subprocess.run([program, "--version"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout == f"lclint {lclint.__version__}\n"


# --- the page


def test_yaml_of_the_page_is_what_its_readers_take(document: Any, action: dict[str, Any], checkout: Path) -> None:
    hooks, workflow, plain, gitlab = (yaml.safe_load(text) for text in document.blocks("yaml"))
    known = {hook["id"] for hook in yaml.safe_load((checkout / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    (entry,) = hooks["repos"]
    assert entry["repo"] == REPOSITORY
    assert entry["rev"] == f"v{lclint.__version__}"
    assert [hook["id"] for hook in entry["hooks"]] == ["lclint"]
    assert all(f"id: {name}" in document.text for name in known)
    for found in (workflow, plain):
        schema("github-workflows").validate({("on" if key is True else key): value for key, value in found.items()})
    (used,) = (step for step in workflow["jobs"]["lclint"]["steps"] if "lclint" in step.get("uses", ""))
    assert used["uses"] == f"{REPOSITORY.removeprefix('https://github.com/')}@v{lclint.__version__}"
    assert used["with"].keys() <= action["inputs"].keys()
    for name in (*action["inputs"], *action["outputs"]):
        assert f"`{name}`" in document.text
    schema("gitlab-ci").validate(gitlab)


def test_lines_of_the_page_that_run_lclint_run(document: Any, bash: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "run.yaml").write_text(GOOD, encoding="utf-8")
    plain, gitlab = (yaml.safe_load(text) for text in document.blocks("yaml")[2:])
    lines = [step["run"] for step in plain["jobs"]["lclint"]["steps"] if step.get("run", "").startswith("lclint")]
    lines += [line for line in gitlab["lclint"]["script"] if line.startswith("lclint")]
    assert len(lines) == 5
    for line in lines:
        done = bash(line, tmp_path, env={"GITHUB_STEP_SUMMARY": str(tmp_path / "summary")})
        assert done.returncode == 0, done.stdout
    for name in ("gl-code-quality.json", "lclint.xml", "summary"):
        assert (tmp_path / name).stat().st_size


@pytest.mark.parametrize(("config", "status"), [(GOOD, 0), (BAD, 1), ("a: [\n", 1), (None, 1)])
def test_a_batch_script_ends_before_it_starts_the_job(
    config: str | None, status: int, document: Any, bash: Callable[..., Any], tools: Path, tmp_path: Path
) -> None:
    (text,) = document.blocks("bash", "slurm")
    if config is not None:
        (tmp_path / "run 1.yaml").write_text(config, encoding="utf-8")
    (tools / "srun").write_text('#!/bin/sh\nprintf "srun: %s\\n" "$@"\n', encoding="utf-8")
    (tools / "srun").chmod(0o755)
    done = bash(text, tmp_path, "run 1.yaml", env={"SLURM_JOB_NUM_NODES": "32", "SLURM_GPUS_ON_NODE": "8"})
    assert done.returncode == status, done.stdout
    assert ("srun: run 1.yaml" in done.stdout) == (status == 0)


def test_a_wrapper_submits_what_was_checked(document: Any, bash: Callable[..., Any], tools: Path, tmp_path: Path) -> None:
    (text,) = document.blocks("bash", "submit")
    (tools / "sbatch").write_text('#!/bin/sh\necho "sbatch $*"\n', encoding="utf-8")
    (tools / "sbatch").chmod(0o755)
    (tmp_path / "good.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(BAD, encoding="utf-8")
    assert "sbatch --nodes=4 train.sh good.yaml\n" in bash(f"{text}\ntrain good.yaml 32", tmp_path).stdout
    refused = bash(f"{text}\ntrain bad.yaml 32", tmp_path)
    assert refused.returncode == 1
    assert "sbatch" not in refused.stdout


@pytest.mark.parametrize(("config", "stops"), [(GOOD, False), (BAD, True)])
def test_a_launch_script_stops(config: str, stops: bool, document: Any) -> None:
    (text,) = document.blocks("python")
    names = {"cfg": yaml.safe_load(config)}
    if stops:
        with pytest.raises(SystemExit, match="hidden_sise"):
            exec(text, names)
    else:
        exec(text, names)


def test_links_of_the_page_lead_somewhere(document: Any, checkout: Path) -> None:
    headings = {re.sub(r"[^\w -]", "", line[3:].lower()).replace(" ", "-") for line in document.text.splitlines() if line.startswith("## ")}
    for target in re.findall(r"\]\(([^)]+)\)", document.text):
        if target.startswith("#"):
            assert target[1:] in headings
        elif "://" not in target:
            assert (checkout / "docs" / target).exists()


# --- the skill


def test_the_skill_is_one(checkout: Path) -> None:
    """By https://agentskills.io/specification."""
    path = checkout / "skills" / "lclint" / "SKILL.md"
    _, front, body = path.read_text(encoding="utf-8").split("---\n", 2)
    about = yaml.safe_load(front)
    assert about.keys() <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert about["name"] == path.parent.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", about["name"])
    assert 0 < len(about["description"]) <= 1024
    assert len(about["compatibility"]) <= 500
    assert len(body.splitlines()) < 500


def test_the_skill_speaks_of_keys_that_exist(checkout: Path) -> None:
    text = (checkout / "skills" / "lclint" / "SKILL.md").read_text(encoding="utf-8")
    report = json.loads((checkout / "schemas" / "report.schema.json").read_text(encoding="utf-8"))["$defs"]
    for name in ("severity", "impact", "message", "path", "line", "column", "at", "fixes"):
        assert f"`{name}" in text
        assert name in report["finding"]["properties"]
    for name in ("applicability", "set", "remove", "env", "action"):
        assert f"`{name}`" in text
        assert name in report["fix"]["properties"]
    assert "needs" in report["undecided"]["properties"]
