"""Bytes and headers of replies that the dialects share: a JSON body, or a chat answer, plain or streamed."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import chain
from typing import Any, TypeVar

from msgspec import Raw
from msgspec.structs import replace
from pydantic_core import PydanticSerializationError, to_json

from mockserver.core.call import Call, compute_fingerprint
from mockserver.core.http import HeaderLines, Headers, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.kept_objects import Data, ObjectView
from mockserver.core.lazy import FEW_ITEMS, LazySequence, join_batches
from mockserver.core.plan import Answer, Failure, Models
from mockserver.core.rates import Kind, Standing, Standings
from mockserver.core.seed import group_as_uuid
from mockserver.dialects import Operation
from mockserver.dialects._errors import ErrorTable, write_duration, write_retry_lines
from mockserver.dialects._parse import BAD_JSON, OTHER_MEDIA, look_up, parse_models
from mockserver.kinds.objects import Work
from mockserver.media.large_data import split_data
from mockserver.wire.renderer import Renderer

LARGE_BODY = 1 << 18  # bytes; larger bodies are serialised while they are sent
MAX_DEPTH = 5  # levels at which such a body is split into pieces
JSON_TYPE = "content-type: application/json\r\n"
EVENT_TYPE = "content-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
STREAM_LINES = EVENT_TYPE + "connection: keep-alive\r\nx-accel-buffering: no\r\n"
RequestLines = Callable[[HttpRequest, Call | None], str]  # header lines of the reply to a request
Options = TypeVar("Options")


def make_json_reply(
    status: int,
    body: Mapping[str, Json],
    *,
    lines: str = "",
    headers: Headers = (),
    tokens: int = 0,
    indent: int | None = None,
    json_type: str = JSON_TYPE,
) -> Reply:
    """Return a reply whose body is JSON, with its content type and these header lines, which `headers` override.

    A large body is serialised while it is sent; others have a content length. `indent` spreads a small body over lines.
    """
    long = [value for value in body.values() if type(value) is list and len(value) > FEW_ITEMS]
    data = None if long else _write_whole(body, indent)
    if data is None:
        several = join_batches(_write_pieces(body), LARGE_BODY)
        data = next(several)
        more = next(several, None)
        if more is not None:
            pieces = chain((data, more), several)
            merged = merge_headers(HeaderLines(json_type + lines), headers)
            return Reply(status, merged, tokens=tokens, pieces=pieces)
    return make_data_reply(status, data, lines=lines, headers=headers, tokens=tokens, json_type=json_type)


def make_file_reply(data: Data, lines: str, stated: Headers) -> Reply:
    """Return a reply with the bytes of a file, which are read while they are sent if they are many."""
    headers = (*HeaderLines(lines), *stated, ("content-length", str(len(data))))
    return Reply(200, headers, data) if isinstance(data, bytes) else Reply(200, headers, pieces=split_data(data))


def make_data_reply(
    status: int, data: bytes, *, lines: str, headers: Headers = (), tokens: int = 0, json_type: str = JSON_TYPE
) -> Reply:
    """Return a reply like `make_json_reply` with a body that is already JSON."""
    own = HeaderLines(f"{json_type}content-length: {len(data)}\r\n{lines}", sized=True)
    return Reply(status, merge_headers(own, headers) if headers else own, data, tokens=tokens)


def _write_pieces(value: Json, depth: int = 0) -> Iterator[bytes]:
    """Yield JSON bytes in pieces: serialising a long list at once would block other threads, or fill the memory."""
    if not _has_long(value, depth):
        yield _write_json(value, list)
    elif type(value) is dict:
        for at, (key, inner) in enumerate(value.items()):
            yield (b"," if at else b"{") + to_json(key) + b":"
            yield from _write_pieces(inner, depth + 1)
        yield b"}"
    else:
        yield b"["
        for at, each in enumerate(value):
            if at:
                yield b","
            yield from _write_pieces(each, depth + 1)
        yield b"]"


def _has_long(value: Json, depth: int) -> bool:
    """Return whether a body has a long list, or one that is made while it is sent."""
    if type(value) is LazySequence:
        return True
    if type(value) is list and len(value) > FEW_ITEMS:
        return depth == 1
    if depth < MAX_DEPTH and type(value) is dict:
        return any(_has_long(inner, depth + 1) for inner in value.values())
    return depth < MAX_DEPTH and type(value) is list and any(_has_long(inner, depth + 1) for inner in value)


def _write_whole(body: Mapping[str, Json], indent: int | None) -> bytes | None:
    """Return the whole body; None if a part of it is made while it is sent."""
    try:
        return _write_json(body, _refuse) if indent is None else to_json(body, indent=indent) + b"\n"
    except PydanticSerializationError:
        if not _has_long(body, 0):
            raise
        return None


def _write_json(value: Json, otherwise: Callable[[Json], Json]) -> bytes:
    """Return a value as JSON bytes, in which Raw is already JSON; `otherwise` converts other types."""
    raw: list[Raw] = []

    def hold(inner: Json) -> Json:
        if type(inner) is not Raw:
            return otherwise(inner)
        raw.append(inner)
        return _HOLE

    written = to_json(value, fallback=hold)
    if not raw:
        return written
    before, *others = written.split(_HOLE_BYTES)
    return b"".join((before, *chain.from_iterable(zip(raw, others, strict=True))))


def _refuse(value: Json) -> Json:
    raise TypeError(f"no JSON: {type(value).__name__}")


_HOLE: Mapping[str, Json] = {"\0": 0}  # no text of a body reads so in JSON
_HOLE_BYTES = to_json(_HOLE)


def make_answer_reply(
    answer: Answer,
    renderer: Renderer[Options],
    options: Options,
    lines: str,
    *,
    stream: bool,
    stream_lines: str = STREAM_LINES,
    json_type: str = JSON_TYPE,
) -> Reply:
    """Return an answer as JSON, or as a stream, with these header lines. The answer's own headers override them."""
    # The first four are passed by position, as names take longer, and this is on the path of every chat.
    if stream:
        own = HeaderLines(lines + stream_lines)
        return Reply(200, merge_headers(own, answer.headers), frames=renderer.stream(answer, options))
    data = renderer.fill_body(answer, options)
    if data is None:
        body = renderer.render_body(answer, options)
        own_reply = make_json_reply(
            200, body, lines="", headers=answer.headers, tokens=answer.weight, json_type=json_type
        )
        return prepend_lines(own_reply, lines)
    own = HeaderLines(f"{lines}{json_type}content-length: {len(data)}\r\n", sized=True)
    tokens = answer.usage.completion if answer.written is None else answer.written
    return Reply(200, merge_headers(own, answer.headers) if answer.headers else own, data, tokens=tokens)


