"""Texts that regular expressions and grammars of clients allow: a value of the prompt if it matches, else a short text.

Patterns are compiled with `regex`, which reads Python's dialect and most of Rust's, and which can be stopped. For a
sample a pattern is rewritten for the parser of the standard library, whose tree is walked. lark reads grammars. It does
not compile them: it multiplies out optional parts (20 of them: a million productions) and writes out terminals that use
each other (16 levels: 80 seconds).
"""

import re
import re._parser as sre  # type: ignore[import-not-found]  # undocumented, and the same since Python 2
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cache, lru_cache
from math import ceil, inf
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mockserver.core.lazy import lazy_pattern
from mockserver.core.pattern_size import estimate_size, measure_depth
from mockserver.core.plan import Failure
from mockserver.core.seed import Random, Seed, worked
from mockserver.model.arguments import NOTHING, Mentions

if TYPE_CHECKING:
    from lark import Lark, Token


Pattern = Any  # a compiled pattern, whose type `regex` does not export
Tree = Any  # a parsed pattern: a list of pairs, an opcode and its arguments
Node = tuple[Any, Any]
Ranges = tuple[tuple[int, int], ...]


class InvalidPatternError(Exception):
    """A regular expression that cannot be compiled: why, and at which character."""

    def __init__(self, why: str, at: int = 0) -> None:
        super().__init__(why)
        self.at = at


class PatternTimeoutError(Exception):
    """A match took too long."""


def compile_pattern(source: str) -> Pattern:
    """Raises InvalidPatternError."""
    import regex  # type: ignore[import-untyped]  # slow to import, and few requests have a pattern

    if estimate_size(source) > _MAX_SIZE:
        raise InvalidPatternError("it repeats too much")
    if measure_depth(source) > _MAX_DEPTH:
        raise InvalidPatternError("it is nested too deeply")
    try:
        return regex.compile(source, regex.VERSION0)
    except regex.error as error:
        raise InvalidPatternError(error.msg, error.pos or 0) from None
    except RecursionError:
        raise InvalidPatternError("it is nested too deeply") from None
    except (ValueError, OverflowError) as error:
        raise InvalidPatternError(str(error)) from None


def fullmatch(pattern: Pattern, text: str) -> bool:
    """Whether the whole text matches. Raises PatternTimeoutError."""
    return _match_in_time(lambda seconds: pattern.fullmatch(text, timeout=seconds)) is not None


def _match_in_time(match: Callable[[float], Any]) -> Any:
    """What a match returns that is given seconds. Raises PatternTimeoutError if the pattern takes too long.

    The library counts the time of all threads: unless this one has worked that long, it tries again with more.
    """
    allowed = _TIMEOUT_S
    while True:
        began = worked()
        try:
            return match(allowed)
        except TimeoutError:
            if worked() - began >= _TIMEOUT_S:
                raise PatternTimeoutError from None
        allowed *= 2


def sample_text(pattern: Pattern, rng: Random) -> str | None:
    """Return a matching text, if possible one that people write and not an empty one; None if none is found."""
    for candidate in draw_usual_texts(rng):
        if fullmatch(pattern, candidate):
            return candidate
    samples = [text for _ in range(_SAMPLES) if (text := sample(pattern.pattern, rng)) is not None]
    matching = [text for text in samples if fullmatch(pattern, text) and is_encodable(text)]
    return min(matching, key=lambda text: not text, default=None)


def is_encodable(text: str) -> bool:
    return _SURROGATE.search(text) is None


def draw_usual_texts(rng: Random) -> Iterator[str]:
    """Words, numbers, dates and the like, as people write them."""
    word, other, number = rng.choice(_WORDS), rng.choice(_WORDS), rng.randrange(1, 100)
    day = _FIRST_DAY + timedelta(days=rng.randrange(366))
    time = f"{rng.randrange(24):02}:{rng.randrange(60):02}"
    yield from (word, f"{word}_{other}", word.capitalize(), word.upper(), f"{word}{number}", f"{word}-{other}")
    yield from (str(number), f"{number}.{rng.randrange(10)}", f"{number}.{rng.randrange(100):02}")
    yield from (f'"{word}"', f"'{word}'", f"{word}.{other}", f"/{word}/{other}", f"{word} {other}")
    yield from (f"{day}", f"{day:%d/%m/%Y}", f"{day:%m/%d/%Y}", time, f"{time}:00", f"{day}T{time}:00Z")
    yield from (f"{word}@example.com", f"https://example.com/{word}", f"{word}.example.com", f"{word}.txt", " ", "\n")


