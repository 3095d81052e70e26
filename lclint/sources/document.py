"""A config file as values with exact places.

The values are what the loader of record makes of the text: OmegaConf for override files, ``yaml.safe_load`` for a saved
``run_config.yaml``. What that loader refuses although the rest of the file can be read is a ``Problem``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from lclint.core.errors import InputError
from lclint.sources import scalars, yaml_nodes
from lclint.sources.yaml_nodes import Node

if TYPE_CHECKING:
    from lclint.sources.directives import Directive

__all__ = ["Document", "Problem", "Unresolved", "load"]

Path = tuple[Any, ...]

_TAG = "tag:yaml.org,2002:"
_PATH_TAGS = tuple(f"{_TAG}python/object/apply:pathlib.{name}" for name in ("Path", "PosixPath", "WindowsPath"))
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_KEY_TYPES = (str, int, float, bytes)
_VALUE_TYPES = (str, int, float, bytes, type(None))


class Unresolved:
    """The value of an interpolation that the file alone does not decide.

    ``text`` is what is written; ``needs`` names what would decide it: a dotted path, ``env.NAME``, or a resolver's name.
    """

    __slots__ = ("text", "needs")

    def __init__(self, text: str, needs: tuple[str, ...] = ()) -> None:
        self.text = text
        self.needs = needs

    def __eq__(self, other: object) -> bool:
        return type(other) is Unresolved and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Unresolved({self.text!r})"


class Problem:
    """Something that the loader of record refuses: ``path`` is the value's path, ``start`` and ``end`` are offsets.

    Kinds: duplicate-key, duplicate-anchor, several-documents, key-type, unhashable-key, merge, tag, value, interpolation.
    """

    __slots__ = ("kind", "path", "start", "end", "message")

    def __init__(self, kind: str, path: Path, start: int, end: int, message: str) -> None:
        self.kind = kind
        self.path = path
        self.start = start
        self.end = end
        self.message = message

    def __repr__(self) -> str:
        return f"Problem({self.kind!r}, {self.path!r}, {self.start}, {self.end}, {self.message!r})"


class Document:
    """One config file.

    ``text`` is decoded and without its byte order mark (``bom`` remembers it); offsets count its code points. ``data`` is plain
    Python, aliases shared; an interpolation that the file alone does not decide is an ``Unresolved``, and ``interpolations``
    holds the written text of each one by its path. Absent keys, sizes and types are as the loader leaves them.
    """

    __slots__ = ("path", "text", "bom", "loader", "root", "data", "problems", "interpolations", "_starts", "_maps", "_directives")

    def __init__(self, path: str, text: str, bom: bool, loader: str, root: Node | None) -> None:
        self.path = path
        self.text = text
        self.bom = bom
        self.loader = loader
        self.root = root
        self.data: Any = None
        self.problems: list[Problem] = []
        self.interpolations: dict[Path, str] = {}
        self._starts: list[int] | None = None
        self._maps: dict[Node, dict[Any, tuple[Node, Node]]] = {}
        self._directives: list[Directive] | None = None

    def node(self, path: Path) -> Node | None:
        """The node that is written at ``path``, an alias itself included; None when the text does not hold the path."""
        found = self._entry(path)
        return found[1] if found else None

    def span(self, path: Path, part: str = "value") -> tuple[int, int] | None:
        """Where ``path`` stands: its ``value`` (without anchor and tag), its ``key``, or the whole ``entry``.

        None when the text does not hold the path (absent, or inside a value that an interpolation copies). A list element has no
        key; its key and entry are its value.
        """
        found = self._entry(path)
        if found is None:
            return None
        key, value = found
        if part == "value" or key is None:
            start = value.start
            if self.text[start : start + 1] in ("&", "!"):
                start = yaml_nodes.content_start(self.text, value)
            return start, value.end
        return (key.start, key.end) if part == "key" else (key.start, value.end)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, 1-based, in code points."""
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """The text of a line (1-based) without its line break; empty for a line that does not exist."""
        starts = self._line_starts()
        if not 1 <= line <= len(starts):
            return ""
        return self.text[starts[line - 1] : starts[line] if line < len(starts) else len(self.text)].rstrip("\r\n")

    def directives(self) -> list[Directive]:
        """The ``# lclint: …`` comments, in the order of the text."""
        if self._directives is None:
            if "lclint" in self.text:
                from lclint.sources.directives import scan

                self._directives = scan(self)
            else:
                self._directives = []
        return self._directives

    def scalar(self, node: Node) -> Any:
        """The value of a scalar node or an alias to one; raises ValueError, or TypeError for a collection."""
        return _scalar(node, self.loader)

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = [0, *(match.end() for match in _LINE_BREAK.finditer(self.text))]
        return self._starts

    def _entry(self, path: Path) -> tuple[Node | None, Node] | None:
        if self.root is None:
            return None
        found: tuple[Node | None, Node] = (None, self.root)
        for part in path:
            holder = found[1].target or found[1]
            if holder.kind == "mapping":
                entry = self._entries(holder).get(part)
                if entry is None:
                    return None
                found = entry
            elif holder.kind == "sequence" and isinstance(part, int) and -len(holder.items) <= part < len(holder.items):
                found = (None, holder.items[part])
            else:
                return None
        return found

    def _entries(self, mapping: Node) -> dict[Any, tuple[Node, Node]]:
        """The pairs of a mapping by key, merged ones included."""
        entries = self._maps.get(mapping)
        if entries is None:
            entries = {}
            own: dict[Any, tuple[Node, Node]] = {}
            for key, value in mapping.pairs:
                if _is_merge(key):
                    for source in reversed(_merge_sources(value)):
                        entries.update(self._entries(source))
                else:
                    try:
                        own[_scalar(key, self.loader)] = (key, value)
                    except (scalars.BadScalar, TypeError):
                        continue
            entries.update(own)
            self._maps[mapping] = entries
        return entries


