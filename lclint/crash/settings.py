"""The configuration that a log prints, by Bridge's field names.

Six forms: Megatron's dump of its arguments (also a part of it), Bridge's YAML dump of 2025, Bridge's newer summary of values that are not
Megatron Core's defaults, the dict that verl prints, the ``repr`` of a config or provider, and the command that launched the job. Dumps come
from one process; lines of others between theirs are passed over.
"""

from __future__ import annotations

import re
from typing import Any

from lclint.catalog import tables
from lclint.crash.names import DTYPE, DTYPES, RELEASE, fields_of, literal, value_of

LONGEST_DUMP = 4000
LONGEST_COMMAND = 20_000

_ROW = re.compile(r"^ {2}([a-z][a-z0-9_]*) \.{2,} ?(.*)$")
# a name of 48 characters or more has no dots
_LONG_ROW = re.compile(r"^ {2}([a-z][a-z0-9_]{40,}) {1,2}(\S.*)$")
_ARGUMENTS = re.compile(r"^-{6,} ?[\w -]*arguments ?-{6,}$")
_END_ARGUMENTS = re.compile(r"^-{6,} end of [\w -]*arguments")
_SUMMARY = "Configuration Summary (Non-Default Values"
_SUMMARY_SECTION = re.compile(r"^\[(\w+)\](?: Non-default values \(vs .*\))?:\s*$")
_SUMMARY_ROW = re.compile(r"^ {2}(\w+): (.*?)(?:  \(Mcore default: .*\))?$")
_SECTION = re.compile(r"^([a-z][a-z_]*):(?: (null|\S.*))?$")
_YAML_LINE = re.compile(r"^(?: {2,}[-\w.]+:(?: .*)?| *- .*|[a-z_]+:(?: .*)?| {2,}\S.*)$")
_DICT = re.compile(r"\{'[a-z_]+': .*'(?:num_layers|hidden_size|tensor_model_parallel_size)': .*\}", re.DOTALL)
_NAMESPACE = re.compile(r"\b(?:Namespace\((.{200,})\)|\w*(?:Config|Provider\w*)\((?=[^\n]*\b(?:num_layers|tensor_model_parallel_size)=)(.{80,})\))", re.DOTALL)
_FLAG = re.compile(r"(?<!\S)--([a-z][a-z0-9-]+)(?:[= ]([^\s-]\S*|-\d\S*))?")
_RECIPE = re.compile(r"(?<!\S)--recipe[= ]([A-Za-z]\w{3,120})")
_OVERRIDE = re.compile(r"(?<![^\s'\"])\+{0,2}([a-z_]+\.[a-z_][a-z0-9_.]*)=(\[[^\]\n]*\]|\"[^\"\n]*\"|'[^'\n]*'|[^\s'\"]+)")
_LAUNCH = re.compile(r"\b(?:torchrun|python3?|srun|torch\.distributed)\b.*\.py\b")
_LAUNCHER = re.compile(r"\b(?:torchrun|python3?|srun|torch\.distributed)\b")
_PRETTY = re.compile(r"(?:^ *|\{)'([a-z_]+)': ([^,{}]+)[,}]*$")
_PRETTY_NAMES = frozenset(
    (
        "tensor_model_parallel_size",
        "pipeline_model_parallel_size",
        "virtual_pipeline_model_parallel_size",
        "context_parallel_size",
        "expert_model_parallel_size",
        "expert_tensor_parallel_size",
        "sequence_parallel",
    )
)
_OPAQUE = re.compile(r"<[^<>]*>")


