"""Numbers within bounds, exact to the last decimal, and texts; plausible by what a property is called.

Numbers are fractions: neither decimals nor integers beyond 2^53 are rounded. People, hosts and numbers are
documentation's own: example.com, 192.0.2.0/24, +1-555-01. Where a maximum length has no room, hosts are made up.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cache, lru_cache
from json import dumps
from math import ceil, floor, gcd, inf, lcm
from typing import TypeVar

from mockserver.core.json import Json
from mockserver.core.lazy import remember
from mockserver.core.seed import FROZEN_AT, Random
from mockserver.model.patterns import find_text_validator, sample
from mockserver.model.schema.document import UnsatisfiableError
from mockserver.model.vocabulary import (
    draw_noun,
    draw_phrase,
    draw_remark,
    draw_thing,
    is_person,
    read_word_lists,
    split_name,
)

T = TypeVar("T")
D = TypeVar("D")
Part = Mapping[str, Json]
Draw = Callable[[Random], str]
Range = tuple[float, float]
Streams = Callable[[int, int], Random]  # a random stream for each attempt; the last one made this many characters


def find_lower_limit(parts: Sequence[Part], keyword: str) -> int:
    """Return the strictest minimum of a keyword for sizes."""
    return max((int(part[keyword]) for part in parts if keyword in part), default=0)


def find_upper_limit(parts: Sequence[Part], keyword: str) -> int | None:
    """Return the strictest maximum of a keyword for sizes; None if no schema states one."""
    return min((int(part[keyword]) for part in parts if keyword in part), default=None)


class Numbers:
    """The numbers that parts allow: multiples of a step between limits.

    Where no step is stated, it is a hundredth, or finer if there would be too few. Raises UnsatisfiableError if there
    are none.
    """

    def __init__(self, parts: Sequence[Part], *, whole: bool) -> None:
        self._parts = parts
        self._as_decimals = False
        steps = [_make_fraction(part["multipleOf"]) for part in parts if _is_number(part.get("multipleOf"))]
        steps += [Fraction(1)] if whole else []
        if steps:
            self._step = Fraction(lcm(*(one.numerator for one in steps)), gcd(*(one.denominator for one in steps)))
            if max(self._step.numerator, self._step.denominator).bit_length() > _MAX_BITS:
                raise UnsatisfiableError("no number of any use is a multiple of that", "multipleOf")
            self._first, self._last = self._limit(self._step)
        else:
            self._find_step()
        if self._first > self._last:
            raise UnsatisfiableError("no number lies between the bounds", "minimum")

    def draw(self, natural: Range, rng: Random, *, rejections: int = 0) -> Json:
        """Draw one, in its natural range if possible. Raises UnsatisfiableError if it cannot be written.

        `rejections`: how many were of no use; each widens the range, downwards only if a minimum is stated: ages do
        not become negative.
        """
        lowest, highest = natural
        more = (highest - lowest) * 10 * rejections
        low, high = _count_steps((lowest if self._first == -inf else lowest - more, highest + more), self._step)
        if self._first > high:
            high = int(self._first) + high - low
            low = int(self._first)
        elif self._last < low:
            low = int(self._last) - high + low
            high = int(self._last)
        number = rng.randrange(int(max(low, self._first)), int(min(high, self._last)) + 1) * self._step
        if number.denominator == 1 and not (self._as_decimals and abs(number) < _MAX_EXACT):
            return number.numerator
        try:
            return float(number)
        except OverflowError:
            raise UnsatisfiableError("the numbers that it allows are too large to be written") from None

    def _limit(self, step: Fraction) -> Range:
        """Return the least and the greatest number of steps that are allowed."""
        low = -inf
        high = inf
        for part in self._parts:
            for closed, opened in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
                for keyword, is_open in ((closed, part.get(opened) is True), (opened, True)):  # a boolean to draft 4
                    if _is_number(part.get(keyword)):
                        count = _make_fraction(part[keyword]) / step
                        if closed == "minimum":
                            low = max(low, floor(count) + 1 if is_open else ceil(count))
                        else:
                            high = min(high, ceil(count) - 1 if is_open else floor(count))
        return low, high

    def _find_step(self) -> None:
        """Take the first step that leaves some choice: a hundredth, or finer; a whole where floats have no decimals."""
        low, high = self._limit(Fraction(1))
        lowest, highest = self._limit(_FINEST)
        decimals = 0 if _MAX_EXACT < low < inf or -inf < high < -_MAX_EXACT else 2
        while decimals < _MOST_DECIMALS and lowest < highest:
            self._step = Fraction(1, 10**decimals)
            self._first, self._last = self._limit(self._step)
            if inf in (-self._first, self._last) or self._last - self._first >= _MIN_STEPS:
                self._as_decimals = True
                return
            decimals += 1
        self._step = _FINEST
        self._first = lowest
        self._last = highest


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _make_fraction(number: Json) -> Fraction:
    """Return a number as it is written: 0.1 is a tenth."""
    return Fraction(repr(number) if isinstance(number, float) else number)


@lru_cache(maxsize=1024)
def _count_steps(natural: Range, step: Fraction) -> tuple[int, int]:
    low = ceil(_make_fraction(natural[0]) / step)
    return low, max(low + 9, floor(_make_fraction(natural[1]) / step))


class Texts:
    """The texts that parts allow. Raises UnsatisfiableError if no length is left."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._patterns = [part["pattern"] for part in parts if isinstance(part.get("pattern"), str)]
        self._formats = [part["format"] for part in parts if isinstance(part.get("format"), str)]
        self._content = next((part for part in parts if "contentEncoding" in part or "contentMediaType" in part), {})
        self._stated = [{keyword: part[keyword] for keyword in _CHECKED if keyword in part} for part in parts]
        limit = find_upper_limit(parts, "maxLength")
        self._shortest = find_lower_limit(parts, "minLength")
        self._longest = inf if limit is None else limit
        if self._shortest > self._longest:
            why = f"no text has {self._shortest:,} characters and no more than {self._longest:,}"
            raise UnsatisfiableError(why, "minLength")
        if self._shortest > _MAX_TEXT:
            why = f"cannot generate {self._shortest:,} characters; the limit is {_MAX_TEXT:,}"
            raise UnsatisfiableError(why, "minLength")

    def draw(self, hints: tuple[str, ...], streams: Streams, *, filling: int = 0) -> str:
        """Draw one; `hints` are its names and descriptions. Raises UnsatisfiableError if none is found.

        `filling`: how many characters to add where a pattern lets any text follow.
        """
        rejected = 0
        for attempt in range(_MAX_ATTEMPTS):
            rng = streams(attempt, rejected)
            rejected = 0
            for text in self._draw_candidates(attempt, hints, rng, filling=filling):
                if self._allows(text):
                    return text
                rejected += len(text)
        keyword, value = ("pattern", self._patterns[0]) if self._patterns else ("format", self._formats[0])
        why = f"no text was found that has the {keyword} {value[:80]!r} and meets the other keywords"
        raise UnsatisfiableError(why, keyword)

    def _draw_candidates(self, attempt: int, hints: tuple[str, ...], rng: Random, *, filling: int) -> Iterator[str]:
        for name in self._formats:
            if name in FORMATS:
                yield from self._draw_sized(FORMATS[name], rng)
        if attempt == 0 or not self._patterns:
            yield self._encode(self._draw_plain(hints, rng))
        if self._patterns:
            pattern = self._patterns[attempt % len(self._patterns)]
            text = sample(
                pattern,
                rng,
                shortest=self._shortest,
                longest=self._longest,
                expand_lookaheads=attempt % 3 == 1,
                filling=filling,
            )
            if text is not None:
                yield text
        if len(self._patterns) > 1:  # one text for each, those bound to the start first, those bound to the end last
            in_order = sorted(self._patterns, key=lambda pattern: (pattern.endswith("$"), not pattern.startswith("^")))
            yield "".join(sample(pattern, rng) or "" for pattern in in_order)

    def _draw_plain(self, hints: tuple[str, ...], rng: Random) -> str:
        drawn = [*self._draw_sized(find_draw(hints), rng)]
        fitting = next((text for text in drawn if self._shortest <= len(text) <= self._longest), None)
        if fitting is not None:
            return fitting
        text = drawn[0]
        while len(text) < self._shortest:
            text += " " + draw_phrase(rng, 1)
        if len(text) > self._longest:
            cut = text[: int(self._longest)]
            text = cut.rstrip().ljust(len(cut), "a")
        return text

    def _draw_sized(self, draw: Draw, rng: Random) -> Iterator[str]:
        """Draw a text; if it is too short or too long, also texts of its kind that are not."""
        text = draw(rng)
        yield text
        for pattern in () if self._shortest <= len(text) <= self._longest else _SIZED.get(draw, ()):
            text = sample(pattern, rng, shortest=self._shortest, longest=self._longest) or text
            yield text

    def _encode(self, text: str) -> str:
        if self._content.get("contentMediaType") == "application/json":
            text = dumps({"text": text})
        return b64encode(text.encode()).decode() if self._content.get("contentEncoding") == "base64" else text

    def _allows(self, text: str) -> bool:
        """Return whether a text meets patterns, formats and lengths; where only lengths are stated, it does."""
        return not (self._patterns or self._formats) or bool(find_text_validator(self._stated).is_valid(text))


