"""What is plausible for a property by what it is called: `customerName`, `order_total`, or a title of such words.

Only documentation's own names, hosts and numbers where persons are meant; the rest of the world comes from Faker.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TypeVar

from mockserver.core.seed import Random
from mockserver.engine.fakers import drawing
from mockserver.engine.generate.filler import phrase, sentence
from mockserver.engine.generate.instances.formats import FIRST, FORMATS, LAST, Draw, email, moment, one_of, uuid, word

T = TypeVar("T")


def plain_text(hints: tuple[str, ...], rng: Random) -> str:
    """A text for a property that is called this or described like this, the most telling hint first."""
    return _known(_TEXTS, hints, _phrase)(rng)


def natural_range(hints: tuple[str, ...]) -> tuple[float, float]:
    """The range of numbers that is natural for what is called this."""
    return _known(_NUMBERS, hints, (1, 100))


def _known(table: Mapping[str, T], hints: tuple[str, ...], default: T) -> T:
    """What the table holds for the last word, or last two words, that it knows of the first telling hint."""
    for hint in hints:
        for one in _words(hint):
            if one in table:
                return table[one]
    return default


def _words(hint: str) -> Iterator[str]:
    """The words of a name from the last to the first, each after the pair that it ends."""
    words = [found.lower() for found in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", hint[:_LONGEST_HINT])]
    for at in range(len(words) - 1, -1, -1):
        if at:
            yield f"{words[at - 1]} {words[at]}"
        yield words[at]
        if words[at].endswith("s"):
            yield words[at][:-1]


def _phrase(rng: Random) -> str:
    return phrase(rng, rng.randrange(1, 4))


def _faked(name: str) -> Draw:
    """Draws from one of Faker's values."""

    def draw(rng: Random) -> str:
        with drawing(rng) as faker:
            return str(getattr(faker, name)()).replace("\n", ", ")

    return draw


def _identifier(rng: Random) -> str:
    return f"{rng.getrandbits(48):012x}"


def _code(rng: Random) -> str:
    return f"{''.join(rng.choice('ABCDEFGHJKLMNPQRSTUVWXYZ') for _ in range(3))}-{rng.randrange(1000, 10_000)}"


def _slug(rng: Random) -> str:
    return f"{word(rng)}-{word(rng)}"


def _title(rng: Random) -> str:
    return phrase(rng, rng.randrange(2, 5)).title()


_LONGEST_HINT = 200
_PHONE: Draw = lambda rng: f"+1-555-01{rng.randrange(100):02}"  # noqa: E731
_NAME: Draw = lambda rng: f"{FIRST(rng)} {LAST(rng)}"  # noqa: E731
_SITE: Draw = FORMATS["uri"]
_THING = one_of("Notebook", "Desk Lamp", "Coffee Grinder", "Rain Jacket", "Bicycle Bell", "Teapot", "Field Guide")

