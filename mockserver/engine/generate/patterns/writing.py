"""Text that a regular expression describes, of a length that is asked for, in bounded steps.

What it writes must be held against the pattern: of what stands ahead or behind only some is understood.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil, inf

from mockserver.core.seed import Random
from mockserver.engine.generate.patterns.expression import (
    ANY,
    Chars,
    Edge,
    Either,
    Group,
    Look,
    Node,
    Reference,
    Repeat,
    Sequence,
    parsed,
)

Lengths = tuple[int, float]


def matching(pattern: str, rng: Random, *, lengths: Lengths = (0, inf), spelled: bool = False) -> str | None:
    """A text for the pattern; None where it cannot be read, or is too long.

    With `spelled`, what must stand ahead is written out before what follows it.
    """
    try:
        tree = _tree(pattern)
        least, most = lengths[0], min(lengths[1], _longest_asked(tree))
        least = max(least, _shortest_asked(tree))
        shortest = _shortest(tree)
        if shortest > _MOST_STEPS or shortest > most:
            return None
        writer = _Writer(rng, spelled, spare=most - shortest, wanted=max(0, least - shortest))
        text = writer.write(tree)
    except (ValueError, OverflowError, RecursionError):
        return None
    return _filled(text, tree, least, rng)


@lru_cache(maxsize=256)
def _tree(pattern: str) -> Node:
    return parsed(pattern)


@dataclass(slots=True)
class _Writer:
    rng: Random
    spelled: bool
    spare: float  # characters that may be written beyond the least
    wanted: float  # characters of these that must be
    held: dict[str, str] = field(default_factory=dict)
    steps: int = 0

    def write(self, node: Node) -> str:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise OverflowError
        match node:
            case Chars():
                return self._char(node)
            case Sequence(items):
                return "".join(map(self.write, items))
            case Either(options):
                return self._either(options)
            case Repeat():
                return self._repeat(node)
            case Group(inner, names):
                text = self.write(inner)
                self.held |= dict.fromkeys(names, text)
                return text
            case Reference(name):
                return self.held.get(name, "")
            case Look(inner, negated, behind):
                return self.write(inner) if self.spelled and not negated and not behind else ""
            case Edge():
                return ""

    def _char(self, chars: Chars) -> str:
        if not chars.negated and len(chars.ranges) == 1:
            low, high = chars.ranges[0]
            return chr(low if low == high else self.rng.randint(low, high))
        found = _plainest(chars)
        if found:
            return self.rng.choice(found)
        if chars.negated or not chars.ranges:
            raise ValueError("no character is left")
        return chr(self.rng.randint(*self.rng.choice(chars.ranges)))

    def _either(self, options: tuple[Node, ...]) -> str:
        shortest = [_shortest(option) for option in options]
        least = min(shortest)
        fitting = [at for at, length in enumerate(shortest) if length - least <= self.spare]
        at = self.rng.choice(fitting)
        self._used(shortest[at] - least)
        return self.write(options[at])

    def _repeat(self, node: Repeat) -> str:
        unit = max(1, _shortest(node.inner))
        open_ended = min(node.most, node.least + _MORE)
        drawn = self.rng.randint(0, int(open_ended) - node.least) if open_ended > node.least else 0
        needed = min(ceil(self.wanted / unit), node.most - node.least) if self.wanted > 0 else 0
        more = int(min(max(drawn, needed), self.spare // unit))
        self._used(more * unit)
        return "".join(self.write(node.inner) for _ in range(node.least + more))

    def _used(self, characters: float) -> None:
        self.spare -= characters
        self.wanted -= characters


@lru_cache(maxsize=1024)
def _plainest(chars: Chars) -> str:
    """The characters of a set that people type, the plainest kind first that has any."""
    if chars.negated:
        return next((found for kind in _KINDS if (found := "".join(char for char in kind if char in chars))), "")
    return "".join(char for char in _TYPED if char in chars)


def _shortest(node: Node) -> int:
    """The fewest characters of a text for it; counts no further than needed to see that it is too long."""
    match node:
        case Chars():
            return 1
        case Sequence(items):
            return min(sum(map(_shortest, items)), _TOO_MANY)
        case Either(options):
            return min(map(_shortest, options))
        case Repeat(inner, least):
            return min(least * _shortest(inner), _TOO_MANY) if least else 0
        case Group(inner):
            return _shortest(inner)
    return 0


def _asked(tree: Node) -> list[Repeat]:
    """The lengths that are asked for as what must stand ahead, up to the end: `(?=.{8,20}$)`."""
    items = tree.items if isinstance(tree, Sequence) else (tree,)
    return [
        item.inner.items[0]
        for item in items
        if isinstance(item, Look)
        and not item.negated
        and isinstance(item.inner, Sequence)
        and len([one for one in item.inner.items if not isinstance(one, Edge)]) == 1
        and isinstance(item.inner.items[0], Repeat)
        and item.inner.items[0].inner == ANY
        and item.inner.items[-1] == Edge("$")
    ]


def _shortest_asked(tree: Node) -> int:
    return max((repeat.least for repeat in _asked(tree)), default=0)


def _longest_asked(tree: Node) -> float:
    return min((repeat.most for repeat in _asked(tree)), default=inf)


def _filled(text: str, tree: Node, least: int, rng: Random) -> str:
    """The text made longer where its pattern leaves one of its ends free."""
    missing = min(least, _MOST_STEPS) - len(text)
    if missing <= 0:
        return text
    filling = "".join(rng.choice(_KINDS[0]) for _ in range(missing))
    return filling + text if _ends(tree) else text + filling


def _ends(tree: Node) -> bool:
    last = tree.items[-1] if isinstance(tree, Sequence) and tree.items else tree
    return last == Edge("$")


_MOST_STEPS = 50_000  # characters and groups of one text
_TOO_MANY = 1_000_000
_MORE = 7  # repeats beyond the least where a pattern sets no bound
_KINDS = ("abcdefghijklmnopqrstuvwxyz", "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "-_.,:;!?/+*=#%&@()[]{}<>~ ", "é東")
_TYPED = "".join(_KINDS[:4])
