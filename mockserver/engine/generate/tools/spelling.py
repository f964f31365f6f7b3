"""Words with a slip of the keyboard, read as the known words that they are meant for.

Knows letters, no language: of two words that are both real it takes the known one only where nothing else is known.
"""

from collections.abc import Collection, Sequence


def mended(said: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """The words, those with one slip as the known words that they are meant for: `wether` as `weather`."""
    by_initial: dict[str, list[str]] = {}
    for word in sorted(known):
        if len(word) >= _SHORTEST:
            by_initial.setdefault(word[0], []).append(word)
    return tuple(_meant(word, by_initial.get(word[0], ())) if word not in known else word for word in said)


def _meant(word: str, alike: Sequence[str]) -> str:
    if not _SHORTEST <= len(word) <= _LONGEST:
        return word
    return next((other for other in alike if _is_slip(word, other)), word)


def _is_slip(word: str, meant: str) -> bool:
    """Whether a word is another with one letter more, less or changed, or two exchanged. An ending is no slip."""
    if abs(len(word) - len(meant)) > 1:
        return False
    at = next((at for at, (one, other) in enumerate(zip(word, meant, strict=False)) if one != other), -1)
    if at < 0:
        return False
    if len(word) > len(meant):
        return word[at + 1 :] == meant[at:]
    if len(word) < len(meant):
        return word[at:] == meant[at + 1 :]
    exchanged = word[at : at + 2] == meant[at : at + 2][::-1] and word[at + 2 :] == meant[at + 2 :]
    return exchanged or (len(word) > _SHORTEST and word[at + 1 :] == meant[at + 1 :] and at < len(word) - 1)


_SHORTEST, _LONGEST = 5, 24  # letters
