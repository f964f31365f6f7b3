"""What looks like a secret and may be recorded nevertheless: by a pattern, or by a hash that tells nothing of it."""

from dataclasses import dataclass
from hashlib import sha256

from mockserver.core.errors import ConfigError

HASH = "sha256:"
SHOWN, LEAST = 16, 8  # hexadecimal digits of a hash that are offered, and that are needed


@dataclass(frozen=True, slots=True)
class Allowed:
    """Texts with `*` as wildcard (`\\*` for a star), and beginnings of the SHA-256 of a value."""

    hashes: tuple[str, ...] = ()
    patterns: tuple[tuple[str, ...], ...] = ()  # the pieces between the wildcards

    def __contains__(self, value: str) -> bool:
        if self.hashes and _hash(value).startswith(self.hashes):
            return True
        return any(_fits(pieces, value) for pieces in self.patterns)


def allowed(entries: tuple[str, ...]) -> Allowed:
    """What the setting allow_secrets allows. Raises ConfigError."""
    hashes = tuple(entry.removeprefix(HASH).lower() for entry in entries if entry.startswith(HASH))
    for digits in hashes:
        if not LEAST <= len(digits) <= 64 or set(digits) - set("0123456789abcdef"):
            raise ConfigError(
                f"allow_secrets: {HASH}{digits} must have {LEAST} to 64 hexadecimal digits after {HASH}, as reports "
                "of what looks like a secret show them"
            )
    return Allowed(hashes, tuple(_pieces(entry) for entry in entries if not entry.startswith(HASH)))


def entry_of(value: str) -> str:
    """What to write into allow_secrets for a value, without telling it."""
    return HASH + _hash(value)[:SHOWN]


def _hash(value: str) -> str:
    return sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def _pieces(pattern: str) -> tuple[str, ...]:
    star = "\0"
    return tuple(piece.replace(star, "*") for piece in pattern.replace("\\*", star).split("*"))


def _fits(pieces: tuple[str, ...], value: str) -> bool:
    """Whether the pieces stand one after the other in a value, the first at its beginning, the last at its end."""
    if len(pieces) == 1:
        return value == pieces[0]
    first, *middle, last = pieces
    at, end = len(first), len(value) - len(last)
    if at > end or not value.startswith(first) or not value.endswith(last):
        return False
    for piece in middle:
        at = value.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True
