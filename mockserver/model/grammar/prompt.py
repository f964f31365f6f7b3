"""What a prompt says in the tokens of a grammar: whole phrases, and single words and values."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from mockserver.model.arguments import Mentions
from mockserver.model.arguments.values import Mention
from mockserver.model.grammar.derivation import Fit, PromptToken
from mockserver.model.grammar.notation import Grammar
from mockserver.model.patterns import fullmatch, match_length


def phrases(said: Mentions) -> Iterator[str]:
    """The values that a prompt mentions, as written and without their quotes, the longest first."""
    found: list[object] = []
    for mention in said.found[:_MAX_PHRASES]:
        raw = said.text[mention.start : mention.end]
        found += [mention.value, raw, *(["".join(raw.split())] if mention.kind == "expression" else [])]
    texts = dict.fromkeys(text for text in found if isinstance(text, str) and 0 < len(text) <= _MAX_PHRASE)
    yield from sorted(texts, key=len, reverse=True)


def find_phrase(grammar: Grammar, said: Mentions, least: int) -> str | None:
    """Find a phrase that the grammar derives, of so many tokens at least. Raises PatternTimeoutError."""
    for phrase in islice(phrases(said), _MAX_READ):
        tokens = _read(grammar, phrase)
        if tokens and len(tokens) >= least and Fit(grammar, tokens, exact=True).root:
            return phrase
    return None


def _read(grammar: Grammar, text: str) -> list[PromptToken]:
    """The tokens of a text, each the longest from its place; none if it has anything else."""
    tokens: list[PromptToken] = []
    at = 0
    while at < len(text) and len(tokens) < _MAX_READ_TOKENS:
        lengths = {name: match_length(terminal.pattern, text, at) for name, terminal in grammar.terminals.items()}
        length = max(lengths.values())
        names = [name for name in lengths if lengths[name] == length]
        if not length:
            return []
        if set(names).isdisjoint(grammar.ignored):
            tokens.append(dict.fromkeys(names, text[at : at + length]))
        at += length
    return tokens if at == len(text) else []


def find_prompt_tokens(grammar: Grammar, said: Mentions) -> tuple[PromptToken, ...]:
    """Find the words and values of a prompt that are tokens of the grammar, in its order.

    Raises PatternTimeoutError.
    """
    found = [*_literals(grammar, said), *_values(grammar, said)]
    return tuple(token for _, token in sorted(found, key=lambda each: each[0]))[:_MAX_TOKENS]


def _literals(grammar: Grammar, said: Mentions) -> Iterator[tuple[int, PromptToken]]:
    """Listed texts of terminals whose words are in the prompt, with their position."""
    text = _text_outside_values(said)
    words = " ".join(["", *_WORD.findall(text), ""])
    tokens: dict[str, dict[str, str]] = {}
    for name, terminal in grammar.terminals.items():
        for literal in terminal.texts:
            core = " ".join(_WORD.findall(literal.casefold())) or literal.strip()
            tokens.setdefault(core, {}).setdefault(name, literal)
    for core, token in tokens.items():
        if not _WORD.match(core):
            if (at := _find_sign(core, text, said)) >= 0:
                yield at, token
        elif f" {core} " in words and core not in ("a", "i"):
            found = re.search(r"(?<!\w)" + r"\W+".join(map(re.escape, core.split())) + r"(?!\w)", text)
            yield found.start() if found else len(text), token


def _text_outside_values(said: Mentions) -> str:
    """The prompt, case-folded, with values of several words blanked out."""
    text = said.text[:_MAX_PROMPT].casefold()
    for mention in said.found:
        if " " in text[mention.start : mention.end] and mention.kind != "words":
            text = text[: mention.start] + " " * (mention.end - mention.start) + text[mention.end :]
    return text


def _find_sign(sign: str, text: str, said: Mentions) -> int:
    """The position of a sign such as `>=` that is no punctuation, or of the words for it; -1 if there is none."""
    if not sign or (sign in _PUNCTUATION and sign not in _SIGN_WORDS):
        return -1
    at = text.find(f" {sign} ")
    words = re.search(rf"\b(?:{_SIGN_WORDS[sign]})\b", text) if sign in _SIGN_WORDS else None
    if at >= 0 or not words:
        return at
    if words[0] not in _ACTIONS:
        return words.start()
    return next((mention.end for mention in said.found if mention.kind == "number"), words.start())


def _values(grammar: Grammar, said: Mentions) -> Iterator[tuple[int, PromptToken]]:
    """Mentioned values that match patterns of terminals, with their position."""
    listed = {text.casefold() for terminal in grammar.terminals.values() for text in terminal.texts}
    patterns = [
        (name, terminal.pattern)
        for name, terminal in grammar.terminals.items()
        if not terminal.texts and name not in grammar.ignored
    ]
    for mention in _without_overlaps(said.found[:_MAX_MENTIONS]):
        forms = [form for form in _forms(mention, said.text) if form and form.casefold() not in listed]
        matching = (
            (name, next((form for form in forms if fullmatch(pattern, form)), "")) for name, pattern in patterns
        )
        if token := {name: form for name, form in matching if form}:
            yield mention.start, token


def _without_overlaps(mentions: Iterable[Mention]) -> Iterator[Mention]:
    end = 0
    written = (each for each in mentions if each.kind != "duration" or not isinstance(each.value, int))
    for mention in sorted(written, key=lambda each: (each.start, each.end)):
        if mention.start >= end:
            end = mention.end
            yield mention


def _forms(mention: Mention, text: str) -> Iterator[str]:
    """How a value may be written; plain words are not quoted."""
    raw, value = text[mention.start : mention.end], mention.value
    bare = str(value) if isinstance(value, str) or mention.kind == "number" else raw
    quoted = () if mention.kind == "words" else (f'"{bare}"', f"'{bare}'")
    yield from dict.fromkeys((raw, bare, *quoted))


_MAX_PHRASES, _MAX_READ = 24, 6
_MAX_PHRASE = 2_000  # characters
_MAX_TOKENS, _MAX_READ_TOKENS = 16, 100
_MAX_MENTIONS = 40
_MAX_PROMPT = 20_000  # characters
_WORD = re.compile(r"\w+")
_PUNCTUATION = frozenset(".,;:!?'\"()[]{}-`")
_ACTIONS = ("add", "sum", "subtract", "multiply", "product", "divide")  # the sign goes after the first number
_SIGN_WORDS = {
    "+": "plus|add|sum",
    "-": "minus|less|subtract",
    "*": "times|multiplied by|multiply|product",
    "/": "divided by|divide",
    "=": "equals|is equal to",
    ">": "greater than|more than|above|over",
    "<": "less than|fewer than|below|under",
    ">=": "at least",
    "<=": "at most",
}
