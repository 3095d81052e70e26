"""The state of a connection: the open files, the check that runs for each, and what the client can show.

Everything runs in one thread, in steps of a few milliseconds: reading and checking a file is one, the fixes of each finding are one each.
Between them waits whatever the client has sent, and an edit ends the work on the text before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method
from pygls.uris import to_fs_path

from lclint import __version__
from lclint.core.errors import LclintError
from lclint.core.options import Options
from lclint.per_file import PerFile
from lclint.server import diagnostics
from lclint.server.analysis import Analysis
from lclint.server.positions import Text

# lets the thread that reads messages get one in between two steps of a check
PAUSE = 0.002
# fixes are worked out ahead of their being asked for when nothing has been typed for so many seconds
QUIET = 0.2


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
        self.path = to_fs_path(uri) if uri.startswith("file:") else None
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
        self.per_file = PerFile(options)
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
            file.analysis = Analysis(file.path, file.text, file.version, self.per_file, file.known, file.uri)
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
        """Check every open file anew: settings, rules, a base or a baseline may have changed."""
        try:
            self.per_file = PerFile(self.per_file.given)
        except LclintError as error:
            # --settings names a file that cannot be read at the moment: what it said before holds
            self.window_log_message(types.LogMessageParams(types.MessageType.Error, str(error)))
        for file in self.files.values():
            file.analysis = None
            self.schedule(file)
