"""Which message is answered by what, over standard input and output."""

from __future__ import annotations

import functools
import logging
import os
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, TypeVar

from lsprotocol import types

from lclint.core.options import Options
from lclint.server import actions, completion, diagnostics, hover, spots
from lclint.server.positions import Text
from lclint.server.session import Open, Server

WATCHED = ("**/lclint.toml", "**/pyproject.toml", "**/lclint-baseline.json")
Result = TypeVar("Result")


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
