"""The session object: its fields, what they are if nobody states them, and how an update changes them."""

from collections.abc import Mapping
from typing import Any

from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.dialects._fields import (
    Object,
    closed_shape,
    integer,
    label_member,
    list_of,
    literal,
    number,
    open_shape,
    optional,
    shape,
    tag_union,
    text_or,
    union,
    voice_of,
)
from mockserver.dialects._openai_api.chat_bodies import Name
from mockserver.dialects._parse import Body
from mockserver.kinds.audio import OPENAI_VOICES

USUAL_MODEL = "gpt-realtime"
LASTS = 3600  # seconds
VOICES = tuple([name for name in OPENAI_VOICES if name not in ("fable", "onyx", "nova")])  # these are for files only

SOUND_FORMAT = tag_union(
    "type",
    closed_shape(type=literal("audio/pcm"), rate=optional(integer(24_000, 24_000))),
    closed_shape(type=literal("audio/pcmu")),
    closed_shape(type=literal("audio/pcma")),
)
TURN_DETECTION = tag_union(
    "type",
    closed_shape(
        type=literal("server_vad"),
        threshold=optional(number(0, 1)),
        prefix_padding_ms=optional(integer(0)),
        silence_duration_ms=optional(integer(0)),
        idle_timeout_ms=optional(integer(5_000, 30_000)),
        create_response=optional(bool),
        interrupt_response=optional(bool),
    ),
    closed_shape(
        type=literal("semantic_vad"),
        eagerness=optional(literal("low", "medium", "high", "auto")),
        create_response=optional(bool),
        interrupt_response=optional(bool),
    ),
)
TRANSCRIPTION = shape(model=optional(str), language=optional(str), prompt=optional(str))
NOISE_REDUCTION = closed_shape(type=literal("near_field", "far_field"), strength=optional(number(0)))
_INPUT = closed_shape(
    format=optional(SOUND_FORMAT),
    transcription=optional(TRANSCRIPTION),
    noise_reduction=optional(NOISE_REDUCTION),
    turn_detection=optional(TURN_DETECTION),
)
OUTPUT = closed_shape(
    format=optional(SOUND_FORMAT), voice=optional(voice_of(*VOICES)), speed=optional(number(0.25, 1.5))
)
_Function = open_shape(type=literal("function"), name=Name, description=optional(str), parameters=optional(Object))
TOOLS = list_of(tag_union("type", _Function, open_shape(type=literal("mcp"))))
TOOL_CHOICE = union(
    label_member("<a string>", literal("none", "auto", "required")),
    label_member("<an object>", open_shape(type=literal("function", "mcp"))),
)
MODALITIES = list_of(literal("text", "audio"), 1, 1)
MAX_TOKENS = union(label_member("<an integer>", integer(1, 4096)), label_member("<a string>", literal("inf")))
# What one response can have otherwise than its session.
RESPONSE_FIELDS: dict[str, Any] = {
    "output_modalities": optional(MODALITIES),
    "instructions": optional(str),
    "tools": optional(TOOLS),
    "tool_choice": optional(TOOL_CHOICE),
    "max_output_tokens": optional(MAX_TOKENS),
    "parallel_tool_calls": optional(bool),
    "reasoning": optional(open_shape(effort=optional(literal("minimal", "low", "medium", "high", "xhigh")))),
    "prompt": optional(Object),
}
_REALTIME_FIELDS: dict[str, Any] = {
    "model": optional(str),
    "audio": optional(closed_shape(input=optional(_INPUT), output=optional(OUTPUT))),
    "include": optional(list_of(str)),
    "tracing": optional(text_or("<an object>", Object)),
    "truncation": optional(text_or("<an object>", Object)),
    **RESPONSE_FIELDS,
}
ACCEPTANCE = closed_shape(type=optional(literal("realtime")), **_REALTIME_FIELDS)  # of a call, with its session
SESSION = tag_union(
    "type",
    closed_shape(type=literal("realtime"), **_REALTIME_FIELDS),
    closed_shape(
        type=literal("transcription"),
        audio=optional(closed_shape(input=optional(_INPUT))),
        include=optional(list_of(str)),
    ),
)

TRANSLATION = shape(
    model=str,
    audio=optional(
        shape(
            input=optional(shape(noise_reduction=optional(NOISE_REDUCTION), transcription=optional(shape(model=str)))),
            output=optional(shape(language=optional(str))),
        )
    ),
)

