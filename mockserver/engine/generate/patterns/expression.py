"""Regular expressions of JSON Schema (ECMAScript's) read into a tree. Knows how they are spelled, not what to do."""

import re
from dataclasses import dataclass
from math import inf

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
