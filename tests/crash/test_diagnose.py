"""The whole way: a log, with or without a config, to findings, JSON, text and a patch."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import lclint
from lclint import api
from lclint.core.finding import Finding
from lclint.core.options import Options
from lclint.crash import summary
from lclint.diagnosing import Diagnosis, of_crash
from lclint.report import diagnose_html

CONFIG = """\
model:
  tensor_model_parallel_size: 4
  sequence_parallel: false   # to be measured
  num_layers: 8
train:
  micro_batch_size: 2
  global_batch_size: 64
"""
ARGUMENTS = """\
------------------------ arguments ------------------------
  micro_batch_size ................................ 4
  tensor_model_parallel_size ...................... 4
  world_size ...................................... 16
-------------------- end of arguments ---------------------
"""


@pytest.fixture
def of_text() -> Callable[..., Diagnosis]:
    rules = api.load_rules(Options())
    return lambda log, config=None, **options: of_crash(summary.diagnose_text(log), None, config, Options(**options), rules)


@pytest.fixture
def files(tmp_path: Path, pieces) -> Path:
    (tmp_path / "crash.log").write_text(ARGUMENTS + pieces.stack("step", "mlp", last=pieces.message(), prefix="[rank3]: ") + "\n")
    (tmp_path / "run.yaml").write_text(CONFIG)
    (tmp_path / "fine.log").write_text(pieces.iteration(5) + "\n")
    return tmp_path


def sets(findings: list[Finding]) -> list[dict[str, Any]]:
    return [fix.set for finding in findings for fix in finding.fixes]


def test_json(cli, files, checkout) -> None:
    done = cli("diagnose", "crash.log", "--config", "run.yaml", "--format", "json")
    assert (done.status, done.err) == (1, "")
    data = json.loads(done.out)
    jsonschema.Draft202012Validator(json.loads((checkout / "schemas" / "diagnose.schema.json").read_text())).validate(data)
    assert (data["kind"], data["first_rank"], data["phase"], data["iteration"], data["cluster"]) == ("gpu_oom", 3, "forward", None, {"gpu": None, "gpus": 16})
    assert data["recovered_config"] == {"train.micro_batch_size": 4, "model.tensor_model_parallel_size": 4}
    finding = data["findings"][0]
    assert (finding["rule"], finding["origin"], finding["line"], finding["at"]) == ("activations-out-of-memory", "log", 11, "model.sequence_parallel")
    assert finding["path"] == "crash.log"
    assert finding["evidence"][0]["line"] == 11
    assert finding["fixes"][0]["set"] == {"model.sequence_parallel": True}
    assert finding["fixes"][0]["edits"]


def test_text(cli, files) -> None:
    done = cli("diagnose", "crash.log", "--config", "run.yaml")
    verdict = done.out.index("verdict: GPU memory ran out on rank 3")
    evidence = done.out.index("crash.log:11: torch.OutOfMemoryError")
    helps = done.out.index("helps [unsafe]: Split norms and residuals as well")
    patch = done.out.index("+  sequence_parallel: true   # to be measured")
    assert verdict < evidence < helps < patch


def test_diff_and_fix(cli, files) -> None:
    assert cli("diagnose", "crash.log", "--diff").status == 2
    done = cli("diagnose", "crash.log", "--config", "run.yaml", "--diff")
    assert (done.out, "--unsafe-fixes" in done.err) == ("", True)
    done = cli("diagnose", "crash.log", "--config", "run.yaml", "--diff", "--unsafe-fixes")
    assert "-  sequence_parallel: false   # to be measured\n+  sequence_parallel: true   # to be measured\n" in done.out
    assert (files / "run.yaml").read_text() == CONFIG
    cli("diagnose", "crash.log", "--config", "run.yaml", "--fix", "--unsafe-fixes")
    assert (files / "run.yaml").read_text() == CONFIG.replace("sequence_parallel: false", "sequence_parallel: true")


def test_fixes_are_made_until_it_fits(cli, tmp_path, pieces) -> None:
    """One fix is not enough by the estimate, two are; the estimate is higher than what the log had come to, so it stands as it is."""
    config = (
        "# lclint: recipe=llama3_8b_pretrain_8gpu_h100_bf16_config\nmodel:\n  seq_length: 32768   # long\n  recompute_granularity: null\n"
        "train:\n  micro_batch_size: 4\n  global_batch_size: 128\n"
    )
    (tmp_path / "crash.log").write_text(pieces.stack("step", "mlp", last=pieces.message(), prefix="[rank3]: ") + "\n")
    (tmp_path / "run.yaml").write_text(config)
    command = ("diagnose", "crash.log", "--config", "run.yaml", "--gpus", "8", "--unsafe-fixes")
    shown = cli(*command, "--diff")
    assert "+  recompute_granularity: full" in shown.out
    assert "+  micro_batch_size: 1" in shown.out
    assert ": enough for 79.1 GiB" in shown.err
    assert (tmp_path / "run.yaml").read_text() == config
    done = cli(*command, "--fix")
    assert done.status == 1
    text = (tmp_path / "run.yaml").read_text()
    assert "  seq_length: 32768   # long\n" in text
    assert "  micro_batch_size: 1\n" in text


def test_the_estimate_is_scaled_to_reports_of_whole_steps(of_text, pieces, checkout) -> None:
    config = "# lclint: recipe=llama3_8b_pretrain_8gpu_h100_bf16_config\nmodel:\n  seq_length: 32768\n"
    failed = pieces.stack("step", "mlp", last=pieces.message())
    without = of_text(failed, config, gpus=8)
    assert without.scale == 1.0
    reported = of_text(pieces.memory(2) + "\n" + failed, config, gpus=8)
    # 76.01 GiB at the failure are more than the 80.2 GB of the report
    assert without.estimate is not None
    assert reported.scale == pytest.approx(76.01 / without.estimate, rel=1e-3)


def test_a_table_of_what_differs(cli, files) -> None:
    done = cli("diagnose", "crash.log", "--config", "run.yaml")
    table = done.out[done.out.index("Log and config file differ: the log is what ran") :].splitlines()
    assert [line.split() for line in table[1:3]] == [["field", "in", "the", "log", "in", "the", "file"], ["train.micro_batch_size", "4", "2"]]
    page = cli("diagnose", "crash.log", "--config", "run.yaml", "--format", "html")
    assert "<td><code>train.micro_batch_size</code></td><td>4</td><td>2</td>" in page.out


def test_the_recipe_that_the_launch_command_names(cli, tmp_path, pieces) -> None:
    launch = "+ torchrun --nproc_per_node 8 run_recipe.py --recipe llama3_8b_pretrain_8gpu_h100_bf16_config train.micro_batch_size=4\n"
    (tmp_path / "crash.log").write_text(launch + pieces.stack("step", "mlp", last=pieces.message(), prefix="[rank3]: ") + "\n")
    done = cli("diagnose", "crash.log", "--gpus", "8")
    words = " ".join(done.out.split())
    assert "over the recipe llama3_8b_pretrain_8gpu_h100_bf16_config, which the launch command names" in words
    assert "add to the command line: -- train.micro_batch_size=1" in words
    given = cli("diagnose", "crash.log", "--gpus", "8", "--recipe", "llama3_70b_pretrain_64gpu_h100_bf16_config")
    assert "over the recipe llama3_70b_pretrain_64gpu_h100_bf16_config;" in " ".join(given.out.split())


def test_a_healthy_log(cli, files) -> None:
    done = cli("diagnose", "fine.log")
    assert done.status == 0
    assert done.out == "verdict: no failure for want of memory; the last iteration reported is 5\n"


def test_usage(cli, files) -> None:
    assert "nothing to diagnose" in cli("diagnose").err
    assert cli("diagnose", "no.log").status == 2
    assert cli("diagnose", "crash.log", "--config", "fine.log").status == 2


def test_a_report_does_not_replace_what_it_is_about(cli, files) -> None:
    for name in ("crash.log", "run.yaml"):
        before = (files / name).read_bytes()
        done = cli("diagnose", "crash.log", "--config", "run.yaml", "--format", "html", "--output", name)
        assert (done.status, "would overwrite" in done.err) == (2, True)
        assert (files / name).read_bytes() == before
    before = (files / "crash.log").read_bytes()
    done = cli("diagnose", ".", "--output", "crash.log")
    assert (done.status, "would overwrite" in done.err, (files / "crash.log").read_bytes() == before) == (2, True, True)


def test_from_python(files) -> None:
    diagnosis = lclint.diagnose(files / "crash.log", files / "run.yaml", gpus=32)
    assert (diagnosis.crash.kind, diagnosis.gpus, diagnosis.memory_failure) == ("gpu_oom", 32, True)
    assert lclint.diagnose([str(files / "fine.log")]).crash.kind == "context_only"


def test_the_log_is_what_ran(of_text, pieces) -> None:
    diagnosis = of_text(ARGUMENTS + pieces.stack("step", "mlp", last=pieces.message()), CONFIG)
    differing = [finding for finding in diagnosis.findings if finding.rule == "log-and-config-differ"]
    assert [finding.at for finding in differing] == ["train.micro_batch_size"]
    assert differing[0].message.startswith("train.micro_batch_size: 4 in the log, 2 in the config file. The log is what ran")


def test_what_is_so_already_is_not_offered(of_text, pieces) -> None:
    log = pieces.stack("step", "mlp", last=pieces.message())
    assert {"train.micro_batch_size": 1} in sets(of_text(log).findings)
    alone = CONFIG.replace("micro_batch_size: 2", "micro_batch_size: 1")
    assert {"train.micro_batch_size": 1} not in sets(of_text(log, alone).findings)


def test_no_fix_that_a_start_up_refuses(of_text, pieces) -> None:
    """More context parallelism than sequence chunks allow is not offered; nor is what does not divide the GPUs."""
    config = (
        "model:\n  tensor_model_parallel_size: 2\n  context_parallel_size: 1\n  pipeline_model_parallel_size: 1\n  num_layers: 8\n  sequence_parallel: true\n"
    )
    config += "train:\n  micro_batch_size: 1\n  global_batch_size: 64\n"
    log = pieces.stack("step", "mlp", last=pieces.message())
    assert {"model.context_parallel_size": 2} in sets(of_text(log, config, gpus=4).findings)
    assert {"model.context_parallel_size": 2} not in sets(of_text(log, config, gpus=2).findings)


def test_more_of_a_list(of_text, pieces) -> None:
    config = "model:\n  recompute_granularity: selective\n  recompute_modules: [layernorm]\n  num_moe_experts: 8\n  num_layers: 8\n"
    found = sets(of_text(pieces.stack("step", "experts", last=pieces.message()), config).findings)
    assert {"model.recompute_modules": ["layernorm", "moe_act"]} in found


@pytest.mark.parametrize("calls", [("optimizer_step", "adam"), ("optimizer_init",), ("get_model", "layer_init"), ("load",)])
def test_no_activation_remedy_where_there_are_none(calls, of_text, pieces) -> None:
    fields = {field for values in sets(of_text(pieces.stack(*calls, last=pieces.message())).findings) for field in values}
    assert fields
    assert not fields & {"train.micro_batch_size", "model.recompute_granularity", "model.seq_length", "model.context_parallel_size"}


@pytest.mark.parametrize(("unallocated", "offered"), [("4.50 GiB", True), ("3.90 GiB", False), ("6.00 MiB", False)])
def test_fragmentation(unallocated, offered, of_text, pieces) -> None:
    findings = of_text(pieces.stack("step", "backward", last=pieces.message(unallocated=unallocated))).findings
    variables = [fix.env for finding in findings for fix in finding.fixes if fix.env]
    assert ({"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"} in variables) is offered
    assert (findings[0].rule == "fragmentation-out-of-memory") is offered


def test_defaults_behind_a_summary(of_text, pieces) -> None:
    summary_text = (
        "Configuration Summary (Non-Default Values vs Megatron Core)\n[model] Non-default values (vs Mcore TransformerConfig):\n"
        "  num_layers: 4  (Mcore default: 0)\n  tensor_model_parallel_size: 2  (Mcore default: 1)\n"
    )
    diagnosis = of_text(summary_text + pieces.stack("step", "mlp", last=pieces.message()))
    # absent there means default: sequence parallelism is off
    assert diagnosis.findings[0].case == "norms-kept-whole"


def test_rules_about_crashes_say_nothing_in_a_check(report_of, run_of) -> None:
    run = run_of(CONFIG)
    crash_rules = [rule.name for rule in api.load_rules(Options()).rules if any(field.startswith("crash.") for field in rule.fields)]
    report = api.check_run(run, api.load_rules(Options()))
    assert len(crash_rules) > 20
    assert not {finding.rule for finding in report.findings} & set(crash_rules)
    assert not {case.rule for case in report.undecided} & set(crash_rules)


def test_examples_of_the_rules(checkout) -> None:
    results = api.test_rules(str(checkout / "rules" / "crash"))
    assert [f"{r.rule} {r.example}: {r.problem}" for r in results if r.problem] == []
    assert len(results) > 80


def test_a_page(cli, checkout, tmp_path) -> None:
    done = cli("diagnose", str(checkout / "fixtures" / "logs" / "experts-on-one-rank.log"), "--format", "html", "--output", "page.html")
    assert (done.status, done.out) == (1, "")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 3
    assert "http" not in page.replace("https://pytorch.org", "")
    assert "<script" not in page


def test_a_page_escapes_what_the_log_says(of_text) -> None:
    page = diagnose_html.render(of_text("ValueError: <script>alert(1)</script>"))
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_a_whole_report(cli, checkout, snapshot) -> None:
    done = cli("diagnose", "fixtures/logs/experts-on-one-rank.log", cwd=checkout)
    assert done.out == snapshot


def test_what_the_memory_model_says_of_a_fix(of_text, pieces, checkout) -> None:
    rule = yaml.safe_load((checkout / "rules" / "crash" / "estimate-and-log-differ.yaml").read_text())
    config = rule["examples"][0]["config"].replace("seq_length: 1024", "seq_length: 16384")
    diagnosis = of_text(pieces.stack("step", "mlp", last=pieces.message()), config, gpus=8)
    titles = [fix.title for finding in diagnosis.findings for fix in finding.fixes if "model.recompute_granularity" in fix.set]
    # scaled so that the run as it was needs what the log shows: 72 and 4.01 GiB
    assert "(estimated peak 76.0 -> " in titles[0]


def test_a_comment_names_what_was_meant_to_run_and_the_log_what_ran(of_text, pieces) -> None:
    log = ARGUMENTS + pieces.stack("step", "mlp", last=pieces.message(), prefix="[rank3]: ") + "\n"
    config = "# lclint: gpu=gb200 gpus=128\n" + CONFIG
    found = of_text(log, config)
    assert (found.gpu, found.gpus) == (None, 16)
    told = of_text(log, config, gpu="gb200", gpus=128)
    assert (told.gpu, told.gpus) == ("gb200", 128)
    same = of_text(log, "# lclint: gpu=h100 gpus=16\n" + CONFIG)
    assert (same.gpu, same.gpus) == ("h100", 16)


def test_what_a_later_attempt_died_of_is_told(cli, checkout) -> None:
    folder = checkout / "fixtures" / "logs" / "labelled"
    first = cli("diagnose", str(folder / "restart-then-other-error.log")).out
    assert "GPU memory ran out on rank 3" in first
    assert "log:18: a later attempt got no further and ended with: ValueError" in " ".join(first.split())
    past = cli("diagnose", str(folder / "restart-got-past.log")).out
    assert "not a memory failure on rank 5" in past
    assert "an earlier attempt ran out of memory on 1 rank" in " ".join(past.split())
    finished = " ".join(cli("diagnose", str(folder / "restart-then-finished.log")).out.split())
    assert "an attempt ran out of GPU memory, and a later one came to its end" in finished
