"""Reading one settings file: every fault is one line with its place, and the schema for editors says the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lclint.core.errors import UsageError
from lclint.engine.rulefile import shipped
from lclint.engine.rules import load
from lclint.engine.selection import matching
from lclint.settings import file, keys
from lclint.settings.file import SettingsFile

SCHEMA = json.loads(Path(shipped("schemas"), "settings.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

WHOLE = """\
gpu = "GB200"          # a comment
gpus = 128
gpus-per-node = 4
recipe = "deepseek_v3_pretrain"
env = {NCCL_DEBUG = "INFO", OMP_NUM_THREADS = 8}
env-complete = true
bridge-version = "0.6"
te-version = "2.9"
torch-version = "2.9.0a0+git1"
profile = "start-up"
select = ["LC1", "unknown-key"]
ignore = ["LC010"]
extend-select = ["fp8-*"]
fail-on = "error"
rules = ["rules/mine"]
exclude = ["conf/vendor/**", "*.tmpl.yaml"]
baseline = "lclint-baseline.json"
format = "json"
output = "lclint.json"

[severity]
unknown-key = "warning"
"wrong-type/other" = "off"

[[overrides]]
paths = ["conf/legacy/*.yaml"]
gpus = 8
base = "conf/base.yaml"
[[overrides]]
paths = ["conf/*.yaml#model.recompute_*"]
ignore = ["ALL"]
"""


def read(folder: Path, text: str, name: str = "lclint.toml") -> SettingsFile:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    found = file.read(str(path), name == "pyproject.toml")
    assert found is not None
    return found


def test_everything_that_can_be_said(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE)
    assert set(found.values) == set(keys.KEYS) - {"base"}
    assert found.values["gpu"] == "gb200"
    assert found.values["env"] == {"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "8"}
    assert [(o.paths, o.fields, o.values) for o in found.overrides] == [
        (["conf/legacy/*.yaml"], [], {"gpus": 8, "base": "conf/base.yaml"}),
        ([], [("conf/*.yaml", "model.recompute_*")], {"ignore": ["ALL"]}),
    ]
    lines = WHOLE.split("\n")
    assert lines[found.line("severity", "wrong-type/other") - 1].startswith('"wrong-type/other"')
    assert lines[found.line("overrides", 1, "ignore") - 1] == 'ignore = ["ALL"]'
    assert lines[found.line("env", "OMP_NUM_THREADS") - 1].startswith("env")


def test_in_pyproject(tmp_path: Path) -> None:
    text = '[project]\nname = "x"\n\n[tool.lclint]\ngpu = "h100"\n\n[[tool.lclint.overrides]]\npaths = ["a"]\ngpus = 0\n'
    with pytest.raises(UsageError, match="gpus: it takes a number of GPUs") as error:
        read(tmp_path, text, "pyproject.toml")
    assert error.value.line == 9
    assert read(tmp_path, text.replace("= 0", "= 8"), "pyproject.toml").values == {"gpu": "h100"}
    (tmp_path / "pyproject.toml").write_text("[tool.other]\nx = 1\n", encoding="utf-8")
    assert file.read(str(tmp_path / "pyproject.toml"), True) is None


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('gpu = "h100"\ngpuss = 8\n', 2, "there is no setting gpuss (did you mean gpus?)"),
        ('\n\nextend_select = ["LC1"]\n', 3, "there is no setting extend_select (did you mean extend-select?)"),
        ('gpu = "h10"\n', 1, "gpu: unknown GPU 'h10' (did you mean h100?)"),
        ("gpus = 1.5\n", 1, "gpus: it takes a number of GPUs"),
        ("gpus = true\n", 1, "gpus: it takes a number of GPUs"),
        ('ignore = "LC010"\n', 1, "ignore: it takes a list of texts"),
        ("te-version = 2.9\n", 1, "te-version: it takes a text"),
        ('te-version = "new"\n', 1, "te-version: 'new' is no version"),
        ('bridge-version = "9.9"\n', 1, "bridge-version: "),
        ('profile = "startup"\n', 1, "profile: there is no startup (did you mean start-up?)"),
        ('fail-on = "warn"\n', 1, "fail-on: there is no warn (did you mean warning?)"),
        ('[severity]\na = "error"\nunknown-key = "warn"\n', 3, "severity: unknown-key: there is no severity warn (did you mean warning?)"),
        ('severity = {unknown-key = "fatal"}\n', 1, "severity: unknown-key: there is no severity fatal"),
        ("env = {A = true}\n", 1, "env: A takes a text or an integer"),
        ('base = "a.yaml"\nrecipe = "b"\n', 2, "base and recipe are both given"),
        ("[overrides]\n", 1, "overrides are written as [[overrides]]"),
        ("[[overrides]]\ngpus = 8\n", 1, "an override needs paths"),
        ('[[overrides]]\npaths = ["a"]\n', 2, "the override changes nothing"),
        ('[[overrides]]\npaths = ["a"]\nexclude = ["b"]\n', 3, "exclude cannot differ by path"),
        ('[[overrides]]\npaths = ["a#b"]\ngpus = 8\n', 3, "gpus cannot differ by field (paths with #field take ignore and severity only)"),
        ('[[overrides]]\npaths = ["a", "b#"]\ngpus = 8\n', 2, "b# names no field behind the #"),
        ('[[overrides]]\npaths = ["a"]\nignroe = ["x"]\n', 3, "there is no setting ignroe (did you mean ignore?)"),
        ("gpus = 8\ngpus = 9\n", 2, "not valid TOML: "),
        ("gpu = \n", 1, "not valid TOML: "),
        ("x = " + "[" * 5000 + "]" * 5000, None, ""),
        ("gpus = 1" + "0" * 5000, None, ""),
    ],
)
def test_a_fault_is_one_line_with_its_place(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    with pytest.raises(UsageError) as error:
        read(tmp_path, text)
    shown = str(error.value)
    assert "\n" not in shown
    assert len(shown) < 400
    assert message in shown
    if line is not None:
        assert error.value.line == line


def test_what_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "lclint.toml"
    path.write_bytes(b"gpus = 8\nx = '\xff'\n")
    with pytest.raises(UsageError, match="is not UTF-8") as error:
        file.read(str(path), False)
    assert error.value.line == 2
    path.write_bytes(b"\xef\xbb\xbfgpus = 8\r\ngpu = 'h100'\r\n")
    found = file.read(str(path), False)
    assert found is not None
    assert found.values == {"gpus": 8, "gpu": "h100"}


TEXTS = st.sampled_from(["", " ", "h100", "a", "start-up", "error", "off", "2.9", "never", "x#", "x#y", "#", "#y"])
LEAVES = st.one_of(TEXTS, st.integers(-1, 3), st.booleans(), st.floats(0.1, 0.9), st.lists(st.one_of(TEXTS, st.integers(0, 1)), max_size=2))
VALUES = st.one_of(LEAVES, st.dictionaries(st.sampled_from(["A", "unknown-key"]), LEAVES, max_size=2))
NAMES = st.sampled_from([*keys.KEYS, "nope"])
ENTRIES = st.fixed_dictionaries({}, optional={"paths": st.one_of(VALUES, st.lists(TEXTS, min_size=1, max_size=2))})
OVERRIDES = st.lists(st.builds(lambda entry, more: {**entry, **more}, ENTRIES, st.dictionaries(NAMES, VALUES, max_size=2)), max_size=2)


@settings(max_examples=1500, deadline=None)
@given(st.dictionaries(NAMES, VALUES, max_size=2), st.one_of(st.none(), OVERRIDES, LEAVES))
def test_the_schema_for_editors_says_the_same(values: dict[str, Any], overrides: Any) -> None:
    table = dict(values) if overrides is None else {**values, "overrides": overrides}
    found = SettingsFile("lclint.toml", "/", "", ())
    try:
        with pytest.MonkeyPatch.context() as patch:
            # the catalogue's names are no part of the schema
            for known in (keys.KEYS, keys.PER_PATH):
                patch.setitem(known, "gpu", keys._text)
                patch.setitem(known, "bridge-version", keys._version)
            file._fill(found, table)
        taken = True
    except UsageError:
        taken = False
    assert VALIDATOR.is_valid(table) is taken, (table, [error.message for error in VALIDATOR.iter_errors(table)])


@pytest.mark.parametrize("page", ["README.md", "docs/adopting.md"])
def test_the_settings_of_a_page(page: str, tmp_path: Path, checkout: Path) -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```", (checkout / page).read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    rules = load()
    for block in blocks:
        found = read(tmp_path, block)
        for _, entry in found.entries():
            matching(entry, rules)