def load(data: bytes, path: str, loader: str | None = None) -> Document:
    """Read a config file; ``loader`` is omegaconf or safe_load, by default safe_load when the root has a ``_target_``.

    Raises InputError when the bytes are no text or no YAML.
    """
    text, bom = decode(data, path)
    return from_text(text, path, loader, bom)


def from_text(text: str, path: str, loader: str | None = None, bom: bool = False) -> Document:
    """``load`` for text that is decoded already."""
    tree = yaml_nodes.parse(text, path)
    root = tree.root
    if loader is None:
        target = root is not None and any(key.value == "_target_" and key.kind == "scalar" for key, _ in root.pairs)
        loader = "safe_load" if target else "omegaconf"
    document = Document(path, text, bom, loader, root)
    problems = document.problems
    if tree.more is not None:
        message = "a second YAML document starts here; the loader takes files of one document only"
        problems.append(Problem("several-documents", (), tree.more, tree.more + 3, message))
    for node in tree.repeated:
        problems.append(Problem("duplicate-anchor", (), node.start, node.end, f"the anchor &{node.anchor} is defined twice"))
    if root is not None:
        _Builder(document, tree.aliases > 0).build(root)
    elif loader == "omegaconf":
        document.data = {}
    if loader == "omegaconf" and "${" in text:
        _interpolate(document, shared=tree.aliases > 0)
    return document


def decode(data: bytes, path: str) -> tuple[str, bool]:
    """The text of a file and whether it had a byte order mark; raises InputError when it is not UTF-8."""
    bom = data[:3] == b"\xef\xbb\xbf"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError("is UTF-16 text", path, hint="save it as UTF-8")
    if b"\0" in data:
        raise InputError("is a binary file", path, hint="give a YAML file")
    try:
        return data[3 if bom else 0 :].decode("utf-8"), bom
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8 text", path, line, "save it as UTF-8") from None


def _interpolate(document: Document, shared: bool) -> None:
    from lclint.sources import interpolation

    if isinstance(document.data, str):
        return
    if shared:
        document.data = interpolation.unshare(document.data)
    document.interpolations = interpolation.collect(document.data)
    for path, reason in interpolation.resolve(document.data, document.interpolations):
        start, end = document.span(path) or (0, 0)
        text = document.interpolations[path]
        document.problems.append(Problem("interpolation", path, start, end, f"the interpolation {text[:80]!r} {reason}"))


def _is_merge(key: Node) -> bool:
    return key.value == "<<" and key.kind == "scalar" and ((key.style is None and key.tag is None) or key.tag == _TAG + "merge")


