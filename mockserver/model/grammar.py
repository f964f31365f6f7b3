"""Texts that a client's grammar allows, for custom tools: a value of the prompt if it matches, else a short text.

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
    find_whole_words,
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
    for known in (said, NOTHING):  # matching the prompt may be what takes so long
        try:
            return _WRITERS[syntax](definition, seed.stream(syntax), known)
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


def _match(definition: str, rng: Random, said: Mentions) -> str:
    pattern = _compile(definition)
    mentioned = (phrase for phrase in _find_phrases(said) if fullmatch(pattern, phrase))
    text = next(mentioned, None) or max(find_whole_words(definition, said.text), key=len, default=None)
    if text is None or not fullmatch(pattern, text):
        text = sample_text(pattern, rng)
    if text is None:
        raise _refuse(f"no text was found that the regular expression matches{_INSTEAD}")
    return text


@lru_cache(maxsize=64)
def _compile(definition: str) -> Pattern:
    if len(definition) > _MAX_PATTERN:
        raise _refuse(f"it has more than {_MAX_PATTERN:,} characters.")
    try:
        return compile_pattern(definition)
    except InvalidPatternError as error:
        before = definition[: error.at]
        raise _refuse(str(error), before.count("\n") + 1, error.at - before.rfind("\n")) from None


def _find_phrases(said: Mentions) -> Sequence[str]:
    """Return the values that a prompt mentions, as written and without their quotes."""
    written = ((mention.value, said.text[mention.start : mention.end]) for mention in said.found[:_MAX_MENTIONS])
    texts = (text for pair in written for text in pair if isinstance(text, str))
    return [*dict.fromkeys(text for text in texts if 0 < len(text) <= _MAX_PHRASE)]


class _Grammar:
    """The bodies of rules and terminals by name, as lark's own parser reads them, and the size of their shortest texts.

    Raises Failure, with the position, for what is broken or not supported.
    """

    def __init__(self, definition: str) -> None:
        self.bodies: dict[str, LarkTree] = {}
        self.ignored: list[LarkTree] = []
        for statement in _parse(definition).children:
            self._add(statement)
        if "start" not in self.bodies:
            raise _refuse("it has no rule 'start'.")
        self.patterns: dict[str, Pattern] = {}  # by how the grammar writes them
        for tree in (*self.bodies.values(), *self.ignored):
            self._check(tree)
        self._sizes: dict[str, float] = {}  # a fixed point; what is not found within a limit of work has none
        left, changed = _MAX_MEASURED, True
        while changed and left > 0:
            changed = False
            for name in (*self.bodies, *reversed([*self.bodies])):  # definitions mostly use those before or after them
                left -= 1
                size = self.measure(self.bodies[name])
                if size < self._sizes.get(name, inf):
                    self._sizes[name], changed = size, True

    def measure(self, tree: LarkTree) -> float:
        """Return how many tokens and names the smallest derivation has."""
        match tree.data:
            case "name":
                return 1 + self._sizes.get(tree.children[0].value, inf)
            case "expansions":
                return min(map(self.measure, tree.children))
            case "expansion":
                return sum(map(self.measure, tree.children))
            case "alias":
                return self.measure(tree.children[0])
            case "maybe" | "expr":
                least, _ = _read_times(tree.children[1:])
                return least * self.measure(tree.children[0]) if least else 0
        return 1

    @property
    def blank(self) -> str:
        """What may stand between any two tokens."""
        tokens = [token for tree in self.ignored for token in tree.scan_values(lambda _: True)]
        tokens += [
            inner
            for token in tokens
            if token in self.bodies
            for inner in self.bodies[token].scan_values(lambda _: True)
        ]
        patterns = [self.patterns[token] for token in tokens if token in self.patterns]
        written = [token.value.strip('"') for token in tokens]
        blanks = (" ", "\n", "\t")
        return next((each for each in blanks if each in written or any(fullmatch(p, each) for p in patterns)), "")

    def _add(self, statement: LarkTree) -> None:
        match statement.data:
            case "rule" | "token" if not statement.children[1].children:
                self._define(statement.children[0].value.lstrip("!?"), statement.children[-1], statement.children[0])
            case "ignore":
                self.ignored.append(statement.children[0])
            case "import":
                *path, name = statement.children[0].children
                alias = statement.children[1].children[0] if len(statement.children) > 1 else name.children[0]
                self._import(path, name.children[0], alias)
            case "multi_import":
                for each in statement.children[1].children:
                    self._import(statement.children[0].children, each.children[0], each.children[0])
            case kind:
                what = "templates are" if kind == "rule" else f"%{kind.partition('_')[0]} is"
                raise _refuse_at(f"{what} not supported", statement)

    def _define(self, name: str, body: LarkTree, at: "Token") -> None:
        if name in self.bodies:
            raise _refuse_at(f"'{name}' is defined more than once", at)
        self.bodies[name] = body

    def _import(self, path: Sequence[LarkTree], name: "Token", alias: "Token") -> None:
        shipped = _read_shipped_terminals()
        steps = [token.value for step in path for token in getattr(step, "children", [step])]
        if [step for step in steps if step != "."] != ["common"] or name.value not in shipped:
            raise _refuse_at(f"only terminals of lark's 'common' can be imported, not '{name.value}'", name)
        self._define(alias.value, shipped[name.value], alias)
        waiting = [shipped[name.value]]  # and those that it uses
        while waiting:
            used = [tree.children[0].value for tree in waiting.pop().find_data("name")]
            fresh = {each: shipped[each] for each in used if each in shipped and each not in self.bodies}
            self.bodies |= fresh
            waiting += fresh.values()

    def _check(self, body: LarkTree) -> None:
        for tree in body.iter_subtrees():
            token = tree.children[0] if tree.children else None
            match tree.data:
                case "name" if token.value not in self.bodies:
                    kind = "rule" if token.type == "RULE" else "terminal"
                    raise _refuse_at(f"{kind} '{token.value}' is used but not defined", token)
                case "literal" if token.type == "STRING":
                    _unquote(token)
                case "literal" if token.value not in self.patterns:
                    self.patterns[token.value] = self._compile(token)
                case "literal_range" if any(len(end) != 1 for end in map(_unquote, tree.children)):
                    raise _refuse_at("a range that is not from one character to another", token)
                case "template_usage":
                    raise _refuse_at("templates are not supported", tree)
                case "expr":
                    _read_times(tree.children[1:])

    def _compile(self, token: "Token") -> Pattern:
        if len(self.patterns) >= _MAX_PATTERNS:
            raise _refuse_at(f"more than {_MAX_PATTERNS} regular expressions", token)
        body, _, flags = token.value[1:].rpartition("/")
        body = _VERBOSE.sub(lambda piece: piece["kept"] or "", body) if "x" in flags else body
        try:
            return compile_pattern(f"(?{''.join(each for each in 'ims' if each in flags)}:{body})")
        except InvalidPatternError as error:
            raise _refuse_at(f"a regular expression that is not valid ({error})", token) from None


class _Writer:
    """Writes a short text of a grammar, with the values of the prompt where its expressions match them."""

    def __init__(self, grammar: _Grammar, rng: Random, said: Mentions) -> None:
        self.grammar = grammar
        self.rng = rng
        self.values = [*_find_phrases(said)][:_MAX_VALUES]
        self.spare = _MAX_MORE  # what may be added to the smallest derivation

    def write(self) -> str:
        """Write a text. Raises Failure if it would be too long, and PatternTimeoutError."""
        size = self.grammar.measure(self.grammar.bodies["start"])
        if size == inf:
            raise _refuse("rule 'start' derives no text.")
        if size > _MAX_SIZE:
            raise _refuse(f"its shortest text is too long{_INSTEAD}")
        blank, line = self.grammar.blank, ""
        for text, is_glued in self._derive():  # joined as people do: no blank inside brackets or before a comma
            close = not line or line[-1] in "([{." or text[:1] in ",;:.)]}" or (text == "(" and line[-1:].islower())
            line += text if is_glued or close or line[-1:].isspace() or text[:1].isspace() else blank + text
        return line

    def _derive(self) -> Iterator[tuple[str, bool]]:
        """Yield the pieces of a text, and whether each continues the terminal before it."""
        left: list[tuple[LarkTree, bool]] = [(self.grammar.bodies["start"], False)]  # with whether it is in a terminal
        is_glued = False
        while left:
            tree, in_terminal = left.pop()
            match tree.data:
                case "literal" | "literal_range":
                    yield self._write_token(tree), is_glued
                    is_glued = in_terminal
                case "name":
                    name = tree.children[0].value
                    is_glued = is_glued and in_terminal
                    left.append((self.grammar.bodies[name], in_terminal or name.isupper()))
                case "expansions":
                    left.append((self._choose(tree.children), in_terminal))
                case "expansion" | "alias":
                    parts = tree.children[:1] if tree.data == "alias" else tree.children
                    left += [(part, in_terminal) for part in reversed(parts)]
                case "maybe" | "expr":
                    part, (least, most) = tree.children[0], _read_times(tree.children[1:])
                    left += [(part, in_terminal)] * (least + (most > least and self._wants(part)))
            is_glued = is_glued and bool(left) and left[-1][1]

    def _write_token(self, tree: LarkTree) -> str:
        token = tree.children[0]
        if tree.data == "literal_range":
            first, last = sorted(map(_unquote, tree.children))
            return chr(self.rng.randint(ord(first), ord(last)))
        if token.type == "STRING":
            return _unquote(token)
        pattern = self.grammar.patterns[token.value]
        value = next((value for value in self.values if fullmatch(pattern, value)), None)
        if value is not None:
            self.values.remove(value)
        elif (value := sample_text(pattern, self.rng)) is None:
            raise _refuse(f"no text was found that a regular expression in it matches{_INSTEAD}")
        return value

    def _choose(self, options: Sequence[LarkTree]) -> LarkTree:
        """Any option that adds no more than there is room for."""
        sizes = [self.grammar.measure(option) for option in options]
        at = self.rng.choice([at for at, size in enumerate(sizes) if size <= min(sizes) + self.spare])
        self.spare -= int(sizes[at] - min(sizes))
        return options[at]

    def _wants(self, part: LarkTree) -> bool:
        """Whether to write a part that need not be: by chance, and while there is room."""
        size = max(1, self.grammar.measure(part))
        wants = size <= self.spare and self.rng.random() < _CHANCE
        self.spare -= int(size) if wants else 0
        return wants


_read_grammar = lru_cache(maxsize=64)(_Grammar)
_WRITERS: Mapping[str, Callable[[str, Random, Mentions], str]] = {
    "lark": lambda definition, rng, said: _Writer(_read_grammar(definition), rng, said).write(),
    "regex": _match,
}


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


def _read_times(times: "Sequence[Token]") -> tuple[int, float]:
    """Read how often something repeats: `?`, `*`, `+`, `~2` or `~2..4`; nothing for an optional part."""
    if not times or times[0].type == "OP":
        sign = times[0].value if times else "?"
        return int(sign == "+"), 1 if sign == "?" else inf
    least, most = int(times[0]), int(times[-1])
    if not 0 <= least <= most <= _MAX_REPEATS:
        raise _refuse_at(f"a range of repetitions that is empty or above {_MAX_REPEATS:,}, {least}..{most}", times[0])
    return least, most


def _unquote(token: "Token") -> str:
    text = _ESCAPE.sub(_unescape, token.value[1 : token.value.rindex('"')])
    if not text or not is_encodable(text):
        raise _refuse_at("half of a character" if text else "a terminal that is empty", token)
    return text


def _unescape(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if code[0] in "xuU" and len(code) > 1 else _ESCAPED.get(code, escape[0])


_INSTEAD = "; answer with a rule."
_MAX_CHARACTERS, _MAX_PATTERN = 64_000, 8_000  # of a grammar, which takes a third of a second; of a regular expression
_MAX_PATTERNS, _MAX_REPEATS = 400, 1_000
_MAX_MEASURED, _MAX_SIZE = 200_000, 5_000  # bodies; tokens of the smallest derivation
_MAX_MORE, _CHANCE = 30, 0.4  # tokens beyond the smallest derivation; of one more of what repeats
_MAX_VALUES, _MAX_MENTIONS = 16, 40
_MAX_PHRASE = 2_000  # characters
# What a verbose pattern ignores.
_VERBOSE = lazy_pattern(r"(?P<kept>\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\s+|#[^\n]*", re.DOTALL)
_ESCAPE = lazy_pattern(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "\\": "\\", '"': '"'}
