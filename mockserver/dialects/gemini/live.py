"""Turns of a Live session: each is a request for content, whose model is in the body, answered as a stream.

(https://ai.google.dev/api/live) Sessions are spoken over a WebSocket; over HTTP, a single turn is answered. A token
(https://ai.google.dev/gemini-api/docs/ephemeral-tokens) opens one in place of the key that has made it.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call, IdShape
from mockserver.core.frames import Frame
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json, find_in, find_table
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Answer, Failure, Text
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._parse import Body, read_object
from mockserver.dialects.gemini import bodies
from mockserver.dialects.gemini.errors import read_credential
from mockserver.dialects.gemini.files import render_view
from mockserver.dialects.gemini.proto import read_message
from mockserver.dialects.gemini.request import NAME, make_call, make_renamer, read
from mockserver.kinds.objects import Objects
from mockserver.kinds.realtime import AUTH_TOKEN
from mockserver.media.samples import PCM

PATH = "/ws/google.ai.generativelanguage.{version:version}.GenerativeService.BidiGenerateContent"
VERTEX_PATH = "/ws/google.cloud.aiplatform.{version:version}.LlmBidiService/BidiGenerateContent"
TOKENS = IdShape("auth_tokens/", 64, "hex")
TTL = 1_800  # seconds in which a token is valid
TTL_FOR_SESSIONS = 60  # seconds in which it opens sessions
USUAL_MODEL = "gemini-live-2.5-flash-preview"


def make_turn_operations(render: Callable[[Call, Any], Reply], usual: Operation) -> Iterator[Operation]:
    """Yield the operation of a turn, by a key, by a token and at Vertex AI; `usual` is that of content over HTTP."""
    for path in (PATH, f"{PATH}Constrained", VERTEX_PATH):
        yield replace(
            usual, name="realtime", path=path, parse=parse_turn, render=render, over_socket="live", streams=True
        )


def make_token_operation() -> Operation:
    """Return the operation that creates a token."""
    return Operation(
        AUTH_TOKEN.name,
        "POST",
        "/{version:version}/auth_tokens",
        parse=_parse_token,
        render=render_view,
        unify=make_renamer(bodies.AUTH_TOKEN),
        params={"version": "v1alpha"},
    )


def _parse_token(http: HttpRequest, validation: Validation) -> Call:
    asked = read(http, bodies.AUTH_TOKEN, validation)
    return Call(NAME, AUTH_TOKEN.name, model="", http=http, meaning=asked, raw=asked, work=_create_token)


async def _create_token(call: Call, objects: Objects) -> ObjectView:
    """Keep a token with the setup of its sessions, its uses (None: any number) and the key that made it, as a hash."""
    name = objects.draw_id(TOKENS)
    asked = call.raw
    setup: Body = asked.get("bidiGenerateContentSetup") or {}
    uses = asked.get("uses")
    body: Body = {
        "setup": {**setup},
        "key": hash_key(read_credential(call.http) or ""),
        "uses": 1 if uses is None else uses if isinstance(uses, int) and uses > 0 else None,
        "expires": min(
            _read_moment(asked.get("expireTime"), objects.now + TTL),
            _read_moment(asked.get("newSessionExpireTime"), objects.now + TTL_FOR_SESSIONS),
        ),
    }
    await objects.keep(KeptObject(NAME, AUTH_TOKEN.name, id=name, body=body))
    return ObjectView({"name": name})


def _read_moment(stated: Json, usual: int) -> float:
    """Return a time in Unix seconds; the usual one if none is stated, or none that can be read."""
    try:
        return datetime.fromisoformat(str(stated)).timestamp()
    except (ValueError, OverflowError):
        return usual


def hash_key(key: str) -> str:
    """Return what stands for a key where it is not to be read."""
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


async def use_token(name: str, objects: Objects) -> Body | None:
    """Return what a token was made for, and count that use of it; None for an unknown one.

    Raises Failure if it has expired or was used before.
    """
    token = await objects.find(AUTH_TOKEN.name, name)
    if token is None:
        return None
    if objects.now >= token.body["expires"]:
        raise Failure("key_not_allowed", "The ephemeral token has expired.")

    def use(kept: KeptObject) -> KeptObject:
        uses: Any = kept.body["uses"]
        return kept.change(uses=uses - 1) if uses else kept

    before, _ = await objects.change(token, use)
    if before.body["uses"] == 0:
        raise Failure("key_not_allowed", "The ephemeral token has no uses left.")
    return before.body


def parse_turn(http: HttpRequest, validation: Validation) -> Call:
    """Return the call of a turn. Raises Failure."""
    body = read_object(http)
    model = str(body.get("model") or USUAL_MODEL).rpartition("/")[2]
    asked: Body = {"contents": [], **{key: value for key, value in body.items() if key != "model"}}
    http = replace(http, path_params={**http.path_params, "model": model})
    return replace(make_call(http, asked, operation="realtime", texts=None), stream=True)


def add_stated_sound(answer: Answer, frames: Iterable[Frame]) -> Iterable[Frame]:
    """Return the frames of an answer; before them, one with the sound that a rule states, if it states any."""
    texts = [part for choice in answer.choices[:1] for part in choice.parts if isinstance(part, Text)]
    stated = next((part.sound for part in texts if part.sound is not None), None)
    if stated is None:
        return frames
    from mockserver.wire.realtime import Voice  # few rules need it

    samples = Voice().speak("".join([part.text for part in texts]), stated)
    part = {"inlineData": {"mimeType": f"audio/pcm;rate={PCM.rate}", "data": b64encode(samples).decode()}}
    content = {"parts": [part], "role": "model"}
    return [Frame(to_json({"candidates": [{"content": content, "index": 0}]}), part="open"), *frames]


class ClientMessage(NamedTuple):
    """A message of a client: its kind, and its contents with camelCase names."""

    kind: str
    body: Body


def read_client_message(read: Json) -> ClientMessage:
    """Return the message that a client sends. Raises Failure."""
    if not isinstance(read, Mapping):
        raise Failure("bad_parameter", "Invalid JSON payload received: a message must be an object.")
    found, wrong = read_message(bodies.CLIENT_MESSAGE, read, vertex=False)
    if wrong:
        raise Failure("bad_parameter", "\n".join([each.text for each in wrong]))
    kind = next((name for name in found if found[name] is not None), None)
    if kind is None:
        raise Failure("bad_parameter", "Request contains no message that a client can send.")
    return ClientMessage(kind, found[kind])


def read_contents(turns: Json) -> list[dict[str, Json]]:
    """Return the turns of a client as contents."""
    listed = turns if isinstance(turns, list) else [turns] if isinstance(turns, Mapping) else []
    return [{"role": "user", **each} for each in listed if isinstance(each, Mapping) and each.get("parts")]


def list_parts(response: Body) -> Iterator[Body]:
    """Yield the parts of the first candidate of a response, as far as they are objects: a rule may state others."""
    parts = find_in(response, "candidates", 0, "content", "parts")
    yield from [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else ()


def find_candidate(response: Body) -> Body:
    """Return the first candidate of a response; an empty one if it has no candidates."""
    return find_table(response, "candidates", 0)


def count_usage(response: Body) -> dict[str, Json]:
    """Return the tokens of a turn as sessions count them."""
    usage = find_table(response, "usageMetadata")
    names = {"promptTokenCount": "promptTokenCount", "candidatesTokenCount": "responseTokenCount"}
    counts = {new: usage[old] for old, new in names.items() if old in usage}
    return {**counts, "totalTokenCount": usage.get("totalTokenCount", 0)}
