"""Colour and links: where they may be and what turns them on and off."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lclint.cli import output
from lclint.cli.main import main

CONFIG = "model: {hidden_sise: 1, tensor_model_parallel_size: 2}\n"
COLOUR = "\x1b[1;31m"
Surroundings = Callable[[bool, "dict[str, str]"], None]


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch) -> Surroundings:
    """Put the process on a terminal or a pipe, in an environment without what speaks of colour but what is given."""

    def put(terminal: bool, changes: dict[str, str]) -> None:
        for name in list(os.environ):
            if "COLOR" in name or name in ("CI", "TERM_PROGRAM", "VTE_VERSION", "WT_SESSION", "KONSOLE_VERSION", "DOMTERM", "FORCE_HYPERLINK"):
                monkeypatch.delenv(name)
        for name, value in ({"TERM": "xterm-256color"} | changes).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "stdout", Terminal() if terminal else io.StringIO())

    return put


class Terminal(io.StringIO):
    """Output that says it goes to a terminal."""

    def isatty(self) -> bool:
        return True


def shown(tmp_path: Path, environment: dict[str, str], terminal: bool, *words: str, **changes: str) -> str:
    """What ``lclint check`` writes to a pipe or to a terminal of its own, in an environment without what speaks of colour."""
    (tmp_path / "run.yaml").write_text(CONFIG, encoding="utf-8")
    kept = {name: environment[name] for name in ("PATH", "PYTHONPATH", "HOME", "XDG_CACHE_HOME") if name in environment}
    command = [sys.executable, "-m", "lclint", "check", "run.yaml", *words]
    settings = {"TERM": "xterm-256color", **kept, **changes}
    if not terminal:
        done = subprocess.run(command, cwd=tmp_path, env=settings, stdout=subprocess.PIPE, check=False, timeout=60)
        assert done.returncode == 1
        return done.stdout.decode()
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, cwd=tmp_path, env=settings, stdin=theirs, stdout=theirs) as process:
        os.close(theirs)
        data = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux says so when the other end is closed
                break
            if not part:
                break
            data += part
        os.close(ours)
        assert process.wait(60) == 1
    return data.decode()


@pytest.mark.parametrize(
    ("terminal", "changes", "coloured"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"CLICOLOR": "0"}, False),
        (True, {"CLICOLOR": "1"}, True),
        (False, {"CLICOLOR": "1"}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "0"}, False),
        (False, {"FORCE_COLOR": ""}, False),
        (False, {"CLICOLOR_FORCE": "1"}, True),
        (False, {"CLICOLOR_FORCE": "0"}, False),
        (False, {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour(terminal: bool, changes: dict[str, str], coloured: bool, surroundings: Surroundings) -> None:
    surroundings(terminal, changes)
    assert output.use_colour("auto") is coloured
    assert output.use_colour("auto", "report.txt") is False


@pytest.mark.parametrize("name", ["text", "concise"])
@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_colour(name: str, terminal: bool, tmp_path: Path, environment: dict[str, str]) -> None:
    assert (COLOUR in shown(tmp_path, environment, terminal, "--format", name)) is terminal


@pytest.mark.parametrize(("choice", "coloured"), [("always", True), ("never", False)])
def test_the_option_goes_before_the_environment(choice: str, coloured: bool, tmp_path: Path, environment: dict[str, str]) -> None:
    assert (COLOUR in shown(tmp_path, environment, False, "--color", choice, NO_COLOR="1", FORCE_COLOR="1")) is coloured


@pytest.mark.parametrize("name", ["json", "github"])
def test_what_programs_read_is_never_coloured(name: str, tmp_path: Path, environment: dict[str, str]) -> None:
    assert "\x1b" not in shown(tmp_path, environment, True, "--format", name, "--color", "always", FORCE_HYPERLINK="1")


@pytest.mark.parametrize(
    ("terminal", "changes", "linked"),
    [
        (True, {}, False),
        (True, {"TERM_PROGRAM": "WezTerm"}, True),
        (True, {"TERM": "xterm-kitty"}, True),
        (True, {"VTE_VERSION": "7006"}, True),
        (True, {"VTE_VERSION": "4999"}, False),
        (True, {"VTE_VERSION": "new"}, False),
        (True, {"TERM_PROGRAM": "WezTerm", "TERM": "screen-256color"}, False),
        (True, {"TERM_PROGRAM": "WezTerm", "CI": "true"}, False),
        (True, {"TERM_PROGRAM": "WezTerm", "NO_COLOR": "1"}, False),
        (True, {"TERM_PROGRAM": "WezTerm", "FORCE_HYPERLINK": "0"}, False),
        (True, {"FORCE_HYPERLINK": "1"}, True),
        (False, {"FORCE_HYPERLINK": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_links(terminal: bool, changes: dict[str, str], linked: bool, surroundings: Surroundings) -> None:
    surroundings(terminal, changes)
    assert output.use_links(output.use_colour("auto")) is linked
    assert output.use_links(True, "report.txt") is False


def test_a_link_leaves_the_words_as_they_are(tmp_path: Path, environment: dict[str, str]) -> None:
    plain = shown(tmp_path, environment, True)
    linked = shown(tmp_path, environment, True, FORCE_HYPERLINK="1")
    start = linked.index("\x1b]8;;")
    end = linked.index("\x1b\\", start)
    assert linked[start:end].endswith("docs/rules/README.md#unknown-key")
    assert linked[:start] + linked[end + 2 :].replace("\x1b]8;;\x1b\\", "") == plain


def test_the_list_of_rules_links_to_their_page(surroundings: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(output, "write", written.append)
    surroundings(True, {"FORCE_HYPERLINK": "1"})
    assert main(["rules", "list"]) == 0
    assert "\x1b]8;;https://github.com/lclint/lclint/blob/main/docs/rules/README.md#unknown-key\x1b\\" in written[0]


def test_quiet_leaves_the_findings_and_silent_nothing(tmp_path: Path, environment: dict[str, str]) -> None:
    loud, quiet, silent = (shown(tmp_path, environment, False, *words) for words in ([], ["--quiet"], ["--silent"]))
    assert loud.startswith(quiet)
    assert "1 file checked" in loud[len(quiet) :]
    assert "hidden_sise" in quiet
    assert silent == ""


def test_a_line_break_in_a_name_makes_no_second_message(tmp_path: Path, environment: dict[str, str]) -> None:
    """Neither in a finding, nor in an error, nor in the list of files."""
    (tmp_path / "a\nb.yaml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "c\nd.yaml").write_text("model: {tensor_model_parallel_size: [\n", encoding="utf-8")
    for words in (["--format", "concise", "."], ["--quiet", "."], ["--show-files", "."]):
        command = [sys.executable, "-m", "lclint", "check", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2
        assert "c\\nd.yaml" in done.stderr
        assert not any(line.startswith(("b.yaml", "d.yaml")) for line in (done.stdout + done.stderr).splitlines())
        assert "a\\x0ab.yaml" in done.stdout
