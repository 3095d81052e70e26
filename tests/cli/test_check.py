"""``lclint check`` from end to end."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

Run = Callable[..., Any]

SLIP = "model:\n  # as in the paper\n  hidden_sise: 4096\n  tensor_model_parallel_size: 2\n"
MENDED = SLIP.replace("hidden_sise", "hidden_size")
GOOD = "model:\n  tensor_model_parallel_size: 2\n"
OTHER = "on: push\njobs: {}\n"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    file = tmp_path / "conf.yaml"
    file.write_text(SLIP, encoding="utf-8")
    return file


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder with a faulty config, a good one, and YAML of another tool."""
    folder = tmp_path / "runs"
    (folder / "deep").mkdir(parents=True)
    (folder / "good.yaml").write_text(GOOD, encoding="utf-8")
    (folder / "deep" / "slip.yml").write_text(SLIP, encoding="utf-8")
    (folder / "ci.yaml").write_text(OTHER, encoding="utf-8")
    return folder


def test_a_finding(cli: Run, conf: Path) -> None:
    done = cli("check", "conf.yaml")
    assert done.status == 1
    assert done.err == ""
    assert done.out.startswith("conf.yaml:3:")
    assert "hidden_size" in done.out
    assert done.out.splitlines()[-1].startswith("1 file checked: 1 error; fixable: up to 1 with --fix")


def test_a_refusal_says_when_it_strikes(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "heads.yaml").write_text("model:\n  num_attention_heads: 30\n  tensor_model_parallel_size: 4\n", encoding="utf-8")
    assert "[LC106, crash at start-up]" in cli("check", "heads.yaml").out


def test_a_good_config(cli: Run, mixed: Path) -> None:
    done = cli("check", "runs/good.yaml")
    assert (done.status, done.err) == (0, "")
    assert "1 file checked: no findings" in done.out


def test_a_folder(cli: Run, mixed: Path) -> None:
    done = cli("check", "runs")
    assert done.status == 1
    assert "runs/deep/slip.yml:3:" in done.out
    assert "2 files checked: 1 error" in done.out
    assert "1 file skipped as no Megatron Bridge config" in done.out


def test_verbose_names_what_is_skipped(cli: Run, mixed: Path) -> None:
    assert "\n  runs/ci.yaml: " in cli("check", "-v", "runs").out


def test_show_files(cli: Run, mixed: Path) -> None:
    done = cli("check", "--show-files", "runs", "runs/*.yaml")
    assert done.out.splitlines() == [
        "runs/ci.yaml: skipped: none of its keys is a section of a Megatron Bridge config",
        "runs/deep/slip.yml: checked as override",
        "runs/good.yaml: checked as override",
    ]
    assert done.status == 0


def test_json(cli: Run, mixed: Path, checkout: Path) -> None:
    done = cli("check", "--format", "json", "--gpu", "H100", "--gpus", "16", "runs")
    assert done.status == 1
    data = json.loads(done.out)
    jsonschema.validate(data, json.loads((checkout / "schemas" / "report.schema.json").read_text(encoding="utf-8")))
    assert data["summary"] == {"error": 1, "warning": 0, "info": 0}
    slip = next(file for file in data["files"] if file["path"] == "runs/deep/slip.yml")
    assert slip["cluster"]["gpus"] == 16
    (finding,) = slip["findings"]
    assert (finding["at"], finding["line"], finding["origin"]) == ("model.hidden_sise", 3, "file")
    text = SLIP
    for edit in sorted(finding["fixes"][0]["edits"], key=lambda edit: -edit["start"]):
        text = text[: edit["start"]] + edit["text"] + text[edit["end"] :]
    assert text == MENDED


def test_standard_input(cli: Run) -> None:
    done = cli("check", "-", "--stdin-filename", "editor.yaml", stdin=SLIP.encode())
    assert done.status == 1
    assert done.out.startswith("editor.yaml:3:")


def test_overrides_alone(cli: Run) -> None:
    done = cli("check", "--set", "model.hidden_sise=4096")
    assert done.status == 1
    assert "    --set model.hidden_sise=4096\n" in done.out


def test_an_override_that_hydra_refuses_is_a_finding(cli: Run, conf: Path) -> None:
    done = cli("check", "conf.yaml", "--set", "model.x=[1")
    assert done.status == 1
    assert "crash" in done.out


def test_fix(cli: Run, conf: Path) -> None:
    done = cli("check", "--fix", "conf.yaml")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("1 file changed; 1 file checked: no findings")
    assert conf.read_text(encoding="utf-8") == MENDED
    assert cli("check", "--fix", "conf.yaml").out.startswith("1 file checked: no findings")


def test_fix_keeps_bytes(cli: Run, conf: Path) -> None:
    conf.write_bytes(b"\xef\xbb\xbf" + SLIP.replace("\n", "\r\n").encode())
    assert cli("check", "--fix", "conf.yaml").status == 0
    assert conf.read_bytes() == b"\xef\xbb\xbf" + MENDED.replace("\n", "\r\n").encode()


def test_fixing_standard_input_prints_the_text(cli: Run) -> None:
    done = cli("check", "--fix", "-", stdin=SLIP.encode())
    assert (done.status, done.out) == (0, MENDED)
    assert done.err.startswith("lclint: 1 file changed; 1 file checked: no findings")


def test_fixing_good_standard_input_prints_it_as_it_is(cli: Run) -> None:
    done = cli("check", "--fix", "-", stdin=GOOD.encode())
    assert (done.status, done.out) == (0, GOOD)


