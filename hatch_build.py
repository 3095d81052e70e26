"""Build hook: ship the rules compiled, so that no rule file is parsed when lclint starts."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

GENERATED = "lclint/_compiled_rules.py"


class CompileRules(BuildHookInterface):  # type: ignore[type-arg]
    """Compile ``rules/`` into one module of the wheel. An editable install compiles into the user's cache instead."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        try:
            from lclint.engine.compile import compile_directory

            source = compile_directory(os.path.join(self.root, "rules"))
        finally:
            sys.path.remove(self.root)
        self.generated = tempfile.mkdtemp(prefix="lclint-build-")
        path = os.path.join(self.generated, "compiled_rules.py")
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(source)
        build_data["force_include"][path] = GENERATED

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            shutil.rmtree(self.generated)
