"""Bytes and headers of replies that the dialects share: a JSON body, a chat answer, plain or streamed.

Knows no envelope and no provider's headers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b

from pydantic_core import to_json

from mockserver.core.call import Call, Json, fingerprint
from mockserver.core.http import Frame, Headers, HttpRequest, Reply
from mockserver.core.plan import Answer
from mockserver.formats.chat import ChatStyle, Extra, completion
from mockserver.formats.chat_stream import chunks

FEW = 16  # entries of a list that are written at once
DONE = Frame(b"[DONE]", part="end")
STREAM_HEADERS: Headers = (
    ("content-type", "text/event-stream; charset=utf-8"),
    ("cache-control", "no-cache"),
    ("connection", "keep-alive"),
    ("x-accel-buffering", "no"),
)


def json_reply(status: int, body: Mapping[str, Json], headers: Headers, *, tokens: int = 0) -> Reply:
    """A JSON body with its type and length; `headers` win over these."""
    data = (
        _in_pieces(body) if any(type(value) is list and len(value) > FEW for value in body.values()) else to_json(body)
    )
    own = (("content-type", "application/json"), ("content-length", str(len(data))))
    return Reply(status, merged(own, headers), data, tokens=tokens)


def _in_pieces(body: Mapping[str, Json]) -> bytes:
    """The same bytes, put together from many: to write a long list in one go would keep all others waiting."""
    return b"{" + b",".join([to_json(key) + b":" + _value(value) for key, value in body.items()]) + b"}"


def _value(value: Json) -> bytes:
    if type(value) is not list:
        return to_json(value)
    pieces = [to_json(each) for each in value]  # no `map`: only a loop lets other threads have their turn
    return b"[" + b",".join(pieces) + b"]"


def chat_reply(call: Call, answer: Answer, style: ChatStyle, extra: Extra | None = None) -> Reply:
    """A chat answer as the call wants it: whole, or as frames that end with `[DONE]`; its own headers win."""
    if call.stream:
        return Reply(200, merged(STREAM_HEADERS, answer.headers), frames=_frames(call, answer, style, extra))
    return json_reply(200, completion(answer, style, extra), answer.headers, tokens=answer.weight)


def headed(reply: Reply, headers: Headers) -> Reply:
    """The reply with a provider's headers, where it does not have its own."""
    return replace(reply, headers=merged(headers, reply.headers))


def _frames(call: Call, answer: Answer, style: ChatStyle, extra: Extra | None) -> Iterator[Frame]:
    yield from chunks(answer, style, extra, include_usage=call.include_usage)
    yield DONE


def merged(own: Headers, over: Headers) -> Headers:
    """Both, without those of `own` that `over` names again."""
    if not over:
        return own
    names = {name.lower() for name, _ in over}
    return (*((name, value) for name, value in own if name.lower() not in names), *over)


def request_hex(http: HttpRequest, call: Call | None) -> str:
    """32 hex digits that name a request: by its meaning where it has one, else by its bytes."""
    if call is not None:
        return call.fingerprint
    return fingerprint(http.method, http.path, blake2b(http.body, digest_size=16).hexdigest())


def request_uuid(http: HttpRequest, call: Call | None) -> str:
    """The same digits in the groups of a UUID."""
    digits = request_hex(http, call)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
