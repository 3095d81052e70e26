"""The rules that fired, as SARIF's ``reportingDescriptor`` objects."""

from __future__ import annotations

import os
from typing import Any

from lclint.core.errors import LclintError
from lclint.core.finding import Finding
from lclint.engine import rulefile
from lclint.sources import document, files

# how GitHub code scanning sorts
GITHUB = {"error": "error", "warning": "warning", "info": "recommendation"}
LEVELS = {"error": "error", "warning": "warning", "info": "note"}


class Rules:
    """Collects the rules of the findings; ``folders`` are the users' own, beside the shipped ones."""

    def __init__(self, folders: list[str]) -> None:
        self.used: list[dict[str, Any]] = []
        self._indices: dict[str, int] = {}
        self._folders = folders
        self._files: dict[str, str] | None = None

    def index(self, finding: Finding) -> int:
        """Where in ``used`` the finding's rule stands."""
        index = self._indices.get(finding.rule)
        if index is None:
            index = self._indices[finding.rule] = len(self.used)
            self.used.append(self._descriptor(finding))
        return index

    def _descriptor(self, finding: Finding) -> dict[str, Any]:
        data = self._data(finding.rule)
        why = str(data.get("why") or finding.reason or finding.title or finding.rule).strip()
        references = [str(reference) for reference in data.get("references", [])]
        listed = "".join(f"\n- {reference}" for reference in references)
        title = finding.title or str(data.get("title", finding.rule))
        made: dict[str, Any] = {
            "id": finding.rule,
            "name": "".join(part.capitalize() for part in finding.rule.split("-")),
            "shortDescription": {"text": title},
            "fullDescription": {"text": finding.reason or title},
            "help": {
                "text": f"{why}\n\nReferences:{listed}" if listed else why,
                "markdown": f"{why}\n\n**References**\n{listed}" if listed else why,
            },
            "defaultConfiguration": {"level": LEVELS[finding.severity]},
            "properties": {"tags": [finding.impact], "problem.severity": GITHUB[finding.severity], "code": finding.code},
        }
        if finding.url:
            made["helpUri"] = finding.url
        return made

    def _data(self, name: str) -> dict[str, Any]:
        """What the rule's file says; nothing when no file is called after the rule."""
        if self._files is None:
            self._files = {}
            for folder in (*self._folders, rulefile.shipped("rules")):
                for file in rulefile.find(folder)[0]:
                    self._files.setdefault(os.path.splitext(os.path.basename(file))[0], file)
        path = self._files.get(name)
        if path is None:
            return {}
        try:
            data = document.load(files.read(path), path).data
        except LclintError:
            return {}
        return data if isinstance(data, dict) and data.get("name") == name else {}
