"""A client that talks to ``lclint server`` over its standard input and output, as an editor does."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

LONGEST = 60
WHOLE = types.Range(types.Position(0, 0), types.Position(100_000, 0))


class Editor:
    """An editor with one server; every method waits for what it asks for."""

    def __init__(self, environment: dict[str, str], capabilities: types.ClientCapabilities, arguments: tuple[str, ...], folder: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.shown: dict[tuple[str, int | None], list[types.Diagnostic]] = {}
        self.order: list[tuple[str, int | None]] = []
        self.log: list[str] = []
        self.registered: list[str] = []
        self.texts: dict[str, tuple[int, str]] = {}
        self.client = LanguageClient("tests", "1")
        self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self._show(params))
        self.client.feature(types.WINDOW_LOG_MESSAGE)(lambda params: self.log.append(params.message))
        self.client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda params: self.registered.extend(each.method for each in params.registrations))
        self.run(self.client.start_io(sys.executable, "-m", "lclint", "server", "--delay", "0", *arguments, env=environment, cwd=str(folder)))
        self.started = self.run(self.client.initialize_async(types.InitializeParams(capabilities)))
        self.client.initialized(types.InitializedParams())

    def _show(self, params: types.PublishDiagnosticsParams) -> None:
        self.shown[params.uri, params.version] = list(params.diagnostics)
        self.order.append((params.uri, params.version))

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(asyncio.wait_for(work, LONGEST))

    def diagnostics(self, uri: str, version: int | None = None) -> list[types.Diagnostic]:
        """What is shown of a version of a file, the present one unless another is named."""
        wanted = (uri, self.texts[uri][0] if version is None else version)

        async def wait() -> None:
            while wanted not in self.shown:
                await asyncio.sleep(0.002)

        self.run(wait())
        return self.shown[wanted]

    def open(self, text: str, uri: str = "file:///run.yaml") -> str:
        self.texts[uri] = (1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "yaml", 1, text)))
        return uri

    def change(self, uri: str, *changes: types.TextDocumentContentChangeEvent) -> int:
        """Send changes as one; the caller keeps track of the text."""
        version = self.texts[uri][0] + 1
        self.texts[uri] = (version, self.texts[uri][1])
        identifier = types.VersionedTextDocumentIdentifier(uri=uri, version=version)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, list(changes)))
        return version

    def retype(self, uri: str, text: str) -> int:
        """Replace the whole text."""
        version = self.change(uri, types.TextDocumentContentChangeWholeDocument(text))
        self.texts[uri] = (version, text)
        return version

    def hover(self, uri: str, line: int, character: int) -> types.Hover | None:
        where = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        return self.run(self.client.text_document_hover_async(where))

    def complete(self, uri: str, line: int, character: int) -> list[types.CompletionItem]:
        where = types.CompletionParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        found = self.run(self.client.text_document_completion_async(where))
        return [] if found is None else list(found.items)

    def actions(self, uri: str, where: types.Range = WHOLE, only: list[str] | None = None) -> list[types.CodeAction]:
        context = types.CodeActionContext([], only)
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), where, context)
        return self.run(self.client.text_document_code_action_async(params)) or []

    def resolve(self, action: types.CodeAction) -> types.CodeAction:
        return self.run(self.client.code_action_resolve_async(action))

    def close_all(self) -> None:
        for uri in self.texts:
            self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
        self.settle()
        for known in (self.shown, self.order, self.log, self.texts):
            known.clear()

    def latest(self, uri: str) -> list[types.Diagnostic]:
        """What is shown of a file once nothing is left to be done about it."""
        # nothing is published of a text that is no config: that of another file, opened later, tells that its turn has passed
        other = self.open("model: {num_layers: 8, tensor_model_parallel_size: 1}\n", "file:///later.yaml")
        self.shown.pop((other, 1), None)
        self.diagnostics(other)
        of_file = [version for each, version in self.order if each == uri]
        return self.shown[uri, of_file[-1]] if of_file else []

    def settle(self) -> None:
        """Wait until the server has read all that was sent before."""
        self.hover("file:///nothing", 0, 0)

    def end(self) -> int | None:
        """Shut the server down as an editor does; its exit code."""
        self.run(self.client.shutdown_async(None))
        self.client.exit(None)
        return self.wait()

    def wait(self) -> int | None:
        process = self.client._server
        assert process is not None
        self.run(process.wait())
        status: int | None = process.returncode
        self.run(self.client.stop())
        self.loop.close()
        return status


Start = Callable[..., Editor]


@pytest.fixture(scope="module")
def started() -> Iterator[dict[str, Editor]]:
    """The editors of a module's tests: starting one takes as long as a hundred answers."""
    editors: dict[str, Editor] = {}
    yield editors
    for each in editors.values():
        assert each.end() == 0


@pytest.fixture
def editor(environment: dict[str, str], tmp_path: Path, started: dict[str, Editor]) -> Start:
    """An editor with these capabilities and nothing open; the arguments are the server's."""

    def start(*arguments: str, capabilities: types.ClientCapabilities | None = None, python_path: Path | None = None) -> Editor:
        key = repr((arguments, capabilities, python_path))
        if key not in started:
            path = os.pathsep.join([*([str(python_path)] if python_path else []), environment["PYTHONPATH"]])
            started[key] = Editor(environment | {"PYTHONPATH": path}, capabilities or types.ClientCapabilities(), arguments, tmp_path)
        started[key].close_all()
        return started[key]

    return start
