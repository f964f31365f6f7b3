"""Regular expressions of JSON Schema (ECMAScript's) read into a tree. Knows how they are spelled, not what to do."""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil, inf

from mockserver.core.seed import Random

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of these ranges, or, negated, of all others."""

    ranges: Ranges
    negated: bool = False

    def __contains__(self, char: object) -> bool:
        code = ord(str(char))
        return any(low <= code <= high for low, high in self.ranges) != self.negated


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other."""

    items: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Either:
    """One of them."""

    options: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Repeat:
    """Again and again: `most` times at the most, which may be infinite."""

    inner: "Node"
    least: int
    most: float


@dataclass(frozen=True, slots=True)
class Group:
    """What later references call by its number or name."""

    inner: "Node"
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """What a group held."""

    name: str


@dataclass(frozen=True, slots=True)
class Look:
    """What stands, or must not stand, ahead or behind."""

    inner: "Node"
    negated: bool
    behind: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """The begin, the end, or the border of a word: `^`, `$`, `b` or `B`."""

    kind: str


Node = Chars | Sequence | Either | Repeat | Group | Reference | Look | Edge


def parsed(pattern: str) -> Node:
    """The tree of a pattern. Raises ValueError where it cannot be read."""
    reader = _Reader(pattern)
    found = reader.either(0)
    if reader.at < len(pattern):
        raise ValueError(f"unbalanced at {reader.at}")
    return found


@dataclass(slots=True)
class _Reader:
    pattern: str
    at: int = 0
    groups: int = 0

    def either(self, depth: int) -> Node:
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        options = [self._sequence(depth)]
        while self._take("|"):
            options.append(self._sequence(depth))
        return options[0] if len(options) == 1 else Either(tuple(options))

    def _sequence(self, depth: int) -> Node:
        items: list[Node] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            item = self._atom(depth)
            if item is not None:
                items.append(self._repeated(item))
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _repeated(self, item: Node) -> Node:
        while found := _QUANTIFIER.match(self.pattern, self.at):
            self.at = found.end()
            sign, least, comma, most = found.groups()
            low, high = _SIGNS[sign] if sign else (int(least), inf if comma and not most else int(most or least))
            if low > high:
                raise ValueError("a repeat from more to less")
            item = Repeat(item, low, high)
            if not sign and not found[0].endswith("?"):
                break
        return item

    def _atom(self, depth: int) -> Node | None:
        char = self.pattern[self.at]
        self.at += 1
        match char:
            case "(":
                return self._group(depth)
            case "[":
                return self._class()
            case ".":
                return ANY
            case "^" | "$":
                return Edge(char)
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise ValueError("nothing to repeat")
        return _one(char)

    def _group(self, depth: int) -> Node | None:
        opening = _OPENING.match(self.pattern, self.at)
        kind, names = "", ()
        if opening:
            self.at = opening.end()
            kind = opening[0]
        if kind.startswith("?") and kind.endswith(")"):
            return None  # flags, which change nothing here
        if not kind or (opening and opening["name"]):
            self.groups += 1
            names = (str(self.groups), *((opening["name"],) if opening else ()))
        inner = self.either(depth + 1)
        if not self._take(")"):
            raise ValueError("a group without end")
        if kind in _LOOKS:
            negated, behind = _LOOKS[kind]
            return Look(inner, negated=negated, behind=behind)
        return Group(inner, names) if names else inner

    def _escape(self) -> Node:
        if found := _REFERENCE.match(self.pattern, self.at):
            self.at = found.end()
            return Reference(found[1] or found[2])
        if found := _EDGE.match(self.pattern, self.at):
            self.at = found.end()
            return Edge({"A": "^", "Z": "$", "z": "$"}.get(found[0], found[0]))
        ranges, negated = self._escaped()
        return Chars(ranges, negated)

    def _escaped(self) -> tuple[Ranges, bool]:
        """The characters behind a backslash."""
        if found := _PROPERTY.match(self.pattern, self.at):
            self.at = found.end()
            name = (found[2] or found[3]).rpartition("=")[2]
            return _PROPERTIES.get(name, _PROPERTIES.get(name[:1], _ASCII_LETTERS)), found[1] == "P"
        if found := _CODE.match(self.pattern, self.at):
            self.at = found.end()
            code = int(next(filter(None, found.groups())), 16)
            return ((code, code),), False
        if self.at >= len(self.pattern):
            raise ValueError("a backslash at the end")
        char = self.pattern[self.at]
        self.at += 1
        if char == "c" and self.at < len(self.pattern):
            self.at += 1
            code = ord(self.pattern[self.at - 1]) % 32
            return ((code, code),), False
        if char.lower() in _SETS:
            return _SETS[char.lower()], char.isupper()
        code = ord(_CONTROLS.get(char, char))
        return ((code, code),), False

    def _class(self) -> Node:
        negated = self._take("^")
        ranges: list[tuple[int, int]] = []
        first = True
        while first or not self.pattern.startswith("]", self.at):
            if self.at >= len(self.pattern):
                raise ValueError("a class without end")
            if first and self.pattern.startswith("]", self.at):
                break
            first = False
            ranges += self._class_member()
        self.at += 1
        return Chars(tuple(ranges), negated)

    def _class_member(self) -> Ranges:
        low = self._class_atom()
        if len(low) != 1 or low[0][0] != low[0][1] or not _RANGE.match(self.pattern, self.at):
            return low
        self.at += 1
        high = self._class_atom()
        if len(high) != 1 or high[0][0] != high[0][1]:
            return (*low, (45, 45), *high)
        if low[0][0] > high[0][0]:
            raise ValueError("a range from more to less")
        return ((low[0][0], high[0][0]),)

    def _class_atom(self) -> Ranges:
        char = self.pattern[self.at]
        self.at += 1
        if char != "\\":
            return ((ord(char), ord(char)),)
        if self.pattern.startswith("b", self.at):
            self.at += 1
            return ((8, 8),)
        ranges, negated = self._escaped()
        return _others(ranges) if negated else ranges

    def _take(self, sign: str) -> bool:
        taken = self.pattern.startswith(sign, self.at)
        self.at += len(sign) * taken
        return taken


