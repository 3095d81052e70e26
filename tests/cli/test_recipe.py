"""``--recipe NAME`` from end to end: without a file, below a file, and in the header of one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lclint.cli.shared import overrides_apart
from lclint.config import build
from lclint.core.finding import Fix
from lclint.core.options import Options
from lclint.fixes.lower import lower

Run = Callable[..., Any]

RECIPE = "llama3_70b_sft_32gpu_h100_bf16"
OVERRIDES = "model:\n  context_parallel_size: 2\n"


def test_a_recipe_and_words(cli: Run) -> None:
    done = cli("check", "--recipe", RECIPE, "--", "model.context_parallel_size=2")
    assert (done.status, done.err) == (1, "")
    assert "sft-loss-under-context-parallelism" in done.out
    assert "\n    model.context_parallel_size=2\n" in done.out
    assert f"see model.calculate_per_token_loss = false (recipe {RECIPE})" in done.out
    words = "add to the command line: -- model.calculate_per_token_loss=true ddp.average_in_collective=false"
    assert words in " ".join(done.out.split())


def test_the_words_that_a_fix_names_make_it_go_away(cli: Run) -> None:
    words = ["model.context_parallel_size=2", "model.calculate_per_token_loss=true", "ddp.average_in_collective=false"]
    assert "sft-loss-under-context-parallelism" not in cli("check", "--recipe", RECIPE, "--", *words).out


def test_set_and_words_are_the_same_to_a_recipe(cli: Run) -> None:
    done = cli("check", "--recipe", RECIPE, "--set", "model.context_parallel_size=2", "--set", "model.seq_length=4096", "model.seq_length=8192")
    assert "--set model.context_parallel_size=2" in done.out
    assert "sft-loss-under-context-parallelism" in done.out


def test_a_recipe_alone(cli: Run) -> None:
    done = cli("check", "--recipe", RECIPE)
    assert (done.status, done.err) == (0, "")


def test_json(cli: Run, checkout: Path) -> None:
    done = cli("check", "--recipe", RECIPE, "--format", "json", "--", "model.context_parallel_size=2", "+model.no_such=1", "~train.no_such")
    data = json.loads(done.out)
    jsonschema.validate(data, json.loads((checkout / "schemas" / "report.schema.json").read_text(encoding="utf-8")))
    (file,) = data["files"]
    assert (file["path"], file["kind"], file["cluster"]) == ("<command line>", "overrides", {"gpu": None, "gpus": None})
    places = {(finding["rule"], finding["at"]): (finding["origin"], finding["line"]) for finding in file["findings"]}
    assert places["dropped-override", "model.no_such"] == ("set", None)
    assert places["refused-override", "train.no_such"] == ("set", None)
    assert places["sft-loss-under-context-parallelism", "model.context_parallel_size"] == ("set", None)


def test_a_finding_on_the_recipe_itself(cli: Run) -> None:
    # the name says 256 GPUs; that is no reason to think that the job has them
    done = cli("check", "--recipe", "deepseek_v3_pretrain_256gpu_gb200_bf16", "--gpus", "7", "--format", "json")
    found = [finding for finding in json.loads(done.out)["files"][0]["findings"] if finding["origin"] == "recipe"]
    assert found
    assert all(finding["line"] is None for finding in found)
    shown = cli("check", "--recipe", "deepseek_v3_pretrain_256gpu_gb200_bf16", "--gpus", "7").out
    assert "(recipe deepseek_v3_pretrain_256gpu_gb200_bf16)" in shown


def test_below_a_file(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(OVERRIDES, encoding="utf-8")
    only = ["--recipe", RECIPE, "--select", "sft-loss-under-context-parallelism"]
    done = cli("check", *only, "run.yaml")
    assert done.out.startswith("run.yaml:2:26: error: sft-loss-under-context-parallelism")
    fixed = cli("check", *only, "--fix", "--unsafe-fixes", "run.yaml")
    assert fixed.status == 0
    text = (tmp_path / "run.yaml").read_text(encoding="utf-8")
    assert text.startswith(OVERRIDES)
    assert "calculate_per_token_loss: true" in text
    assert "average_in_collective: false" in text


def test_in_the_header_of_a_file(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(f"# lclint: recipe={RECIPE}\n{OVERRIDES}", encoding="utf-8")
    done = cli("check", "run.yaml")
    assert "sft-loss-under-context-parallelism" in done.out
    assert f"(recipe {RECIPE})" in done.out
    other = cli("check", "--recipe", "llama3_70b_pretrain", "run.yaml")
    assert "sft-loss-under-context-parallelism" not in other.out


def test_an_unknown_recipe_in_a_header(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(f"# of mine\n# lclint: recipe=lama3_70b_sft\n{OVERRIDES}", encoding="utf-8")
    done = cli("check", "run.yaml")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("lclint: error: run.yaml:2: unknown recipe 'lama3_70b_sft' (did you mean llama3_70b_sft")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--recipe", "llama3_70b_sf"], "did you mean llama3_70b_sft"),
        (["--recipe", RECIPE, "--bridge-version", "0.5"], "no recipes of Megatron Bridge 0.5"),
        (["--recipe", RECIPE, "--base", "base.yaml"], "--base and --recipe are both given"),
        (["--recipe", RECIPE, "--", "no/such.yaml"], "does not exist"),
        ([], "nothing to check"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, cli: Run) -> None:
    done = cli("check", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_a_recipe_whose_model_is_approximate_says_so(cli: Run) -> None:
    done = cli("check", "--recipe", "glm52_sft_416gpu_h100_bf16_config", "--fail-on", "never")
    assert done.status == 0
    assert "approximate" in done.err


def test_a_fix_as_words() -> None:
    run = build.from_overrides(Options(recipe=RECIPE, words=["model.seq_length=8192", "+env_vars.MINE=1"]))

    def words(**changes: Any) -> str:
        fix = Fix(title="", applicability="safe", **changes)
        lower(run, fix)
        assert not fix.edits
        return (fix.action or "").removeprefix("add to the command line: -- ")

    changes = {"model.recompute_modules": ["mlp", "core_attn"], "model.recompute_method": None, "model.params_dtype": "fp32"}
    assert words(set=changes) == "'model.recompute_modules=[mlp,core_attn]' model.recompute_method=null model.params_dtype=torch.float32"
    assert words(set={"logger.wandb_project": "a b"}) == r"'logger.wandb_project='\''a b'\'''"
    assert words(env={"NVTE_X": "1"}) == "+env_vars.NVTE_X=1"
    assert words(remove=["model.calculate_per_token_loss"]) == "model.calculate_per_token_loss=false"
    target = "megatron.bridge.training.comm_overlap.CommOverlapConfig"
    assert words(set={"comm_overlap.tp_comm_overlap": True}) == f"'comm_overlap={{_target_:{target},tp_comm_overlap:true}}'"
    assert words(set={"mixed_precision.bf16": True}).endswith("mixed_precision.bf16 needs the section written out")
    assert words(set={"model.seq_length": 4096}).endswith("the override model.seq_length=8192: set model.seq_length=4096 there")


def test_a_null_section_is_entered_with_its_class_only(cli: Run) -> None:
    assert "refused-override" in cli("check", "--recipe", RECIPE, "--", "comm_overlap.tp_comm_overlap=true").out
    made = "comm_overlap={_target_:megatron.bridge.training.comm_overlap.CommOverlapConfig,tp_comm_overlap:true}"
    out = cli("check", "--recipe", RECIPE, "--", made).out
    assert "refused-override" not in out
    assert "section-without-class" not in out


def test_words_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.b=1", "model.x", "lr=1"):
        (tmp_path / name).write_text("", encoding="utf-8")
    overrides = ["model.x=1", "+a.b=c", "++a.b=", "~a.b", "peft=null", "+seed=1", "model.path=a/b.yaml", "model.y=[1", "a-b.c=d", "model.z=~"]
    paths = ["-", "run.yaml", "conf", "conf/*.yaml", "runs/lr=1/x.yaml", "lr=*/x.yaml", "lr=2/run.yaml", "a.b=1", "model.x", "lr=1", "=x", "~/x", "a b=1"]
    assert overrides_apart((*overrides, *paths), False) == (paths, overrides)
    assert overrides_apart((*overrides, *paths), True) == (paths, overrides)
    assert overrides_apart(("model.seq", "new.yaml"), True) == (["new.yaml"], ["model.seq"])
    assert overrides_apart(("model.seq", "new.yaml"), False) == (["model.seq", "new.yaml"], [])
