"""The server over the wire: what is shown while a text changes, and how the connection begins and ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

Start = Callable[..., Any]
WRONG = "model:\n  num_layers: 8\n  tensor_model_parallel_size: 3\n  num_attention_heads: 8\n"
RIGHT = WRONG.replace("size: 3", "size: 4")
RULE = "heads-not-divisible-by-tensor-parallelism"
SHOWS = types.ClientCapabilities(
    text_document=types.TextDocumentClientCapabilities(
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(
            related_information=True,
            tag_support=types.ClientDiagnosticsTagOptions(list(types.DiagnosticTag)),
            code_description_support=True,
        )
    )
)


def place(line: int, start: int, end: int) -> types.Range:
    return types.Range(types.Position(line, start), types.Position(line, end))


def codes(diagnostics: list[types.Diagnostic]) -> list[Any]:
    return [diagnostic.code for diagnostic in diagnostics]


def test_what_a_text_gets(editor: Start) -> None:
    client = editor(capabilities=SHOWS)
    (shown,) = [each for each in client.diagnostics(client.open(WRONG)) if each.code == RULE]
    assert shown.severity is types.DiagnosticSeverity.Error
    assert shown.source == "lclint"
    assert shown.range in (place(2, 30, 31), place(3, 23, 24))
    assert shown.code_description.href.endswith(f"/docs/rules/README.md#{RULE}")
    (related,) = shown.related_information
    assert related.location.uri == "file:///run.yaml"
    assert related.location.range in (place(2, 30, 31), place(3, 23, 24))
    assert related.location.range != shown.range


def test_a_client_that_shows_little(editor: Start) -> None:
    client = editor()
    (shown,) = [each for each in client.diagnostics(client.open(WRONG)) if each.code == RULE]
    assert (shown.code_description, shown.related_information, shown.tags) == (None, None, None)


def test_an_edit_of_one_character(editor: Start) -> None:
    client = editor()
    uri = client.open(WRONG)
    assert RULE in codes(client.diagnostics(uri))
    client.change(uri, types.TextDocumentContentChangePartial(place(2, 30, 31), "4"))
    assert client.diagnostics(uri) == []
    # each change of a notification counts what the one before it left
    client.change(
        uri,
        types.TextDocumentContentChangePartial(place(0, 0, 0), "# one\n# two\n"),
        types.TextDocumentContentChangePartial(place(4, 30, 31), "3"),
    )
    assert {each.range.start.line for each in client.diagnostics(uri) if each.code == RULE} <= {4, 5}
    assert RULE in codes(client.diagnostics(uri))


def test_edits_in_haste_end_with_the_last_text(editor: Start) -> None:
    client = editor()
    uri = client.open(RIGHT)
    for number in range(30):
        client.retype(uri, WRONG if number % 2 == 0 else RIGHT)
    assert client.diagnostics(uri) == []
    client.settle()
    versions = [version for _, version in client.order]
    assert versions == sorted(versions)
    assert versions[-1] == 31


def test_a_newer_edit_ends_the_wait_of_the_older(editor: Start) -> None:
    client = editor("--delay", "1000")
    uri = client.open(WRONG)
    for text in (RIGHT, WRONG, RIGHT):
        client.retype(uri, text)
    assert client.diagnostics(uri) == []
    assert client.order == [(uri, 4)]


def test_tags(editor: Start) -> None:
    client = editor(capabilities=SHOWS)
    old = "dataset:\n  _target_: megatron.bridge.training.config.FinetuningDatasetConfig\n  seq_length: 4096\n  do_test: false\n"
    shown = {each.code: each.tags for each in client.diagnostics(client.open(old))}
    assert list(shown["deprecated-class"]) == [types.DiagnosticTag.Deprecated]
    # one comment that silences nothing, and one finding about what is not merely in the way
    text = WRONG.replace("8\n", "8  # lclint: ignore[unknown-section]\n", 1)
    shown = {each.code: each.tags for each in client.diagnostics(client.open(text, "file:///b.yaml"))}
    assert list(shown["unused-ignore"]) == [types.DiagnosticTag.Unnecessary]
    assert shown[RULE] is None


def test_a_setting_that_is_only_in_the_way_is_unnecessary(editor: Start) -> None:
    text = "model:\n  tensor_model_parallel_size: 1\n  recompute_granularity: null\n  recompute_modules: [mlp]\n  moe_layer_recompute: false\n"
    client = editor(capabilities=SHOWS)
    tagged = [each for each in client.diagnostics(client.open(text)) if types.DiagnosticTag.Unnecessary in (each.tags or ())]
    assert [each.range.start.line for each in tagged] == [3]


def test_a_text_that_does_not_parse_shows_where(editor: Start) -> None:
    client = editor()
    uri = client.open(WRONG)
    client.diagnostics(uri)
    client.retype(uri, WRONG + "train: [1, 2\nddp: {}\n")
    (error,) = client.diagnostics(uri)
    assert error.severity is types.DiagnosticSeverity.Error
    assert "YAML" in error.message
    assert error.range.start.line in (4, 5)
    client.retype(uri, "model: {\n")
    (error,) = client.diagnostics(uri)
    assert error.range.start.line == 0
    client.retype(uri, RIGHT)
    assert client.diagnostics(uri) == []


@pytest.mark.parametrize("text", ["services:\n  web: {image: nginx}\n", "- a\n- b\n", "", "just text\n", "a: [\n"])
def test_other_files_get_nothing(editor: Start, text: str) -> None:
    client = editor()
    other = client.open(text, "file:///other.yaml")
    client.diagnostics(client.open(WRONG))
    assert [uri for uri, _ in client.order] == ["file:///run.yaml"]
    assert client.hover(other, 0, 1) is None
    assert client.complete(other, 0, 0) == []
    assert client.actions(other) == []


def test_what_stops_being_a_config_is_cleared(editor: Start) -> None:
    client = editor()
    uri = client.open(WRONG)
    assert client.diagnostics(uri)
    client.retype(uri, "services: {}\n")
    assert client.diagnostics(uri) == []
    client.retype(uri, WRONG)
    assert client.diagnostics(uri)
    client.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
    client.settle()
    assert client.shown[uri, None] == []


def test_header_and_options(editor: Start) -> None:
    text = "model: {tensor_model_parallel_size: 8, pipeline_model_parallel_size: 1, context_parallel_size: 1}\ntrain: {micro_batch_size: 1}\n"
    rule = "world-size-not-divisible"
    client = editor("--gpus", "12")
    assert rule in codes(client.diagnostics(client.open(text)))
    assert rule not in codes(client.diagnostics(client.open("# lclint: ignore-file[experts-do-not-divide]\n" + text.replace("size: 8", "size: 4"), "file:///b.yaml")))
    plain = editor()
    assert rule not in codes(plain.diagnostics(plain.open(text)))
    assert rule in codes(plain.diagnostics(plain.open(f"# lclint: gpus=12\n{text}", "file:///c.yaml")))
    (wrong,) = plain.diagnostics(plain.open(f"# lclint: gpu=h1000\n{text}", "file:///d.yaml"))
    assert (wrong.range.start.line, wrong.code) == (0, "malformed-comment")
    assert "h1000" in wrong.message


@pytest.mark.parametrize(("encoding", "units"), [("utf-16", 2), ("utf-8", 4), ("utf-32", 1)])
def test_position_encodings(editor: Start, encoding: str, units: int) -> None:
    asked = types.ClientCapabilities(general=types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind(encoding)]))
    client = editor(capabilities=asked)
    assert client.started.capabilities.position_encoding == encoding
    flow = 'model: {name: "\U0001f9ea", num_attention_heads: 8, tensor_model_parallel_size: 3}\n'
    before = flow.index("\U0001f9ea")
    uri = client.open(flow)
    (shown,) = [each for each in client.diagnostics(uri) if each.code == RULE]
    expected = {flow.index("8,") + units - 1, flow.index("3}") + units - 1}
    assert shown.range.start.character in expected
    hover = client.hover(uri, 0, flow.index("num_att") + units - 1)
    assert hover is not None
    assert hover.range == place(0, flow.index("num_att") + units - 1, flow.index(": 8") + units - 1)
    # behind the character, the client deletes it and writes it anew
    client.change(uri, types.TextDocumentContentChangePartial(place(0, before, before + units), "ab"))
    hover = client.hover(uri, 0, flow.index("num_att") + 1)
    assert hover is not None
    assert hover.range == place(0, flow.index("num_att") + 1, flow.index(": 8") + 1)


def test_without_a_wish_positions_count_utf_16(editor: Start) -> None:
    assert editor().started.capabilities.position_encoding == "utf-16"


def test_a_fault_in_a_check_is_told_once_and_ends_nothing(editor: Start, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import lclint.config.resolve as module\nold = module.resolve\n"
        "def resolve(run):\n    if 'model.fails' in run.written: raise RuntimeError('no')\n    return old(run)\nmodule.resolve = resolve\n",
        encoding="utf-8",
    )
    client = editor(python_path=tmp_path)
    uri = client.open(WRONG)
    assert client.diagnostics(uri)
    client.retype(uri, WRONG + "  fails: 1\n")
    assert client.diagnostics(uri) == []
    client.retype(uri, WRONG + "  fails: 2\n")
    client.settle()
    assert client.complete(uri, 3, 4) == []
    client.retype(uri, WRONG)
    assert client.diagnostics(uri)
    (told,) = client.log
    assert "RuntimeError: no" in told


def test_requests_before_initialize_and_after_shutdown_are_refused(environment: dict[str, str]) -> None:
    def framed(text: str) -> bytes:
        return f"Content-Length: {len(text)}\r\n\r\n{text}".encode()

    hover = '"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///a"},"position":{"line":0,"character":0}}'
    sent = [
        f'{{"jsonrpc":"2.0","id":1,{hover}}}',
        '{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}',
        '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":77}}',
        '{"jsonrpc":"2.0","id":3,"method":"shutdown"}',
        f'{{"jsonrpc":"2.0","id":4,{hover}}}',
        '{"jsonrpc":"2.0","method":"exit"}',
    ]
    done = subprocess.run(
        [sys.executable, "-m", "lclint", "server"], input=b"".join(map(framed, sent)), env=environment, capture_output=True, timeout=60, check=False
    )
    answers = done.stdout.decode()
    assert done.returncode == 0
    assert answers.count("Content-Length") == 4
    assert "-32002" in answers.partition('"id": 2')[0]
    assert "-32600" in answers.partition('"id": 3')[2]
    assert done.stderr == b""


def test_a_client_that_goes_away(environment: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, "-m", "lclint", "server"], input=b"", env=environment, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_without_the_extra(environment: dict[str, str]) -> None:
    program = "import sys; sys.modules['pygls'] = None; from lclint.cli.main import main; sys.exit(main(['server']))"
    done = subprocess.run([sys.executable, "-c", program], env=environment, input=b"", capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.decode() == "lclint: error: the language server needs pygls (pip install 'lclint[server]')\n"


def test_other_commands_do_not_load_it(environment: dict[str, str]) -> None:
    program = "import sys; from lclint.cli.main import main; main(['check', '--help']); sys.exit(any('pygls' in m or 'lsprotocol' in m for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, timeout=60, check=False).returncode == 0


def test_settings_are_watched(editor: Start) -> None:
    workspace = types.WorkspaceClientCapabilities(did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True))
    client = editor(capabilities=types.ClientCapabilities(workspace=workspace))
    client.settle()
    assert client.registered == [types.WORKSPACE_DID_CHANGE_WATCHED_FILES]


def test_a_fault_of_another_file_is_named_with_that_file(editor: Start, tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("a: 1\nb: [\n", encoding="utf-8")
    client = editor("--base", str(tmp_path / "base.yaml"))
    (shown,) = client.diagnostics(client.open(WRONG))
    assert shown.range == place(0, 0, 6)
    assert shown.message.startswith(f"{tmp_path / 'base.yaml'}:")


def test_each_folder_has_its_settings(editor: Start, tmp_path: Path) -> None:
    rule = "world-size-not-divisible"
    text = "model: {tensor_model_parallel_size: 8, pipeline_model_parallel_size: 1, context_parallel_size: 1}\ntrain: {micro_batch_size: 1}\n"
    for name, settings in (("one", "gpus = 12\n"), ("two", "gpus = 16\n"), ("three", 'gpus = 12\nexclude = ["run.yaml"]\n')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lclint.toml").write_text(settings, encoding="utf-8")
    client = editor()
    one, two, three = (client.open(text, (tmp_path / name / "run.yaml").as_uri()) for name in ("one", "two", "three"))
    assert rule in codes(client.diagnostics(one))
    assert rule not in codes(client.diagnostics(two))
    # settings that change while the file is open count at once, and say where they are wrong
    changed = types.DidChangeWatchedFilesParams([types.FileEvent((tmp_path / "two" / "lclint.toml").as_uri(), types.FileChangeType.Changed)])
    for settings, expected in (("gpus = 12\n", rule), ("gpuss = 12\n", None)):
        (tmp_path / "two" / "lclint.toml").write_text(settings, encoding="utf-8")
        client.shown.clear()
        client.client.workspace_did_change_watched_files(changed)
        assert expected in codes(client.diagnostics(two))
    (wrong,) = client.diagnostics(two)
    assert wrong.message.startswith(f"{tmp_path / 'two' / 'lclint.toml'}:1: ")
    assert three not in [uri for uri, _ in client.order]


def test_what_a_baseline_knows_is_not_shown(editor: Start, tmp_path: Path) -> None:
    file = tmp_path / "known.yaml"
    file.write_text(WRONG, encoding="utf-8")
    baseline = tmp_path / "lclint-baseline.json"
    (tmp_path / "lclint.toml").write_text('baseline = "lclint-baseline.json"\n', encoding="utf-8")
    baseline.write_text('{"version": 1, "files": {}}', encoding="utf-8")
    subprocess.run([sys.executable, "-m", "lclint", "check", "--write-baseline", str(file)], cwd=tmp_path, capture_output=True, timeout=60, check=False)
    client = editor()
    uri = client.open(WRONG, file.as_uri())
    assert client.diagnostics(uri) == []
    client.retype(uri, WRONG.replace("size: 3", "size: 5"))
    assert RULE in codes(client.diagnostics(uri))


def test_a_saved_base_is_read_again(editor: Start, tmp_path: Path) -> None:
    base = tmp_path / "base.yaml"
    base.write_text("model: {num_attention_heads: 8, num_layers: 8}\n", encoding="utf-8")
    client = editor("--base", str(base))
    uri = client.open("model: {tensor_model_parallel_size: 3}\n")
    assert RULE in codes(client.diagnostics(uri))
    base.write_text("model: {num_attention_heads: 9, num_layers: 8}\n", encoding="utf-8")
    client.shown.clear()
    client.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(base.as_uri())))
    assert RULE not in codes(client.diagnostics(uri))
