"""Strings and numbers within a schema's bounds, plausible by the name of the property that they are for."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from math import ceil, floor, inf
from typing import TypeVar

from mockserver.core.call import Json
from mockserver.core.seed import FROZEN_AT, Random
from mockserver.engine.generate.prose import phrase

T = TypeVar("T")
Draw = Callable[[Random], str]


class DeadEndError(Exception):
    """No value can be made here: impossible, too large or too deep."""


def _string(schema: Mapping[str, Json], name: str, rng: Random) -> Json:
    kind = schema.get("format")
    if isinstance(schema.get("pattern"), str):
        return _by_pattern(schema["pattern"], rng)
    if kind in _FORMATS:
        return _FORMATS[kind](rng)
    least = schema.get("minLength", 0)
    if least > _LONGEST:
        raise DeadEndError
    made = _by_name(_WORDS, name, _plain)(rng)
    while len(made) < least:
        made += " " + phrase(rng, 1)
    return made[: schema.get("maxLength", len(made))]


def _by_pattern(pattern: str, rng: Random) -> str:
    from mockserver.engine.generate.pattern import matching  # few schemas have patterns

    made = matching(pattern, rng)
    if made is None:
        raise DeadEndError
    return made


def _number(schema: Mapping[str, Json], name: str, rng: Random) -> Json:
    if "multipleOf" in schema:
        return _multiple(schema, name, rng)
    low, high = _range(schema, name, 0.0)
    drawn = low + (high - low) * (0.1 + 0.8 * rng.random())
    return rounded if low < (rounded := round(drawn, 2)) < high else drawn


def _integer(schema: Mapping[str, Json], name: str, rng: Random) -> Json:
    if "multipleOf" in schema:
        return _multiple(schema, name, rng)
    low, high = _range(schema, name, 1)
    return _whole(ceil(low), floor(high), rng)


def _multiple(schema: Mapping[str, Json], name: str, rng: Random) -> Json:
    step = schema["multipleOf"]
    low, high = _range(schema, name, step)
    first = ceil(low / step)
    made = step * _whole(first, max(first, floor(high / step)), rng)
    return made if isinstance(made, int) else round(made, 9)


def _whole(low: int, high: int, rng: Random) -> int:
    if low > high:
        raise DeadEndError
    return rng.randrange(low, high + 1)


def _range(schema: Mapping[str, Json], name: str, beyond: float) -> tuple[float, float]:
    """The natural range of the name, moved and narrowed to what is allowed; `beyond` keeps off an excluded bound."""
    low, high = _by_name(_NUMBERS, name, (1, 100))
    least = max([*_bound(schema, "minimum", 0), *_bound(schema, "exclusiveMinimum", beyond)], default=-inf)
    most = min([*_bound(schema, "maximum", 0), *_bound(schema, "exclusiveMaximum", -beyond)], default=inf)
    if least > high:
        low, high = least, least + high - low
    elif most < low:
        low, high = most - high + low, most
    return max(low, least), min(high, most)


def _bound(schema: Mapping[str, Json], key: str, shift: float) -> list[float]:
    stated = schema.get(key)  # a boolean in draft 4, where it is about the other keyword
    return [] if stated is None or isinstance(stated, bool) else [stated + shift]


def _by_name(table: Mapping[str, T], name: str, default: T) -> T:
    """What a table holds for the last word of the name that it knows: `customerName` and `customer_name` are names."""
    words = (word.lower() for word in reversed(re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)))
    return next((table[word] for word in words if word in table), default)


def _moment(rng: Random) -> datetime:
    """A time in the year before the clock stands still."""
    return datetime.fromtimestamp(FROZEN_AT, UTC) - timedelta(seconds=rng.randrange(365 * 86_400))


def _plain(rng: Random) -> str:
    return phrase(rng, rng.randrange(1, 4))


def _one_of(*values: str) -> Draw:
    return lambda rng: values[rng.randrange(len(values))]


def _email(rng: Random) -> str:
    return f"{_FIRST(rng)}.{_LAST(rng)}@example.com".lower()


def _uuid(rng: Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


_LONGEST = 20_000  # characters of a string
_FIRST = _one_of("Ada", "Grace", "Alan", "Mary", "Edsger", "Barbara", "Linus", "Radia")
_LAST = _one_of("Lovelace", "Hopper", "Turing", "Shelley", "Dijkstra", "Liskov", "Okafor", "Perlman")

_FORMATS: dict[str, Draw] = {
    "date": lambda rng: _moment(rng).date().isoformat(),
    "date-time": lambda rng: _moment(rng).strftime("%Y-%m-%dT%H:%M:%SZ"),
    "time": lambda rng: _moment(rng).strftime("%H:%M:%SZ"),
    "duration": lambda rng: f"P{rng.randrange(1, 30)}D",
    "email": _email,
    "hostname": lambda rng: f"{phrase(rng, 1)}.example.com".lower(),
    "ipv4": lambda rng: f"192.0.2.{rng.randrange(1, 255)}",
    "ipv6": lambda rng: f"2001:db8::{rng.randrange(1, 65_536):x}",
    "uri": lambda rng: f"https://example.com/{phrase(rng, 1)}".lower(),
    "uuid": _uuid,
}

# What properties of these names hold; only documentation's own names, hosts and numbers.
_WORDS: dict[str, Draw] = {
    "address": lambda rng: f"{rng.randrange(1, 200)} Mill Lane",
    "city": _one_of("Lisbon", "Oslo", "Nairobi", "Kyoto", "Lima", "Toronto", "Leipzig", "Hobart"),
    "color": _one_of("red", "green", "blue", "yellow", "black", "white"),
    "country": _one_of("Portugal", "Norway", "Kenya", "Japan", "Peru", "Canada", "Germany", "Australia"),
    "currency": _one_of("EUR", "USD", "GBP", "JPY"),
    "date": _FORMATS["date"],
    "email": _email,
    "first": _FIRST,
    "id": lambda rng: f"{rng.getrandbits(48):012x}",
    "language": _one_of("English", "German", "Portuguese", "Japanese", "Swahili"),
    "last": _LAST,
    "location": _one_of("Lisbon", "Oslo", "Nairobi", "Kyoto", "Lima", "Toronto", "Leipzig", "Hobart"),
    "name": lambda rng: f"{_FIRST(rng)} {_LAST(rng)}",
    "phone": lambda rng: f"+1-555-01{rng.randrange(100):02}",
    "time": lambda rng: _moment(rng).strftime("%H:%M"),
    "timezone": _one_of("UTC", "Europe/Lisbon", "Asia/Tokyo", "America/Lima"),
    "unit": _one_of("celsius", "metre", "gram", "litre"),
    "url": _FORMATS["uri"],
}

_NUMBERS: dict[str, tuple[float, float]] = {
    "age": (18, 80),
    "confidence": (0, 1),
    "day": (1, 28),
    "latitude": (-60, 70),
    "longitude": (-180, 180),
    "month": (1, 12),
    "percent": (0, 100),
    "probability": (0, 1),
    "quantity": (1, 9),
    "rating": (1, 5),
    "score": (0, 1),
    "temperature": (-10, 35),
    "year": (1990, 2023),
}

SCALARS: dict[str, Callable[[Mapping[str, Json], str, Random], Json]] = {
    "string": _string,
    "number": _number,
    "integer": _integer,
    "boolean": lambda schema, name, rng: rng.random() < 0.5,
    "null": lambda schema, name, rng: None,
}
