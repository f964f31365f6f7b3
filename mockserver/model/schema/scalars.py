"""Numbers within bounds and steps, exact to the last decimal, in the range that is natural for their names.

Works in fractions: neither the decimals of a schema nor its integers beyond 2^53 are rounded on the way.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from json import dumps
from math import ceil, floor, gcd, inf, lcm
from typing import Any

from mockserver.core.json import Json
from mockserver.core.seed import Random
from mockserver.model.fillers import phrase
from mockserver.model.patterns.sampling import sample
from mockserver.model.schema.compiled import text_validator
from mockserver.model.schema.document import DeadEndError
from mockserver.model.schema.formats import formatted
from mockserver.model.schema.names import plain_text
from mockserver.model.schema.parts import Parts, exact, least, most, refused

Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Span:
    """The numbers from `low` to `high`, each None where there is no bound, without those two where they are `open`."""

    low: Fraction | None = None
    high: Fraction | None = None
    low_open: bool = False
    high_open: bool = False

    @property
    def empty(self) -> bool:
        """Whether no number at all lies in it."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    def first(self, step: Fraction) -> int | None:
        """The least number of steps within."""
        if self.low is None:
            return None
        count = ceil(self.low / step)
        return count + (self.low_open and count * step == self.low)

    def last(self, step: Fraction) -> int | None:
        """The greatest number of steps within."""
        if self.high is None:
            return None
        count = floor(self.high / step)
        return count - (self.high_open and count * step == self.high)


def span(parts: Parts) -> Span:
    """The bounds of all parts, in the spelling of draft 4 (a boolean beside the bound) too."""
    low: tuple[Fraction, bool] | None = None
    high: tuple[Fraction, bool] | None = None
    for part in parts:
        for limit in _limits(part, "minimum", "exclusiveMinimum"):
            low = limit if low is None else max(low, limit)
        for limit in _limits(part, "maximum", "exclusiveMaximum"):
            high = limit if high is None else min(high, (limit[0], limit[1]), key=lambda one: (one[0], not one[1]))
    return Span(
        low=low[0] if low else None,
        high=high[0] if high else None,
        low_open=low[1] if low else False,
        high_open=high[1] if high else False,
    )


def number(parts: Parts, natural: Range, rng: Random, *, whole: bool) -> Json:
    """A number that all parts allow, in its natural range where that can be. Raises DeadEndError."""
    allowed = span(parts)
    if allowed.empty:
        raise DeadEndError("no number lies between the bounds", "minimum")
    step = _step(parts, whole)
    if step is None:
        return _free(allowed, natural, rng)
    if max(step.numerator, step.denominator).bit_length() > _MOST_BITS:
        raise DeadEndError("no number of any use is a multiple of that", "multipleOf")
    count = _between(allowed.first(step), allowed.last(step), _steps(natural, step), rng)
    return _written(count * step)


def _limits(part: Mapping[str, Json], closed: str, opened: str) -> list[tuple[Fraction, bool]]:
    """The bounds that one part states, and whether they are excluded."""
    flag = part.get(opened)
    found = []
    if _is_number(part.get(closed)):
        found.append((exact(part[closed]), flag is True))
    if _is_number(flag):
        found.append((exact(flag), True))
    return found


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _step(parts: Parts, whole: bool) -> Fraction | None:
    """What every allowed number is a multiple of; None where it may be any."""
    steps = [exact(part["multipleOf"]) for part in parts if _is_number(part.get("multipleOf"))]
    if whole:
        steps.append(Fraction(1))
    if not steps:
        return None
    return Fraction(lcm(*(step.numerator for step in steps)), gcd(*(step.denominator for step in steps)))


def _steps(natural: Range, step: Fraction) -> tuple[int, int]:
    """A natural range in steps: at least a few of them."""
    low = ceil(exact(natural[0]) / step)
    return low, max(low + 9, floor(exact(natural[1]) / step))


def _between(first: int | None, last: int | None, natural: tuple[int, int], rng: Random) -> int:
    """A whole number between the bounds: in its natural range, or as near to it as a range so wide can be moved."""
    if first is not None and last is not None and first > last:
        raise DeadEndError("no number lies between the bounds", "minimum")
    low, high = natural
    wide = high - low
    if first is not None and first > high:
        low, high = first, first + wide
    elif last is not None and last < low:
        low, high = last - wide, last
    low = low if first is None else max(low, first)
    high = high if last is None else min(high, last)
    return rng.randrange(low, high + 1)


def _free(allowed: Span, natural: Range, rng: Random) -> Json:
    """Any number, with two decimals, or with as many more as the bounds are close."""
    if allowed.low is not None and allowed.low == allowed.high:
        return _written(allowed.low)
    huge = (allowed.low or 0) > _LARGEST_EXACT or (allowed.high or 0) < -_LARGEST_EXACT
    step = Fraction(1) if huge else Fraction(1, 100)
    for _ in range(_MOST_DECIMALS):
        first, last = allowed.first(step), allowed.last(step)
        if first is None or last is None or last - first >= _FEWEST_STEPS:
            return _written(_between(first, last, _steps(natural, step), rng) * step, decimal=True)
        step /= 10
    raise DeadEndError("no number that can be written lies between the bounds", "minimum")


