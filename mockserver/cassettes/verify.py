"""What is doubtful of episodes: bytes, shape, end, age, model, leaks, use. Each finding says what to do."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any, NotRequired

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from mockserver.cassettes.convert.foreign import header
from mockserver.cassettes.parse_response import events, told
from mockserver.core.episode import Episode
from mockserver.core.json import Json
from mockserver.core.text import plural

Texts = dict[str, Any]


class Usage(TypedDict):
    """Tokens counted."""

    prompt_tokens: int
    total_tokens: int


class Function(TypedDict):
    """What is called, and with what."""

    name: str
    arguments: str


class ToolCall(TypedDict):
    """A call of a tool."""

    id: str
    function: NotRequired[Function]
    custom: NotRequired[Texts]


class Message(TypedDict):
    """What the model says."""

    content: NotRequired[str | None]
    tool_calls: NotRequired[list[ToolCall] | None]


class Choice(TypedDict):
    """One alternative."""

    index: int
    message: Message
    finish_reason: str


class Chat(TypedDict):
    """A plain answer of chat."""

    id: str
    created: int
    model: str
    choices: list[Choice]
    usage: NotRequired[Usage | None]


class FunctionPiece(TypedDict):
    """A piece of what is called."""

    name: NotRequired[str | None]
    arguments: NotRequired[str | None]


class ToolCallPiece(TypedDict):
    """A piece of a call."""

    index: int
    id: NotRequired[str | None]
    function: NotRequired[FunctionPiece | None]


class Delta(TypedDict):
    """What a chunk adds to the message."""

    content: NotRequired[str | None]
    tool_calls: NotRequired[list[ToolCallPiece] | None]


class ChunkChoice(TypedDict):
    """What a chunk adds to one alternative."""

    index: int
    delta: Delta
    finish_reason: NotRequired[str | None]


class Chunk(TypedDict):
    """An event of a streamed answer of chat."""

    id: str
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: NotRequired[Usage | None]


class FilteredChoice(Choice):
    """The same with what a content filter saw."""

    content_filter_results: Texts


class FilteredChat(Chat):
    """A plain answer of a provider that tells with every one what its filters saw."""

    choices: list[FilteredChoice]  # type: ignore[misc]
    prompt_filter_results: list[Texts]


class TextChoice(TypedDict):
    """One alternative of a text completion, or what a chunk adds to it."""

    index: int
    text: str
    finish_reason: NotRequired[str | None]


class Text(TypedDict):
    """A text completion, and an event of a streamed one."""

    id: str
    created: int
    model: str
    choices: list[TextChoice]
    usage: NotRequired[Usage | None]


class Item(TypedDict):
    """An item of a response."""

    type: str
    content: NotRequired[list[Texts] | None]
    arguments: NotRequired[str]
    name: NotRequired[str]


class ResponseUsage(TypedDict):
    """Tokens counted."""

    input_tokens: int
    output_tokens: int
    total_tokens: int


class ResponseError(TypedDict):
    """Why there is no answer."""

    code: str | None
    message: str


class Response(TypedDict):
    """A response."""

    id: str
    created_at: float
    model: str
    status: str
    output: list[Item]
    usage: NotRequired[ResponseUsage | None]
    error: NotRequired[ResponseError | None]


class Step(TypedDict):
    """An event of a streamed response."""

    type: str
    sequence_number: int
    output_index: NotRequired[int]
    response: NotRequired[Response]
    item: NotRequired[Item]


class Vector(TypedDict):
    """One embedding: numbers, or these in base64."""

    index: int
    embedding: list[float] | str


class Embeddings(TypedDict):
    """Vectors for texts."""

    model: str
    data: list[Vector]


class Judgement(TypedDict):
    """What was found in a text."""

    flagged: bool
    categories: dict[str, bool | None]
    category_scores: dict[str, float | None]


class Moderations(TypedDict):
    """What was found in texts."""

    id: str
    model: str
    results: list[Judgement]


class Model(TypedDict):
    """A model."""

    id: str


class Models(TypedDict):
    """A list of models."""

    data: list[Model]


class Fault(TypedDict):
    """What an error says."""

    message: str


class Failed(TypedDict):
    """The envelope of an error."""

    error: Fault


# What a plain answer, an event of a stream and an error are held against; with a dialect in front where it differs.
PLAIN: Mapping[str, Any] = {
    "chat": Chat,
    "skytells chat": FilteredChat,
    "completions": Text,
    "responses": Response,
    "response": Response,
    "embeddings": Embeddings,
    "moderations": Moderations,
    "models": Models,
    "model": Model,
}
EVENTS: Mapping[str, Any] = {"chat": Chunk, "completions": Text, "responses": Step, "response": Step}
ERRORS: Mapping[str, Any] = {
    **dict.fromkeys(("openai", "azure_openai", "crazyrouter", "skytells"), Failed),
    **dict.fromkeys(("azure", "fireworks", "tzafon"), Texts),  # whose errors are of many kinds
}


def adapter(shapes: Mapping[str, Any], dialect: str, operation: str) -> TypeAdapter[Any] | None:
    """What an answer is held against; None: nobody says how it must be."""
    shape = shapes.get(f"{dialect} {operation}", shapes.get(operation))
    return None if shape is None else TypeAdapter(shape)


@dataclass(frozen=True, slots=True)
class Retired:
    """Since when a model is no longer served, and what its provider recommends instead."""

    since: str
    instead: str


def retired(dialect: str, model: str, now: float) -> Retired | None:
    """Whether a model has been retired by now (Unix seconds). Each provider retires its own."""
    found = _OPENAI.get(model) if dialect == "openai" else None
    if found is None or datetime.fromisoformat(found.since).replace(tzinfo=UTC).timestamp() > now:
        return None
    return found


def _all(since: str, instead: str, *models: str) -> Mapping[str, Retired]:
    return dict.fromkeys(models, Retired(since, instead))


_FIRST_EMBEDDINGS = (
    *(f"text-similarity-{size}-001" for size in ("ada", "babbage", "curie", "davinci")),
    *(f"text-search-{size}-{part}-001" for size in ("ada", "babbage", "curie", "davinci") for part in ("doc", "query")),
    *(f"code-search-{size}-{part}-001" for size in ("ada", "babbage") for part in ("code", "text")),
)
_OPENAI: Mapping[str, Retired] = {
    **_all("2023-03-23", "gpt-4o", "code-davinci-001", "code-cushman-001", "code-cushman-002"),
    **_all("2024-01-04", "gpt-3.5-turbo-instruct", "text-ada-001", "text-babbage-001", "text-curie-001"),
    **_all("2024-01-04", "gpt-3.5-turbo-instruct", "text-davinci-001", "text-davinci-002", "text-davinci-003"),
    **_all("2024-01-04", "gpt-3.5-turbo-instruct", "code-davinci-002"),
    **_all("2024-01-04", "babbage-002", "ada", "babbage"),
    **_all("2024-01-04", "davinci-002", "curie", "davinci"),
    **_all("2024-01-04", "gpt-4o", "text-davinci-edit-001", "code-davinci-edit-001"),
    **_all("2024-01-04", "text-embedding-3-small", *_FIRST_EMBEDDINGS),
    **_all("2024-09-13", "gpt-3.5-turbo", "gpt-3.5-turbo-0301", "gpt-3.5-turbo-0613", "gpt-3.5-turbo-16k-0613"),
    **_all("2024-12-06", "gpt-4o", "gpt-4-vision-preview", "gpt-4-1106-vision-preview"),
    **_all("2025-06-06", "gpt-4o", "gpt-4-32k", "gpt-4-32k-0314", "gpt-4-32k-0613"),
}


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
    return plural(count, name)


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
