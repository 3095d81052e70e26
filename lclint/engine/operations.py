"""What the operators and functions of rule expressions do with known, unknown and not-applicable values.

Logic is Kleene's, with *not applicable* as a fourth state: ``false and x`` is false and ``true or x`` is true whatever
x is. Otherwise *not applicable* decides an ``and`` (it cannot become true any more) and *unknown* an ``or`` (it still can).
In everything else an operand that is not applicable makes the result not applicable, and an unknown one makes it unknown.
Arithmetic and ordering on null, on a wrong type or out of range is not applicable.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lclint.core.errors import RuleError
from lclint.core.states import NOT_APPLICABLE, UNKNOWN, State

# Numbers beyond this are no field of a training config; the bound keeps a hostile rule file from eating memory.
LARGEST = 1 << 80
LONGEST = 100_000
# where every element is held against every other
LONGEST_COMPARED = 2_000


# Elements of lists that the rules may look at in one check: some tenths of a second, and far from what any shipped rule takes.
MOST_STEPS = 5_000_000
_left = [MOST_STEPS]


class TooManySteps(RuleError):
    """A rule works on lists for longer than a check may take."""

    def __init__(self, rule: str = "a rule", path: str = "a file") -> None:
        super().__init__(f"{rule} takes more than {MOST_STEPS:,} steps on {path}", hint="let it look at less of a list")


def start_steps() -> None:
    """Begin to count the steps of a check."""
    _left[0] = MOST_STEPS


def take_steps(number: int) -> None:
    """Count steps. Raises TooManySteps when there are none left."""
    _left[0] -= number
    if _left[0] < 0:
        raise TooManySteps


def truth(value: Any) -> Any:
    """True, False, or the state itself."""
    return value if value.__class__ is State else bool(value)


def not_(value: Any) -> Any:
    return value if value.__class__ is State else not value


def both(left: Any, right: Any) -> Any:
    """``left and right`` for truths."""
    if left is False or right is False:
        return False
    if left is NOT_APPLICABLE or right is NOT_APPLICABLE:
        return NOT_APPLICABLE
    return UNKNOWN if left is UNKNOWN or right is UNKNOWN else True


def either(left: Any, right: Any) -> Any:
    """``left or right`` for truths."""
    if left is True or right is True:
        return True
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    return NOT_APPLICABLE if left is NOT_APPLICABLE or right is NOT_APPLICABLE else False


def _state(*values: Any) -> State | None:
    """The state that absorbs these operands, None when all are known."""
    found: State | None = None
    for value in values:
        if value.__class__ is State and found is not NOT_APPLICABLE:
            found = value
    return found


def equal(left: Any, right: Any) -> Any:
    if left.__class__ is State or right.__class__ is State:
        return _state(left, right)
    return _same(left, right)


def different(left: Any, right: Any) -> Any:
    if left.__class__ is State or right.__class__ is State:
        return _state(left, right)
    return not_(_same(left, right))


def _same(left: Any, right: Any) -> Any:
    """True, False, or UNKNOWN where an element that is unknown decides."""
    # True == 1 in Python, but a flag is not a count
    if (left.__class__ is bool) is not (right.__class__ is bool):
        return False
    if left.__class__ not in (list, tuple) or right.__class__ not in (list, tuple):
        return bool(left == right)
    if len(left) != len(right):
        return False
    take_steps(len(left))
    result: Any = True
    for one, other in zip(left, right, strict=True):
        same = UNKNOWN if one is UNKNOWN or other is UNKNOWN else _same(one, other)
        if same is False:
            return False
        if same is UNKNOWN:
            result = UNKNOWN
    return result


def is_null(value: Any) -> Any:
    return value if value.__class__ is State else value is None


def is_not_null(value: Any) -> Any:
    return value if value.__class__ is State else value is not None


def _number(value: Any) -> bool:
    return value.__class__ is int or value.__class__ is float


def _ordering(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def operation(left: Any, right: Any) -> Any:
        if left.__class__ is State or right.__class__ is State:
            return _state(left, right)
        return compare(left, right) if _number(left) and _number(right) else NOT_APPLICABLE

    return operation


less = _ordering(lambda left, right: left < right)
less_equal = _ordering(lambda left, right: left <= right)
greater = _ordering(lambda left, right: left > right)
greater_equal = _ordering(lambda left, right: left >= right)


def _arithmetic(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operation(left: Any, right: Any) -> Any:
        if left.__class__ is State or right.__class__ is State:
            return _state(left, right)
        if not _number(left) or not _number(right):
            return NOT_APPLICABLE
        try:
            result = compute(left, right)
        except (ArithmeticError, ValueError):
            return NOT_APPLICABLE
        return result if -LARGEST < result < LARGEST else NOT_APPLICABLE

    return operation


add = _arithmetic(lambda left, right: left + right)
subtract = _arithmetic(lambda left, right: left - right)
multiply = _arithmetic(lambda left, right: left * right)
divide = _arithmetic(lambda left, right: left / right)
floor_divide = _arithmetic(lambda left, right: left // right)
remainder = _arithmetic(lambda left, right: left % right)


def negative(value: Any) -> Any:
    return subtract(0, value)


def contains(item: Any, items: Any) -> Any:
    """``item in items``, on lists only: ``"full" in "full_iteration"`` must not be a question."""
    if item.__class__ is State or items.__class__ is State:
        return _state(item, items)
    if items.__class__ not in (list, tuple):
        return NOT_APPLICABLE
    take_steps(len(items))
    unknown = False
    for element in items:
        same = UNKNOWN if element is UNKNOWN else _same(item, element)
        if same is True:
            return True
        unknown = unknown or same is UNKNOWN
    return UNKNOWN if unknown else False


def contains_not(item: Any, items: Any) -> Any:
    return not_(contains(item, items))


def choose(condition: Any, value: Any, other: Any) -> Any:
    """``value if condition else other``; an undecided condition still decides when both branches agree."""
    if condition.__class__ is State:
        return value if value.__class__ is not State and equal(value, other) is True else condition
    return value if condition else other


def make_list(*items: Any) -> Any:
    """A list literal; an element that is not applicable makes the list not applicable, an unknown one stays in it."""
    return NOT_APPLICABLE if NOT_APPLICABLE in items else list(items)


def item_of(items: Any, index: Any) -> Any:
    """``items[index]``; out of range or not a list is not applicable."""
    state = _state(items, index)
    if state is not None:
        return state
    if items.__class__ not in (list, tuple) or index.__class__ is not int or not -len(items) <= index < len(items):
        return NOT_APPLICABLE
    return items[index]


def _function(check: Callable[..., bool], compute: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        state = _state(*arguments)
        if state is not None:
            return state
        for argument in arguments:
            if argument.__class__ in (list, tuple):
                take_steps(len(argument))
                if UNKNOWN in argument:
                    return UNKNOWN
        if not check(*arguments):
            return NOT_APPLICABLE
        try:
            result = compute(*arguments)
        except (ArithmeticError, ValueError, TypeError):
            return NOT_APPLICABLE
        return result if not _number(result) or -LARGEST < result < LARGEST else NOT_APPLICABLE

    return call


def _is_list(value: Any) -> bool:
    return value.__class__ in (list, tuple) and len(value) <= LONGEST


def _lists(*values: Any) -> bool:
    return all(_is_list(value) for value in values)


def _short_lists(*values: Any) -> bool:
    short = all(_is_list(value) and len(value) <= LONGEST_COMPARED for value in values)
    if short:
        take_steps(len(values[0]) * len(values[-1]))
    return short


def _numbers(*values: Any) -> bool:
    return all(_number(value) for value in values)


def _integers(*values: Any) -> bool:
    return all(value.__class__ is int for value in values)


def _strings(*values: Any) -> bool:
    return all(value.__class__ is str for value in values)


def _number_list(value: Any) -> bool:
    return _is_list(value) and all(_number(item) for item in value)


def _listed(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 and _is_list(values[0]) else values


def _flat_numbers(*values: Any) -> bool:
    return len(_listed(values)) > 0 and all(_number(item) for item in _listed(values))


def _product(values: Any) -> Any:
    result = 1
    for value in values:
        result *= value
        if abs(result) > LARGEST:
            raise OverflowError
    return result


def _version(text: str) -> tuple[int, ...]:
    """``2.10.0.dev1`` -> (2, 10, 0): the release number that ordered comparisons need."""
    numbers = []
    for part in text.split("."):
        digits = ""
        for character in part:
            if not character.isdigit():
                break
            digits += character
        if not digits:
            break
        numbers.append(int(digits))
    if not numbers:
        raise ValueError(text)
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


# The one table of functions that a rule may call: name -> (smallest and largest number of arguments, what it computes).
FUNCTIONS: dict[str, tuple[int, int, Callable[..., Any]]] = {
    "len": (1, 1, _function(_lists, len)),
    "min": (1, 8, _function(_flat_numbers, lambda *values: min(_listed(values)))),
    "max": (1, 8, _function(_flat_numbers, lambda *values: max(_listed(values)))),
    "sum": (1, 1, _function(_number_list, sum)),
    "product": (1, 1, _function(_number_list, _product)),
    "abs": (1, 1, _function(_numbers, abs)),
    "lcm": (1, 8, _function(_integers, math.lcm)),
    "gcd": (1, 8, _function(_integers, math.gcd)),
    "ceil": (1, 1, _function(_numbers, math.ceil)),
    "floor": (1, 1, _function(_numbers, math.floor)),
    "without": (2, 2, _function(_short_lists, lambda items, others: [item for item in items if item not in others])),
    "common": (2, 2, _function(_short_lists, lambda items, others: [item for item in items if item in others])),
    "count": (2, 2, _function(lambda items, item: _is_list(items), lambda items, item: list(items).count(item))),
    "unique": (1, 1, _function(_short_lists, lambda items: [item for i, item in enumerate(items) if item not in items[:i]])),
    "lower": (1, 1, _function(_strings, str.lower)),
    "startswith": (2, 2, _function(_strings, str.startswith)),
    "endswith": (2, 2, _function(_strings, str.endswith)),
    "includes": (2, 2, _function(_strings, lambda text, part: part in text)),
    "is_list": (1, 1, _function(lambda value: True, lambda value: value.__class__ in (list, tuple))),
    "is_string": (1, 1, _function(lambda value: True, lambda value: value.__class__ is str)),
    "is_number": (1, 1, _function(lambda value: True, _number)),
    "number": (1, 1, _function(_strings, lambda text: int(text) if text.strip().lstrip("-").isdigit() else float(text))),
    "at_least": (2, 2, _function(_strings, lambda version, wanted: _version(version) >= _version(wanted))),
    "below": (2, 2, _function(_strings, lambda version, wanted: _version(version) < _version(wanted))),
    "known": (1, 1, lambda value: value is not UNKNOWN),
    "applies": (1, 1, lambda value: UNKNOWN if value is UNKNOWN else value is not NOT_APPLICABLE),
}


def show(value: Any) -> str:
    """A value as a message shows it: in YAML's words, short."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if value.__class__ is float:
        if math.isfinite(value) and value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        exact = repr(value)
        # What a person wrote stays as written; a computed figure is cut to what can be read.
        if len(exact) <= 7 or not math.isfinite(value):
            return exact
        return str(round(value)) if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"
    if value.__class__ in (list, tuple):
        shown = [show(item) for item in value[:9]]
        return "[" + ", ".join(shown + ["..."] * (len(value) > 9)) + "]"
    if value.__class__ is dict:
        return "{...}"
    if value.__class__ is int and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    return str(value)


def text(*parts: Any) -> str:
    """A message from its literal parts and values."""
    return "".join(part if part.__class__ is str else show(part) for part in parts)
