"""Whatever goes wrong: exit code 2 and one line on standard error, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lclint.cli.main import main
from lclint.core.errors import InputError, LclintError
from lclint.core.finding import FileReport, Finding, Place, Report

RunMain = Callable[..., int]


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Let the checker give this report, or raise this error."""

    def put(result: Any) -> None:
        def check_paths(paths: list[str], options: Any) -> Report:
            if isinstance(result, BaseException):
                raise result
            assert isinstance(result, Report)
            return result

        module = types.ModuleType("lclint.api")
        module.check_paths = check_paths  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "lclint.api", module)
        monkeypatch.setattr("lclint.api", module, raising=False)

    return put


@pytest.fixture
def report() -> Report:
    findings = [
        Finding(
            rule=f"rule-{severity}",
            code="LC001",
            case="case",
            severity=severity,
            impact="advice",
            message="名前",
            place=Place(at="model.x", path="a.yaml", line=1, column=1, end_line=1, end_column=2),
        )
        for severity in ("warning", "info")
    ]
    return Report(files=[FileReport(path="a.yaml", kind="override", bridge_version="0.6", findings=findings, text="x: 名前\n")])


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("cannot be read", "a.yaml", 3, "is it YAML?"), "lclint: error: a.yaml:3: cannot be read (is it YAML?)"),
        (LclintError("bad\x1b[31m"), "lclint: error: bad\\x1b[31m"),
        (KeyboardInterrupt(), "lclint: error: interrupted"),
        (FileNotFoundError(2, "No such file or directory", "b.yaml"), "lclint: error: b.yaml: No such file or directory"),
        (OSError(28, "No space left on device"), "lclint: error: No space left on device"),
    ],
)
def test_one_line(error: BaseException, line: str, answer: Callable[[Any], None], capsys: pytest.CaptureFixture[str]) -> None:
    answer(error)
    assert main(["check", "a.yaml"]) == 2
    assert capsys.readouterr() == ("", line + "\n")


@pytest.mark.parametrize("error", [KeyError("x"), RecursionError("deep"), MemoryError(), AssertionError("two\nlines")])
def test_an_internal_error_says_so(error: Exception, answer: Callable[[Any], None], capsys: pytest.CaptureFixture[str]) -> None:
    answer(error)
    assert main(["check", "a.yaml"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("lclint: error: internal error, a bug in lclint: ")
    assert "test_errors" in err
    assert "issues" in err
    assert "LCLINT_DEBUG=1" in err


def test_debugging_shows_the_traceback(
    answer: Callable[[Any], None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCLINT_DEBUG", "1")
    answer(KeyError("x"))
    assert main(["check", "a.yaml"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["chek"], "No such command"),
        (["check", "--gpsu", "3", "a.yaml"], "--gpus"),
        (["check"], "nothing to check"),
        (["check", "--gpus", "0", "a.yaml"], "--gpus"),
        (["check", "--gpus", "many", "a.yaml"], "--gpus"),
        (["check", "--env", "NAME", "a.yaml"], "NAME=VALUE"),
        (["check", "--env", "=1", "a.yaml"], "NAME=VALUE"),
        (["check", "--format", "xml", "a.yaml"], "'json'"),
        (["check", "--fail-on", "fatal", "a.yaml"], "'never'"),
        (["check", "--diff", "--format", "json", "a.yaml"], "--output"),
        (["check", "--gpu", "h1000", "a.yaml"], "h100"),
        (["rules"], "Missing command"),
    ],
)
def test_usage(arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert part in err


def test_without_a_command_help_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "check" in err


@pytest.mark.parametrize(("fail_on", "status"), [("error", 0), ("warning", 1), ("info", 1), ("never", 0)])
def test_fail_on(fail_on: str, status: int, answer: Callable[[Any], None], report: Report, capsys: pytest.CaptureFixture[str]) -> None:
    answer(report)
    assert main(["check", "a.yaml", "--fail-on", fail_on]) == status
    assert "1 warning, 1 info" in capsys.readouterr().out


def test_by_default_info_does_not_fail(answer: Callable[[Any], None], report: Report, capsys: pytest.CaptureFixture[str]) -> None:
    del report.files[0].findings[0]
    answer(report)
    assert main(["check", "a.yaml"]) == 0


def test_output_goes_to_the_file(
    answer: Callable[[Any], None], report: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    answer(report)
    target = tmp_path / "out.txt"
    assert main(["check", "a.yaml", "--output", str(target)]) == 1
    assert capsys.readouterr() == ("", "")
    text = target.read_text(encoding="utf-8")
    assert "名前" in text
    assert "\x1b" not in text


def test_output_that_cannot_be_written(
    answer: Callable[[Any], None], report: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(report)
    assert main(["check", "a.yaml", "--output", str(tmp_path / "no" / "out.txt")]) == 2
    assert capsys.readouterr().err == f"lclint: error: {tmp_path / 'no' / 'out.txt'}: cannot write: No such file or directory\n"


@pytest.mark.parametrize(
    ("variables", "option", "coloured"),
    [
        ({}, "auto", False),
        ({"FORCE_COLOR": "1"}, "auto", True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, "auto", False),
        ({"NO_COLOR": "1"}, "always", True),
        ({"FORCE_COLOR": "1"}, "never", False),
        ({"FORCE_COLOR": "0"}, "auto", False),
    ],
)
def test_colour(
    variables: dict[str, str],
    option: str,
    coloured: bool,
    answer: Callable[[Any], None],
    report: Report,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    answer(report)
    main(["check", "a.yaml", "--color", option])
    assert ("\x1b[" in capsys.readouterr().out) is coloured


def _start(environment: dict[str, str], *arguments: str, **settings: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "lclint", *arguments]
    return subprocess.Popen(command, env=environment | settings.pop("env", {}), stderr=subprocess.PIPE, **settings)


def test_a_reader_that_goes_away(environment: dict[str, str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = _start(environment, "check", "--help", stdout=writing)
    os.close(writing)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (2, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("arguments", [["--version"], ["check", "--help"], ["rules", "list"]])
def test_a_full_disk(arguments: list[str], environment: dict[str, str]) -> None:
    with open("/dev/full", "wb") as full:
        process = _start(environment, *arguments, stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err.decode().startswith("lclint: error: ")
    assert err.endswith(b"No space left on device\n")
    assert err.count(b"\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_closed_standard_streams(environment: dict[str, str]) -> None:
    for closing in (">&-", "2>&-", ">&- 2>&- <&-"):
        done = subprocess.run(
            ["sh", "-c", f'"{sys.executable}" -m lclint chek {closing}'], env=environment, capture_output=True, timeout=60, check=False
        )
        assert done.returncode == 2, closing


def test_a_terminal_without_the_characters(cli: Callable[..., Any]) -> None:
    done = cli("chek\u540d", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C.UTF-8"})
    assert done.status == 2
    assert "chek\\u540d" in done.err


def test_shell_completion(cli: Callable[..., Any]) -> None:
    asked = {"_LCLINT_COMPLETE": "bash_complete", "COMP_WORDS": "lclint check --gpus", "COMP_CWORD": "2"}
    done = cli(env=asked)
    assert done.status == 0
    assert "--gpus-per-node" in done.out