def fail_with_detail(errors: ErrorTable) -> Callable[[HttpRequest, Failure, Call | None], Reply]:
    """Return a function that renders failures as errors of one text, `{"detail": ...}`."""

    def fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
        if (failure.message or "").startswith((BAD_JSON, OTHER_MEDIA)):  # a message in OpenAI's words
            failure = failure.replace(message=None)
        resolved = errors.resolve(failure, http, call)
        lines = write_request_id(http, call) + write_retry_lines(failure)
        return make_json_reply(resolved.status, {"detail": resolved.message}, lines=lines, headers=failure.headers)

    return fail


def prepend_lines(reply: Reply, lines: str) -> Reply:
    """Return a reply with these header lines before its own headers, which take precedence."""
    own = reply.headers
    if type(own) is HeaderLines:
        return replace(reply, headers=HeaderLines(lines + own.lines, own.sized))
    return replace(reply, headers=merge_headers(HeaderLines(lines), (*own,)))


def merge_headers(own: Headers | HeaderLines, over: Headers) -> Headers | HeaderLines:
    """Return the headers of `own`, without those whose names `over` has, and then those of `over`."""
    if not over:
        return own
    names = {*map(str.lower, dict(over))}
    return (*[header for header in own if header[0].lower() not in names], *over)


def put_standings(
    headers: Headers | HeaderLines, standings: Standings, write: Callable[[Standings], HeaderLines]
) -> Headers | HeaderLines:
    """Return a reply's headers with what a dialect writes of standings, in place of its own of the same names."""
    written = write(standings)
    if type(headers) is not HeaderLines:
        return merge_headers(headers, tuple(written))
    own = _find_own_lines(write, standings.requests is not None, standings.tokens is not None)
    return HeaderLines(own.sub("\n", f"\n{headers.lines}")[1:] + written.lines, headers.sized)


