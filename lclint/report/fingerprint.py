"""Names of findings that stay the same when lines move."""

from __future__ import annotations

import hashlib

from lclint.core.finding import Finding


class Fingerprints:
    """Gives each finding of a report a hash of what it is about: file, rule, case and field, and a number where several agree.

    Neither the line nor the message goes in, since a message holds values of other fields.
    """

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def of(self, path: str, finding: Finding) -> str:
        """64 hexadecimal digits, different for every finding that it was asked for."""
        about = "\0".join((path, finding.rule, finding.case, finding.at))
        number = self._seen[about] = self._seen.get(about, -1) + 1
        return hashlib.sha256(f"{about}\0{number}".encode("utf-8", "surrogatepass")).hexdigest()
