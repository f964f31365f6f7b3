"""The terminals of a grammar as regular expressions, and as lists of texts where they are but that.

Knows the notation of literals: what stands for what in quotes and between slashes.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, TypeGuard

from mockserver.core.plan import Failure
from mockserver.model.patterns import InvalidPatternError, LiteralPattern, Pattern, compile_pattern, is_encodable

if TYPE_CHECKING:
    from lark import Lark, Token

Production = tuple[str, ...]  # names of rules and terminals
Rules = Mapping[str, tuple[Production, ...]]

_HUGE = 1 << 62


@dataclass(frozen=True, slots=True)
class Terminal:
    """A token: the pattern that it matches, and the texts that it can be where these are few."""

    pattern: Pattern
    texts: tuple[str, ...] = ()
    priority: int = 0


@dataclass(frozen=True)
class Grammar:
    """Rules and terminals by name; what is `ignored` may stand between any two tokens."""

    rules: Rules
    terminals: Mapping[str, Terminal]
    ignored: tuple[str, ...] = ()
    start: str = "start"

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """How large the smallest derivation of each symbol is that has one; a terminal's is 1."""
        return smallest(self.rules, self.terminals)

    @cached_property
    def empty(self) -> frozenset[str]:
        """The rules that derive the empty text."""
        return frozenset(smallest(self.rules, ()))

    def size(self, production: Production) -> int:
        """The size of the smallest derivation by a production; huge where there is none."""
        return sum(self.sizes.get(symbol, _HUGE) for symbol in production)


def smallest(rules: Rules, given: Iterable[str]) -> dict[str, int]:
    """The sizes of the smallest derivations, smallest first: those `given` have 1, a rule 1 and what it consists of."""
    waiting = _Waiting(rules)
    sizes: dict[str, int] = {}
    reached = [(1, symbol) for symbol in given] + [(1, name) for name, ways in rules.items() if () in ways]
    reached.sort()
    while reached:
        size, symbol = heappop(reached)
        if symbol not in sizes:
            sizes[symbol] = size
            for found in waiting.told(symbol, size):
                heappush(reached, found)
    return sizes


class _Waiting:
    """Productions that wait for the sizes of their symbols, each occurrence by itself."""

    def __init__(self, rules: Rules) -> None:
        self._ways = [(name, way) for name, ways in rules.items() for way in ways]
        self._missing = [len(way) for _, way in self._ways]
        self._sizes = [1] * len(self._ways)
        self._places = defaultdict[str, list[int]](list)
        for at, (_, way) in enumerate(self._ways):
            for symbol in way:
                self._places[symbol].append(at)

    def told(self, symbol: str, size: int) -> Iterator[tuple[int, str]]:
        """The rules that can be derived now, and how large; a symbol is told once."""
        for at in self._places[symbol]:
            self._missing[at] -= 1
            self._sizes[at] = min(self._sizes[at] + size, _HUGE)
            if self._missing[at] == 0:
                yield self._sizes[at], self._ways[at][0]


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


_LONGEST = 5_000  # characters of one terminal's pattern
_MOST_TEXTS = 200


