"""A client's grammar in lark's notation, compiled to plain productions and to patterns of terminals.

lark parses the notation. It does not compile it: it multiplies out optional parts (20 of them: a million productions)
and writes out terminals that use each other (16 levels: 80 seconds), and its Earley parser cannot be stopped.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from heapq import heappop, heappush
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeGuard

from mockserver.core.plan import Failure
from mockserver.model.patterns import InvalidPatternError, LiteralPattern, Pattern, compile_pattern, is_encodable

if TYPE_CHECKING:
    from lark import Lark, Token

Production = tuple[str, ...]  # names of rules and terminals
Rules = Mapping[str, tuple[Production, ...]]
Node = Any  # a lark Tree; its children are trees and tokens


@dataclass(frozen=True, slots=True)
class Terminal:
    """A token: its pattern, and the texts that it can be if these are few."""

    pattern: Pattern
    texts: tuple[str, ...] = ()
    priority: int = 0


@dataclass(frozen=True)
class Grammar:
    """Rules and terminals by name; `ignored` terminals may appear between any two tokens."""

    rules: Rules
    terminals: Mapping[str, Terminal]
    ignored: tuple[str, ...] = ()
    start: str = "start"

    @cached_property
    def min_sizes(self) -> Mapping[str, int]:
        """The size of the smallest derivation of each symbol that has one; 1 for a terminal."""
        return smallest_derivations(self.rules, self.terminals)

    @cached_property
    def nullable(self) -> frozenset[str]:
        """The rules that derive the empty text."""
        return frozenset(smallest_derivations(self.rules, ()))

    def min_size(self, production: Production) -> int:
        """The size of the smallest derivation of a production; huge if it has none."""
        return sum(self.min_sizes.get(symbol, _HUGE) for symbol in production)


def smallest_derivations(rules: Rules, given: Iterable[str]) -> dict[str, int]:
    """Sizes of the smallest derivations, by Knuth's algorithm: 1 for a `given` symbol, 1 plus its parts for a rule."""
    productions = [(name, production) for name, alternatives in rules.items() for production in alternatives]
    missing = [len(production) for _, production in productions]
    totals = [1] * len(productions)
    uses = defaultdict[str, list[int]](list)  # one entry for each occurrence
    for at, (_, production) in enumerate(productions):
        for symbol in production:
            uses[symbol].append(at)
    sizes: dict[str, int] = {}
    queue = sorted(
        [*((1, symbol) for symbol in given), *((1, name) for name, production in productions if not production)]
    )
    while queue:
        size, symbol = heappop(queue)
        if symbol in sizes:
            continue
        sizes[symbol] = size
        for at in uses[symbol]:
            missing[at] -= 1
            totals[at] = min(totals[at] + size, _HUGE)
            if missing[at] == 0:
                heappush(queue, (totals[at], productions[at][0]))
    return sizes


@dataclass(frozen=True, slots=True)
class Definition:
    """The body of a rule or terminal, and its priority."""

    body: Node
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements of a grammar, by name."""

    rules: dict[str, Definition] = field(default_factory=dict)
    terminals: dict[str, Definition] = field(default_factory=dict)
    imports: "dict[str, Token]" = field(default_factory=dict)  # by the name here: the name in common
    ignored: list[Node] = field(default_factory=list)


def load_grammar(definition: str) -> Grammar:
    """Compile a text in lark's notation. Raises Failure, with the position, if it is invalid."""
    try:
        return _compiled(parse_statements(definition))
    except RecursionError:
        raise Failure("bad_parameter", "Invalid grammar: it is nested too deeply.") from None


def _compiled(statements: Statements) -> Grammar:
    imported = {name: _imported_source(token) for name, token in statements.imports.items()}
    compiler = _RuleCompiler(statements, TerminalCompiler(statements.terminals, imported))
    for name, rule in statements.rules.items():
        compiler.rules[name] = tuple(dict.fromkeys(compiler.alternatives(rule.body)))
    ignored = tuple(dict.fromkeys(compiler.terminal(node) for node in statements.ignored))
    if "start" not in compiler.rules:
        raise Failure("bad_parameter", "Invalid grammar: it has no rule 'start'.")
    return Grammar(compiler.rules, compiler.terminals, ignored)


def _imported_source(name: "Token") -> str:
    if name.value not in _lark_terminals().definitions:
        raise _invalid(f"there is no terminal '{name.value}' in common", name)
    return _lark_terminals().source_of(name)


