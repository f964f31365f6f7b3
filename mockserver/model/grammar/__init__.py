"""Texts that a client's grammar allows, for custom tools: taken from the prompt if it has one, else derived.

Every grammar, however large, is handled in bounded time or refused.
"""

from functools import lru_cache

from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model.arguments import NOTHING, Mentions
from mockserver.model.grammar.derivation import derive_tokens, find_phrase, find_prompt_tokens, phrases, typeset
from mockserver.model.grammar.notation import Grammar, load_grammar
from mockserver.model.patterns import (
    InvalidPatternError,
    Pattern,
    PatternTimeoutError,
    compile_pattern,
    find_whole_words,
    fullmatch,
    sample_text,
)

_MAX_PATTERN = 8_000  # characters


def text_of(syntax: str, definition: str, seed: Seed, said: Mentions = NOTHING) -> str:
    """Return a text that a grammar derives, from the prompt if possible.

    `syntax` is `regex` or `lark`, `definition` what the client wrote. Raises Failure if that is invalid, or if no text
    is found.
    """
    for known in (said, NOTHING):  # matching the prompt may be what takes so long
        try:
            return (
                _matching(definition, seed, known) if syntax == "regex" else _derived(syntax, definition, seed, known)
            )
        except PatternTimeoutError:
            continue
    raise Failure("bad_parameter", "Invalid grammar: a regular expression in it takes too long to match.")


@lru_cache(maxsize=64)
def _pattern(definition: str) -> Pattern:
    if len(definition) > _MAX_PATTERN:
        raise Failure("bad_parameter", f"Invalid grammar: it has more than {_MAX_PATTERN:,} characters.")
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
    return load_grammar(definition)


def _matching(definition: str, seed: Seed, said: Mentions) -> str:
    pattern = _pattern(definition)
    mentioned = (phrase for phrase in phrases(said) if fullmatch(pattern, phrase))
    text = next(mentioned, None) or max(find_whole_words(definition, said.text), key=len, default=None)
    if text is None or not fullmatch(pattern, text):
        text = sample_text(pattern, seed.stream("regex"))
    if text is None:
        raise Failure("bad_parameter", "Invalid grammar: no text was found that the regular expression matches.")
    return text


def _derived(syntax: str, definition: str, seed: Seed, said: Mentions) -> str:
    grammar = _grammar(syntax, definition)
    if grammar.start not in grammar.min_sizes:
        raise Failure("bad_parameter", "Invalid grammar: rule 'start' derives no text.")
    prompt_tokens = find_prompt_tokens(grammar, said)
    phrase = find_phrase(grammar, said, len(prompt_tokens))
    return phrase or typeset(grammar, derive_tokens(grammar, prompt_tokens, seed.stream("lark")))
