"""Holds the keys and values that were written against the field tables: unknown, misplaced, of a wrong type, deprecated.

What is found are plain records for the rules of ``rules/keys``. A class that no release has says nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from lclint.catalog import tables
from lclint.catalog.kinds import accepts, kind_of
from lclint.catalog.tables import Field, Section
from lclint.config.resolving.state import COMMON_CLASSES
from lclint.config.run import Run
from lclint.core.states import UNKNOWN

# what people write for what Megatron spells out
SYNONYMS = {
    "tp": "tensor_model_parallel_size",
    "tp_size": "tensor_model_parallel_size",
    "tensor_parallel_size": "tensor_model_parallel_size",
    "tensor_parallel": "tensor_model_parallel_size",
    "pp": "pipeline_model_parallel_size",
    "pp_size": "pipeline_model_parallel_size",
    "pipeline_parallel_size": "pipeline_model_parallel_size",
    "vpp": "virtual_pipeline_model_parallel_size",
    "vpp_size": "virtual_pipeline_model_parallel_size",
    "virtual_pipeline_parallel_size": "virtual_pipeline_model_parallel_size",
    "virtual_pipeline_size": "virtual_pipeline_model_parallel_size",
    "cp": "context_parallel_size",
    "cp_size": "context_parallel_size",
    "context_model_parallel_size": "context_parallel_size",
    "ep": "expert_model_parallel_size",
    "ep_size": "expert_model_parallel_size",
    "expert_parallel_size": "expert_model_parallel_size",
    "moe_expert_parallel_size": "expert_model_parallel_size",
    "etp": "expert_tensor_parallel_size",
    "expert_tensor_model_parallel_size": "expert_tensor_parallel_size",
    "expert_model_tensor_parallel_size": "expert_tensor_parallel_size",
    "mbs": "micro_batch_size",
    "microbatch_size": "micro_batch_size",
    "gbs": "global_batch_size",
    "max_seq_length": "seq_length",
    "sequence_length": "seq_length",
    "seq_len": "seq_length",
    "max_steps": "train_iters",
    "train_steps": "train_iters",
    "num_experts": "num_moe_experts",
    "moe_num_experts": "num_moe_experts",
    "moe_topk": "moe_router_topk",
    "num_kv_heads": "num_query_groups",
    "num_key_value_heads": "num_query_groups",
    "num_heads": "num_attention_heads",
    "intermediate_size": "ffn_hidden_size",
    "learning_rate": "lr",
    "warmup_iters": "lr_warmup_iters",
    "activations_checkpoint_granularity": "recompute_granularity",
    "activations_checkpoint_method": "recompute_method",
    "activations_checkpoint_num_layers": "recompute_num_layers",
    "recompute_module": "recompute_modules",
    "sequence_parallelism": "sequence_parallel",
    "use_distributed_optim": "use_distributed_optimizer",
    "distributed_optimizer": "use_distributed_optimizer",
    "token_dispatcher_type": "moe_token_dispatcher_type",
    "dispatcher_type": "moe_token_dispatcher_type",
    "use_flash_attn": "attention_backend",
    "save_dir": "save",
    "load_dir": "load",
}
CLOSE = 0.8
# of more unknown keys than this nobody reads: the rest is not looked at
MANY = 1_000

# kinds of values as messages name them
KINDS = {
    "int": "an integer",
    "float": "a number with a fraction",
    "bool": "true or false",
    "str": "text",
    "null": "null",
    "list": "a list",
    "dict": "a mapping",
    "dtype": "a dtype",
    "callable": "a function",
    "enum": "an enum member",
    "object": "an object",
}

Record = dict[str, Any]


RECORDS = ("unknown", "misplaced", "section", "type", "choice", "none_text", "deprecated", "release", "class_release")


def check(run: Run) -> dict[str, list[Record]]:
    """Records by kind: those of ``RECORDS``."""
    found: dict[str, list[Record]] = {kind: [] for kind in RECORDS}
    sections = tables.sections(run.release)
    written = run.written
    by_user: Collection[str] = {name for name, origin in run.origins.items() if origin in ("file", "set")}
    for name in sorted({name.partition(".")[0] for name in by_user}):
        if name not in sections:
            _unknown_section(run, name, list(sections), found)
    places: dict[str, tuple[str, Section, dict[str, Field] | None, dict[str, Field] | None, Quiet] | None] = {}
    if len(by_user) > MANY:
        by_user = sorted(by_user)
    for name in by_user:
        parent, _, key = name.rpartition(".")
        if not parent or len(found["unknown"]) > MANY:
            continue
        if parent not in places:
            section_name = parent.partition(".")[0]
            section = _section(run, section_name) if section_name in sections else None
            places[parent] = None
            if section is not None:
                fields, usual = fields_below(run, section, parent), _usual(run, section, parent)
                places[parent] = (section_name, section, fields, usual, _quiet(fields, usual))
        place = places[parent]
        if place is None:
            continue
        section_name, section, fields, usual, quiet = place
        value = written[name]
        if value.__class__ in quiet.get(key, ()) and value != "None":
            continue
        if key == "_target_":
            _class(run, section, section_name, name, found)
            continue
        if fields is None:
            continue
        field = fields.get(key)
        if field is None:
            _unknown_key(run, section_name, name, key, fields, found)
        elif run.kind == "dump" and not field.init and field.deprecated is not None:
            # an old name that is a property by now: an override can set it, a saved config cannot
            _of_another_release(run, section_name, name, key, found)
        elif usual is not None and key not in usual and _of_another_release(run, section_name, name, key, found):
            # the class is not named and the usual one does not have the field: it may be one that most classes have lost
            continue
        elif not run.complete or run.origins[name] == "set" or run.kind == "override":
            _value(name, field, written[name], run, found)
        elif written[name].__class__ is str or field.choices is not None:
            # a dump was written by Bridge itself: only what a person may have put in by hand is looked at
            _value(name, field, written[name], run, found)
    for records in found.values():
        records.sort(key=lambda record: str(record["path"]))
    return found


def _section(run: Run, name: str) -> Section | None:
    section = tables.section(run.release, name)
    return section if section.classes else None


def fields_below(run: Run, section: Section, parent: str) -> dict[str, Field] | None:
    """The fields that may stand below ``parent``, None where anything may."""
    target = run.written.get(f"{parent}._target_")
    below = "." in parent
    if target.__class__ is str:
        fields = section.fields(target)
        if fields is None and target.startswith("megatron."):
            from lclint.catalog import history

            fields = section.fields(history.path_of(target, run.release))
        return fields
    if not below:
        return section.fields()
    fields = fields_below(run, section, parent.rpartition(".")[0])
    field = fields.get(parent.rpartition(".")[2]) if fields is not None else None
    if field is None or not field.nested or "dict" in field.kinds:
        return None
    known = tuple(each for each in field.nested if section.fields(each) is not None)
    return section.union(known) if known else None


def _class(run: Run, section: Section, section_name: str, name: str, found: dict[str, list[Record]]) -> None:
    target = run.written[name]
    if target.__class__ is not str or not target.startswith("megatron.") or target in section.classes or target in section.nested:
        return
    parent = name.rpartition(".")[0]
    if parent != section_name and parent.rpartition(".")[2] not in (fields_below(run, section, parent.rpartition(".")[0]) or {}):
        # what stands there has no place in this release anyway
        return
    from lclint.config import elsewhere

    record = elsewhere.kind_of_class(run, section_name, name)
    if record is not None:
        found["class_release"].append(record)


def _usual(run: Run, section: Section, parent: str) -> dict[str, Field] | None:
    """The fields of the class that a section most likely is of, where the config does not name its class."""
    usual = COMMON_CLASSES.get(parent)
    return None if usual is None or f"{parent}._target_" in run.written else section.fields(usual) or {}


_SCALARS = {"int": int, "float": float, "bool": bool, "str": str, "null": type(None)}
Quiet = dict[str, frozenset[type]]
_known_quiet: dict[tuple[int, int], tuple[Any, Any, Quiet]] = {}


def _quiet(fields: dict[str, Field] | None, usual: dict[str, Field] | None) -> Quiet:
    """By key the classes of values of which nothing is to be said, text ``None`` aside."""
    found = _known_quiet.get((id(fields), id(usual)))
    if found is None:
        made = {
            key: frozenset(_SCALARS[kind] for kind in (_SCALARS if "any" in field.kinds else field.kinds & _SCALARS.keys()))
            for key, field in (fields or {}).items()
            if field.deprecated is None and field.choices is None and (usual is None or key in usual) and key != "_target_"
        }
        if len(_known_quiet) > MANY:
            _known_quiet.clear()
        # with the fields, so that no others get their ids
        found = _known_quiet[id(fields), id(usual)] = (fields, usual, made)
    return found[2]


def _of_another_release(run: Run, section: str, name: str, key: str, found: dict[str, list[Record]]) -> bool:
    """Record a key that was a field of this section in another release; whether it is one."""
    from lclint.config import elsewhere

    record = elsewhere.field(run, section, name, key)
    if record is None:
        return False
    found["release"].append(record)
    return True


def _unknown_section(run: Run, name: str, sections: list[str], found: dict[str, list[Record]]) -> None:
    from lclint.config import elsewhere

    record = elsewhere.section(run, name)
    if record is not None:
        found["release"].append(record)
        return
    close = closest(name, sections)
    if close is not None:
        found["section"].append({"path": name, "suggestion": close})


def _unknown_key(run: Run, section: str, name: str, key: str, fields: dict[str, Field], found: dict[str, list[Record]]) -> None:
    if key.startswith("_") or _of_another_release(run, section, name, key, found):
        return
    parent = name.rpartition(".")[0]
    target = run.written.get(f"{parent}._target_")
    owner = target.rpartition(".")[2] if target.__class__ is str else None
    elsewhere = [other for other in tables.field_sections(run.release).get(key, ()) if other != section and "." not in other]
    synonym = SYNONYMS.get(key)
    close = synonym if synonym in fields else _slip(key, fields)
    # what a base says is there to be overridden: only two spellings in what the user wrote are one too many
    taken = close is not None and run.origins.get(f"{parent}.{close}") in ("file", "set")
    if elsewhere and parent == section and synonym not in fields:
        only = elsewhere[0] if len(elsewhere) == 1 else None
        found["misplaced"].append({"path": name, "key": key, "sections": elsewhere, "only": only, "owner": owner, "value": run.written[name]})
        return
    new = f"{parent}.{close}" if close else None
    found["unknown"].append({"path": name, "key": key, "parent": parent, "suggestion": close, "new": new, "taken": taken, "owner": owner})


def _value(name: str, field: Field, value: Any, run: Run, found: dict[str, list[Record]]) -> None:
    if value is UNKNOWN:
        return
    if value == "None" and "null" in field.kinds and (field.choices is None or "None" not in field.choices):
        found["none_text"].append({"path": name})
        return
    if field.deprecated is not None and not _same(value, field.default):
        found["deprecated"].append({"path": name, "note": field.deprecated})
    if not _accepted(field, value):
        found["type"].append({"path": name, "value": value, "kind": KINDS[kind_of(value)], "type": field.type, "meant": _meant(field, value)})
    elif value.__class__ is float and not field.kinds & {"float", "any"}:
        found["type"].append({"path": name, "value": repr(value), "kind": "a float", "type": field.type, "meant": int(value)})
    elif field.choices is not None:
        for index, item in enumerate(value if value.__class__ is list else [value]):
            if item.__class__ not in (str, int) or item in field.choices:
                continue
            if str(item) not in [str(choice) for choice in field.choices]:
                close = closest(str(item), [str(choice) for choice in field.choices])
                record = {"path": name, "value": item, "choices": list(field.choices), "suggestion": close}
                found["choice"].append({**record, "whole": value.__class__ is not list, "index": index if value.__class__ is list else None})


def _meant(field: Field, value: Any) -> Any:
    """The number or flag that a quoted value spells, None when the field takes neither or it spells none."""
    if value.__class__ is not str:
        return None
    text = value.strip().lower()
    if "bool" in field.kinds and text in ("true", "false"):
        return text == "true"
    for kind, read in (("int", int), ("float", float)):
        if kind in field.kinds:
            try:
                return read(text)
            except ValueError:
                continue
    return None


def _same(left: Any, right: Any) -> bool:
    return left is right or (left.__class__ is right.__class__ and bool(left == right))


def _accepted(field: Field, value: Any) -> bool:
    """Whether Bridge takes the value; dtypes, enums and functions have become their names by now."""
    if accepts(field, value):
        return True
    if value.__class__ is str and field.kinds & {"dtype", "enum", "callable", "object"}:
        return True
    # 8.0 for 8 and 1 for true work as Python numbers do
    if value.__class__ is float and value.is_integer() and "int" in field.kinds:
        return True
    return (value.__class__ is int and value in (0, 1) and "bool" in field.kinds) or value.__class__ is dict


def nearest(word: str, words: list[str] | dict[str, Field]) -> str | None:
    """The name that is meant by ``word``: a known synonym, else the one it is most likely a slip of."""
    synonym = SYNONYMS.get(word)
    if synonym in words:
        return synonym
    return _slip(word, words) if isinstance(words, dict) else closest(word, words)


_slips: dict[tuple[str, int], tuple[dict[str, Field], str | None]] = {}


def _slip(key: str, fields: dict[str, Field]) -> str | None:
    """``closest``, remembered: the trials of fixes ask for the same keys again and again."""
    known = _slips.get((key, id(fields)))
    if known is None:
        if len(_slips) > _MOST_WORDS:
            _slips.clear()
        # with the fields, so that no others get their id
        groups = _by_length.get(id(fields))
        if groups is None:
            groups = _by_length[id(fields)] = (fields, _grouped(fields))
        known = _slips[key, id(fields)] = (fields, _closest(key, groups[1]))
    return known[1]


_by_length: dict[int, tuple[dict[str, Field], dict[int, list[str]]]] = {}


def _grouped(words: Iterable[str]) -> dict[int, list[str]]:
    groups: dict[int, list[str]] = {}
    for word in words:
        groups.setdefault(len(word), []).append(word)
    return groups


_letters: dict[str, int] = {}
_MOST_WORDS = 20_000


def closest(word: str, words: list[str]) -> str | None:
    """The one word that ``word`` is most likely a slip of, None when none is near."""
    return _closest(word, _grouped(words))


def _closest(word: str, groups: dict[int, list[str]]) -> str | None:
    """``closest`` of words by their length."""
    import difflib

    # difflib's own bounds, without its work: twice the letters in common over all letters
    size = len(word)
    lengths = [length for length in groups if 2.0 * min(size, length) / (size + length or 1) >= CLOSE]
    if not lengths:
        return None
    mine = _as_bits(word)
    near = [other for length in lengths for other in groups[length] if 2.0 * (mine & _as_bits(other)).bit_count() / (size + length) >= CLOSE]
    matches = difflib.get_close_matches(word, near, 2, CLOSE) if near else None
    return matches[0] if matches else None


def _as_bits(word: str) -> int:
    """The letters of a word, each as often as it is there, as a number: letters in common are the bits in common."""
    bits = _letters.get(word)
    if bits is None:
        if len(_letters) > _MOST_WORDS:
            _letters.clear()
        bits = 0
        for letter in word:
            bit = 1 << (ord(letter) % 64)
            while bits & bit:
                bit <<= 64
            bits |= bit
        _letters[word] = bits
    return bits
