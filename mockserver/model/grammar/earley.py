"""Which texts a grammar derives, by Earley's algorithm over tokens and within a limited number of steps.

Reads at each position the token that a contextual lexer would read: by priority, then length, then literals before
patterns. It may refuse a text that the grammar derives with other tokens.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from mockserver.model.arguments import Mentions
from mockserver.model.grammar.notation import Grammar, Production
from mockserver.model.patterns import match_length

Item = tuple[str, Production, int, int]  # a rule, a production, how much of it was read, and the token it started at


@dataclass(frozen=True, slots=True)
class PrefixMatch:
    """The longest text found at a position: its end (None: no text), its number of tokens, and the steps left."""

    end: int | None
    tokens: int
    steps_left: int


def derives(grammar: Grammar, text: str) -> bool:
    """Whether the grammar derives a text; False if that takes too long. Raises PatternTimeoutError."""
    return match_prefix(grammar, text).end == len(text)


def match_prefix(grammar: Grammar, text: str, at: int = 0, *, steps: int | None = None) -> PrefixMatch:
    """Find the longest text of the grammar at a position. Raises PatternTimeoutError."""
    chart = _Chart(grammar, MAX_STEPS if steps is None else steps)
    chart.begin()
    end, read, tokens = None, 0, 0
    while chart.steps_left > 0:
        if chart.complete:
            end, tokens = at, read
        token, length = _next_token(grammar, chart.expected(), text, at)
        if not length:
            break
        at += length
        if token not in grammar.ignored:
            chart.advance(token)
            read += 1
    return PrefixMatch(end, tokens, chart.steps_left)


def _next_token(grammar: Grammar, expected: list[str], text: str, at: int) -> tuple[str, int]:
    """The next token and its length, which is 0 if there is none."""

    def rank(found: tuple[str, int]) -> tuple[int, int, bool]:
        terminal = grammar.terminals[found[0]]
        return terminal.priority, found[1], bool(terminal.texts)

    lengths = [(name, match_length(grammar.terminals[name].pattern, text, at)) for name in expected]
    return max((found for found in lengths if found[1]), key=rank, default=("", 0))


@dataclass(slots=True)
class _Chart:
    """For each token read, the items that are open, by the symbol that they expect."""

    grammar: Grammar
    steps_left: int
    columns: list[defaultdict[str, list[Item]]] = field(default_factory=list)
    complete: bool = False  # whether the grammar derives what was read

    def begin(self) -> None:
        start = self.grammar.start
        self._fill([(start, production, 0, 0) for production in self.grammar.rules[start]])

    def expected(self) -> list[str]:
        terminals = [symbol for symbol in self.columns[-1] if symbol in self.grammar.terminals]
        return [*terminals, *(name for name in self.grammar.ignored if name not in terminals)]

    def advance(self, token: str) -> None:
        self._fill([(name, production, dot + 1, since) for name, production, dot, since in self.columns[-1][token]])

    def _fill(self, items: list[Item]) -> None:
        column = defaultdict[str, list[Item]](list)
        self.columns.append(column)
        self.complete = False
        seen = set(items)
        while items and self.steps_left > 0:
            item = items.pop()
            name, production, dot, since = item
            if dot == len(production):
                self.complete = self.complete or (name == self.grammar.start and since == 0)
                found = self._completed(name, since)
            else:
                column[production[dot]].append(item)
                found = self._predicted(item)
            self.steps_left -= 1 + len(found)
            fresh = [each for each in dict.fromkeys(found) if each not in seen]
            seen.update(fresh)
            items += fresh

    def _completed(self, name: str, since: int) -> list[Item]:
        if since == len(self.columns) - 1:
            return []  # an empty rule: predicting it has already moved on
        return [(outer, production, dot + 1, start) for outer, production, dot, start in self.columns[since][name]]

    def _predicted(self, item: Item) -> list[Item]:
        name, production, dot, since = item
        expected, here = production[dot], len(self.columns) - 1
        begun = [(expected, each, 0, here) for each in self.grammar.rules.get(expected, ())]
        skipped = [(name, production, dot + 1, since)] if expected in self.grammar.nullable else []
        return begun + skipped


def phrases(said: Mentions) -> Iterator[str]:
    """The values that a prompt mentions, as written and without their quotes, the longest first."""
    found: list[object] = []
    for mention in said.found[:_MAX_PHRASES]:
        raw = said.text[mention.start : mention.end]
        found += [mention.value, raw, *(["".join(raw.split())] if mention.kind == "expression" else [])]
    texts = dict.fromkeys(text for text in found if isinstance(text, str) and 0 < len(text) <= _MAX_PHRASE)
    yield from sorted(texts, key=len, reverse=True)


def best_phrase(grammar: Grammar, said: Mentions) -> tuple[str, int]:
    """The phrase with the most tokens that the grammar derives, and their number, 0 if there is none.

    Raises PatternTimeoutError.
    """
    best, most, steps = "", 0, MAX_STEPS
    for phrase in phrases(said):
        found = match_prefix(grammar, phrase, steps=steps)
        steps = found.steps_left
        if found.tokens > most and found.end == len(phrase):
            best, most = phrase, found.tokens
    return best, most


def best_span(grammar: Grammar, text: str) -> tuple[str, int]:
    """The same for any part of a text."""
    text, best, most, steps = text[:_MAX_PROMPT], "", 0, MAX_STEPS
    for place in [*_WORD_START.finditer(text)][:_MAX_STARTS]:
        found = match_prefix(grammar, text, place.start(), steps=steps)
        steps = found.steps_left
        end = found.end or 0
        inside_a_word = text[end - 1 : end].isalnum() and text[end : end + 1].isalnum()
        if found.tokens > most and not inside_a_word:
            best, most = text[place.start() : end].strip(), found.tokens
    return best, most


MAX_STEPS = 30_000
_MAX_PHRASES = 24
_MAX_PHRASE = 2_000  # characters
_MAX_PROMPT = 4_000  # characters
_MAX_STARTS = 200
_WORD_START = re.compile(r"(?<!\w)\w|(?<![^\s\w])[^\s\w]")
