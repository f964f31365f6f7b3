"""Tells which texts a grammar derives, by Earley's algorithm over tokens, in a number of steps that is set.

At each place the one token is read that a lexer which knows the context would read: the highest priority, then the
longest, then a literal before a pattern. What is refused here may still be derived in another reading.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.seed import Random
from mockserver.model.arguments import Mentions
from mockserver.model.arguments.values import Mention
from mockserver.model.grammar.notation import Grammar, Production
from mockserver.model.grammar.wishes import Reach, Share, Wish
from mockserver.model.patterns import fullmatch, match_length, sample_text

MOST_STEPS = 30_000

Item = tuple[str, Production, int, int]  # a rule, one of its ways, how much of it has been read, and since which token


@dataclass(frozen=True, slots=True)
class Reading:
    """The longest text that begins at a place: where it ends (None: there is none), its tokens, and the steps left."""

    end: int | None
    tokens: int
    left: int


def derives(grammar: Grammar, text: str) -> bool:
    """Whether a text is one of the grammar's; not, where it is too much work to tell. Raises PatternTimeoutError."""
    return reading(grammar, text).end == len(text)


def reading(grammar: Grammar, text: str, at: int = 0, steps: int = MOST_STEPS) -> Reading:
    """Find the longest text of the grammar from a position on. Raises PatternTimeoutError."""
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
    found = [(name, match_length(grammar.terminals[name].pattern, text, at)) for name in expected]
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


Token = tuple[str, str]  # terminal and text

_LARGEST = 5_000  # symbols of the smallest derivation
_MORE = 40  # symbols beyond the smallest
_DEEP = 12  # from where on nothing optional is derived


def derivation(grammar: Grammar, wishes: Sequence[Wish], rng: Random) -> list[Token]:
    """The tokens of a text. Raises Failure where all that the grammar derives are too long."""
    if grammar.sizes[grammar.start] > _LARGEST:
        raise Failure("bad_parameter", "Invalid grammar: its shortest text is too long.")
    return _Writer(grammar, Reach(grammar, wishes), rng).tokens()


@dataclass(slots=True)
class _Writer:
    grammar: Grammar
    reach: Reach
    rng: Random
    spare: int = _MORE  # symbols that may still be added to what is the least

    def tokens(self) -> list[Token]:
        """The tokens from left to right."""
        made: list[Token] = []
        left: list[tuple[str, Share, int]] = [(self.grammar.start, tuple(range(len(self.reach.wishes))), 0)]
        while left:
            symbol, wanted, depth = left.pop()
            if symbol in self.grammar.terminals:
                made.append((symbol, self._text(symbol, self.reach.takes(symbol, wanted))))
                continue
            way = self._way(symbol, self.reach.takes(symbol, wanted), depth)
            parts = [*zip(way, self.reach.shares(way, wanted, of=symbol), strict=True)]
            left += [(part, share, depth + 1) for part, share in reversed(parts)]
        return made

    def _way(self, symbol: str, wanted: Share, depth: int) -> Production:
        """The alternative that is taken: the one for what is wanted, else any of those there is room for."""
        ways = self.grammar.rules[symbol]
        sizes = [self.grammar.size(way) for way in ways]
        least = min(sizes)
        within = least + (self.spare if wanted or not (self.reach.wishes or depth > _DEEP) else 0)
        options = [at for at, size in enumerate(sizes) if size <= within]
        if wanted:
            chosen = min(options, key=lambda at: (*self._loss(symbol, ways[at], wanted), sizes[at]))
        else:
            chosen = self.rng.choice(options)
        self.spare -= sizes[chosen] - least
        return ways[chosen]

    def _loss(self, symbol: str, way: Production, wanted: Share) -> tuple[int, int, int]:
        """How little an alternative suits: what gets lost, what is not wanted, what is not spread."""
        shares = self.reach.shares(way, wanted, of=symbol)
        kept = sum(map(len, shares))
        unwanted = sum(not share and part not in self.grammar.empty for part, share in zip(way, shares, strict=True))
        return -kept, unwanted, -sum(map(bool, shares))

    def _text(self, name: str, wanted: Share) -> str:
        terminal = self.grammar.terminals[name]
        if wanted:
            return self.reach.wishes[wanted[0]][name]
        listed = [text for text in terminal.texts if fullmatch(terminal.pattern, text)]
        text = self.rng.choice(listed) if listed else sample_text(terminal.pattern, self.rng)
        if text is None:
            raise Failure("bad_parameter", f"Invalid grammar: no text was found for terminal {name}.")
        return text


def layouts(grammar: Grammar, tokens: list[Token]) -> Iterator[str]:
    """The ways to write tokens down, the best first. Raises PatternTimeoutError."""
    blank = next((blank for blank in (" ", "\n", "\t") if _ignores(grammar, blank)), "")
    texts = [text for _, text in tokens]
    if blank:
        yield _set(texts, blank)
    yield blank.join(texts)


def _ignores(grammar: Grammar, blank: str) -> bool:
    return any(fullmatch(grammar.terminals[name].pattern, blank) for name in grammar.ignored)


def _set(texts: list[str], blank: str) -> str:
    """The texts as people set them: no blanks inside brackets and before commas."""
    line = ""
    for text in texts:
        close = not line or line[-1] in _OPENING or text[:1] in _CLOSING or (text == "(" and line[-1:].islower())
        line += text if close or line[-1:].isspace() or text[:1].isspace() else blank + text
    return line


_OPENING, _CLOSING = "([{.", ",;:.)]}"


_MOST_PHRASES = 24
_LONGEST = 2_000  # characters of a phrase
_READ = 4_000  # characters of a prompt
_MOST_PLACES = 200


def phrases(said: Mentions) -> Iterator[str]:
    """What the prompt mentions, as it is written and without its quotes, the longest first."""
    found = (form for mention in said.found[:_MOST_PHRASES] for form in _forms(mention, said.text))
    texts = dict.fromkeys(text for text in found if isinstance(text, str) and 0 < len(text) <= _LONGEST)
    yield from sorted(texts, key=len, reverse=True)


def _forms(mention: Mention, text: str) -> Iterator[Json]:
    raw = text[mention.start : mention.end]
    yield from (mention.value, raw)
    if mention.kind == "expression":
        yield "".join(raw.split())


def best_phrase(grammar: Grammar, said: Mentions) -> tuple[str, int]:
    """The phrase with the most tokens that the grammar derives, and their number: 0 where there is none.

    Raises PatternTimeoutError.
    """
    best, most, steps = "", 0, MOST_STEPS
    for phrase in phrases(said):
        found = reading(grammar, phrase, steps=steps)
        steps = found.left
        if found.tokens > most and found.end == len(phrase):
            best, most = phrase, found.tokens
    return best, most


def best_span(grammar: Grammar, text: str) -> tuple[str, int]:
    """The same for any part of a text."""
    text, best, most, steps = text[:_READ], "", 0, MOST_STEPS
    for place in [*_WORD_START.finditer(text)][:_MOST_PLACES]:
        found = reading(grammar, text, place.start(), steps)
        steps = found.left
        if found.tokens > most and _ends_a_word(text, found):
            best, most = text[place.start() : found.end].strip(), found.tokens
    return best, most


def _ends_a_word(text: str, found: Reading) -> bool:
    end = found.end or 0
    return not (text[end - 1 : end].isalnum() and text[end : end + 1].isalnum())


_WORD_START = re.compile(r"(?<!\w)\w|(?<![^\s\w])[^\s\w]")
