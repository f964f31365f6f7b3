"""Texts that regular expressions and grammars of clients allow: a value of the prompt if it matches, else a short text.

The validator of schemas says what matches: it reads Rust's dialect and ECMAScript's, and bounds its backtracking. For a
sample a pattern is rewritten for the parser of the standard library, whose tree is walked. lark reads grammars. It does
not compile them: it multiplies out optional parts (20 of them: a million productions) and writes out terminals that use
each other (16 levels: 80 seconds).
"""

import re
import re._parser as sre  # type: ignore[import-not-found]  # undocumented, and the same since Python 2
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from math import ceil, inf
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from pydantic_core import to_json

from mockserver.core.call import Grammar
from mockserver.core.json import Json
from mockserver.core.lazy import Memo, compile_lazily, remember
from mockserver.core.pattern_size import estimate_size
from mockserver.core.plan import Failure
from mockserver.core.seed import Random, Seed
from mockserver.model.arguments import NOTHING, Mentions
from mockserver.model.validators import InvalidSchemaError, compile_validator

if TYPE_CHECKING:
    from lark import Lark, Token

# What matches


def find_text_validator(constraints: Sequence[Mapping[str, Json]]) -> Any:
    """Return a validator of keywords for strings; None if it cannot read them."""
    written = to_json({"allOf": constraints})
    if written in _VALIDATORS:
        return _VALIDATORS[written]
    stated = (part.get("pattern") for part in constraints)
    work = sum(estimate_pattern_work(pattern) for pattern in stated if isinstance(pattern, str))
    try:
        validator = compile_validator({"allOf": [*constraints]}, formats=True)
    except InvalidSchemaError:
        validator = None
    return _VALIDATORS.keep(written, validator, len(written) + _COMPILED * work)


_COMPILED = 400  # bytes of a compiled pattern, for each microsecond that it takes
_VALIDATORS = Memo[bytes, Any](most=128_000_000, fewest=1)  # the largest pattern has room


def matches(pattern: str, text: str) -> bool:
    """Return whether the validator finds the pattern in the text; False for a pattern that it cannot read."""
    validator = find_text_validator([{"pattern": pattern}])
    return validator is not None and bool(validator.is_valid(text))


@remember(1024)
def estimate_pattern_work(pattern: str) -> int:
    """Return about how many microseconds compiling a pattern takes."""
    backtracks = _BACKTRACKS.search(pattern)
    if "\\p" in pattern.lower() or (backtracks and "\\w" in pattern.lower()):
        each = 250  # a class of Unicode's letters is written out for each repeat
    else:
        each = 50 if backtracks or _LARGE_CLASS.search(pattern) else 5
    translated = len(_SHORTHAND.findall(pattern))  # the library writes the pattern anew for each
    return 50 + each * estimate_size(_UP_TO.sub(r"{\1}", pattern)) + 2 * translated**2


MAX_PATTERN_WORK = 250_000
_BACKTRACKS = compile_lazily(r"\(\?[=!<]|\\[1-9k]")
_SHORTHAND = compile_lazily(r"\\[dDsSwW]")
_LARGE_CLASS = compile_lazily(r"\\[dDsS]|\[\^|\(\?i")
_UP_TO = compile_lazily(r"\{\d*,(\d+)\}")


# Samples


Tree = Any  # a parsed pattern: a list of pairs, an opcode and its arguments
Node = tuple[Any, Any]


def sample(
    pattern: str,
    rng: Random,
    *,
    shortest: int = 0,
    longest: float = inf,
    expand_lookaheads: bool = False,
    filling: int = 0,
) -> str | None:
    """Return a text of `shortest` to `longest` characters that the pattern matches; None if that fails.

    With `expand_lookaheads`, write what a lookahead wants in front of what follows it. `filling`: how many characters
    to add where the pattern is not anchored, as a pattern without repeats has one text only.
    """
    try:
        tree = _parse(pattern)
        needed = tree.getwidth()[0]
        if needed > _MAX_STEPS or needed > longest:
            return None
        sampler = _Sampler(rng, expand_lookaheads, spare=longest - needed, wanted=max(0, shortest - needed))
        text = sampler.write(tree)
    except (ValueError, OverflowError, RecursionError, re.error):
        return None
    starts_anywhere = not _is_anchored(tree, 0, _STARTS)
    ends_anywhere = not _is_anchored(tree, -1, _ENDS)
    if not (starts_anywhere or ends_anywhere):
        return text
    missing = max(min(filling, longest - len(text)), min(shortest, _MAX_STEPS) - len(text))
    added = "".join(rng.choice(_KINDS[0]) for _ in range(int(missing)))
    return text + added if ends_anywhere else added + text


