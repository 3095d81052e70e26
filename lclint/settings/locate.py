"""Finds the settings files that are in force for a folder: the nearest of each kind, upwards to the top of the repository.

A check of one file looks here before anything else: without a settings file it costs a few questions to the file system.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lclint.core.errors import UsageError

if TYPE_CHECKING:
    from lclint.settings.file import SettingsFile

OWN = "lclint.toml"
PROJECT = "pyproject.toml"
# the folder that holds one of these is the top of a repository
_TOPS = (".git", ".hg", ".jj")


class Finder:
    """Finds settings files and keeps what it read. ``only`` names one file that is in force everywhere; ``off`` finds none."""

    def __init__(self, only: str | None = None, off: bool = False) -> None:
        self._near: dict[str, tuple[SettingsFile | None, SettingsFile | None]] = {}
        self._only: tuple[SettingsFile, ...] | None = () if off else None
        if only is not None and not off:
            from lclint.settings import file

            found = file.read(only, os.path.basename(only) == PROJECT)
            if found is None:
                raise UsageError("has no table [tool.lclint]", only)
            self._only = (found,)

    def near(self, folder: str) -> tuple[SettingsFile, ...]:
        """The settings files in force for the files of a folder; what an earlier one says goes before a later one.

        Raises LclintError for one that cannot be read.
        """
        if self._only is not None:
            return self._only
        return tuple(found for found in self._search(os.path.abspath(folder)) if found is not None)

    def _search(self, folder: str) -> tuple[SettingsFile | None, SettingsFile | None]:
        known = self._near.get(folder)
        if known is not None:
            return known
        own, project = self._read(folder, OWN, False), self._read(folder, PROJECT, True)
        above = os.path.dirname(folder)
        if (own is None or project is None) and above != folder and not any(os.path.lexists(os.path.join(folder, name)) for name in _TOPS):
            further = self._search(above)
            own, project = own or further[0], project or further[1]
        self._near[folder] = own, project
        return own, project

    def _read(self, folder: str, name: str, project: bool) -> SettingsFile | None:
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            return None
        if project:
            # nearly every repository has one, few say anything of lclint: reading TOML costs more than a check
            try:
                if not os.path.isfile(path):
                    return None  # to open a FIFO is to wait for its writer
                with open(path, "rb") as handle:
                    if b"lclint" not in handle.read(1 << 20):
                        return None
            except OSError:
                return None
        from lclint.settings import file

        return file.read(path, project)
