"""Writes one and the same data as YAML in every style that people use, with comments everywhere."""

from __future__ import annotations

import random
from typing import Any

from lclint.sources.render import render, render_key

_WORDS = ("why", "see run 7", "größer", "key: value", "- item", "don't", '"', "日本", "a # b", "[", "&x", "TODO(me)")


class Writer:
    """One file's style, drawn from ``draw``; ``write`` gives the text."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.count = 0
        self.unit = draw.choice((2, 2, 2, 4, 8))
        self.list_indent = draw.choice((0, 2, 4))
        self.comments = draw.choice((0.0, 0.15, 0.5))
        self.blanks = draw.choice((0.0, 0.1, 0.3))
        self.flow = draw.choice((0.05, 0.3, 0.8))
        self.odd = draw.choice((0.0, 0.0, 0.1, 0.3))
        self.anchors: list[tuple[str, Any]] = []

    def write(self, data: dict[str, Any]) -> str:
        data = dict(data)
        lines = [*(["---" + self.behind()] if self.chance(0.15) else []), *self.own("")]
        if not data:
            lines.append("{}" + self.behind())
        elif self.chance(0.04):
            lines += self.flow_lines("", data, "")
        else:
            lines += self.shared(data)
            lines += self.block(data, "")
        lines += self.own(self.draw.choice(("", " " * self.unit)))
        if self.chance(0.03):
            lines += self.draw.choice((["---", "other: 1  # second"], ["...", "# after the end"], ["---"]))
        text = "\n".join(lines)
        if self.chance(0.85):
            text += "\n"
        return text.replace("\n", self.draw.choice(("\n", "\n", "\n", "\r\n", "\r")))

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def strange(self) -> bool:
        return self.chance(self.odd)

    # Comments ------------------------------------------------------------------------------------------------------------------

    def comment(self) -> str:
        self.count += 1
        mark = self.draw.choice(("# ", "# ", "#", "#  ", "## "))
        return f"{mark}{self.count} {self.draw.choice(_WORDS)}{self.draw.choice(('', '', ' '))}"

    def behind(self) -> str:
        if not self.chance(self.comments):
            return self.draw.choice(("", "", "", " "))
        return ("\t" if self.chance(self.odd / 200) else self.draw.choice(("  ", " "))) + self.comment()

    def own(self, indent: str) -> list[str]:
        lines = []
        while self.chance(self.comments / 2):
            column = indent if self.chance(0.8) else self.draw.choice(("", indent + "  ", indent + "    "))
            lines.append(column + self.comment())
        while self.chance(self.blanks):
            lines.insert(self.draw.randint(0, len(lines)), self.draw.choice(("", "", indent)))
        return lines

    # Sharing -------------------------------------------------------------------------------------------------------------------

    def shared(self, data: dict[str, Any]) -> list[str]:
        """Sections that others alias or merge, taken out of ``data`` into lines of their own."""
        lines: list[str] = []
        for name, section in list(data.items()):
            if not isinstance(section, dict) or not section or not self.chance(self.odd / 2):
                continue
            part = {key: value for key, value in section.items() if self.chance(0.5)}
            if not part:
                continue
            anchor = f"a{len(self.anchors)}"
            self.anchors.append((anchor, part))
            head = f"shared_{name}: &{anchor}"
            lines += self.flow_lines(head + " ", part, "") if self.chance(0.4) else [head + self.behind(), *self.block(part, " " * self.unit)]
            if part == section:
                data[name] = _Alias(anchor)
            else:
                data[name] = {_Merge: _Alias(anchor), **{key: value for key, value in section.items() if key not in part or self.chance(0.2)}}
        return lines

    def anchor(self, value: Any) -> str:
        """An alias for a value that was given an anchor before, or an anchor for it, or nothing."""
        if isinstance(value, (dict, list)) or value is None or not self.chance(self.odd / 2):
            return ""
        for name, known in self.anchors:
            if type(known) is type(value) and known == value:
                return f"*{name}"
        name = f"a{len(self.anchors)}"
        self.anchors.append((name, value))
        return f"&{name} "

    # Values --------------------------------------------------------------------------------------------------------------------

    def key(self, key: Any) -> str:
        if key is _Merge:
            return "<<"
        if isinstance(key, str) and self.strange():
            return self.draw.choice((f"'{key}'", f'"{key}"')) if key.isidentifier() else render_key(key)
        return render_key(key)

    def scalar(self, value: Any) -> str:
        if isinstance(value, _Alias):
            return f"*{value.name} "
        anchor = self.anchor(value)
        if anchor.startswith("*"):
            return anchor + " "
        if value is None:
            return anchor + self.draw.choice(("null", "null", "~"))
        if value is True or value is False:
            words = ("true", "True", "yes", "on") if value else ("false", "False", "no", "off")
            return anchor + self.draw.choice(words if self.odd else words[:1])
        if isinstance(value, int) and value > 999 and self.strange():
            return anchor + self.draw.choice((f"{value:_}", hex(value)))
        if isinstance(value, str):
            tag = "!!str " if self.strange() and self.chance(0.2) else ""
            return anchor + tag + render(value, "safe_load", self.draw.choice((None, None, "'", '"')))
        return anchor + render(value, "safe_load")

    def inline(self, value: Any) -> str:
        blank = self.draw.choice(("", "", " "))
        if isinstance(value, dict):
            close = self.draw.choice(("", "", "", ",")) if value else ""
            return "{" + blank + ", ".join(f"{self.key(key)}: {self.inline(item)}" for key, item in value.items()) + close + blank + "}"
        if isinstance(value, list):
            comma = self.draw.choice((", ", ", ", ","))
            close = self.draw.choice(("", "", "", ",")) if value else ""
            return "[" + blank + comma.join(self.inline(item) for item in value) + close + blank + "]"
        return self.scalar(value)

    def flow_lines(self, head: str, value: Any, indent: str) -> list[str]:
        """A flow collection on several lines, or on one."""
        if not isinstance(value, (dict, list)) or not value or self.chance(0.6):
            return [head + self.inline(value) + self.behind()]
        brackets = "{}" if isinstance(value, dict) else "[]"
        inner = indent + " " * self.draw.choice((2, 4))
        parts = [f"{self.key(key)}: {self.inline(item)}" for key, item in value.items()] if isinstance(value, dict) else [self.inline(item) for item in value]
        last = self.draw.choice(("", ","))
        if self.chance(0.3):
            text = head + brackets[0]
            lines = []
            for number, part in enumerate(parts):
                text += part + ("," if number < len(parts) - 1 else last)
                if self.chance(0.4):
                    lines.append(text + self.behind())
                    text = inner
                else:
                    text += " "
            return [*lines, text + brackets[1] + self.behind()]
        lines = [head + brackets[0] + self.behind()]
        for number, part in enumerate(parts):
            lines += self.own(inner)
            lines.append(inner + part + ("," if number < len(parts) - 1 else last) + self.behind())
        return [*lines, *self.own(inner), indent + " " * self.draw.choice((1, 2)) + brackets[1] + self.behind()]

    def text_lines(self, head: str, value: str, indent: str) -> list[str] | None:
        """A text on several lines, where that gives the same text."""
        inner = indent + " " * self.draw.choice((2, 4))
        form = self.draw.choice(("|", ">", '"', "'", "plain"))
        if form in "|>" and value and value.isprintable() and value == value.strip():
            lines = [f"{head} {form}-{self.behind()}", inner + value]
            return lines + self.draw.choice(([], [""]))
        words = value.split(" ")
        if len(words) < 2 or "" in words or not all(word.isalnum() for word in words):
            return None
        at = self.draw.randint(1, len(words) - 1)
        quote = "" if form in "|>plain" else form
        if not quote and render(value, "safe_load") != value:
            quote = '"'
        return [f"{head} {quote}{' '.join(words[:at])}", f"{inner}{' '.join(words[at:])}{quote}{self.behind()}"]

    def entry(self, head: str, value: Any, indent: str, in_list: bool) -> list[str]:
        """The lines of ``key:`` or ``-`` with its value."""
        if value is None and self.chance(0.2):
            return [head + self.behind()]
        if isinstance(value, str) and (self.strange() or " " in value):
            lines = self.text_lines(head, value, indent)
            if lines is not None:
                return lines
        if isinstance(value, (dict, list)) and value and not self.chance(self.flow):
            if in_list:
                if isinstance(value, dict):
                    lines = self.block(value, indent + "  ", compact=True)
                    return [f"{head} {lines[0].lstrip()}", *lines[1:]]
                return [f"{head} {self.inline(value)}{self.behind()}"]
            if isinstance(value, dict):
                return [head + self.behind(), *self.block(value, indent + " " * self.unit)]
            return [head + self.behind(), *self.items(value, indent + " " * self.list_indent)]
        if not isinstance(value, (dict, list, _Alias)) and self.strange() and self.chance(0.2):
            return [head + self.behind(), *self.own(indent + " " * self.unit), indent + " " * self.unit + self.scalar(value) + self.behind()]
        return self.flow_lines(head + self.draw.choice((" ", " ", " ", "  ")), value, indent)

    def block(self, data: dict[Any, Any], indent: str, compact: bool = False) -> list[str]:
        lines: list[str] = []
        for number, (key, value) in enumerate(data.items()):
            if number or not compact:
                lines += self.own(indent)
            if key is _Merge:
                lines.append(f"{indent}<<: {self.scalar(value)}{self.behind()}")
            elif self.strange() and self.chance(0.05) and (number or not compact) and not isinstance(value, (dict, list)):
                lines += [f"{indent}? {self.key(key)}{self.behind()}", f"{indent}: {self.inline(value)}{self.behind()}"]
            else:
                lines += self.entry(f"{indent}{self.key(key)}:", value, indent, in_list=False)
            if self.strange() and self.chance(0.03) and not isinstance(value, (dict, list)):
                lines += self.entry(f"{indent}{self.key(key)}:", value, indent, in_list=False)  # given twice
        return lines

    def items(self, data: list[Any], indent: str) -> list[str]:
        lines: list[str] = []
        for value in data:
            lines += self.own(indent)
            lines += self.entry(f"{indent}-", value, indent, in_list=True)
        return lines


class _Alias:
    def __init__(self, name: str) -> None:
        self.name = name


_Merge: Any = object()
