"""Texts that a client's grammar allows, for custom tools: a value of the prompt if it matches, else the shortest text.

lark reads its notation. It does not compile it: it multiplies out optional parts (20 of them: a million productions)
and writes out terminals that use each other (16 levels: 80 seconds).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from math import inf
from typing import TYPE_CHECKING, Any

from mockserver.core.lazy import lazy_pattern
from mockserver.core.plan import Failure
from mockserver.core.seed import Random, Seed
from mockserver.model.arguments import NOTHING, Mentions
from mockserver.model.patterns import (
    InvalidPatternError,
    Pattern,
    PatternTimeoutError,
    compile_pattern,
    fullmatch,
    is_encodable,
    sample_text,
)

if TYPE_CHECKING:
    from lark import Lark, Token

LarkTree = Any  # its children are trees and tokens


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
        for statement in _parse(definition).children:
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
        if not self._sizes.get("start", inf) <= _MAX_SIZE:
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
    statements = (each for each in _parse(text).children if each.data == "token")
    return {each.children[0].value: each.children[-1] for each in statements}


def _parse(definition: str) -> LarkTree:
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
    text = _ESCAPE.sub(_unescape, token.value[1 : token.value.rindex('"')])
    if not is_encodable(text):
        raise _refuse_at("half of a character", token)
    return text


def _unescape(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if code[0] in "xuU" and len(code) > 1 else _ESCAPED.get(code, escape[0])


_INSTEAD = "; answer with a rule."
_MAX_CHARACTERS, _MAX_PATTERN = 64_000, 8_000  # of a grammar, which takes a third of a second; of a regular expression
_MAX_REPEATS, _MAX_MENTIONS = 1_000, 40
_MAX_MEASURED, _MAX_SIZE = 200_000, 5_000  # bodies; tokens of the smallest derivation
_MAX_PHRASE = 2_000  # characters
# What a verbose pattern ignores.
_VERBOSE = lazy_pattern(r"(?P<kept>\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\s+|#[^\n]*", re.DOTALL)
_ESCAPE = lazy_pattern(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "\\": "\\", '"': '"'}