_TIMEOUT_S = 0.1  # a match takes microseconds unless the pattern backtracks without end
_SAMPLES = 8
_MAX_SIZE = 20_000
_MAX_DEPTH = 100
_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_FIRST_DAY = date(2024, 1, 1)
_WORDS = (
    *("amber", "border", "cedar", "delta", "ember", "field", "garden", "harbor", "island", "juniper", "kernel"),
    *("lantern", "meadow", "north", "orchard", "pepper", "quartz", "river", "summit", "timber", "valley", "window"),
)


def sample(
    pattern: str, rng: Random, *, lengths: tuple[int, float] = (0, inf), expand_lookaheads: bool = False
) -> str | None:
    """Return a text for the pattern; None if it cannot be read or needs too much.

    With `expand_lookaheads`, write what a lookahead wants in front of what follows it.
    """
    try:
        tree = _parse(pattern)
        (least, most), shortest = lengths, tree.getwidth()[0]
        if shortest > _MAX_STEPS or shortest > most:
            return None
        text = _Sampler(rng, expand_lookaheads, spare=most - shortest, wanted=max(0, least - shortest)).write(tree)
    except (ValueError, OverflowError, RecursionError, re.error):
        return None
    missing = min(least, _MAX_STEPS) - len(text)
    if missing <= 0:
        return text
    filling = "".join(rng.choice(_KINDS[0]) for _ in range(missing))
    return filling + text if tree.data and tree.data[-1] == _AT_END else text + filling