def _merge_sources(value: Node) -> list[Node]:
    """The mappings that a merge key brings in, the first taking precedence (PyYAML 6.0.4 alone lets the last one win)."""
    value = value.target or value
    sources = [item.target or item for item in value.items] if value.kind == "sequence" else [value]
    return [source for source in sources if source.kind == "mapping"]


def _scalar(node: Node, loader: str) -> Any:
    """The value of a scalar node or an alias to one; raises BadScalar, TypeError when it is a collection."""
    node = node.target or node
    if node.kind != "scalar":
        raise TypeError
    text: str = node.value  # type: ignore[assignment]
    tag = node.tag
    if tag is None or tag == "!":
        return text if node.style is not None else scalars.plain(text, loader)
    make = scalars.TAGGED.get(tag[len(_TAG) :]) if tag.startswith(_TAG) else None
    if make is None:
        raise scalars.BadScalar(f"the tag {tag.removeprefix(_TAG)!r} is not known to the loader")
    try:
        return make(text)
    except IndexError:
        raise scalars.BadScalar(f"{text[:40]!r} does not fit its tag") from None


class _Builder:
    """Turns nodes into values, level by level as PyYAML does (which decides what it sees of a merged mapping)."""

    def __init__(self, document: Document, aliases: bool) -> None:
        self.document = document
        self.aliases = aliases
        self.loader = document.loader
        self.omegaconf = document.loader == "omegaconf"
        self.plain: dict[str, Any] = {}
        self.built: dict[Node, Any] = {}
        self.flat: dict[Node, list[tuple[Node, Node]]] = {}
        self.queue: list[tuple[Node, Any, Path]] = []

    def build(self, root: Node) -> None:
        self.document.data = self.value(root, (), None)
        queue = self.queue
        for node, container, path in queue:  # grows while it is read
            if node.kind == "mapping":
                self.fill_mapping(node, container, path)
            elif node.tag is not None and node.tag != "!":
                self.fill_tagged_sequence(node, container, path)
            else:
                value = self.value
                for index, item in enumerate(node.items):
                    container.append(value(item, path, index))

    def problem(self, kind: str, path: Path, node: Node, message: str) -> None:
        self.document.problems.append(Problem(kind, path, node.start, node.end, message))

    def value(self, node: Node, path: Path, key: Any) -> Any:
        """The value of ``node``, which stands at ``path`` + ``key`` (at the root when key is None and path is empty)."""
        if node.kind == "alias":
            node = node.target  # type: ignore[assignment]
        if node.kind == "scalar":
            if node.tag is None:
                text: str = node.value  # type: ignore[assignment]
                if node.style is not None:
                    return text
                plain = self.plain
                if text in plain:
                    return plain[text]
                try:
                    made = plain[text] = scalars.plain(text, self.loader)
                    if self.omegaconf or made.__class__ in (str, int, float, bool, type(None)):
                        return made
                except scalars.BadScalar:
                    pass
            return self.odd_scalar(node, path if key is None else (*path, key))
        if node in self.built:
            return self.built[node]
        at = path if key is None else (*path, key)
        container: Any = {}
        tag = node.tag
        if node.kind == "sequence" or tag == _TAG + "set":
            container = []
        if tag is not None and tag != "!":
            if self.omegaconf and tag in _PATH_TAGS and all(item.kind == "scalar" for item in node.items):
                return "/".join(str(item.value).rstrip("/") or "" for item in node.items)
            fits = {"mapping": ("map", "set"), "sequence": ("seq", "omap", "pairs")}[node.kind]
            if not tag.startswith(_TAG) or tag[len(_TAG) :] not in fits:
                self.problem("tag", at, node, f"the tag {tag.removeprefix(_TAG)!r} is not known to the loader")
            elif self.omegaconf and tag == _TAG + "set":
                self.problem("value", at, node, "OmegaConf has no sets: write a list")
        self.built[node] = container
        self.queue.append((node, container, at))
        return container

    def odd_scalar(self, node: Node, at: Path) -> Any:
        try:
            value = _scalar(node, self.loader)
        except scalars.BadScalar as error:
            kind = "tag" if node.tag else "value"
            self.problem(kind, at, node, str(error))
            return node.value
        if self.omegaconf and not isinstance(value, _VALUE_TYPES):
            self.problem("value", at, node, f"OmegaConf has no values of type {type(value).__name__}: quote it")
            return node.value
        return value

    def fill_tagged_sequence(self, node: Node, container: list[Any], path: Path) -> None:
        pairs = node.tag in (_TAG + "omap", _TAG + "pairs")
        for index, item in enumerate(node.items):
            entry = item.target or item
            if pairs and entry.kind == "mapping" and len(entry.pairs) == 1:
                key, value = entry.pairs[0]
                at = (*path, index)
                container.append([self.value(key, at, 0), self.value(value, at, 1)])
            else:
                if pairs:
                    self.problem("tag", (*path, index), item, "an ordered map is a list of single 'key: value' pairs")
                container.append(self.value(item, path, index))

    def fill_mapping(self, node: Node, container: Any, path: Path) -> None:
        is_set = container.__class__ is list
        pairs = self.flat.get(node, node.pairs)
        texts = {key.value for key, _ in pairs}
        # an alias goes by its name, and could be the text of another key
        if self.omegaconf and (len(texts) < len(pairs) or self.aliases):
            self.check_duplicates(pairs, path)
        if "<<" in texts and node not in self.flat:
            pairs = self.flatten(node, path)
        plain = self.plain
        value = self.value
        seen = set()
        for key_node, value_node in pairs:
            try:
                if key_node.tag is None and key_node.style is None and key_node.value in plain:
                    key = plain[key_node.value]
                elif key_node.value == "=" and key_node.style is None:
                    key = "="
                else:
                    key = _scalar(key_node, self.loader)
                    if key_node.tag is None and key_node.style is None and key_node.kind == "scalar":
                        plain[key_node.value] = key  # type: ignore[index]
            except TypeError:
                self.problem("unhashable-key", path, key_node, "a collection cannot be a key")
                value(value_node, path, None)
                continue
            except scalars.BadScalar as error:
                self.problem("tag" if key_node.tag else "value", path, key_node, str(error))
                value(value_node, path, None)
                continue
            if self.omegaconf and not isinstance(key, _KEY_TYPES):
                self.problem("key-type", path, key_node, f"{'null' if key is None else type(key).__name__} cannot be a key: quote it")
                value(value_node, path, None)
                continue
            if is_set:
                if key not in seen:
                    seen.add(key)
                    container.append(key)
                value(value_node, path, key)
            elif value_node.kind == "scalar" and value_node.tag is None and value_node.style is None and value_node.value in plain:
                container[key] = plain[value_node.value]
            else:
                container[key] = value(value_node, path, key)

    def check_duplicates(self, pairs: list[tuple[Node, Node]], path: Path) -> None:
        """OmegaConf compares the texts of keys that are strings."""
        seen: set[str] = set()
        for key, _ in pairs:
            key = key.target or key
            text = key.value
            if text is None:
                continue
            if text in seen:
                if self.is_string(key):
                    self.problem("duplicate-key", (*path, text), key, f"the key {text!r} is given twice; OmegaConf refuses the file")
            elif self.is_string(key):
                seen.add(text)

    def is_string(self, key: Node) -> bool:
        if key.tag is not None and key.tag != "!":
            return key.tag == _TAG + "str"
        if key.style is not None:
            return True
        text: str = key.value  # type: ignore[assignment]
        try:
            return isinstance(scalars.plain(text, self.loader), str)
        except scalars.BadScalar:
            return False

    def flatten(self, node: Node, path: Path) -> list[tuple[Node, Node]]:
        """The pairs of a mapping with merge keys resolved: merged ones first, so that its own win."""
        known = self.flat.get(node)
        if known is not None:
            return known
        merged: list[tuple[Node, Node]] = []
        own: list[tuple[Node, Node]] = []
        for key, value in node.pairs:
            if not _is_merge(key):
                own.append((key, value))
                continue
            source = value.target or value
            sources = _merge_sources(value)
            if len(sources) != (len(source.items) if source.kind == "sequence" else 1):
                self.problem("merge", path, value, "'<<' takes a mapping or a list of mappings")
            for mapping in reversed(sources):
                merged.extend(self.flatten(mapping, path))
        self.flat[node] = merged + own
        return self.flat[node]