def _one(char: str) -> Chars:
    return Chars(((ord(char), ord(char)),))


def _others(ranges: Ranges) -> Ranges:
    """The printable characters that are not in the ranges."""
    found, low = [], 32
    for first, last in sorted(ranges):
        if first > low:
            found.append((low, min(first - 1, 126)))
        low = max(low, last + 1)
    return tuple(one for one in (*found, (low, 126)) if one[0] <= one[1])


ANY = Chars(((10, 10), (13, 13)), negated=True)
_DEEPEST = 60
_QUANTIFIER = re.compile(r"(?:([*+?])|\{(\d{1,9})(,)?(\d{1,9})?\})[?+]?")
_SIGNS: dict[str, tuple[int, float]] = {"*": (0, inf), "+": (1, inf), "?": (0, 1)}
_OPENING = re.compile(r"\?(?:[a-zA-Z-]*[:)]|[=!>]|<[=!]|P?<(?P<name>[^\W\d]\w*)>)")
_LOOKS = {"?=": (False, False), "?!": (True, False), "?<=": (False, True), "?<!": (True, True)}
_REFERENCE = re.compile(r"(?:([1-9]\d?)|k<(\w+)>)")
_EDGE = re.compile(r"[bBAZz]")
_RANGE = re.compile(r"-(?!\])")
_PROPERTY = re.compile(r"([pP])(?:\{\^?([\w=]+)\}|([A-Z]))")
_CODE = re.compile(r"(?:u([0-9a-fA-F]{4})|[ux]\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{2}))")
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0", "a": "\a", "e": "\x1b"}
_SETS: dict[str, Ranges] = {
    "d": ((48, 57),),
    "w": ((97, 122), (65, 90), (48, 57), (95, 95)),
    "s": ((32, 32), (9, 13), (160, 160)),
}
_ASCII_LETTERS: Ranges = ((97, 122), (65, 90))
_PROPERTIES: dict[str, Ranges] = {
    "L": _ASCII_LETTERS,
    "Lu": ((65, 90),),
    "Ll": ((97, 122),),
    "Lt": ((0x1C5, 0x1C5),),
    "Lm": ((0x2B0, 0x2B8),),
    "Lo": ((0x5D0, 0x5EA),),
    "Letter": _ASCII_LETTERS,
    "Alphabetic": _ASCII_LETTERS,
    "Uppercase_Letter": ((65, 90),),
    "Lowercase_Letter": ((97, 122),),
    "M": ((0x300, 0x36F),),
    "N": ((48, 57),),
    "P": ((33, 35), (37, 42), (44, 47), (58, 59), (63, 64), (91, 93), (95, 95), (123, 123), (125, 125)),
    "Pd": ((45, 45),),
    "Punctuation": ((33, 35), (44, 47), (58, 59), (63, 64)),
    "S": ((36, 36), (43, 43), (60, 62)),
    "Sc": ((36, 36),),
    "Z": ((32, 32),),
    "Latin": _ASCII_LETTERS,
    "Cyrillic": ((0x410, 0x44F),),
    "Greek": ((0x3B1, 0x3C9),),
    "Han": ((0x4E00, 0x4EFF),),
    "Hiragana": ((0x3041, 0x3096),),
    "Katakana": ((0x30A1, 0x30FA),),
    "Hebrew": ((0x5D0, 0x5EA),),
    "Arabic": ((0x621, 0x64A),),
    "Emoji": ((0x1F600, 0x1F64F),),
    "Number": ((48, 57),),
    "C": ((1, 31),),
}


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