_PCM: Body = {"type": "audio/pcm", "rate": 24_000}
_DETECTIONS: Mapping[str, Body] = {
    "server_vad": {
        "type": "server_vad",
        "threshold": 0.5,
        "prefix_padding_ms": 300,
        "silence_duration_ms": 200,
        "idle_timeout_ms": None,
        "create_response": True,
        "interrupt_response": True,
    },
    "semantic_vad": {
        "type": "semantic_vad",
        "eagerness": "auto",
        "create_response": True,
        "interrupt_response": True,
    },
}
_REPLY_KEYS = ("idle_timeout_ms", "create_response", "interrupt_response")  # settings that transcriptions lack


def make_session(kind: str, name: str, *, model: str, expires_at: int = 0) -> dict[str, Json]:
    """Return a session of a `kind`, realtime or transcription, with the provider's settings; `name` is its id."""
    given: dict[str, Json] = {"format": _PCM, "transcription": None, "noise_reduction": None}
    if kind == "transcription":
        heard = {**given, "turn_detection": _detect_turns(kind, {"type": "server_vad"})}
        head = {"type": kind, "object": "realtime.transcription_session", "id": name, "expires_at": expires_at}
        return {**head, "audio": {"input": heard}, "include": None}
    return {
        "type": kind,
        "object": "realtime.session",
        "id": name,
        "model": model or USUAL_MODEL,
        "output_modalities": ["audio"],
        "instructions": "",
        "tools": [],
        "tool_choice": "auto",
        "max_output_tokens": "inf",
        "tracing": None,
        "truncation": "auto",
        "prompt": None,
        "expires_at": expires_at,
        "audio": {
            "input": {**given, "turn_detection": _detect_turns(kind, {"type": "server_vad"})},
            "output": {"format": _PCM, "voice": "marin", "speed": 1},
        },
        "include": None,
    }


def update_session(session: Body, update: Body, *, has_spoken: bool = False) -> dict[str, Json]:
    """Return a session as an update changes it: tables are merged, all other values are replaced.

    Raises Failure, also for another voice if the session `has_spoken`.
    """
    kind = session["type"]
    if update["type"] != kind:
        message = f"Invalid value: '{update['type']}'. The type of a session cannot be changed; this one is '{kind}'."
        raise Failure("bad_parameter", message, code="invalid_value", param="session.type")
    usual = make_session(kind, session["id"], model=session.get("model", ""), expires_at=session["expires_at"])
    stated = {key: value for key, value in update.items() if key != "model"}  # the model is that of the connection
    changed: dict[str, Json] = _complete(_merge(session, stated), usual)
    heard = changed["audio"]["input"]
    heard["turn_detection"] = _detect_turns(kind, heard["turn_detection"])
    if kind == "realtime":
        output = changed["audio"]["output"]
        output["voice"] = _name_voice(output["voice"])
        if has_spoken and output["voice"] != session["audio"]["output"]["voice"]:
            message = "Cannot update a conversation's voice if assistant audio is present."
            raise Failure("bad_parameter", message, code="cannot_update_voice", param="session.audio.output.voice")
    return changed


def read_output(session: Body, stated: Body) -> Body:
    """Return the format and voice of one response: those of the session, as its own request `stated` changes them."""
    output: dict[str, Json] = _complete(_merge(session["audio"]["output"], stated), session["audio"]["output"])
    return {**output, "voice": _name_voice(output["voice"])}


def _name_voice(voice: Json) -> Json:
    return voice["id"] if isinstance(voice, dict) else voice


def _merge(old: Json, new: Json) -> Json:
    """Return a value as an update changes it. A table of another type takes nothing over."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return new
    if "type" in new and new["type"] != old.get("type"):
        return new
    return {**old, **{key: _merge(old.get(key), value) for key, value in new.items()}}


def _complete(changed: Body, usual: Body) -> dict[str, Json]:
    """Return a table with the usual values where it has nulls that it may not have, and a rate in each format."""
    settled = dict(changed)
    for key, value in usual.items():
        if key == "format":
            settled[key] = _PCM if (settled[key] or _PCM)["type"] == "audio/pcm" else settled[key]
        elif settled[key] is None:
            settled[key] = value if key != "turn_detection" else None
        elif isinstance(value, Mapping) and key in ("audio", "input", "output"):
            settled[key] = _complete(settled[key], value)
    return settled


def _detect_turns(kind: str, stated: Body | None) -> Json:
    """Return how turns are detected, with the usual values of what is not stated."""
    if stated is None:
        return None
    known = {key: value for key, value in stated.items() if value is not None}
    found = {**_DETECTIONS[stated["type"]], **known}
    return found if kind == "realtime" else {key: value for key, value in found.items() if key not in _REPLY_KEYS}
