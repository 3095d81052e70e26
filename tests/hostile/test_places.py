"""Configs that are no ordinary files, or lie where they cannot be read or written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TEXT = "model:\n  tensor_paralel_size: 2   # how many\n"
FIXED = TEXT.replace("paralel", "model_parallel")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    folder = tmp_path / "conf"
    folder.mkdir()
    path = folder / "run.yaml"
    path.write_text(TEXT)
    return path


def _without_rights() -> tuple[str, ...]:
    """The words that run a command so that permissions hold for it, also for root; skips where that cannot be done."""
    if os.geteuid() != 0:
        return ()
    words = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search")
    if shutil.which("setpriv") is None or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this test is for a user other than root")
    return words


@pytest.mark.parametrize("fix", [(), ("--fix",)])
def test_no_ordinary_file(fix: tuple[str, ...], tmp_path: Path, config: Path, refused: Callable[..., str]) -> None:
    os.mkfifo(tmp_path / "fifo.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    (tmp_path / "full.yaml").symlink_to("/dev/full")
    (tmp_path / "loop.yaml").symlink_to("loop2.yaml")
    (tmp_path / "loop2.yaml").symlink_to("loop.yaml")
    (tmp_path / "gone.yaml").symlink_to("nothing")
    for name in ("fifo.yaml", "zero.yaml", "full.yaml", "/dev/null", "/dev/zero"):
        refused(f"{name}: is not a regular file", "check", name, *fix)
    refused("leads to itself", "check", "loop.yaml", *fix)
    refused("is a link to a file that does not exist", "check", "gone.yaml", *fix)
    refused("is too long a path", "check", "n" * 300 + ".yaml", *fix)
    refused("is too long a path", "check", "d/" * 3_000 + "run.yaml", *fix)
    refused("a part of the path is a file", "check", "conf/run.yaml/x.yaml", *fix)
    refused("does not exist", "check", "two\nlines.yaml", *fix)
    refused("\\x1b[31mred.yaml: matches no YAML files", "check", "\x1b[31mred.yaml", *fix)
    refused("does not exist", "check", "not-\udcff-text.yaml", *fix)
    (tmp_path / "empty").mkdir()
    refused("holds no YAML files", "check", "empty", *fix)


@pytest.mark.parametrize("option", ["--base", "--rules"])
def test_no_ordinary_file_behind_an_option(option: str, tmp_path: Path, config: Path, refused: Callable[..., str]) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("fifo", "loop", "missing/x", "n" * 300):
        refused(name[:60], "check", str(config), option, name)


def test_a_folder_of_links(tmp_path: Path, config: Path, attack: Callable[..., Any]) -> None:
    (config.parent / "up").symlink_to("..")
    (config.parent / "self").symlink_to(".")
    (config.parent / "root").symlink_to("/")
    os.mkfifo(config.parent / "fifo.yaml")
    (config.parent / "loop.yaml").symlink_to("loop.yaml")
    for pattern in (
        ".",
        "conf/**/*.yaml",
        "**",
        "/".join(["**"] * 200) + "/*.yaml",
        "*/" * 50 + "*.yaml",
        "**/" + "[a-z]*" * 200 + ".yaml",
        "conf/" + "*" * 500,
    ):
        attack("check", "--fail-on", "never", pattern)


def test_globs_with_many_stars_in_a_deep_tree(tmp_path: Path, attack: Callable[..., Any]) -> None:
    folder = tmp_path.joinpath(*["d"] * 60)
    folder.mkdir(parents=True)
    (folder / "run.yaml").write_text(TEXT)
    attack("check", "--fail-on", "never", "/".join(["**", "d"] * 12) + "/none.yaml")
    attack("check", "--fail-on", "never", "**/d/" * 20 + "**/r*" + "*u" * 30 + "*x.yaml")


def test_no_permission(config: Path, refused: Callable[..., str]) -> None:
    words = _without_rights()
    config.chmod(0)
    refused("may not be read", "check", str(config), prefix=words)
    refused("may not be read", "check", "--fix", str(config), prefix=words)
    config.parent.chmod(0)
    try:
        refused("may not be read", "check", str(config.parent), prefix=words)
    finally:
        config.parent.chmod(0o755)


def test_a_read_only_folder_and_a_read_only_file(config: Path, refused: Callable[..., str]) -> None:
    words = _without_rights()
    config.chmod(0o444)
    config.parent.chmod(0o555)
    try:
        refused("it was not written", "check", "--fix", str(config), prefix=words)
        config.chmod(0o666)
        refused("cannot be written", "check", "--fix", str(config), prefix=words)
    finally:
        config.parent.chmod(0o755)
    assert config.read_text() == TEXT
    assert os.listdir(config.parent) == ["run.yaml"]


def test_a_full_disk(tmp_path: Path, config: Path, refused: Callable[..., str]) -> None:
    mount = ["unshare", "-m", "sh", "-c"]
    probe = f"mount -t tmpfs -o size=64k tmpfs {config.parent}"
    if shutil.which("unshare") is None or subprocess.run([*mount, probe], capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    script = (
        f'{probe} && cd {config.parent} && printf "%s" "$0" > run.yaml && dd if=/dev/zero of=filler bs=1k count=60 2>/dev/null; '
        f'dd if=/dev/zero of=filler2 bs=1k count=60 2>/dev/null; "$@"; status=$?; '
        f"cp run.yaml {tmp_path}/after; ls -A > {tmp_path}/listed; exit $status"
    )
    refused("the disk is full", "check", "--fix", str(config), prefix=(*mount, script, TEXT))
    assert (tmp_path / "after").read_text() == TEXT
    assert (tmp_path / "listed").read_text().split() == ["filler", "filler2", "run.yaml"]


def _patched(body: str) -> str:
    return f"import os, signal, sys\nfrom lclint.sources import files, writing\n{body}\nfrom lclint.cli.main import main\nsys.exit(main(sys.argv[1:]))\n"


def _fix(script: str, path: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _patched(script), "check", "--fix", "--fail-on", "never", str(path)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_a_file_that_changes_between_reading_and_writing(config: Path, environment: dict[str, str]) -> None:
    script = f"""
write = writing.write_atomic
def late(path, *rest, **more):
    open({str(config)!r}, "a").write("# somebody else\\n")
    return write(path, *rest, **more)
writing.write_atomic = late"""
    done = _fix(script, config, environment)
    assert done.returncode == 2
    assert "changed while lclint was working on it" in done.stderr
    assert "Traceback" not in done.stderr
    assert config.read_text() == TEXT + "# somebody else\n"


@pytest.mark.parametrize("call", ["write", "fsync", "replace", "chmod"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_while_it_writes(call: str, when: str, config: Path, environment: dict[str, str]) -> None:
    """After kill -9 the file holds the old text or the new one, and the next run repairs what is left."""
    script = f"""
was = os.{call} if {call!r} != "write" else os.fdopen
def killed(*arguments, **more):
    if {when!r} == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = was(*arguments, **more)
    if {call!r} == "write":
        result.write(b"model:")
        result.flush()
    os.kill(os.getpid(), signal.SIGKILL)
setattr(os, {call!r} if {call!r} != "write" else "fdopen", killed)
read = files.read
def first(path, *rest):
    os.fdopen, mine = OPEN, os.fdopen
    try:
        return read(path, *rest)
    finally:
        os.fdopen = mine
files.read = first"""
    done = _fix("OPEN = os.fdopen" + script, config, environment)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert config.read_text() in (TEXT, FIXED)
    again = _fix("", config, environment)
    assert again.returncode == 0, again.stderr
    assert config.read_text() == FIXED
