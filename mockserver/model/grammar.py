"""Texts that a client's grammar allows, for custom tools: a phrase of the prompt if it fits, else a short text.

lark parses its notation. It does not compile it: it multiplies out optional parts (20 of them: a million productions)
and writes out terminals that use each other (16 levels: 80 seconds), and its Earley parser cannot be stopped.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from math import inf
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mockserver.core.lazy import lazy_pattern
from mockserver.core.plan import Failure
from mockserver.core.seed import Random, Seed
from mockserver.model.arguments import NOTHING, Mentions
from mockserver.model.patterns import (
    InvalidPatternError,
    Pattern,
    PatternTimeoutError,
    compile_pattern,
    draw_usual_texts,
    find_whole_words,
    fullmatch,
    is_encodable,
    match_end,
    sample_text,
)

if TYPE_CHECKING:
    from lark import Lark, Token

LarkTree = Any  # its children are trees and tokens


def text_of(syntax: str, definition: str, seed: Seed, said: Mentions = NOTHING) -> str:
    """Return a text that a grammar derives, from the prompt if possible.

    `syntax` is `regex` or `lark`, `definition` what the client wrote. Raises Failure if that is invalid, or if no text
    is found.
    """
    if syntax not in ("lark", "regex"):
        raise _refuse(f"its syntax is 'lark' or 'regex', not {syntax[:50]!r}.")
    for known in (said, NOTHING):  # matching the prompt may be what takes so long
        try:
            if syntax == "regex":
                return _match(definition, seed.stream("regex"), known)
            return _Writer(_read_grammar(definition), seed.stream("lark"), known).write()
        except PatternTimeoutError:
            continue
        except RecursionError:
            raise _refuse("it is nested too deeply.") from None
    raise _refuse(f"a regular expression in it takes too long to match{_INSTEAD}")


def _refuse(why: str, line: int = 0, column: int = 0) -> Failure:
    place = f": line {line}, column {column}." if line else ""
    return Failure("bad_parameter", f"Invalid grammar: {why}{place}")


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
    found: dict[str, None] = {}
    for mention in said.found[:_MAX_MENTIONS]:
        raw = said.text[mention.start : mention.end]
        found |= dict.fromkeys(
            text for text in (mention.value, raw) if isinstance(text, str) and len(text) <= _MAX_PHRASE
        )
    return [text for text in found if text]


class Literal(Struct, frozen=True):
    """A text, perhaps in any case."""

    text: str
    any_case: bool = False

    def find_end(self, text: str, at: int) -> int:
        """Where it ends in a text if it stands there; -1 if it does not."""
        found = text[at : at + len(self.text)]
        same = found.lower() == self.text.lower() if self.any_case else found == self.text
        return at + len(self.text) if same else -1


class Expression(Struct, frozen=True):
    """A regular expression."""

    pattern: Pattern

    def find_end(self, text: str, at: int) -> int:
        """Where its match ends in a text if one begins there; -1 if none does. Raises PatternTimeoutError."""
        return match_end(self.pattern, text, at)


class Name(Struct, frozen=True):
    """A rule or a terminal."""

    name: str
    is_terminal: bool


class Series(Struct, frozen=True):
    """Parts one after the other."""

    parts: "Sequence[Node]"


class Alternation(Struct, frozen=True):
    """Alternatives."""

    options: "Sequence[Node]"


class Repeat(Struct, frozen=True):
    """A part so many times."""

    part: "Node"
    least: int
    most: float


Node = Literal | Expression | Name | Series | Alternation | Repeat


class Grammar:
    """Rules and terminals by name; what is ignored may stand between any two tokens."""

    def __init__(self, symbols: Mapping[str, Node], ignored: Sequence[Node]) -> None:
        self.symbols = symbols
        self.ignored = ignored
        self._sizes: dict[str, float] = {}  # a fixed point; what is not found within a limit of work has none
        left, changed = _MAX_MEASURED, True
        while changed and left > 0:
            changed = False
            for name in (*symbols, *reversed([*symbols])):  # definitions mostly use those before or after them
                left -= 1
                size = self.measure(symbols[name])
                if size < self._sizes.get(name, inf):
                    self._sizes[name], changed = size, True

    def measure(self, node: Node) -> float:
        """Return the size of the smallest derivation of a node: its tokens and names."""
        match node:
            case Name(name):
                return 1 + self._sizes.get(name, inf)
            case Series(parts):
                return sum(map(self.measure, parts))
            case Alternation(options):
                return min(map(self.measure, options))
            case Repeat(part, least):
                return least * self.measure(part) if least else 0
        return 1


class _Writer:
    """Writes a text of a grammar: with words and values of the prompt where they fit, else small."""

    def __init__(self, grammar: Grammar, rng: Random, said: Mentions) -> None:
        self.grammar = grammar
        self.rng = rng
        self.values = _find_phrases(said)[:_MAX_VALUES]
        self.words = {word.casefold() for word in _WORD.findall(said.text[:_MAX_PROMPT])}
        self.varies = not said.found  # without a prompt to follow
        self.spare = 30  # what may be added to the smallest derivation
        self.steps = _MAX_STEPS

    def write(self) -> str:
        """Write a text. Raises Failure if it would be too long, and PatternTimeoutError."""
        for phrase in sorted(self.values, key=len, reverse=True)[:_MAX_READ]:
            if len(phrase) > 1 and _Reader(self.grammar, phrase).reads(_START):
                return phrase
        size = self.grammar.measure(_START)
        if size == inf:
            raise _refuse("rule 'start' derives no text.")
        if size > _MAX_SIZE:
            raise _refuse(f"its shortest text is too long{_INSTEAD}")
        return self._typeset(self._derive(_START))

    def _typeset(self, tokens: Iterable[str]) -> str:
        """Join tokens as people do: no blank inside brackets or before a comma."""
        blanks = (blank for blank in (" ", "\n", "\t") if _Reader(self.grammar, blank).skip(0) == 1)
        blank = next(blanks, "")
        line = ""
        for text in tokens:
            self.words.difference_update(_WORD.findall(text.casefold()))  # each is followed once
            close = not line or line[-1] in "([{." or text[:1] in ",;:.)]}" or (text == "(" and line[-1:].islower())
            line += text if close or line[-1:].isspace() or text[:1].isspace() else blank + text
        return line

    def _derive(self, node: Node) -> Iterator[str]:
        left: list[tuple[Node, int]] = [(node, 0)]
        while left:
            node, depth = left.pop()
            match node:
                case Literal(text):
                    yield text
                case Expression(pattern):
                    yield self._take_value(node) or self._sample(pattern)
                case Name(name, is_terminal=True):
                    usual = (text for text in draw_usual_texts(self.rng) if _Reader(self.grammar, text).reads(node))
                    text = self._take_value(node) or next(usual, "")
                    yield text or "".join(self._derive(self.grammar.symbols[name]))
                case Name(name):
                    left.append((self.grammar.symbols[name], depth + 1))
                case Series(parts):
                    left += [(part, depth) for part in reversed(parts)]
                case Alternation(options):
                    left.append((self._choose(options, depth), depth))
                case Repeat(part, least, most):
                    waiting = sum(isinstance(other, Name | Expression) for other, _ in left[-_MAX_VALUES:])
                    if least > 0 or (most > 0 and self._wants_more(part, depth, waiting)):
                        left += [(Repeat(part, max(0, least - 1), most - 1), depth), (part, depth)]

    def _choose(self, options: Sequence[Node], depth: int) -> Node:
        sizes = [self.grammar.measure(option) for option in options]
        room = min(sizes) + (self.spare if depth <= _MAX_OPTIONAL_DEPTH else 0)
        small = [at for at, size in enumerate(sizes) if size <= room]
        likely = [at for at in small if self._is_said(options[at])] or small
        least = min(sizes[at] for at in likely)
        at = self.rng.choice(likely if self.varies else [at for at in likely if sizes[at] == least])
        self.spare -= int(sizes[at] - min(sizes))
        return options[at]

    def _wants_more(self, part: Node, depth: int, waiting: int) -> bool:
        """Whether to repeat a part that need not be: if the prompt has more for it than what is `waiting` may take."""
        size = max(1, self.grammar.measure(part))
        if size > self.spare or depth > _MAX_OPTIONAL_DEPTH:
            return False
        has_more = not self.values or len(self.values) > waiting
        wants = (has_more and self._is_said(part)) or (self.varies and self.rng.random() < _CHANCE)
        self.spare -= int(size) if wants else 0
        return wants

    def _is_said(self, node: Node, depth: int = 0) -> bool:
        """Whether the prompt has a word or a value for a part of a node."""
        self.steps -= 1
        if self.steps < 0 or depth > _MAX_LOOK or not (self.words or self.values):
            return False
        match node:
            case Literal(text):
                return text.strip().casefold() in self.words
            case Expression():
                return self._find_value(node) is not None
            case Name(name, is_terminal):
                takes_value = is_terminal and self._find_value(node) is not None
                return takes_value or self._is_said(self.grammar.symbols[name], depth + 1)
            case Series(nodes) | Alternation(nodes):
                return any(self._is_said(each, depth) for each in nodes)
        return self._is_said(node.part, depth)

    def _find_value(self, node: Node) -> str | None:
        for value in self.values:
            for form in (value, f'"{value}"', f"'{value}'"):
                if _Reader(self.grammar, form).reads(node):
                    return form
        return None

    def _take_value(self, node: Node) -> str | None:
        form = self._find_value(node)
        if form is not None:
            self.values = [value for value in self.values if value not in (form, form[1:-1])]
        return form

    def _sample(self, pattern: Pattern) -> str:
        text = sample_text(pattern, self.rng)
        if text is None:
            raise _refuse(f"no text was found that a regular expression in it matches{_INSTEAD}")
        return text


class _Reader:
    """Whether a grammar derives a text: where symbols end that begin at a place, until no more is found."""

    def __init__(self, grammar: Grammar, text: str) -> None:
        self.grammar = grammar
        self.text = text
        self.steps = _MAX_READ_STEPS
        self.ends: dict[tuple[str, int], set[int]] = {}
        self.seen = set[tuple[str, int]]()

    def reads(self, node: Node) -> bool:
        """Whether the whole text is one of the node; False if that takes too long to tell."""
        before, found = -1, 0
        while found > before:
            before = found
            self.seen.clear()
            try:
                ends = self._read(node, 0, in_rule=node is _START)
            except RecursionError:
                return False
            if len(self.text) in (ends | set(map(self.skip, ends)) if node is _START else ends):
                return self.steps > 0
            found = sum(map(len, self.ends.values()))
        return False

    def skip(self, at: int) -> int:
        """Return the place after what is ignored."""
        while ends := {end for node in self.grammar.ignored for end in self._read(node, at, in_rule=False) if end > at}:
            at = max(ends)
        return at

    def _read(self, node: Node, at: int, *, in_rule: bool) -> set[int]:
        self.steps -= 1
        if self.steps < 0:
            return set()
        match node:
            case Literal() | Expression():
                starts = {at, self.skip(at)} if in_rule else {at}
                return {end for start in starts if (end := node.find_end(self.text, start)) >= 0}
            case Name(name, is_terminal):
                starts = {at, self.skip(at)} if in_rule and is_terminal else {at}
                return {end for start in starts for end in self._read_name(name, start, in_rule=not is_terminal)}
            case Series(parts):
                ends = {at}
                for part in parts:
                    ends = {end for start in ends for end in self._read(part, start, in_rule=in_rule)}
                return ends
            case Alternation(options):
                return {end for option in options for end in self._read(option, at, in_rule=in_rule)}
        ends, fresh, times = ({at} if node.least == 0 else set()), {at}, 0
        while fresh and times < node.most:
            times += 1
            fresh = {end for start in fresh for end in self._read(node.part, start, in_rule=in_rule)} - ends
            ends |= fresh if times >= node.least else set()
        return ends

    def _read_name(self, name: str, at: int, *, in_rule: bool) -> set[int]:
        ends = self.ends.setdefault((name, at), set())
        if (name, at) not in self.seen:  # in this round: a rule that begins with itself gets further in the next
            self.seen.add((name, at))
            ends |= self._read(self.grammar.symbols[name], at, in_rule=in_rule)
        return set(ends)


class _Notation:
    """A grammar in lark's notation. Raises Failure, with the position, for what is broken or not supported."""

    def __init__(self, definition: str, scope: str = "") -> None:
        self.scope = scope  # before the names of its symbols
        self.bodies: dict[str, LarkTree] = {}
        self.imported: dict[str, Node] = {}
        self.ignored: list[LarkTree] = []
        self.patterns = 0
        for statement in _parse(definition).children:
            self._add(statement)

    def _add(self, statement: LarkTree) -> None:
        match statement.data:
            case "rule" | "token":
                head, parameters, *_, body = statement.children
                name = head.value.lstrip("!?")
                if parameters.children:
                    raise _refuse_at("templates are not supported", head)
                if name in self.bodies or name in self.imported:
                    raise _refuse_at(f"'{name}' is defined more than once", head)
                self.bodies[name] = body
            case "ignore":
                self.ignored.append(statement.children[0])
            case "import":
                *path, name = statement.children[0].children
                alias = statement.children[1].children[0] if len(statement.children) > 1 else _first_token(name)
                self._import(path, _first_token(name), alias)
            case "multi_import":
                for each in statement.children[1].children:
                    self._import(statement.children[0].children, each.children[0], each.children[0])
            case unknown:
                raise _refuse_at(f"%{unknown.partition('_')[0]} is not supported", _first_token(statement))

    def _import(self, path: Sequence[LarkTree], name: "Token", alias: "Token") -> None:
        if [_first_token(step).value for step in path if _first_token(step).value != "."] != ["common"]:
            raise _refuse_at("only terminals of 'common' can be imported", _first_token(path[0]) if path else name)
        if alias.value in self.bodies:
            raise _refuse_at(f"'{alias.value}' is defined more than once", alias)
        if f"common.{name.value}" not in _read_shipped_terminals():
            raise _refuse_at(f"there is no terminal '{name.value}' in common", name)
        self.imported[alias.value] = Name(f"common.{name.value}", is_terminal=True)

    def read_symbols(self) -> Mapping[str, Node]:
        """Read the bodies of all rules and terminals."""
        own = {self.scope + name: self.read(body, in_terminal=name.isupper()) for name, body in self.bodies.items()}
        return {**own, **self.imported}

    def read(self, tree: LarkTree, *, in_terminal: bool) -> Node:
        """Read the body of a rule or a terminal."""
        match tree.data:
            case "name":
                return self._read_name(tree.children[0], in_terminal=in_terminal)
            case "literal":
                return self._read_literal(tree.children[0])
            case "literal_range":
                first, last = map(_unquote, tree.children)
                if len(first) != 1 or len(last) != 1:
                    raise _refuse_at("a range that is not from one character to another", tree.children[0])
                return self._read_expression(f"[{re.escape(first)}-{re.escape(last)}]", tree.children[0])
            case "maybe":
                return Repeat(self.read(tree.children[0], in_terminal=in_terminal), 0, 1)
            case "expr":
                inner, *times = tree.children
                return Repeat(self.read(inner, in_terminal=in_terminal), *_read_times(times))
            case "template_usage":
                raise _refuse_at("templates are not supported", _first_token(tree))
        children = tree.children[:1] if tree.data == "alias" else tree.children
        nodes: list[Node] = [self.read(child, in_terminal=in_terminal) for child in children]
        joined: Node = Alternation(nodes) if tree.data == "expansions" else Series(nodes)
        return nodes[0] if len(nodes) == 1 else joined

    def _read_name(self, token: "Token", *, in_terminal: bool) -> Node:
        name, kind = token.value, "rule" if token.type == "RULE" else "terminal"
        if name not in self.bodies and name not in self.imported:
            raise _refuse_at(f"{kind} '{name}' is used but not defined", token)
        if in_terminal and kind == "rule":
            raise _refuse_at(f"rule '{name}' is used in a terminal", token)
        return Name(self.scope + name, is_terminal=kind == "terminal")

    def _read_literal(self, token: "Token") -> Node:
        if token.type == "STRING":
            return Literal(_unquote(token), any_case=token.value.endswith("i"))
        body, _, flags = token.value[1:].rpartition("/")
        body = _VERBOSE.sub(lambda piece: piece["kept"] or "", body) if "x" in flags else body
        return self._read_expression(f"(?{''.join(flag for flag in 'ims' if flag in flags)}:{body})", token)

    def _read_expression(self, source: str, token: "Token") -> Expression:
        self.patterns += 1
        if self.patterns > _MAX_PATTERNS:
            raise _refuse_at(f"more than {_MAX_PATTERNS} regular expressions", token)
        try:
            return Expression(compile_pattern(source))
        except InvalidPatternError as error:
            raise _refuse_at(f"a regular expression that is not valid ({error})", token) from None