_TEXTS: dict[str, Draw] = {
    "abstract": sentence,
    "action": one_of("create", "update", "delete", "search", "send"),
    "address": lambda rng: f"{rng.randrange(1, 200)} Mill Lane",
    "airport": one_of("LIS", "OSL", "NBO", "LIM", "YYZ", "LEJ", "HBA"),
    "answer": sentence,
    "author": _NAME,
    "avatar": lambda rng: f"https://example.com/{word(rng)}.png",
    "birthday": FORMATS["date"],
    "body": sentence,
    "brand": one_of("Example Works", "Acme", "Northwind", "Contoso", "Initech"),
    "category": one_of("books", "garden", "kitchen", "music", "sports", "travel", "tools"),
    "city": one_of("Lisbon", "Oslo", "Nairobi", "Kyoto", "Lima", "Toronto", "Leipzig", "Hobart"),
    "code": _code,
    "color": one_of("red", "green", "blue", "yellow", "black", "white"),
    "colour": one_of("red", "green", "blue", "yellow", "black", "white"),
    "comment": sentence,
    "company": one_of("Example Works", "Acme", "Northwind", "Contoso", "Initech"),
    "content": sentence,
    "country": one_of("Portugal", "Norway", "Kenya", "Japan", "Peru", "Canada", "Germany", "Australia"),
    "country code": one_of("PT", "NO", "KE", "JP", "PE", "CA", "DE", "AU"),
    "currency": one_of("EUR", "USD", "GBP", "JPY"),
    "date": FORMATS["date"],
    "datetime": FORMATS["date-time"],
    "department": one_of("Sales", "Engineering", "Finance", "Support", "Research"),
    "description": sentence,
    "destination": one_of("Lisbon", "Oslo", "Nairobi", "Kyoto", "Lima", "Toronto", "Leipzig", "Hobart"),
    "domain": FORMATS["hostname"],
    "email": email,
    "explanation": sentence,
    "extension": _faked("file_extension"),
    "field": word,
    "file": _faked("file_name"),
    "file name": _faked("file_name"),
    "filename": _faked("file_name"),
    "path": _faked("file_path"),
    "first": FIRST,
    "first name": FIRST,
    "firstname": FIRST,
    "full name": _NAME,
    "given name": FIRST,
    "family name": LAST,
    "gender": one_of("female", "male", "other"),
    "genre": one_of("fantasy", "history", "jazz", "mystery", "poetry", "science"),
    "guid": uuid,
    "hash": lambda rng: f"{rng.getrandbits(160):040x}",
    "host": FORMATS["hostname"],
    "hostname": FORMATS["hostname"],
    "icon": word,
    "id": _identifier,
    "image": lambda rng: f"https://example.com/{word(rng)}.png",
    "ip": FORMATS["ipv4"],
    "isbn": _faked("isbn13"),
    "item": _THING,
    "job": _faked("job"),
    "key": _slug,
    "keyword": word,
    "label": word,
    "language": one_of("English", "German", "Portuguese", "Japanese", "Swahili"),
    "language code": one_of("en", "de", "pt", "ja", "sw"),
    "last": LAST,
    "last name": LAST,
    "lastname": LAST,
    "surname": LAST,
    "license": one_of("MIT", "Apache-2.0", "BSD-3-Clause"),
    "link": _SITE,
    "locale": one_of("en-US", "de-DE", "pt-PT", "ja-JP"),
    "location": one_of("Lisbon", "Oslo", "Nairobi", "Kyoto", "Lima", "Toronto", "Leipzig", "Hobart"),
    "message": sentence,
    "method": one_of("GET", "POST", "PUT", "DELETE"),
    "mime": _faked("mime_type"),
    "mime type": _faked("mime_type"),
    "mobile": _PHONE,
    "name": _NAME,
    "company name": one_of("Example Works", "Acme", "Northwind", "Contoso", "Initech"),
    "city name": one_of("Lisbon", "Oslo", "Nairobi", "Kyoto", "Lima", "Toronto", "Leipzig", "Hobart"),
    "product name": _THING,
    "item name": _THING,
    "user name": lambda rng: f"{FIRST(rng)}_{rng.randrange(10, 100)}".lower(),
    "note": sentence,
    "occupation": _faked("job"),
    "origin": one_of("Lisbon", "Oslo", "Nairobi", "Kyoto", "Lima", "Toronto", "Leipzig", "Hobart"),
    "paragraph": sentence,
    "phone": _PHONE,
    "phone number": _PHONE,
    "postal code": _faked("postcode"),
    "postcode": _faked("postcode"),
    "product": _THING,
    "profession": _faked("job"),
    "query": _phrase,
    "question": lambda rng: f"{sentence(rng).rstrip('.!?')}?",
    "reason": sentence,
    "reasoning": sentence,
    "rationale": sentence,
    "region": _faked("state"),
    "role": one_of("admin", "editor", "member", "viewer"),
    "season": one_of("spring", "summer", "autumn", "winter"),
    "sku": _code,
    "slug": _slug,
    "state": _faked("state"),
    "status": one_of("active", "pending", "done", "cancelled"),
    "street": lambda rng: f"{rng.randrange(1, 200)} Mill Lane",
    "subject": _title,
    "subtitle": _title,
    "summary": sentence,
    "tag": word,
    "text": sentence,
    "thought": sentence,
    "time": lambda rng: moment(rng).strftime("%H:%M"),
    "timestamp": FORMATS["date-time"],
    "created at": FORMATS["date-time"],
    "updated at": FORMATS["date-time"],
    "timezone": one_of("UTC", "Europe/Lisbon", "Asia/Tokyo", "America/Lima"),
    "title": _title,
    "token": lambda rng: f"{rng.getrandbits(128):032x}",
    "topic": _phrase,
    "unit": one_of("celsius", "metre", "gram", "litre"),
    "uri": _SITE,
    "url": _SITE,
    "user": lambda rng: FIRST(rng).lower(),
    "username": lambda rng: f"{FIRST(rng)}_{rng.randrange(10, 100)}".lower(),
    "uuid": uuid,
    "version": lambda rng: f"{rng.randrange(1, 5)}.{rng.randrange(10)}.{rng.randrange(10)}",
    "website": _SITE,
    "zip": _faked("postcode"),
    "zip code": _faked("postcode"),
}

_NUMBERS: dict[str, tuple[float, float]] = {
    "age": (18, 80),
    "confidence": (0, 1),
    "day": (1, 28),
    "hour": (0, 23),
    "latitude": (-60, 70),
    "lat": (-60, 70),
    "longitude": (-180, 180),
    "lng": (-180, 180),
    "lon": (-180, 180),
    "minute": (0, 59),
    "month": (1, 12),
    "percent": (0, 100),
    "percentage": (0, 100),
    "port": (1024, 9999),
    "price": (1, 200),
    "probability": (0, 1),
    "quantity": (1, 9),
    "rating": (1, 5),
    "salary": (30_000, 120_000),
    "score": (0, 1),
    "second": (0, 59),
    "step": (1, 9),
    "temperature": (-10, 35),
    "timestamp": (1_690_000_000, 1_700_000_000),
    "total": (1, 500),
    "year": (1990, 2023),
}
