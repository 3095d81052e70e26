"""What a field's annotation means for somebody who writes YAML.

An annotation, be it a ``typing`` object of an imported class or the source text of one that cannot be imported, becomes
a small tree; a tree becomes a *shape*: a short text, the kinds of value Bridge takes, the kinds of a list's elements,
the closed set of allowed values and the config classes that may stand there. Nothing here needs torch: dtypes and
dataclasses are told by what they look like.

Kinds are wider than the annotation where Bridge is: Bridge never checks types, so a float takes an int, a bool anything
that Python finds true or false, a dtype its name, an enum its member's name, a function its import path or a
``_target_`` mapping.
"""

from __future__ import annotations

import ast
import collections.abc
import dataclasses
import enum
import pathlib
import types
import typing
from collections.abc import Callable
from typing import Any

Tree = tuple[Any, ...]
Shape = dict[str, Any]

DTYPES = {
    "float32": "fp32", "float": "fp32", "float64": "fp64", "double": "fp64", "float16": "fp16", "half": "fp16", "bfloat16": "bf16",
    "int8": "int8", "uint8": "uint8", "int16": "int16", "int32": "int32", "int64": "int64", "long": "int64",
    "float8_e4m3fn": "fp8_e4m3", "float8_e5m2": "fp8_e5m2",
}  # fmt: skip

ANY: Tree = ("any",)
NULL: Tree = ("null",)
_PLAIN: dict[str, Tree] = {
    **{n: (n,) for n in ("int", "float", "bool", "str", "dict", "list")},
    "None": NULL, "NoneType": NULL, "Any": ANY, "object": ANY, "Type": ANY, "type": ANY,
    "Dict": ("dict",), "Mapping": ("dict",), "MutableMapping": ("dict",),
    "List": ("list",), "tuple": ("list",), "Tuple": ("list",), "set": ("list",), "Set": ("list",), "frozenset": ("list",),
    "Sequence": ("list",), "Iterable": ("list",), "Callable": ("callable",), "dtype": ("dtype",), "Path": ("path",),
}  # fmt: skip
_KINDS: dict[str, tuple[str, ...]] = {
    "int": ("int",), "float": ("float", "int"), "bool": ("bool", "int"), "str": ("str",), "null": ("null",), "any": ("any",),
    "dict": ("dict",), "list": ("list",), "dtype": ("dtype", "str"), "callable": ("callable", "str", "dict", "object"),
    "path": ("str", "object"), "class": ("object", "dict"), "opaque": ("object", "dict"), "enum": ("enum", "str"),
    "intenum": ("enum", "str", "int"),
}  # fmt: skip
_TEXTS = {"null": "null", "any": "anything", "callable": "function", "path": "path", "dtype": "dtype"}
_ORDER = ("bool", "int", "float", "str", "null", "list", "dict", "dtype", "callable", "enum", "object", "any")


def dtype_name(value: object) -> str | None:
    """``torch.bfloat16`` -> ``bf16``; None for what is no torch dtype."""
    if type(value).__name__ != "dtype" or not type(value).__module__.startswith("torch"):
        return None
    name = str(value).rpartition(".")[2]
    return DTYPES.get(name, name)


def qualified(cls: type) -> str:
    """The import path that a dump writes as ``_target_``."""
    return f"{cls.__module__}.{cls.__qualname__}"


def from_hint(hint: Any, resolve: Callable[[str], Tree] = lambda name: ANY) -> Tree:
    """Tree of a ``typing`` object; ``resolve`` answers for forward references and names in string annotations."""
    if hint is None or hint is type(None):
        return NULL
    if isinstance(hint, str):
        return from_text(hint, resolve)
    if isinstance(hint, typing.ForwardRef):
        return from_text(hint.__forward_arg__, resolve)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return ("literal", *args)
    if origin is typing.Union or origin is types.UnionType:
        return _union([from_hint(a, resolve) for a in args])
    if origin is typing.Annotated:
        return from_hint(args[0], resolve)
    if origin is collections.abc.Callable:
        return ("callable",)
    if isinstance(origin, type):
        if issubclass(origin, collections.abc.Mapping):
            return ("dict",)
        if issubclass(origin, (list, tuple, set, frozenset)) or issubclass(origin, collections.abc.Iterable):
            return _list([from_hint(a, resolve) for a in args if a is not Ellipsis])
        return ANY
    if isinstance(hint, type):
        return _from_class(hint)
    return _PLAIN.get(str(getattr(hint, "_name", None) or getattr(hint, "__name__", "")), ANY)


def _from_class(cls: type) -> Tree:
    if issubclass(cls, enum.Enum):
        return ("intenum" if issubclass(cls, int) else "enum", cls.__name__, *(m.name for m in cls))
    if dataclasses.is_dataclass(cls):
        return ("class", qualified(cls))
    if issubclass(cls, pathlib.PurePath):
        return ("path",)
    if cls.__module__ in ("builtins", "typing", "collections.abc", "torch"):
        return _PLAIN.get(cls.__name__, ANY)
    return ("opaque", cls.__name__)


def from_text(text: str, resolve: Callable[[str], Tree] = lambda name: ANY) -> Tree:
    """Tree of an annotation's source text; ``resolve`` answers for every name that Python and typing do not define."""
    try:
        return _from_ast(ast.parse(text.strip(), mode="eval").body, resolve)
    except SyntaxError:
        return ANY


