"""Texts that a client's grammar allows, for custom tools: taken from the prompt where it has one, else derived.

Every text is held against the grammar before it leaves; every grammar, however large or mean, is done with in bounded
time, or refused.
"""

from functools import lru_cache

from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model.arguments import NOTHING, Mentions
from mockserver.model.grammar.notation import Grammar, grammar_of
from mockserver.model.grammar.recognition import best_phrase, best_span, derivation, derives, layouts, phrases
from mockserver.model.grammar.wishes import Wish, wishes
from mockserver.model.patterns import (
    InvalidPatternError,
    Pattern,
    PatternTimeoutError,
    compile_pattern,
    find_whole_words,
    fullmatch,
    sample_text,
)

_VARIANTS = 6
_LONGEST_PATTERN = 8_000  # characters


def text_of(syntax: str, definition: str, seed: Seed, said: Mentions = NOTHING) -> str:
    """A text that a grammar derives: of what was said where it can be.

    `syntax` is `regex` or `lark`, `definition` what the client wrote. Raises Failure where that is broken, or nothing
    is found that it derives.
    """
    for known in (said, NOTHING):  # what was said may be what takes so long
        try:
            return (
                _matching(definition, seed, known) if syntax == "regex" else _derived(syntax, definition, seed, known)
            )
        except PatternTimeoutError:
            continue
    raise Failure("bad_parameter", "Invalid grammar: a regular expression in it takes too long to match.")


def check(syntax: str, definition: str) -> None:
    """Raise Failure, with the place where there is one, if a grammar is broken."""
    if syntax == "regex":
        _pattern(definition)
    else:
        _grammar(syntax, definition)


@lru_cache(maxsize=64)
def _pattern(definition: str) -> Pattern:
    if len(definition) > _LONGEST_PATTERN:
        raise Failure("bad_parameter", f"Invalid grammar: it has more than {_LONGEST_PATTERN:,} characters.")
    try:
        return compile_pattern(definition)
    except InvalidPatternError as error:
        before = definition[: error.at]
        line, column = before.count("\n") + 1, error.at - before.rfind("\n")
        raise Failure("bad_parameter", f"Invalid grammar: {error}: line {line}, column {column}.") from None


@lru_cache(maxsize=64)
def _grammar(syntax: str, definition: str) -> Grammar:
    if syntax != "lark":
        raise Failure("bad_parameter", f"Invalid grammar: its syntax is 'lark' or 'regex', not {syntax[:50]!r}.")
    return grammar_of(definition)


def _matching(definition: str, seed: Seed, said: Mentions) -> str:
    """A text for a regular expression. Raises PatternTimeoutError."""
    pattern = _pattern(definition)
    mentioned = (phrase for phrase in phrases(said) if fullmatch(pattern, phrase))
    text = next(mentioned, None) or max(find_whole_words(definition, said.text), key=len, default=None)
    if text is None or not fullmatch(pattern, text):
        text = sample_text(pattern, seed.stream("regex"))
    if text is None:
        raise Failure("bad_parameter", "Invalid grammar: no text was found that the regular expression matches.")
    return text


def _derived(syntax: str, definition: str, seed: Seed, said: Mentions) -> str:
    """A text for a grammar. Raises PatternTimeoutError."""
    grammar = _grammar(syntax, definition)
    if grammar.start not in grammar.sizes:
        raise Failure("bad_parameter", "Invalid grammar: rule 'start' derives no text.")
    wanted = wishes(grammar, said)
    phrase, tokens = best_phrase(grammar, said)
    if tokens and tokens >= len(wanted):
        return phrase
    span, tokens = best_span(grammar, said.text)
    if tokens >= len(wanted) and (tokens > 1 or any(map(str.isdigit, span))):
        return span
    return _written(grammar, wanted, seed)


def _written(grammar: Grammar, wanted: tuple[Wish, ...], seed: Seed) -> str:
    """A derived text that is read as it was meant; the first there was, where the grammar has none of these."""
    first = None
    for variant in range(_VARIANTS):
        tokens = derivation(grammar, wanted, seed.stream("lark", str(variant)))
        for text in layouts(grammar, tokens):
            if derives(grammar, text):
                return text
            first = first or text
    return first or ""
