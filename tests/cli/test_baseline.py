"""Known findings: recorded, not reported again, and dropped when they are gone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

OLD = "model:\n  context_parallel_size: 2\n  tensor_parallel_size: 8\n  zigzag_of_mine_x: 3\n"
FILE = "lclint-baseline.json"


@pytest.fixture
def folder(tmp_path: Path, cli: Run) -> Path:
    (tmp_path / "conf").mkdir()
    for name in ("a", "b"):
        (tmp_path / "conf" / f"{name}.yaml").write_text(OLD, encoding="utf-8")
    done = cli("check", "conf", "--write-baseline")
    assert (done.status, done.out) == (0, "")
    assert f"{FILE}: 4 findings of 2 files recorded; use it with --baseline" in done.err
    (tmp_path / "lclint.toml").write_text(f'baseline = "{FILE}"\n', encoding="utf-8")
    return tmp_path


def entries(folder: Path) -> dict[str, list[tuple[str, str, int]]]:
    data = json.loads((folder / FILE).read_text(encoding="utf-8"))
    return {name: [(row["rule"], row["at"], row["count"]) for row in rows] for name, rows in data["files"].items()}


def edit(folder: Path, old: str, new: str, name: str = "conf/a.yaml") -> None:
    path = folder / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def findings(cli: Run, *arguments: str) -> list[str]:
    data = json.loads(cli("check", "conf", "--format", "json", *arguments).out)
    return [f"{file['path']}: {finding['rule']} {finding['at']}" for file in data["files"] for finding in file["findings"]]


def test_what_is_recorded(folder: Path) -> None:
    rows = [("unknown-key/misspelled", "model.tensor_parallel_size", 1), ("unknown-key/unknown", "model.zigzag_of_mine_x", 1)]
    assert entries(folder) == {"conf/a.yaml": rows, "conf/b.yaml": rows}
    # a finding a line, so that a review shows what is taken on
    assert sum('"rule"' in line for line in (folder / FILE).read_text(encoding="utf-8").splitlines()) == 4


def test_known_findings_are_not_reported_wherever_they_move(folder: Path, cli: Run) -> None:
    edit(folder, "  tensor_parallel_size: 8\n", "")
    edit(folder, "model:\n", "# one\n\nmodel:\n  # two\n  tensor_parallel_size: 8  # three\n")
    assert findings(cli) == []
    assert cli("check", "conf").status == 0
    assert len(findings(cli, "--no-settings")) == 4
    # from another folder, and by another path, too
    assert cli("check", "a.yaml", cwd=folder / "conf").status == 0
    assert cli("check", str(folder / "conf" / "b.yaml"), cwd=folder.parent).status == 0


def test_what_a_baseline_does_not_hide(folder: Path, cli: Run) -> None:
    edit(folder, "zigzag_of_mine_x: 3", "zigzag_of_mine_y: 3")
    edit(folder, "tensor_parallel_size: 8", "tensor_parallel_size: 4", "conf/b.yaml")
    assert findings(cli) == ["conf/a.yaml: unknown-key model.zigzag_of_mine_y", "conf/b.yaml: unknown-key model.tensor_parallel_size"]
    (folder / "conf/c.yaml").write_text(OLD, encoding="utf-8")
    assert len(findings(cli)) == 4


def test_known_findings_are_not_fixed(folder: Path, cli: Run) -> None:
    assert cli("check", "conf", "--fix").status == 0
    assert (folder / "conf/a.yaml").read_text(encoding="utf-8") == OLD
    assert cli("check", "conf", "--diff").out == ""


def test_what_is_gone_is_said_and_pruned(folder: Path, cli: Run) -> None:
    edit(folder, "  zigzag_of_mine_x: 3\n", "")
    (folder / "conf/b.yaml").unlink()
    done = cli("check", "conf")
    assert done.status == 0
    assert f"{FILE}: 2 known findings no longer found (--prune-baseline takes them out)" in done.err
    assert "conf/a.yaml: unknown-key/unknown at model.zigzag_of_mine_x; conf/b.yaml: the file is gone" in done.err
    cli("check", "conf", "--prune-baseline")
    assert entries(folder) == {"conf/a.yaml": [("unknown-key/misspelled", "model.tensor_parallel_size", 1)]}
    assert cli("check", "conf").err == ""
    # it is new again when it comes back
    edit(folder, "model:\n", "model:\n  zigzag_of_mine_x: 3\n")
    assert findings(cli) == ["conf/a.yaml: unknown-key model.zigzag_of_mine_x"]


@pytest.mark.parametrize("arguments", [("--select", "wrong-type"), ("--profile", "start-up"), ("--select", "unknown-key/misspelled")])
def test_what_was_not_asked_is_not_gone(folder: Path, cli: Run, arguments: tuple[str, ...]) -> None:
    before = (folder / FILE).read_bytes()
    edit(folder, "  zigzag_of_mine_x: 3\n", "")
    assert cli("check", "conf", "--prune-baseline", *arguments).err == ""
    assert (folder / FILE).read_bytes() == before


def test_what_cannot_be_decided_is_not_gone(folder: Path, cli: Run) -> None:
    layout = "tensor_model_parallel_size: 1, pipeline_model_parallel_size: 1, context_parallel_size: 1"
    text = f"model: {{{layout}}}\ntrain: {{global_batch_size: 7, micro_batch_size: 2}}\n"
    (folder / "conf/a.yaml").write_text(text, encoding="utf-8")
    cli("check", "conf/a.yaml", "--gpus", "4", "--write-baseline")
    assert ("global-batch-not-divisible" in str(entries(folder)["conf/a.yaml"])) is True
    assert cli("check", "conf/a.yaml").err == ""
    assert "no longer found" in cli("check", "conf/a.yaml", "--gpus", "7", "--set", "train.micro_batch_size=1").err


def test_of_two_that_are_alike_each_counts(folder: Path, cli: Run) -> None:
    text = "model: {context_parallel_size: 2, recompute_granularity: selective, recompute_modules: [core_attn, nope]}\n"
    path = folder / "conf/a.yaml"
    path.write_text(text, encoding="utf-8")
    cli("check", "conf/a.yaml", "--write-baseline")
    assert entries(folder)["conf/a.yaml"] == [("unknown-recompute-module/not-in-this-release", "model.recompute_modules[]", 1)]
    # it may stand elsewhere in the list; a second one is new
    path.write_text(text.replace("core_attn, nope", "nope, core_attn"), encoding="utf-8")
    assert findings(cli) == []
    path.write_text(text.replace("core_attn, nope", "nope, core_attn, nope"), encoding="utf-8")
    assert findings(cli) == ["conf/a.yaml: unknown-recompute-module model.recompute_modules[2]"]
    cli("check", "conf/a.yaml", "--write-baseline")
    assert entries(folder)["conf/a.yaml"] == [("unknown-recompute-module/not-in-this-release", "model.recompute_modules[]", 2)]


def test_writing_again_is_byte_for_byte_the_same_and_leaves_other_files_alone(folder: Path, cli: Run) -> None:
    before = (folder / FILE).read_bytes()
    done = cli("check", "conf/b.yaml", "--write-baseline")
    assert "use it with" not in done.err
    assert (folder / FILE).read_bytes() == before
    edit(folder, "  zigzag_of_mine_x: 3\n", "")
    cli("check", "conf/a.yaml", "--write-baseline")
    assert [len(rows) for rows in entries(folder).values()] == [1, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "it is no JSON"),
        ("[]", "it holds no files"),
        ('{"version": 2, "files": {}}', "is of version 2; this lclint reads 1"),
        ('{"version": 1, "files": {"a": [{"rule": "x"}]}}', "an entry of a is not as lclint writes it"),
        ('{"version": 1, "files": {"a": {"rule": "x"}}}', "an entry of a is not"),
        ('{"version": 1, "files": {"a": [{"rule": "x", "at": "y", "value": "z", "count": 0}]}}', "an entry of a is not"),
        ("[" * 100_000, "cannot be read"),
    ],
)
@pytest.mark.parametrize("arguments", [(), ("--write-baseline",), ("--prune-baseline",)])
def test_a_damaged_baseline_ends_the_run(folder: Path, cli: Run, text: str, message: str, arguments: tuple[str, ...]) -> None:
    (folder / FILE).write_text(text, encoding="utf-8")
    done = cli("check", "conf", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"lclint: error: {FILE}:")
    assert done.err.count("\n") == 1
    assert message in done.err
    assert (folder / FILE).read_text(encoding="utf-8") == text


def test_a_baseline_that_is_not_there(folder: Path, cli: Run) -> None:
    done = cli("check", "conf", "--baseline", "no.json")
    assert (done.status, done.err) == (2, "lclint: error: no.json: the baseline does not exist (--write-baseline makes it)\n")
    done = cli("check", "conf", "--no-settings", "--prune-baseline")
    assert (done.status, done.out) == (2, "")
    assert "there is no baseline to prune" in done.err
    assert "fix first" in cli("check", "conf", "--fix", "--write-baseline").err


def test_what_is_known_is_listed(folder: Path, cli: Run) -> None:
    assert "conf/a.yaml:3:3: unknown-key/misspelled (baseline)" in cli("check", "conf", "--verbose").out
    data = json.loads(cli("check", "conf", "--format", "json").out)
    assert [(why["rule"], why["by"], why["comment_line"]) for why in data["files"][0]["suppressions"]] == [("unknown-key", "baseline", None)] * 2


def test_standard_input_under_the_name_of_a_file(folder: Path, cli: Run) -> None:
    assert cli("check", "-", "--stdin-filename", "conf/a.yaml", stdin=OLD.encode()).status == 0
    assert cli("check", "-", stdin=OLD.encode()).status == 1
    done = cli("check", "-", "--write-baseline", stdin=OLD.encode())
    assert (done.status, done.out) == (2, "")
    assert "there is no file whose findings could be recorded" in done.err