def _from_ast(node: ast.expr, resolve: Callable[[str], Tree]) -> Tree:
    if isinstance(node, ast.Constant):
        if node.value is None:
            return NULL
        return from_text(node.value, resolve) if isinstance(node.value, str) else ANY
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _union([_from_ast(node.left, resolve), _from_ast(node.right, resolve)])
    if isinstance(node, (ast.Name, ast.Attribute)):
        dotted = ast.unparse(node)
        name = dotted.rpartition(".")[2]
        return _PLAIN[name] if name in _PLAIN else resolve(dotted)
    if not isinstance(node, ast.Subscript):
        return ANY
    head = ast.unparse(node.value).rpartition(".")[2]
    args = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if head == "Literal":
        return ("literal", *(ast.literal_eval(a) for a in args))
    if head == "Optional":
        return _union([_from_ast(args[0], resolve), NULL])
    if head == "Union":
        return _union([_from_ast(a, resolve) for a in args])
    if head in ("Annotated", "Final"):
        return _from_ast(args[0], resolve)
    outer = _PLAIN.get(head, ANY)
    if outer == ("list",):
        return _list([_from_ast(a, resolve) for a in args if not (isinstance(a, ast.Constant) and a.value is Ellipsis)])
    return outer


def _union(members: list[Tree]) -> Tree:
    flat: list[Tree] = []
    for member in members:
        for tree in member[1:] if member[0] == "union" else (member,):
            if tree not in flat:
                flat.append(tree)
    return flat[0] if len(flat) == 1 else ("union", *flat)


def _list(items: list[Tree]) -> Tree:
    return ("list", _union(items)) if items else ("list",)


def kinds_of_value(value: object) -> set[str]:
    """Kinds of a plain default value as the catalogue stores it."""
    if value is None:
        return {"null"}
    if isinstance(value, bool):
        return {"bool", "int"}
    if isinstance(value, (int, str)):
        return {type(value).__name__}
    if isinstance(value, float):
        return {"float", "int"}
    if isinstance(value, list):
        return {"list"}
    return {"object", "dict"} if isinstance(value, dict) and "_target_" in value else {"dict"}


def shape_of(tree: Tree, subclasses: Callable[[str], list[str]] = lambda name: [name]) -> Shape:
    """Shape of a tree. ``subclasses`` names, for a config class, every config class that may stand in its place."""
    members = list(tree[1:]) if tree[0] == "union" else [tree]
    kinds: set[str] = set()
    items: set[str] | None = None
    choices: list[Any] = []
    closed = True
    nested: list[str] = []
    for member in members:
        kind = member[0]
        if kind == "literal":
            for value in member[1:]:
                kinds |= kinds_of_value(value)
                if value is not None:
                    choices.append(value)
            if set(DTYPES.values()).issuperset(v for v in member[1:] if v is not None):
                kinds.add("dtype")  # the precision may as well be given as the dtype that it names
            continue
        kinds |= set(_KINDS[kind])
        if kind in ("enum", "intenum"):
            choices.extend(member[2:])
        elif kind != "null":
            closed = False
        if kind == "list" and len(member) > 1:
            inner = shape_of(member[1], subclasses)
            items = (items or set()) | set(inner["kinds"])
            if "int" in items:
                items.add("bool")  # layer masks are written as a list of booleans
            nested.extend(inner["nested"])
        elif kind == "class":
            nested.extend(subclasses(member[1]))
    if "any" in kinds:
        kinds = {"any"}
    return {
        "text": _text(tree),
        "kinds": in_order(kinds),
        "items": None if items is None else in_order(items),
        "choices": list(dict.fromkeys(choices)) if closed and choices else None,
        "nested": list(dict.fromkeys(nested)),
    }


def widen(shape: Shape, default: object) -> Shape:
    """The shape that also takes the field's own default: many a class contradicts its annotation."""
    kinds = set(shape["kinds"])
    if "any" in kinds:
        return shape
    extra = kinds_of_value(default) - kinds
    if extra and not ("str" in extra and kinds & {"dtype", "enum", "callable"}):
        shape = {**shape, "kinds": in_order(kinds | extra)}
    choices = shape["choices"]
    if choices and isinstance(default, (str, int)) and default not in choices:
        shape = {**shape, "choices": [*choices, default]}
    return shape


def in_order(kinds: set[str]) -> list[str]:
    """Kinds as a list, always in the same order."""
    return sorted(kinds, key=_ORDER.index)


def _text(tree: Tree) -> str:
    kind = tree[0]
    if kind == "union":
        return " | ".join(dict.fromkeys(_text(t) for t in tree[1:]))
    if kind == "literal":
        return " | ".join("null" if v is None else str(v).lower() if isinstance(v, bool) else str(v) for v in tree[1:])
    if kind == "list":
        return f"list of {_text(tree[1])}" if len(tree) > 1 else "list"
    if kind in ("enum", "intenum"):
        return " | ".join(tree[2:]) if len(tree) <= 12 else str(tree[1])
    if kind in ("class", "opaque"):
        return str(tree[1]).rpartition(".")[2]
    return _TEXTS.get(str(kind), str(kind))
