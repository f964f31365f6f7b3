"""The statements of a text in lark's notation: rules, terminals, what is imported and ignored, each in its place.

Knows how lark shows what it has parsed, not what it means.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeGuard

from mockserver.core.plan import Failure

if TYPE_CHECKING:
    from lark import Lark, Token

Node = Any  # a lark Tree; its children are trees and tokens

_MOST_CHARACTERS = 64_000  # a third of a second


@dataclass(frozen=True, slots=True)
class Definition:
    """What a rule or a terminal is defined as."""

    body: Node
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Statements:
    """All statements of a grammar, by name."""

    rules: dict[str, Definition] = field(default_factory=dict)
    tokens: dict[str, Definition] = field(default_factory=dict)
    imports: "dict[str, Token]" = field(default_factory=dict)  # by the name here: the name in common
    ignored: list[Node] = field(default_factory=list)


def broken(what: str, place: "Token") -> Failure:
    """The complaint about something at a place."""
    return _complaint(what, place.line or 1, place.column or 1)


def is_token(node: Node) -> "TypeGuard[Token]":
    """Whether this is a leaf of what was parsed."""
    return not hasattr(node, "data")


def statements(definition: str) -> Statements:
    """What a text states. Raises Failure where it is broken."""
    if len(definition) > _MOST_CHARACTERS:
        raise Failure("bad_parameter", f"Invalid grammar: it has more than {_MOST_CHARACTERS:,} characters.")
    found = Statements()
    for node in _parsed(definition).children:
        _take(node, found)
    return found


def _parsed(definition: str) -> Node:
    from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

    try:
        return _parser().parse(definition.rstrip() + "\n")
    except UnexpectedToken as error:
        raise _complaint(_unexpected(error.token), error.line, error.column) from None
    except UnexpectedCharacters as error:
        raise _complaint(f"unexpected {error.char!r}", error.line, error.column) from None
    except UnexpectedInput as error:
        raise _complaint("unexpected end", error.line, error.column) from None


@cache
def _parser() -> "Lark":
    from lark import Lark  # slow to import, and only grammars need it

    return Lark.open_from_package("lark", "lark.lark", ["grammars"], parser="lalr", maybe_placeholders=False)


def _unexpected(token: "Token") -> str:
    return f"unexpected {token.value!r}" if token.value.strip() else "unexpected end of line"


def _complaint(what: str, line: int, column: int) -> Failure:
    return Failure("bad_parameter", f"Invalid grammar: {what}: line {line}, column {column}.")


def _take(node: Node, found: Statements) -> None:
    match node.data:
        case "rule" | "token":
            _define(node, found, again=False)
        case "override_rule":
            _define(node.children[0], found, again=True)
        case "ignore":
            found.ignored.append(node.children[0])
        case "import":
            *path, last = _path(node.children[0])
            alias = node.children[1].children[0] if len(node.children) > 1 else last
            _import(path, last, alias, found)
        case "multi_import":
            for name in node.children[1].children:
                _import(_path(node.children[0]), name.children[0], name.children[0], found)
        case "declare":
            raise broken("%declare is not supported", node.children[0].children[0])


def _define(node: Node, found: Statements, *, again: bool) -> None:
    head, parameters, *between, body = node.children
    name = head.value.lstrip("!?")
    named = found.tokens if node.data == "token" else found.rules
    if parameters.children:
        raise broken("templates are not supported", head)
    if not again and (name in named or name in found.imports):
        raise broken(f"'{name}' is defined more than once", head)
    priority = int(between[0].children[0]) if between else 0
    named[name] = Definition(body, priority)


def _path(node: Node) -> "list[Token]":
    """The names of an imported path; one that is relative begins with a dot."""
    first, *rest = [part if is_token(part) else part.children[0] for part in node.children]
    return [first, *(part for part in rest if part.value != ".")]


def _import(path: "list[Token]", name: "Token", alias: "Token", found: Statements) -> None:
    if [step.value for step in path] != ["common"]:
        raise broken("only terminals of 'common' can be imported", path[0] if path else name)
    if alias.value in found.tokens:
        raise broken(f"'{alias.value}' is defined more than once", alias)
    found.imports[alias.value] = name
