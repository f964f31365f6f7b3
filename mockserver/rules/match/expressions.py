"""JMESPath expressions, compiled to functions of a value.

The library parses an expression. Common forms become functions here; all others are left to the library's own
interpreter, which is authoritative: a test compares both.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jmespath
from jmespath.functions import Functions
from jmespath.visitor import TreeInterpreter

from mockserver.core.json import Json
from mockserver.core.text import count_noun
from mockserver.rules.match.predicates import is_true

Evaluate = Callable[[Any], Any]
Node = Any  # of the library's syntax tree: a table with its type, its value, its children


def compile_expression(text: str) -> Evaluate:
    """Return a function that evaluates an expression; it returns None for values that do not fit.

    Raises ValueError if the expression is invalid.
    """
    try:
        tree = jmespath.compile(text).parsed
        _check_functions(tree)
        evaluate = _compile(tree)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"invalid JMESPath expression: {_describe_error(error)}") from None

    def find(value: Json) -> Json:
        try:
            return evaluate(value)
        except (ValueError, ArithmeticError, TypeError):  # `length` of null, or a text compared with a number
            return None

    return find


def find_needed(text: str) -> bytes:
    """Return text that the JSON of every value that satisfies an expression contains; empty if not obvious.

    The text has no character that JSON can write in two ways, except as `\\u0041`.
    """
    needed = _find_literal(jmespath.compile(text).parsed)
    return needed.encode() if _PLAIN.fullmatch(needed) else b""


def _find_literal(node: Node) -> str:
    """Return a text that every value that satisfies an expression contains; an empty one if there may be none."""
    kind = node["type"]
    children = node["children"]
    if kind == "and_expression":
        return max(map(_find_literal, children), key=len)
    if kind == "filter_projection":
        return _find_literal(children[2]) if _only_reads(children[0]) else ""
    is_equality = kind == "comparator" and node["value"] == "eq"
    is_search = kind == "function_expression" and node["value"] in _SEARCHES
    if not (is_equality or is_search) or not _only_reads(children[0]):
        return ""
    wanted = children[1].get("value") if children[1]["type"] == "literal" else None
    return wanted if isinstance(wanted, str) else ""


def _only_reads(node: Node) -> bool:
    """Return whether an expression returns only texts of the value, and makes none of its own."""
    return node["type"] in _READING and all(map(_only_reads, node["children"]))


_SEARCHES = ("contains", "starts_with", "ends_with")
_READING = frozenset(
    ("field", "index", "identity", "current", "subexpression", "index_expression", "projection", "flatten")
)
_PLAIN = re.compile(r"[A-Za-z0-9 .,:;_!?*+=@#$%()-]+")


def _compile(node: Node) -> Evaluate:
    compile_form = _FORMS.get(node["type"])
    return partial(_INTERPRETER.visit, node) if compile_form is None else compile_form(node)


def _compile_field(node: Node) -> Evaluate:
    name = node["value"]

    def read(value: Any) -> Any:
        try:
            return value.get(name)
        except AttributeError:
            return None

    return read


def _compile_index(node: Node) -> Evaluate:
    index = node["value"]

    def read(value: Any) -> Any:
        return value[index] if type(value) is list and -len(value) <= index < len(value) else None

    return read


def _compile_literal(node: Node) -> Evaluate:
    literal = node["value"]
    return lambda value: literal


def _compile_steps(node: Node) -> Evaluate:
    steps = [_compile(child) for child in node["children"]]

    def follow(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return follow


def _compile_comparator(node: Node) -> Evaluate:
    left, right = node["children"]
    operator = node["value"]
    wanted = right.get("value")
    if operator not in ("eq", "ne") or right["type"] != "literal" or wanted in (0, 1):  # 1 and 0 are not true and false
        return partial(_INTERPRETER.visit, node)
    read = _compile(left)
    return (lambda value: read(value) == wanted) if operator == "eq" else (lambda value: read(value) != wanted)


def _compile_and(node: Node) -> Evaluate:
    left, right = map(_compile, node["children"])

    def decide(value: Any) -> Any:
        found = left(value)
        return right(value) if is_true(found) else found

    return decide


def _compile_or(node: Node) -> Evaluate:
    left, right = map(_compile, node["children"])

    def decide(value: Any) -> Any:
        found = left(value)
        return found if is_true(found) else right(value)

    return decide


def _compile_projection(node: Node) -> Evaluate:
    base, project = map(_compile, node["children"])

    def collect(value: Any) -> Any:
        elements = base(value)
        if type(elements) is not list:
            return None
        return [found for found in map(project, elements) if found is not None]

    return collect


def _compile_filter(node: Node) -> Evaluate:
    base, project, condition = map(_compile, node["children"])
    holds = condition if node["children"][2]["type"] == "comparator" else lambda value: is_true(condition(value))

    def collect(value: Any) -> Any:
        elements = base(value)
        if type(elements) is not list:
            return None
        kept = [element for element in elements if holds(element)]
        return [found for found in map(project, kept) if found is not None] if kept else kept

    return collect


def _compile_flatten(node: Node) -> Evaluate:
    (base,) = map(_compile, node["children"])

    def merge(value: Any) -> Any:
        elements = base(value)
        if type(elements) is not list:
            return None
        merged: list[Any] = []
        for element in elements:
            if type(element) is list:
                merged += element
            else:
                merged.append(element)
        return merged

    return merge


def _compile_function(node: Node) -> Evaluate:
    name = node["value"]
    arguments = [_compile(child) for child in node["children"]]
    return lambda value: _FUNCTIONS.call_function(name, [argument(value) for argument in arguments])


_INTERPRETER = TreeInterpreter()
_FUNCTIONS = Functions()
_FORMS: Mapping[str, Callable[[Node], Evaluate]] = {
    "field": _compile_field,
    "index": _compile_index,
    "literal": _compile_literal,
    "identity": lambda node: lambda value: value,
    "current": lambda node: lambda value: value,
    "subexpression": _compile_steps,
    "index_expression": _compile_steps,
    "pipe": _compile_steps,
    "comparator": _compile_comparator,
    "and_expression": _compile_and,
    "or_expression": _compile_or,
    "projection": _compile_projection,
    "filter_projection": _compile_filter,
    "flatten": _compile_flatten,
    "function_expression": _compile_function,
}


def _describe_error(error: Exception) -> str:
    line = str(error).partition("\n")[0].removeprefix("Invalid jmespath expression: ")
    line = line.rstrip(":").removesuffix(", for expression")
    position = getattr(error, "lex_position", None)
    return line if position is None or "column" in line else f"{line} at column {position}"


def _check_functions(node: Json) -> None:
    # The library itself finds these mistakes only when a request reaches the function.
    if not isinstance(node, dict):
        return
    if node["type"] == "function_expression":
        entry = Functions.FUNCTION_TABLE.get(node["value"])
        if entry is None:
            raise ValueError(f"unknown function {node['value']}()")
        _check_arguments(node, entry["signature"])
    for child in node["children"]:
        _check_functions(child)


def _check_arguments(node: Json, signature: tuple[Mapping[str, Json], ...]) -> None:
    given = len(node["children"])
    wanted = len(signature)
    variadic = bool(signature) and bool(signature[-1].get("variadic"))
    if given < wanted or (given > wanted and not variadic):
        raise ValueError(f"{node['value']}() takes {count_noun(wanted, 'argument')}, not {given}")