class _Sampler(Struct):
    rng: Random
    expand_lookaheads: bool
    spare: float  # characters that may be written beyond the minimum
    wanted: float  # how many of these must be
    groups: dict[int, str] = {}
    steps: int = 0

    def write(self, tree: Tree) -> str:
        return "".join(self._write_node(node) for node in tree)

    def _write_node(self, node: Node) -> str:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise OverflowError
        match node:
            case (sre.LITERAL, code):
                return chr(code)
            case (sre.IN | sre.ANY | sre.NOT_LITERAL, _):
                return self._character(node)
            case (sre.BRANCH, (_, options)):
                return self._branch(options)
            case (sre.MAX_REPEAT | sre.MIN_REPEAT | sre.POSSESSIVE_REPEAT, (least, most, inner)):
                return self._repeat(least, most, inner)
            case (sre.SUBPATTERN, (group, _, _, inner)):
                self.groups[group] = self.write(inner)
                return self.groups[group]
            case (sre.GROUPREF, group):
                return self.groups.get(group, "")
            case (sre.GROUPREF_EXISTS, (group, inner, other)):
                return self.write((inner if group in self.groups else other) or ())
            case (sre.ATOMIC_GROUP, inner):
                return self.write(inner)
            case (sre.ASSERT, (1, inner)) if self.expand_lookaheads:
                return self.write(inner)
        return ""

    def _character(self, node: Node) -> str:
        ranges, negated = _find_ranges(node)
        if not negated and len(ranges) == 1:
            return chr(self.rng.randint(*ranges[0]))
        if typed := _list_typed(ranges, negated):
            return self.rng.choice(typed)
        if negated or not ranges:
            raise ValueError("no character is left")
        return chr(self.rng.randint(*self.rng.choice(ranges)))

    def _branch(self, options: Sequence[Tree]) -> str:
        widths = [option.getwidth()[0] for option in options]
        least = min(widths)
        at = self.rng.choice([at for at, width in enumerate(widths) if width - least <= self.spare])
        self._use(widths[at] - least)
        return self.write(options[at])

    def _repeat(self, least: int, most: int, inner: Tree) -> str:
        unit = max(1, inner.getwidth()[0])
        drawn = self.rng.randint(0, min(most - least, _MORE_REPEATS)) if most > least else 0
        needed = min(ceil(self.wanted / unit), most - least) if self.wanted > 0 else 0
        more = int(min(max(drawn, needed), self.spare // unit))
        self._use(more * unit)
        return "".join(self.write(inner) for _ in range(least + more))

    def _use(self, characters: float) -> None:
        self.spare -= characters
        self.wanted -= characters


def _find_ranges(node: Node) -> tuple[Ranges, bool]:
    match node:
        case (sre.ANY, _):
            return ((10, 10), (13, 13)), True
        case (sre.NOT_LITERAL, code):
            return ((code, code),), True
        case (sre.IN, [(sre.CATEGORY, category)]) if category in _NOT_IN_CATEGORY:
            return _NOT_IN_CATEGORY[category], True
    members = node[1]
    negated = members[0][0] is sre.NEGATE
    return tuple(one for member in members[negated:] for one in _find_member_ranges(member)), negated


def _find_member_ranges(member: Node) -> Ranges:
    match member:
        case (sre.LITERAL, code):
            return ((code, code),)
        case (sre.RANGE, bounds):
            return (bounds,)
    category = member[1]
    return _CATEGORIES[category] if category in _CATEGORIES else _complement(_NOT_IN_CATEGORY[category])


def _complement(ranges: Ranges) -> Ranges:
    return tuple((code, code) for code in range(32, 127) if not _is_within(code, ranges))


def _is_within(code: int, ranges: Ranges) -> bool:
    return any(low <= code <= high for low, high in ranges)


@lru_cache(maxsize=1024)
def _list_typed(ranges: Ranges, negated: bool) -> str:
    """The characters of a class that people type; of a negated one only the plainest kind that has any."""
    kinds = _KINDS if negated else ("".join(_KINDS[:4]),)
    found = ("".join(char for char in kind if _is_within(ord(char), ranges) != negated) for kind in kinds)
    return next(filter(None, found), "")


@lru_cache(maxsize=256)
def _parse(pattern: str) -> Tree:
    return sre.parse(_write_for_python(pattern))


def _write_for_python(pattern: str, *, in_class: bool = False) -> str:
    """What ECMAScript and Rust write otherwise than Python does, as Python writes it."""

    def rewrite(found: re.Match[str]) -> str:
        text = found[0]
        if found["class"]:
            return r"[\s\S]" if text == "[^]" else f"[{_write_for_python(text[1:-1], in_class=True)}]"
        if found["property"]:
            name = found["property"].strip("{}^").rpartition("=")[2]
            ranges = _PROPERTIES.get(name[:2], _PROPERTIES.get(name[:1], _ASCII_LETTERS))
            ranges = _complement(ranges) if text[1] == "P" and in_class else ranges
            return _write_ranges(ranges) if in_class else f"[{'^' * (text[1] == 'P')}{_write_ranges(ranges)}]"
        if code := found["code"] or found["control"]:
            return f"\\U{int(code, 16) if found['code'] else ord(code) % 32:08x}"
        if found["name"]:
            return f"(?P={found['name']})"
        if found["escaped"]:
            return {"z": r"\Z", "e": r"\x1b"}.get(found["escaped"], re.escape(found["escaped"]))
        if text[0] == "\\":
            return text
        if in_class:
            return re.escape(text)
        if text[0] == "[":
            raise ValueError("a class without an end")
        return {"(?<": "(?P<", "{": r"\{", "-": r"\-"}.get(text, "" if text.startswith("(?") else text)

    return _DIALECT.sub(rewrite, pattern)


def _write_ranges(ranges: Ranges) -> str:
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)


_MAX_STEPS = 50_000  # characters and groups of one text
_MORE_REPEATS = 7  # beyond the minimum, where a pattern sets no maximum
_KINDS = ("abcdefghijklmnopqrstuvwxyz", "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "-_.,:;!?/+*=#%&@()[]{}<>~ ", "é東")
_AT_END = (sre.AT, sre.AT_END)
_DIALECT = lazy_pattern(
    r"\\[pP](?P<property>\{\^?[\w=]+\}|[A-Z])|\\k<(?P<name>\w+)>|\\[ux]\{(?P<code>[0-9a-fA-F]{1,6})\}"
    r"|\\c(?P<control>[a-zA-Z])|\\(?P<escaped>[^dDwWsSbBAZtnrfvaxuUN0-9\W])|\\."
    r"|(?P<class>\[\^?(?:\\.|[^\]\\])*\])|\(\?<(?=[^\W\d]\w*>)|\(\?[a-zA-Z-]+\)|\{(?=,)"
    r"|(?<=\\[dDwWsS])-|-(?=\\[dDwWsS])|[\[&~|]{2,}|\[",
    re.DOTALL,
)
_CATEGORIES: dict[Any, Ranges] = {
    sre.CATEGORY_DIGIT: ((48, 57),),
    sre.CATEGORY_WORD: ((97, 122), (65, 90), (48, 57), (95, 95)),
    sre.CATEGORY_SPACE: ((32, 32), (9, 13), (160, 160)),
}
_NOT_IN_CATEGORY: dict[Any, Ranges] = {
    sre.CATEGORY_NOT_DIGIT: _CATEGORIES[sre.CATEGORY_DIGIT],
    sre.CATEGORY_NOT_WORD: _CATEGORIES[sre.CATEGORY_WORD],
    sre.CATEGORY_NOT_SPACE: _CATEGORIES[sre.CATEGORY_SPACE],
}
_ASCII_LETTERS: Ranges = ((97, 122), (65, 90))
# Some characters of Unicode's categories: a text needs few.
_PROPERTIES: dict[str, Ranges] = {
    "L": _ASCII_LETTERS,
    "Lu": ((65, 90),),
    "Ll": ((97, 122),),
    "N": ((48, 57),),
    "P": ((33, 35), (37, 42), (44, 47), (58, 59), (63, 64), (91, 93), (95, 95), (123, 123), (125, 125)),
    "S": ((36, 36),),
    "Z": ((32, 32),),
}


LarkTree = Any  # its children are trees and tokens


# Grammars


def text_of(syntax: str, definition: str, seed: Seed, said: Mentions = NOTHING) -> str:
    """Return a text that a grammar derives, with values of the prompt where its expressions match them.

    `syntax` is `regex` or `lark`, `definition` what the client wrote. Raises Failure if that is invalid, or if no text
    is found.
    """
    if syntax not in _WRITERS:
        raise _refuse(f"its syntax is 'lark' or 'regex', not {syntax[:50]!r}.")
    for values in (_find_phrases(said), []):  # matching the prompt may be what takes so long
        try:
            return _WRITERS[syntax](definition, seed.stream(syntax), values)
        except PatternTimeoutError:
            continue
        except RecursionError:
            raise _refuse("it is nested too deeply.") from None
    raise _refuse(f"a regular expression in it takes too long to match{_INSTEAD}")


def _refuse(why: str, line: int = 0, column: int = 0) -> Failure:
    place = f": line {line}, column {column}." if line else ""
    return Failure("bad_parameter", f"Invalid grammar: {why}{place}")


def _refuse_at(why: str, tree: LarkTree) -> Failure:
    token = next(tree.scan_values(lambda value: True)) if hasattr(tree, "data") else tree
    return _refuse(why, token.line or 1, token.column or 1)


def _find_phrases(said: Mentions) -> list[str]:
    """Return the values that a prompt mentions, as written and without their quotes."""
    written = ((mention.value, said.text[mention.start : mention.end]) for mention in said.found[:_MAX_MENTIONS])
    texts = (text for pair in written for text in pair if isinstance(text, str))
    return [*dict.fromkeys(text for text in texts if 0 < len(text) <= _MAX_PHRASE)]


def _match(definition: str, rng: Random, values: list[str]) -> str:
    return _write_match(_compile(definition), rng, values)


def _write_match(pattern: Pattern, rng: Random, values: list[str]) -> str:
    """A text that a pattern matches: a value of the prompt, which is then used up, or else a made-up one."""
    value = next((value for value in values if fullmatch(pattern, value)), None)
    if value is not None:
        values.remove(value)
    elif (value := sample_text(pattern, rng)) is None:
        raise _refuse(f"no text was found that the regular expression matches{_INSTEAD}")
    return value


@lru_cache(maxsize=64)
def _compile(definition: str) -> Pattern:
    if len(definition) > _MAX_PATTERN:
        raise _refuse(f"it has more than {_MAX_PATTERN:,} characters.")
    try:
        return compile_pattern(definition)
    except InvalidPatternError as error:
        before = definition[: error.at]
        raise _refuse(str(error), before.count("\n") + 1, error.at - before.rfind("\n")) from None


class _Grammar:
    """The bodies of rules and terminals by name, as lark's own parser reads them, and the size of their shortest texts.

    Raises Failure, with the position, for what is broken or not supported.
    """

    def __init__(self, definition: str) -> None:
        self.bodies: dict[str, LarkTree] = {}
        self.ignores_blanks = False
        for statement in _parse_grammar(definition).children:
            self._add(statement)
        self._sizes: dict[str, float] = {}  # a fixed point; what is not found within a limit of work has none
        left, changed = _MAX_MEASURED, True
        while changed and left > 0:
            changed = False
            for name in (*self.bodies, *reversed([*self.bodies])):  # definitions mostly use those before or after them
                left -= 1
                size = self.measure(self.bodies[name])
                if size < self._sizes.get(name, inf):
                    self._sizes[name], changed = size, True
        if not self._sizes.get("start", inf) <= _MAX_TOKENS:
            raise _refuse(f"a rule 'start' that derives a short text is missing{_INSTEAD}")

    def measure(self, tree: LarkTree) -> float:
        """Return how many tokens and names the smallest derivation has."""
        match tree.data:
            case "name":
                if tree.children[0].value not in self.bodies:
                    raise _refuse_at(f"'{tree.children[0].value}' is used but not defined", tree)
                return 1 + self._sizes.get(tree.children[0].value, inf)
            case "expansions":
                return min(map(self.measure, tree.children))
            case "expansion":
                return sum(map(self.measure, tree.children))
            case "alias":
                return self.measure(tree.children[0])
            case "maybe" | "expr":
                least = _read_least(tree.children[1:])
                return least * self.measure(tree.children[0]) if least else 0
            case "literal" | "literal_range":
                return 1
        raise _refuse_at("templates are not supported", tree)

    def write(self, rng: Random, values: list[str]) -> str:
        """Write the shortest text, with values where expressions match them. Raises PatternTimeoutError."""
        line = ""
        for text, is_glued in self._derive(rng, values):  # joined as people do: no blank in brackets or before a comma
            close = not line or line[-1] in "([{." or text[:1] in ",;:.)]}" or line[-1].isspace() or text[:1].isspace()
            line += text if is_glued or close or not self.ignores_blanks else f" {text}"
        return line

    def _derive(self, rng: Random, values: list[str]) -> Iterator[tuple[str, bool]]:
        """Yield the pieces of a text, and whether each continues the terminal before it."""
        left: list[tuple[LarkTree, bool]] = [(self.bodies["start"], False)]  # with whether it is in a terminal
        is_glued = False
        while left:
            tree, in_terminal = left.pop()
            match tree.data:
                case "literal" | "literal_range":
                    token = tree.children[0]
                    is_text = tree.data == "literal_range" or token.type == "STRING"
                    yield _unquote(token) if is_text else _write_match(_read_pattern(token), rng, values), is_glued
                    is_glued = in_terminal
                case "name":
                    name = tree.children[0].value
                    is_glued = is_glued and in_terminal
                    left.append((self.bodies[name], in_terminal or name.isupper()))
                case "expansions":
                    sizes = [self.measure(option) for option in tree.children]
                    at = rng.choice([at for at, size in enumerate(sizes) if size == min(sizes)])
                    left.append((tree.children[at], in_terminal))
                case "expansion" | "alias":
                    parts = tree.children[:1] if tree.data == "alias" else tree.children
                    left += [(part, in_terminal) for part in reversed(parts)]
                case _:
                    left += [(tree.children[0], in_terminal)] * _read_least(tree.children[1:])
            is_glued = is_glued and bool(left) and left[-1][1]

    def _add(self, statement: LarkTree) -> None:
        match statement.data:
            case "rule" | "token":
                self.bodies[statement.children[0].value.lstrip("!?")] = statement.children[-1]
            case "ignore":
                self.ignores_blanks = True
            case "import" | "multi_import":
                path, *more = statement.children
                listed = [each.children[0] for each in more[0].children] if statement.data == "multi_import" else []
                name = path.children[-1].children[0]
                alias = more[0].children[0] if more and not listed else name
                self._import({each: each for each in listed} or {alias: name})
            case kind:
                raise _refuse_at(f"%{kind.partition('_')[0]} is not supported", statement)

    def _import(self, names: Mapping["Token", "Token"]) -> None:
        shipped = _read_shipped_terminals()
        if unknown := next((name for name in names.values() if name.value not in shipped), None):
            raise _refuse_at(f"only terminals of lark's 'common' can be imported, not '{unknown}'", unknown)
        self.bodies = {**shipped, **self.bodies, **{alias.value: shipped[name.value] for alias, name in names.items()}}


def _write_derived(definition: str, rng: Random, values: list[str]) -> str:
    return _read_grammar(definition).write(rng, values)


_read_grammar = lru_cache(maxsize=64)(_Grammar)
_WRITERS: Mapping[str, Callable[[str, Random, list[str]], str]] = {"lark": _write_derived, "regex": _match}


@cache
def _read_shipped_terminals() -> Mapping[str, LarkTree]:
    """Read lark's own terminals."""
    from importlib.resources import files

    text = files("lark").joinpath("grammars", "common.lark").read_text(encoding="utf-8")
    statements = (each for each in _parse_grammar(text).children if each.data == "token")
    return {each.children[0].value: each.children[-1] for each in statements}


def _parse_grammar(definition: str) -> LarkTree:
    from lark.exceptions import UnexpectedInput

    if len(definition) > _MAX_CHARACTERS:
        raise _refuse(f"it has more than {_MAX_CHARACTERS:,} characters.")
    try:
        return _parser().parse(definition.rstrip() + "\n")
    except UnexpectedInput as error:
        found = str(getattr(error, "token", getattr(error, "char", "")))
        what = f"unexpected {found!r}" if found.strip() else "unexpected end of line"
        raise _refuse(what, error.line, error.column) from None


@cache
def _parser() -> "Lark":
    from lark import Lark  # slow to import, and only grammars need it

    return Lark.open_from_package("lark", "lark.lark", ["grammars"], parser="lalr", maybe_placeholders=False)


def _read_least(times: "Sequence[Token]") -> int:
    """Read how often something is there at least: after `?`, `*`, `+`, `~2` or `~2..4`; an optional part never."""
    if not times or times[0].type == "OP":
        return int(bool(times) and times[0].value == "+")
    least, most = int(times[0]), int(times[-1])
    if not 0 <= least <= most <= _MAX_REPEATS:
        raise _refuse_at(f"a range of repetitions that is empty or above {_MAX_REPEATS:,}, {least}..{most}", times[0])
    return least


def _read_pattern(token: "Token") -> Pattern:
    body, _, flags = token.value[1:].rpartition("/")
    body = _VERBOSE.sub(lambda piece: piece["kept"] or "", body) if "x" in flags else body
    try:
        return compile_pattern(f"(?{''.join(each for each in 'ims' if each in flags)}:{body})")
    except InvalidPatternError as error:
        raise _refuse_at(f"a regular expression that is not valid ({error})", token) from None


def _unquote(token: "Token") -> str:
    text = _STRING_ESCAPE.sub(_unescape, token.value[1 : token.value.rindex('"')])
    if not is_encodable(text):
        raise _refuse_at("half of a character", token)
    return text


def _unescape(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if code[0] in "xuU" and len(code) > 1 else _ESCAPED.get(code, escape[0])


_INSTEAD = "; answer with a rule."
_MAX_CHARACTERS, _MAX_PATTERN = 64_000, 8_000  # of a grammar, which takes a third of a second; of a regular expression
_MAX_REPEATS, _MAX_MENTIONS = 1_000, 40
_MAX_MEASURED, _MAX_TOKENS = 200_000, 5_000  # bodies; tokens of the smallest derivation
_MAX_PHRASE = 2_000  # characters
# What a verbose pattern ignores.
_VERBOSE = lazy_pattern(r"(?P<kept>\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\s+|#[^\n]*", re.DOTALL)
_STRING_ESCAPE = lazy_pattern(
    r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}|.)", re.DOTALL
)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "\\": "\\", '"': '"'}