def _is_anchored(tree: Tree, place: int, anchors: Collection[Any]) -> bool:
    """Return whether the first or the last node of a tree is an anchor, in all of its branches."""
    if not len(tree):
        return False
    match tree[place]:
        case (sre.AT, where):
            return where in anchors
        case (sre.BRANCH, (_, options)):
            return all(_is_anchored(option, place, anchors) for option in options)
        case (sre.SUBPATTERN, (_, _, _, inner)):
            return _is_anchored(inner, place, anchors)
    return False


class _Sampler(Struct):
    rng: Random
    expand_lookaheads: bool
    spare: float  # characters that may be written beyond the minimum
    wanted: float  # how many of these must be
    groups: dict[int, str] = {}
    typed: dict[int, str] = {}  # the characters of a class, by its identity
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
                return self._choose_character(node)
            case (sre.BRANCH, (_, options)):
                return self._choose_branch(options)
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

    def _choose_character(self, node: Node) -> str:
        if id(node) not in self.typed:
            self.typed[id(node)] = _list_typed(node)
        if typed := self.typed[id(node)]:
            return self.rng.choice(typed)
        stated = [value if kind is sre.RANGE else (value, value) for kind, value in node[1] if kind in _STATES_CODES]
        return chr(self.rng.randint(*self.rng.choice(stated)))

    def _choose_branch(self, options: Sequence[Tree]) -> str:
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


def _list_typed(node: Node) -> str:
    """Return the characters of a class that people type; of one that refuses some, only the plainest kind it has."""
    refuses = not (node[0] is sre.IN and node[1][0][0] not in (sre.NEGATE, *_REFUSING))
    kinds = _KINDS if refuses else ("".join(_KINDS[:-1]),)
    return next(filter(None, ("".join(each for each in kind if _has(node, each)) for kind in kinds)), "")


def _has(node: Node, char: str) -> bool:
    match node:
        case (sre.ANY, _):
            return char not in "\r\n"
        case (sre.LITERAL, code):
            return bool(ord(char) == code)
        case (sre.NOT_LITERAL, code):
            return bool(ord(char) != code)
        case (sre.RANGE, (low, high)):
            return bool(low <= ord(char) <= high)
        case (sre.CATEGORY, category):
            return re.match(_CATEGORIES[category], char) is not None
    negated = node[1][0][0] is sre.NEGATE
    return any(_has(member, char) for member in node[1][negated:]) is not negated


@remember(256)
def _parse(pattern: str) -> Tree:
    return sre.parse(_write_for_python(pattern))


def _write_for_python(pattern: str, *, in_class: bool = False) -> str:
    """Return what ECMAScript and Rust write otherwise than Python does, as Python writes it."""

    def rewrite(found: re.Match[str]) -> str:
        text = found[0]
        if found["class"]:
            return r"[\s\S]" if text == "[^]" else f"[{_write_for_python(text[1:-1], in_class=True)}]"
        if found["property"]:
            name = found["property"].strip("{}^").rpartition("=")[2]
            refused = text[1] == "P"
            letters = _PROPERTIES.get(name[:2], _PROPERTIES.get(name[:1], "a-zA-Z"))
            if in_class:
                return letters if not refused else "0-9 " if "a" in letters.lower() else "a-z"
            return f"[{'^' * refused}{letters}]"
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