@lru_cache(maxsize=64)
def _read_grammar(definition: str) -> Grammar:
    """Read a text in lark's notation. Raises Failure, with the position, if it is invalid."""
    if len(definition) > _MAX_CHARACTERS:
        raise _refuse(f"it has more than {_MAX_CHARACTERS:,} characters.")
    notation = _Notation(definition)
    symbols = {**notation.read_symbols(), **(_read_shipped_terminals() if notation.imported else {})}
    if "start" not in symbols:
        raise _refuse("it has no rule 'start'.")
    return Grammar(symbols, [notation.read(tree, in_terminal=True) for tree in notation.ignored])


@cache
def _read_shipped_terminals() -> Mapping[str, Node]:
    """Read lark's own terminals."""
    from importlib.resources import files

    text = files("lark").joinpath("grammars", "common.lark").read_text(encoding="utf-8")
    return _Notation(text, scope="common.").read_symbols()


def _parse(definition: str) -> LarkTree:
    from lark.exceptions import UnexpectedInput

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


def _refuse_at(why: str, token: "Token") -> Failure:
    return _refuse(why, token.line or 1, token.column or 1)


def _first_token(tree: LarkTree) -> "Token":
    found: Token = next(tree.scan_values(lambda value: True)) if hasattr(tree, "data") else tree
    return found


