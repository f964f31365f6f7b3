"""Numbers within bounds, exact to the last decimal, and texts; plausible by what a property is called.

Numbers are fractions: neither decimals nor integers beyond 2^53 are rounded. People, hosts and numbers are
documentation's own: example.com, 192.0.2.0/24, +1-555-01. The rest comes from Faker.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cache
from json import dumps
from math import ceil, floor, gcd, inf, lcm
from typing import TypeVar

from mockserver.core.json import Json
from mockserver.core.seed import FROZEN_AT, Random
from mockserver.model.fillers import drawing, noun, phrase, remark, thing, word_lists
from mockserver.model.patterns import sample
from mockserver.model.schema.document import UnsatisfiableError, text_validator
from mockserver.model.schema.keywords import Part, Parts, is_excluded, lower_limit, to_fraction, upper_limit

T = TypeVar("T")
D = TypeVar("D")
Draw = Callable[[Random], str]
Range = tuple[float, float]
Streams = Callable[[int, int], Random]  # a random stream for each attempt; the last one made this many characters


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def make_number(parts: Parts, natural: Range, rng: Random, *, whole: bool) -> Json:
    """Make a number that all parts allow, in its natural range if possible. Raises UnsatisfiableError."""
    step = _step(parts, whole)
    if step is None:
        return _any_number(parts, natural, rng)
    if max(step.numerator, step.denominator).bit_length() > _MAX_BITS:
        raise UnsatisfiableError("no number of any use is a multiple of that", "multipleOf")
    return _to_json(_draw(_limits(parts, step), _in_steps(natural, step), rng) * step)


def _limits(parts: Parts, step: Fraction) -> tuple[float, float]:
    low, high = -inf, inf
    for part in parts:
        for closed, opened in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            for keyword, is_open in ((closed, part.get(opened) is True), (opened, True)):  # a boolean up to draft 4
                if _is_number(part.get(keyword)):
                    count = to_fraction(part[keyword]) / step
                    if closed == "minimum":
                        low = max(low, floor(count) + 1 if is_open else ceil(count))
                    else:
                        high = min(high, ceil(count) - 1 if is_open else floor(count))
    return low, high


def _step(parts: Parts, whole: bool) -> Fraction | None:
    steps = [to_fraction(part["multipleOf"]) for part in parts if _is_number(part.get("multipleOf"))]
    steps += [Fraction(1)] if whole else []
    if not steps:
        return None
    return Fraction(lcm(*(step.numerator for step in steps)), gcd(*(step.denominator for step in steps)))


def _in_steps(natural: Range, step: Fraction) -> tuple[int, int]:
    low = ceil(to_fraction(natural[0]) / step)
    return low, max(low + 9, floor(to_fraction(natural[1]) / step))


def _draw(limits: tuple[float, float], natural: tuple[int, int], rng: Random) -> int:
    first, last = limits
    if first > last:
        raise UnsatisfiableError("no number lies between the bounds", "minimum")
    low, high = natural
    if first > high:
        low, high = int(first), int(first) + high - low
    elif last < low:
        low, high = int(last) - high + low, int(last)
    return rng.randrange(int(max(low, first)), int(min(high, last)) + 1)


def _any_number(parts: Parts, natural: Range, rng: Random) -> Json:
    low, high = _limits(parts, Fraction(1))
    step = Fraction(1) if _MAX_EXACT < low < inf or -inf < high < -_MAX_EXACT else Fraction(1, 100)
    few: list[tuple[tuple[float, float], Fraction]] = []
    lowest, highest = _limits(parts, _FINEST)
    while lowest <= highest and step > _FINEST:
        first, last = limits = _limits(parts, step)
        if inf in (-first, last) or last - first >= _MIN_STEPS:
            return _to_json(_draw(limits, _in_steps(natural, step), rng) * step, decimal=True)
        if few and first == last:
            break
        few += [(limits, step)] if first <= last else []
        step /= 10
    if not few:
        raise UnsatisfiableError("no number that can be written lies between the bounds", "minimum")
    limits, step = few[0]
    return _to_json(_draw(limits, _in_steps(natural, step), rng) * step)


def _to_json(number: Fraction, *, decimal: bool = False) -> Json:
    """An integer if the number is whole, unless it must look `decimal`."""
    if number.denominator == 1 and not (decimal and abs(number) < _MAX_EXACT):
        return number.numerator
    try:
        return float(number)
    except OverflowError:
        raise UnsatisfiableError("the numbers that it allows are too large to be written") from None


def make_text(parts: Parts, hints: tuple[str, ...], streams: Streams) -> str:
    """Make a text that the parts allow; `hints` are its names and descriptions. Raises UnsatisfiableError."""
    shortest, limit = lower_limit(parts, "minLength"), upper_limit(parts, "maxLength")
    longest = inf if limit is None else limit
    if shortest > longest:
        raise UnsatisfiableError(f"no text has {shortest:,} characters and no more than {longest:,}", "minLength")
    if shortest > _MAX_TEXT:
        raise UnsatisfiableError(f"cannot generate {shortest:,} characters; the limit is {_MAX_TEXT:,}", "minLength")
    rejected = 0

    def stream(attempt: int) -> Random:
        nonlocal rejected
        characters, rejected = rejected, 0
        return streams(attempt, characters)

    for text in _candidates(parts, hints, stream, (shortest, longest)):
        if _is_allowed(parts, text) and not is_excluded(parts, text):
            return text
        rejected += len(text)
    raise UnsatisfiableError(*_complaint(parts))


def _candidates(
    parts: Parts, hints: tuple[str, ...], stream: Callable[[int], Random], lengths: tuple[int, float]
) -> Iterator[str]:
    patterns, formats = _texts(parts, "pattern"), _texts(parts, "format")
    content = next((part for part in parts if "contentEncoding" in part or "contentMediaType" in part), {})
    for attempt in range(_MAX_ATTEMPTS):
        rng = stream(attempt)
        yield from (FORMATS[name](rng) for name in formats if name in FORMATS)
        if attempt == 0 or not patterns:
            yield _encode(content, _plain(hints, rng, lengths))
        if patterns:
            pattern = patterns[attempt % len(patterns)]
            text = sample(pattern, rng, lengths=lengths, expand_lookaheads=attempt % 3 == 1)
            if text is not None:
                yield text
        if len(patterns) > 1:  # one text for each, those bound to the start first, those bound to the end last
            in_order = sorted(patterns, key=lambda pattern: (pattern.endswith("$"), not pattern.startswith("^")))
            yield "".join(sample(pattern, rng) or "" for pattern in in_order)


def _texts(parts: Parts, keyword: str) -> Sequence[str]:
    return [part[keyword] for part in parts if isinstance(part.get(keyword), str)]


def _plain(hints: tuple[str, ...], rng: Random, lengths: tuple[int, float]) -> str:
    text = plain_text(hints, rng)
    while len(text) < lengths[0]:
        text += " " + phrase(rng, 1)
    if len(text) > lengths[1]:
        cut = text[: int(lengths[1])]
        text = cut.rstrip().ljust(len(cut), "a")
    return text


def _encode(content: Part, text: str) -> str:
    if content.get("contentMediaType") == "application/json":
        text = dumps({"text": text})
    return b64encode(text.encode()).decode() if content.get("contentEncoding") == "base64" else text


def _is_allowed(parts: Parts, text: str) -> bool:
    """Whether a text meets patterns, formats and lengths; there is no need to ask where only lengths are stated."""
    stated = [{keyword: part[keyword] for keyword in _STATED if keyword in part} for part in parts]
    if not any("pattern" in keywords or "format" in keywords for keywords in stated):
        return True
    return bool(text_validator({"allOf": stated}).is_valid(text))


def _complaint(parts: Parts) -> tuple[str, str]:
    stated = ((keyword, part[keyword]) for part in parts for keyword in ("pattern", "format") if keyword in part)
    keyword, value = next(stated, ("", ""))
    what = f"for the {keyword} {value[:80]!r} and what else is asked of it" if keyword else "that is allowed"
    return f"no text was found {what}", keyword


_STATED = ("pattern", "format", "minLength", "maxLength")
_MAX_BITS = 4_096
_FINEST = Fraction(1, 10**320)
_MIN_STEPS = 20
_MAX_EXACT = 1 << 53
_MAX_TEXT = 20_000  # characters
_MAX_ATTEMPTS = 24


def past_moment(rng: Random) -> datetime:
    return datetime.fromtimestamp(FROZEN_AT, UTC) - timedelta(seconds=rng.randrange(365 * 86_400))


def one_of(*values: str) -> Draw:
    return lambda rng: values[rng.randrange(len(values))]


def email(rng: Random) -> str:
    return f"{FIRST_NAME(rng)}.{LAST_NAME(rng)}@example.com".lower()


def uuid(rng: Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def word(rng: Random) -> str:
    return phrase(rng, 1).lower()


def link(rng: Random) -> str:
    return f"https://example.com/{word(rng)}"


FIRST_NAME = one_of("Ada", "Grace", "Alan", "Mary", "Edsger", "Barbara", "Linus", "Radia")
LAST_NAME = one_of("Lovelace", "Hopper", "Turing", "Shelley", "Dijkstra", "Liskov", "Okafor", "Perlman")

FORMATS: dict[str, Draw] = {
    "date": lambda rng: past_moment(rng).date().isoformat(),
    "date-time": lambda rng: past_moment(rng).strftime("%Y-%m-%dT%H:%M:%SZ"),
    "time": lambda rng: past_moment(rng).strftime("%H:%M:%SZ"),
    "duration": lambda rng: f"P{rng.randrange(1, 30)}D",
    **dict.fromkeys(("email", "idn-email"), email),
    **dict.fromkeys(("hostname", "idn-hostname"), lambda rng: f"{word(rng)}.example.com"),
    "ipv4": lambda rng: f"192.0.2.{rng.randrange(1, 255)}",
    "ipv6": lambda rng: f"2001:db8::{rng.randrange(1, 65_536):x}",
    **dict.fromkeys(("uri", "uri-reference", "iri", "iri-reference", "url"), link),
    "uri-template": lambda rng: f"https://example.com/{word(rng)}/{{id}}",
    "uuid": uuid,
    "json-pointer": lambda rng: f"/{word(rng)}/{rng.randrange(10)}",
    "relative-json-pointer": lambda rng: f"{rng.randrange(1, 4)}/{word(rng)}",
    "regex": lambda rng: f"^{word(rng)}-[0-9]+$",
}


def plain_text(hints: tuple[str, ...], rng: Random) -> str:
    return _lookup(texts_by_name(), hints, thing)(rng)


def known_text(name: str, rng: Random) -> str | None:
    """A text or a number for a name that says what its value is."""
    draw = _lookup(texts_by_name(), (name,), None)
    if draw is not None:
        return draw(rng)
    bounds = _lookup(_ranges_by_name(), (name,), None)
    if bounds is None:
        return None
    low, high = bounds
    return str(rng.randrange(int(low), int(high) + 1)) if high > 1 else f"{low + (high - low) * rng.random():.2f}"


@cache
def texts_by_name() -> Mapping[str, Draw]:
    """Functions that draw a text, by the last words of the name of a property."""
    known = word_lists("properties")
    draws = [(names, one_of(*values)) for names, values in known["one_of"].items()]
    draws += [(names, _fake(method)) for names, method in known["faker"].items()]
    draws += [(names, _MADE[name]) for name, names in known["same_as"].items()]
    return {**_MADE, **{name: draw for names, draw in draws for name in names.split(", ")}}


@cache
def _ranges_by_name() -> Mapping[str, tuple[float, float]]:
    ranges = word_lists("properties")["numbers"].items()
    return {name: (low, high) for names, (low, high) in ranges for name in names.split(", ")}


def natural_range(hints: tuple[str, ...]) -> tuple[float, float]:
    return _lookup(_ranges_by_name(), hints, (1, 100))


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

_MADE: Mapping[str, Draw] = {
    "summary": remark,
    "full name": _full_name,
    "first name": FIRST_NAME,
    "last name": LAST_NAME,
    "user": lambda rng: FIRST_NAME(rng).lower(),
    "user name": _user_name,
    "email": email,
    "mobile": lambda rng: f"+1-555-01{rng.randrange(100):02}",
    "address": lambda rng: f"{rng.randrange(1, 200)} Mill Lane",
    "birthday": FORMATS["date"],
    "created at": FORMATS["date-time"],
    "time": lambda rng: past_moment(rng).strftime("%H:%M"),
    "link": FORMATS["uri"],
    "avatar": lambda rng: f"https://example.com/{word(rng)}.png",
    "domain": FORMATS["hostname"],
    "ip": FORMATS["ipv4"],
    "guid": uuid,
    "id": lambda rng: f"{rng.getrandbits(48):012x}",
    "hash": lambda rng: f"{rng.getrandbits(160):040x}",
    "token": lambda rng: f"{rng.getrandbits(128):032x}",
    "code": _code,
    "key": lambda rng: f"{word(rng)}-{word(rng)}",
    "version": lambda rng: f"{rng.randrange(1, 5)}.{rng.randrange(10)}.{rng.randrange(10)}",
    "field": word,
    "label": noun,
    "query": thing,
    "question": lambda rng: f"What is known of the {thing(rng)}?",
    "subject": lambda rng: thing(rng).title(),
}
