"""The phase of a stack, and of the last progress line."""

from __future__ import annotations

import random

import pytest

from lclint.crash.summary import diagnose_text

STACKS = {
    "forward": [("step", "forward_step", "mlp"), ("lightning", "mlp"), ("step", "mlp", "linear")],
    "backward": [("step", "backward"), ("step", "backward", "recompute"), ("step", "backward", "recompute", "mlp")],
    "logits_loss": [("step", "loss"), ("step", "output_layer", "linear"), ("step", "backward", "loss")],
    "moe": [("step", "experts"), ("step", "dispatch"), ("step", "backward", "experts")],
    "grad_reduce": [("step", "reduce"), ("step", "backward", "reduce")],
    "optimizer_step": [("step", "optimizer_step"), ("step", "optimizer_step", "adam")],
    "optimizer_init": [("optimizer_init",)],
    "model_build": [("get_model", "layer_init"), ("get_model", "buffers"), ("get_model",)],
    "graph_capture": [("step", "capture", "mlp"), ("capture",)],
    "checkpoint_load": [("load",), ("load", "optimizer_init")],
    "checkpoint_save": [("save",), ("step", "save", "linear")],
    "eval": [("evaluate", "forward_step", "loss")],
    "dataloader": [("step", "forward_step", "batch")],
    "unknown": [("step", "linear")][:0],
}


@pytest.mark.parametrize(("phase", "calls"), [(phase, calls) for phase, stacks in STACKS.items() for calls in stacks])
def test_stacks(phase, calls, pieces) -> None:
    crash = diagnose_text(pieces.stack(*calls, last=pieces.message(), prefix="[rank2]: "))
    assert crash.phase == phase
    assert crash.kind == ("cuda_graph_oom" if phase == "graph_capture" else "gpu_oom")


@pytest.mark.parametrize(
    ("before", "phase"),
    [
        ("saving checkpoint at iteration     500 to /ckpt in torch_dist format", "checkpoint_save"),
        ("saving checkpoint at iteration     500 to /ckpt in torch_dist format\n  successfully saved checkpoint from iteration     500 to /ckpt", "unknown"),
        (" loading distributed checkpoint from /ckpt at iteration 500", "checkpoint_load"),
        (" loading distributed checkpoint from /ckpt at iteration 500\n  successfully loaded checkpoint from /ckpt at iteration 500", "unknown"),
        ("Evaluating iter 1/32", "eval"),
        ("building GPT model ...", "model_build"),
        ("training ...", "unknown"),
    ],
)
def test_without_a_stack_the_last_line_tells(before, phase, pieces) -> None:
    assert diagnose_text(f"{before}\n{pieces.message()}").phase == phase


def test_stacks_of_two_ranks_that_alternate(pieces) -> None:
    one = pieces.stack("step", "mlp", last=pieces.message(), prefix="[rank6]: ").split("\n")
    two = pieces.stack("step", "loss", last=pieces.message(), prefix="[rank1]: ").split("\n")
    lines = [line for pair in zip(one, two, strict=True) for line in pair]
    # two records on one line, as processes write them
    lines[4:6] = [lines[4] + lines[5]]
    crash = diagnose_text("\n".join(lines))
    assert (crash.first_rank, crash.phase, crash.failed_ranks) == (6, "forward", [6, 1])


def test_a_stack_below_its_error(pieces) -> None:
    stack = pieces.stack("step", "loss", last="").split("\n")[1:-1]
    assert diagnose_text(pieces.message() + "\n" + "\n".join(stack)).phase == "logits_loss"


def test_a_frame_that_srun_cut(pieces) -> None:
    text = pieces.stack("step", "loss", last=pieces.message(), prefix=" 3: ").replace("tensor_parallel/cross", "tensor_parallel/\n3: cross")
    assert diagnose_text(text).phase == "logits_loss"


@pytest.mark.parametrize("seed", range(8))
def test_lines_that_srun_cut_anywhere(seed, pieces) -> None:
    chance = random.Random(seed)
    lines = []
    for line in pieces.stack("step", "loss", last=pieces.message()).split("\n"):
        at = chance.randrange(10, len(line) - 5) if len(line) > 40 and chance.random() < 0.6 else len(line)
        lines += [line[:at], line[at:]] if at < len(line) else [line]
    crash = diagnose_text("\n".join(f" 3: {line}" for line in lines))
    assert (crash.kind, crash.first_rank, crash.requested_bytes, crash.allocated_bytes) == ("gpu_oom", 3, round(4.01 * 2**30), 72 * 2**30)


@pytest.mark.parametrize("cut", [120, 150, 400, 2000])
def test_two_messages_on_one_line(cut, pieces) -> None:
    crash = diagnose_text(f"[rank6]: {pieces.message()[:cut]}[rank1]: {pieces.message('5.00 GiB')}")
    assert (crash.first_rank, crash.requested_bytes, crash.failed_ranks) == (6, round(4.01 * 2**30), [6, 1])


def test_torchelastic_json(pieces) -> None:
    text = '{"message": {"message": "' + pieces.message() + '", "extraInfo": {"py_callstack": "Traceback (most recent call last):\\n"}}}'
    assert diagnose_text(text).requested_bytes == round(4.01 * 2**30)


def test_errors_that_a_run_survives(pieces) -> None:
    log = [pieces.iteration(5), pieces.stack("batch", last="wandb.errors.CommError: network down"), *(pieces.iteration(n) for n in range(6, 12))]
    crash = diagnose_text("\n".join(log))
    assert (crash.kind, crash.fatal, crash.iteration) == ("context_only", False, 11)


def test_wrapped_at_columns(pieces) -> None:
    for columns in (60, 72, 80, 100):
        text = "[rank7]: " + pieces.message()
        crash = diagnose_text("\n".join(text[n : n + columns] for n in range(0, len(text), columns)))
        assert (crash.first_rank, crash.capacity_bytes, crash.reserved_unallocated_bytes) == (7, round(79.11 * 2**30), 2**30)
