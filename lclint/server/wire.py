"""The server itself: which message is answered by what, and when open files are checked.

Everything runs in one thread, in steps of a few milliseconds: reading and checking a file is one, the fixes of each finding are one each.
Between them waits whatever the client has sent, and an edit ends the work on the text before it.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import sys
from collections.abc import Callable, Generator
from typing import Any, BinaryIO, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method
from pygls.uris import to_fs_path

from lclint import __version__
from lclint.core.options import Options
from lclint.server import actions, completion, diagnostics, hover, spots
from lclint.server.analysis import Analysis, Shared
from lclint.server.positions import Text

# lets the thread that reads messages get one in between two steps of a check
PAUSE = 0.002
# fixes are worked out ahead of their being asked for when nothing has been typed for so many seconds
QUIET = 0.2
WATCHED = ("**/lclint.toml", "**/pyproject.toml")
Result = TypeVar("Result")


class Protocol(LanguageServerProtocol):
    """Answers requests that come before ``initialize`` or after ``shutdown`` with an error, as the protocol wants it.

    pygls keeps the texts as well, but lets their lines end where Python does (U+2028, form feed), loses the place, and fails: its
    copies are not kept up to date.
    """

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Generator[Any, Any, None]:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    def handle_message(self, message: Any) -> None:
        method = getattr(message, "method", None)
        if method is not None and hasattr(message, "id"):
            early = self._workspace is None and method != types.INITIALIZE
            if early or self._shutdown:
                code = types.ErrorCodes.ServerNotInitialized if early else types.ErrorCodes.InvalidRequest
                text = "initialize comes first" if early else "the server is shutting down"
                self._send_response(message.id, error=types.ResponseError(code.value, text))
                return
        super().handle_message(message)


class Open:
    """An open file: its text as the client last sent it, the latest analysis, the check that runs, whether diagnostics are shown."""

    __slots__ = ("uri", "path", "text", "version", "analysis", "task", "shown", "known")

    def __init__(self, uri: str, text: Text, version: int) -> None:
        self.uri = uri
        self.path = to_fs_path(uri) or uri
        self.text = text
        self.version = version
        self.analysis: Analysis | None = None
        self.task: asyncio.Task[None] | None = None
        self.shown = False
        self.known = False


class Server(LanguageServer):
    """``delay`` is how many seconds without another edit a check waits for."""

    def __init__(self, options: Options, delay: float) -> None:
        super().__init__("lclint", __version__, protocol_cls=Protocol, converter_factory=default_converter)
        self.shared = Shared(options)
        self.delay = delay
        self.files: dict[str, Open] = {}
        self.finished = False
        self._told: set[str] = set()

    def report_server_error(self, error: Exception, source: Any) -> None:
        self.tell(error)

    def tell(self, error: BaseException) -> None:
        """Report a fault of lclint's own in the client's log, each once."""
        trace, place = error.__traceback__, ""
        while trace is not None:
            place = f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}: "
            trace = trace.tb_next
        text = f"internal error, a bug in lclint: {place}{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        if text not in self._told:
            self._told.add(text)
            self.window_log_message(types.LogMessageParams(types.MessageType.Error, text))

    @property
    def shows(self) -> types.PublishDiagnosticsClientCapabilities:
        """What the client can show of a diagnostic."""
        document = self.client_capabilities.text_document
        return (document and document.publish_diagnostics) or types.PublishDiagnosticsClientCapabilities()

    @property
    def versioned(self) -> bool:
        """Whether the client takes edits for one version of a text."""
        edit = self.client_capabilities.workspace and self.client_capabilities.workspace.workspace_edit
        return bool(edit and edit.document_changes)

    @property
    def resolves_edits(self) -> bool:
        """Whether the client asks for the edit of an action only when a person has chosen it."""
        document = self.client_capabilities.text_document
        support = document and document.code_action and document.code_action.resolve_support
        return bool(support and "edit" in support.properties)

    def analysis(self, file: Open) -> Analysis:
        """The analysis of the file's present text."""
        if file.analysis is None or file.analysis.text is not file.text:
            file.analysis = Analysis(file.path, file.text, file.version, self.shared, file.known)
        return file.analysis

    def schedule(self, file: Open) -> None:
        """Check a file soon; what runs for its text of before is ended."""
        if file.task is not None:
            file.task.cancel()
        file.task = asyncio.get_running_loop().create_task(self._check(file))

    async def _check(self, file: Open) -> None:
        await asyncio.sleep(self.delay)
        try:
            analysis = self.analysis(file)
            found = diagnostics.of(analysis, file.uri, self.shows)
            # what does not parse at the moment may be a config all the same
            file.known = analysis.run is not None or (analysis.document is None and file.known)
            self._show(file, found, analysis.run is not None)
            pause = QUIET
            for finding in analysis.findings:
                await asyncio.sleep(pause)
                analysis.add_fixes(finding)
                pause = PAUSE
        except Exception as error:
            # what was shown is about another text
            self._show(file, [], False)
            self.tell(error)

    def _show(self, file: Open, found: list[types.Diagnostic], is_config: bool) -> None:
        if found or is_config or file.shown:
            file.shown = bool(found)
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(file.uri, found, file.version))

    def close(self, uri: str) -> None:
        """Forget a file that the client has closed, and what is shown of it."""
        file = self.files.pop(uri, None)
        if file is None:
            return
        if file.task is not None:
            file.task.cancel()
        if file.shown:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def stop(self) -> None:
        """End all work."""
        self.finished = True
        for file in self.files.values():
            if file.task is not None:
                file.task.cancel()

    def check_all(self) -> None:
        """Check every open file anew: something that they rest on has changed."""
        self.shared.forget()
        for file in self.files.values():
            file.analysis = None
            self.schedule(file)


