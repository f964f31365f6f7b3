"""Texts derived from a grammar: with words and values of the prompt where they are tokens, else small and varied."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

from mockserver.core.plan import Failure
from mockserver.core.seed import Random
from mockserver.model.grammar.notation import Grammar, Production
from mockserver.model.patterns import fullmatch, sample_text

Token = tuple[str, str]  # terminal and text
PromptToken = Mapping[str, str]  # a word or value of the prompt: the terminals that can be it, and its text there
# A symbol and -1, or the number of a production and how many of its symbols were read; the tokens from and to.
Item = tuple[str | int, int, int, int]
Origin = tuple[Item | None, Item | None]  # the item before the last symbol, and the symbol; None: without a token


def derive_tokens(grammar: Grammar, prompt_tokens: Sequence[PromptToken], rng: Random) -> list[Token]:
    """Derive a text, token by token. Raises Failure if every text is too long."""
    if grammar.min_sizes[grammar.start] > _MAX_SIZE:
        raise Failure("bad_parameter", "Invalid grammar: its shortest text is too long.")
    fit = Fit(grammar, prompt_tokens)
    unused = [token for at, token in enumerate(prompt_tokens) if at not in fit.used]
    spare = 0 if prompt_tokens else 40  # symbols that may still be added to the minimum
    tokens: list[Token] = []
    left: list[tuple[str, Item | None, int]] = [(grammar.start, fit.root, 0)]
    while left:
        symbol, item, depth = left.pop()
        if symbol in grammar.terminals:
            tokens.append((symbol, prompt_tokens[item[3] - 1][symbol] if item else _text(grammar, symbol, unused, rng)))
        elif item:
            left += [(part, inner, depth + 1) for part, inner in reversed(fit.children(item))]
        else:
            sizes = [(production, grammar.min_size(production)) for production in grammar.rules[symbol]]
            room = min(size for _, size in sizes) + (spare if depth <= _MAX_OPTIONAL_DEPTH else 0)
            options = [(production, size) for production, size in sizes if size <= room]
            production, size = rng.choice([option for option in options if _has_any(option[0], unused)] or options)
            spare -= size - min(size for _, size in sizes)
            left += [(part, None, depth + 1) for part in reversed(production)]
    return tokens


def _has_any(production: Production, tokens: Sequence[PromptToken]) -> bool:
    return any(not token.keys().isdisjoint(production) for token in tokens)


def _text(grammar: Grammar, name: str, unused: list[PromptToken], rng: Random) -> str:
    """A text for a terminal: a token of the prompt that was left over, or any."""
    for at, token in enumerate(unused):
        if name in token:
            return unused.pop(at)[name]
    terminal = grammar.terminals[name]
    listed = [text for text in terminal.texts if fullmatch(terminal.pattern, text)]
    text = rng.choice(listed) if listed else sample_text(terminal.pattern, rng)
    if text is None:
        raise Failure("bad_parameter", f"Invalid grammar: no text was found for terminal {name}.")
    return text


def typeset(grammar: Grammar, tokens: Sequence[Token]) -> str:
    """Join tokens as people do: no blank inside brackets or before a comma. Raises PatternTimeoutError."""
    ignored = [grammar.terminals[name].pattern for name in grammar.ignored]
    blanks = (blank for blank in (" ", "\n", "\t") if any(fullmatch(pattern, blank) for pattern in ignored))
    blank = next(blanks, "")
    line = ""
    for _, text in tokens:
        close = not line or line[-1] in "([{." or text[:1] in ",;:.)]}" or (text == "(" and line[-1:].islower())
        line += text if close or line[-1:].isspace() or text[:1].isspace() else blank + text
    return line


class Fit:
    """The derivation of a prompt's tokens in their order with the fewest others, by Knuth's algorithm.

    With `exact` it uses all tokens and no other. A symbol without a token of the prompt is not taken apart: it costs
    the size of its smallest derivation.
    """

    def __init__(self, grammar: Grammar, tokens: Sequence[PromptToken], *, exact: bool = False) -> None:
        self.root: Item | None = None  # None if no token can be used, or all is too much work
        self._grammar = grammar
        self._tokens = tokens
        self._productions = [(rule, way) for rule, ways in grammar.rules.items() for way in ways]
        self._origins: dict[Item, Origin] = {}
        self._queue: list[tuple[int, int, Item, Origin]] = []
        self._pushed = 0
        self._limit = 1 if exact else _SKIPPED * len(tokens) + grammar.min_sizes[grammar.start]
        self._symbols = defaultdict[tuple[str, int], list[tuple[int, Item]]](list)  # by symbol and first token
        self._waiting = defaultdict[tuple[str, int], list[tuple[int, Item]]](list)  # by symbol and token expected
        self._uses: dict[str, list[tuple[int, int, int]]] = {}
        if tokens:
            self._find()

    @property
    def used(self) -> set[int]:
        """The tokens that the best derivation uses."""
        found, left = set[int](), [self.root]
        while left:
            item = left.pop()
            if item and item[0] in self._grammar.terminals:
                found.add(item[3] - 1)
            elif item:
                left += [inner for _, inner in self.children(item)]
        return found

    def children(self, item: Item) -> list[tuple[str, Item | None]]:
        """The symbols that a rule is derived to, each with its own item if it has a token."""
        whole = self._origins[item][0]
        assert whole is not None  # noqa: S101  # every rule has a production
        _, production = self._productions[int(whole[0])]
        inner: list[Item | None] = [None] * len(production)
        read: Item | None = whole
        while read:
            inner[read[1] - 1] = self._origins[read][1]
            read = self._origins[read][0]
        return [*zip(production, inner, strict=True)]

    def _find(self) -> None:
        for at, token in enumerate(self._tokens):
            for name in token:
                for start in range(at + 1):  # those before it are skipped
                    self._push(_SKIPPED * (at - start), (name, -1, start, at + 1))
        for number, (_, production) in enumerate(self._productions):
            cost = 0
            for at, symbol in enumerate(production):
                self._uses.setdefault(symbol, []).append((number, at + 1, cost))
                cost += self._least(symbol)
        while self._queue and self._pushed < _MAX_STEPS:
            cost, _, item, origin = heappop(self._queue)
            if item not in self._origins:
                self._origins[item] = origin
                (self._add_symbol if item[1] < 0 else self._read_on)(cost, item)

    def _push(self, cost: int, item: Item, before: Item | None = None, symbol: Item | None = None) -> None:
        self._pushed += 1
        if cost < self._limit and item not in self._origins:
            heappush(self._queue, (cost, self._pushed, item, (before, symbol)))

    def _least(self, symbol: str) -> int:
        return 0 if symbol in self._grammar.nullable else self._grammar.min_size((symbol,))

    def _add_symbol(self, cost: int, item: Item) -> None:
        symbol, _, start, end = item
        name = str(symbol)
        self._symbols[name, start].append((cost, item))
        total = cost + _SKIPPED * (len(self._tokens) - end)
        if name == self._grammar.start and start == 0 and total < self._limit:
            self.root, self._limit = item, total
        for number, read, before in self._uses.get(name, ()):
            self._push(cost + before, (number, read, start, end), None, item)
        for further, outer in self._waiting[name, start]:
            self._push(cost + further, (outer[0], outer[1] + 1, outer[2], end), outer, item)

    def _read_on(self, cost: int, item: Item) -> None:
        number, read, start, end = item
        rule, production = self._productions[int(number)]
        if read == len(production):
            self._push(cost, (rule, -1, start, end), item)
            return
        symbol = production[read]
        self._waiting[symbol, end].append((cost, item))
        self._push(cost + self._least(symbol), (number, read + 1, start, end), item)
        for further, inner in self._symbols[symbol, end]:
            self._push(cost + further, (number, read + 1, start, inner[3]), item, inner)


_MAX_SIZE = 5_000  # symbols of the smallest derivation
_MAX_OPTIONAL_DEPTH = 12
_SKIPPED = 12  # what it costs not to use a token of the prompt; one of its own costs 1
_MAX_STEPS = 40_000
