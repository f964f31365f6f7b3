"""Tells which texts a grammar derives, by Earley's algorithm over tokens, in a number of steps that is set.

At each place the one token is read that a lexer which knows the context would read: the highest priority, then the
longest, then a literal before a pattern. What is refused here may still be derived in another reading.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from mockserver.engine.generate.grammar.bnf import Grammar, Production
from mockserver.engine.generate.patterns.trying import length_at

MOST_STEPS = 30_000

Item = tuple[str, Production, int, int]  # a rule, one of its ways, how much of it has been read, and since which token


@dataclass(frozen=True, slots=True)
class Reading:
    """The longest text that begins at a place: where it ends (None: there is none), its tokens, and the steps left."""

    end: int | None
    tokens: int
    left: int


def derives(grammar: Grammar, text: str) -> bool:
    """Whether a text is one of the grammar's; not, where it is too much work to tell. Raises SlowError."""
    return reading(grammar, text).end == len(text)


def reading(grammar: Grammar, text: str, at: int = 0, steps: int = MOST_STEPS) -> Reading:
    """The longest text of the grammar from a place on; what is ignored may stand around it. Raises SlowError."""
    chart = _Chart(grammar, left=steps)
    chart.begin()
    end, read, tokens = None, 0, 0
    while chart.left > 0:
        if chart.whole:
            end, tokens = at, read
        token, length = _token(grammar, chart.expected(), text, at)
        if not length:
            break
        at += length
        if token not in grammar.ignored:
            chart.read(token)
            read += 1
    return Reading(end, tokens, chart.left)


def _token(grammar: Grammar, expected: list[str], text: str, at: int) -> tuple[str, int]:
    """The next token, and its length: 0 where none is."""
    found = [(name, length_at(grammar.terminals[name].pattern, text, at)) for name in expected]
    return max((each for each in found if each[1]), key=lambda each: _rank(grammar, *each), default=("", 0))


def _rank(grammar: Grammar, name: str, length: int) -> tuple[int, int, bool]:
    terminal = grammar.terminals[name]
    return terminal.priority, length, bool(terminal.texts)


@dataclass(slots=True)
class _Chart:
    """What may stand where: for each token read the items that are open, by the symbol that they wait for."""

    grammar: Grammar
    columns: list[defaultdict[str, list[Item]]] = field(default_factory=list)
    whole: bool = False  # whether what has been read is a text of the grammar
    left: int = MOST_STEPS

    def begin(self) -> None:
        """Expect the first token."""
        self._fill([(self.grammar.start, way, 0, 0) for way in self.grammar.rules[self.grammar.start]])

    def expected(self) -> list[str]:
        """The terminals that may come next."""
        wanted = [symbol for symbol in self.columns[-1] if symbol in self.grammar.terminals]
        return [*wanted, *(name for name in self.grammar.ignored if name not in wanted)]

    def read(self, token: str) -> None:
        """Go on behind a token that was expected."""
        self._fill([(name, way, dot + 1, since) for name, way, dot, since in self.columns[-1][token]])

    def _fill(self, items: list[Item]) -> None:
        column = defaultdict[str, list[Item]](list)
        self.columns.append(column)
        self.whole = False
        seen = set(items)
        while items and self.left > 0:
            item = items.pop()
            name, way, dot, since = item
            if dot == len(way):
                self.whole = self.whole or (name == self.grammar.start and since == 0)
                found = self._completed(name, since)
            else:
                column[way[dot]].append(item)
                found = self._predicted(item)
            self.left -= 1 + len(found)
            fresh = [each for each in dict.fromkeys(found) if each not in seen]
            seen.update(fresh)
            items += fresh

    def _completed(self, name: str, since: int) -> list[Item]:
        """Those who waited for a rule, now that it has been read; one that is empty has never been waited for."""
        if since == len(self.columns) - 1:
            return []
        return [(outer, way, dot + 1, start) for outer, way, dot, start in self.columns[since][name]]

    def _predicted(self, item: Item) -> list[Item]:
        name, way, dot, since = item
        wanted, here = way[dot], len(self.columns) - 1
        begun = [(wanted, each, 0, here) for each in self.grammar.rules.get(wanted, ())]
        passed = [(name, way, dot + 1, since)] if wanted in self.grammar.empty else []
        return begun + passed
