"""Opaque values that verify themselves: signatures, encrypted reasoning. No state is needed to check one.

They look like a provider's own, which clients only send back: base64 of much the same length. Inside is who made them,
hashes of what they vouch for (the **claims**), and a hash of it all. What somebody else made cannot be checked.
"""

from base64 import b64decode, b64encode, urlsafe_b64encode
from hashlib import blake2b

from msgspec import Struct

CLAIM = 12  # bytes of each claim


class SealError(ValueError):
    """No provider can have made this value: it was changed or cut, is another provider's, too short, or no base64."""


class Seal(Struct, frozen=True):
    """The values of one kind: `name` tells kinds apart, `front` is how the provider's own begin, `size` is in bytes."""

    name: str
    front: bytes
    size: int
    url_safe: bool = False

    def close(self, *claims: bytes) -> str:
        """Return the value that makes these claims, of `CLAIM` bytes each."""
        content = b"".join((self._head, bytes([len(claims)]), *claims))
        while len(content) < self.size - _CHECK:
            content += blake2b(content).digest()
        content = content[: self.size - _CHECK]
        encode = urlsafe_b64encode if self.url_safe else b64encode
        return encode(content + _check(content)).decode("ascii")

    def open(self, text: str) -> tuple[bytes, ...] | None:
        """Return the claims of a value that was made here; None for what somebody else made. Raises SealError."""
        raw = _decode(text)
        if len(raw) < _SHORTEST:
            raise SealError
        if raw.find(_MARK, 0, _FURTHEST) < 0:
            return None
        content = raw[:-_CHECK]
        head = self._head
        if not content.startswith(head) or len(raw) != self.size or raw[-_CHECK:] != _check(content):
            raise SealError
        start = len(head) + 1
        return tuple([content[start + CLAIM * at : start + CLAIM * (at + 1)] for at in range(content[len(head)])])

    @property
    def _head(self) -> bytes:
        return self.front + _MARK + blake2b(self.name.encode(), digest_size=2).digest()


def claim(*parts: bytes) -> bytes:
    """Return what a seal says of these bytes."""
    return blake2b(b"\0".join(parts), digest_size=CLAIM).digest()


def encode_text(text: str) -> bytes:
    """Return the bytes of a text, the same whether or not a client can write halves of characters."""
    return text.encode("utf-8", "replace").replace("\ufffd".encode(), b"?")


def _check(content: bytes) -> bytes:
    return blake2b(content, digest_size=_CHECK).digest()


def _decode(text: str) -> bytes:
    """Return the bytes of base64 in either alphabet, padded or not."""
    plain = text.translate(_STANDARD).rstrip("=")
    try:
        raw = b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except ValueError:
        raise SealError from None
    return raw


_MARK = b"mockserver"  # what values that were made here hold
_FURTHEST = 32  # up to where
_CHECK = 16  # bytes
_SHORTEST = 24  # bytes: what a provider signs is longer
_STANDARD = str.maketrans("-_", "+/")
