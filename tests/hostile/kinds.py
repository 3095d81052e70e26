"""Texts that nobody means well with, by name: each with what a check of it must say, None where it is merely a bad config."""

from __future__ import annotations

import random
from collections.abc import Callable

HEAD = "model:\n  tensor_model_parallel_size: 2\n"


def _keys(number: int, value: str = "1", indent: str = "  ") -> str:
    return "".join(f"{indent}key_{index}: {value}\n" for index in range(number))


def _laughs() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    return "\n".join([*lines, HEAD])


def _noise() -> bytes:
    return random.Random(1).randbytes(100_000)


def _misspelled(number: int) -> str:
    words = ("tensor_paralel_size", "pipline_model_parallel", "recompute_granularty", "sequence_paralel", "num_layrs")
    return HEAD + "".join(f"  {words[index % 5]}_{index}: 2\n" for index in range(number))


def _texts(number: int) -> str:
    from lclint.catalog import tables

    fields = [f.name for f in (tables.section("0.6", "model").fields() or {}).values() if f.kinds == {"int"}]
    return "model:\n" + "".join(f"  {name}: '8'\n" for name in fields[:number])


# name -> text, and the message with which it is refused
REFUSED: dict[str, tuple[Callable[[], bytes | str], str]] = {
    "binary": (lambda: _noise() + b"\0" + _noise(), "is a binary file"),
    "noise without a zero byte": (lambda: _noise().replace(b"\0", b"\1"), "is not UTF-8 text"),
    "a zero byte in text": (lambda: HEAD.encode() + b"  seq_length: 4\0096\n", "is a binary file"),
    "invalid UTF-8": (lambda: HEAD.encode() + b"  name: '\xff\xfe\xfd'\n", ":3: is not UTF-8 text"),
    "overlong UTF-8": (lambda: HEAD.encode() + b"  name: '\xc0\xaf'\n", ":3: is not UTF-8 text"),
    "a surrogate in UTF-8": (lambda: HEAD.encode() + b"  name: '\xed\xa0\x80'\n", ":3: is not UTF-8 text"),
    "UTF-16": (lambda: HEAD.encode("utf-16"), "is UTF-16 text"),
    "UTF-32": (lambda: HEAD.encode("utf-32"), "is UTF-16 text"),
    "gzip": (lambda: b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + _noise(), "is a binary file"),
    "control characters": (lambda: HEAD + "  name: \x01\x02\x1b[31m\n", "control characters"),
    "100 MB of YAML": (lambda: HEAD + "  # padding\n" * 8_700_000, "is larger than"),
    "100 MB in one line": (lambda: HEAD + "  name: " + "x" * 100_000_000, "is larger than"),
    "a value of 30 MB": (lambda: HEAD + "  name: " + "x" * 30_000_000 + "\n", "is larger than"),
    "a quoted value of 30 MB": (lambda: HEAD + '  name: "' + "x" * 30_000_000 + '"\n', "is larger than"),
    "10,000 brackets": (lambda: HEAD + "  name: " + "[" * 10_000 + "]" * 10_000, ":3: "),
    "100,000 brackets never closed": (lambda: HEAD + "  name: " + "[" * 100_000, ":3: "),
    "10,000 braces": (lambda: HEAD + "  name: " + "{a: " * 10_000 + "1" + "}" * 10_000, "nested more than"),
    "2,000 levels of indentation": (lambda: "model:\n" + "".join(" " * (n + 1) + f"k{n}:\n" for n in range(2_000)), "nested more than"),
    "10,000 dashes": (lambda: "model:\n  name:\n    " + "- " * 10_000 + "1\n", "nested more than"),
    "billion laughs": (_laughs, "aliases expanded"),
    "billion laughs by merge keys": (
        lambda: "a0: &a0 {k0: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}], k{n}: 1}}\n" for n in range(1, 10)) + HEAD,
        "aliases expanded",
    ),
    "an alias inside its own value": (lambda: "model: &m\n  a: *m\n", "stands inside its own value"),
    "an alias inside its own list": (lambda: "model: {name: &m [1, *m]}\n", "stands inside its own value"),
    "an alias of nothing": (lambda: HEAD + "  name: *nothing\n", "refers to no anchor"),
    "a chain of aliases, 10,000 long": (
        lambda: "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 10_000)) + HEAD,
        "nested more than",
    ),
    "110,000 keys": (lambda: "model:\n" + _keys(110_000), "holds more than"),
    "a million list items": (lambda: HEAD + "  name: [" + "1," * 1_000_000 + "]\n", "holds more than"),
    "a million empty lists": (lambda: HEAD + "  name: [" + "[]," * 1_000_000 + "]\n", "holds more than"),
    "a quote never closed": (lambda: HEAD + "  name: '" + "it''s\n" * 10_000, "never closed"),
    "a tab as indentation": (lambda: "model:\n\tseq_length: 4096\n", ":2: not valid YAML: a tab"),
    "a million tabs": (lambda: HEAD + "\t" * 1_000_000 + "x: 1\n", "not valid YAML: a tab"),
    "a million colons": (lambda: HEAD + "  name: " + "a: " * 300_000 + "\n", "a ':' stands where no key can be"),
    "a million percent signs": (lambda: "%YAML 1.1\n" * 100_000 + HEAD, "not valid YAML"),
    "a key of 2 MB": (lambda: HEAD + "  " + "k" * 2_000_000 + ": 1\n", "not valid YAML"),
    "an anchor of 5 MB": (lambda: HEAD + "  name: &" + "a" * 5_000_000 + " 1\n", "is larger than"),
    "a tag of 5 MB": (lambda: HEAD + "  name: !" + "a" * 5_000_000 + " 1\n", "is larger than"),
}

