"""Small sets of words, as they are written down in tables."""


def vocabulary(words: str) -> frozenset[str]:
    """The words of a line."""
    return frozenset(words.split())
