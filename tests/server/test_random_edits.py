"""However a text came about, what is shown of it is what a fresh check of it finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from lsprotocol import types

from lclint.api import check_paths
from lclint.core.options import Options

START = """\
# lclint: gpu=h100 gpus=12
model:
  tensor_model_parallel_size: 3
  num_attention_heads: 8   # \U0001f9ea
  num_layers: 10
  context_parallel_size: 2
train: {micro_batch_size: 1, global_batch_size: 7}
"""
PIECES = st.sampled_from(
    [
        "",
        "4",
        "\n",
        "\r\n",
        " ",
        "  ",
        ": ",
        "{",
        "}",
        "[",
        '"',
        "#",
        "- ",
        "\t",
        "null",
        "\u2028",
        "\U0001f9ea",
        "&a ",
        "*a",
        "gpus=8 ",
        "---\n",
        "\n  tp_size: 2\n",
        "ddp: {overlap_grad_reduce: tru}\n",
        "  # lclint: ignore[heads-not-divisible-by-tensor-parallelism]",
    ]
)
EDITS = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 12), PIECES), min_size=1, max_size=8)


def position(text: str, offset: int) -> types.Position:
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return types.Position(len(before) - 1, len(before[-1].encode("utf-16-le")) // 2)


def fresh(text: str, folder: Path) -> list[Any] | None:
    """Rule and first position of each finding of a check of the file; None when the file cannot be read as a config."""
    (folder / "run.yaml").write_bytes(text.encode())
    report = check_paths([str(folder)], Options())
    if report.errors:
        return None
    found = []
    for finding in [finding for file in report.files for finding in file.findings]:
        line, column = finding.place.line or 1, finding.place.column or 1
        content = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[line - 1]
        found.append((finding.rule, line - 1, len(content[: column - 1].encode("utf-16-le")) // 2))
    return sorted(found)


def test_random_edits(editor: Callable[..., Any], tmp_path: Path) -> None:
    client = editor()
    number = iter(range(1_000_000))
    folder = tmp_path / "files"
    folder.mkdir()

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(EDITS, st.booleans())
    @example([(0, 0, "\u2028"), (0, 3, "")], False)
    def check(edits: list[tuple[int, int, str]], at_once: bool) -> None:
        text = START
        uri = client.open(text, f"file:///{next(number)}.yaml")
        changes: list[types.TextDocumentContentChangeEvent] = []
        for at, length, new in edits:
            start = min(at, len(text))
            end = min(start + length, len(text))
            # no edit starts or ends between the two halves of a line break
            start -= text[start - 1 : start + 1] == "\r\n"
            end += text[end - 1 : end + 1] == "\r\n"
            change = types.TextDocumentContentChangePartial(types.Range(position(text, start), position(text, end)), new)
            text = text[:start] + new + text[end:]
            if at_once:
                changes.append(change)
            else:
                client.change(uri, change)
        if at_once:
            client.change(uri, *changes)
        expected = fresh(text, folder)
        shown = client.latest(uri)
        if expected is None:
            assert [each.code for each in shown] == [None]
        elif shown and shown[0].code is None:
            # an earlier version was a config, and of this one nothing can be told
            assert expected == []
        else:
            assert sorted((each.code, each.range.start.line, each.range.start.character) for each in shown) == expected

    check()
    assert client.log == []
