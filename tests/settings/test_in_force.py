"""Which settings are in force for which file, and what they change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lclint
from lclint.core.finding import FileReport

Run = Callable[..., Any]

WRONG = "model:\n  context_parallel_size: 2\n  tensor_parallel_size: 8\n  zigzag_of_mine_x: 3\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two configs, in which nothing above is looked at."""
    (tmp_path / ".git").mkdir()
    write(tmp_path, "conf/new.yaml", WRONG)
    write(tmp_path, "conf/legacy/old.yaml", WRONG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def report(name: str, **options: Any) -> FileReport:
    (found,) = lclint.check(name, **options).files
    return found


def severities(name: str, **options: Any) -> list[str]:
    return [finding.severity for finding in report(name, **options).findings if finding.rule == "unknown-key"]


def test_the_nearest_file_counts(folder: Path) -> None:
    assert report("conf/new.yaml").gpus is None
    write(folder, "lclint.toml", "gpus = 8\n")
    assert (report("conf/new.yaml").gpus, report("conf/legacy/old.yaml").gpus) == (8, 8)
    write(folder, "conf/legacy/lclint.toml", "gpu = 'h100'\n")
    # the nearest file alone: nothing of the one above is mixed in
    assert (report("conf/legacy/old.yaml").gpus, report("conf/legacy/old.yaml").gpu) == (None, "h100")
    write(folder, "pyproject.toml", "[tool.lclint]\ngpus = 16\ngpu = 'b200'\n")
    assert (report("conf/new.yaml").gpus, report("conf/new.yaml").gpu) == (8, "b200")
    assert (report("conf/legacy/old.yaml").gpus, report("conf/legacy/old.yaml").gpu) == (16, "h100")


def test_nothing_above_the_repository_is_looked_at(folder: Path) -> None:
    write(folder, "lclint.toml", "gpus = 8\n")
    write(folder, "inner/.git/HEAD", "x")
    write(folder, "inner/run.yaml", WRONG)
    assert report("inner/run.yaml").gpus is None


def test_precedence(folder: Path) -> None:
    write(folder, "lclint.toml", "gpu = 'h100'\ngpus = 8\n")
    write(folder, "conf/new.yaml", "# lclint: gpus=16\n" + WRONG)
    found = report("conf/new.yaml")
    assert (found.gpu, found.gpus) == ("h100", 16)
    assert report("conf/new.yaml", gpus=32).gpus == 32
    assert report("conf/new.yaml", no_settings=True).gpu is None
    write(folder, "other.toml", "gpu = 'b200'\n")
    assert report("conf/legacy/old.yaml", settings="other.toml").gpu == "b200"


def test_what_lies_below_the_file(folder: Path) -> None:
    write(folder, "lclint.toml", "recipe = 'llama3_8b_pretrain'\n[[overrides]]\npaths = ['conf/legacy']\nbase = 'conf/base.yaml'\n")
    write(folder, "conf/base.yaml", "model: {context_parallel_size: 4, seq_length: 8192}\n")
    assert report("conf/new.yaml").recipe == "llama3_8b_pretrain"
    assert report("conf/legacy/old.yaml").recipe is None
    write(folder, "conf/new.yaml", "# lclint: recipe=llama3_70b_pretrain\n" + WRONG)
    assert report("conf/new.yaml").recipe == "llama3_70b_pretrain"
    assert report("conf/new.yaml", base="conf/base.yaml").recipe is None


def test_by_path_and_by_field(folder: Path) -> None:
    write(
        folder,
        "lclint.toml",
        "severity = {unknown-key = 'info'}\n"
        "[[overrides]]\npaths = ['conf/legacy/*.yaml']\nseverity = {'ALL' = 'warning'}\n"
        "[[overrides]]\npaths = ['conf/**#model.zig*']\nignore = ['unknown-key']\n"
        "[[overrides]]\npaths = ['new.yaml#model.tensor*']\nseverity = {'LC010/misspelled' = 'error'}\n",
    )
    assert severities("conf/new.yaml") == ["error"]
    assert severities("conf/legacy/old.yaml") == ["warning"]
    assert severities("conf/legacy/old.yaml", no_settings=True) == ["error", "error"]


@pytest.mark.parametrize(
    ("pattern", "taken"),
    [
        ("conf/legacy/*.yaml", True),
        ("conf/legacy", True),
        ("conf/legacy/", True),
        ("./conf/legacy/old.yaml", True),
        ("**/old.yaml", True),
        ("conf/**", True),
        ("old.yaml", True),
        ("legacy", True),
        ("*.yaml", True),
        ("conf/*.yaml", False),
        ("legacy/*.yaml", False),
        ("old", False),
        ("../conf/legacy/old.yaml", False),
    ],
)
def test_patterns(folder: Path, pattern: str, taken: bool) -> None:
    write(folder, "lclint.toml", f"exclude = ['{pattern}']\n")
    found = lclint.check("conf/legacy/old.yaml")
    assert (found.files == []) is taken
    assert found.excluded == ({"conf/legacy/old.yaml": "lclint.toml:1"} if taken else {})


def test_an_excluded_file_is_not_read(folder: Path, cli: Run) -> None:
    write(folder, "lclint.toml", "exclude = ['conf/legacy/**']\n")
    (folder / "conf/legacy/old.yaml").write_bytes(b"\xff\x00")
    done = cli("check", "conf/legacy/old.yaml", "conf/new.yaml", "--fail-on", "never")
    assert (done.status, done.err) == (0, "")
    assert "1 file excluded" in done.out
    assert "conf/legacy/old.yaml: excluded in lclint.toml:1" in cli("check", "conf", "--show-files").out
    # standard input under its name is no config to fix
    done = cli("check", "-", "--stdin-filename", "conf/legacy/old.yaml", "--fix", stdin=WRONG.encode())
    assert (done.status, done.out) == (2, "")
    assert "excluded in lclint.toml:1" in done.err


def test_rules_by_settings_and_by_command_line(folder: Path) -> None:
    write(folder, "lclint.toml", "ignore = ['LC010/unknown']\nextend-select = ['wrong-type']\nseverity = {LC0 = 'warning'}\n")
    assert severities("conf/new.yaml") == ["warning"]
    # ignoring one case does not bring out the next
    assert severities("conf/new.yaml", ignore=["unknown-key/misspelled"]) == []
    # --select says it anew
    assert severities("conf/new.yaml", select=["unknown-key"]) == ["warning", "warning"]
    assert severities("conf/new.yaml", select=["LC010/unknown"]) == ["warning"]
    assert severities("conf/new.yaml", severity={"unknown-key/misspelled": "info"}) == ["info"]
    assert severities("conf/new.yaml", profile="start-up") == []


def test_profiles(folder: Path) -> None:
    write(folder, "lclint.toml", "profile = 'start-up'\n")
    write(folder, "run.yaml", "model:\n  num_attention_heads: 6\n  tensor_model_parallel_size: 4\n  tensor_parallel_size: 8\n")
    assert {finding.impact for finding in report("run.yaml").findings} == {"crash"}
    assert "unknown-key" in {finding.rule for finding in report("run.yaml", profile="recommended").findings}
    assert {case.impact for case in report("run.yaml").undecided} == {"crash"}
    few = report("run.yaml", recipe="llama3_8b_pretrain", gpus=8, profile="recommended").findings
    many = report("run.yaml", recipe="llama3_8b_pretrain", gpus=8, profile="all").findings
    assert [finding for finding in many if finding in few] == few
    assert all(finding.severity == "info" for finding in many if finding not in few)


def test_fail_on(folder: Path, cli: Run) -> None:
    write(folder, "lclint.toml", "fail-on = 'never'\n[[overrides]]\npaths = ['new.yaml']\nfail-on = 'error'\n")
    assert cli("check", "conf/legacy/old.yaml").status == 0
    assert cli("check", "conf").status == 1
    assert cli("check", "conf/legacy/old.yaml", "--fail-on", "error").status == 1


def test_environment(folder: Path, cli: Run) -> None:
    write(folder, "lclint.toml", "env = {A = '1', B = 2}\nenv-complete = true\n[[overrides]]\npaths = ['new.yaml']\nenv = {B = 3}\n")
    done = cli("settings", "conf/new.yaml")
    assert "{A: 1, B: 3}" in done.out
    assert "env-complete = true" in done.out


def test_the_form_of_the_report(folder: Path, cli: Run) -> None:
    write(folder, "lclint.toml", "format = 'json'\noutput = 'out/report.json'\n")
    (folder / "out").mkdir()
    done = cli("check", "conf/new.yaml")
    assert (done.status, done.out) == (1, "")
    assert (folder / "out/report.json").read_text(encoding="utf-8").startswith('{"schema":1')
    assert cli("check", "conf/new.yaml", "--format", "text", "--output", "x.txt").status == 1
    assert (folder / "x.txt").read_text(encoding="utf-8").startswith("conf/new.yaml:3:3")
    for text, message in (("format = 'yaml'", "format: there is no yaml"), ("output = '../x'", "is not below the folder"), ("output = '/x'", "not below")):
        write(folder, "lclint.toml", text)
        done = cli("check", "conf/new.yaml")
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith("lclint: error: lclint.toml:1: ")
        assert message in done.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpu = 'h100'\nignore = [\n  'LC010',\n  'unkown-key',\n]\n", "lclint.toml:4: ignore: no rule is called unkown-key (did you mean unknown-key"),
        ("[severity]\n'LC010/nope' = 'off'\n", "lclint.toml:2: severity: unknown-key has no case nope (its cases: misspelled"),
        ("[[overrides]]\npaths = ['elsewhere']\nselect = ['XX']\n", "lclint.toml:3: select: no rule is called XX"),
        ("gpus = 8\nrecipe = 'lama3'\n", "lclint.toml:2: recipe: unknown recipe 'lama3' (did you mean"),
        ("rules = ['no/such']\n", "no/such: no such folder of rules"),
        ("base = 'no.yaml'\n", "no.yaml: does not exist"),
    ],
)
def test_names_that_do_not_exist(folder: Path, cli: Run, text: str, message: str) -> None:
    write(folder, "lclint.toml", text)
    done = cli("check", "conf/new.yaml")
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert message in done.err


