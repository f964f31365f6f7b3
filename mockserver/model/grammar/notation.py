"""A client's grammar in lark's notation, compiled to plain productions and to patterns of terminals.

lark parses the notation. It does not compile it: it multiplies out optional parts (20 of them: a million productions)
and writes out terminals that use each other (16 levels: 80 seconds), and its Earley parser cannot be stopped.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, TypeGuard

from msgspec import Struct

from mockserver.core.lazy import lazy_pattern
from mockserver.core.plan import Failure
from mockserver.model.patterns import InvalidPatternError, LiteralPattern, Pattern, compile_pattern, is_encodable

if TYPE_CHECKING:
    from lark import Lark, Token

Production = tuple[str, ...]  # names of rules and terminals
Texts = tuple[str, ...]
Rules = Mapping[str, tuple[Production, ...]]
Node = Any  # a lark Tree; its children are trees and tokens


class Terminal(Struct, frozen=True):
    """A token: its pattern, and the texts that it can be if these are few."""

    pattern: Pattern
    texts: Texts = ()


class Grammar(Struct, frozen=True, dict=True):
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
        return frozenset(smallest_derivations(self.rules, ()))

    def min_size(self, production: Production) -> int:
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


class Statements(Struct, frozen=True):
    rules: dict[str, Node] = {}
    terminals: dict[str, Node] = {}
    imports: "dict[str, Token]" = {}  # by the name here: the name in common
    ignored: list[Node] = []


def load_grammar(definition: str) -> Grammar:
    """Compile a text in lark's notation. Raises Failure, with the position, if it is invalid."""
    try:
        return _compiled(parse_statements(definition))
    except RecursionError:
        raise Failure("bad_parameter", "Invalid grammar: it is nested too deeply.") from None


def _compiled(statements: Statements) -> Grammar:
    imported = {name: _imported_source(token) for name, token in statements.imports.items()}
    compiler = _RuleCompiler(statements, TerminalCompiler(statements.terminals, imported))
    for name, body in statements.rules.items():
        compiler.rules[name] = tuple(dict.fromkeys(compiler.alternatives(body)))
    ignored = tuple(dict.fromkeys(compiler.terminal(node) for node in statements.ignored))
    if "start" not in compiler.rules:
        raise Failure("bad_parameter", "Invalid grammar: it has no rule 'start'.")
    return Grammar(compiler.rules, compiler.terminals, ignored)


def _imported_source(name: "Token") -> str:
    source = _lark_sources().get(name.value)
    if source is None:
        raise _invalid(f"there is no terminal '{name.value}' in common", name)
    return source


@cache
def _lark_sources() -> Mapping[str, str]:
    """The patterns of lark's own terminals. All at once: threads share what is kept here, and a compiler is for one."""
    from importlib.resources import files

    text = files("lark").joinpath("grammars", "common.lark").read_text(encoding="utf-8")
    definitions = parse_statements(text).terminals
    compiler = TerminalCompiler(definitions)
    return {name: compiler.source_of(body) for name, body in definitions.items()}


def parse_statements(definition: str) -> Statements:
    """Raises Failure, with the position, for broken syntax and for what is not supported."""
    if len(definition) > _MAX_CHARACTERS:
        raise Failure("bad_parameter", f"Invalid grammar: it has more than {_MAX_CHARACTERS:,} characters.")
    found = Statements()
    for node in _parsed(definition).children:
        _add_statement(node, found)
    return found


def _parsed(definition: str) -> Node:
    from lark.exceptions import UnexpectedInput

    try:
        return _parser().parse(definition.rstrip() + "\n")
    except UnexpectedInput as error:
        found = str(getattr(error, "token", getattr(error, "char", "")))
        what = f"unexpected {found!r}" if found.strip() else "unexpected end of line"
        raise _invalid_at(what, error.line, error.column) from None


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
    found: Token = node if _is_token(node) else next(node.scan_values(_is_token))
    return found


def _add_statement(node: Node, found: Statements) -> None:
    match node.data:
        case "rule" | "token":
            head, parameters, *_, body = node.children
            name, definitions = head.value.lstrip("!?"), found.terminals if node.data == "token" else found.rules
            if parameters.children:
                raise _invalid("templates are not supported", head)
            if name in definitions or name in found.imports:
                raise _invalid(f"'{name}' is defined more than once", head)
            definitions[name] = body
        case "ignore":
            found.ignored.append(node.children[0])
        case "import":
            *path, name = _path(node.children[0])
            alias = node.children[1].children[0] if len(node.children) > 1 else name
            _import(path, name, alias, found)
        case "multi_import":
            for each in node.children[1].children:
                _import(_path(node.children[0]), each.children[0], each.children[0], found)
        case unknown:
            raise _invalid(f"%{unknown.partition('_')[0]} is not supported", _first_token(node))