class Settings:
    """Collects what a log prints of its configuration. ``values`` by field, ``lines`` the line of each, ``defaults_known`` after a summary."""

    __slots__ = ("values", "lines", "defaults_known", "world_size", "recipe", "_mode", "_section", "_yaml", "_misses", "_rows", "_weak", "_launch")

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.lines: dict[str, int] = {}
        self.defaults_known = False
        self.world_size: int | None = None
        self.recipe: str | None = None
        self._mode = ""
        self._section = ""
        self._yaml: list[str] = []
        self._misses = 0
        self._rows = 0
        self._weak: set[str] = set()
        self._launch = ""

    def feed(self, text: str, line: int) -> None:
        """Take one record, its prefixes off and its indentation kept."""
        text = text.rstrip()
        if self._launch or text.endswith("\\"):
            text = self._joined(text)
        if self._mode:
            if getattr(self, "_in_" + self._mode)(text, line):
                return
            self.close()
        if text.startswith("  ") and (row := _ROW.match(text)) is not None:
            self._argument(row[1], row[2], line)
        elif text.startswith("---") and _ARGUMENTS.match(text) and "end of" not in text:
            self._start("arguments")
        elif _SUMMARY in text:
            self._start("summary")
            self.defaults_known = True
        elif (match := _SECTION.match(text)) is not None and match[1] in tables.sections(RELEASE) and not self._has_dump():
            self._start("yaml")
            self._yaml.append(text)
        elif "{'" in text and len(text) < 100_000 and (found := _DICT.search(text)) is not None:
            self._dict(found[0], line)
        elif text.endswith((",", "}")) and (pretty := _PRETTY.search(text)) is not None and pretty[1] in _PRETTY_NAMES:
            # verl prints its whole config, the actor's part first
            self._put(f"model.{pretty[1]}", value_of(pretty[2]), line, weak=True)
        elif ("Namespace(" in text or "parallel_size=" in text) and len(text) < 100_000 and (found := _NAMESPACE.search(text)) is not None:
            self._namespace(found[1] or found[2], line)
        elif ".py" in text and ("--" in text or "=" in text) and _LAUNCH.search(text):
            self._command(text, line)

    def _joined(self, text: str) -> str:
        """The lines of a command that goes on behind a backslash, once it has come to its end."""
        if not self._launch and _LAUNCHER.search(text) is None:
            return text
        self._launch += " " + text.rstrip("\\")
        if text.endswith("\\") and len(self._launch) < LONGEST_COMMAND:
            return ""
        whole, self._launch = self._launch, ""
        return whole

    def close(self) -> None:
        """The dump that is open has come to its end."""
        if self._mode == "yaml":
            self._read_yaml()
        self._mode = ""
        self._yaml = []
        self._misses = 0
        self._rows = 0

    def layout(self, found: dict[str, int], line: int) -> None:
        """What Megatron's line about world size and parallel sizes says."""
        self.world_size = found.get("world", self.world_size)
        for name, field in (("tp", "tensor"), ("pp", "pipeline"), ("cp", "context")):
            if name in found:
                key = f"model.{field}_{'parallel' if name == 'cp' else 'model_parallel'}_size"
                if key not in self.values:
                    self._put(key, found[name], line)

    def _has_dump(self) -> bool:
        return len(self.values) - len(self._weak) > 10

    def _start(self, mode: str) -> None:
        self._mode = mode
        self._section = ""

    def _put(self, field: str, value: Any, line: int, weak: bool = False) -> None:
        if weak and field in self.values and field not in self._weak:
            return
        if weak:
            self._weak.add(field)
        else:
            self._weak.discard(field)
        if field not in self.values or not weak:
            self.values[field] = value
            self.lines[field] = line

    def _argument(self, name: str, text: str, line: int, weak: bool = False) -> None:
        value = value_of(text)
        if name == "world_size" and isinstance(value, int):
            self.world_size = value
        for field in fields_of(name):
            self._put(field, value, line, weak)

    def _in_arguments(self, text: str, line: int) -> bool:
        self._rows += 1
        if _END_ARGUMENTS.match(text) or self._rows > LONGEST_DUMP:
            self.close()
            return True
        row = _ROW.match(text) or _LONG_ROW.match(text)
        if row is not None:
            self._misses = 0
            self._argument(row[1], row[2], line)
            return True
        self._misses += 1
        # lines of other processes between the rows
        return self._misses < 200 and not text.startswith("Traceback")

    def _in_summary(self, text: str, line: int) -> bool:
        section = _SUMMARY_SECTION.match(text)
        if section is not None:
            self._section = section[1]
            self._misses = 0
            return True
        if not text or text.startswith(("===", "---", "Configuration Summary", "Other Configuration")):
            if text.startswith("===") and self._section and self._rows:
                self.close()
            return True
        row = _SUMMARY_ROW.match(text) if self._section else None
        if row is not None:
            self._rows += 1
            self._misses = 0
            self._put(f"{self._section}.{row[1]}", value_of(row[2]), line)
            return True
        self._misses += 1
        return self._misses < 200 and not text.startswith("Traceback")

    def _in_yaml(self, text: str, line: int) -> bool:
        if text.startswith("------") or len(self._yaml) > LONGEST_DUMP:
            self.close()
            return True
        if _YAML_LINE.match(text) or not text:
            self._misses = 0
            self._yaml.append(text)
            return True
        self._misses += 1
        return self._misses < 5 and not text.startswith(("Traceback", "[", ">"))

    def _read_yaml(self) -> None:
        """A YAML dump, if it is one of Bridge: read as YAML when it parses, else line by line."""
        text = "\n".join(self._yaml) + "\n"
        if "_target_: megatron" not in text and sum(line.partition(":")[0] in tables.sections(RELEASE) for line in self._yaml) < 3:
            return
        from lclint.config import values
        from lclint.core.errors import LclintError
        from lclint.core.states import State
        from lclint.sources import document

        fields: dict[str, Any] = {}
        try:
            data = document.load(text.encode(), "log", "safe_load").data
            if isinstance(data, dict):
                values.flatten({str(key): value for key, value in data.items() if str(key) in tables.sections(RELEASE)}, fields)
        except LclintError:
            fields = _by_indentation(self._yaml)
        for name, value in fields.items():
            if "." in name and "_target_" not in name and not isinstance(value, (dict, State)):
                self._put(name, value, 0)

    def _dict(self, text: str, line: int) -> None:
        text = DTYPE.sub(lambda match: repr(DTYPES.get(match[1], match[1])), _OPAQUE.sub("None", text))
        pairs = literal(text, None)
        if pairs is None:
            pairs = {name: value_of(value) for name, value in re.findall(r"'([a-z_]\w*)': ('[^']*'|\[[^\]]*\]|[^,{}]+)", text)}
        if isinstance(pairs, dict):
            known = tables.field_sections(RELEASE)
            for name, value in pairs.items():
                if isinstance(name, str) and not isinstance(value, dict) and "model" in known.get(name, ()):
                    self._put(f"model.{name}", value, line)

    def _namespace(self, text: str, line: int) -> None:
        for name, value in re.findall(r"\b([a-z_]\w*)=('[^']*'|\[[^\]]*\]|[^,()]+)(?=, |$)", text):
            self._argument(name, value, line)

    def _command(self, text: str, line: int) -> None:
        recipe = _RECIPE.search(text)
        if recipe is not None:
            self.recipe = recipe[1]
        for name, value in _FLAG.findall(text):
            self._argument(name.replace("-", "_"), value or "True", line, weak=True)
        sections = tables.sections(RELEASE)
        for name, value in _OVERRIDE.findall(text):
            if name.partition(".")[0] in sections:
                self._put(name, value_of(value), line, weak=True)


def _by_indentation(lines: list[str]) -> dict[str, Any]:
    """Scalars of a YAML text that does not parse as a whole, by their indentation."""
    fields: dict[str, Any] = {}
    stack: list[tuple[int, str]] = []
    for line in lines:
        match = re.match(r"^( *)([\w.-]+):(?: (.*))?$", line)
        if match is None:
            continue
        depth = len(match[1])
        while stack and stack[-1][0] >= depth:
            stack.pop()
        name = ".".join([*(part for _, part in stack), match[2]])
        if match[3] is None:
            stack.append((depth, match[2]))
        else:
            fields[name] = value_of(match[3])
    return fields
