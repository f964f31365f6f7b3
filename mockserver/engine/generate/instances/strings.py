"""Texts that all parts of a schema allow: plausible where that will do, by format or pattern where it will not.

Every text with a pattern or format is held against it by the validator itself before it is taken.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from json import dumps
from math import inf
from typing import Any

from mockserver.core.call import Json
from mockserver.core.seed import Random
from mockserver.engine.generate.filler import phrase
from mockserver.engine.generate.instances.compiled import text_validator
from mockserver.engine.generate.instances.dead_end import DeadEndError
from mockserver.engine.generate.instances.formats import formatted
from mockserver.engine.generate.instances.names import plain_text
from mockserver.engine.generate.instances.parts import Parts, least, most, refused
from mockserver.engine.generate.patterns.writing import matching

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
            made = matching(pattern, rng, lengths=lengths, spelled=attempt % 3 == 1)
            if made is not None:
                yield made
        if len(patterns) > 1:
            yield _joined(patterns, rng)


def _joined(patterns: Sequence[str], rng: Random) -> str:
    """A text for each pattern, one after the other: those that stand at the begin first, at the end last."""
    in_order = sorted(patterns, key=lambda pattern: (pattern.endswith("$"), not pattern.startswith("^")))
    return "".join(matching(pattern, rng) or "" for pattern in in_order)


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
