"""What is doubtful of episodes: bytes, shape, end, age, model, leaks, use. Each finding says what to do."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from mockserver.cassettes.importing.foreign import header
from mockserver.cassettes.retired import retired
from mockserver.cassettes.shapes import ERRORS, EVENTS, PLAIN, adapter
from mockserver.cassettes.told import events, told
from mockserver.core.episode import Episode
from mockserver.core.json_text import Json

HOUR, DAY = 3_600, 86_400
MOST = 3  # complaints of one kind about one episode


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with an episode (by its number, from 1), and what to do."""

    number: int
    words: str


@dataclass(frozen=True, slots=True)
class Checks:
    """What episodes are held against. `now` and `max_age` in seconds; `mismatches` are the numbers of those whose bytes

    are not those of their hash; `leaks` tells what looks like a secret; `played` are the numbers of those that were
    played, None: nobody knows; `pruning` is the command that removes the others, all at once, as numbers change.
    """

    now: float
    max_age: float | None = None
    mismatches: Mapping[int, str] = field(default_factory=dict)
    leaks: Callable[[Episode], Iterable[str]] = lambda _: ()
    unplayable: Callable[[Episode], Iterable[str]] = lambda _: ()  # why no request gets what was recorded
    played: frozenset[int] | None = None
    pruning: str = "mockserver cassette prune NAME --unplayed URL"


def findings(episodes: Sequence[Episode], checks: Checks) -> Iterator[Finding]:
    """All that is doubtful, episode by episode."""
    for number, episode in enumerate(episodes, 1):
        if number in checks.mismatches:
            yield Finding(number, checks.mismatches[number])
        yield from (Finding(number, words) for words in _of(episode, checks))
        if checks.played is not None and number not in checks.played:
            yield Finding(number, f"was not played; {checks.pruning} removes all such")


def _of(episode: Episode, checks: Checks) -> Iterator[str]:
    yield from checks.unplayable(episode)
    yield from misshapen(episode)
    yield from _unended(episode)
    age = checks.now - episode.at
    if checks.max_age is not None and episode.at and age > checks.max_age:
        yield f"is {_old(age)} old; record it anew"
    if gone := retired(episode.dialect, episode.model, checks.now):
        yield f"asks {episode.model}, which was retired on {gone.since}; record it anew with {gone.instead}"
    yield from checks.leaks(episode)


def _old(age: float) -> str:
    unit, name = (DAY, "day") if age >= DAY else (HOUR, "hour") if age >= HOUR else (60, "minute")
    count = int(age / unit)
    return f"{count} {name}{'s' * (count != 1)}"


def misshapen(episode: Episode) -> Iterator[str]:
    """Where an answer is not as clients of its dialect need it, with the path of each place."""
    reply, kind = episode.reply, header(episode.reply.headers, "content-type")
    if reply.status >= 400:
        if "json" in kind:
            yield from _held(reply.bytes, _shape("errors", episode.dialect, episode.dialect), "the error")
    elif reply.frames is not None:
        shape = _shape("events", episode.dialect, episode.operation)
        yield from _first(_events(episode, shape))
    elif reply.body and reply.status < 300:
        yield from _held(reply.body, _shape("plain", episode.dialect, episode.operation), "the answer")


def _events(episode: Episode, shape: TypeAdapter[Any] | None) -> Iterator[str]:
    for at, event in enumerate(events(episode.reply.frames or ()), 1):
        if event.text != "[DONE]" and event.error is None:
            yield from _held(event.text.encode(), shape, f"event {at} of the stream")


def _first(complaints: Iterator[str]) -> Iterator[str]:
    """The first few; a stream repeats its mistakes."""
    found = list(complaints)
    yield from found[:MOST]
    if len(found) > MOST:
        yield f"and {len(found) - MOST} more of its events are not as they should be"


def _held(text: bytes, shape: TypeAdapter[Any] | None, what: str) -> Iterator[str]:
    if shape is None:
        return
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        yield f"{what} is not JSON; record it anew"
        return
    try:
        shape.validate_python(value, strict=True)
    except ValidationError as error:
        for details in error.errors(include_url=False, include_input=False)[:MOST]:
            yield f"{what} {_words(details['type'], details['msg'], _path(details['loc']))}"


def _words(kind: str, message: str, path: str) -> str:
    if kind == "missing":
        return f"has no {path}; add it, or record it anew"
    return f"is not as it should be at {path}: {message[0].lower()}{message[1:]}; mend it, or record it anew"


def _path(steps: Sequence[str | int]) -> str:
    """A place as JSONPath; the names of alternatives that pydantic puts between the steps are no part of it."""
    steps = [step for step in steps if isinstance(step, int) or step.isidentifier()]
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _unended(episode: Episode) -> Iterator[str]:
    if episode.reply.frames is not None and episode.reply.status < 400:
        said = told(episode.reply, episode.operation)
        if episode.operation in EVENTS and not said.whole and said.error is None:
            yield "the stream breaks off before its end; record it anew"


@cache
def _shape(kind: str, dialect: str, operation: str) -> TypeAdapter[Any] | None:
    if kind == "errors":
        return TypeAdapter(ERRORS[dialect]) if dialect in ERRORS else None
    return adapter(PLAIN if kind == "plain" else EVENTS, dialect, operation)
