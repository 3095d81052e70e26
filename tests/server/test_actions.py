"""Repairs: each leaves the text that ``lclint check --fix`` would, or silences what it says it silences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from lclint.api import check_paths, fix_paths
from lclint.core.options import Options
from lclint.per_file import PerFile
from lclint.server import actions
from lclint.server.actions import difference
from lclint.server.analysis import Analysis
from lclint.server.positions import Text
from lclint.sources.edits import apply

WRONG = """\
# lclint: gpu=h100 gpus=32
model:
  num_layers: 80
  num_attention_heads: 64
  num_query_groups: 8
  seq_length: 4096
  tensor_model_parallel_size: 4
  cuda_graph_impl: transformer_engine
  cuda_graph_modules: [attn, mlp]
  use_te_rng_tracker: true
dataset:
  _target_: megatron.bridge.data.builders.gpt_sft.GPTSFTDatasetConfig
  seq_length: 4096
  enable_offline_packing: true
  dataset_kwargs: {pad_to_max_length: false}   # padded by hand
  offline_packing_specs:
    _target_: megatron.bridge.data.packing.config.PackedSequenceSpecs
    packed_sequence_size: 4096
    pad_cu_seqlens: false
train:
  micro_batch_size: 2
  global_batch_size: 32
rng:
  te_rng_tracker: true
"""
RULE = "cuda-graphs-with-variable-length-batches"
VERSIONED = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True)),
    text_document=types.TextDocumentClientCapabilities(
        code_action=types.CodeActionClientCapabilities(resolve_support=types.ClientCodeActionResolveOptions(["edit"]))
    ),
)


def edited(text: str, edits: Any) -> str:
    """The text with a client's edits; every character before them is one unit."""
    places = Text(text, "utf-32")
    return apply(text, [(places.offset(edit.range.start), places.offset(edit.range.end), edit.new_text) for edit in edits])


def rules_found(text: str, folder: Path) -> list[str]:
    (folder / "run.yaml").write_bytes(text.encode())
    return [finding.rule for file in check_paths([str(folder / "run.yaml")], Options()).files for finding in file.findings]


def test_quick_fixes(editor: Callable[..., Any], tmp_path: Path) -> None:
    client = editor(capabilities=VERSIONED)
    uri = client.open(WRONG)
    (shown,) = [each for each in client.diagnostics(uri) if each.code == RULE]
    found = client.actions(uri, shown.range, ["quickfix"])
    assert [action.title for action in found if action.is_preferred] == ["Pad packs and their boundaries to a fixed length"]
    assert [action.title for action in found][1:] == ["Turn CUDA graphs off (unsafe)", f"Ignore {RULE} here"]
    for action in found:
        assert action.kind == types.CodeActionKind.QuickFix
        assert [each.code for each in action.diagnostics] == [RULE]
        (change,) = action.edit.document_changes
        assert (change.text_document.uri, change.text_document.version) == (uri, 1)
        after = edited(WRONG, change.edits)
        assert RULE not in rules_found(after, tmp_path)
        assert "# padded by hand" in after


def test_only_what_the_range_touches(editor: Callable[..., Any]) -> None:
    client = editor()
    uri = client.open(WRONG)
    client.diagnostics(uri)
    assert client.actions(uri, types.Range(types.Position(2, 0), types.Position(2, 5)), ["quickfix"]) == []
    assert client.actions(uri, only=["refactor"]) == []


def test_a_client_without_versions_gets_plain_changes(editor: Callable[..., Any]) -> None:
    client = editor()
    uri = client.open(WRONG)
    client.diagnostics(uri)
    action = client.actions(uri, only=["quickfix"])[0]
    assert action.edit.document_changes is None
    assert list(action.edit.changes) == [uri]


