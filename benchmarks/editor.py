"""How fast the language server answers about a dump of 1,000 lines: median and 95th percentile of each request, in milliseconds.

    python benchmarks/editor.py [--runs N] [--delay MS]

A client types into an open file over standard input and output, as an editor does. "edit" is the time from a change to the diagnostics of
the text with it, the server's --delay included. "CPU" is the server's CPU time from the answer before to this one (Linux only): what a
machine that is busy otherwise leaves as it is. Needs lclint[server].
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any

import yaml
from lsprotocol import types
from pygls.lsp.client import LanguageClient
from startup import dump

RECIPES = ("deepseek_v3_pretrain_256gpu_gb200_bf16_config", "gemma3_vl_27b_sft_16gpu_h100_bf16_config")
WARM = 5


def recipe(name: str) -> str:
    """A published recipe as Bridge would save it, on the hardware of its name."""
    from lclint.catalog import recipes

    gpus, gpu = name.split("_")[-4].removesuffix("gpu"), name.split("_")[-3]
    return f"# lclint: gpu={gpu} gpus={gpus}\n" + yaml.safe_dump(recipes.load("0.6", name), width=1000)


def cpu(process: int) -> float:
    """Seconds of CPU time that a process has used; 0 where the system does not say."""
    return sum(int(file.read_text().split()[0]) for file in Path(f"/proc/{process}/task").glob("*/schedstat")) / 1e9


class Editor:
    """One open file of a client."""

    def __init__(self, client: LanguageClient, text: str) -> None:
        self.client = client
        self.lines = text.split("\n")
        self.version = 1
        self.shown: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        self.found: Sequence[types.Diagnostic] = ()
        self.uri = "file:///run_config.yaml"

    async def open(self) -> int:
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(self.uri, "yaml", 1, "\n".join(self.lines))))
        await self.wait()
        return len(self.found)

    async def wait(self) -> None:
        """Wait for what is found in the present version."""
        while (shown := await self.shown.get()).version != self.version:
            pass
        self.found = shown.diagnostics

    def place(self, key: str, behind: str = "") -> types.TextDocumentPositionParams:
        number = next(number for number, line in enumerate(self.lines) if line.startswith(f"  {key}:"))
        return types.TextDocumentPositionParams(types.TextDocumentIdentifier(self.uri), types.Position(number, 4 + len(behind)))

    async def edit(self, key: str, value: Any) -> None:
        """Give a key another value, and wait for what is found then."""
        self.version += 1
        number = self.place(key).position.line
        new = f"  {key}: {value}"
        place = types.Range(types.Position(number, 0), types.Position(number, len(self.lines[number])))
        self.lines[number] = new
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(uri=self.uri, version=self.version), [types.TextDocumentContentChangePartial(place, new)]
            )
        )
        await self.wait()


async def measure(name: str, text: str, runs: int, delay: int) -> None:
    client = LanguageClient("benchmark", "1")
    editor = Editor(client, text)
    client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda shown: editor.shown.put_nowait(shown))
    await client.start_io(sys.executable, "-m", "lclint", "server", "--delay", str(delay))
    await client.initialize_async(types.InitializeParams(types.ClientCapabilities()))
    client.initialized(types.InitializedParams())
    found = await editor.open()
    taken: dict[str, list[tuple[float, float]]] = {}
    process = client._server
    assert process is not None
    used = cpu(process.pid)

    async def timed(what: str, answer: Awaitable[Any]) -> Any:
        nonlocal used
        start = time.perf_counter()
        result = await answer
        wall, before, used = time.perf_counter() - start, used, cpu(process.pid)
        taken.setdefault(what, []).append((wall * 1000, (used - before) * 1000))
        return result

    for number in range(WARM + runs):
        if number == WARM:
            taken.clear()
        # right behind an edit nothing is known of the new text yet
        await timed("edit", editor.edit("seq_length", 4096 if number % 2 else 8192))
        at = editor.place("tensor_model_parallel_size")
        await timed("hover, right after an edit", client.text_document_hover_async(types.HoverParams(at.text_document, at.position)))
        at = editor.place("sequence_parallel", "quence_parallel: ")
        await timed("completion of a value", client.text_document_completion_async(types.CompletionParams(at.text_document, at.position)))
        at = editor.place("seq_length", "q")
        await timed("completion of a key", client.text_document_completion_async(types.CompletionParams(at.text_document, at.position)))
        whole = types.Range(types.Position(0, 0), types.Position(len(editor.lines), 0))
        context = types.CodeActionContext([], only=[types.CodeActionKind.QuickFix])
        for what, place in [("code actions of a finding", each.range) for each in editor.found[:1]] + [("code actions of the whole file", whole)]:
            await timed(what, client.text_document_code_action_async(types.CodeActionParams(at.text_document, place, context)))
        context = types.CodeActionContext([], only=[types.CodeActionKind.SourceFixAll])
        await timed("fix all", client.text_document_code_action_async(types.CodeActionParams(at.text_document, whole, context)))
    print(f"{name}: {len(editor.lines) - 1} lines, {found} findings")
    for what, values in taken.items():
        walls, cpus = zip(*values, strict=True)
        busy = f"   CPU median {statistics.median(cpus):6.1f}   95 % {statistics.quantiles(cpus, n=20)[-1]:6.1f}" if any(cpus) else ""
        print(f"  {what:32} median {statistics.median(walls):6.1f}   95 % {statistics.quantiles(walls, n=20)[-1]:6.1f}{busy}")
    await client.shutdown_async(None)
    client.exit(None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=40, help="answers of each kind (default 40)")
    parser.add_argument("--delay", type=int, default=20, help="the server's --delay (default 20)")
    given = parser.parse_args()
    for name, text in (("every field at its default", dump()), *((name, recipe(name)) for name in RECIPES)):
        asyncio.run(measure(name, text, given.runs, given.delay))


if __name__ == "__main__":
    main()
