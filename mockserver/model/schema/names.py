"""What is plausible for a property by what it is called: `customerName`, `order_total`, or a title of such words.

Only documentation's own names, hosts and numbers where persons are meant; the rest of the world comes from Faker.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TypeVar

from mockserver.core.seed import Random
from mockserver.model.faker import drawing
from mockserver.model.fillers import noun, remark, thing
from mockserver.model.schema.formats import FIRST, FORMATS, LAST, Draw, email, moment, one_of, uuid, word

T = TypeVar("T")
D = TypeVar("D")


def plain_text(hints: tuple[str, ...], rng: Random) -> str:
    """A text for a property that is called this or described like this, the most telling hint first."""
    return _known(_TEXTS, hints, thing)(rng)


def known_text(name: str, rng: Random) -> str | None:
    """A text or a number for what is called this, if the name says what it should be."""
    draw = _known(_TEXTS, (name,), None)
    if draw is not None:
        return draw(rng)
    bounds = _known(_NUMBERS, (name,), None)
    if bounds is None:
        return None
    low, high = bounds
    return str(rng.randrange(int(low), int(high) + 1)) if high > 1 else f"{low + (high - low) * rng.random():.2f}"


def natural_range(hints: tuple[str, ...]) -> tuple[float, float]:
    """The range of numbers that is natural for what is called this."""
    return _known(_NUMBERS, hints, (1, 100))


def _known(table: Mapping[str, T], hints: tuple[str, ...], default: D) -> T | D:
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
    return thing(rng).title()


_LONGEST_HINT = 200
_PHONE: Draw = lambda rng: f"+1-555-01{rng.randrange(100):02}"  # noqa: E731
_NAME: Draw = lambda rng: f"{FIRST(rng)} {LAST(rng)}"  # noqa: E731
_SITE: Draw = FORMATS["uri"]
_NOUN: Draw = noun
_THING = one_of("Notebook", "Desk Lamp", "Coffee Grinder", "Rain Jacket", "Bicycle Bell", "Teapot", "Field Guide")

_TEXTS: dict[str, Draw] = {
    "abstract": remark,
    "action": one_of("create", "update", "delete", "search", "send"),
    "address": lambda rng: f"{rng.randrange(1, 200)} Mill Lane",
    "advice": remark,
    "airport": one_of("LIS", "OSL", "NBO", "LIM", "YYZ", "LEJ", "HBA"),
    "analysis": remark,
    "answer": remark,
    "assignee": _NAME,
    "author": _NAME,
    "avatar": lambda rng: f"https://example.com/{word(rng)}.png",
    "birthday": FORMATS["date"],
    "body": remark,
    "brand": one_of("Example Works", "Acme", "Northwind", "Contoso", "Initech"),
    "caption": remark,
    "category": one_of("books", "garden", "kitchen", "music", "sports", "travel", "tools"),
    "ceo": _NAME,
    "city": one_of("Lisbon", "Oslo", "Nairobi", "Kyoto", "Lima", "Toronto", "Leipzig", "Hobart"),
    "city name": one_of("Lisbon", "Oslo", "Nairobi", "Kyoto", "Lima", "Toronto", "Leipzig", "Hobart"),
    "client": _NAME,
    "code": _code,
    "color": one_of("red", "green", "blue", "yellow", "black", "white"),
    "colour": one_of("red", "green", "blue", "yellow", "black", "white"),
    "comment": remark,
    "company": one_of("Example Works", "Acme", "Northwind", "Contoso", "Initech"),
    "company name": one_of("Example Works", "Acme", "Northwind", "Contoso", "Initech"),
    "conclusion": remark,
    "content": remark,
    "country": one_of("Portugal", "Norway", "Kenya", "Japan", "Peru", "Canada", "Germany", "Australia"),
    "country code": one_of("PT", "NO", "KE", "JP", "PE", "CA", "DE", "AU"),
    "created at": FORMATS["date-time"],
    "currency": one_of("EUR", "USD", "GBP", "JPY"),
    "customer": _NAME,
    "date": FORMATS["date"],
    "datetime": FORMATS["date-time"],
    "department": one_of("Sales", "Engineering", "Finance", "Support", "Research"),
    "description": remark,
    "destination": one_of("Lisbon", "Oslo", "Nairobi", "Kyoto", "Lima", "Toronto", "Leipzig", "Hobart"),
    "details": remark,
    "director": _NAME,
    "domain": FORMATS["hostname"],
    "email": email,
    "employee": _NAME,
    "evidence": remark,
    "excerpt": remark,
    "explanation": remark,
    "extension": _faked("file_extension"),
    "family name": LAST,
    "feedback": remark,
    "field": word,
    "file": _faked("file_name"),
    "file name": _faked("file_name"),
    "filename": _faked("file_name"),
    "first": FIRST,
    "first name": FIRST,
    "firstname": FIRST,
    "full name": _NAME,
    "gender": one_of("female", "male", "other"),
    "genre": one_of("fantasy", "history", "jazz", "mystery", "poetry", "science"),
    "given name": FIRST,
    "guest": _NAME,
    "guid": uuid,
    "hash": lambda rng: f"{rng.getrandbits(160):040x}",
    "host": FORMATS["hostname"],
    "hostname": FORMATS["hostname"],
    "icon": word,
    "id": _identifier,
    "image": lambda rng: f"https://example.com/{word(rng)}.png",
    "instruction": remark,
    "inventor": _NAME,
    "ip": FORMATS["ipv4"],
    "isbn": _faked("isbn13"),
    "item": _THING,
    "item name": _THING,
    "job": _faked("job"),
    "justification": remark,
    "key": _slug,
    "keyword": word,
    "label": _NOUN,
    "language": one_of("English", "German", "Portuguese", "Japanese", "Swahili"),
    "language code": one_of("en", "de", "pt", "ja", "sw"),
    "last": LAST,
    "last name": LAST,
    "lastname": LAST,
    "license": one_of("MIT", "Apache-2.0", "BSD-3-Clause"),
    "link": _SITE,
    "locale": one_of("en-US", "de-DE", "pt-PT", "ja-JP"),
    "location": one_of("Lisbon", "Oslo", "Nairobi", "Kyoto", "Lima", "Toronto", "Leipzig", "Hobart"),
    "manager": _NAME,
    "message": remark,
    "method": one_of("GET", "POST", "PUT", "DELETE"),
    "mime": _faked("mime_type"),
    "mime type": _faked("mime_type"),
    "mobile": _PHONE,
    "name": _NAME,
    "note": remark,
    "observation": remark,
    "occupation": _faked("job"),
    "origin": one_of("Lisbon", "Oslo", "Nairobi", "Kyoto", "Lima", "Toronto", "Leipzig", "Hobart"),
    "overview": remark,
    "owner": _NAME,
    "paragraph": remark,
    "path": _faked("file_path"),
    "patient": _NAME,
    "phone": _PHONE,
    "phone number": _PHONE,
    "postal code": _faked("postcode"),
    "postcode": _faked("postcode"),
    "product": _THING,
    "product name": _THING,
    "profession": _faked("job"),
    "punchline": remark,
    "query": thing,
    "question": lambda rng: f"What is known of the {thing(rng)}?",
    "rationale": remark,
    "reason": remark,
    "reasoning": remark,
    "recipient": _NAME,
    "reflection": remark,
    "region": _faked("state"),
    "reply": remark,
    "review": remark,
    "reviewer": _NAME,
    "role": one_of("admin", "editor", "member", "viewer"),
    "season": one_of("spring", "summer", "autumn", "winter"),
    "sender": _NAME,
    "setup": remark,
    "sku": _code,
    "slug": _slug,
    "snippet": remark,
    "speaker": _NAME,
    "state": _faked("state"),
    "statement": remark,
    "status": one_of("active", "pending", "done", "cancelled"),
    "story": remark,
    "street": lambda rng: f"{rng.randrange(1, 200)} Mill Lane",
    "student": _NAME,
    "subject": _title,
    "subtitle": _title,
    "suggestion": remark,
    "summary": remark,
    "surname": LAST,
    "tag": _NOUN,
    "teacher": _NAME,
    "text": remark,
    "thought": remark,
    "time": lambda rng: moment(rng).strftime("%H:%M"),
    "timestamp": FORMATS["date-time"],
    "timezone": one_of("UTC", "Europe/Lisbon", "Asia/Tokyo", "America/Lima"),
    "title": _title,
    "token": lambda rng: f"{rng.getrandbits(128):032x}",
    "topic": thing,
    "unit": one_of("celsius", "metre", "gram", "litre"),
    "updated at": FORMATS["date-time"],
    "uri": _SITE,
    "url": _SITE,
    "user": lambda rng: FIRST(rng).lower(),
    "user name": lambda rng: f"{FIRST(rng)}_{rng.randrange(10, 100)}".lower(),
    "username": lambda rng: f"{FIRST(rng)}_{rng.randrange(10, 100)}".lower(),
    "uuid": uuid,
    "version": lambda rng: f"{rng.randrange(1, 5)}.{rng.randrange(10)}.{rng.randrange(10)}",
    "website": _SITE,
    "winner": _NAME,
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