def test_fixing_other_standard_input_does_not_pass_for_an_empty_result(cli: Run) -> None:
    done = cli("check", "--fix", "-", stdin=OTHER.encode())
    assert (done.status, done.out) == (2, "")


@pytest.mark.parametrize("text", [SLIP, SLIP.replace("\n", "\r\n"), "\ufeff" + SLIP, "\ufeff" + SLIP.removesuffix("\n")])
@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_diff_is_a_patch(text: str, cli: Run, conf: Path, tmp_path: Path) -> None:
    conf.write_bytes(text.encode())
    done = cli("check", "--diff", "conf.yaml")
    assert done.status == 1
    assert conf.read_bytes() == text.encode()
    assert done.err.startswith("lclint: 1 file would change; after that, 1 file checked: no findings")
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=done.out.encode(), check=True, timeout=30)
    assert conf.read_bytes() == text.replace("hidden_sise", "hidden_size").encode()


def test_diff_wins_over_fix(cli: Run, conf: Path) -> None:
    done = cli("check", "--diff", "--fix", "conf.yaml")
    assert done.out.startswith("--- a/conf.yaml\n+++ b/conf.yaml\n")
    assert conf.read_text(encoding="utf-8") == SLIP


def test_diff_with_a_report(cli: Run, conf: Path, tmp_path: Path) -> None:
    done = cli("check", "--diff", "--format", "json", "--output", "report.json", "conf.yaml")
    assert done.out.startswith("--- a/conf.yaml\n")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["summary"]["error"] == 0


def test_diff_without_a_change(cli: Run, mixed: Path) -> None:
    done = cli("check", "--diff", "--quiet", "runs/good.yaml")
    assert done == (0, "", "")


def test_unsafe_fixes_alone_are_no_silent_mistake(cli: Run, conf: Path) -> None:
    done = cli("check", "--unsafe-fixes", "conf.yaml")
    assert done.err == "lclint: --unsafe-fixes changes nothing without --fix or --diff\n"
    assert conf.read_text(encoding="utf-8") == SLIP


@pytest.mark.parametrize("option", ["--select", "--ignore", "--extend-select"])
def test_an_unknown_rule_is_an_error(option: str, cli: Run, conf: Path) -> None:
    done = cli("check", option, "unknown-kye", "conf.yaml")
    assert done.status == 2
    assert "unknown-key" in done.err


def test_ignore(cli: Run, conf: Path) -> None:
    assert cli("check", "--ignore", "LC010,", "conf.yaml").status == 0


@pytest.mark.parametrize(
    ("name", "content"),
    [("gone.yaml", None), ("broken.yaml", b"model: [\n"), ("binary.yaml", b"\x00\x01\xff"), ("empty-folder", "folder")],
)
def test_unreadable_input(name: str, content: bytes | str | None, cli: Run, tmp_path: Path) -> None:
    if content == "folder":
        (tmp_path / name).mkdir()
    elif isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    done = cli("check", name)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"lclint: error: {name}")
    assert done.err.count("\n") == 1
    assert "internal" not in done.err


@pytest.mark.parametrize("option", ["--base", "--rules"])
def test_a_missing_second_file_is_an_error(option: str, cli: Run, conf: Path) -> None:
    done = cli("check", option, "gone", "conf.yaml")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "gone" in done.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_only_regular_files_are_read_and_fixed(cli: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    done = cli("check", "--fix", "pipe.yaml")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "internal" not in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--te-version", "nope"), "--te-version nope: this is no version"),
        (("--torch-version", "2,9"), "--torch-version 2,9: this is no version"),
        (("--select", ","), "--select names no rule"),
        (("--extend-select", ""), "--extend-select names no rule"),
        (("--select", "nope"), "no rule is called nope"),
        (("--ignore", "unkown-key"), "did you mean unknown-key"),
        (("--ignore", "unknown-key/nope"), "unknown-key has no case nope"),
        (("--profile", "startup"), "'startup' is not one of"),
        (("--settings", "no.toml"), "no.toml: does not exist"),
    ],
)
def test_a_slip_on_the_command_line_is_refused(cli: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "run.yaml").write_text("model: {context_parallel_size: 2}\n", encoding="utf-8")
    done = cli("check", "run.yaml", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert message in done.err


def test_a_recipe_on_the_fewest_gpus_is_told_how_many_it_needs(cli: Callable[..., Any]) -> None:
    done = cli("check", "--recipe", "llama3_8b_pretrain_2gpu_h100_bf16_config", "--gpu", "h100", "--gpus", "2")
    assert done.status == 0
    assert "states-do-not-fit [LC217, advice]" in done.out
    assert "    --gpus 2\n           ^\n" in done.out
    assert "[by hand]: Use 16 GPUs" in done.out


def test_what_cannot_fit_is_an_error_with_the_cheapest_way_out(cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("# lclint: recipe=llama3_8b_pretrain_8gpu_h100_bf16_config gpu=h100 gpus=8\ntrain:\n  micro_batch_size: 8   # faster?\n")
    done = cli("check", "run.yaml")
    assert done.status == 1
    assert "error: does-not-fit [LC201, oom]" in done.out
    assert cli("check", "run.yaml", "--fix", "--unsafe-fixes").status == 0
    assert (tmp_path / "run.yaml").read_text().endswith("  micro_batch_size: 1   # faster?\n")
