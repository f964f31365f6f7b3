"""Texts of JSON Schema's formats, of a given length if the format allows it.

Hosts, names and numbers are documentation's own: example.com, 192.0.2.0/24, 2001:db8::/32.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from math import inf

from mockserver.core.seed import FROZEN_AT, Random
from mockserver.model.fillers import phrase

Draw = Callable[[Random], str]


def format_text(kind: str, rng: Random, *, least: int = 0, most: float = inf) -> str | None:
    """A text of a format, if possible of so many characters; None for an unknown format."""
    if kind not in FORMATS:
        return None
    text = FORMATS[kind](rng)
    if len(text) > most:
        text = next((short for short in _SHORT.get(kind, ()) if least <= len(short) <= most), text)
    if len(text) < least:
        text = _LENGTHEN[kind](text, least) if kind in _LENGTHEN else text
    return text


def past_moment(rng: Random) -> datetime:
    """A time in the year before the frozen clock."""
    return datetime.fromtimestamp(FROZEN_AT, UTC) - timedelta(seconds=rng.randrange(365 * 86_400))


def one_of(*values: str) -> Draw:
    """Draw one of some texts."""
    return lambda rng: values[rng.randrange(len(values))]


def email(rng: Random) -> str:
    """An address at example.com."""
    return f"{FIRST_NAME(rng)}.{LAST_NAME(rng)}@example.com".lower()


def uuid(rng: Random) -> str:
    """A UUID of version 4."""
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def word(rng: Random) -> str:
    """One word in lower case."""
    return phrase(rng, 1).lower()


def _append(text: str, length: int) -> str:
    return text + "a" * (length - len(text))


def _lengthen_email(text: str, length: int) -> str:
    """Lengthen the local part, which has at most 64 characters, then the host."""
    local, _, host = text.partition("@")
    grown = local.rjust(min(64, len(local) + length - len(text)), "a")
    return f"{grown}@{_lengthen_host(host, length - len(grown) - 1)}"


def _lengthen_host(text: str, length: int) -> str:
    """Add labels, which have at most 63 characters."""
    while (missing := length - len(text)) > 0:
        text = f"{'a' * max(1, min(60, missing - 1))}.{text}"
    return text


def _lengthen_time(text: str, length: int) -> str:
    """Add decimals to the seconds."""
    return f"{text.removesuffix('Z')}.{'0' * max(1, length - len(text) - 1)}Z"


FIRST_NAME = one_of("Ada", "Grace", "Alan", "Mary", "Edsger", "Barbara", "Linus", "Radia")
LAST_NAME = one_of("Lovelace", "Hopper", "Turing", "Shelley", "Dijkstra", "Liskov", "Okafor", "Perlman")

FORMATS: dict[str, Draw] = {
    "date": lambda rng: past_moment(rng).date().isoformat(),
    "date-time": lambda rng: past_moment(rng).strftime("%Y-%m-%dT%H:%M:%SZ"),
    "time": lambda rng: past_moment(rng).strftime("%H:%M:%SZ"),
    "duration": lambda rng: f"P{rng.randrange(1, 30)}D",
    "email": email,
    "idn-email": email,
    "hostname": lambda rng: f"{word(rng)}.example.com",
    "idn-hostname": lambda rng: f"{word(rng)}.example.com",
    "ipv4": lambda rng: f"192.0.2.{rng.randrange(1, 255)}",
    "ipv6": lambda rng: f"2001:db8::{rng.randrange(1, 65_536):x}",
    "uri": lambda rng: f"https://example.com/{word(rng)}",
    "uri-reference": lambda rng: f"https://example.com/{word(rng)}",
    "iri": lambda rng: f"https://example.com/{word(rng)}",
    "iri-reference": lambda rng: f"https://example.com/{word(rng)}",
    "uri-template": lambda rng: f"https://example.com/{word(rng)}/{{id}}",
    "url": lambda rng: f"https://example.com/{word(rng)}",
    "uuid": uuid,
    "json-pointer": lambda rng: f"/{word(rng)}/{rng.randrange(10)}",
    "relative-json-pointer": lambda rng: f"{rng.randrange(1, 4)}/{word(rng)}",
    "regex": lambda rng: f"^{word(rng)}-[0-9]+$",
}

_SHORT: dict[str, tuple[str, ...]] = {
    "email": ("ada@example.com", "a@b.co", "a@b"),
    "idn-email": ("ada@example.com", "a@b.co", "a@b"),
    "hostname": ("example.com", "a.co", "a"),
    "idn-hostname": ("example.com", "a.co", "a"),
    "ipv4": ("192.0.2.1", "1.1.1.1"),
    "ipv6": ("2001:db8::1", "::1", "::"),
    "uri": ("https://example.com", "http://a.co", "a:b", "a:"),
    "iri": ("https://example.com", "http://a.co", "a:b", "a:"),
    "url": ("https://example.com", "http://a.co", "a:b", "a:"),
    "uri-reference": ("https://example.com", "/a", "a", ""),
    "iri-reference": ("https://example.com", "/a", "a", ""),
    "uri-template": ("/{id}", "a", ""),
    "json-pointer": ("/a", ""),
    "relative-json-pointer": ("1/a", "0"),
    "regex": ("^a$", "a", ""),
    "duration": ("P1D",),
}
_LENGTHEN: dict[str, Callable[[str, int], str]] = {
    **dict.fromkeys(("uri", "uri-reference", "iri", "iri-reference", "uri-template", "url"), _append),
    **dict.fromkeys(("json-pointer", "relative-json-pointer", "regex"), _append),
    **dict.fromkeys(("email", "idn-email"), _lengthen_email),
    **dict.fromkeys(("hostname", "idn-hostname"), _lengthen_host),
    **dict.fromkeys(("date-time", "time"), _lengthen_time),
    "duration": lambda text, length: f"P{'1' * min(9, length - 2)}D",
}
