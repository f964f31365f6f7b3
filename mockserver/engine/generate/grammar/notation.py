"""Reads the lark notation for grammars, as OpenAI takes it, into plain productions.

Lark's own grammar of its notation does the parsing. Each group, option and repetition becomes a rule of its own, so
that what is read stays as large as what was written. Left out, as at OpenAI: templates, `%declare`, and imports from
anywhere but `common`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from mockserver.core.plan import Failure
from mockserver.engine.generate.grammar.bnf import Grammar, Production, Terminal
from mockserver.engine.generate.grammar.statements import Node, Statements, broken, is_token, statements
from mockserver.engine.generate.grammar.terminals import Lexicon

if TYPE_CHECKING:
    from lark import Token

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