@cache
def _lark_terminals() -> "TerminalCompiler":
    text = files("lark").joinpath("grammars", "common.lark").read_text(encoding="utf-8")
    return TerminalCompiler(parse_statements(text).terminals)


def parse_statements(definition: str) -> Statements:
    """Raises Failure, with the position, for broken syntax and for what is not supported."""
    if len(definition) > _MAX_CHARACTERS:
        raise Failure("bad_parameter", f"Invalid grammar: it has more than {_MAX_CHARACTERS:,} characters.")
    found = Statements()
    for node in _parsed(definition).children:
        _add_statement(node, found)
    return found


def _parsed(definition: str) -> Node:
    from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

    try:
        return _parser().parse(definition.rstrip() + "\n")
    except UnexpectedToken as error:
        what = f"unexpected {error.token.value!r}" if error.token.value.strip() else "unexpected end of line"
        raise _invalid_at(what, error.line, error.column) from None
    except UnexpectedCharacters as error:
        raise _invalid_at(f"unexpected {error.char!r}", error.line, error.column) from None
    except UnexpectedInput as error:
        raise _invalid_at("unexpected end", error.line, error.column) from None


@cache
def _parser() -> "Lark":
    from lark import Lark  # slow to import, and only grammars need it

    return Lark.open_from_package("lark", "lark.lark", ["grammars"], parser="lalr", maybe_placeholders=False)


def _invalid(what: str, token: "Token") -> Failure:
    return _invalid_at(what, token.line or 1, token.column or 1)


def _invalid_at(what: str, line: int, column: int) -> Failure:
    return Failure("bad_parameter", f"Invalid grammar: {what}: line {line}, column {column}.")


def _is_token(node: Node) -> "TypeGuard[Token]":
    return not hasattr(node, "data")


def _first_token(node: Node) -> "Token":
    found: Token = next(node.scan_values(_is_token))
    return found


def _add_statement(node: Node, found: Statements) -> None:
    match node.data:
        case "rule" | "token":
            _define(node, found)
        case "override_rule":
            _define(node.children[0], found, override=True)
        case "ignore":
            found.ignored.append(node.children[0])
        case "import":
            *path, name = _path(node.children[0])
            alias = node.children[1].children[0] if len(node.children) > 1 else name
            _import(path, name, alias, found)
        case "multi_import":
            for each in node.children[1].children:
                _import(_path(node.children[0]), each.children[0], each.children[0], found)
        case "declare":
            raise _invalid("%declare is not supported", node.children[0].children[0])


def _define(node: Node, found: Statements, *, override: bool = False) -> None:
    head, parameters, *priority, body = node.children
    name = head.value.lstrip("!?")
    definitions = found.terminals if node.data == "token" else found.rules
    if parameters.children:
        raise _invalid("templates are not supported", head)
    if not override and (name in definitions or name in found.imports):
        raise _invalid(f"'{name}' is defined more than once", head)
    definitions[name] = Definition(body, int(priority[0].children[0]) if priority else 0)


def _path(node: Node) -> "list[Token]":
    """The names of an imported path; a relative one starts with a dot."""
    first, *rest = [part if _is_token(part) else part.children[0] for part in node.children]
    return [first, *(part for part in rest if part.value != ".")]


def _import(path: "list[Token]", name: "Token", alias: "Token", found: Statements) -> None:
    if [step.value for step in path] != ["common"]:
        raise _invalid("only terminals of 'common' can be imported", path[0] if path else name)
    if alias.value in found.terminals:
        raise _invalid(f"'{alias.value}' is defined more than once", alias)
    found.imports[alias.value] = name


