"""lclint from Python: paths, mappings and config objects give the same report."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

import lclint
from lclint import api
from lclint.core.errors import InputError, LclintError, UsageError
from lclint.core.options import Options

Make = Callable[..., Any]
FILE = "model:\n  num_layers: 8\n  moe_router_topk: 2\n"
RULE = {
    "cases": [{"when": "model.num_layers > 3 and model.params_dtype != 'fp32'"}, {"when": "model.num_layers > 3"}],
    "report": "all",
}


@pytest.fixture
def own(tmp_path: Path, rule_text: Make) -> dict[str, Any]:
    """Options by which only the rule of these tests is checked."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "rule.yaml").write_text(rule_text(RULE), encoding="utf-8")
    return {"rules": [tmp_path / "own"], "select": ["rule-0"]}


def cases(report: lclint.Report) -> list[tuple[str, int | None]]:
    (file,) = report.files
    return [(finding.case, finding.place.line) for finding in file.findings]


@pytest.mark.parametrize("kind", [str, Path, os.fsencode])
def test_a_path(tmp_path: Path, own: dict[str, Any], kind: Callable[[Any], Any]) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(FILE, encoding="utf-8")
    report = lclint.check(kind(str(file)), **own)
    assert cases(report) == [("case-1", 2)]
    assert (report.files[0].path, report.files[0].kind, report.files[0].text) == (str(file), "override", FILE)


def test_a_mapping(own: dict[str, Any]) -> None:
    report = lclint.check(yaml.safe_load(FILE), **own)
    assert cases(report) == [("case-1", None)]
    assert (report.files[0].kind, report.files[0].text) == ("mapping", None)


def test_a_mapping_is_left_as_it_is(own: dict[str, Any]) -> None:
    data = yaml.safe_load(FILE)
    lclint.check(data, sets=["model.num_layers=16", "env_vars.A=1"], **own)
    assert data == yaml.safe_load(FILE)


class Backend(enum.Enum):
    auto = 5


class Dtype:
    def __repr__(self) -> str:
        return "torch.bfloat16"


@dataclass
class Provider:
    num_layers: int = 8
    params_dtype: Any = field(default_factory=Dtype)
    attention_backend: Backend = Backend.auto
    recompute_modules: list[str] | None = None
    activation_func: Any = len


@dataclass
class Training:
    micro_batch_size: int = 1


@dataclass
class ConfigContainer:
    model: Provider = field(default_factory=Provider)
    train: Training = field(default_factory=Training)
    comm_overlap: Any = None


for known in (Provider, Training, ConfigContainer):
    known.__module__ = "megatron.bridge.fake"


def test_a_config_object(own: dict[str, Any]) -> None:
    report = lclint.check(ConfigContainer(), gpus=8, **own)
    assert cases(report) == [("case-0", None), ("case-1", None)]
    assert report.files[0].gpus == 8
    (fix_less, _) = report.files[0].findings
    assert (fix_less.place.origin, fix_less.place.path) == ("file", "<config>")


def test_a_mapping_of_config_objects(own: dict[str, Any]) -> None:
    assert cases(lclint.check({"model": Provider(), "train": Training(), "mixed_precision": None}, **own)) == [("case-0", None), ("case-1", None)]


def test_an_omegaconf_config(own: dict[str, Any]) -> None:
    omegaconf = pytest.importorskip("omegaconf")
    assert cases(lclint.check(omegaconf.OmegaConf.create(yaml.safe_load(FILE)), **own)) == [("case-1", None)]


@pytest.mark.parametrize("config", [None, 3, [1], object(), {}, {"on": "push"}, ["run.yaml"]])
def test_what_is_no_config(config: Any) -> None:
    with pytest.raises(InputError):
        lclint.check(config)


