"""What the user asks of a check, apart from the files: the command line's shared options as one value."""

from __future__ import annotations

from typing import Any

from lclint.core.finding import Record


class Options(Record):
    """The options of one check. What is None or empty was not given; nothing is guessed for it.

    ``sets`` are Hydra override strings as typed, and ``words`` those that came as words of the command line, which are applied
    after them. ``base`` is a config file that the checked files override, ``recipe`` a published recipe in its place. ``env`` the
    variables of the launch environment (all of them when ``env_complete``), ``gpus`` and ``gpus_per_node`` counts of GPUs.
    ``rules`` are directories of the user's own rule files; ``select``, ``ignore`` and ``extend_select`` hold rule names, codes or
    ``name/case``. ``fix`` writes files, ``diff`` computes the same without writing, ``unsafe_fixes`` lets both take unsafe fixes.
    ``stdin_filename`` is the name under which standard input (``-``) is reported. ``skip_unparsable`` passes over named files
    that are not YAML and hold no Megatron field, as is done for files found in folders. Without ``needs`` the report does not say what
    would decide an undecided case, and takes a fifth of the memory.
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
        "fix": False,
        "unsafe_fixes": False,
        "diff": False,
        "stdin_filename": None,
        "skip_unparsable": False,
        "needs": True,
    }
