"""The source of all randomness and time: labelled random streams, identifiers, clocks.

The only module that may import `random`, `time`, `uuid` or `secrets`; this rule keeps everything deterministic.
"""

import random
import secrets
import time
from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from threading import Event

from msgspec import Struct

FROZEN_AT = 1_700_000_000  # 2023-11-14T22:13:20Z: the time of a frozen clock
_ALNUM = bytes(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"[i % 62] for i in range(256))
_DIGITS = bytes(b"0123456789"[i % 10] for i in range(256))
_BASE58 = bytes(b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[i % 58] for i in range(256))


_seed: Callable[[random.Random, int], None] = vars(random.Random.__mro__[1])["seed"]


class Random(random.Random):
    """A stream of random numbers: the same as those of its base class."""

    gauss_next: float | None = None

    def __init__(self, value: int = 0) -> None:
        _seed(self, value)  # not by way of its base class, which looks at the type first

    def randbelow(self, bound: int) -> int:
        """Return what `randrange(bound)` does, but faster; `bound`: at least 1."""
        bits = bound.bit_length()
        number = self.getrandbits(bits)
        while number >= bound:
            number = self.getrandbits(bits)
        return number


class Seed(Struct, frozen=True):
    """One number from which every random choice follows; each consumer has a labelled stream of its own.

    `stream` is a noun because authors of generators write it in each of them: `seed.stream("dice").randint(1, 6)`.
    """

    value: int = 0

    def digest(self, *labels: str, size: int = 32) -> bytes:
        """Return `size` (1 to 64) bytes that depend on the seed and the labels only."""
        return blake2b(
            "\0".join((str(self.value), *labels)).encode("utf-8", "surrogatepass"), digest_size=size
        ).digest()

    def make_drawer(self, prefix: str, alphabet: str, length: int, *labels: str) -> Callable[[str], str]:
        """Return what draws identifiers for these labels and one more, as `draw_alnum` and the like do, but faster.

        `digits` are decimal ones; a `uuid` has 32 hex digits in five groups.
        """
        begun = blake2b("\0".join((str(self.value), *labels, "")).encode("utf-8", "surrogatepass"), digest_size=64)
        letters = {"alnum": _ALNUM, "base58": _BASE58, "digits": _DIGITS}.get(alphabet)

        def draw(label: str) -> str:
            state = begun.copy()
            state.update(label.encode())
            if letters is None:
                drawn = state.hexdigest()
                return prefix + (drawn[:length] if alphabet == "hex" else group_as_uuid(drawn[:32]))
            return prefix + state.digest()[:length].translate(letters).decode()

        return draw

    def stream(self, *labels: str) -> Random:
        """Return the random numbers that these labels stand for."""
        return Random(int.from_bytes(self.digest(*labels), "big"))

    def branch(self, *labels: str) -> "Seed":
        """Derive a seed of its own for these labels, whose streams nobody else draws from."""
        return Seed(int.from_bytes(self.digest("branch", *labels), "big"))

    def draw_fraction(self, *labels: str) -> float:
        """Draw a number from 0 up to, not including, 1."""
        return int.from_bytes(self.digest(*labels, size=7), "big") / (1 << 56)

    def draw_alnum(self, length: int, *labels: str) -> str:
        """Draw an identifier of `length` (up to 64) letters and digits."""
        return self.digest(*labels, size=64)[:length].translate(_ALNUM).decode("ascii")

    def draw_base58(self, length: int, *labels: str) -> str:
        """Draw an identifier of `length` (up to 64) letters and digits that are not easily mistaken for each other."""
        return self.digest(*labels, size=64)[:length].translate(_BASE58).decode("ascii")

    def draw_hex(self, length: int, *labels: str) -> str:
        """Draw an identifier of `length` (up to 128) hex digits."""
        return self.digest(*labels, size=64).hex()[:length]


def group_as_uuid(digits: str) -> str:
    """Return 32 hex digits in the groups of a UUID."""
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


class WallClock(Struct, frozen=True):
    """The time in answers: frozen at `at` (Unix seconds), or real if `at` is None."""

    at: int | None = FROZEN_AT

    def now(self) -> int:
        return int(time.time()) if self.at is None else self.at


def make_token() -> str:
    """Make a token that cannot be guessed: the only true randomness."""
    return secrets.token_urlsafe(24)


# Seconds on a clock that also runs while the machine sleeps: on macOS CLOCK_MONOTONIC does, time.monotonic does not.
_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
boottime = time.monotonic if _BOOTTIME is None else partial(time.clock_gettime, _BOOTTIME)


def pause(seconds: float | None = None) -> None:
    """Block this thread for some seconds, else until Ctrl-C, also while a test replaces `time.sleep`."""
    Event().wait(seconds)


monotonic = time.perf_counter  # seconds on a monotonic clock, for durations
wall = time.time  # Unix seconds by the real clock