@dataclass(slots=True)
class Lexicon:
    """Terminals by name, those that are defined and those that are imported (as patterns), and what they come to."""

    tokens: Mapping[str, Definition]
    imported: Mapping[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    listed: dict[str, list[str]] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    patterns: int = 0

    def named(self, token: "Token") -> str:
        """The source of the pattern of a terminal that is used somewhere."""
        name = str(token.value)
        if name in self.imported:
            return self.imported[name]
        if name not in self.known:
            self.known[name] = self._defined(name, token)
        return self.known[name]

    def _defined(self, name: str, token: "Token") -> str:
        if name not in self.tokens:
            raise broken(f"terminal '{name}' is used but not defined", token)
        if name in self.open:
            raise broken(f"terminal '{name}' contains itself", token)
        self.open.add(name)
        source = self.source(self.tokens[name].body)
        self.open.remove(name)
        if len(source) > _LONGEST:
            raise broken(f"terminal '{name}' is too large", token)
        return source

    def pattern(self, source: str, place: "Token") -> Pattern:
        """The pattern of a source. Raises Failure where it is broken."""
        try:
            return compile_pattern(source)
        except InvalidPatternError as error:
            raise broken(f"a regular expression that is not valid ({error})", place) from None

    def pattern_of(self, node: Node) -> Pattern:
        """The pattern that a node of a terminal stands for."""
        bare = node
        while bare.data in ("expansions", "expansion") and len(bare.children) == 1:
            bare = bare.children[0]
        source = self.source(node)
        place = next(node.scan_values(is_token))
        if bare.data == "literal" and bare.children[0].type == "STRING":
            return LiteralPattern(_unquoted(place), place.value.endswith("i"))
        self.patterns += 1
        if self.patterns > _MOST_PATTERNS:
            raise broken(f"more than {_MOST_PATTERNS} regular expressions", place)
        return self.pattern(source, place)

    def source(self, node: Node) -> str:
        """The source of the pattern that a node of a terminal stands for."""
        match node.data:
            case "name":
                token = node.children[0]
                if token.type == "RULE":
                    raise broken(f"rule '{token.value}' is used in a terminal", token)
                return f"(?:{self.named(token)})"
            case "literal":
                return self._literal(node.children[0])
            case "literal_range":
                first, last = map(_unquoted, node.children)
                if len(first) != 1 or len(last) != 1:
                    raise broken("a range that is not from one character to another", node.children[0])
                return f"[{re.escape(first)}-{re.escape(last)}]"
            case "maybe":
                return f"(?:{self.source(node.children[0])})?"
            case "expr":
                inner, *times = node.children
                return f"(?:{self.source(inner)}){_quantifier(times)}"
            case "expansion":
                return "".join(map(self.source, node.children))
            case "expansions":
                sources = sorted(map(self.source, node.children), key=_longest_first)
                return f"(?:{'|'.join(sources)})"
        raise broken(f"{node.data.replace('_', ' ')} in a terminal", next(node.scan_values(is_token)))

    def texts(self, node: Node) -> tuple[str, ...]:
        """The texts that a terminal can be where literals are listed; none where it is more than that, or too many."""
        found = self._texts(node)
        return tuple(dict.fromkeys(found)) if len(found) <= _MOST_TEXTS else ()

    def _texts(self, node: Node) -> list[str]:
        match node.data:
            case "literal":
                return _texts_of_literal(node.children[0])
            case "name":
                return self._texts_named(node.children[0].value)
            case "expansions":
                listed = [self._texts(option) for option in node.children[: _MOST_TEXTS + 1]]
                return [text for texts in listed for text in texts][: _MOST_TEXTS + 1] if all(listed) else []
            case "expansion" if len(node.children) == 1:
                return self._texts(node.children[0])
        return []

    def _texts_named(self, name: str) -> list[str]:
        if name not in self.listed:
            self.listed[name] = self._texts(self.tokens[name].body) if name in self.tokens else []
        return self.listed[name]

    def _literal(self, token: "Token") -> str:
        if token.type == "STRING":
            text = _unquoted(token)
            if not text:
                raise broken("a terminal that is empty", token)
            return f"(?i:{re.escape(text)})" if token.value.endswith("i") else re.escape(text)
        body, _, flags = token.value[1:].rpartition("/")
        body = _IGNORED.sub(lambda piece: piece["kept"] or "", body) if "x" in flags else body
        self.pattern(body, token)
        return f"(?{''.join(flag for flag in 'ims' if flag in flags)}:{body})"


def _texts_of_literal(token: "Token") -> list[str]:
    if token.type == "STRING":
        return [_unquoted(token)]
    found = _LISTED.fullmatch(token.value.strip("/i"))
    return found["texts"].split("|") if found else []


def _unquoted(token: "Token") -> str:
    """The text of a literal."""
    text = _ESCAPE.sub(_meant, token.value[1 : token.value.rindex('"')])
    if not is_encodable(text):
        raise broken("half of a character", token)
    return text


def _meant(escape: re.Match[str]) -> str:
    code = escape[1]
    if code[0] in "xuU" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPED.get(code, escape[0])


def _quantifier(times: "list[Token]") -> str:
    if times[0].type == "OP":
        return str(times[0].value)
    least, most = int(times[0]), int(times[-1])
    if not 0 <= least <= most:
        raise broken(f"a bad range, {least}..{most}", times[0])
    return f"{{{least},{most}}}"


def _longest_first(source: str) -> tuple[bool, int]:
    """Alternatives are tried in order: those without a bound come first, then the longer ones."""
    return not _BOUNDLESS.search(source), -len(source)


_MOST_PATTERNS = 400
# What a verbose pattern has for its readers.
_IGNORED = re.compile(r"(?P<kept>\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\s+|#[^\n]*", re.DOTALL)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "\\": "\\", '"': '"'}
_BOUNDLESS = re.compile(r"(?<!\\)[*+]|,\}")
_LISTED = re.compile(r"\^?(?:\((?:\?:)?)?(?P<texts>[\w -]+(?:\|[\w -]+)+)\)?\$?")  # a pattern that only lists words


_MOST_SYMBOLS = 40_000  # in rules that are made
_MOST_REPEATS = 1_000