def _read_times(times: "Sequence[Token]") -> tuple[int, float]:
    """Read how often something repeats: `?`, `*`, `+`, `~2` or `~2..4`."""
    if times[0].type == "OP":
        return int(times[0].value == "+"), 1 if times[0].value == "?" else inf
    least, most = int(times[0]), int(times[-1])
    if not 0 <= least <= most:
        raise _refuse_at(f"a bad range, {least}..{most}", times[0])
    if most > _MAX_REPEATS:
        raise _refuse_at(f"more than {_MAX_REPEATS:,} repetitions", times[-1])
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
_START = Name("start", is_terminal=False)
_MAX_CHARACTERS = 64_000  # a third of a second
_MAX_PATTERN = 8_000  # characters
_MAX_PATTERNS = 400
_MAX_REPEATS = 1_000
_MAX_MEASURED = 200_000  # bodies
_MAX_SIZE = 5_000  # of the smallest derivation
_MAX_OPTIONAL_DEPTH = 12
_MAX_STEPS, _MAX_READ_STEPS = 2_000, 5_000  # nodes that are looked at for a whole text, and for a phrase
_MAX_LOOK = 3  # names that are followed to find a word of the prompt
_MAX_MENTIONS, _MAX_VALUES, _MAX_READ = 40, 16, 6
_MAX_PHRASE = 2_000  # characters
_MAX_PROMPT = 20_000  # characters
_CHANCE = 0.4  # of one more of what repeats
_WORD = lazy_pattern(r"\w+")
# What a verbose pattern ignores.
_VERBOSE = lazy_pattern(r"(?P<kept>\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\s+|#[^\n]*", re.DOTALL)
_ESCAPE = lazy_pattern(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "\\": "\\", '"': '"'}