@dataclass(slots=True)
class TerminalCompiler:
    """Compiles terminals, defined or imported, to the source of a pattern, and lists their texts where it can."""

    definitions: Mapping[str, Definition]
    imported: Mapping[str, str] = field(default_factory=dict)
    _sources: dict[str, str] = field(default_factory=dict)
    _texts: dict[str, list[str]] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)
    _patterns: int = 0

    def compile(self, token: "Token") -> Terminal:
        """Compile the terminal that a name refers to."""
        source = self.source_of(token)
        own = self.definitions.get(str(token.value))
        if own is None:
            return Terminal(_pattern(source, token))
        return self.compile_node(own.body, own.priority)

    def compile_node(self, node: Node, priority: int = 0) -> Terminal:
        """Compile the terminal that a node defines."""
        return Terminal(self._pattern_of(node), self._few_texts(node), priority)

    def source_of(self, token: "Token") -> str:
        """The source of the pattern of a named terminal."""
        name = str(token.value)
        if name in self.imported:
            return self.imported[name]
        if name not in self._sources:
            self._sources[name] = self._defined_source(name, token)
        return self._sources[name]

    def _defined_source(self, name: str, token: "Token") -> str:
        if name not in self.definitions:
            raise _invalid(f"terminal '{name}' is used but not defined", token)
        if name in self._open:
            raise _invalid(f"terminal '{name}' contains itself", token)
        self._open.add(name)
        source = self._source(self.definitions[name].body)
        self._open.remove(name)
        if len(source) > _MAX_TERMINAL:
            raise _invalid(f"terminal '{name}' is too large", token)
        return source

    def _pattern_of(self, node: Node) -> Pattern:
        source, token = self._source(node), _first_token(node)
        while node.data in ("expansions", "expansion") and len(node.children) == 1:
            node = node.children[0]
        if node.data == "literal" and token.type == "STRING":
            return LiteralPattern(_unquoted(token), token.value.endswith("i"))
        self._patterns += 1
        if self._patterns > _MAX_PATTERNS:
            raise _invalid(f"more than {_MAX_PATTERNS} regular expressions", token)
        return _pattern(source, token)

    def _source(self, node: Node) -> str:
        match node.data:
            case "name":
                token = node.children[0]
                if token.type == "RULE":
                    raise _invalid(f"rule '{token.value}' is used in a terminal", token)
                return f"(?:{self.source_of(token)})"
            case "literal":
                return _literal_source(node.children[0])
            case "literal_range":
                first, last = map(_unquoted, node.children)
                if len(first) != 1 or len(last) != 1:
                    raise _invalid("a range that is not from one character to another", node.children[0])
                return f"[{re.escape(first)}-{re.escape(last)}]"
            case "maybe":
                return f"(?:{self._source(node.children[0])})?"
            case "expr":
                inner, *times = node.children
                return f"(?:{self._source(inner)}){_quantifier(times)}"
            case "expansion":
                return "".join(map(self._source, node.children))
            case "expansions":
                # Alternatives are tried in order: unbounded ones come first, then longer ones.
                sources = sorted(
                    map(self._source, node.children), key=lambda one: (not _UNBOUNDED.search(one), -len(one))
                )
                return f"(?:{'|'.join(sources)})"
        raise _invalid(f"{node.data.replace('_', ' ')} in a terminal", _first_token(node))

    def _few_texts(self, node: Node) -> tuple[str, ...]:
        """The texts of a terminal that only lists literals; none if it does more, or lists too many."""
        texts = self._listed(node)
        return tuple(dict.fromkeys(texts)) if len(texts) <= _MAX_TEXTS else ()

    def _listed(self, node: Node) -> list[str]:
        match node.data:
            case "literal" if node.children[0].type == "STRING":
                return [_unquoted(node.children[0])]
            case "literal":
                found = _WORD_LIST.fullmatch(node.children[0].value.strip("/i"))
                return found["texts"].split("|") if found else []
            case "name":
                name = node.children[0].value
                if name not in self._texts:
                    self._texts[name] = self._listed(self.definitions[name].body) if name in self.definitions else []
                return self._texts[name]
            case "expansions":
                options = [self._listed(option) for option in node.children[: _MAX_TEXTS + 1]]
                return [text for texts in options for text in texts][: _MAX_TEXTS + 1] if all(options) else []
            case "expansion" if len(node.children) == 1:
                return self._listed(node.children[0])
        return []


def _pattern(source: str, token: "Token") -> Pattern:
    try:
        return compile_pattern(source)
    except InvalidPatternError as error:
        raise _invalid(f"a regular expression that is not valid ({error})", token) from None


def _literal_source(token: "Token") -> str:
    if token.type == "STRING":
        text = _unquoted(token)
        if not text:
            raise _invalid("a terminal that is empty", token)
        return f"(?i:{re.escape(text)})" if token.value.endswith("i") else re.escape(text)
    body, _, flags = token.value[1:].rpartition("/")
    body = _VERBOSE.sub(lambda piece: piece["kept"] or "", body) if "x" in flags else body
    _pattern(body, token)
    return f"(?{''.join(flag for flag in 'ims' if flag in flags)}:{body})"