_MAX_STEPS = 50_000  # characters and groups of one text
_MORE_REPEATS = 7  # beyond the minimum, where a pattern sets no maximum
_KINDS = ("abcdefghijklmnopqrstuvwxyz", "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "-_.,:;!?/+*=#%&@()[]{}<>~ ", "é東")
_STARTS = (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING)
_ENDS = (sre.AT_END, sre.AT_END_STRING)
_DIALECT = compile_lazily(
    r"\\[pP](?P<property>\{\^?[\w=]+\}|[A-Z])|\\k<(?P<name>\w+)>|\\[ux]\{(?P<code>[0-9a-fA-F]{1,6})\}"
    r"|\\c(?P<control>[a-zA-Z])|\\(?P<escaped>[^dDwWsSbBAZtnrfvaxuUN0-9\W])|\\."
    r"|(?P<class>\[\^?(?:\\.|[^\]\\])*\])|\(\?<(?=[^\W\d]\w*>)|\(\?[a-zA-Z-]+\)|\{(?=,)"
    r"|(?<=\\[dDwWsS])-|-(?=\\[dDwWsS])|[\[&~|]{2,}|\[",
    re.DOTALL,
)
_STATES_CODES = (sre.RANGE, sre.LITERAL)
_REFUSING = (sre.CATEGORY_NOT_DIGIT, sre.CATEGORY_NOT_WORD, sre.CATEGORY_NOT_SPACE)
_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
}
# Some characters of Unicode's categories: a text needs few.
_PROPERTIES = {"L": "a-zA-Z", "Lu": "A-Z", "Ll": "a-z", "N": "0-9", "P": r"!-#%-*,-/:;?@\[-\]_{}", "S": "$", "Z": " "}


# Texts


LarkTree = Any  # its children are trees and tokens


def derive_text(grammar: Grammar, seed: Seed, said: Mentions = NOTHING) -> str:
    """Return a text that a grammar derives, with values of the prompt where its expressions match them.

    Raises Failure if the grammar is invalid, or if no text is found.
    """
    rng = seed.stream(grammar.syntax)
    values = _find_phrases(said)
    definition = _POSIX_CLASS.sub(lambda found: _POSIX_CLASSES.get(found[1], found[0]), grammar.definition)
    try:
        match grammar.syntax:
            case "lark":
                return _read_grammar(definition).write(rng, values)
            case "regex":
                return write_match(definition, rng, values)
    except _InvalidPatternError as error:
        before = definition[: error.at]
        raise _refuse(str(error), before.count("\n") + 1, error.at - before.rfind("\n")) from None
    except RecursionError:
        raise _refuse("it is nested too deeply.") from None
    raise _refuse(f"its syntax is 'lark' or 'regex', not {grammar.syntax[:50]!r}.")


_POSIX_CLASS = compile_lazily(r"\[:(\w{5,6}):\]")  # Rust has them in classes, as other syntaxes of grammars do
_POSIX_CLASSES = {
    "alpha": "a-zA-Z",
    "alnum": "a-zA-Z0-9",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "space": r"\s",
    "punct": r"!-\/:-@\[-`{-~",
    "xdigit": "0-9a-fA-F",
}


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


class _InvalidPatternError(Exception):
    """A regular expression that cannot be compiled: why, and at which character."""

    def __init__(self, why: str, at: int = 0) -> None:
        super().__init__(why)
        self.at = at


def write_match(pattern: str, rng: Random, values: list[str]) -> str:
    """Return a text that is a match: a value of the prompt, which is then used up, else one as people write it.

    Raises _InvalidPatternError, and Failure if no text is found.
    """
    whole = _compile_whole(pattern)
    value: str | None = next(filter(whole.is_valid, values), None)
    if value is not None:
        values.remove(value)
        return value
    samples = (sample(pattern, rng) for _ in range(_SAMPLES))
    made = [*draw_usual_texts(rng), *sorted(filter(None, samples), key=lambda text: not text)]
    value = next((text for text in made if _SURROGATE.search(text) is None and whole.is_valid(text)), None)
    if value is None:
        raise _refuse(f"no text was found that the regular expression matches{_REMEDY}")
    return value


