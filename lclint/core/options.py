"""What the user asks of a check, apart from the files: the command line's shared options as one value."""

from __future__ import annotations

from typing import Any

from lclint.core.errors import UsageError
from lclint.core.finding import SEVERITIES, Record

DEFAULT_PROFILE = "recommended"
# name -> what it asks
PROFILES = {
    "start-up": "what stops the job before its first step is done",
    "recommended": "everything, without hints (info) about what a recipe or base alone says",
    "all": "everything",
}
# what severity settings may say of a rule, besides the severities that findings have
LEVELS = (*SEVERITIES, "off")
# of Bridge, Transformer Engine and PyTorch: 2.9, 2.9.0a0+git1234
VERSION = r"\d+(\.\d+)*([.+-]?[A-Za-z][\w.+-]*)?"


class Options(Record):
    """The options of one check. What is None or empty was not given; nothing is guessed for it.

    ``sets`` are Hydra override strings as typed, and ``words`` those that came as words of the command line, which are applied
    after them. ``base`` is a config file that the checked files override, ``recipe`` a published recipe in its place. ``env`` the
    variables of the launch environment (all of them when ``env_complete``), ``gpus`` and ``gpus_per_node`` counts of GPUs.

    ``rules`` are directories of the user's own rule files; ``select``, ``ignore`` and ``extend_select`` hold rule names, codes, patterns or
    ``name/case``; without ``select`` the ``profile`` says which rules are asked. ``severity`` are groups of pairs of such an entry and
    error, warning, info or off, later groups above earlier ones; ``at_fields`` is one group for each pattern of field paths.

    ``settings`` is a settings file in the place of those that lie near each file, ``no_settings`` leaves them all out. ``baseline`` is a
    file of findings that are known and not reported, ``bare`` reports them all the same, ``fail_on`` is the least severity that fails a
    check. ``fix`` writes files, ``diff`` computes the same without writing, ``unsafe_fixes`` lets both take unsafe fixes.
    ``stdin_filename`` is the name under which standard input (``-``) is reported. ``skip_unparsable`` passes over named files that are
    not YAML and hold no Megatron field, as is done for files found in folders. Without ``needs`` the report does not say what would
    decide an undecided case, and takes a fifth of the memory.
    """

    __slots__ = (
        "gpu",
        "gpus",
        "gpus_per_node",
        "sets",
        "words",
        "env",
        "env_complete",
        "base",
        "recipe",
        "bridge_version",
        "te_version",
        "torch_version",
        "rules",
        "select",
        "ignore",
        "extend_select",
        "profile",
        "severity",
        "at_fields",
        "settings",
        "no_settings",
        "baseline",
        "bare",
        "fail_on",
        "fix",
        "unsafe_fixes",
        "diff",
        "stdin_filename",
        "skip_unparsable",
        "needs",
    )
    gpu: str | None
    gpus: int | None
    gpus_per_node: int | None
    sets: list[str]
    words: list[str]
    env: dict[str, str]
    env_complete: bool
    base: str | None
    recipe: str | None
    bridge_version: str | None
    te_version: str | None
    torch_version: str | None
    rules: list[str]
    select: list[str]
    ignore: list[str]
    extend_select: list[str]
    profile: str | None
    severity: list[list[tuple[str, str]]]
    at_fields: list[tuple[str, list[tuple[str, str]]]]
    settings: str | None
    no_settings: bool
    baseline: str | None
    bare: bool
    fail_on: str | None
    fix: bool
    unsafe_fixes: bool
    diff: bool
    stdin_filename: str | None
    skip_unparsable: bool
    needs: bool
    defaults: dict[str, Any] = {
        "gpu": None,
        "gpus": None,
        "gpus_per_node": None,
        "sets": [],
        "words": [],
        "env": {},
        "env_complete": False,
        "base": None,
        "recipe": None,
        "bridge_version": None,
        "te_version": None,
        "torch_version": None,
        "rules": [],
        "select": [],
        "ignore": [],
        "extend_select": [],
        "profile": None,
        "severity": [],
        "at_fields": [],
        "settings": None,
        "no_settings": False,
        "baseline": None,
        "bare": False,
        "fail_on": None,
        "fix": False,
        "unsafe_fixes": False,
        "diff": False,
        "stdin_filename": None,
        "skip_unparsable": False,
        "needs": True,
    }


def refuse_slips(options: Options) -> None:
    """Raise UsageError for a value that can only be a slip."""
    for name in ("te_version", "torch_version"):
        value = getattr(options, name)
        if value is not None:
            import re

            if re.fullmatch(VERSION, value) is None:
                raise UsageError(f"--{name.replace('_', '-')} {value[:40]}: this is no version", hint="write it as 2.9 or 2.9.1")
