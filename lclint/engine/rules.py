"""The compiled rules of a check: loading, caching and selecting them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from lclint.core.errors import InputError, RuleError, UsageError
from lclint.sources.files import read

_CACHE_LIMIT = 256 * 1024 * 1024

if TYPE_CHECKING:
    from lclint.core.finding import Undecided

Function = Callable[[Any], Any]

# the severity of a case that is asked, for it can hide others of its rule, and not reported
OFF = "off"


class Case:
    """One case of a rule; ``when`` is None where it always holds. ``undecided`` is what is reported of it without its needs."""

    __slots__ = ("id", "when", "severity", "impact", "strikes", "reason", "at", "message", "fixes", "names", "undecided")

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.id: str
        self.when: Function | None
        self.severity: str
        self.impact: str
        self.strikes: str | None
        self.reason: str
        self.at: tuple[str | Function, ...]
        self.message: str | Function
        self.fixes: tuple[str, ...]
        self.names: tuple[str, ...]
        self.undecided: Undecided | None = None
        (self.id, self.when, self.severity, self.impact, self.strikes, self.reason, self.at, self.message, self.fixes, self.names) = row

    def at_severity(self, severity: str) -> Case:
        """The same case with another severity, which may be ``OFF``."""
        new = Case.__new__(Case)
        for name in Case.__slots__:
            setattr(new, name, getattr(self, name))
        new.severity = severity
        new.undecided = None
        return new


class Rule:
    """One rule. ``fields`` are the config fields behind everything that it reads; ``shipped`` is False for a user's own.

    ``releases`` is None for a rule of the newest release alone, True for one of every release, else a condition on ``bridge.release``.
    """

    __slots__ = ("name", "code", "title", "reason", "releases", "where", "each", "report_all", "cases", "fixes", "fields", "shipped")

    def __init__(self, row: tuple[Any, ...], shipped: bool = True) -> None:
        self.name: str
        self.code: str
        self.title: str
        self.reason: str
        self.releases: Function | bool | None
        self.where: Function | None
        self.each: Function | None
        self.report_all: bool
        self.fixes: dict[str, tuple[Any, ...]]
        (self.name, self.code, self.title, self.reason, self.releases, self.where, self.each, self.report_all, cases, self.fixes, fields) = row
        self.cases = [Case(case) for case in cases]
        self.fields = frozenset(fields)
        self.shipped = shipped

    def copy(self, cases: list[Case]) -> Rule:
        """The same rule with other cases."""
        new = Rule.__new__(Rule)
        for name in Rule.__slots__:
            setattr(new, name, getattr(self, name))
        new.cases = cases
        return new


# names that are no fields of the config, so that their rules are asked whatever fields are known
_BESIDE = ("env.", "keys.", "comments.", "config.", "te.", "torch.", "bridge.")


class RuleSet:
    """Rules in the order of their names, and the bundles that their fixes refer to.

    ``every`` are all rules that were loaded, of which these were chosen. ``about_base`` asks for hints about what a base alone says.
    ``at_fields`` are severities for some fields only: pairs of a pattern of field paths and the new severities, by rule and case.
    """

    __slots__ = ("rules", "bundles", "every", "about_base", "at_fields", "readers", "chosen", "_index", "_always")

    def __init__(self, rules: Iterable[Rule], bundles: dict[str, tuple[Any, ...]], every: RuleSet | None = None) -> None:
        self.rules = list(rules)
        self.bundles = bundles
        self.every: RuleSet = every or self
        self.about_base = False
        self.at_fields: tuple[tuple[str, dict[str, dict[str, str]]], ...] = ()
        # what ``lclint.fixes.delta`` makes of the rules, once
        self.readers: tuple[int, dict[str, int], dict[str, int]] | None = None
        self.chosen: dict[int, frozenset[str]] = {}
        # sets of rules are the bits of a number: the rules by field, and those that are always asked
        self._index: dict[str, int] | None = None
        self._always = 0

    def reading(self, known: Iterable[str], unasked: set[str] | None) -> list[Rule]:
        """The rules that read one of those fields, or something beside the fields; the names of all others are added to ``unasked``."""
        if self._index is None:
            self._index = {}
            for number, rule in enumerate(self.rules):
                if not rule.fields or any("." not in field or field.startswith(_BESIDE) for field in rule.fields):
                    self._always |= 1 << number
                for field in rule.fields:
                    self._index[field] = self._index.get(field, 0) | 1 << number
        chosen = self._always
        index = self._index
        for name in known:
            if name in index:
                chosen |= index[name]
        if unasked is not None:
            unasked.update([rule.name for number, rule in enumerate(self.rules) if not chosen >> number & 1])
        return [rule for number, rule in enumerate(self.rules) if chosen >> number & 1]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def find(self, name: str) -> Rule:
        """The rule of that name or code. Raises UsageError with the closest names."""
        for rule in self.rules:
            if name in (rule.name, rule.code):
                return rule
        raise UsageError(f"no rule is called {name}", hint=closest(name, [rule.name for rule in self.rules]))


def closest(name: str, names: list[str]) -> str:
    """A hint at the names that come near to one that does not exist."""
    import difflib

    close = difflib.get_close_matches(name, names, 3, 0.5)
    return f"did you mean {' or '.join(close)}?" if close else "lclint rules list shows them all"


def load(folders: Iterable[str] = (), replace: bool = False) -> RuleSet:
    """The shipped rules, and those of users' own folders after them.

    A rule with the name or the code of a shipped one takes its place with ``replace``. Raises RuleError for a rule file that is not
    allowed, and without ``replace`` for a name that is taken.
    """
    shipped = _shipped()
    rows = list(shipped["RULES"])
    own: set[str] = set()
    bundles = dict(shipped["BUNDLES"])
    for folder in folders:
        folder = os.fspath(folder)
        table = _cached([folder], tuple(sorted(bundles)))
        names = {row[0] for row in table["RULES"]} | {row[1] for row in table["RULES"]}
        clashes = [row for row in rows if row[0] in names or row[1] in names]
        if clashes and not replace:
            raise RuleError(f"{clashes[0][0]} [{clashes[0][1]}] is the name or the code of another rule", folder)
        taken = sorted(bundles.keys() & table["BUNDLES"].keys())
        if taken and not replace:
            raise RuleError(f"{taken[0]} is the name of another bundle", folder)
        rows = [row for row in rows if row not in clashes] + list(table["RULES"])
        own |= names
        bundles.update(table["BUNDLES"])
    return RuleSet([Rule(row, row[0] not in own) for row in rows], bundles)


def load_only(folder: str) -> RuleSet:
    """The rules of one folder, without the shipped ones. Raises RuleError."""
    table = _cached([os.fspath(folder)])
    return RuleSet([Rule(row) for row in table["RULES"]], table["BUNDLES"])


def _shipped() -> dict[str, Any]:
    try:
        import lclint._compiled_rules as compiled
    except ImportError:
        # a checkout: the rules are beside the package and compiled when they change
        from lclint.engine import rulefile

        return _cached([rulefile.shipped("rules")])
    return {"RULES": compiled.RULES, "BUNDLES": compiled.BUNDLES}


def _cached(folders: list[str], bundles: tuple[str, ...] = ()) -> dict[str, Any]:
    """The compiled module of those folders, from the per-user cache when nothing that went into it has changed."""
    import hashlib
    import marshal

    from lclint.engine import rulefile
    from lclint.sources import files

    digest = hashlib.sha256(f"{sys.version} {bundles}".encode())
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sources = [os.path.join(rulefile.shipped("schemas"), "rule.schema.json")]
    for part in ("engine", "facts", "sources"):
        folder = os.path.join(package, part)
        sources += [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".py")]
    for folder in folders:
        rule_files, bundle_files = rulefile.find(folder)
        sources += rule_files + bundle_files
    for path in sources:
        digest.update(path.encode(errors="surrogateescape") + b"\0")
        try:
            digest.update(hashlib.sha256(files.read(path)).digest())
        except InputError as error:
            raise RuleError(error.message, path, hint=error.hint) from None
    cache = _cache_folder()
    file = os.path.join(cache, f"rules-{digest.hexdigest()[:32]}.bin") if cache else None
    stored = _stored(file)
    code = marshal.loads(stored) if stored is not None else None
    if code is None:
        from lclint.engine import compile as compiler

        source = compiler.compile_directories(folders, bundles)
        code = compile(source, "<compiled rules>", "exec", dont_inherit=True)
        if file is not None:
            _store(file, marshal.dumps(code))
    table: dict[str, Any] = {"__name__": "lclint._compiled_rules"}
    exec(code, table)
    return table


def _cache_folder() -> str | None:
    """A folder that only this user can write, since what it holds is run; None where there is none."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    if not os.path.isabs(base):
        # "~" stays as it is for a user without a home (a container's random uid)
        return None
    folder = os.path.join(base, "lclint")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.stat(folder)
    except OSError:
        return None
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        return None
    return folder


def _stored(file: str | None) -> bytes | None:
    """What ``_store`` wrote; None where there is nothing, or something else by now (marshal trusts what it reads)."""
    import hashlib

    if file is None:
        return None
    try:
        data = read(file, _CACHE_LIMIT)
    except InputError:
        return None
    return data[32:] if hashlib.sha256(data[32:]).digest() == data[:32] else None


def _store(file: str, data: bytes) -> None:
    """Write the cache file in one step, its checksum first; a cache that cannot be written is only slower."""
    import hashlib

    from lclint.sources.writing import beside

    temporary: str | None = None
    try:
        descriptor, temporary = beside(file)
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(hashlib.sha256(data).digest() + data)
        os.replace(temporary, file)
    except OSError:
        if temporary is not None:
            import contextlib

            with contextlib.suppress(OSError):
                os.unlink(temporary)