def _written(number: Fraction, *, decimal: bool = False) -> Json:
    """The number as JSON has it: whole where it is, unless it shall look like one with decimals."""
    if number.denominator == 1 and not (decimal and abs(number) < _LARGEST_EXACT):
        return number.numerator
    return float(number)


_MOST_BITS = 4_096
_MOST_DECIMALS = 320
_FEWEST_STEPS = 20
_LARGEST_EXACT = 1 << 53


Streams = Callable[[int], Random]  # a stream of chance for each attempt


def text(parts: Parts, hints: tuple[str, ...], streams: Streams) -> str:
    """A text that the parts allow; `hints` are what it is called and described as. Raises DeadEndError."""
    lengths = least(parts, "minLength"), most(parts, "maxLength")
    longest = inf if lengths[1] is None else lengths[1]
    if lengths[0] > longest:
        raise DeadEndError(f"no text has {lengths[0]:,} characters and no more than {longest:,}", "minLength")
    if lengths[0] > _LONGEST:
        raise DeadEndError(f"a text of {lengths[0]:,} characters is not made, only up to {_LONGEST:,}", "minLength")
    validators = _validators(parts)
    for made in _candidates(parts, hints, streams, (lengths[0], longest)):
        if all(validator.is_valid(made) for validator in validators) and not refused(parts, made):
            return made
    raise DeadEndError(*_complaint(parts))


def _candidates(parts: Parts, hints: tuple[str, ...], streams: Streams, lengths: tuple[int, float]) -> Iterator[str]:
    """Texts to try, the most plausible first."""
    patterns = [part["pattern"] for part in parts if isinstance(part.get("pattern"), str)]
    kinds = [part["format"] for part in parts if isinstance(part.get("format"), str)]
    content = next((part for part in parts if "contentEncoding" in part or "contentMediaType" in part), None)
    for attempt in range(_ATTEMPTS):
        rng = streams(attempt)
        for kind in kinds:
            made = formatted(kind, rng, least=lengths[0], most=lengths[1])
            if made is not None:
                yield made
        if attempt == 0 or not patterns:
            made = _plain(hints, rng, lengths)
            yield made if content is None else _encoded(content, made)
        if patterns:
            pattern = patterns[attempt % len(patterns)]
            made = sample(pattern, rng, lengths=lengths, expand_lookaheads=attempt % 3 == 1)
            if made is not None:
                yield made
        if len(patterns) > 1:
            yield _joined(patterns, rng)


def _joined(patterns: Sequence[str], rng: Random) -> str:
    """A text for each pattern, one after the other: those that stand at the begin first, at the end last."""
    in_order = sorted(patterns, key=lambda pattern: (pattern.endswith("$"), not pattern.startswith("^")))
    return "".join(sample(pattern, rng) or "" for pattern in in_order)


def _plain(hints: tuple[str, ...], rng: Random, lengths: tuple[int, float]) -> str:
    made = plain_text(hints, rng)
    while len(made) < lengths[0]:
        made += " " + phrase(rng, 1)
    if len(made) > lengths[1]:
        made = made[: int(lengths[1])]
        stripped = made.rstrip()
        made = stripped + "a" * (len(made) - len(stripped))
    return made


def _encoded(content: Mapping[str, Json], made: str) -> str:
    if content.get("contentMediaType") == "application/json":
        made = dumps({"text": made})
    return b64encode(made.encode()).decode() if content.get("contentEncoding") == "base64" else made


def _validators(parts: Parts) -> list[Any]:
    """What holds texts against the keywords that no generator is trusted with."""
    found = []
    for part in parts:
        stated = {keyword: part[keyword] for keyword in ("pattern", "format") if isinstance(part.get(keyword), str)}
        if stated:
            lengths = {key: part[key] for key in ("minLength", "maxLength") if key in part}
            found.append(text_validator({**stated, **lengths}))
    return [*found, *map(text_validator, _outer_lengths(parts))] if found else found


def _outer_lengths(parts: Parts) -> Iterator[Mapping[str, Json]]:
    """The lengths that stand in parts of their own."""
    for part in parts:
        if "pattern" not in part and "format" not in part and ("minLength" in part or "maxLength" in part):
            yield {key: part[key] for key in ("minLength", "maxLength") if key in part}


def _complaint(parts: Parts) -> tuple[str, str]:
    for part in parts:
        if "pattern" in part:
            return f"no text was found for the pattern {part['pattern'][:80]!r} and what else is asked of it", "pattern"
        if "format" in part:
            return f"no text was found for the format {part['format']!r} and what else is asked of it", "format"
    return "no text was found that is allowed", ""


_LONGEST = 20_000  # characters
_ATTEMPTS = 24
