"""Doubtful episodes: edited, misshapen, incomplete, old, leaking or unused. Each finding says what to do."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, NamedTuple, NotRequired, Union

from msgspec import Struct
from pydantic import Discriminator, Tag, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from mockserver.cassettes.formats import find_episode_format, parse_answer
from mockserver.cassettes.stream_events import DONE, parse_events
from mockserver.core.episode import Episode
from mockserver.core.json import Json
from mockserver.core.text import count_noun
from mockserver.kinds import ARTIFACTS

HOUR = 3_600
DAY = 86_400
MAX_FINDINGS = 3  # of one kind about one episode


class Finding(NamedTuple):
    """The number of an episode, from 1, and words about what is wrong with it, and what to do."""

    number: int
    words: str


class Checks(Struct, frozen=True):
    """What to check.

    `now`: Unix time; `max_age`: seconds; `mismatches`: the numbers of episodes whose bytes differ from their sha256;
    `source`: the name of the cassette; `played`: the episodes that were played, such as `chat.yaml#3`, if known;
    `pruning`: the command that removes the others.
    """

    now: float
    max_age: float | None = None
    mismatches: frozenset[int] = frozenset()
    leaks: Callable[[Episode], Iterable[str]] = lambda _: ()
    unplayable: Callable[[Episode], Iterable[str]] = lambda _: ()
    source: str = ""
    played: frozenset[str] | None = None
    pruning: str = "mockserver cassette prune NAME --unplayed URL"


def list_findings(episodes: Sequence[Episode], checks: Checks) -> Iterator[Finding]:
    """Yield what is doubtful about the episodes of a cassette, in their order."""
    for number, episode in enumerate(episodes, 1):
        if number in checks.mismatches:
            yield Finding(number, _EDITED)
        yield from (Finding(number, words) for words in _check_episode(episode, checks))
        if checks.played is not None and f"{checks.source}#{number}" not in checks.played:
            yield Finding(number, f"was not played; to remove all such episodes: {checks.pruning}")


def _check_episode(episode: Episode, checks: Checks) -> Iterator[str]:
    yield from checks.unplayable(episode)
    yield from find_misshapen(episode)
    if _is_broken_off(episode):
        yield "the stream breaks off before its end; record it again"
    age = checks.now - episode.at
    if checks.max_age is not None and episode.at and age > checks.max_age:
        yield f"is {_format_age(age)} old; record it again"
    yield from checks.leaks(episode)


def _format_age(age: float) -> str:
    unit, name = (DAY, "day") if age >= DAY else (HOUR, "hour") if age >= HOUR else (60, "minute")
    return count_noun(int(age / unit), name)


def _is_broken_off(episode: Episode) -> bool:
    if episode.reply.frames is None or episode.reply.status >= 400 or find_episode_format(episode) not in _STREAMED:
        return False
    response = parse_answer(episode)
    return not response.complete and response.error is None


def find_misshapen(episode: Episode) -> Iterator[str]:
    """Yield where an answer lacks what clients of its dialect need, with the path of each place.

    Errors are not judged: clients read them in any shape, and gateways send many.
    """
    reply = episode.reply
    form = find_episode_format(episode)
    if reply.status >= 300:
        return
    if reply.frames is not None:
        found = list(_check_events(episode, _STREAMED[form])) if form in _STREAMED else []
        yield from found[:MAX_FINDINGS]
        if len(found) > MAX_FINDINGS:  # a stream repeats its mistakes
            yield f"{len(found) - MAX_FINDINGS} more of its events have such mistakes"
    elif reply.body and form in _SHAPES:
        listed = form == "contents" and reply.body.startswith(b"[")  # a stream as one array
        yield from _check_json(reply.body, _make_adapter("contents list" if listed else form), "the answer")


def _check_events(episode: Episode, shape: str) -> Iterator[str]:
    for at, event in enumerate(parse_events(episode.reply.frames or ()), 1):
        if event.text != DONE and event.error is None:
            yield from _check_json(event.text.encode(), _make_adapter(shape), f"event {at} of the stream")


def _check_json(text: bytes, adapter: TypeAdapter[Any], what: str) -> Iterator[str]:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        yield f"{what} is not JSON; record it again"
        return
    if isinstance(value, dict) and value.get("error") and "status" not in value:
        return  # an error with the status of a success: some gateways send that, and Azure for a filtered prompt
    try:
        adapter.validate_python(value, strict=True)
    except ValidationError as error:
        for details in error.errors(include_url=False, include_input=False)[:MAX_FINDINGS]:
            path = _write_path(details["loc"])
            message = details["msg"]
            if details["type"] == "missing":
                yield f"{what} has no {path}; add it, or record it again"
            else:
                yield f"{what} is wrong at {path}: {message[0].lower()}{message[1:]}; correct it, or record it again"


def _write_path(steps: Sequence[str | int]) -> str:
    """Return a place as JSONPath, without the names of union members that pydantic inserts."""
    steps = [step for step in steps if isinstance(step, int) or step.isidentifier()]
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


_EDITED = (
    "was edited: its bytes do not match its sha256; record it again or, if you meant to edit it, set `sha256: unknown`"
)
_STREAMED = {
    "chat": "chunk",
    "completions": "completions",
    "responses": "step",
    "response": "step",
    "contents": "contents",
    "messages": "message_event",
    "lines": "lines",
    "cohere_chat": "cohere_event",
    "converse": "converse_event",
    "invoked": "invoked",
}


class OneOf(Struct, frozen=True):
    """Several shapes, one of which applies to a value: `pick` returns its name."""

    pick: Callable[[Json], str]
    shapes: Mapping[str, Any]


def _make_type(shape: Any) -> Any:
    """Return the type of a shape.

    A shape is a type, a table of fields (absent ones end in ?), a list of one shape, OneOf, or (shape, None).
    """
    if isinstance(shape, OneOf):
        # Names in brackets are not taken for a step of a path.
        members = [Annotated[_make_type(inner), Tag(f"<{name}>")] for name, inner in shape.shapes.items()]
        return Annotated[Union[*members], Discriminator(lambda value: f"<{shape.pick(value)}>")]
    if isinstance(shape, dict):
        fields = {name.removesuffix("?"): _make_type(inner) for name, inner in shape.items()}
        absent = {name: NotRequired[fields[name]] for name in fields if f"{name}?" in shape}
        return TypedDict("Shape", {**fields, **absent})  # type: ignore[operator]
    if isinstance(shape, list):
        return list[_make_type(shape[0])]  # type: ignore[misc]
    return _make_type(shape[0]) | None if isinstance(shape, tuple) else shape


@cache
def _make_adapter(shape: str) -> TypeAdapter[Any]:
    return TypeAdapter(_make_type(_SHAPES[shape]))


def _choose_by_type(**shapes: Any) -> OneOf:
    """Return a table by its `type`; only the types that are named here are looked into."""

    def pick(value: Json) -> str:
        kind = value.get("type") if isinstance(value, dict) else None
        return kind if isinstance(kind, str) and kind in shapes else "other"

    tables = {kind: {"type": str, **shape} for kind, shape in shapes.items()}
    return OneOf(pick, {**tables, "other": {"type": str}})


def _allow_filtered(shape: Mapping[str, Any]) -> OneOf:
    """Return the shape of a choice.

    Azure leaves out the message, text or delta of one that it filters, and sends filter results alone.
    """

    def pick(value: Json) -> str:
        filtered = isinstance(value, dict) and not value.keys().isdisjoint(_FILTERS)
        return "filtered" if filtered else "usual"

    filtered = {name if name.endswith("?") else f"{name}?": inner for name, inner in shape.items()}
    return OneOf(pick, {"filtered": filtered, "usual": shape})


_FILTERS = ("content_filter_results", "content_filter_result", "content_filter_offsets")
_TABLE = dict[str, Any]
_TEXT = str | None
_NUMBER = float | None
_USAGE = dict[str, Any] | None
# Servers that speak OpenAI's chat leave out some of this; the official client takes what is there.
_HEAD = {"id?": str, "created?": float, "model?": str, "usage?": _USAGE}


def _pick_call(value: Json) -> str:
    """Return the type of a tool call; Mistral sends none."""
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if kind in ("custom", "function") else "function" if kind is None else "other"


_CALL = OneOf(
    _pick_call,
    {
        "function": {"type?": str, "id?": _TEXT, "function": {"name": str, "arguments": str}},
        "custom": {"type": str, "id?": _TEXT, "custom": {"name": str, "input": str}},
        "other": {"type": str},
    },
)
_DELTA_CALL = {
    "index?": _NUMBER,
    "id?": _TEXT,
    "function?": ({"name?": _TEXT, "arguments?": _TEXT}, None),
}
_CONTENT = str | list[dict[str, Any]] | None  # Mistral's is a list if it thinks
_MESSAGE = {"content?": _CONTENT, "tool_calls?": ([_CALL], None)}
_DELTA = {"content?": _CONTENT, "tool_calls?": ([_DELTA_CALL], None)}
_ENDED = {"index?": _NUMBER, "finish_reason?": _TEXT}
_ITEM = _choose_by_type(
    message={"content": [_TABLE]},
    function_call={"name": str, "arguments": str},
    custom_tool_call={"name": str, "input": str},
)
_RESPONSE = {
    "id": str,
    "created_at?": _NUMBER,
    "model?": _TEXT,
    "status?": _TEXT,
    "output": [_ITEM],
    "usage?": _USAGE,
    "error?": ({"code?": _TEXT, "message?": _TEXT}, None),
}
# Every field of Gemini's may be absent or null.
_CANDIDATE = {
    "content?": ({"parts?": ([_TABLE], None), "role?": _TEXT}, None),
    "finishReason?": str | int | None,  # `$alt=json;enum-encoding=int` asks for the numbers of enums
    "index?": int | None,
}
_CONTENTS = {
    "candidates?": ([_CANDIDATE], None),
    "usageMetadata?": (_TABLE, None),
    "modelVersion?": _TEXT,
    "responseId?": _TEXT,
}
_VECTOR = {"values?": ([float], None)}
_VECTORS = {
    "embedding?": (_VECTOR, None),
    "embeddings?": ([_VECTOR], None),
    "predictions?": ([{"embeddings": _VECTOR}], None),
}
_NAMED = {"name?": _TEXT}
_OWN_CALL = {"function": {"name": str, "arguments": dict[str, Any]}}  # of Ollama
_OWN_MESSAGE = {"role": str, "content": str, "thinking?": _TEXT, "tool_calls?": ([_OWN_CALL], None)}
_BLOCK = _choose_by_type(
    text={"text": str},
    thinking={"thinking": str},
    tool_use={"id": str, "name": str},
    server_tool_use={"id": str, "name": str},
)

_COHERE_MESSAGE = {
    "role": str,
    "content?": ([_choose_by_type(text={"text": str}, thinking={"thinking": str})], None),
    "tool_calls?": ([{"id": str, "function": {"name": str, "arguments": str}}], None),
    "tool_plan?": _TEXT,
}
_COHERE_CHAT = OneOf(
    lambda value: "v2" if isinstance(value, dict) and "text" not in value else "v1",
    {
        "v2": {"id": str, "message": _COHERE_MESSAGE, "finish_reason": str, "usage?": _USAGE},
        "v1": {"text": str, "finish_reason?": _TEXT, "meta?": _USAGE},
    },
)
_COHERE_EVENT = OneOf(
    lambda value: "v1" if isinstance(value, dict) and "event_type" in value else "v2",
    {
        "v2": {"type": str, "index?": int, "delta?": (_TABLE, None)},
        "v1": {"event_type": str, "text?": str, "response?": (_TABLE, None)},
    },
)

# The fields that clients need of an answer or an event, by wire format.
_SHAPES: Mapping[str, Any] = {
    "chat": {**_HEAD, "choices": [_allow_filtered({**_ENDED, "message": _MESSAGE})]},
    "chunk": {**_HEAD, "choices": [_allow_filtered({**_ENDED, "delta": _DELTA})]},
    "completions": {**_HEAD, "choices": [_allow_filtered({**_ENDED, "text": str})]},
    "responses": _RESPONSE,
    "response": _RESPONSE,
    "step": {"type": str, "sequence_number?": _NUMBER, "output_index?": int, "response?": _RESPONSE, "item?": _ITEM},
    "contents": _CONTENTS,
    "contents list": [_CONTENTS],
    "messages": {"id": str, "role": str, "model": str, "content": [_BLOCK], "usage": _TABLE},
    "message_event": {"type": str, "index?": int, "message?": _TABLE, "content_block?": _BLOCK, "delta?": _TABLE},
    "converse": {
        "output": {"message": {"role": str, "content": [_TABLE]}},
        "stopReason": str,
        "usage": {"inputTokens": int, "outputTokens": int, "totalTokens": int},
        "metrics": _TABLE,
    },
    "converse_event": {"contentBlockIndex?": int, "delta?": _TABLE, "start?": _TABLE, "stopReason?": str},
    "invoked": _TABLE,
    "ranked": {"results": [{"index": int, "relevanceScore": float}]},
    "guarded": {"action": str, "outputs": [_TABLE], "assessments": [_TABLE], "usage": _TABLE},
    "listed_models": {"modelSummaries?": [_TABLE], "inferenceProfileSummaries?": [_TABLE]},
    "listed_model": _TABLE,
    "vectors": _VECTORS,
    "lines": {"model": str, "created_at": str, "message?": _OWN_MESSAGE, "response?": str, "done": bool},
    "bare_vectors": {"embedding?": ([float], None), "embeddings?": ([[float]], None)},
    "shown_model": {"model_info": _TABLE},
    "judged": {"results": [{"categories": _TABLE, "category_scores": _TABLE}]},
    "cohere_chat": _COHERE_CHAT,
    "cohere_event": _COHERE_EVENT,
    "generations": {"id": str, "generations": [{"text": str}]},
    "vectors_by_type": {"id": str, "embeddings": list[list[float]] | dict[str, list[Any] | None]},
    "models": {"data": [{"id": str}]},
    "model": {"id": str},
    "named_models": {"models?": ([_NAMED], None), "publisherModels?": ([_NAMED], None)},
    "named_model": _NAMED,
    **{name: kind.wire for name, kind in ARTIFACTS.items() if kind.wire},
}