@remember(64)
def _compile_whole(pattern: str) -> Any:
    """Compile a pattern that the whole text is to match. Raises _InvalidPatternError, and Failure if it is too long."""
    if len(pattern) > _MAX_PATTERN:
        raise _refuse(f"it has more than {_MAX_PATTERN:,} characters.")
    if _SURROGATE.search(pattern):
        raise _InvalidPatternError("half of a character")
    if estimate_size(pattern) > _MAX_SIZE or estimate_pattern_work(pattern) > MAX_PATTERN_WORK:
        raise _InvalidPatternError("it repeats too much")
    validator = find_text_validator([{"pattern": f"^(?:{pattern})$"}])
    if validator is not None and find_text_validator([{"pattern": pattern}]) is not None:
        return validator
    try:
        _parse(pattern)
    except re.error as error:
        raise _InvalidPatternError(error.msg, error.pos or 0) from None
    except ValueError as error:
        raise _InvalidPatternError(str(error)) from None
    raise _InvalidPatternError("it is too large, nested too deeply, or not in the syntax of Rust")


def draw_usual_texts(rng: Random) -> Iterator[str]:
    """Yield words, numbers, dates and the like, as people write them."""
    word = rng.choice(_WORDS)
    other = rng.choice(_WORDS)
    number = rng.randrange(1, 100)
    day = _FIRST_DAY + timedelta(days=rng.randrange(366))
    time = f"{rng.randrange(24):02}:{rng.randrange(60):02}"
    yield from (word, f"{word}_{other}", word.capitalize(), word.upper(), f"{word}{number}", f"{word}-{other}")
    yield from (str(number), f"{number}.{rng.randrange(10)}", f"{number}.{rng.randrange(100):02}")
    yield from (f'"{word}"', f"'{word}'", f"{word}.{other}", f"/{word}/{other}", f"{word} {other}")
    yield from (f"{day}", f"{day:%d/%m/%Y}", f"{day:%m/%d/%Y}", time, f"{time}:00", f"{day}T{time}:00Z")
    yield from (f"{word}@example.com", f"https://example.com/{word}", f"{word}.example.com", f"{word}.txt", " ", "\n")


class _Piece(Struct, frozen=True):
    token: "Token"
    is_glued: bool = False  # continues the terminal before it


class _Grammar:
    """The bodies of rules and terminals by name, as lark's own parser reads them.

    Raises Failure, with the position, for what is broken or not supported.
    """

    def __init__(self, definition: str) -> None:
        self.bodies: dict[str, LarkTree] = {}
        self.ignores_blanks = False
        for statement in _parse_grammar(definition).children:
            self._add(statement)

    def write(self, rng: Random, values: list[str]) -> str:
        """Write the shortest text, with values where expressions match them."""
        line = ""
        pieces = self._find_shortest(rng)
        patterns = {piece.token.value for piece in pieces if piece.token.type == "REGEXP"}
        if sum(map(estimate_pattern_work, patterns)) > MAX_PATTERN_WORK:
            raise _refuse(f"its regular expressions repeat too much{_REMEDY}")
        for piece in pieces:  # joined as people do: no blank in brackets or before a comma
            text = _write_token(piece.token, rng, values)
            close = not line or line[-1] in "([{." or text[:1] in ",;:.)]}" or line[-1].isspace() or text[:1].isspace()
            line += text if piece.is_glued or close or not self.ignores_blanks else f" {text}"
        return line

    def _find_shortest(self, rng: Random) -> list[_Piece]:
        """Derive each name from shorter and shorter derivations of others, within a limit of work."""
        known: dict[str, list[_Piece]] = {}
        left = _MAX_WORK
        changed = True
        while changed and left > 0:
            changed = False
            for name in (*self.bodies, *reversed([*self.bodies])):  # definitions mostly use those before or after them
                pieces = self._derive(self.bodies[name], known, rng)
                left -= 1 + len(pieces or ())
                if pieces is not None and len(pieces) < len(known.get(name, _TOO_MANY)):
                    is_terminal = name.isupper()
                    known[name] = [
                        _Piece(each.token, each.is_glued or (is_terminal and at > 0)) for at, each in enumerate(pieces)
                    ]
                    changed = True
        if "start" not in known:
            raise _refuse(f"a rule 'start' that derives a short text is missing{_REMEDY}")
        return known["start"]

    def _derive(self, tree: LarkTree, known: Mapping[str, list[_Piece]], rng: Random) -> list[_Piece] | None:
        """Return the tokens of the smallest derivation; None if no known one ends."""
        match tree.data:
            case "name":
                if tree.children[0].value not in self.bodies:
                    raise _refuse_at(f"'{tree.children[0].value}' is used but not defined", tree)
                return known.get(tree.children[0].value)
            case "expansions":
                options = [found for each in tree.children if (found := self._derive(each, known, rng)) is not None]
                least = min(map(len, options), default=0)
                return rng.choice([option for option in options if len(option) == least]) if options else None
            case "expansion" | "alias":
                parts = [
                    self._derive(each, known, rng) for each in tree.children[: 1 if tree.data == "alias" else None]
                ]
            case "maybe" | "expr":
                least = _read_least(tree.children[1:])
                parts = [self._derive(tree.children[0], known, rng)] * least
            case "literal" | "literal_range":
                return [_Piece(tree.children[0])]
            case _:
                raise _refuse_at("templates are not supported", tree)
        if None in parts or sum(len(part or ()) for part in parts) > _MAX_TOKENS:
            return None
        return [piece for part in parts for piece in part or ()]

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


