"""How the tokens of a derived text are set: with blanks between them where the grammar ignores blanks."""

from collections.abc import Iterator

from mockserver.engine.generate.grammar.bnf import Grammar
from mockserver.engine.generate.grammar.derivation import Token
from mockserver.engine.generate.patterns.trying import fits


def layouts(grammar: Grammar, tokens: list[Token]) -> Iterator[str]:
    """The ways to write tokens down, the best first. Raises SlowError."""
    blank = next((blank for blank in (" ", "\n", "\t") if _ignores(grammar, blank)), "")
    texts = [text for _, text in tokens]
    if blank:
        yield _set(texts, blank)
    yield blank.join(texts)


def _ignores(grammar: Grammar, blank: str) -> bool:
    return any(fits(grammar.terminals[name].pattern, blank) for name in grammar.ignored)


def _set(texts: list[str], blank: str) -> str:
    """The texts as people set them: no blanks inside brackets and before commas."""
    line = ""
    for text in texts:
        close = not line or line[-1] in _OPENING or text[:1] in _CLOSING or (text == "(" and line[-1:].islower())
        line += text if close or line[-1:].isspace() or text[:1].isspace() else blank + text
    return line


_OPENING, _CLOSING = "([{.", ",;:.)]}"