def test_a_path_that_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        lclint.check(tmp_path / "absent.yaml")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gpuz": 1}, "no option gpuz (did you mean gpu?)"),
        ({"zzzzz": 1}, "no option zzzzz"),
        ({"gpus": 0}, "gpus takes a positive integer"),
        ({"gpus": -8}, "gpus"),
        ({"gpus": "8"}, "gpus"),
        ({"gpus": True}, "gpus"),
        ({"gpus": 8.0}, "gpus"),
        ({"gpus_per_node": 0}, "gpus_per_node"),
        ({"sets": "model.x=1"}, "sets takes a list of texts"),
        ({"sets": [1]}, "sets"),
        ({"rules": "folder"}, "rules"),
        ({"env": ["A=1"]}, "env takes a dict"),
        ({"env_complete": 1}, "env_complete takes a bool"),
        ({"gpu": 3}, "gpu takes a text"),
        ({"gpu": "z900"}, "z900"),
        ({"bridge_version": "9.9"}, "9.9"),
        ({"select": ["nothing"]}, "nothing"),
        ({"base": "a.yaml", "recipe": "b"}, "both"),
    ],
)
def test_options_are_looked_at(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(FILE, encoding="utf-8")
    with pytest.raises(UsageError) as error:
        lclint.check(str(file), **options)
    assert words in str(error.value)


def test_a_base(tmp_path: Path, own: dict[str, Any]) -> None:
    (tmp_path / "run.yaml").write_text("model: {moe_router_topk: 2}\n", encoding="utf-8")
    (tmp_path / "base.yaml").write_text(FILE, encoding="utf-8")
    report = lclint.check(tmp_path / "run.yaml", base=tmp_path / "base.yaml", **own)
    assert [(f.case, f.place.origin) for f in report.files[0].findings] == [("case-1", "base")]


def test_several_files(tmp_path: Path, own: dict[str, Any]) -> None:
    folder = tmp_path / "runs"
    (folder / "deep").mkdir(parents=True)
    texts = {
        "b.yaml": FILE,
        "a.yml": FILE,
        "deep/c.yaml": FILE,
        "ci.yaml": "on: push\n",
        "broken.yaml": "model: [\n  num_layers: 8",
        "own.yaml": "model: {\n  context_parallel_size: 8\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    report = api.check_paths([str(folder)], Options(**{**own, "rules": [str(own["rules"][0])]}))
    assert [file.path.removeprefix(f"{folder}{os.sep}") for file in report.files] == ["a.yml", "b.yaml", os.path.join("deep", "c.yaml")]
    assert sorted(report.skipped) == [str(folder / "broken.yaml"), str(folder / "ci.yaml")]
    assert [error.path for error in report.errors] == [str(folder / "own.yaml")]
    assert report.count("error") == 3


def test_findings_are_ordered(own: dict[str, Any], tmp_path: Path, rule_text: Make) -> None:
    for number in (1, 2):
        rule = {
            "name": f"a-rule-{number}",
            "cases": [{"when": "model.num_layers > 3", "at": "model.moe_router_topk"}, {"when": "model.num_layers > 3"}],
            "report": "all",
        }
        (tmp_path / "own" / f"{number}.yaml").write_text(rule_text(rule, number), encoding="utf-8")
    (tmp_path / "run.yaml").write_text(FILE, encoding="utf-8")
    report = lclint.check(tmp_path / "run.yaml", rules=own["rules"], select=["TT"])
    assert [(f.rule, f.case) for f in report.files[0].findings] == [
        ("a-rule-1", "case-1"),
        ("a-rule-2", "case-1"),
        ("rule-0", "case-1"),
        ("a-rule-1", "case-0"),
        ("a-rule-2", "case-0"),
    ]


def test_the_package_has_what_it_names() -> None:
    for name in lclint.__all__:
        assert getattr(lclint, name) is not None
    with pytest.raises(AttributeError):
        _ = lclint.nothing
    assert issubclass(lclint.LclintError, Exception)
    assert lclint.LclintError is LclintError