_read_grammar = remember(64)(_Grammar)


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
        return _load_parser().parse(definition.rstrip() + "\n")
    except UnexpectedInput as error:
        found = str(getattr(error, "token", getattr(error, "char", "")))
        what = f"unexpected {found!r}" if found.strip() else "unexpected end of line"
        raise _refuse(what, error.line, error.column) from None


@cache
def _load_parser() -> "Lark":
    from lark import Lark  # slow to import, and only grammars need it

    return Lark.open_from_package("lark", "lark.lark", ["grammars"], parser="lalr", maybe_placeholders=False)


def _read_least(times: "Sequence[Token]") -> int:
    """Read how often something is there at least: after `?`, `*`, `+`, `~2` or `~2..4`; an optional part never."""
    if not times or times[0].type == "OP":
        return int(bool(times) and times[0].value == "+")
    least = int(times[0])
    most = int(times[-1])
    if not 0 <= least <= most <= _MAX_REPEATS:
        raise _refuse_at(f"a range of repetitions that is empty or above {_MAX_REPEATS:,}, {least}..{most}", times[0])
    return least


def _write_token(token: "Token", rng: Random, values: list[str]) -> str:
    """Write what a token in a grammar stands for: a string, of a range of them the first, or a regular expression."""
    from lark.load_grammar import eval_escaping

    if token.type == "STRING":
        text = str(eval_escaping(token.value[1 : token.value.rindex('"')]))  # type: ignore[no-untyped-call]
        if _SURROGATE.search(text):
            raise _refuse_at("half of a character", token)
        return text
    body, _, flags = token.value[1:].rpartition("/")
    end = "\n" if "x" in flags else ""  # of a comment
    try:
        return write_match(f"(?{''.join(each for each in 'imsx' if each in flags)}:{body}{end})", rng, values)
    except _InvalidPatternError as error:
        raise _refuse_at(f"a regular expression that is not valid ({error})", token) from None


_REMEDY = "; answer with a rule."
_MAX_CHARACTERS = 64_000  # of a grammar, which takes a third of a second
_MAX_PATTERN = 8_000  # characters of a regular expression
_MAX_REPEATS = 1_000
_MAX_MENTIONS = 40
_MAX_WORK = 200_000  # tokens of all derivations
_MAX_TOKENS = 5_000  # tokens of the smallest
_TOO_MANY = range(_MAX_TOKENS + 1)
_MAX_PHRASE = 2_000  # characters
_SAMPLES = 8
_MAX_SIZE = 20_000
_SURROGATE = compile_lazily("[\ud800-\udfff]")
_FIRST_DAY = date(2024, 1, 1)
_WORDS = (
    "amber", "border", "cedar", "delta", "ember", "field", "garden", "harbor", "island", "juniper", "kernel",
    "lantern", "meadow", "north", "orchard", "pepper", "quartz", "river", "summit", "timber", "valley", "window",
)  # fmt: skip