def _path(node: Node) -> "list[Token]":
    first, *rest = map(_first_token, node.children)
    return [first, *(part for part in rest if part.value != ".")]


def _import(path: "list[Token]", name: "Token", alias: "Token", found: Statements) -> None:
    if [step.value for step in path] != ["common"]:
        raise _invalid("only terminals of 'common' can be imported", path[0] if path else name)
    if alias.value in found.terminals:
        raise _invalid(f"'{alias.value}' is defined more than once", alias)
    found.imports[alias.value] = name


class TerminalCompiler(Struct):
    """Compiles terminals, defined or imported, to the source of a pattern, and lists their texts where it can."""

    definitions: Mapping[str, Node]
    imported: Mapping[str, str] = {}
    _named: dict[str, tuple[str, Texts] | None] = {}  # None: being compiled
    _patterns: int = 0

    def compile(self, node: Node) -> Terminal:
        source, texts = self._read_named(node) if _is_token(node) else self._read(node)
        if len(texts) == 1:
            return Terminal(LiteralPattern(texts[0], "(?i:" in source), texts)
        self._patterns += 1
        if self._patterns > _MAX_PATTERNS:
            raise _invalid(f"more than {_MAX_PATTERNS} regular expressions", _first_token(node))
        return Terminal(_pattern(source, _first_token(node)), texts)

    def source_of(self, body: Node) -> str:
        return self._read(body)[0]

    def _read_named(self, token: "Token") -> tuple[str, Texts]:
        name = str(token.value)
        if token.type == "RULE":
            raise _invalid(f"rule '{name}' is used in a terminal", token)
        if name in self.imported:
            return self.imported[name], ()
        if name not in self.definitions:
            raise _invalid(f"terminal '{name}' is used but not defined", token)
        if name not in self._named:
            self._named[name] = None
            self._named[name] = self._read(self.definitions[name])
        found = self._named[name]
        if found is None:
            raise _invalid(f"terminal '{name}' contains itself", token)
        if len(found[0]) > _MAX_TERMINAL:
            raise _invalid(f"terminal '{name}' is too large", token)
        return found

    def _read(self, node: Node) -> tuple[str, Texts]:
        """The source of a pattern, and the texts of a terminal that only lists a few literals."""
        match node.data:
            case "name":
                source, texts = self._read_named(node.children[0])
                return f"(?:{source})", texts
            case "literal":
                token = node.children[0]
                return _literal_source(token), (_unquoted(token),) if token.type == "STRING" else ()
            case "literal_range":
                first, last = map(_unquoted, node.children)
                if len(first) != 1 or len(last) != 1:
                    raise _invalid("a range that is not from one character to another", node.children[0])
                return f"[{re.escape(first)}-{re.escape(last)}]", ()
            case "maybe":
                return f"(?:{self._read(node.children[0])[0]})?", ()
            case "expr":
                inner, *times = node.children
                return f"(?:{self._read(inner)[0]}){_quantifier(times)}", ()
            case "expansion" | "expansions" if len(node.children) == 1:
                return self._read(node.children[0])
            case "expansion":
                return "".join(self._read(part)[0] for part in node.children), ()
            case "expansions":
                return _either([self._read(option) for option in node.children])
        raise _invalid(f"{node.data.replace('_', ' ')} in a terminal", _first_token(node))


def _either(options: Sequence[tuple[str, Texts]]) -> tuple[str, Texts]:
    """Alternatives, which are tried in order: unbounded ones come first, then longer ones."""
    sources = sorted((source for source, _ in options), key=lambda one: (not _UNBOUNDED.search(one), -len(one)))
    texts = dict.fromkeys(text for _, some in options for text in some)
    few = len(texts) <= _MAX_TEXTS and all(some for _, some in options)
    return f"(?:{'|'.join(sources)})", tuple(texts) if few else ()


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


class _RuleCompiler(Struct):
    """Compiles the bodies of rules to productions; each optional or repeated part becomes a rule of its own."""

    statements: Statements
    lexicon: TerminalCompiler
    rules: dict[str, tuple[Production, ...]] = {}
    terminals: dict[str, Terminal] = {}
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
        if node.data == "name":
            return self._named(node.children[0])
        name = " ".join(str(token) for token in node.scan_values(_is_token))
        if name not in self.terminals:
            self.terminals[name] = self.lexicon.compile(node)
        return name

    def _symbol(self, node: Node) -> str:
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
_VERBOSE = lazy_pattern(r"(?P<kept>\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\s+|#[^\n]*", re.DOTALL)
_ESCAPE = lazy_pattern(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "\\": "\\", '"': '"'}
_UNBOUNDED = lazy_pattern(r"(?<!\\)[*+]|,\}")
