"""A turn of a session: its request as a Call, and the answer as the events of a response.

The request has all that a turn hangs on, so that it can be answered, explained and journalled without its session: the
model, what the session and `response.create` say of the response, and as `input` the items of the conversation. It has
no sound: parts of items that were heard have a transcript, and the length of the sound in `audio_ms`. It is answered
over HTTP as well, as `mockserver ask` sends it; the provider has no such endpoint.
"""

from typing import Any

from msgspec import Struct
from pydantic_core import to_json

from mockserver.core.call import Call, IdShape, Message, Options, ToolChoice
from mockserver.core.frames import Frame
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json, find_table, try_parse
from mockserver.core.plan import Answer
from mockserver.core.tokens import IMAGES
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import BodyModel, list_of, literal, optional, shape
from mockserver.dialects._meaning import find_meaning
from mockserver.dialects._openai_api.chat import replace_ids
from mockserver.dialects._openai_api.chat_bodies import Metadata
from mockserver.dialects._openai_api.realtime.events import INPUT_ITEM
from mockserver.dialects._openai_api.realtime.sessions import OUTPUT, RESPONSE_FIELDS, USUAL_MODEL
from mockserver.dialects._openai_api.responses import list_connectors, read_input, read_tool, read_tool_choice
from mockserver.dialects._parse import Body, read_body, read_object
from mockserver.dialects._reply import STREAM_LINES, RequestLines, merge_headers
from mockserver.media.samples import FORMATS
from mockserver.wire.realtime import TOKEN_OF_USER, RealtimeOptions, Voice, stream_events

MAX_TOKENS = 4096  # of an answer
TURN = BodyModel(
    shape(
        model=optional(str),
        audio=optional(shape(output=optional(OUTPUT))),
        input=optional(list_of(INPUT_ITEM)),
        conversation=optional(literal("auto", "none")),
        conversation_id=optional(str),
        metadata=optional(Metadata),
        **RESPONSE_FIELDS,
    )
)
_BOOKKEEPING = frozenset(("metadata", "conversation", "conversation_id", "prompt"))
_IDS = ("id", "call_id", "approval_request_id")


class RealtimeApi(Struct, frozen=True):
    """The turns of a dialect whose replies have these header lines."""

    dialect: str
    lines: RequestLines

    def make_turn_operation(self) -> Operation:
        """Return the operation that answers a turn."""
        return Operation(
            "realtime",
            "POST",
            "/realtime",
            parse=self._parse,
            render=self._render,
            over_socket="realtime",
            error=make_error_event,
            streams=True,
        )

    def _parse(self, http: HttpRequest, validation: Validation) -> Call:
        body, parsed = read_body(TURN, read_object(http), refuse=refuse, validation=validation)
        items = parsed.get("input") or []
        messages = read_input([_speak_in_text(item) for item in items])
        instructions = parsed.get("instructions")
        most = parsed.get("max_output_tokens")
        tools = tuple(map(read_tool, parsed.get("tools") or ()))
        limit = MAX_TOKENS if most in (None, "inf") else most
        return Call(
            dialect=self.dialect,
            operation="realtime",
            model=parsed.get("model") or USUAL_MODEL,
            http=http,
            meaning=_find_meaning(body, self.dialect),
            raw=body,
            messages=(Message("system", instructions), *messages) if instructions else messages,
            has_instructions=bool(instructions),
            tools=tools,
            connectors=list_connectors(tools),
            tool_choice=read_tool_choice(parsed.get("tool_choice"), tools) if tools else ToolChoice("none"),
            stream=True,
            options=Options(
                parallel_tool_calls=parsed.get("parallel_tool_calls") is not False,
                max_tokens=limit,
                usual_tokens=MAX_TOKENS if limit is MAX_TOKENS else None,
                effort=(parsed.get("reasoning") or {}).get("effort"),
                strict_schema=False,
                store=False,
            ),
            ids=IdShape("resp_", 21),
            tool_call_ids=IdShape("call_", 16),
        )

    def _render(self, call: Call, outcome: Answer) -> Reply:
        lines = HeaderLines(self.lines(call.http, call) + STREAM_LINES)
        frames = stream_events(outcome, make_options(call.raw, seen=count_images(call)))
        return Reply(200, merge_headers(lines, outcome.headers), frames=frames)