@pytest.mark.parametrize("only", ["source", "source.fixAll", "source.fixAll.lclint"])
def test_fix_all_makes_what_the_command_makes(editor: Callable[..., Any], tmp_path: Path, only: str) -> None:
    (tmp_path / "run.yaml").write_bytes(WRONG.encode())
    _, (applied,) = fix_paths([str(tmp_path / "run.yaml")], Options())
    resolving = editor(capabilities=VERSIONED)
    uri = resolving.open(WRONG)
    (action,) = resolving.actions(uri, only=[only])
    assert action.kind == "source.fixAll.lclint"
    assert action.edit is None
    (change,) = resolving.resolve(action).edit.document_changes
    assert edited(WRONG, change.edits) == applied.after != WRONG
    # a client that does not ask again gets the edit at once
    plain = editor()
    (action,) = plain.actions(plain.open(WRONG), only=[only])
    assert edited(WRONG, action.edit.changes["file:///run.yaml"]) == applied.after
    # and of a text that has changed since nothing is made
    (action,) = resolving.actions(uri, only=[only])
    resolving.retype(uri, WRONG + "# more\n")
    assert resolving.resolve(action).edit is None


def test_nothing_safe_no_fix_all(editor: Callable[..., Any]) -> None:
    client = editor()
    uri = client.open("model:\n  num_layers: 8\n  tensor_model_parallel_size: 3\n  num_attention_heads: 8\n")
    assert client.diagnostics(uri)
    assert client.actions(uri, only=["source.fixAll"]) == []


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("  micro_batch_size: 2", "  micro_batch_size: 2  # lclint: ignore[packing-and-micro-batch-size]"),
        ("  micro_batch_size: 2 # two", "  micro_batch_size: 2 # two  # lclint: ignore[packing-and-micro-batch-size]"),
        ("  micro_batch_size: 2 # lclint: ignore[other] why", "  micro_batch_size: 2 # lclint: ignore[other, packing-and-micro-batch-size] why"),
        ('  micro_batch_size: !!int "2"', '  micro_batch_size: !!int "2"  # lclint: ignore[packing-and-micro-batch-size]'),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_ignoring_a_finding(tmp_path: Path, line: str, after: str, newline: str) -> None:
    text = WRONG.replace("  micro_batch_size: 2", line).replace("\n", newline)
    analysis = Analysis("run.yaml", Text(text, "utf-32"), 1, PerFile(Options()))
    assert analysis.checked is not None
    findings = [finding for finding in analysis.checked.report.findings if finding.rule == "packing-and-micro-batch-size"]
    edits = actions.ignoring(analysis, findings[0])
    assert edits is not None
    made = apply(text, edits)
    assert made == WRONG.replace("  micro_batch_size: 2", after).replace("\n", newline)
    assert "packing-and-micro-batch-size" not in rules_found(made, tmp_path)


def test_ignoring_above_where_a_comment_would_be_part_of_the_value(tmp_path: Path) -> None:
    text = 'model:\n  tensor_model_parallel_size: 1\n  cuda_graph_impl: "loc\\\n    als"\n'
    analysis = Analysis("run.yaml", Text(text, "utf-16"), 1, PerFile(Options()))
    assert analysis.checked is not None
    finding = next(each for each in analysis.checked.report.findings if each.at == "model.cuda_graph_impl")
    edits = actions.ignoring(analysis, finding)
    assert edits is not None
    made = apply(text, edits)
    assert made == text.replace("  cuda", f"  # lclint: ignore[{finding.rule}]\n  cuda")
    assert finding.rule not in rules_found(made, tmp_path)


def test_ignoring_what_no_line_says(tmp_path: Path) -> None:
    text = "model: {num_attention_heads: 8}\n"
    analysis = Analysis("run.yaml", Text(text, "utf-16"), 1, PerFile(Options(sets=["model.tensor_model_parallel_size=3"])))
    assert analysis.checked is not None
    finding = next(each for each in analysis.checked.report.findings if each.rule == "heads-not-divisible-by-tensor-parallelism")
    assert finding.place.line is None
    edits = actions.ignoring(analysis, finding)
    assert edits is not None
    assert apply(text, edits) == "# lclint: ignore-file[heads-not-divisible-by-tensor-parallelism]\n" + text


@pytest.mark.parametrize(("before", "after"), [("a\nb\nc\n", "a\nx\nc\n"), ("a\nb", "b\n"), ("", "a\n"), ("a\r\nb\r\n", "a\r\n")])
def test_the_difference_of_two_texts(before: str, after: str) -> None:
    assert apply(before, difference(before, after)) == after
