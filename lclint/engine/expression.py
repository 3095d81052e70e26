"""Rule expressions: Python's expression syntax, whitelisted, translated to Python source over four states.

The source that comes out holds one function per expression and calls nothing but ``lclint.engine.operations``; a rule
file cannot name anything else. ``g`` in it is the facts, a mapping from names to values.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable

LONGEST_TEXT = 2_000
MOST_NODES = 400
DEEPEST = 40
LARGEST = 1 << 64

COMPARISONS = {
    ast.Eq: "equal",
    ast.NotEq: "different",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.In: "contains",
    ast.NotIn: "contains_not",
}
ARITHMETIC = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
}
WORDS = {"true": "True", "false": "False", "null": "None", "none": "None"}


class ExpressionError(Exception):
    """An expression that is not allowed. ``line`` and ``column`` are 0-based in the expression's text, in code points."""

    def __init__(self, message: str, column: int = 0, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.column = column
        self.line = line


def parse(source: str) -> ast.expr:
    """The syntax tree of one expression.

    Raises ExpressionError when it is not Python syntax or too large.
    """
    if len(source) > LONGEST_TEXT:
        raise ExpressionError(f"longer than {LONGEST_TEXT} characters")
    if not source.strip():
        raise ExpressionError("an expression is missing")
    if _bracket_depth(source) > DEEPEST:
        raise ExpressionError(f"nested more than {DEEPEST} deep")
    # conditions are written over several lines in YAML: parentheses keep the line ends from ending the expression
    try:
        tree = ast.parse(f"({source}\n)", mode="eval").body
    except SyntaxError as error:
        line = (error.lineno or 1) - 1
        if line > source.count("\n"):
            # the parenthesis put behind it does not fit
            raise ExpressionError("not an expression: a bracket or a quote is not closed") from None
        raise ExpressionError(f"not an expression: {error.msg}", max((error.offset or 1) - (1 if line else 2), 0), line) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"not an expression: {error}") from None
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise ExpressionError(f"more than {MOST_NODES} parts")
    if (tree.lineno, tree.col_offset) == (1, 0) and not isinstance(tree, ast.Tuple):
        # only the parenthesis put around it stands there: the text closes it too early
        raise ExpressionError("not an expression: unmatched ')'", source.find(")"))
    return tree


def _bracket_depth(source: str) -> int:
    depth = deepest = 0
    for character in source:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth -= 1
    # a chain of unary operators nests as well
    return max(deepest, source.count("not not"), source.count("--"))