@lru_cache(maxsize=64)
def _find_own_lines(write: Callable[[Standings], HeaderLines], requests: bool, tokens: bool) -> re.Pattern[str]:
    """Return what finds lines of headers that a dialect also writes of these kinds, and the end of the line before."""
    some = Standing(1, 1, 1.0)
    written = write(Standings(some if requests else None, some if tokens else None))
    line = rf"(?:{'|'.join([re.escape(name) for name, _ in written])}):[^\r]*\r\n"
    return re.compile(rf"\n{line}(?:{line})*")  # that begins with one letter, which is found fast


def make_request_hex(http: HttpRequest, call: Call | None) -> str:
    """Return 32 hex digits that identify a request: by its meaning if it has one, else by its bytes."""
    if call is not None:
        return call.fingerprint
    return compute_fingerprint(http.method, http.path, blake2b(http.body, digest_size=16).hexdigest())


def write_request_id(http: HttpRequest, call: Call | None) -> str:
    """Return the header line with the id of a request, which follows from the request."""
    return f"x-request-id: req_{make_request_hex(http, call)}\r\n"


def make_request_uuid(http: HttpRequest, call: Call | None) -> str:
    """Return the id of a request in the form of a UUID."""
    return group_as_uuid(make_request_hex(http, call))


def write_openai_rate_limits(standings: Standings) -> HeaderLines:
    """Return limit, remaining amount and reset time of requests and tokens, if they are limited."""
    return HeaderLines(_write_three("requests", standings.requests) + _write_three("tokens", standings.tokens))


def write_remaining_limits(standings: Standings) -> HeaderLines:
    """Return the remaining amounts of requests and tokens, if they are limited."""
    kinds = (("requests", standings.requests), ("tokens", standings.tokens))
    left = [f"x-ratelimit-remaining-{kind}: {one.left}\r\n" for kind, one in kinds if one is not None]
    return HeaderLines("".join(left))


def _write_three(kind: Kind, standing: Standing | None) -> str:
    if standing is None:
        return ""
    # Rounded up: retrying after this time must not be too early.
    milliseconds = math.ceil(standing.reset * 1000)
    reset = f"{milliseconds}ms" if milliseconds < 1000 else write_duration(milliseconds / 1000)
    return (
        f"x-ratelimit-limit-{kind}: {standing.limit}\r\n"
        f"x-ratelimit-remaining-{kind}: {standing.left}\r\n"
        f"x-ratelimit-reset-{kind}: {reset}\r\n"
    )


def make_look_up(
    dialect: str,
    name: str,
    method: str,
    path: str,
    *,
    work: Work,
    render: Callable[[Call, ObjectView], Reply],
    prefix: str = "",
    **more: Any,
) -> Operation:
    """Return an operation that shows or changes a kept object, or a list of them, as `work` does.

    The id of the object is that of the path after the prefix; `more` are other fields of the operation.
    """
    return Operation(name, method, path, parse=look_up(dialect, name, prefix=prefix, work=work), render=render, **more)


def show_model(name: str, created: int) -> dict[str, Json]:
    """Return a model as OpenAI lists it, created at this Unix time."""
    return {"id": name, "object": "model", "created": created, "owned_by": "mockserver"}


def make_model_operations(
    dialect: str,
    lines: RequestLines,
    show: Callable[[str, int], dict[str, Json]] = show_model,
) -> tuple[Operation, Operation]:
    """Return the operations that list all models and retrieve one, each as `show(name, created)` writes it."""

    def render(call: Call, outcome: Models) -> Reply:
        listed = [show(name, outcome.created) for name in outcome.names]
        body = listed[0] if call.operation == "model" else {"object": "list", "data": listed}
        return make_json_reply(200, body, lines=lines(call.http, call))

    return make_model_look_ups(dialect, render)


def make_model_look_ups(
    dialect: str, render: Callable[[Call, Models], Reply], path: str = "/models"
) -> tuple[Operation, Operation]:
    """Return the operations that list all models at a path and retrieve one; `render` makes the replies of both."""
    parse = partial(parse_models, dialect)
    return (
        Operation("models", "GET", path, parse=parse, render=render),
        Operation("model", "GET", f"{path}/{{model:path}}", parse=parse, render=render),
    )
