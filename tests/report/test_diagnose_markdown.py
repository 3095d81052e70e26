"""A diagnosis in Markdown: what a log says is shown as it is, and the patch can be taken from the page."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from lclint import api
from lclint.core.finding import Evidence
from lclint.core.options import Options
from lclint.crash import summary
from lclint.diagnosing import Diagnosis, of_crash
from lclint.report import diagnose_markdown


def diagnosis_of(log: str) -> Diagnosis:
    return of_crash(summary.diagnose_text(log), None, None, Options(), api.load_rules(Options()))


def test_of_a_log(cli: Callable[..., Any], checkout: Path) -> None:
    log = checkout / "fixtures" / "logs" / "experts-on-one-rank.log"
    found = cli("diagnose", str(log), "--format", "markdown")
    assert (found.status, found.err) == (1, "")
    assert found.out.startswith("## GPU memory ran out on rank 11")
    tokens = MarkdownIt("commonmark").parse(found.out)
    assert any(token.type == "fence" and "torch.OutOfMemoryError" in token.content for token in tokens)
    assert ": Balance the routing" in found.out


def test_the_patch_is_one(cli: Callable[..., Any], checkout: Path, tmp_path: Path) -> None:
    log = checkout / "fixtures" / "logs" / "experts-on-one-rank.log"
    config = tmp_path / "run.yaml"
    before = (checkout / "fixtures" / "examples" / "qwen3-235b-128k-gb200.yaml").read_text(encoding="utf-8")
    config.write_text(before, encoding="utf-8")
    found = cli("diagnose", str(log), "--config", "run.yaml", "--format", "markdown")
    assert "| `model.num_layers` | `24` | `94` |\n" in found.out
    (patch,) = (token.content for token in MarkdownIt("commonmark").parse(found.out) if token.type == "fence" and token.info == "diff")
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch, text=True, check=True, timeout=60)
    assert config.read_text(encoding="utf-8") != before


def test_nothing_of_a_log_is_markup() -> None:
    diagnosis = diagnosis_of("")
    diagnosis.verdict = "<b>|*x*|</b> @someone\n# no heading ```"
    diagnosis.crash.evidence = [Evidence(path="a\nb.log", line=1, text="```\n</pre><script>\x1b[31m\udcff ````"), Evidence(path="x", line=2, text="y" * 9999)]
    text = diagnose_markdown.render(diagnosis)
    text.encode()
    tokens = MarkdownIt("commonmark").parse(text)
    assert tokens[1].type == "inline"
    assert "".join(part.content for part in tokens[1].children or []).replace("\u200b", "") == "<b>|*x*|</b> @someone # no heading ```"
    (fence,) = (token for token in tokens if token.type == "fence")
    assert fence.content.startswith("a\\x0ab.log:1: ```\\x0a</pre><script>\\x1b[31m\ufffd ````\nx:2: yyy")
    assert not any(token.type == "html_block" for token in tokens)


def test_it_fits_into_a_comment() -> None:
    diagnosis = diagnosis_of("")
    diagnosis.crash.notes = ["a long note " * 20] * 1000
    text = diagnose_markdown.render(diagnosis)
    assert len(text) < 65_536
    assert text.endswith("\nThe rest is not shown here.\n")