_CHECKED = ("pattern", "format", "minLength", "maxLength")
_MAX_BITS = 4_096
_MOST_DECIMALS = 320
_FINEST = Fraction(1, 10**_MOST_DECIMALS)
_MIN_STEPS = 20
_MAX_EXACT = 1 << 53
_MAX_TEXT = 20_000  # characters
_MAX_ATTEMPTS = 24


def draw_past_moment(rng: Random) -> datetime:
    return datetime.fromtimestamp(FROZEN_AT, UTC) - timedelta(seconds=rng.randrange(365 * 86_400))


def choose_from(*values: str) -> Draw:
    return lambda rng: values[rng.randrange(len(values))]


def draw_email(rng: Random) -> str:
    return f"{FIRST_NAME(rng)}.{LAST_NAME(rng)}@example.com".lower()


def draw_uuid(rng: Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def draw_link(rng: Random) -> str:
    return f"https://example.com/{draw_noun(rng)}"


FIRST_NAME = choose_from("Ada", "Grace", "Alan", "Mary", "Edsger", "Barbara", "Linus", "Radia")
LAST_NAME = choose_from("Lovelace", "Hopper", "Turing", "Shelley", "Dijkstra", "Liskov", "Okafor", "Perlman")

FORMATS: dict[str, Draw] = {
    "date": lambda rng: draw_past_moment(rng).date().isoformat(),
    "date-time": lambda rng: draw_past_moment(rng).strftime("%Y-%m-%dT%H:%M:%SZ"),
    "time": lambda rng: draw_past_moment(rng).strftime("%H:%M:%SZ"),
    "duration": lambda rng: f"P{rng.randrange(1, 30)}D",
    **dict.fromkeys(("email", "idn-email"), draw_email),
    **dict.fromkeys(("hostname", "idn-hostname"), lambda rng: f"{draw_noun(rng)}.example.com"),
    "ipv4": lambda rng: f"192.0.2.{rng.randrange(1, 255)}",
    "ipv6": lambda rng: f"2001:db8::{rng.randrange(1, 65_536):x}",
    **dict.fromkeys(("uri", "uri-reference", "iri", "iri-reference", "url"), draw_link),
    "uri-template": lambda rng: f"https://example.com/{draw_noun(rng)}/{{id}}",
    "uuid": draw_uuid,
    "json-pointer": lambda rng: f"/{draw_noun(rng)}/{rng.randrange(10)}",
    "relative-json-pointer": lambda rng: f"{rng.randrange(1, 4)}/{draw_noun(rng)}",
    "regex": lambda rng: f"^{draw_noun(rng)}-[0-9]+$",
}


# Patterns of the same kinds of texts for those that must be shorter or longer, the most plausible first.
_SIZED: Mapping[Draw, Sequence[str]] = {
    draw_email: (
        r"^[a-z]{1,60}@example\.com$",
        r"^[a-z]{1,60}@b\.co$",
        r"^[a-z]{1,60}@([a-z]{1,60}\.){1,3}example\.com$",
    ),
    FORMATS["hostname"]: (
        r"^[a-z]{1,60}\.example\.com$",
        r"^[a-z]{1,60}\.co$",
        r"^[a-z]{1,60}$",
        r"^([a-z]{1,60}\.){1,3}example\.com$",
    ),
    draw_link: (
        r"^https://example\.com(/[a-z]{1,60}){1,300}$",
        r"^http://[a-z]{1,60}\.co$",
        r"^urn:[a-z]{1,60}$",
        r"^/[a-z]{0,60}$",
    ),
    FORMATS["uri-template"]: (
        r"^https://example\.com(/[a-z]{1,60}){1,300}/\{id\}$",
        r"^/\{[a-z]{1,60}\}$",
        r"^[a-z]{1,60}$",
    ),
    FORMATS["json-pointer"]: (r"^(/[a-z]{1,60}){1,300}$", r"^/?$"),
    FORMATS["relative-json-pointer"]: (r"^1(/[a-z]{1,60}){1,300}$", r"^1#$", r"^1$"),
    FORMATS["regex"]: (r"^\^[a-z]{1,10000}\+\$$", r"^[a-z]{1,60}$"),
}


def hint_at_owner(owner: str, hints: tuple[str, ...]) -> tuple[str, ...]:
    """Return hints at what a name is the name of: of a thing, unless its owner or a description is about people."""
    if not owner or hints[:1] != ("name",) or any(map(is_person, split_name(" ".join((owner, *hints[1:]))))):
        return hints
    known = f"{split_name(owner)[-1]} name"
    return (known if known in read_texts_by_name() else "title", *hints)


@remember(1024)
def find_draw(hints: tuple[str, ...]) -> Draw:
    """Return what draws a text for a value with these names and descriptions."""
    return _look_up(read_texts_by_name(), hints, draw_thing)


def draw_known_text(name: str, rng: Random) -> str | None:
    """Return a text or a number for a name that says what its value is."""
    draw = _look_up(read_texts_by_name(), (name,), None)
    if draw is not None:
        return draw(rng)
    bounds = _look_up(_read_ranges_by_name(), (name,), None)
    if bounds is None:
        return None
    low, high = bounds
    return str(rng.randrange(int(low), int(high) + 1)) if high > 1 else f"{low + (high - low) * rng.random():.2f}"


@cache
def read_texts_by_name() -> Mapping[str, Draw]:
    """Return functions that draw a text, by the last words of a property's name."""
    known = read_word_lists("properties")
    draws = [(names, choose_from(*values)) for names, values in known["one_of"].items()]
    draws += [(names, _DRAWS_BY_NAME[name]) for name, names in known["same_as"].items()]
    return {**_DRAWS_BY_NAME, **{name: draw for names, draw in draws for name in names.split(", ")}}


@cache
def _read_ranges_by_name() -> Mapping[str, tuple[float, float]]:
    ranges = read_word_lists("properties")["numbers"].items()
    return {name: (low, high) for names, (low, high) in ranges for name in names.split(", ")}


@remember(1024)
def find_natural_range(hints: tuple[str, ...]) -> Range:
    """Return the usual range of a number with these names and descriptions."""
    return _look_up(_read_ranges_by_name(), hints, (1, 100))


def _look_up(table: Mapping[str, T], hints: tuple[str, ...], default: D) -> T | D:
    """Return the entry for the last one or two words known of the first hint that has any."""
    return next((table[words] for hint in hints for words in _find_endings(hint) if words in table), default)


def _find_endings(hint: str) -> Iterator[str]:
    """Yield the words of a name from the last to the first, each after the pair that it ends."""
    words = [found.lower() for found in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", hint[:_MAX_HINT])]
    for at in range(len(words) - 1, -1, -1):
        if at:
            yield f"{words[at - 1]} {words[at]}"
        yield words[at]
        if words[at].endswith("s"):
            yield words[at][:-1]


def _draw_code(rng: Random) -> str:
    return f"{''.join(rng.choice('ABCDEFGHJKLMNPQRSTUVWXYZ') for _ in range(3))}-{rng.randrange(1000, 10_000)}"


def _draw_full_name(rng: Random) -> str:
    return f"{FIRST_NAME(rng)} {LAST_NAME(rng)}"


def _draw_user_name(rng: Random) -> str:
    return f"{FIRST_NAME(rng)}_{rng.randrange(10, 100)}".lower()


_MAX_HINT = 200

_DRAWS_BY_NAME: Mapping[str, Draw] = {
    "summary": draw_remark,
    "full name": _draw_full_name,
    "first name": FIRST_NAME,
    "last name": LAST_NAME,
    "user": lambda rng: FIRST_NAME(rng).lower(),
    "user name": _draw_user_name,
    "email": draw_email,
    "mobile": lambda rng: f"+1-555-01{rng.randrange(100):02}",
    "address": lambda rng: f"{rng.randrange(1, 200)} Mill Lane",
    "birthday": FORMATS["date"],
    "created at": FORMATS["date-time"],
    "time": lambda rng: draw_past_moment(rng).strftime("%H:%M"),
    "link": FORMATS["uri"],
    "avatar": lambda rng: f"https://example.com/{draw_noun(rng)}.png",
    "domain": FORMATS["hostname"],
    "ip": FORMATS["ipv4"],
    "guid": draw_uuid,
    "id": lambda rng: f"{rng.getrandbits(48):012x}",
    "hash": lambda rng: f"{rng.getrandbits(160):040x}",
    "token": lambda rng: f"{rng.getrandbits(128):032x}",
    "code": _draw_code,
    "key": lambda rng: f"{draw_noun(rng)}-{draw_noun(rng)}",
    "version": lambda rng: f"{rng.randrange(1, 5)}.{rng.randrange(10)}.{rng.randrange(10)}",
    "field": draw_noun,
    "label": draw_noun,
    "query": draw_thing,
    "question": lambda rng: f"What is known of the {draw_thing(rng)}?",
    "subject": lambda rng: draw_thing(rng).title(),
}
