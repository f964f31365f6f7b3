"""The terminals of a grammar as regular expressions, and as lists of texts where they are but that.

Knows the notation of literals: what stands for what in quotes and between slashes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockserver.engine.generate.grammar.statements import Definition, Node, broken, is_token
from mockserver.engine.generate.patterns.trying import Literal, Pattern, UnreadableError, compiled, is_whole

if TYPE_CHECKING:
    from lark import Token

_LONGEST = 5_000  # characters of one terminal's pattern
_MOST_TEXTS = 200


@dataclass(slots=True)
class Lexicon:
    """Terminals by name, those that are defined and those that are imported (as patterns), and what they come to."""

    tokens: Mapping[str, Definition]
    imported: Mapping[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    listed: dict[str, list[str]] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    patterns: int = 0

    def named(self, token: "Token") -> str:
        """The source of the pattern of a terminal that is used somewhere."""
        name = str(token.value)
        if name in self.imported:
            return self.imported[name]
        if name not in self.known:
            self.known[name] = self._defined(name, token)
        return self.known[name]

    def _defined(self, name: str, token: "Token") -> str:
        if name not in self.tokens:
            raise broken(f"terminal '{name}' is used but not defined", token)
        if name in self.open:
            raise broken(f"terminal '{name}' contains itself", token)
        self.open.add(name)
        source = self.source(self.tokens[name].body)
        self.open.remove(name)
        if len(source) > _LONGEST:
            raise broken(f"terminal '{name}' is too large", token)
        return source

    def pattern(self, source: str, place: "Token") -> Pattern:
        """The pattern of a source. Raises Failure where it is broken."""
        try:
            return compiled(source)
        except UnreadableError as error:
            raise broken(f"a regular expression that is not valid ({error})", place) from None

    def pattern_of(self, node: Node) -> Pattern:
        """The pattern that a node of a terminal stands for."""
        bare = node
        while bare.data in ("expansions", "expansion") and len(bare.children) == 1:
            bare = bare.children[0]
        source = self.source(node)
        place = next(node.scan_values(is_token))
        if bare.data == "literal" and bare.children[0].type == "STRING":
            return Literal(_unquoted(place), place.value.endswith("i"))
        self.patterns += 1
        if self.patterns > _MOST_PATTERNS:
            raise broken(f"more than {_MOST_PATTERNS} regular expressions", place)
        return self.pattern(source, place)

    def source(self, node: Node) -> str:
        """The source of the pattern that a node of a terminal stands for."""
        match node.data:
            case "name":
                token = node.children[0]
                if token.type == "RULE":
                    raise broken(f"rule '{token.value}' is used in a terminal", token)
                return f"(?:{self.named(token)})"
            case "literal":
                return self._literal(node.children[0])
            case "literal_range":
                first, last = map(_unquoted, node.children)
                if len(first) != 1 or len(last) != 1:
                    raise broken("a range that is not from one character to another", node.children[0])
                return f"[{re.escape(first)}-{re.escape(last)}]"
            case "maybe":
                return f"(?:{self.source(node.children[0])})?"
            case "expr":
                inner, *times = node.children
                return f"(?:{self.source(inner)}){_quantifier(times)}"
            case "expansion":
                return "".join(map(self.source, node.children))
            case "expansions":
                sources = sorted(map(self.source, node.children), key=_longest_first)
                return f"(?:{'|'.join(sources)})"
        raise broken(f"{node.data.replace('_', ' ')} in a terminal", next(node.scan_values(is_token)))

    def texts(self, node: Node) -> tuple[str, ...]:
        """The texts that a terminal can be where literals are listed; none where it is more than that, or too many."""
        found = self._texts(node)
        return tuple(dict.fromkeys(found)) if len(found) <= _MOST_TEXTS else ()

    def _texts(self, node: Node) -> list[str]:
        match node.data:
            case "literal":
                return _texts_of_literal(node.children[0])
            case "name":
                return self._texts_named(node.children[0].value)
            case "expansions":
                listed = [self._texts(option) for option in node.children[: _MOST_TEXTS + 1]]
                return [text for texts in listed for text in texts][: _MOST_TEXTS + 1] if all(listed) else []
            case "expansion" if len(node.children) == 1:
                return self._texts(node.children[0])
        return []

    def _texts_named(self, name: str) -> list[str]:
        if name not in self.listed:
            self.listed[name] = self._texts(self.tokens[name].body) if name in self.tokens else []
        return self.listed[name]

    def _literal(self, token: "Token") -> str:
        if token.type == "STRING":
            text = _unquoted(token)
            if not text:
                raise broken("a terminal that is empty", token)
            return f"(?i:{re.escape(text)})" if token.value.endswith("i") else re.escape(text)
        body, _, flags = token.value[1:].rpartition("/")
        body = _IGNORED.sub(lambda piece: piece["kept"] or "", body) if "x" in flags else body
        self.pattern(body, token)
        return f"(?{''.join(flag for flag in 'ims' if flag in flags)}:{body})"


def _texts_of_literal(token: "Token") -> list[str]:
    if token.type == "STRING":
        return [_unquoted(token)]
    found = _LISTED.fullmatch(token.value.strip("/i"))
    return found["texts"].split("|") if found else []


def _unquoted(token: "Token") -> str:
    """The text of a literal."""
    text = _ESCAPE.sub(_meant, token.value[1 : token.value.rindex('"')])
    if not is_whole(text):
        raise broken("half of a character", token)
    return text


def _meant(escape: re.Match[str]) -> str:
    code = escape[1]
    if code[0] in "xuU" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPED.get(code, escape[0])


def _quantifier(times: "list[Token]") -> str:
    if times[0].type == "OP":
        return str(times[0].value)
    least, most = int(times[0]), int(times[-1])
    if not 0 <= least <= most:
        raise broken(f"a bad range, {least}..{most}", times[0])
    return f"{{{least},{most}}}"


def _longest_first(source: str) -> tuple[bool, int]:
    """Alternatives are tried in order: those without a bound come first, then the longer ones."""
    return not _BOUNDLESS.search(source), -len(source)


_MOST_PATTERNS = 400
# What a verbose pattern has for its readers.
_IGNORED = re.compile(r"(?P<kept>\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\s+|#[^\n]*", re.DOTALL)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "\\": "\\", '"': '"'}
_BOUNDLESS = re.compile(r"(?<!\\)[*+]|,\}")
_LISTED = re.compile(r"\^?(?:\((?:\?:)?)?(?P<texts>[\w -]+(?:\|[\w -]+)+)\)?\$?")  # a pattern that only lists words