def make(options: Options, delay: float) -> Server:
    """A server with all that it answers."""
    server = Server(options, delay)
    _notifications(server)
    _requests(server)
    return server


def _notifications(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        server.close(document.uri)
        encoding = server.workspace.position_encoding
        text = Text(document.text, getattr(encoding, "value", str(encoding)))
        file = server.files[document.uri] = Open(document.uri, text, document.version)
        server.schedule(file)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        file = server.files.get(params.text_document.uri)
        if file is not None:
            file.text = file.text.changed(list(params.content_changes))
            file.version = params.text_document.version
            server.schedule(file)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        server.check_all()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        server.check_all()

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        files = server.client_capabilities.workspace and server.client_capabilities.workspace.did_change_watched_files
        if files and files.dynamic_registration:
            watchers = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(pattern) for pattern in WATCHED])
            registration = types.Registration("lclint-settings", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, watchers)
            await server.client_register_capability_async(types.RegistrationParams([registration]))

    @server.feature(types.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.stop()


def _requests(server: Server) -> None:
    def guarded(answer: Callable[..., Result]) -> Callable[..., Result | None]:
        """No answer in the place of one that failed: the fault is told in the log."""

        @functools.wraps(answer)
        def call(params: Any) -> Result | None:
            try:
                return answer(params)
            except Exception as error:
                server.tell(error)
                return None

        return call

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    @guarded
    def on_hover(params: types.HoverParams) -> types.Hover | None:
        file = server.files.get(params.text_document.uri)
        analysis = server.analysis(file) if file is not None else None
        if analysis is None or analysis.document is None:
            return None
        spot = spots.at(analysis.document, analysis.text.offset(params.position))
        text = hover.text(analysis, spot) if spot is not None else None
        if spot is None or text is None:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), analysis.text.range(spot.start, spot.end))

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[" ", "=", "[", ",", ":"]))
    @guarded
    def on_completion(params: types.CompletionParams) -> types.CompletionList | None:
        file = server.files.get(params.text_document.uri)
        if file is None:
            return None
        return completion.complete(server.analysis(file), file.text.offset(params.position))

    kinds = [types.CodeActionKind.QuickFix, actions.FIX_ALL]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds, resolve_provider=True))
    @guarded
    def on_code_action(params: types.CodeActionParams) -> list[types.CodeAction] | None:
        file = server.files.get(params.text_document.uri)
        if file is None:
            return None
        analysis = server.analysis(file)
        only = None if params.context.only is None else [str(getattr(kind, "value", kind)) for kind in params.context.only]
        found: list[types.CodeAction] = []
        if actions.wanted(types.CodeActionKind.QuickFix.value, only):
            for finding in actions.findings_in(analysis, params.range):
                analysis.add_fixes(finding)
                diagnostic = diagnostics.of_finding(analysis, finding, file.uri, server.shows)
                found += actions.quick_fixes(analysis, finding, diagnostic, file.uri, server.versioned)
        if actions.wanted(actions.FIX_ALL, only) and actions.has_safe_fix(analysis):
            action = types.CodeAction("Fix all that is safe to fix", actions.FIX_ALL)
            if server.resolves_edits:
                action.data = {"uri": file.uri, "version": file.version}
                found.append(action)
            elif only is not None:
                found += [resolved for resolved in [resolve(action, file)] if resolved.edit is not None]
        return found

    def resolve(action: types.CodeAction, file: Open) -> types.CodeAction:
        analysis = server.analysis(file)
        edits = actions.fix_all(analysis)
        if edits:
            action.edit = actions.workspace_edit(analysis, edits, file.uri, server.versioned)
        return action

    @server.feature(types.CODE_ACTION_RESOLVE)
    @guarded
    def on_resolve(action: types.CodeAction) -> types.CodeAction:
        data = action.data if isinstance(action.data, dict) else {}
        file = server.files.get(str(data.get("uri")))
        # for a text that has changed since there is nothing to say
        return action if file is None or file.version != data.get("version") else resolve(action, file)


def serve(options: Options, delay: float) -> int:
    """Speak over standard input and output until the client says ``exit`` or goes away; 0 after an orderly shutdown, else 1."""
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    server = make(options, delay)
    with _own_output() as wire:
        server.start_io(sys.stdin.buffer, wire)
    return 0 if server.finished else 1


def _own_output() -> BinaryIO:
    """Standard output for the protocol alone: whatever else is printed goes to standard error."""
    wire = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return wire
