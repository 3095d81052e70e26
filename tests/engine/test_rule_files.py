"""What rule files may hold, what is refused, and that every refusal names the file and the line."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lclint.core.errors import RuleError, UsageError
from lclint.engine import rulefile
from lclint.engine.rules import load, load_only
from lclint.engine.selection import choose

GOOD = """\
name: my-rule
code: MY001
since: "0.1"
title: A rule for tests
cases:
  - id: one
    when: model.num_layers > 3
    severity: error
    impact: crash
    at: [model.num_layers]
    message: "too many {model.num_layers}"
    fixes: [fewer]
fixes:
  fewer: {title: Set it, applicability: safe, set: {model.num_layers: 2}}
why: |
  A reason that is long enough to be accepted by the schema of rules.
references: ["somewhere"]
examples:
  - {name: a, config: "", finds: []}
  - {name: b, config: "", finds: []}
"""


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


WHEN, SET = "when: model.num_layers > 3", "model.num_layers: 2}"
BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))

# text of the file, line of the refusal, what it says
REFUSED: dict[str, tuple[str | bytes, int | None, str]] = {
    "empty": ("", 1, "mapping"),
    "list": ("- a\n", 1, "mapping"),
    "scalar": ("a\n", 1, "mapping"),
    "binary": (b"\0\1", None, "binary"),
    "utf-16": (GOOD.encode("utf-16"), None, "UTF-16"),
    "latin-1": (changed("A reason", "\xff").encode("latin-1"), 16, "UTF-8"),
    "tab": (changed("  - id", "\t- id"), 6, "tab"),
    "two documents": (GOOD + "---\nname: x\n", 21, "second"),
    "key twice": (GOOD + "name: other\n", 21, "name stands here twice"),
    "nested key twice": (changed("    impact: crash\n", "    impact: crash\n    impact: slow\n"), 10, "impact stands here twice"),
    "python tag": (changed(SET, "x: !!python/object/apply:os.system [ls]}"), 14, "tag"),
    "no name": (changed("name: my-rule\n", ""), 1, "'name' is a required property"),
    "unknown key": (GOOD + "foo: 1\n", GOOD.count("\n") + 1, "there is no key foo"),
    "bad name": (changed("my-rule", "My Rule"), 1, "name"),
    "bad code": (changed("MY001", "1"), 2, "code"),
    "bad severity": (changed("severity: error", "severity: fatal"), 8, "fatal"),
    "one example": (changed('  - {name: b, config: "", finds: []}\n', ""), 19, "examples"),
    "when is a list": (changed(WHEN, "when: [1]"), 7, "when"),
    "case twice": (
        changed("fixes:\n  fewer", "  - {id: one, when: true, severity: error, impact: slow, at: model, message: x}\nfixes:\n  fewer"),
        13,
        "two cases",
    ),
    "unknown fix": (changed("[fewer]", "[fewerr]"), 12, "no fix is called fewerr; did you mean fewer?"),
    "unused fix": (changed("    fixes: [fewer]\n", ""), 13, "no case offers the fix fewer"),
    "unknown bundle": (changed("set: {model", "also: [nope], set: {model"), 14, "no bundle is called nope"),
    "fix without change": (changed("set: {model.num_layers: 2}", "when: true"), 14, "changes nothing"),
    "unknown name": (changed(WHEN, "when: model.num_layer > 3"), 7, "did you mean model.num_layers?"),
    "unknown place": (changed("at: [model.num_layers]", "at: [model.num_layer]"), 10, "did you mean model.num_layers?"),
    "unknown field to set": (changed(SET, "model.num_layer: 2}"), 14, "did you mean model.num_layers?"),
    "dunder": (changed(WHEN, "when: model.__class__"), 7, "not a name"),
    "item without each": (changed(WHEN, "when: item == 3"), 7, "each"),
    "call": (changed(WHEN, "when: open('x')"), 7, "no such function"),
    "empty condition": (changed(WHEN, 'when: ""'), 7, "missing"),
    "empty part of a message": (changed('{model.num_layers}"', '{}"'), 11, "missing"),
    "lone brace": (changed('{model.num_layers}"', '}"'), 11, "without"),
    "infinity": (changed(SET, "model.num_layers: .inf}"), 14, "finite"),
    "date": (changed(SET, "model.num_layers: 2020-01-01}"), 14, "finite"),
    "mapping to set": (changed(SET, "model.num_layers: {a: 1}}"), 14, "finite"),
    "deep": (GOOD + "x: " + "[" * 5000 + "]" * 5000 + "\n", 21, "nested"),
    "large": (GOOD + "#" * 300_000, None, "256 KiB"),
    "bomb": (BOMB + GOOD, None, "100000"),
    "bomb as a title": (BOMB + changed("title: A rule for tests", "title: *a9"), None, "100000"),
    "bomb to set": (BOMB + changed(SET, "model.num_layers: *a9}"), None, "100000"),
    "many cases": (changed("cases:\n", "cases:\n" + "  - {}\n" * 30_000), None, "cases"),
    "very many cases": (changed("cases:\n", "cases: [" + "{}," * 80_000 + "]\nmore:\n"), None, "cases"),
    "100,000 cases": (changed("cases:\n", "cases:\n" + "  - {}\n" * 100_000), None, "256 KiB"),
}


@pytest.mark.parametrize(("text", "line", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_refusals(tmp_path: Path, text: str | bytes, line: int | None, words: str) -> None:
    file = tmp_path / "rule.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    start = time.process_time()
    with pytest.raises(RuleError) as error:
        load_only(str(tmp_path))
    assert time.process_time() - start < 5
    assert error.value.path == str(file)
    assert words in error.value.message
    assert len(error.value.message) < 1_000
    if line is not None:
        assert error.value.line == line


def test_the_good_one(tmp_path: Path) -> None:
    (tmp_path / "rule.yaml").write_text(GOOD, encoding="utf-8")
    (rule,) = load_only(str(tmp_path))
    assert (rule.name, rule.code, rule.fields) == ("my-rule", "MY001", frozenset({"model.num_layers"}))
    assert rule.reason == "A reason that is long enough to be accepted by the schema of rules."


def test_the_caret_stands_below_the_fault(tmp_path: Path) -> None:
    (tmp_path / "rule.yaml").write_text(changed(WHEN, "when: model.num_layers > 3 and modell.x"), encoding="utf-8")
    with pytest.raises(RuleError) as error:
        load_only(str(tmp_path))
    shown, caret = error.value.message.split("\n")[1:]
    assert shown[len(caret) - 1 :].startswith("modell.x")


def test_the_caret_in_a_condition_of_several_lines(tmp_path: Path) -> None:
    (tmp_path / "rule.yaml").write_text(changed(WHEN, "when: |\n      model.num_layers > 3\n      and open(1)"), encoding="utf-8")
    with pytest.raises(RuleError) as error:
        load_only(str(tmp_path))
    assert error.value.line == 9
    shown, caret = error.value.message.split("\n")[-2:]
    assert shown[len(caret) - 1 :] == "open(1)"


def test_a_fault_far_out_in_a_long_line_is_shown_in_part(tmp_path: Path) -> None:
    (tmp_path / "rule.yaml").write_text(changed(WHEN, "when: " + "model.num_layers > 3 or " * 20 + "open(1)"), encoding="utf-8")
    with pytest.raises(RuleError) as error:
        load_only(str(tmp_path))
    shown, caret = error.value.message.split("\n")[-2:]
    assert len(shown) < 130
    assert shown[len(caret) - 1 :] == "open(1)"


@pytest.mark.parametrize(("key", "other"), [("name", changed("MY001", "MY002")), ("code", changed("my-rule", "other-rule"))])
def test_names_and_codes_are_taken_once(tmp_path: Path, key: str, other: str) -> None:
    (tmp_path / "a.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(other, encoding="utf-8")
    with pytest.raises(RuleError, match=rf"{key} \S+ is taken by .*a\.yaml") as error:
        load_only(str(tmp_path))
    assert error.value.path == str(tmp_path / "b.yaml")


def test_folders(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RuleError, match="no rule file"):
        load_only(str(tmp_path / "empty"))
    with pytest.raises(RuleError, match="no such folder"):
        load_only(str(tmp_path / "absent"))
    (tmp_path / "file.yaml").write_text(GOOD, encoding="utf-8")
    with pytest.raises(RuleError, match="no such folder"):
        load_only(str(tmp_path / "file.yaml"))
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "rule.yaml").write_text("broken: [", encoding="utf-8")
    (tmp_path / "folder.yaml").mkdir()
    assert len(load_only(str(tmp_path))) == 1


def test_links(tmp_path: Path) -> None:
    target = tmp_path / "target.txt"
    target.write_text(GOOD, encoding="utf-8")
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "link.yaml").symlink_to(target)
    (tmp_path / "rules" / "loop").symlink_to(tmp_path / "rules")
    assert len(load_only(str(tmp_path / "rules"))) == 1
    (tmp_path / "rules" / "dangling.yaml").symlink_to(tmp_path / "nowhere")
    with pytest.raises(RuleError, match="does not exist"):
        load_only(str(tmp_path / "rules"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rule.yaml")
    with pytest.raises(RuleError, match="not a regular file"):
        load_only(str(tmp_path))


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may read everything")
def test_no_permission(tmp_path: Path) -> None:
    file = tmp_path / "rule.yaml"
    file.write_text(GOOD, encoding="utf-8")
    file.chmod(0)
    with pytest.raises(RuleError, match="may not be read"):
        load_only(str(tmp_path))


def test_users_rules_stand_beside_the_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "rule.yaml").write_text(GOOD, encoding="utf-8")
    rules = load([str(tmp_path)])
    assert [rule.name for rule in rules][-1] == "my-rule"
    assert len(rules) == len(load()) + 1
    with pytest.raises(RuleError, match="is the name or the code of another rule"):
        load([str(tmp_path), str(tmp_path)])


def test_shipped_rules_are_replaced_only_on_demand(tmp_path: Path) -> None:
    shipped = next(iter(load()))
    (tmp_path / "rule.yaml").write_text(GOOD.replace("my-rule", shipped.name), encoding="utf-8")
    with pytest.raises(RuleError, match=re.escape(shipped.name)):
        load([str(tmp_path)])
    replaced = load([str(tmp_path)], replace=True)
    assert len(replaced) == len(load())
    assert replaced.find(shipped.name).code == "MY001"


def test_bundles(tmp_path: Path, ruleset: Callable[..., Any]) -> None:
    rule = {
        "cases": [{"when": "model.num_layers > 3", "fixes": ["fewer"]}],
        "fixes": {"fewer": {"set": {"model.num_layers": 2}, "also": ["outer"]}},
    }
    inner = {"name": "inner", "title": "More of it", "set": {"train.micro_batch_size": 1}}
    outer = {"name": "outer", "title": "More of it", "set": {"train.global_batch_size": 8}, "also": ["inner"]}
    assert sorted(ruleset(rule, bundles=[inner, outer]).bundles) == ["inner", "outer"]
    with pytest.raises(RuleError, match="no bundle is called outer"):
        ruleset(rule, bundles=[inner, {**outer, "also": ["outer"]}])
    with pytest.raises(RuleError, match="did you mean inner"):
        ruleset(rule, bundles=[inner, {**outer, "also": ["iner"]}])
    with pytest.raises(RuleError, match="applicability"):
        ruleset(rule, bundles=[inner, outer, {**inner, "name": "third", "applicability": "safe"}])


def test_a_users_bundle_does_not_change_the_shipped_rules(tmp_path: Path) -> None:
    shipped = next(iter(load().bundles))
    (tmp_path / "bundles").mkdir()
    (tmp_path / "rule.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "bundles" / "mine.yaml").write_text(f"name: {shipped}\ntitle: Mine\nset: {{train.micro_batch_size: 1}}\n", encoding="utf-8")
    with pytest.raises(RuleError, match=f"{shipped} is the name of another bundle"):
        load([str(tmp_path)])


def test_selecting(ruleset: Callable[..., Any]) -> None:
    rules = ruleset({"cases": [{"when": True}]}, {"cases": [{"when": True}]}, {"code": "ZZ100", "cases": [{"when": True}]})

    def chosen(select: tuple[str, ...] = (), ignore: tuple[str, ...] = (), extend: tuple[str, ...] = ()) -> list[str]:
        return [rule.name for rule in choose(rules, None, select, ignore, extend)]

    assert chosen() == ["rule-0", "rule-1", "rule-2"]
    assert chosen(["rule-1"]) == ["rule-1"]
    assert chosen(["tt000"]) == ["rule-0"]
    assert chosen(["TT"]) == ["rule-0", "rule-1"]
    assert chosen(["TT"], ["TT001"], ["ZZ100"]) == ["rule-0", "rule-2"]
    assert chosen(["ALL"], ["all"]) == []
    for entry in ("rule-9", "XX", ""):
        with pytest.raises(UsageError, match="no rule is called"):
            chosen([entry])
    with pytest.raises(UsageError) as error:
        rules.find("rule-00")
    assert "did you mean rule-0" in str(error.value)


def test_every_shipped_rule_file_is_valid() -> None:
    paths, bundles = rulefile.find(rulefile.shipped("rules"))
    names = [rulefile.read(path).data["name"] for path in paths] + [rulefile.read_bundle(path).data["name"] for path in bundles]
    assert len(names) == len(set(names))
    assert all(os.path.basename(path) == f"{name}.yaml" for path, name in zip(paths + bundles, names, strict=True))
