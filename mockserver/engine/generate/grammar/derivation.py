"""Derives texts from a grammar: small ones, with some variety on top, that take what a prompt wants of them.

Knows productions and wishes, no notation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mockserver.core.plan import Failure
from mockserver.core.seed import Random
from mockserver.engine.generate.grammar.bnf import Grammar, Production
from mockserver.engine.generate.grammar.wishes import Reach, Share, Wish
from mockserver.engine.generate.patterns.trying import fits, text_for

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
        listed = [text for text in terminal.texts if fits(terminal.pattern, text)]
        text = self.rng.choice(listed) if listed else text_for(terminal.pattern, self.rng)
        if text is None:
            raise Failure("bad_parameter", f"Invalid grammar: no text was found for terminal {name}.")
        return text