def dotted(node: ast.expr) -> str | None:
    """``a.b.c`` of a name or a chain of attributes."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


class Translator:
    """Translates expressions into statements of one Python function each.

    ``check_name(name)`` returns None for a name that rules may use, else what is wrong with it; ``functions`` maps the
    callable names to their smallest and largest number of arguments.
    """

    def __init__(self, check_name: Callable[[str], str | None], functions: dict[str, tuple[int, int]]) -> None:
        self.check_name = check_name
        self.functions = functions
        self.names: set[str] = set()
        self.lines: list[str] = []
        self.counter = 0
        self.depth = 0
        self.source_lines: list[str] = []

    def function(self, name: str, source: str, as_truth: bool = False) -> str:
        """Python source of ``def name(g)`` that evaluates ``source``; the names that it reads join ``names``.

        With ``as_truth`` the function tells true, unknown and anything else apart, which is all that a condition has to: it may
        give false for what is not applicable. Raises ExpressionError.
        """
        self.lines = []
        self.counter = 0
        self.source_lines = source.split("\n")
        tree = parse(source)
        result = self._truth(tree, 1, True) if as_truth else self._expression(tree, 1)
        return f"def {name}(g):\n" + "".join(self.lines) + f"    return {result}\n"

    def message(self, name: str, template: str) -> str:
        """Python source of ``def name(g)`` that fills the ``{expression}`` parts of a message template."""
        self.lines = []
        self.counter = 0
        parts: list[str] = []
        for literal, source, column in split_template(template):
            if literal:
                parts.append(repr(literal))
            if source is not None:
                try:
                    # show() and not the bare value: a literal part is told from a value by being a string
                    parts.append(f"show({self._parsed(source)})")
                except ExpressionError as error:
                    before = template[:column]
                    column = error.column if error.line else column - (before.rfind("\n") + 1) + error.column
                    raise ExpressionError(error.message, column, before.count("\n") + error.line) from None
        return f"def {name}(g):\n" + "".join(self.lines) + f"    return text({', '.join(parts)})\n"

    def _parsed(self, source: str) -> str:
        self.source_lines = source.split("\n")
        return self._expression(parse(source), 1)

    def _new(self) -> str:
        self.counter += 1
        return f"t{self.counter}"

    def _emit(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line + "\n")

    def _refuse(self, node: ast.expr, message: str) -> ExpressionError:
        line = node.lineno - 1
        # the first line has a parenthesis before it; ast counts bytes
        before = self.source_lines[line].encode(errors="replace")[: max(node.col_offset - (not line), 0)]
        return ExpressionError(message, len(before.decode(errors="ignore")), line)

    def _truth(self, node: ast.expr, indent: int, condition: bool) -> str:
        """``_expression`` for where only the truth of the result counts."""
        value = self._expression(node, indent, condition)
        is_truth = isinstance(node, (ast.BoolOp, ast.Compare)) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
        if is_truth:
            return value
        return f"({value} if {value}.__class__ is State else bool({value}))" if _is_variable(value) else f"truth({value})"

    def _expression(self, node: ast.expr, indent: int, condition: bool = False) -> str:
        """Emit the statements that compute ``node``; the text of the result, an atom or a call without side effects.

        In a ``condition`` what is not applicable may become false.
        """
        self.depth += 1
        if self.depth > DEEPEST:
            self.depth = 0
            raise self._refuse(node, f"nested more than {DEEPEST} deep")
        try:
            return self._logic(node, indent, condition) if isinstance(node, ast.BoolOp) else self._node(node, indent)
        finally:
            self.depth -= 1

    def _node(self, node: ast.expr, indent: int) -> str:
        if isinstance(node, ast.Constant):
            if node.value is None or isinstance(node.value, (bool, str)) or (isinstance(node.value, float) and math.isfinite(node.value)):
                return repr(node.value)
            if isinstance(node.value, int) and abs(node.value) < LARGEST:
                return repr(node.value)
            raise self._refuse(node, "only strings, numbers, true, false and null can be written")
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._name(node, indent)
        if isinstance(node, ast.UnaryOp):
            operand = self._expression(node.operand, indent)
            if isinstance(node.op, ast.Not):
                return f"not_({operand})"
            if isinstance(node.op, ast.USub):
                return f"negative({operand})"
            raise self._refuse(node, "this operator is not allowed")
        if isinstance(node, ast.Compare):
            return self._comparison(node, indent)
        if isinstance(node, ast.BinOp):
            operation = ARITHMETIC.get(type(node.op))
            if operation is None:
                raise self._refuse(node, "this operator is not allowed (+ - * / // % are)")
            left = self._expression(node.left, indent)
            return f"{operation}({left}, {self._expression(node.right, indent)})"
        if isinstance(node, ast.IfExp):
            condition = self._expression(node.test, indent)
            value = self._expression(node.body, indent)
            return f"choose({condition}, {value}, {self._expression(node.orelse, indent)})"
        if isinstance(node, (ast.List, ast.Tuple)):
            if all(isinstance(item, ast.Constant) for item in node.elts):
                return "(" + "".join(self._expression(item, indent) + ", " for item in node.elts) + ")"
            return "make_list(" + ", ".join(self._expression(item, indent) for item in node.elts) + ")"
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Slice, ast.Tuple)):
            items = self._expression(node.value, indent)
            return f"item_of({items}, {self._expression(node.slice, indent)})"
        if isinstance(node, ast.Call):
            return self._call(node, indent)
        raise self._refuse(node, f"{type(node).__name__} is not allowed in a rule expression")

    def _name(self, node: ast.expr, indent: int) -> str:
        name = dotted(node)
        if name is None:
            raise self._refuse(node, "only names such as model.seq_length can be read")
        if name in WORDS:
            return WORDS[name]
        problem = self.check_name(name)
        if problem is not None:
            raise self._refuse(node, problem)
        self.names.add(name)
        result = self._new()
        self._emit(indent, f"{result} = g[{name!r}]")
        return result

    def _logic(self, node: ast.BoolOp, indent: int, condition: bool) -> str:
        is_and = isinstance(node.op, ast.And)
        result = self._new()
        self._emit(indent, f"{result} = {self._truth(node.values[0], indent, condition)}")
        # the rest cannot change a result that is settled: facts behind it are not even computed
        if is_and:
            undone = f"if {result} is True or {result} is UNKNOWN:" if condition else f"if {result} is not False:"
        else:
            undone = f"if {result} is not True:"
        for part in node.values[1:]:
            self._emit(indent, undone)
            value = self._truth(part, indent + 1, condition)
            # true and x is x, false or x is x
            joined = f"both({result}, {value})" if is_and else f"either({result}, {value})"
            self._emit(indent + 1, f"{result} = {value} if {result} is {is_and} else {joined}")
        return result

    def _comparison(self, node: ast.Compare, indent: int) -> str:
        left = self._expression(node.left, indent)
        parts = []
        for number, (operator, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
            if isinstance(operator, (ast.Is, ast.IsNot)):
                if self._word(right_node) != "None":
                    raise self._refuse(right_node, "'is' and 'is not' compare with null only")
                if len(node.ops) > 1:
                    raise self._refuse(right_node, "'is null' cannot be part of a chain: put it in parentheses")
                if _is_variable(left):
                    return f"({left} if {left}.__class__ is State else {left} {'is' if isinstance(operator, ast.Is) else 'is not'} None)"
                return f"{'is_null' if isinstance(operator, ast.Is) else 'is_not_null'}({left})"
            right = self._expression(right_node, indent)
            if number + 1 < len(node.ops):
                # it is compared twice, and written twice it would double with every level of nesting
                name = self._new()
                self._emit(indent, f"{name} = {right}")
                right = name
            part = f"{COMPARISONS[type(operator)]}({left}, {right})"
            if _is_variable(left) and _is_literal(right_node):
                # what the call would give, without the call: most values of most files are not known
                part = f"({left} if {left}.__class__ is State else {part})"
            parts.append(part)
            left = right
        result = parts[0]
        for part in parts[1:]:
            result = f"both({result}, {part})"
        return result

    def _word(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Constant):
            return repr(node.value)
        return WORDS.get(dotted(node) or "")

    def _call(self, node: ast.Call, indent: int) -> str:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name not in self.functions:
            raise self._refuse(node, f"no such function: {ast.unparse(node.func)[:40]} (there are {', '.join(sorted(self.functions))})")
        fewest, most = self.functions[name]
        if node.keywords or not fewest <= len(node.args) <= most or any(isinstance(a, ast.Starred) for a in node.args):
            raise self._refuse(node, f"{name} takes {fewest}{f' to {most}' if most > fewest else ''} values")
        return f"FUNCTIONS[{name!r}][2](" + ", ".join(self._expression(argument, indent) for argument in node.args) + ")"


def _is_variable(text: str) -> bool:
    """Whether translated text is a variable: it can be written twice without being computed twice."""
    return text[:1] == "t" and text[1:].isdigit()


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(isinstance(item, ast.Constant) for item in node.elts)
    return isinstance(node, ast.Constant) or dotted(node) in WORDS


def split_template(template: str) -> list[tuple[str, str | None, int]]:
    """A message template as ``(literal, expression or None, column of the expression)`` parts; ``{{`` and ``}}`` are braces.

    Raises ExpressionError for a brace without its partner.
    """
    parts: list[tuple[str, str | None, int]] = []
    literal = ""
    index = 0
    while index < len(template):
        character = template[index]
        if template[index : index + 2] in ("{{", "}}"):
            literal += character
            index += 2
        elif character == "{":
            end = template.find("}", index)
            if end < 0:
                raise ExpressionError("'{' without '}'", index)
            parts.append((literal, template[index + 1 : end].strip(), index + 1))
            literal = ""
            index = end + 1
        elif character == "}":
            raise ExpressionError("'}' without '{'", index)
        else:
            literal += character
            index += 1
    if literal or not parts:
        parts.append((literal, None, index))
    return parts
