"""Fills the options of one file: what the command line leaves open, the file's own comment, then its settings files say.

Of two settings files the first that has a key counts. Within a file an override counts before what stands above it; ``ignore``,
``extend-select``, ``severity`` and ``env`` of all that apply add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lclint.core.options import Options
from lclint.sources import files

if TYPE_CHECKING:
    from lclint.settings.file import SettingsFile

_SINGLE = ("gpu", "gpus", "gpus-per-node", "bridge-version", "te-version", "torch-version", "fail-on")
_OFF = "off"


class Layer:
    """What one part of a settings file says of a checked file; ``where`` is the part, for the lines of messages."""

    __slots__ = ("source", "where", "values")

    def __init__(self, source: SettingsFile, where: tuple[str | int, ...], values: Mapping[str, Any]) -> None:
        self.source = source
        self.where = where
        self.values = values

    def place(self, key: str) -> str:
        """``lclint.toml:3``, for messages."""
        return f"{self.source.path}:{self.source.line(*self.where, key)}"


def layers(near: Iterable[SettingsFile], path: str) -> list[Layer]:
    """What the settings files say of a file, what counts first in front. Overrides of single fields are not among them."""
    found = []
    for source in near:
        name = source.relative(path)
        for override in reversed(source.overrides):
            if name is not None and any(matches(name, pattern) for pattern in override.paths):
                found.append(Layer(source, ("overrides", override.number), override.values))
        found.append(Layer(source, (), source.values))
    return found


def excluded(near: Iterable[SettingsFile], path: str) -> str | None:
    """The place of the ``exclude`` that leaves a file out, None when none does."""
    for source in near:
        if "exclude" in source.values:
            name = source.relative(path)
            found = name is not None and any(matches(name, pattern) for pattern in source.values["exclude"])
            return f"{source.path}:{source.line('exclude')}" if found else None
    return None


def matches(name: str, pattern: str) -> bool:
    """Whether a relative path is meant: by a glob (``**`` for any folders), by a folder that it is in, or, without a slash, by its own name."""
    pattern = pattern.removeprefix("./").rstrip("/")
    parts = name.split("/")
    if "/" not in pattern:
        return any(files.matches([part], [pattern]) for part in parts)
    wanted = pattern.lstrip("/").split("/")
    return any(files.matches(parts[:length], wanted) for length in range(1, len(parts) + 1))


def fill(options: Options, near: Sequence[SettingsFile], path: str, said: Mapping[str, Any] = {}, origins: dict[str, Layer] | None = None) -> Options:
    """The options for one file. ``said`` is what its own comment says; ``origins`` gets, by key, what each value came from.

    Returns ``options`` itself where there is nothing to add.
    """
    if not near:
        return options
    found = layers(near, path)
    origins = {} if origins is None else origins
    new: dict[str, Any] = {}
    for key in _SINGLE:
        name = key.replace("-", "_")
        layer = _first(found, key)
        if layer is not None and getattr(options, name) is None and name not in said:
            new[name] = layer.values[key]
            origins[key] = layer
    _below(options, found, said, new, origins)
    _environment(options, found, new, origins)
    for key in ("rules", "baseline"):
        layer = _first(found, key)
        if layer is not None and not getattr(options, key):
            value = layer.values[key]
            new[key] = [layer.source.resolve(item) for item in value] if key == "rules" else layer.source.resolve(value)
            origins[key] = layer
    _selection(options, found, new, origins)
    at_fields = _at_fields(near, path)
    if at_fields:
        new["at_fields"] = at_fields
    return Options(**{**{name: getattr(options, name) for name in Options.__slots__}, **new}) if new else options


def _first(found: Iterable[Layer], *names: str) -> Layer | None:
    return next((layer for layer in found if any(name in layer.values for name in names)), None)


def _same_file(found: Iterable[Layer], key: str) -> list[Layer]:
    """The layers of the first settings file that has the key, what counts first in front."""
    having = [layer for layer in found if key in layer.values]
    return [layer for layer in having if layer.source is having[0].source]


def _below(options: Options, found: list[Layer], said: Mapping[str, Any], new: dict[str, Any], origins: dict[str, Layer]) -> None:
    """The base or the recipe: one takes the place of the other."""
    layer = _first(found, "base", "recipe")
    if layer is None or options.base is not None or options.recipe is not None or "recipe" in said:
        return
    key = "base" if "base" in layer.values else "recipe"
    value = layer.values[key]
    new[key] = layer.source.resolve(value) if key == "base" else value
    origins[key] = layer


def _environment(options: Options, found: list[Layer], new: dict[str, Any], origins: dict[str, Layer]) -> None:
    named = _same_file(found, "env")
    if named:
        merged: dict[str, str] = {}
        for each in reversed(named):
            merged.update(each.values["env"])
        new["env"] = {**merged, **options.env}
        origins["env"] = named[0]
    layer = _first(found, "env-complete")
    if layer is not None and not options.env_complete:
        new["env_complete"] = layer.values["env-complete"]
        origins["env-complete"] = layer


def _selection(options: Options, found: list[Layer], new: dict[str, Any], origins: dict[str, Layer]) -> None:
    """Which rules are asked: ``--select`` and ``--profile`` say it anew."""
    groups = []
    for each in reversed(_same_file(found, "severity")):
        pairs = [pair for pair in each.values["severity"].items() if pair[1] != _OFF or not options.select]
        groups += [pairs] if pairs else []
        origins["severity"] = each
    if groups:
        new["severity"] = [*groups, *options.severity]
    if options.select:
        return
    listed = ["ignore"]
    if options.profile is None:
        listed.append("extend-select")
        chosen = _first(found, "select", "profile")
        if chosen is not None:
            key = "select" if "select" in chosen.values else "profile"
            new[key] = chosen.values[key]
            origins[key] = chosen
    for key in listed:
        name = key.replace("-", "_")
        entries = [entry for each in reversed(_same_file(found, key)) for entry in each.values[key]]
        if entries:
            new[name] = [*entries, *getattr(options, name)]
            origins[key] = _same_file(found, key)[0]


def _at_fields(near: Iterable[SettingsFile], path: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """The severities of single fields; what counts most stands last."""
    found = []
    for source in reversed(list(near)):
        name = source.relative(path)
        for override in source.overrides:
            levels = [*override.values.get("severity", {}).items(), *((entry, _OFF) for entry in override.values.get("ignore", ()))]
            found += [(field, levels) for glob, field in override.fields if name is not None and matches(name, glob)]
    return found
