"""Numbers within bounds, exact to the last decimal and in the range that suits their name; and texts.

Numbers are fractions: neither decimals nor integers beyond 2^53 are rounded.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from json import dumps
from math import ceil, floor, gcd, inf, lcm

from mockserver.core.json import Json
from mockserver.core.seed import Random
from mockserver.model.fillers import phrase
from mockserver.model.patterns.sampling import sample
from mockserver.model.schema.compiled import text_validator
from mockserver.model.schema.document import UnsatisfiableError
from mockserver.model.schema.keywords import Part, Parts, is_excluded, lower_limit, to_fraction, upper_limit
from mockserver.model.schema.plausible import FORMATS, plain_text

Range = tuple[float, float]
Streams = Callable[[int], Random]  # a random stream for each attempt


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
    """The smallest and the largest allowed number, in steps; infinite without a limit."""
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
    """What every allowed number is a multiple of; None if there is no step."""
    steps = [to_fraction(part["multipleOf"]) for part in parts if _is_number(part.get("multipleOf"))]
    steps += [Fraction(1)] if whole else []
    if not steps:
        return None
    return Fraction(lcm(*(step.numerator for step in steps)), gcd(*(step.denominator for step in steps)))


def _in_steps(natural: Range, step: Fraction) -> tuple[int, int]:
    """A natural range in steps, at least ten of them."""
    low = ceil(to_fraction(natural[0]) / step)
    return low, max(low + 9, floor(to_fraction(natural[1]) / step))


def _draw(limits: tuple[float, float], natural: tuple[int, int], rng: Random) -> int:
    """Draw from the natural range, moved between the limits if it lies outside."""
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
    """A number with two decimals, or with more if the bounds are close."""
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
    return float(number)


def make_text(parts: Parts, hints: tuple[str, ...], streams: Streams) -> str:
    """Make a text that the parts allow; `hints` are its names and descriptions. Raises UnsatisfiableError."""
    shortest, limit = lower_limit(parts, "minLength"), upper_limit(parts, "maxLength")
    longest = inf if limit is None else limit
    if shortest > longest:
        raise UnsatisfiableError(f"no text has {shortest:,} characters and no more than {longest:,}", "minLength")
    if shortest > _MAX_TEXT:
        raise UnsatisfiableError(
            f"a text of {shortest:,} characters is not made, only up to {_MAX_TEXT:,}", "minLength"
        )
    for text in _candidates(parts, hints, streams, (shortest, longest)):
        if _is_allowed(parts, text) and not is_excluded(parts, text):
            return text
    raise UnsatisfiableError(*_complaint(parts))


def _candidates(parts: Parts, hints: tuple[str, ...], streams: Streams, lengths: tuple[int, float]) -> Iterator[str]:
    patterns, formats = _texts(parts, "pattern"), _texts(parts, "format")
    content = next((part for part in parts if "contentEncoding" in part or "contentMediaType" in part), {})
    for attempt in range(_MAX_ATTEMPTS):
        rng = streams(attempt)
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
