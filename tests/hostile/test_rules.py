"""Rule files of strangers: they cannot run code, read files, fill the memory or hang a check."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CONFIG = "model:\n  tensor_model_parallel_size: 2\n  num_layers: 8\n  recompute_modules: [" + "mlp, " * 20_000 + "]\n"

RULE = """\
name: stranger
code: XX001
since: "0.1"
title: A rule of a stranger
{more}cases:
  - id: case
    when: {when}
    severity: warning
    impact: silent
    at: {at}
    message: {message}
{case}why: It is what a stranger wrote, and nobody has read it.
references: [nowhere]
examples:
  - {{name: a, config: '', finds: []}}
  - {{name: b, config: '', finds: []}}
"""


def rule(when: str = "'true'", at: str = "model.num_layers", message: str = "wrong", more: str = "", case: str = "") -> str:
    return RULE.format(when=when, at=at, message=message, more=more, case=case)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


CASE = "  - {{id: c{}, when: 'index == -9', severity: info, impact: slow, at: model.num_layers, message: m}}\n"
FIX = "fixes:\n  mend: {{title: Mend it, applicability: safe, {change}}}\n"


def with_fix(change: str) -> str:
    return rule(case="    fixes: [mend]\n") + FIX.format(change=change)


REFUSED = {
    "dunder access": (rule(quoted("model.num_layers.__class__.__mro__")), "stranger.yaml:7"),
    "dunder access of a text": (rule(quoted("''.__class__")), "stranger.yaml:7"),
    "a dunder name": (rule(quoted("__builtins__")), "stranger.yaml:7"),
    "an import": (rule(quoted("__import__('os').system('echo no > done')")), "stranger.yaml:7"),
    "a call of open": (rule(quoted("open('/etc/passwd')")), "no such function"),
    "eval": (rule(quoted("eval('1')")), "no such function"),
    "getattr in a message": (rule(message=quoted("{getattr(model, '__class__')}")), "no such function"),
    "a format specification": (rule(message=quoted("{model.num_layers.__class__}")), "stranger.yaml"),
    "an assignment": (rule(quoted("(x := 1)")), "not allowed"),
    "a lambda": (rule(quoted("(lambda: 1)()")), "no such function"),
    "a comprehension": (rule(quoted("[x for x in [1]]")), "not allowed"),
    "a generator that never ends": (rule(quoted("len([y for y in [1] for z in y])")), "not allowed"),
    "a starred argument": (rule(quoted("max(*[1])")), "takes"),
    "an f-string": (rule(quoted("f'{model}' == ''")), "not allowed"),
    "a huge power": (rule(quoted("9 ** 9 ** 9 > 1")), "this operator is not allowed"),
    "a huge shift": (rule(quoted("1 << 99999999 > 1")), "this operator is not allowed"),
    "a number of 5,000 digits": (rule(quoted("9" * 1_900 + " > 1")), "only strings, numbers"),
    "a hexadecimal number of 1,900 digits": (rule(quoted("0x" + "f" * 1_900 + " > 1")), "only strings, numbers"),
    "a million digits": (rule(quoted("9" * 200_000)), "longer than"),
    "200 brackets": (rule(quoted("(" * 200 + "1" + ")" * 200)), "nested more than"),
    "1,900 minus signs": (rule(quoted("-" * 1_900 + "1")), "nested more than"),
    "400 nots": (rule(quoted("not " * 400 + "true")), "stranger.yaml:7"),
    "500 parts": (rule(quoted("+".join(["1"] * 900))), "parts"),
    "500 chained comparisons": (rule(quoted(" < ".join(["1"] * 450))), "parts"),
    "500 nested conditions": (rule(quoted("1 if true else " * 120 + "1")), "stranger.yaml:7"),
    "a zero byte in an expression": (rule('"true\\0 or false"'), "stranger.yaml:7"),
    "a line break in an expression": (rule('"true\\n)\\n("'), "stranger.yaml"),
    "half of a pair": (rule('"\\ud800 == 1"'), "stranger.yaml"),
    "100,000 cases": (rule(case="".join(CASE.format(n) for n in range(100_000))), "is larger than"),
    "2,000 cases": (rule(case="".join(CASE.format(n) for n in range(2_000))), "is too long"),
    "a megabyte of prose": (rule() + "# " + "x" * 1_000_000 + "\n", "is larger than"),
    "billion laughs": ("a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)), "aliases expanded"),
    "10,000 brackets": (rule("[" * 10_000 + "]" * 10_000), "stranger.yaml:7"),
    "an alias inside its own value": ("name: &a [*a]\n", "stands inside its own value"),
    "a python tag": ("!!python/object/apply:os.system ['echo no > done']\n", "stranger.yaml"),
    "binary": ("\0\1\2", "is a binary file"),
    "a number as the name": (rule().replace("name: stranger", "name: " + "9" * 5_000), "stranger.yaml:1"),
    "a hexadecimal number as the name": (rule().replace("name: stranger", "name: 0x" + "f" * 5_000), "stranger.yaml:1"),
    "a name that is a path": (rule().replace("name: stranger", "name: ../../etc/passwd"), "stranger.yaml:1"),
    "infinity in a fix": (with_fix("set: {model.num_layers: .inf}"), "finite numbers"),
    "a hexadecimal number of 5,000 digits in a fix": (with_fix("set: {model.num_layers: 0x" + "f" * 5_000 + "}"), "stranger.yaml"),
    "a decimal number of 5,000 digits in a fix": (with_fix("set: {model.num_layers: " + "9" * 5_000 + "}"), "stranger.yaml"),
    "a brace without its partner": (rule(message=quoted("{" * 100_000)), "stranger.yaml"),
    "50,000 braces": (rule(message=quoted("{model.num_layers}" * 10_000)), "stranger.yaml"),
    "20,000 unknown keys": ("".join(f"key_{n}: 1\n" for n in range(10_000)), "stranger.yaml"),
    "20,000 equal keys": (rule() + "title: a\n" * 10_000, "stands here twice"),
    "no mapping": ("- a\n- b\n", "a rule file is a mapping"),
    "nothing": ("", "a rule file is a mapping"),
    "a list wherever a text could be": ("name: [1]\ncode: {}\ntitle: []\ncases: 7\n", "stranger.yaml"),
}

LONG = "model.recompute_modules"
RUN = {
    "each of 20,000": (rule(quoted("item == 'x'"), more=f"each: {LONG}\n"), None),
    "each of 20,000, all true": (rule(quoted("item == 'mlp'"), more=f"each: {LONG}\nreport: all\n"), None),
    "each of 20,000, in 20,000": (rule(quoted(f"item in {LONG} and not item in {LONG}"), more=f"each: {LONG}\n"), "takes more than"),
    "each of 20,000, counted": (rule(quoted(f"count({LONG}, item) < 0"), more=f"each: {LONG}\n"), "takes more than"),
    "each of 20,000, compared": (rule(quoted(f"{LONG} != {LONG}"), more=f"each: {LONG}\n"), "takes more than"),
    "each of 20,000, looked for": (rule(quoted(f"'x' in {LONG}"), more=f"each: {LONG}\n"), "takes more than"),
    "each of 20,000, cut": (rule(quoted(f"len(without({LONG}, [item])) < 0"), more=f"each: {LONG}\n"), "takes more than"),
    "each of 20,000, 25 cases": (rule(quoted("item == 'x'"), more=f"each: {LONG}\n", case="".join(CASE.format(n) for n in range(25))), "takes more than"),
    "products without end": (rule(quoted(" * ".join(["model.num_layers"] * 35) + " > 1")), None),
    "least common multiples without end": (rule(quoted("lcm(" * 30 + "7" + ", 99999999999999999)" * 30 + " > 1")), None),
    "a message of a long list": (rule(message=quoted("{" + LONG + "} " * 1)), None),
    "braces in a value": (rule(message=quoted("{{}} {{0}} {{model}}")), None),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path, refused: Callable[..., str]) -> None:
    text, message = REFUSED[name]
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "stranger.yaml").write_text(text, encoding="utf-8", errors="surrogatepass")
    (tmp_path / "run.yaml").write_text("model: {num_layers: 8}\n")
    line = refused(message, "check", "run.yaml", "--rules", "rules")
    assert "rules/stranger.yaml" in line
    assert not (tmp_path / "done").exists()


@pytest.mark.parametrize("name", RUN)
def test_run(name: str, tmp_path: Path, attack: Callable[..., Any]) -> None:
    text, message = RUN[name]
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "stranger.yaml").write_text(text)
    (tmp_path / "run.yaml").write_text(CONFIG)
    ended = attack("check", "run.yaml", "--rules", "rules", "--select", "stranger", "--fail-on", "never")
    assert ended.status == (0 if message is None else 2), ended
    assert message is None or message in ended.err
    assert len(ended.out) < 1_000_000
    assert not (tmp_path / "done").exists()
