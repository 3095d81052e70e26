"""``lclint rules``: the list, the pages and the tests of rules."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from lclint.engine import rulefile
from lclint.engine.rules import load
from lclint.report import rule_page
from lclint.report.style import Style
from lclint.report.text import STRIKES

Run = Callable[..., Any]

OWN = """\
name: no-tensor-parallelism-here
code: MY001
since: "1.0"
title: This team trains without tensor parallelism
report: all
cases:
  - id: tensor-parallel
    when: model.tensor_model_parallel_size > 1
    severity: warning
    impact: advice
    at: model.tensor_model_parallel_size
    message: "TP is {model.tensor_model_parallel_size}"
    fixes: [one, ask]
fixes:
  one:
    title: Set it to one
    applicability: unsafe
    set: {model.tensor_model_parallel_size: 1}
  ask:
    title: Ask the platform team
    applicability: display-only
    action: Write to the platform team
why: |
  The nodes of this team have one GPU each, so tensor parallelism goes over the network, which is slow.

  - a list
  - stays a list
references: ["the team's handbook"]
examples:
  - name: two
    config: |
      model:
        tensor_model_parallel_size: 2
    finds: [{case: tensor-parallel, at: model.tensor_model_parallel_size, line: 2}]
    fixed:
      one: |
        model:
          tensor_model_parallel_size: 1
  - name: one
    config: |
      model:
        tensor_model_parallel_size: 1
    finds: []
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with one rule of a user."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "any-name.yaml").write_text(OWN, encoding="utf-8")
    return folder


def test_list(cli: Run) -> None:
    done = cli("rules", "list")
    assert done.status == 0
    codes = [line.split()[0] for line in done.out.splitlines()]
    assert codes == sorted(rule.code for rule in load())
    assert all(re.fullmatch(r"\S+  (error  |warning|info   )  \S+: .+", line) for line in done.out.splitlines())


def test_every_rule_has_a_page() -> None:
    for path in rulefile.find(rulefile.shipped("rules"))[0]:
        rule = rulefile.read(path).data
        page = rule_page.render(rule, Style(False), 80)
        assert page.startswith(f"{rule['name']} [{rule['code']}]")
        for case in rule["cases"]:
            when = STRIKES.get(case.get("strikes"))
            assert f" {case['id']} [{case['impact']}{f' {when}' if when else ''}]\n" in page, path


def test_every_refusal_says_when_it_strikes() -> None:
    for path in rulefile.find(rulefile.shipped("rules"))[0]:
        rule = rulefile.read(path).data
        if path.rpartition("rules")[2].split(os.sep)[1] != "crash":  # in a log it has struck already
            assert all("strikes" in case for case in rule["cases"] if case["impact"] == "crash"), path


@pytest.mark.parametrize("name", ["no-tensor-parallelism-here", "MY001"])
def test_show(name: str, cli: Run, own: Path, snapshot: SnapshotAssertion) -> None:
    done = cli("rules", "show", name, "--rules", "own")
    assert done.status == 0
    assert done.out == snapshot(name="page")


def test_show_an_unknown_rule(cli: Run) -> None:
    done = cli("rules", "show", "unknown-kye")
    assert (done.status, done.out) == (2, "")
    assert "unknown-key" in done.err


def test_test(cli: Run, own: Path) -> None:
    done = cli("rules", "test", "own")
    assert (done.status, done.out) == (0, "2 examples of 1 rule: all hold\n")
    assert "own/any-name.yaml:30: ok: no-tensor-parallelism-here, example two\n" in cli("rules", "test", "-v", "own").out


def test_test_fails(cli: Run, own: Path) -> None:
    file = own / "any-name.yaml"
    file.write_text(OWN.replace("line: 2}", "line: 1}"), encoding="utf-8")
    done = cli("rules", "test", "own")
    assert done.status == 1
    assert done.out.startswith("own/any-name.yaml:30: failed: no-tensor-parallelism-here, example two\n")
    assert done.out.endswith("2 examples of 1 rule: 1 failed\n")


def test_a_fault_in_a_rule_is_one_error_with_its_line(cli: Run, own: Path) -> None:
    file = own / "any-name.yaml"
    file.write_text(OWN.replace("model.tensor_model_parallel_size > 1", "model.tensor_model_paralel_size > 1"), encoding="utf-8")
    done = cli("rules", "test", "own")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("lclint: error: own/any-name.yaml:8: ")
    assert "internal" not in done.err


def test_the_shipped_rules_pass_their_tests(cli: Run, checkout: Path) -> None:
    done = cli("rules", "test", str(checkout / "rules"))
    assert done.status == 0, done.out + done.err


def test_rules_of_ones_own_are_checked(cli: Run, own: Path, tmp_path: Path) -> None:
    (tmp_path / "conf.yaml").write_text("model:\n  tensor_model_parallel_size: 2\n", encoding="utf-8")
    done = cli("check", "--rules", "own", "--select", "MY001", "conf.yaml")
    assert done.status == 1
    assert "[MY001, advice]\n  TP is 2\n" in done.out


def test_one_file_in_the_working_directory(cli: Run, tmp_path: Path, rule_text: Callable[..., str]) -> None:
    text = rule_text({"cases": [{"when": "model.num_layers > 3"}]})
    (tmp_path / "mine.yaml").write_text(text.replace("config: ''", "config: 'model: {num_layers: 2}'"), encoding="utf-8")
    done = cli("rules", "test", "mine.yaml")
    assert (done.status, done.out) == (0, "2 examples of 1 rule: all hold\n")


def test_facts(cli: Run) -> None:
    from lclint.facts.registry import FACTS

    done = cli("rules", "facts")
    names = [line.partition(" ")[0] for line in done.out.splitlines() if not line.startswith(" ")]
    assert names == sorted(names)
    assert {*FACTS, "gpu.memory_gib", "cluster.gpus"} <= set(names)
    assert all(line.strip() for line in done.out.splitlines())
    narrow = cli("rules", "facts", "layout.dp").out
    assert narrow.startswith("layout.dp [ranks]\n  Data parallel size;")
    assert (cli("rules", "facts", "no-such-thing").status, cli("rules", "facts", "no-such-thing").out) == (1, "")