@cache
def _library() -> Lexicon:
    """The terminals that `%import common` takes from."""
    from importlib.resources import files

    return Lexicon(statements(files("lark").joinpath("grammars", "common.lark").read_text(encoding="utf-8")).tokens)


def grammar_of(definition: str) -> Grammar:
    """The grammar that a text in lark's notation defines. Raises Failure, with the place, where it is broken."""
    try:
        return _read(definition)
    except RecursionError:
        raise Failure("bad_parameter", "Invalid grammar: it is nested too deeply.") from None


def _read(definition: str) -> Grammar:
    found = statements(definition)
    lexicon = Lexicon(found.tokens, {name: _imported(token) for name, token in found.imports.items()})
    reader = _Reader(found, lexicon)
    for name, rule in found.rules.items():
        reader.rules[name] = tuple(dict.fromkeys(reader.ways(rule.body)))
    ignored = tuple(dict.fromkeys(reader.terminal(node) for node in found.ignored))
    if "start" not in reader.rules:
        raise Failure("bad_parameter", "Invalid grammar: it has no rule 'start'.")
    return Grammar(reader.rules, reader.terminals, ignored)


def _imported(name: "Token") -> str:
    if name.value not in _library().tokens:
        raise broken(f"there is no terminal '{name.value}' in common", name)
    return _library().named(name)


@dataclass(slots=True)
class _Reader:
    """Turns bodies of rules into productions."""

    statements: Statements
    lexicon: Lexicon
    rules: dict[str, tuple[Production, ...]] = field(default_factory=dict)
    terminals: dict[str, Terminal] = field(default_factory=dict)
    symbols: int = 0

    def ways(self, node: Node) -> Iterator[Production]:
        """The alternatives that a node consists of."""
        if is_token(node) or node.data not in ("expansions", "alias", "expansion"):
            yield (self.symbol(node),)
        elif node.data == "expansion":
            yield tuple(self.symbol(part) for part in node.children)
        else:
            options = node.children if node.data == "expansions" else node.children[:1]
            for option in options:
                yield from self.ways(option)

    def symbol(self, node: Node) -> str:
        """The name of what derives just what a node does."""
        match node.data:
            case "name":
                return self._named(node.children[0])
            case "literal" | "literal_range":
                return self.terminal(node)
            case "maybe":
                return self._rule(*self.ways(node.children[0]), ())
            case "expr":
                inner, *times = node.children
                return self._repeated(self.symbol(inner), times)
            case "template_usage":
                raise broken("templates are not supported", node.children[0].children[0])
        return self._rule(*self.ways(node))

    def terminal(self, node: Node) -> str:
        """The name of the terminal that a node is."""
        if node.data == "name":
            return self._named(node.children[0])
        name = " ".join(str(token) for token in node.scan_values(is_token))
        if name not in self.terminals:
            self.terminals[name] = Terminal(self.lexicon.pattern_of(node), self.lexicon.texts(node))
        return name

    def _named(self, token: "Token") -> str:
        name = str(token.value)
        if token.type == "RULE":
            if name not in self.statements.rules:
                raise broken(f"rule '{name}' is used but not defined", token)
        elif name not in self.terminals:
            self.terminals[name] = self._terminal(token)
        return name

    def _terminal(self, token: "Token") -> Terminal:
        source = self.lexicon.named(token)
        own = self.statements.tokens.get(str(token.value))
        if own is None:
            return Terminal(self.lexicon.pattern(source, token))
        return Terminal(self.lexicon.pattern_of(own.body), self.lexicon.texts(own.body), own.priority)

    def _rule(self, *ways: Production) -> str:
        self.symbols += sum(map(len, ways)) + 1
        if self.symbols > _MOST_SYMBOLS:
            raise Failure("bad_parameter", "Invalid grammar: it is too large.")
        name = f"({len(self.rules)})"
        self.rules[name] = tuple(dict.fromkeys(ways))
        return name

    def _repeated(self, symbol: str, times: "list[Token]") -> str:
        if times[0].type != "OP":
            return self._counted(symbol, times)
        if times[0].value == "?":
            return self._rule((symbol,), ())
        name = self._rule()
        self.rules[name] = ((), (symbol, name)) if times[0].value == "*" else ((symbol,), (symbol, name))
        return name

    def _counted(self, symbol: str, times: "list[Token]") -> str:
        least, most = int(times[0]), int(times[-1])
        if not 0 <= least <= most:
            raise broken(f"a bad range, {least}..{most}", times[0])
        if most > _MOST_REPEATS:
            raise broken(f"more than {_MOST_REPEATS:,} repetitions", times[-1])
        more: Production = ()
        for _ in range(most - least):
            more = (self._rule((), (symbol, *more)),)
        return self._rule((symbol,) * least + more)
