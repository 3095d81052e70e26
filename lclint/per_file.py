"""What a check goes by for each of its files: the options that its settings and comments complete, the rules that these choose, the base."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lclint.core.errors import UsageError
from lclint.core.options import Options
from lclint.engine import rules as ruleset
from lclint.engine.rules import RuleSet
from lclint.settings.locate import Finder
from lclint.sources import document as documents
from lclint.sources import files
from lclint.sources.document import Document

if TYPE_CHECKING:
    from lclint.engine.baseline import Baseline, Known
    from lclint.settings.file import SettingsFile
    from lclint.settings.fill import Layer

_RULES = ("rules", "select", "ignore", "extend_select", "profile", "severity", "at_fields")


class PerFile:
    """One run's view of its files; settings, rules and bases are read once."""

    def __init__(self, options: Options) -> None:
        self.given = options
        self._finder = Finder(options.settings, options.no_settings)
        self._rules: dict[str, RuleSet] = {}
        self._loaded: dict[tuple[str, ...], RuleSet] = {}
        self._bases: dict[str, Document] = {}
        self._baselines: dict[str, Baseline] = {}
        self._checked: set[tuple[str, tuple[str, ...]]] = set()

    def near(self, path: str | None) -> Sequence[SettingsFile]:
        """The settings files in force for a file; for standard input and the command line (None) those of the working directory."""
        return self._finder.near(os.path.dirname(path) or "." if path is not None else ".")

    def excluded(self, path: str) -> str | None:
        """Where settings leave this file out, None where they do not."""
        near = self.near(path)
        if not near:
            return None
        from lclint.settings.fill import excluded

        return excluded(near, path)

    def options(self, path: str | None, document: Document | None = None) -> Options:
        """The options for a file. Raises LclintError for settings that say something wrong."""
        near = self.near(path)
        if not near:
            return self.given
        from lclint.config import header
        from lclint.settings.fill import fill

        said, _ = header.read(document)
        origins: dict[str, Layer] = {}
        options = fill(self.given, near, path or "<command line>", said, origins)
        if "recipe" in origins:
            self._check_recipe(options, origins["recipe"])
        self._check_entries(near, options)
        return options

    def rules(self, options: Options) -> RuleSet:
        """The rules that those options choose. Raises RuleError, and UsageError for a name that no rule has."""
        key = repr([getattr(options, name) for name in _RULES])
        found = self._rules.get(key)
        if found is None:
            found = self._rules[key] = choose(self._all_rules(options), options)
        return found

    def base(self, options: Options) -> Document | None:
        """The config below the file. Raises LclintError."""
        if options.base is None:
            return None
        if options.recipe is not None:
            raise UsageError("--base and --recipe are both given", hint="one of them says what lies below the file")
        found = self._bases.get(options.base)
        if found is None:
            found = self._bases[options.base] = documents.load(files.read(options.base), options.base)
        return found

    def known(self, options: Options, path: str) -> Known:
        """What the baseline knows of a file, nothing where there is none. Raises UsageError."""
        if options.baseline is None or options.bare:
            return {}
        found = self._baselines.get(options.baseline)
        if found is None:
            from lclint.engine import baseline

            found = self._baselines[options.baseline] = baseline.read(options.baseline)
        return found.known(path)

    def _all_rules(self, options: Options) -> RuleSet:
        key = tuple(options.rules)
        if key not in self._loaded:
            self._loaded[key] = ruleset.load(options.rules)
        return self._loaded[key]

    def _check_recipe(self, options: Options, layer: Layer) -> None:
        """Refuse a recipe of the settings that does not exist, with its line."""
        from lclint.catalog import recipes
        from lclint.config.build import release_of

        try:
            recipes.about(release_of(options), str(options.recipe))
        except UsageError as error:
            raise layer.source.error(f"recipe: {error.message}", *layer.where, "recipe", hint=error.hint) from None

    def _check_entries(self, near: Sequence[SettingsFile], options: Options) -> None:
        """Refuse names in settings files that no rule has, with their line."""
        for source in near:
            key = (source.path, tuple(options.rules))
            if key in self._checked:
                continue
            self._checked.add(key)
            from lclint.engine.selection import matching

            for where, entry in source.entries():
                try:
                    matching(entry, self._all_rules(options))
                except UsageError as error:
                    raise source.error(f"{where[-1]}: {error.message}", *where, entry, hint=error.hint) from None


def choose(rules: RuleSet, options: Options) -> RuleSet:
    """Of the rules those that the options choose, at their severities. Raises UsageError."""
    if not any(getattr(options, name) for name in _RULES[1:]):
        return rules
    from lclint.engine import selection

    chosen = selection.choose(rules, options.profile, options.select, options.ignore, options.extend_select, options.severity)
    chosen.at_fields = tuple((field, selection.by_case(rules, levels)) for field, levels in options.at_fields)
    return chosen
