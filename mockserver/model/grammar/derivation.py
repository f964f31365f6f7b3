"""Texts derived from a grammar: with phrases, words and values of the prompt where they are tokens, else small."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import islice

from mockserver.core.lazy import lazy_pattern
from mockserver.core.plan import Failure
from mockserver.core.seed import Random
from mockserver.model.arguments import Mentions
from mockserver.model.arguments.values import Mention
from mockserver.model.grammar.notation import Grammar, Production
from mockserver.model.patterns import fullmatch, match_length, sample_text

Token = tuple[str, str]  # terminal and text
PromptToken = Mapping[str, str]  # a word or value of the prompt: the terminals that can be it, and its text there
# A symbol and -1, or the number of a production and how many of its symbols were read; the tokens from and to.
Item = tuple[str | int, int, int, int]
Origin = tuple[Item | None, Item | None]  # the item before the last symbol, and the symbol; None: without a token


def derive_tokens(grammar: Grammar, prompt_tokens: Sequence[PromptToken], rng: Random) -> list[Token]:
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


def phrases(said: Mentions) -> Iterator[str]:
    """The values that a prompt mentions, as written and without their quotes, the longest first."""
    found: list[object] = []
    for mention in said.found[:_MAX_PHRASES]:
        raw = said.text[mention.start : mention.end]
        found += [mention.value, raw, *(["".join(raw.split())] if mention.kind == "expression" else [])]
    texts = dict.fromkeys(text for text in found if isinstance(text, str) and 0 < len(text) <= _MAX_PHRASE)
    yield from sorted(texts, key=len, reverse=True)


def find_phrase(grammar: Grammar, said: Mentions, least: int) -> str | None:
    """Find a phrase that the grammar derives, of so many tokens at least. Raises PatternTimeoutError."""
    for phrase in islice(phrases(said), _MAX_READ):
        tokens = _read(grammar, phrase)
        if tokens and len(tokens) >= least and Fit(grammar, tokens, exact=True).root:
            return phrase
    return None


def _read(grammar: Grammar, text: str) -> list[PromptToken]:
    tokens: list[PromptToken] = []
    at = 0
    while at < len(text) and len(tokens) < _MAX_READ_TOKENS:
        lengths = {name: match_length(terminal.pattern, text, at) for name, terminal in grammar.terminals.items()}
        length = max(lengths.values())
        names = [name for name in lengths if lengths[name] == length]
        if not length:
            return []
        if set(names).isdisjoint(grammar.ignored):
            tokens.append(dict.fromkeys(names, text[at : at + length]))
        at += length
    return tokens if at == len(text) else []


def find_prompt_tokens(grammar: Grammar, said: Mentions) -> tuple[PromptToken, ...]:
    """Find the words and values of a prompt that are tokens of the grammar, in its order.

    Raises PatternTimeoutError.
    """
    found = [*_literals(grammar, said), *_values(grammar, said)]
    return tuple(token for _, token in sorted(found, key=lambda each: each[0]))[:_MAX_TOKENS]


def _literals(grammar: Grammar, said: Mentions) -> Iterator[tuple[int, PromptToken]]:
    text = _text_outside_values(said)
    words = " ".join(["", *_WORD.findall(text), ""])
    tokens: dict[str, dict[str, str]] = {}
    for name, terminal in grammar.terminals.items():
        for literal in terminal.texts:
            core = " ".join(_WORD.findall(literal.casefold())) or literal.strip()
            tokens.setdefault(core, {}).setdefault(name, literal)
    for core, token in tokens.items():
        if not _WORD.match(core):
            if (at := _find_sign(core, text, said)) >= 0:
                yield at, token
        elif f" {core} " in words and core not in ("a", "i"):
            found = re.search(r"(?<!\w)" + r"\W+".join(map(re.escape, core.split())) + r"(?!\w)", text)
            yield found.start() if found else len(text), token


def _text_outside_values(said: Mentions) -> str:
    text = said.text[:_MAX_PROMPT].casefold()
    for mention in said.found:
        if " " in text[mention.start : mention.end] and mention.kind != "words":
            text = text[: mention.start] + " " * (mention.end - mention.start) + text[mention.end :]
    return text


def _find_sign(sign: str, text: str, said: Mentions) -> int:
    """The position of a sign such as `>=` that is no punctuation, or of the words for it; -1 if there is none."""
    if not sign or (sign in _PUNCTUATION and sign not in _SIGN_WORDS):
        return -1
    at = text.find(f" {sign} ")
    words = re.search(rf"\b(?:{_SIGN_WORDS[sign]})\b", text) if sign in _SIGN_WORDS else None
    if at >= 0 or not words:
        return at
    if words[0] not in _ACTIONS:
        return words.start()
    return next((mention.end for mention in said.found if mention.kind == "number"), words.start())


def _values(grammar: Grammar, said: Mentions) -> Iterator[tuple[int, PromptToken]]:
    listed = {text.casefold() for terminal in grammar.terminals.values() for text in terminal.texts}
    patterns = [
        (name, terminal.pattern)
        for name, terminal in grammar.terminals.items()
        if not terminal.texts and name not in grammar.ignored
    ]
    for mention in _without_overlaps(said.found[:_MAX_MENTIONS]):
        forms = [form for form in _forms(mention, said.text) if form and form.casefold() not in listed]
        matching = (
            (name, next((form for form in forms if fullmatch(pattern, form)), "")) for name, pattern in patterns
        )
        if token := {name: form for name, form in matching if form}:
            yield mention.start, token


def _without_overlaps(mentions: Iterable[Mention]) -> Iterator[Mention]:
    end = 0
    written = (each for each in mentions if each.kind != "duration" or not isinstance(each.value, int))
    for mention in sorted(written, key=lambda each: (each.start, each.end)):
        if mention.start >= end:
            end = mention.end
            yield mention


def _forms(mention: Mention, text: str) -> Iterator[str]:
    raw, value = text[mention.start : mention.end], mention.value
    bare = str(value) if isinstance(value, str) or mention.kind == "number" else raw
    quoted = () if mention.kind == "words" else (f'"{bare}"', f"'{bare}'")
    yield from dict.fromkeys((raw, bare, *quoted))


_MAX_PHRASES, _MAX_READ = 24, 6
_MAX_PHRASE = 2_000  # characters
_MAX_TOKENS, _MAX_READ_TOKENS = 16, 100
_MAX_MENTIONS = 40
_MAX_PROMPT = 20_000  # characters
_WORD = lazy_pattern(r"\w+")
_PUNCTUATION = frozenset(".,;:!?'\"()[]{}-`")
_ACTIONS = ("add", "sum", "subtract", "multiply", "product", "divide")  # the sign goes after the first number
_SIGN_WORDS = {
    "+": "plus|add|sum",
    "-": "minus|less|subtract",
    "*": "times|multiplied by|multiply|product",
    "/": "divided by|divide",
    "=": "equals|is equal to",
    ">": "greater than|more than|above|over",
    "<": "less than|fewer than|below|under",
    ">=": "at least",
    "<=": "at most",
}
