"""Every output format: one snapshot of what it looks like, and what none may do whatever is in the report."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

import lclint
from lclint.cli.main import main
from lclint.core.finding import Report
from lclint.core.options import Options
from lclint.report import formats

OTHERS = [name for name in formats.NAMES if name != "text"]
JSON = ("json", "jsonl", "gitlab", "sarif", "rdjson")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_WORKSPACE", "GITHUB_REPOSITORY", "GITHUB_SHA", "GITHUB_SERVER_URL", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", [name for name in OTHERS if name != "json"])
def test_snapshot(name: str, full: Report, snapshot: SnapshotAssertion, tmp_path: Path) -> None:
    text = formats.render(name, full, Options(base="base.yaml"))
    assert text.replace(tmp_path.as_uri(), "file:///here").replace(f'"{lclint.__version__}"', '"VERSION"') == snapshot


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("empty", [True, False])
def test_any_report_can_be_read(name: str, empty: bool, odd: Report) -> None:
    text = formats.render(name, Report() if empty else odd, Options())
    if name == "json":
        assert json.loads(text)["schema"] == 1  # the names of files are as they are, byte for byte
        return
    text.encode(errors="surrogateescape" if name == "concise" else "strict")  # no half of a pair
    assert {character for character in text if unicodedata.category(character) == "Cc"} <= {"\n"}
    if name in JSON:
        assert text.isascii()
        for line in text.splitlines() if name == "jsonl" else [text]:
            json.loads(line, parse_constant=lambda constant: pytest.fail(constant))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(item)


@pytest.mark.parametrize("name", ["gitlab", "sarif", "rdjson"])
def test_strings_of_json_hold_no_half_pairs_and_no_controls(name: str, odd: Report) -> None:
    for text in _texts(json.loads(formats.render(name, odd, Options()))):
        text.encode()
        assert not any(unicodedata.category(character) == "Cc" and character != "\n" for character in text), text


def test_concise_has_one_line_for_each_finding(odd: Report) -> None:
    lines = formats.render("concise", odd, Options()).splitlines()
    assert len(lines) == 9
    assert lines[0].startswith("conf/a b,c:d%20;[é]|`x`\\x0a::error::")
    assert ":2:17: error: says <b>" in lines[0]
    assert lines[0].endswith("[cuda-graphs-with-variable-length-batches] (safe fix)")
    assert lines[5] == "<command line>: error: is 3 [model.x = 3 (--set)] [cuda-graphs-with-variable-length-batches]"


def test_json_lines_are_the_findings_of_the_json_report(full: Report, checkout: Path) -> None:
    schema = json.loads((checkout / "schemas" / "report.schema.json").read_text(encoding="utf-8"))
    finding = jsonschema.Draft202012Validator({"$defs": schema["$defs"], "$ref": "#/$defs/finding"})
    lines = [json.loads(line) for line in formats.render("jsonl", full, Options()).splitlines()]
    whole = json.loads(formats.render("json", full, Options()))
    assert [line.pop("schema") for line in lines] == [1, 1, 1]
    assert [line.pop("file") for line in lines] == ["conf/sft.yaml"] * 3
    assert lines == whole["files"][0]["findings"]
    for line in lines:
        finding.validate(line)


@pytest.mark.parametrize("name", formats.NAMES)
@pytest.mark.parametrize("given", ["file", "-", "set", "nothing"])
def test_through_the_command_line(
    name: str, given: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = "model: {hidden_sise: 1, tensor_model_parallel_size: 2}\n" if given != "nothing" else "model: {tensor_model_parallel_size: 2}\n"
    (tmp_path / "run 1.yaml").write_text(config, encoding="utf-8")
    words = {"-": ["-"], "set": ["--set", "model.hidden_sise=1", "--recipe", "llama3_8b_pretrain"]}.get(given, ["run 1.yaml"])

    def check(*more: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(config.encode())))
        status = main(["check", *words, "--format", name, *more])
        return status, capfdbinary.readouterr().out.decode()

    status, out = check()
    assert status == (0 if given == "nothing" else 1)
    assert ("hidden_sise" in out.replace("\\", "")) == (given != "nothing")
    assert check("--output", "report") == (status, "")
    assert (tmp_path / "report").read_text(encoding="utf-8") == out
    assert check("--silent") == (status, "")


@pytest.mark.parametrize("name", formats.NAMES)
def test_a_file_that_cannot_be_read(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Said on standard error whatever the format, and in those that have a place for it."""
    (tmp_path / "run.yaml").write_text("model:\n  tensor_model_parallel_size: [\n", encoding="utf-8")
    assert main(["check", "run.yaml", "--format", name]) == 2
    said = capfd.readouterr()
    assert said.err.startswith("lclint: error: run.yaml:3: ")
    assert said.err.count("\n") == 1
    assert ("run.yaml" in said.out) == (name in formats.WITH_ERRORS)


def test_the_text_loads_no_other_format(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "run.yaml").write_text("model: {hidden_sise: 1, tensor_model_parallel_size: 2}\n", encoding="utf-8")
    code = "import sys; from lclint.cli.main import main; main(['check', 'run.yaml']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=60)
    loaded = done.stdout.splitlines()[-1].split()
    assert "lclint.report.text" in loaded
    assert not {f"lclint.report.{name}" for name in (*OTHERS, "location", "remedy")} & set(loaded)
