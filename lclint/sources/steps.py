"""What operations do to plain values, and the smaller operations that a larger one consists of. Knows nothing of text."""

from __future__ import annotations

from typing import Any

Operation = tuple[Any, ...]
Path = tuple[Any, ...]

# A longer pair of lists is compared by its common head and tail alone.
_MAX_ALIGNED = 40_000


class EditRefused(Exception):
    """A change that cannot be made exactly; ``str()`` is the reason."""


def equal(a: Any, b: Any) -> bool:
    """Equality that tells 1, 1.0 and True apart, and finds nan equal to itself."""
    if isinstance(a, tuple):
        a = list(a)
    if isinstance(b, tuple):
        b = list(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return len(a) == len(b) and all(key in b and equal(value, b[key]) for key, value in a.items())
    if isinstance(a, list):
        return len(a) == len(b) and all(map(equal, a, b))
    return bool(a == b) or (a != a and b != b)


def list_after(old: list[Any], operation: Operation) -> list[Any]:
    """A list after one list operation."""
    kind, value = operation[0], operation[2]
    if kind == "append":
        return [*old, value]
    if kind == "discard":
        return [item for item in old if not equal(item, value)]
    return [value[1] if equal(item, value[0]) else item for item in old]


def mapping_steps(path: Path, old: dict[Any, Any], new: dict[Any, Any]) -> list[Operation]:
    """Set and remove the keys in which two mappings differ."""
    steps: list[Operation] = [("set", (*path, key), value) for key, value in new.items()]
    steps.extend(("remove", (*path, key)) for key in old if key not in new)
    return steps


def list_steps(path: Path, old: list[Any], new: list[Any]) -> list[Operation]:
    """Set, insert and remove elements so that those that stay keep their lines and comments.

    Of a run of elements that gives way to another run, each is set to its successor; what is left over is inserted or removed.
    The steps come from the back, so that none moves what a later one speaks of; a list that ends with elements is never empty on the way.
    """
    steps: list[Operation] = []
    before, after = len(old), len(new)
    for index, other in reversed([(-1, -1), *_kept(old, new)]):
        gone, come = before - index - 1, after - other - 1
        both = min(gone, come)
        first, source = index + 1, other + 1
        steps.extend(("remove", (*path, first + number)) for number in reversed(range(both, gone)))
        steps.extend(("insert", (*path, first + both), new[source + number]) for number in reversed(range(both, come)))
        steps.extend(("set", (*path, first + number), new[source + number]) for number in reversed(range(both)))
        before, after = index, other
    return steps


def _kept(old: list[Any], new: list[Any]) -> list[tuple[int, int]]:
    """The indices, in both lists, of a longest common subsequence."""
    head = 0
    while head < min(len(old), len(new)) and equal(old[head], new[head]):
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and equal(old[-1 - tail], new[-1 - tail]):
        tail += 1
    rows, columns = len(old) - head - tail, len(new) - head - tail
    kept = [(index, index) for index in range(head)]
    if 0 < rows * columns <= _MAX_ALIGNED:
        lengths = [[0] * (columns + 1) for _ in range(rows + 1)]
        for row in reversed(range(rows)):
            for column in reversed(range(columns)):
                same = equal(old[head + row], new[head + column])
                lengths[row][column] = 1 + lengths[row + 1][column + 1] if same else max(lengths[row + 1][column], lengths[row][column + 1])
        row = column = 0
        while row < rows and column < columns:
            if equal(old[head + row], new[head + column]):
                kept.append((head + row, head + column))
                row, column = row + 1, column + 1
            elif lengths[row + 1][column] >= lengths[row][column + 1]:
                row += 1
            else:
                column += 1
    kept.extend((len(old) - number, len(new) - number) for number in range(tail, 0, -1))
    return kept


def nested(path: Path, value: Any) -> Any:
    """``value`` below the keys of ``path``."""
    for part in reversed(path):
        if not isinstance(part, str):
            raise EditRefused(f"{part} is not an element of the list")
        value = {part: value}
    return value


def with_value(value: Any, path: Path, new: Any) -> Any:
    """A copy of ``value`` with ``new`` at ``path``."""
    if not path:
        return new
    if isinstance(value, list) and isinstance(path[0], int) and -len(value) <= path[0] < len(value):
        copy = list(value)
        copy[path[0]] = with_value(value[path[0]], path[1:], new)
        return copy
    if value is None or isinstance(value, dict):
        value = value or {}
        return {**value, path[0]: with_value(value.get(path[0]), path[1:], new)}
    raise EditRefused(f"{path[0]} is not in a section")


def without(value: Any, path: Path) -> Any:
    """A copy of ``value`` without what stands at ``path``."""
    if len(path) > 1:
        return with_value(value, path[:1], without(value[path[0]], path[1:]))
    if isinstance(value, list):
        index = path[0] % len(value)
        return value[:index] + value[index + 1 :]
    return {key: item for key, item in value.items() if key != path[0]}


def dotted(path: Path) -> str:
    """A path as messages name it."""
    return ".".join(str(part) for part in path)