def test_a_folder_stops_at_settings_that_are_wrong(folder: Path, cli: Run) -> None:
    write(folder, "lclint.toml", "gpsu = 1\n")
    done = cli("check", "conf", "--format", "json")
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1


def test_own_rules(folder: Path, rule_text: Callable[..., str]) -> None:
    write(folder, "house/rule.yaml", rule_text({"cases": [{"when": "model.context_parallel_size > 1", "at": "model.context_parallel_size"}]}))
    write(folder, "lclint.toml", "rules = ['house']\nseverity = {TT000 = 'info'}\n")
    found = report("conf/new.yaml").findings
    assert [(finding.rule, finding.severity) for finding in found if finding.code == "TT000"] == [("rule-0", "info")]


def test_settings_reach_the_other_commands(folder: Path, cli: Run) -> None:
    write(folder, "conf/new.yaml", "model: {context_parallel_size: 2}\n")
    write(folder, "lclint.toml", "gpu = 'h100'\ngpus = 8\nrecipe = 'llama3_8b_pretrain'\n")
    assert "llama3_8b" in cli("resolve", "conf/new.yaml").out
    assert "GiB" in cli("memory", "conf/new.yaml").out
    assert lclint.estimate_memory("conf/new.yaml").verdict != "unknown"


def test_show_settings(folder: Path, cli: Run) -> None:
    assert cli("settings").out.startswith("no lclint.toml")
    write(folder, "pyproject.toml", "[tool.lclint]\ngpus = 8\nseverity = {unknown-key = 'info'}\nexclude = ['x']\n")
    write(folder, "conf/new.yaml", "# lclint: gpu=h100 gpus_per_node=x\n" + WRONG)
    done = cli("settings", "conf/new.yaml")
    assert done.out.splitlines() == [
        "settings: pyproject.toml",
        "gpu           = h100  (the file's # lclint: comment)",
        "gpus_per_node = not taken  (gpus_per_node=x is not a number of GPUs)",
        "gpus          = 8  (pyproject.toml:2)",
        "severity      = {unknown-key: info}  (pyproject.toml:3)",
        "exclude       = [x]  (pyproject.toml:4)",
        "profile       = recommended  (default)",
        "fail-on       = warning  (default)",
    ]
    write(folder, "pyproject.toml", "[tool.lclint]\nexclude = ['conf']\n")
    assert cli("settings", "conf/new.yaml").out.splitlines()[1] == "excluded: conf/new.yaml is not checked (pyproject.toml:2)"


def test_standard_input_is_checked_as_the_file_it_will_be(folder: Path, cli: Run) -> None:
    write(folder, "lclint.toml", "[[overrides]]\npaths = ['legacy']\nignore = ['unknown-key']\n")
    assert cli("check", "-", "--stdin-filename", "conf/legacy/old.yaml", "--fail-on", "error", stdin=WRONG.encode()).status == 0
    assert cli("check", "-", stdin=WRONG.encode()).status == 1


def test_a_pyproject_that_says_nothing_of_lclint_is_not_parsed(folder: Path) -> None:
    write(folder, "pyproject.toml", "this is [not TOML\n")
    assert severities("conf/new.yaml") == ["error", "error"]