# name -> text of what can be read: findings or none, but in time
CHECKED: dict[str, Callable[[], str]] = {
    "1,000 interpolations, nested": lambda: HEAD + "  name: '" + "${" * 1_000 + "a" + "}" * 1_000 + "'\n",
    "100,000 interpolations, nested": lambda: HEAD + "  name: '" + "${" * 100_000 + "a" + "}" * 100_000 + "'\n",
    "nested interpolations behind a resolver": lambda: HEAD + "  name: '${oc.env:" + '"${' * 1_500 + "a" + '}"' * 1_500 + "}'\n",
    "100,000 open interpolations": lambda: HEAD + "  name: '" + "${a" * 100_000 + "'\n",
    "100,000 interpolations beside each other": lambda: HEAD + "  name: '" + "${model.seq_length}" * 100_000 + "'\n",
    "50,000 chained interpolations": lambda: HEAD + "".join(f"  k{n}: ${{model.k{n + 1}}}\n" for n in range(50_000)),
    "interpolations that double": lambda: HEAD + "  k0: xxxxxxxxxx\n" + "".join(f"  k{n}: ${{model.k{n - 1}}}${{model.k{n - 1}}}\n" for n in range(1, 60)),
    "sections that copy each other": lambda: (
        HEAD + "  s0: {a: 1}\n" + "".join(f"  s{n}: {{a: '${{model.s{n - 1}}}', b: '${{model.s{n - 1}}}'}}\n" for n in range(1, 60))
    ),
    "an interpolation of itself": lambda: HEAD + "  name: ${model}\n",
    "200 unknown keys": lambda: HEAD + _keys(200),
    "200 misspelled keys": lambda: _misspelled(200),
    "20,000 unknown keys": lambda: HEAD + _keys(20_000),
    "60,000 unknown keys": lambda: HEAD + _keys(60_000),
    "60,000 unknown keys of a dump": lambda: "_target_: megatron.bridge.training.config.ConfigContainer\n" + HEAD + _keys(60_000),
    "20,000 unknown sections": lambda: HEAD + "".join(f"section_{n}: {{a: 1}}\n" for n in range(20_000)),
    "20,000 times the same key": lambda: HEAD + "  seq_length: 4096\n" * 20_000,
    "20,000 variables": lambda: HEAD + "env_vars:\n" + _keys(20_000, "[1]"),
    "200 fields that are texts": lambda: _texts(200),
    "a layer count of a million digits": lambda: HEAD + "  num_layers: " + "9" * 1_000_000 + "\n",
    "a number of 5,000 digits": lambda: HEAD + "  num_layers: " + "9" * 5_000 + "\n",
    "a hexadecimal number of a million digits": lambda: HEAD + "  num_layers: 0x" + "f" * 1_000_000 + "\n",
    "a base-60 number of a million parts": lambda: HEAD + "  num_layers: 1" + ":59" * 1_000_000 + "\n",
    "a base-60 fraction of a million parts": lambda: HEAD + "  num_layers: 1" + ":59" * 1_000_000 + ".5\n",
    "a million underscores": lambda: HEAD + "  num_layers: 1" + "_" * 1_000_000 + "\n",
    "sizes near 10^18": lambda: (
        "# lclint: gpus=999999999999999989 gpu=h100\nmodel:\n  tensor_model_parallel_size: 3\n  num_layers: 999999999999999989\n"
        "  num_attention_heads: 999999999999999989\n  num_moe_experts: 999999999999999989\n  expert_model_parallel_size: 7\n  pipeline_model_parallel_size: 5\n"
        "  virtual_pipeline_model_parallel_size: 4\n  seq_length: 999999999999999989\ntrain:\n  global_batch_size: 999999999999999989\n  micro_batch_size: 11\n"
    ),
    "negative and zero sizes": lambda: (
        "# lclint: gpus=8\nmodel:\n  tensor_model_parallel_size: 0\n  num_layers: -1\n  pipeline_model_parallel_size: -9\n"
        "  context_parallel_size: 0\n  hidden_size: -4\n  num_attention_heads: 0\ntrain:\n  global_batch_size: 0\n  micro_batch_size: -1\n"
    ),
    "infinities": lambda: (
        "model:\n  num_layers: .inf\n  hidden_size: -.inf\n  seq_length: .nan\n  tensor_model_parallel_size: 1e400\ntrain:\n  global_batch_size: .inf\n"
    ),
    "a pipeline layout of a million parts": lambda: (
        HEAD + "  num_layers: 32\n  pipeline_model_parallel_size: 4\n  pipeline_model_parallel_layout: '" + "Et|" * 1_000_000 + "L'\n"
    ),
    "a pipeline layout of nested repeats": lambda: HEAD + "  num_layers: 32\n  pipeline_model_parallel_layout: '" + "(" * 5_000 + "t" + ")*9" * 5_000 + "'\n",
    "a pipeline layout of 10^12 layers": lambda: HEAD + "  num_layers: 32\n  pipeline_model_parallel_layout: 'Et*999999999999|t*999999999999L'\n",
    "a recompute list of 100,000": lambda: HEAD + "  recompute_granularity: selective\n  recompute_modules: [" + "core_attn, " * 100_000 + "]\n",
    "a hybrid pattern of a million letters": lambda: HEAD + "  hybrid_layer_pattern: '" + "M*-E" * 250_000 + "'\n",
    "an expert frequency of 100,000": lambda: HEAD + "  num_layers: 32\n  num_moe_experts: 8\n  moe_layer_freq: [" + "1, " * 100_000 + "]\n",
    "100 KB of # in a quoted value": lambda: "# lclint: gpu=h100\n" + HEAD + "  name: '" + "#" * 100_000 + "'\n",
    "100 KB of # on many lines": lambda: "# lclint: gpu=h100\n" + HEAD + "  name: '" + "# lclint: ignore\n   " * 5_000 + "'\n",
    "5,000 ignore comments": lambda: (
        "# lclint: gpu=h100 gpus=8\n" + HEAD + "".join(f"  key_{n}: 1   # lclint: ignore[unknown-key] because\n" for n in range(5_000))
    ),
    "5,000 ignore comments of their own lines": lambda: HEAD + "".join(f"  # lclint: ignore[unknown-key]\n  key_{n}: 1\n" for n in range(5_000)),
    "5,000 ignore comments above one key": lambda: HEAD + "  # lclint: ignore[unknown-key] x\n" * 5_000 + "  key_1: 1\n",
    "2,000 ignore comments for nothing, 20,000 keys": lambda: HEAD + "  # lclint: ignore[fp8-*, LC1] x\n  name: a\n" * 2_000 + _keys(20_000),
    "10,000 ignore comments for the file": lambda: "# lclint: ignore-file[unknown-key] because\n" * 10_000 + HEAD,
    "10,000 ignore comments of rules that nobody knows": lambda: HEAD + "".join(f"  # lclint: ignore[r{n}] x\n" for n in range(10_000)),
    "an ignore comment of a megabyte": lambda: HEAD + "  key: 1  # lclint: ignore[" + "a," * 500_000 + "a] x\n",
    "an options comment of a megabyte": lambda: "# lclint: " + "gpu=h100 " * 100_000 + "\n" + HEAD,
    "an options comment that is half a quote": lambda: "# lclint: gpu=" + '"' * 100_000 + "\n" + HEAD,
    "line ends of all kinds": lambda: "model:\r  a: 1\r\n  b: 2\u2028  \x85  # x\n  c: 3\n" * 1,
    "10,000 documents": lambda: HEAD + "---\na: 1\n" * 10_000,
    "a million blank lines": lambda: HEAD + "\n" * 1_000_000 + "train:\n  micro_batch_size: 1\n",
    "a comment of 3 MB": lambda: HEAD + "# " + "x" * 3_000_000 + "\n",
    "1 MB with a byte order mark in the middle": lambda: HEAD + "  name: \ufeffx\n" + "".join(f"  k{n}: 'a\tb'\n" for n in range(40_000)),
    "anchors of the same name": lambda: HEAD + "".join(f"  k{n}: &a {n}\n" for n in range(20_000)),
    "20,000 merge keys": lambda: "b: &b {x: 1}\n" + HEAD + "".join(f"  k{n}: {{<<: *b}}\n" for n in range(20_000)),
    "a mapping with 5,000 merge keys": lambda: "b: &b {x: 1}\n" + HEAD + "  <<: *b\n" * 5_000,
    "keys that are collections": lambda: HEAD + "".join(f"  ? [a, {n}]\n  : 1\n" for n in range(5_000)),
    "20,000 tags that nobody knows": lambda: HEAD + "".join(f"  k{n}: !who{n} 1\n" for n in range(20_000)),
    "python tags": lambda: HEAD + "  name: !!python/object/apply:os.system ['echo no > done']\n  b: !!python/name:os.system\n",
    "dates of all kinds": lambda: HEAD + "  a: 2024-99-99\n  b: 9999-12-31T99:99:99\n  c: 0000-00-00\n  d: 2024-01-01 00:00:00 +99:99\n",
    "names of Python": lambda: HEAD + "  __class__: 1\n  __init__: {__globals__: 1}\n  '': 1\n  '.': 2\n  '..': 3\n  'a..b': 4\n  '[0]': 5\n",
    "values that are braces": lambda: HEAD + "  name: '{model.seq_length} {0} {__class__} %s'\n  '{x}': '{'\n",
    "terminal control in a value": lambda: HEAD + '  recompute_granularity: "\\e]0;x\\a\\e[2J\\u202e"\n  "\\e[31mkey": 1\n',
    "keys of 1,000 characters": lambda: HEAD + "".join(f"  {'k' * 1_000}{n}: 1\n" for n in range(1_000)),
    "dtypes and targets of all kinds": lambda: (
        "model:\n  _target_: 7\n  params_dtype: {_target_: [1]}\ntrain: {_target_: megatron.no.such.Class}\n"
        "ddp: {_target_: megatron.bridge.training.config.DistributedDataParallelConfig, _call_: false, _args_: [1]}\n"
    ),
    "sections that are no mappings": lambda: (
        "model: 7\ntrain: [1, 2]\nddp: text\noptimizer: null\ncheckpoint: {tensor_model_parallel_size: 2, save_interval: []}\n"
    ),
    "a mapping wherever a number could be": lambda: (
        "model:\n  tensor_model_parallel_size: {a: 1}\n  num_layers: [1]\n  seq_length: {}\n  num_attention_heads: []\ntrain:\n"
        "  global_batch_size: {b: 2}\n  micro_batch_size: [[]]\n"
    ),
}