def _unquoted(token: "Token") -> str:
    text = _ESCAPE.sub(_unescaped, token.value[1 : token.value.rindex('"')])
    if not is_encodable(text):
        raise _invalid("half of a character", token)
    return text


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if code[0] in "xuU" and len(code) > 1 else _ESCAPED.get(code, escape[0])


def _bounds(times: "list[Token]") -> tuple[int, int]:
    least, most = int(times[0]), int(times[-1])
    if not 0 <= least <= most:
        raise _invalid(f"a bad range, {least}..{most}", times[0])
    return least, most


def _quantifier(times: "list[Token]") -> str:
    if times[0].type == "OP":
        return str(times[0].value)
    least, most = _bounds(times)
    return f"{{{least},{most}}}"


@dataclass(slots=True)
class _RuleCompiler:
    """Compiles the bodies of rules to productions; each optional or repeated part becomes a rule of its own."""

    statements: Statements
    lexicon: TerminalCompiler
    rules: dict[str, tuple[Production, ...]] = field(default_factory=dict)
    terminals: dict[str, Terminal] = field(default_factory=dict)
    symbols: int = 0

    def alternatives(self, node: Node) -> Iterator[Production]:
        if _is_token(node) or node.data not in ("expansions", "alias", "expansion"):
            yield (self._symbol(node),)
        elif node.data == "expansion":
            yield tuple(self._symbol(part) for part in node.children)
        else:
            for option in node.children if node.data == "expansions" else node.children[:1]:
                yield from self.alternatives(option)

    def terminal(self, node: Node) -> str:
        """The name of the terminal that a node is."""
        if node.data == "name":
            return self._named(node.children[0])
        name = " ".join(str(token) for token in node.scan_values(_is_token))
        if name not in self.terminals:
            self.terminals[name] = self.lexicon.compile_node(node)
        return name

    def _symbol(self, node: Node) -> str:
        """The name of a symbol that derives what a node does."""
        match node.data:
            case "name":
                return self._named(node.children[0])
            case "literal" | "literal_range":
                return self.terminal(node)
            case "maybe":
                return self._rule(*self.alternatives(node.children[0]), ())
            case "expr":
                inner, *times = node.children
                return self._repeated(self._symbol(inner), times)
            case "template_usage":
                raise _invalid("templates are not supported", node.children[0].children[0])
        return self._rule(*self.alternatives(node))

    def _named(self, token: "Token") -> str:
        name = str(token.value)
        if token.type == "RULE":
            if name not in self.statements.rules:
                raise _invalid(f"rule '{name}' is used but not defined", token)
        elif name not in self.terminals:
            self.terminals[name] = self.lexicon.compile(token)
        return name

    def _rule(self, *alternatives: Production) -> str:
        self.symbols += sum(map(len, alternatives)) + 1
        if self.symbols > _MAX_SYMBOLS:
            raise Failure("bad_parameter", "Invalid grammar: it is too large.")
        name = f"({len(self.rules)})"
        self.rules[name] = tuple(dict.fromkeys(alternatives))
        return name

    def _repeated(self, symbol: str, times: "list[Token]") -> str:
        if times[0].type == "OP":
            if times[0].value == "?":
                return self._rule((symbol,), ())
            name = self._rule()
            self.rules[name] = (() if times[0].value == "*" else (symbol,), (symbol, name))
            return name
        least, most = _bounds(times)
        if most > _MAX_REPEATS:
            raise _invalid(f"more than {_MAX_REPEATS:,} repetitions", times[-1])
        more: Production = ()
        for _ in range(most - least):
            more = (self._rule((), (symbol, *more)),)
        return self._rule((symbol,) * least + more)


_HUGE = 1 << 62
_MAX_CHARACTERS = 64_000  # a third of a second
_MAX_TERMINAL = 5_000  # characters of a pattern
_MAX_PATTERNS = 400
_MAX_TEXTS = 200  # of one terminal
_MAX_SYMBOLS = 40_000  # in rules made here
_MAX_REPEATS = 1_000
# What a verbose pattern ignores.
_VERBOSE = re.compile(r"(?P<kept>\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\s+|#[^\n]*", re.DOTALL)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "\\": "\\", '"': '"'}
_UNBOUNDED = re.compile(r"(?<!\\)[*+]|,\}")
_WORD_LIST = re.compile(r"\^?(?:\((?:\?:)?)?(?P<texts>[\w -]+(?:\|[\w -]+)+)\)?\$?")  # a pattern that only lists words
