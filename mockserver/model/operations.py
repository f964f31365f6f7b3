"""Sums that tools carry out, a step with each call: `(4 + 6) * 2` is a call of `add`, then one of `multiply`."""

import ast
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from mockserver.core.call import Call, Tool, list_recent_tool_calls
from mockserver.core.json import try_parse
from mockserver.core.lazy import compile_lazily
from mockserver.model.choosing import list_properties, list_required
from mockserver.model.orders import parse_sum
from mockserver.model.vocabulary import make_vocabulary, split_words

Number = int | float


class Computation(Struct, frozen=True):
    """A call that computes one step of a sum."""

    tool: Tool
    arguments: Mapping[str, Number]


class Calculation(Struct, frozen=True):
    """A sum that tools compute, and the operations that can be called now: none where all are done."""

    tools: Collection[Tool]
    waiting: Sequence[Computation]


class Operator(Struct, frozen=True):
    """A tool that computes what a sign stands for, and the parameters that take its two numbers."""

    tool: Tool
    left: str
    right: str


def find_calculation(call: Call, tools: Sequence[Tool]) -> Calculation | None:
    """Return the sum that the user asks for, if tools compute all of it."""
    wanted = parse_sum(call.last_user)
    signs = [type(node.op) for node in ast.walk(wanted) if isinstance(node, ast.BinOp)] if wanted else []
    operators = {sign: found for sign in signs if (found := _find_operator(sign, tools)) is not None}
    if wanted is None or not signs or not operators.keys() >= {*signs}:
        return None
    results = _read_results(call)
    waiting = list[Computation]()

    def resolve(node: ast.AST) -> Number | None:
        """Return what a part of the sum is; None, if a call has to compute it or another part of it first."""
        match node:
            case ast.BinOp(left=first, op=sign, right=second):
                left, right = resolve(first), resolve(second)
                if left is None or right is None:
                    return None
                operator = operators[type(sign)]
                step = Computation(operator.tool, {operator.left: left, operator.right: right})
                key = _make_key(step.tool.name, step.arguments)
                if key not in results:
                    waiting.append(step)
                return results.get(key)
            case ast.UnaryOp(operand=operand):
                value = resolve(operand)
                return None if value is None else -value
            case ast.Constant(value=int() | float() as number):
                return number
        return None

    resolve(wanted)
    return Calculation([each.tool for each in operators.values()], waiting)


def _find_operator(sign: type[ast.operator], tools: Sequence[Tool]) -> Operator | None:
    """Return the tool that is named after an operation, and takes two numbers."""
    for tool in tools:
        numbers = [name for name, schema in list_properties(tool).items() if _takes_number(schema)]
        names = [name for name in numbers if name in list_required(tool)] or numbers
        if len(names) == 2 and not _NAMES.get(sign, frozenset()).isdisjoint(split_words(tool.name)):
            left, right = reversed(names) if names[0] in _SECOND else names
            return Operator(tool, left, right)
    return None


def _takes_number(schema: object) -> bool:
    return isinstance(schema, Mapping) and str(schema.get("type")).lower() in ("number", "integer")


def _read_results(call: Call) -> Mapping[tuple[str, frozenset[tuple[str, Number]]], Number | None]:
    """Return what the calls of this turn computed, by tool and arguments; None for a result without a number."""
    texts = {each.tool_call_id: each.text for each in call.since_user if each.tool_call_id}
    found: dict[tuple[str, frozenset[tuple[str, Number]]], Number | None] = {}
    for made in list_recent_tool_calls(call):
        given = try_parse(made.arguments)
        if isinstance(given, dict):
            numbers = {name: value for name, value in given.items() if isinstance(value, int | float)}
            said = _NUMBER.findall(texts.get(made.id, ""))
            found[_make_key(made.name, numbers)] = ast.literal_eval(said[-1]) if said else None
    return found


def _make_key(name: str, arguments: Mapping[str, Number]) -> tuple[str, frozenset[tuple[str, Number]]]:
    return name, frozenset(arguments.items())


_NAMES: Mapping[type[ast.operator], frozenset[str]] = {
    ast.Add: make_vocabulary("add addition plus sum"),
    ast.Sub: make_vocabulary("subtract subtraction sub minus difference"),
    ast.Mult: make_vocabulary("multiply multiplication multiplier mul mult times product"),
    ast.Div: make_vocabulary("divide division div divider quotient"),
}
_SECOND = make_vocabulary("denominator divisor subtrahend")  # what stands behind the sign
_NUMBER = compile_lazily(r"(?<![\w.])-?(?:0|[1-9]\d{0,17})(?:\.\d{1,17})?(?![\w])")
