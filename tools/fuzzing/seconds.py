"""Second opinions on a YAML text that share no code with lclint: PyYAML's own scanner for comments, ruamel.yaml for values and comments."""

from __future__ import annotations

import io
import re
from collections import Counter
from typing import Any

import ruamel.yaml
import yaml

_SCALARS = (yaml.ScalarToken, yaml.AnchorToken, yaml.TagToken, yaml.AliasToken)


def comments(text: str) -> Counter[str]:
    """The comments between the tokens that PyYAML's pure scanner sees, without blanks at their ends."""
    return Counter(comment for comment, _ in _comments(text))


def dropped(text: str) -> set[str]:
    """The comments of which ruamel.yaml drops some when it writes.

    They stand within brackets, between a key or dash and its scalar or right behind such a scalar, right behind a ``|`` or ``>`` text, and
    before ``---`` and ``...``.
    """
    return {comment for comment, odd in _comments(text) if odd}


def _comments(text: str) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    position = depth = 0
    last: Any = None
    behind = False  # what ruamel.yaml may drop comments behind of
    for token in _tokens(text):
        if isinstance(token, yaml.BlockEndToken):
            continue
        comments = re.findall(r"#[^\r\n]*", text[position : token.start_mark.index])
        waits = isinstance(last, (yaml.ValueToken, yaml.BlockEntryToken)) and isinstance(token, _SCALARS)
        ends = isinstance(token, (yaml.DocumentEndToken, yaml.DocumentStartToken))
        found += [(comment.rstrip(), depth > 0 or waits or ends or behind) for comment in comments]
        behind = (waits and bool(comments)) or (behind and isinstance(last, (yaml.AnchorToken, yaml.TagToken)))
        last = token
        position = token.end_mark.index
        depth += isinstance(token, (yaml.FlowMappingStartToken, yaml.FlowSequenceStartToken))
        depth -= isinstance(token, (yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken))
        if isinstance(token, yaml.ScalarToken) and token.style in ("|", ">"):
            behind = True
            header = re.match(r"[|>][-+0-9]*[ \t]+(#[^\r\n]*)", text[token.start_mark.index :])
            found += [(header.group(1).rstrip(), True)] if header else []
    found += [(comment.rstrip(), behind) for comment in re.findall(r"#[^\r\n]*", text[position:])]
    return found


def _tokens(text: str) -> list[Any]:
    loader = yaml.SafeLoader(text)
    tokens = []
    while loader.check_token():
        tokens.append(loader.get_token())
    return tokens


def ruamel_data(text: str) -> Any:
    """The first document's values as ruamel.yaml reads YAML 1.1."""
    reader = ruamel.yaml.YAML(typ="safe", pure=True)
    reader.version = (1, 1)  # type: ignore[assignment]
    reader.allow_duplicate_keys = True
    return next(iter(reader.load_all(text)), None)


def ruamel_comments(text: str) -> Counter[str]:
    """The comments that are left when ruamel.yaml has read the text and written it again."""
    both = ruamel.yaml.YAML(typ="rt")
    both.version = (1, 1)  # type: ignore[assignment]
    both.allow_duplicate_keys = True
    both.preserve_quotes = True
    both.width = 10_000
    out = io.StringIO()
    both.dump_all(both.load_all(text), out)
    return comments(out.getvalue())
