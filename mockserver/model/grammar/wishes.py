"""What a prompt wants of a grammar's text: which of its words and values are tokens of the grammar, and where they go.

Knows productions, not how texts are derived.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from mockserver.model.arguments import Mentions
from mockserver.model.arguments.values import Mention
from mockserver.model.grammar.notation import Grammar, Production
from mockserver.model.patterns import fullmatch

Wish = Mapping[str, str]  # a word or a value of the prompt: the terminals that can be it, and its text there
Share = tuple[int, ...]  # places of wishes, in the order of the prompt

Chain = tuple[tuple[int, int], ...]  # wishes, each with its place in a production

_MOST = 16
_MOST_MENTIONS = 40
_READ = 20_000  # characters of the prompt


def wishes(grammar: Grammar, said: Mentions) -> tuple[Wish, ...]:
    """The words and values of a prompt that are tokens of the grammar, in the order in which they stand there.

    Raises PatternTimeoutError.
    """
    found = [*_literals(grammar, said), *_values(grammar, said)]
    return tuple(wish for _, wish in sorted(found, key=lambda each: each[0]))[:_MOST]


def _literals(grammar: Grammar, said: Mentions) -> Iterator[tuple[int, Wish]]:
    """Listed texts of terminals whose words the prompt has."""
    text = _outside(said)
    spoken = " ".join(["", *_WORD.findall(text), ""])
    meant: dict[str, dict[str, str]] = {}
    for name, terminal in grammar.terminals.items():
        for literal in terminal.texts:
            meant.setdefault(" ".join(_WORD.findall(literal.casefold())) or literal.strip(), {}).setdefault(
                name, literal
            )
    for core, wish in meant.items():
        if not _WORD.match(core):
            if (at := _sign_at(core, text, said)) >= 0:
                yield at, wish
        elif f" {core} " in spoken and core not in _SMALL:
            yield _place(core, text), wish


def _outside(said: Mentions) -> str:
    """The prompt in small letters, without the values of several words that it mentions."""
    text = said.text[:_READ].casefold()
    for mention in said.found:
        if " " in text[mention.start : mention.end] and mention.kind != "words":
            text = text[: mention.start] + " " * (mention.end - mention.start) + text[mention.end :]
    return text


def _sign_at(sign: str, text: str, said: Mentions) -> int:
    """Where a sign such as `>=` stands by itself, as no mark of punctuation does, or where words ask for it; or -1."""
    if not sign or (sign in _PUNCTUATION and sign not in _SPOKEN):
        return -1
    between, before = _SPOKEN.get(sign, (_NEVER, _NEVER))
    at = text.find(f" {sign} ")
    if at < 0 and (found := between.search(text)):
        at = found.start()
    if at < 0 and before.search(text):  # what is asked for before all numbers stands between them
        at = next((mention.end for mention in said.found if mention.kind == "number"), -1)
    return at


def _place(core: str, text: str) -> int:
    found = re.search(r"(?<!\w)" + r"\W+".join(map(re.escape, core.split())) + r"(?!\w)", text)
    return found.start() if found else len(text)


def _values(grammar: Grammar, said: Mentions) -> Iterator[tuple[int, Wish]]:
    """Mentioned values that match patterns of terminals."""
    listed = {text.casefold() for terminal in grammar.terminals.values() for text in terminal.texts}
    patterns = [
        name for name, terminal in grammar.terminals.items() if not terminal.texts and name not in grammar.ignored
    ]
    for mention in _apart(said.found[:_MOST_MENTIONS]):
        forms = [form for form in _forms(mention, said.text) if form.casefold() not in listed]
        wish = {name: form for name in patterns if (form := _fitting(grammar, name, forms)) is not None}
        if wish:
            yield mention.start, wish


def _apart(found: Iterable[Mention]) -> Iterator[Mention]:
    """The mentions that do not overlap, of those that do the shorter first."""
    end = 0
    worded = (each for each in found if each.kind != "duration" or not isinstance(each.value, int))
    for mention in sorted(worded, key=lambda each: (each.start, each.end)):
        if mention.start >= end:
            end = mention.end
            yield mention


def _forms(mention: Mention, text: str) -> Iterator[str]:
    """How a value may be written; mere words are not put into quotes."""
    raw, value = text[mention.start : mention.end], mention.value
    meant = str(value) if isinstance(value, str) or mention.kind == "number" else raw
    quoted = () if mention.kind == "words" else (f'"{meant}"', f"'{meant}'")
    yield from dict.fromkeys((raw, meant, *quoted))


def _fitting(grammar: Grammar, name: str, forms: Iterable[str]) -> str | None:
    return next((form for form in forms if form and fullmatch(grammar.terminals[name].pattern, form)), None)


@dataclass(frozen=True)
class Reach:
    """Which wishes each symbol of a grammar can take, and how many of them at once."""

    grammar: Grammar
    wishes: Sequence[Wish]

    @cached_property
    def masks(self) -> Mapping[str, int]:
        """For each symbol that can take wishes the set of them, as bits."""
        masks: dict[str, int] = {}
        for at, wish in enumerate(self.wishes):
            left = list(wish)
            while left:
                symbol = left.pop()
                if not masks.get(symbol, 0) >> at & 1:
                    masks[symbol] = masks.get(symbol, 0) | 1 << at
                    left += self._users.get(symbol, ())
        return masks

    @cached_property
    def _users(self) -> Mapping[str, Sequence[str]]:
        users: dict[str, list[str]] = {}
        for name, ways in self.grammar.rules.items():
            for symbol in dict.fromkeys(symbol for way in ways for symbol in way):
                users.setdefault(symbol, []).append(name)
        return users

    @cached_property
    def _room(self) -> Mapping[str, int]:
        """For each symbol how many wishes fit into it, up to all of them."""
        most = len(self.wishes)
        room = {name: 1 for wish in self.wishes for name in wish}
        upward = [name for name in self.grammar.sizes if name in self.grammar.rules and name in self.masks]
        for _ in range(most + 1):
            for name in upward:
                ways = self.grammar.rules[name]
                room[name] = min(most, max(sum(room.get(symbol, 0) for symbol in way) for way in ways))
        return room

    def takes(self, symbol: str, wanted: Share) -> Share:
        """Those of the wishes that a symbol can take."""
        mask = self.masks.get(symbol, 0)
        return tuple(at for at in wanted if mask >> at & 1) if mask else ()

    def shares(self, way: Production, wanted: Share, *, of: str = "") -> list[Share]:
        """Which wishes each symbol of a production (`of` a rule) gets: in the prompt's order as far as that goes.

        A wish that only one symbol can take says where in the production the wishes around it belong.
        """
        shares: list[list[int]] = [[] for _ in way]
        takers = [[at for at, symbol in enumerate(way) if self.takes(symbol, (wish,))] for wish in wanted]
        sure = {wish: places[0] for wish, places in zip(wanted, takers, strict=True) if len(places) == 1}
        for wish, place in sure.items():
            if len(shares[place]) < self._room.get(way[place], 1):
                shares[place].append(wish)
        steady = _rising(sure)
        for run, first, last in _runs(wanted, sure, steady, len(way) - 1):
            self._spread((way, of), run, range(first, last + 1), shares)
        return [tuple(sorted(share)) for share in shares]

    def _spread(self, rule: tuple[Production, str], run: Share, places: range, shares: list[list[int]]) -> None:
        """Give wishes in a row to symbols in a row."""
        way, of = rule
        for place in places:
            reached = self.takes(way[place], run)
            if reached:
                later = tuple(way[other] for other in places if other > place)
                repeated = later == (of,) and way[0] != of
                helping = self._turn(reached) if repeated else len(reached) - self._rooms(later, run)
                room = self._room.get(way[place], 1)
                most = room - len(shares[place])
                taken = reached[: max(0, most if room < len(self.wishes) else min(most, max(1, helping)))]
                shares[place] += taken
                run = tuple(wish for wish in run if wish not in taken)

    def _turn(self, reached: Share) -> int:
        """How many wishes there are before one is like an earlier one: what a repetition takes in one turn."""
        kinds = [tuple(self.wishes[wish]) for wish in reached]
        return next((at for at, kind in enumerate(kinds) if kind in kinds[:at]), len(kinds))

    def _rooms(self, symbols: Production, left: Share) -> int:
        """How many wishes fit into those symbols that can take any that are left."""
        return sum(self._room.get(symbol, 1) for symbol in symbols if self.takes(symbol, left))


def _rising(sure: Mapping[int, int]) -> Chain:
    """The most wishes whose places rise as they do, with their places."""
    best: dict[int, Chain] = {}
    for wish, place in sorted(sure.items()):
        before = (chain for chain in best.values() if chain[-1][1] <= place)
        best[wish] = (*max(before, key=_steadiness, default=()), (wish, place))
    return max(best.values(), key=_steadiness, default=())


def _steadiness(chain: Chain) -> tuple[int, int]:
    return len(chain), -sum(place for _, place in chain)


def _runs(wanted: Share, sure: Mapping[int, int], steady: Chain, last: int) -> Iterator[tuple[Share, int, int]]:
    """The other wishes, those between the same two steady ones together, and the places between which they belong."""
    edges = [(-1, 0), *steady, (_MOST, last)]
    for (before, low), (after, high) in pairwise(edges):
        run = tuple(wish for wish in wanted if before < wish < after and wish not in sure)
        if run:
            yield run, low, high


_WORD = re.compile(r"\w+")
_NEVER = re.compile(r"(?!)")
# Words for signs that stand between two values, and those that stand before them.
_SPOKEN: Mapping[str, tuple[re.Pattern[str], re.Pattern[str]]] = {
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
_SMALL = frozenset({"a", "i"})
_PUNCTUATION = frozenset(".,;:!?'\"()[]{}-`")
