"""Texts derived from a grammar: with words and values of the prompt where they are tokens, else small and varied."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from mockserver.core.plan import Failure
from mockserver.core.seed import Random
from mockserver.model.arguments import Mentions
from mockserver.model.arguments.values import Mention
from mockserver.model.grammar.notation import Grammar, Production
from mockserver.model.patterns import fullmatch, sample_text

Token = tuple[str, str]  # terminal and text
PromptToken = Mapping[str, str]  # a word or value of the prompt: the terminals that can be it, and its text there
Share = tuple[int, ...]  # indexes of prompt tokens, in the order of the prompt


def derive_tokens(grammar: Grammar, prompt_tokens: Sequence[PromptToken], rng: Random) -> list[Token]:
    """Derive a text, token by token. Raises Failure if every text is too long."""
    if grammar.min_sizes[grammar.start] > _MAX_SIZE:
        raise Failure("bad_parameter", "Invalid grammar: its shortest text is too long.")
    return _Deriver(grammar, Placement(grammar, prompt_tokens), rng).tokens()


@dataclass(slots=True)
class _Deriver:
    grammar: Grammar
    placement: "Placement"
    rng: Random
    spare: int = 40  # symbols that may still be added to the minimum

    def tokens(self) -> list[Token]:
        tokens: list[Token] = []
        everything = tuple(range(len(self.placement.prompt_tokens)))
        left: list[tuple[str, Share, int]] = [(self.grammar.start, everything, 0)]
        while left:
            symbol, wanted, depth = left.pop()
            accepted = self.placement.accepted(symbol, wanted)
            if symbol in self.grammar.terminals:
                tokens.append((symbol, self._text(symbol, accepted)))
                continue
            production = self._choose(symbol, accepted, depth)
            parts = [*zip(production, self.placement.distribute(production, wanted, rule=symbol), strict=True)]
            left += [(part, share, depth + 1) for part, share in reversed(parts)]
        return tokens

    def _choose(self, symbol: str, wanted: Share, depth: int) -> Production:
        """The production that suits what is wanted, or any that there is room for."""
        productions = self.grammar.rules[symbol]
        sizes = [self.grammar.min_size(production) for production in productions]
        least = min(sizes)
        optional = wanted or not (self.placement.prompt_tokens or depth > _MAX_OPTIONAL_DEPTH)
        options = [at for at, size in enumerate(sizes) if size <= least + self.spare * bool(optional)]
        if wanted:
            chosen = min(options, key=lambda at: (*self._loss(symbol, productions[at], wanted), sizes[at]))
        else:
            chosen = self.rng.choice(options)
        self.spare -= sizes[chosen] - least
        return productions[chosen]

    def _loss(self, symbol: str, production: Production, wanted: Share) -> tuple[int, int, int]:
        """How badly a production suits: wanted tokens lost, unwanted symbols, tokens that share a symbol."""
        shares = self.placement.distribute(production, wanted, rule=symbol)
        parts = zip(production, shares, strict=True)
        unwanted = sum(not share and part not in self.grammar.nullable for part, share in parts)
        return -sum(map(len, shares)), unwanted, -sum(map(bool, shares))

    def _text(self, name: str, wanted: Share) -> str:
        terminal = self.grammar.terminals[name]
        if wanted:
            return self.placement.prompt_tokens[wanted[0]][name]
        listed = [text for text in terminal.texts if fullmatch(terminal.pattern, text)]
        text = self.rng.choice(listed) if listed else sample_text(terminal.pattern, self.rng)
        if text is None:
            raise Failure("bad_parameter", f"Invalid grammar: no text was found for terminal {name}.")
        return text


def layouts(grammar: Grammar, tokens: list[Token]) -> Iterator[str]:
    """Ways to join tokens, the best first. Raises PatternTimeoutError."""
    ignored = [grammar.terminals[name].pattern for name in grammar.ignored]
    blanks = (blank for blank in (" ", "\n", "\t") if any(fullmatch(pattern, blank) for pattern in ignored))
    blank = next(blanks, "")
    texts = [text for _, text in tokens]
    if blank:
        yield _typeset(texts, blank)
    yield blank.join(texts)


def _typeset(texts: list[str], blank: str) -> str:
    """Join texts as people do: no blank inside brackets or before a comma."""
    line = ""
    for text in texts:
        close = not line or line[-1] in "([{." or text[:1] in ",;:.)]}" or (text == "(" and line[-1:].islower())
        line += text if close or line[-1:].isspace() or text[:1].isspace() else blank + text
    return line


def find_prompt_tokens(grammar: Grammar, said: Mentions) -> tuple[PromptToken, ...]:
    """Find the words and values of a prompt that are tokens of the grammar, in its order.

    Raises PatternTimeoutError.
    """
    found = [*_literals(grammar, said), *_values(grammar, said)]
    return tuple(token for _, token in sorted(found, key=lambda each: each[0]))[:_MAX_TOKENS]


def _literals(grammar: Grammar, said: Mentions) -> Iterator[tuple[int, PromptToken]]:
    """Listed texts of terminals whose words are in the prompt, with their position."""
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
    """The prompt, case-folded, with values of several words blanked out."""
    text = said.text[:_MAX_PROMPT].casefold()
    for mention in said.found:
        if " " in text[mention.start : mention.end] and mention.kind != "words":
            text = text[: mention.start] + " " * (mention.end - mention.start) + text[mention.end :]
    return text


def _find_sign(sign: str, text: str, said: Mentions) -> int:
    """The position of a sign such as `>=` that is no punctuation, or of the words for it; -1 if there is none."""
    if not sign or (sign in _PUNCTUATION and sign not in _SIGN_WORDS):
        return -1
    between, before = _SIGN_WORDS.get(sign, (_NEVER, _NEVER))
    at = text.find(f" {sign} ")
    if at < 0 and (found := between.search(text)):
        at = found.start()
    if at < 0 and before.search(text):  # "add 4 to 5": the sign goes after the first number
        at = next((mention.end for mention in said.found if mention.kind == "number"), -1)
    return at


def _values(grammar: Grammar, said: Mentions) -> Iterator[tuple[int, PromptToken]]:
    """Mentioned values that match patterns of terminals, with their position."""
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
    """Of mentions that overlap only the first and shortest."""
    end = 0
    written = (each for each in mentions if each.kind != "duration" or not isinstance(each.value, int))
    for mention in sorted(written, key=lambda each: (each.start, each.end)):
        if mention.start >= end:
            end = mention.end
            yield mention


def _forms(mention: Mention, text: str) -> Iterator[str]:
    """How a value may be written; plain words are not quoted."""
    raw, value = text[mention.start : mention.end], mention.value
    bare = str(value) if isinstance(value, str) or mention.kind == "number" else raw
    quoted = () if mention.kind == "words" else (f'"{bare}"', f"'{bare}'")
    yield from dict.fromkeys((raw, bare, *quoted))


@dataclass(frozen=True)
class Placement:
    """Which prompt tokens each symbol of a grammar can hold, and how many at once."""

    grammar: Grammar
    prompt_tokens: Sequence[PromptToken]

    @cached_property
    def _masks(self) -> Mapping[str, int]:
        """For each symbol the set of tokens that it can hold, as bits."""
        users: dict[str, list[str]] = {}
        for name, productions in self.grammar.rules.items():
            for symbol in dict.fromkeys(symbol for production in productions for symbol in production):
                users.setdefault(symbol, []).append(name)
        masks: dict[str, int] = {}
        for at, token in enumerate(self.prompt_tokens):
            left = list(token)
            while left:
                symbol = left.pop()
                if not masks.get(symbol, 0) >> at & 1:
                    masks[symbol] = masks.get(symbol, 0) | 1 << at
                    left += users.get(symbol, ())
        return masks

    @cached_property
    def _capacities(self) -> Mapping[str, int]:
        """For each symbol how many tokens it can hold, up to all of them."""
        most = len(self.prompt_tokens)
        capacities = {name: 1 for token in self.prompt_tokens for name in token}
        upward = [name for name in self.grammar.min_sizes if name in self.grammar.rules and name in self._masks]
        for _ in range(most + 1):
            for name in upward:
                sums = (sum(capacities.get(symbol, 0) for symbol in way) for way in self.grammar.rules[name])
                capacities[name] = min(most, max(sums))
        return capacities

    def accepted(self, symbol: str, wanted: Share) -> Share:
        """The wanted tokens that a symbol can hold."""
        mask = self._masks.get(symbol, 0)
        return tuple(at for at in wanted if mask >> at & 1) if mask else ()

    def distribute(self, production: Production, wanted: Share, *, rule: str = "") -> list[Share]:
        """Which tokens each symbol of a production of a rule gets: in the prompt's order as far as possible.

        A token that only one symbol can hold says where the tokens around it belong.
        """
        shares: list[list[int]] = [[] for _ in production]
        holders = [[at for at, symbol in enumerate(production) if self.accepted(symbol, (one,))] for one in wanted]
        fixed = {token: places[0] for token, places in zip(wanted, holders, strict=True) if len(places) == 1}
        for token, place in fixed.items():
            if len(shares[place]) < self._capacities.get(production[place], 1):
                shares[place].append(token)
        for run, first, last in _runs(wanted, fixed, len(production) - 1):
            self._spread((production, rule), run, range(first, last + 1), shares)
        return [tuple(sorted(share)) for share in shares]

    def _spread(self, owner: tuple[Production, str], run: Share, places: range, shares: list[list[int]]) -> None:
        """Give tokens in a row to symbols in a row."""
        production, rule = owner
        for place in places:
            accepted = self.accepted(production[place], run)
            if accepted:
                later = tuple(production[other] for other in places if other > place)
                if later == (rule,) and production[0] != rule:
                    enough = self._one_turn(accepted)
                else:
                    enough = len(accepted) - sum(
                        self._capacities.get(one, 1) for one in later if self.accepted(one, run)
                    )
                capacity = self._capacities.get(production[place], 1)
                most = capacity - len(shares[place])
                taken = accepted[: max(0, most if capacity < len(self.prompt_tokens) else min(most, max(1, enough)))]
                shares[place] += taken
                run = tuple(token for token in run if token not in taken)

    def _one_turn(self, tokens: Share) -> int:
        """How many tokens one turn of a repetition takes: those before the first that resembles an earlier one."""
        kinds = [tuple(self.prompt_tokens[token]) for token in tokens]
        return next((at for at, kind in enumerate(kinds) if kind in kinds[:at]), len(kinds))


def _runs(wanted: Share, fixed: Mapping[int, int], last: int) -> Iterator[tuple[Share, int, int]]:
    """The tokens between two fixed ones, and the first and last symbol that may hold them."""
    edges = [(-1, 0), *_longest_rise(fixed), (_MAX_TOKENS, last)]
    for (before, low), (after, high) in pairwise(edges):
        run = tuple(token for token in wanted if before < token < after and token not in fixed)
        if run:
            yield run, low, high


def _longest_rise(fixed: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    """The most tokens whose symbols are in the order of the tokens, with their symbols."""

    def rank(chain: tuple[tuple[int, int], ...]) -> tuple[int, int]:
        return len(chain), -sum(place for _, place in chain)

    best: dict[int, tuple[tuple[int, int], ...]] = {}
    for token, place in sorted(fixed.items()):
        before = (chain for chain in best.values() if chain[-1][1] <= place)
        best[token] = (*max(before, key=rank, default=()), (token, place))
    return max(best.values(), key=rank, default=())


_MAX_SIZE = 5_000  # symbols of the smallest derivation
_MAX_OPTIONAL_DEPTH = 12
_MAX_TOKENS = 16
_MAX_MENTIONS = 40
_MAX_PROMPT = 20_000  # characters
_WORD = re.compile(r"\w+")
_NEVER = re.compile(r"(?!)")
_PUNCTUATION = frozenset(".,;:!?'\"()[]{}-`")
# Words for signs: those between two values, and those in front of them.
_SIGN_WORDS: Mapping[str, tuple[re.Pattern[str], re.Pattern[str]]] = {
    sign: (re.compile(rf"\b(?:{between})\b"), re.compile(rf"\b(?:{before})\b"))
    for sign, between, before in (
        ("+", "plus", "add|sum"),
        ("-", "minus|less", "subtract"),
        ("*", "times|multiplied by", "multiply|product"),
        ("/", "divided by|over", "divide"),
        ("=", "equals|is equal to", "(?!)"),
        (">", "greater than|more than|above|over", "(?!)"),
        ("<", "less than|fewer than|below|under", "(?!)"),
        (">=", "at least", "(?!)"),
        ("<=", "at most", "(?!)"),
    )
}
