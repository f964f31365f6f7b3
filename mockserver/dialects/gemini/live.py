"""Turns of a Live session: each is a request for content, whose model is in the body, answered as a stream.

(https://ai.google.dev/api/live) Sessions are spoken over a WebSocket; over HTTP, a single turn is answered.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._parse import Body
from mockserver.dialects.gemini.messages import CLIENT_MESSAGE
from mockserver.dialects.gemini.parse import generate_call
from mockserver.dialects.gemini.proto import read_message

PATH = "/ws/google.ai.generativelanguage.{version:version}.GenerativeService.BidiGenerateContent"
USUAL_MODEL = "gemini-live-2.5-flash-preview"


def turn_operation(render: Callable[[Call, Any], Reply], usual: Operation) -> Operation:
    """Return the operation of a turn; `usual` is that of content over HTTP."""
    return replace(usual, name="realtime", path=PATH, parse=parse_turn, render=render, over_socket="live", streams=True)


def parse_turn(http: HttpRequest, validation: Validation) -> Call:
    """Return the call of a turn. Raises Failure."""
    from mockserver.dialects._parse import read_object

    body = read_object(http)
    model = str(body.get("model") or USUAL_MODEL).rpartition("/")[2]
    asked: Body = {"contents": [], **{key: value for key, value in body.items() if key != "model"}}
    http = replace(http, path_params={**http.path_params, "model": model})
    return replace(generate_call(http, asked, "realtime", None), stream=True)


def read_client_message(read: Json) -> tuple[str, Body]:
    """Return what kind of message a client sends, and its contents, with camelCase names. Raises Failure."""
    if not isinstance(read, Mapping):
        raise Failure("bad_parameter", "Invalid JSON payload received: a message must be an object.")
    found, wrong = read_message(CLIENT_MESSAGE, read, vertex=False)
    if wrong:
        raise Failure("bad_parameter", "\n".join([each.text for each in wrong]))
    kind = next((name for name in found if found[name] is not None), None)
    if kind is None:
        raise Failure("bad_parameter", "Request contains no message that a client can send.")
    return kind, found[kind]


def read_contents(turns: Json) -> list[dict[str, Json]]:
    """Return the turns of a client as contents."""
    listed = turns if isinstance(turns, list) else [turns] if isinstance(turns, Mapping) else []
    return [{"role": "user", **each} for each in listed if isinstance(each, Mapping) and each.get("parts")]


def list_parts(response: Body) -> Iterator[Body]:
    """Yield the parts of the first candidate of a response."""
    candidates: Sequence[Body] = response.get("candidates") or ()
    for candidate in candidates[:1]:
        yield from (candidate.get("content") or {}).get("parts") or ()


def count_usage(response: Body) -> dict[str, Json]:
    """Return the tokens of a turn as sessions count them."""
    usage: Body = response.get("usageMetadata") or {}
    names = {"promptTokenCount": "promptTokenCount", "candidatesTokenCount": "responseTokenCount"}
    told = {new: usage[old] for old, new in names.items() if old in usage}
    return {**told, "totalTokenCount": usage.get("totalTokenCount", 0)}
