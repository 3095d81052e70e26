"""The page about editors starts what there is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path


def test_the_settings_example_starts_the_server(checkout: Path, environment: dict[str, str]) -> None:
    page = (checkout / "docs" / "editors.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```json\n(.*?)^```", page, re.M | re.S)
    settings = json.loads(block)
    assert settings["glspc.server.command"] == "lclint"
    command = [sys.executable, "-m", "lclint", *settings["glspc.server.commandArguments"]]
    done = subprocess.run(command, input=b"", env=environment, capture_output=True, timeout=60, check=False)
    # no editor is there: it ends at once, and has nothing to complain of
    assert (done.returncode, done.stderr) == (1, b"")