def count_images(call: Call) -> int:
    """Return the number of tokens that the images of a turn take."""
    parts = [part for message in call.messages for part in message.parts if part.get("type") in IMAGES]
    return sum(map(call.part_tokens, parts))


def make_options(body: Body, seen: int = 0) -> RealtimeOptions:
    """Return the options of a response by the request of its turn, whose images take `seen` tokens."""
    output = (body.get("audio") or {}).get("output") or {}
    sound = output.get("format") or {"type": "audio/pcm", "rate": 24_000}
    voice = output.get("voice") or "marin"
    modalities = body.get("output_modalities") or ["audio"]
    converses = body.get("conversation") != "none"
    repeated: dict[str, Json] = {
        "conversation_id": (body.get("conversation_id") or "conv_mockserver") if converses else None,
        "output_modalities": modalities,
        "max_output_tokens": body.get("max_output_tokens") or "inf",
        "audio": {"output": {"format": sound, "voice": voice}},
    }
    spoken = Voice(str(voice), float(output.get("speed") or 1.0), FORMATS[sound["type"]])
    return RealtimeOptions(
        repeated=repeated,
        voice=spoken if "audio" in modalities else None,
        metadata=body.get("metadata"),
        heard=sum(map(_count_tokens_of_sound, body.get("input") or ())),
        seen=seen,
    )


def _count_tokens_of_sound(item: Body) -> int:
    content = item.get("content")
    lengths = [part.get("audio_ms") for part in content] if isinstance(content, list) else []
    return sum([-(-length // TOKEN_OF_USER) for length in lengths if isinstance(length, int)])


def _speak_in_text(item: Body) -> Body:
    """Return an item with the transcript of what was heard in it, as if it had been written."""
    content = item.get("content")
    if not isinstance(content, list):
        return item
    return {**item, "content": [_write_part(part) for part in content]}


def _write_part(part: Body) -> Body:
    if part.get("type") in ("input_audio", "output_audio"):
        return {"type": "input_text", "text": part.get("transcript") or ""}
    return part


def _find_meaning(body: Body, dialect: str) -> dict[str, Json]:
    kept = find_meaning(body, dialect, operation="realtime", bookkeeping=_BOOKKEEPING)
    ordinals: dict[str, str] = {}
    items = kept.get("input")
    if isinstance(items, list):
        kept["input"] = [replace_ids(item, ordinals, _IDS) if isinstance(item, dict) else item for item in items]
    return kept


def read_error(reply: Reply) -> dict[str, Json]:
    """Return the error of a provider's reply over HTTP, with all keys that events have."""
    known = find_table(try_parse(reply.body.decode("utf-8", "replace")), "error")
    kind = known.get("type") or ("server_error" if reply.status >= 500 else "invalid_request_error")
    message = known.get("message") or reply.body.decode("utf-8", "replace")
    return {"type": kind, "code": known.get("code"), "message": message, "param": known.get("param")}


def make_error_event(failed: Reply, last: bytes) -> Frame:
    """Return a failed reply as an event in the middle of a response."""
    body = to_json({"type": "error", "error": {**read_error(failed), "event_id": None}})
    return Frame(body, event="error", part="finish")


def make_failed_events(failed: Reply, response_id: str, body: Body) -> tuple[Frame, ...]:
    """Return the events of a turn that failed: an error if its request is wrong, or else a failed response.

    From the latter, clients that count responses learn that theirs is over.
    """
    if failed.status < 500 and failed.status not in _FAILING:
        return (make_error_event(failed, b""),)
    options = make_options(body)
    error = {key: value for key, value in read_error(failed).items() if key != "param"}
    started: dict[str, Any] = {
        "object": "realtime.response",
        "id": response_id,
        "status": "in_progress",
        "status_details": None,
        "output": [],
        **options.repeated,
        "usage": None,
        "metadata": options.metadata,
    }
    done = {**started, "status": "failed", "status_details": {"type": "failed", "error": error}}
    named = {"response.created": started, "response.done": done}
    return tuple([Frame(to_json({"type": kind, "response": each}), kind) for kind, each in named.items()])


_FAILING = (402, 408, 409, 429)  # statuses of requests that are right
