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
    """The comments of which ruamel.yaml drops some when it writes: within brackets, between a key and its scalar, before ``---`` and ``...``."""
    return {comment for comment, depth in _comments(text) if depth}


def _comments(text: str) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    position = depth = 0
    last: Any = None
    for token in _tokens(text):
        if isinstance(token, yaml.BlockEndToken):
            continue
        before_scalar = isinstance(last, (yaml.ValueToken, yaml.BlockEntryToken)) and isinstance(token, _SCALARS)
        odd = depth + before_scalar + isinstance(token, (yaml.DocumentEndToken, yaml.DocumentStartToken))
        last = token
        found += [(comment.rstrip(), odd) for comment in re.findall(r"#[^\r\n]*", text[position : token.start_mark.index])]
        position = token.end_mark.index
        depth += isinstance(token, (yaml.FlowMappingStartToken, yaml.FlowSequenceStartToken))
        depth -= isinstance(token, (yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken))
        if isinstance(token, yaml.ScalarToken) and token.style in ("|", ">"):
            header = re.match(r"[|>][-+0-9]*[ \t]+(#[^\r\n]*)", text[token.start_mark.index :])
            found += [(header.group(1).rstrip(), depth)] if header else []
    found += [(comment.rstrip(), 0) for comment in re.findall(r"#[^\r\n]*", text[position:])]
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
