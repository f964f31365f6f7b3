"""Plausible values by what a property is called (`customerName`, `order_total`), and texts of JSON Schema's formats.

People, hosts and numbers are documentation's own: example.com, 192.0.2.0/24, +1-555-01. The rest comes from Faker.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from mockserver.core.seed import FROZEN_AT, Random
from mockserver.model.faker import drawing
from mockserver.model.fillers import noun, phrase, remark, thing

T = TypeVar("T")
D = TypeVar("D")
Draw = Callable[[Random], str]


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


def plain_text(hints: tuple[str, ...], rng: Random) -> str:
    """A text for a property with these names and descriptions, the most telling first."""
    return _lookup(TEXTS, hints, thing)(rng)


def known_text(name: str, rng: Random) -> str | None:
    """A text or a number for a name that says what its value is."""
    draw = _lookup(TEXTS, (name,), None)
    if draw is not None:
        return draw(rng)
    bounds = _lookup(_NUMBERS, (name,), None)
    if bounds is None:
        return None
    low, high = bounds
    return str(rng.randrange(int(low), int(high) + 1)) if high > 1 else f"{low + (high - low) * rng.random():.2f}"


def natural_range(hints: tuple[str, ...]) -> tuple[float, float]:
    """The usual range of numbers with these names."""
    return _lookup(_NUMBERS, hints, (1, 100))


def _lookup(table: Mapping[str, T], hints: tuple[str, ...], default: D) -> T | D:
    """The entry for the last one or two words known of the first hint that has any."""
    return next((table[words] for hint in hints for words in _endings(hint) if words in table), default)


def _endings(hint: str) -> Iterator[str]:
    """The words of a name from the last to the first, each after the pair that it ends."""
    words = [found.lower() for found in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", hint[:_MAX_HINT])]
    for at in range(len(words) - 1, -1, -1):
        if at:
            yield f"{words[at - 1]} {words[at]}"
        yield words[at]
        if words[at].endswith("s"):
            yield words[at][:-1]


def _fake(name: str) -> Draw:
    def draw(rng: Random) -> str:
        with drawing(rng) as faker:
            return str(getattr(faker, name)()).replace("\n", ", ")

    return draw


def _code(rng: Random) -> str:
    return f"{''.join(rng.choice('ABCDEFGHJKLMNPQRSTUVWXYZ') for _ in range(3))}-{rng.randrange(1000, 10_000)}"


def _full_name(rng: Random) -> str:
    return f"{FIRST_NAME(rng)} {LAST_NAME(rng)}"


def _user_name(rng: Random) -> str:
    return f"{FIRST_NAME(rng)}_{rng.randrange(10, 100)}".lower()


_MAX_HINT = 200

_NAMES_OF_TEXTS: tuple[tuple[str, Draw], ...] = (
    (
        "abstract, advice, analysis, answer, body, caption, comment, conclusion, content, description, details, "
        "evidence, excerpt, explanation, feedback, instruction, justification, message, note, observation, overview, "
        "paragraph, punchline, rationale, reason, reasoning, reflection, reply, review, setup, snippet, statement, "
        "story, suggestion, summary, text, thought",
        remark,
    ),
    (
        "assignee, author, ceo, client, customer, director, employee, full name, guest, inventor, manager, name, "
        "owner, patient, recipient, reviewer, sender, speaker, student, teacher, winner",
        _full_name,
    ),
    ("first, first name, firstname, given name", FIRST_NAME),
    ("last, last name, lastname, family name, surname", LAST_NAME),
    ("user", lambda rng: FIRST_NAME(rng).lower()),
    ("user name, username", _user_name),
    ("email", email),
    ("mobile, phone, phone number", lambda rng: f"+1-555-01{rng.randrange(100):02}"),
    (
        "city, city name, destination, location, origin",
        one_of("Lisbon", "Oslo", "Nairobi", "Kyoto", "Lima", "Toronto", "Leipzig", "Hobart"),
    ),
    ("country", one_of("Portugal", "Norway", "Kenya", "Japan", "Peru", "Canada", "Germany", "Australia")),
    ("country code", one_of("PT", "NO", "KE", "JP", "PE", "CA", "DE", "AU")),
    ("airport", one_of("LIS", "OSL", "NBO", "LIM", "YYZ", "LEJ", "HBA")),
    ("address, street", lambda rng: f"{rng.randrange(1, 200)} Mill Lane"),
    ("postal code, postcode, zip, zip code", _fake("postcode")),
    ("region, state", _fake("state")),
    ("timezone", one_of("UTC", "Europe/Lisbon", "Asia/Tokyo", "America/Lima")),
    ("brand, company, company name", one_of("Example Works", "Acme", "Northwind", "Contoso", "Initech")),
    ("department", one_of("Sales", "Engineering", "Finance", "Support", "Research")),
    ("job, occupation, profession", _fake("job")),
    ("role", one_of("admin", "editor", "member", "viewer")),
    ("gender", one_of("female", "male", "other")),
    ("language", one_of("English", "German", "Portuguese", "Japanese", "Swahili")),
    ("language code", one_of("en", "de", "pt", "ja", "sw")),
    ("locale", one_of("en-US", "de-DE", "pt-PT", "ja-JP")),
    ("currency", one_of("EUR", "USD", "GBP", "JPY")),
    ("unit", one_of("celsius", "metre", "gram", "litre")),
    ("color, colour", one_of("red", "green", "blue", "yellow", "black", "white")),
    ("season", one_of("spring", "summer", "autumn", "winter")),
    ("genre", one_of("fantasy", "history", "jazz", "mystery", "poetry", "science")),
    ("category", one_of("books", "garden", "kitchen", "music", "sports", "travel", "tools")),
    (
        "item, item name, product, product name",
        one_of("Notebook", "Desk Lamp", "Coffee Grinder", "Rain Jacket", "Bicycle Bell", "Teapot", "Field Guide"),
    ),
    ("action", one_of("create", "update", "delete", "search", "send")),
    ("method", one_of("GET", "POST", "PUT", "DELETE")),
    ("status", one_of("active", "pending", "done", "cancelled")),
    ("license", one_of("MIT", "Apache-2.0", "BSD-3-Clause")),
    ("birthday, date", FORMATS["date"]),
    ("created at, datetime, timestamp, updated at", FORMATS["date-time"]),
    ("time", lambda rng: past_moment(rng).strftime("%H:%M")),
    ("link, uri, url, website", FORMATS["uri"]),
    ("avatar, image", lambda rng: f"https://example.com/{word(rng)}.png"),
    ("domain, host, hostname", FORMATS["hostname"]),
    ("ip", FORMATS["ipv4"]),
    ("file, file name, filename", _fake("file_name")),
    ("extension", _fake("file_extension")),
    ("path", _fake("file_path")),
    ("mime, mime type", _fake("mime_type")),
    ("isbn", _fake("isbn13")),
    ("guid, uuid", uuid),
    ("id", lambda rng: f"{rng.getrandbits(48):012x}"),
    ("hash", lambda rng: f"{rng.getrandbits(160):040x}"),
    ("token", lambda rng: f"{rng.getrandbits(128):032x}"),
    ("code, sku", _code),
    ("key, slug", lambda rng: f"{word(rng)}-{word(rng)}"),
    ("version", lambda rng: f"{rng.randrange(1, 5)}.{rng.randrange(10)}.{rng.randrange(10)}"),
    ("field, icon, keyword", word),
    ("label, tag", noun),
    ("query, topic", thing),
    ("question", lambda rng: f"What is known of the {thing(rng)}?"),
    ("subject, subtitle, title", lambda rng: thing(rng).title()),
)
TEXTS: dict[str, Draw] = {name: draw for names, draw in _NAMES_OF_TEXTS for name in names.split(", ")}
_NAMES_OF_NUMBERS: dict[tuple[float, float], str] = {
    (0, 1): "confidence, probability, score",
    (0, 23): "hour",
    (0, 59): "minute, second",
    (0, 100): "percent, percentage",
    (1, 5): "rating",
    (1, 9): "quantity, step",
    (1, 12): "month",
    (1, 28): "day",
    (1, 200): "price",
    (1, 500): "total",
    (18, 80): "age",
    (1024, 9999): "port",
    (1990, 2023): "year",
    (30_000, 120_000): "salary",
    (1_690_000_000, 1_700_000_000): "timestamp",
    (-10, 35): "temperature",
    (-60, 70): "lat, latitude",
    (-180, 180): "lng, lon, longitude",
}
_NUMBERS = {name: bounds for bounds, names in _NAMES_OF_NUMBERS.items() for name in names.split(", ")}
