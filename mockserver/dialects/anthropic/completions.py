"""Anthropic's text completions (`POST /v1/complete`), from before messages: a prompt is the whole conversation."""

import re
from collections.abc import Iterator

from mockserver.core.call import Call, IdShape, Message, Options
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._fields import BodyModel, closed_shape, fields_of, integer
from mockserver.dialects._meaning import find_meaning
from mockserver.dialects._parse import clip, read_object
from mockserver.dialects._reply import EVENT_TYPE, make_json_reply, merge_headers, prepend_lines
from mockserver.dialects.anthropic.bodies import NAME, MessagesBody, read_as_anthropic
from mockserver.dialects.anthropic.conflicts import BLANK_STOP
from mockserver.dialects.anthropic.errors import make_error_event, refuse, write_request_id
from mockserver.dialects.anthropic.request import read_version
from mockserver.wire.anthropic import make_completion, stream_completion

COMPLETE = BodyModel(
    closed_shape(
        **fields_of(MessagesBody, "model"),
        prompt=str,
        max_tokens_to_sample=integer(1),
        **fields_of(MessagesBody, "stop_sequences", "temperature", "top_p", "top_k", "metadata", "stream"),
    ),
    needed=("model", "prompt"),
)
_TURN = re.compile(r"\n\n(Human|Assistant):")
_ROLES = {"Human": "user", "Assistant": "assistant"}
_MESSAGES_MODEL = re.compile(r"claude-(?![12](?:\.\d)?$|instant|v\d)")


def make_operation() -> Operation:
    return Operation(
        "completions", "POST", "/v1/complete", parse=parse_completion, render=_render, error=make_error_event, body=_ask
    )


def _ask(text: str) -> dict[str, Json]:
    return {"prompt": f"\n\nHuman: {text}\n\nAssistant:", "max_tokens_to_sample": 1024}


def parse_completion(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a text completion. Raises Failure."""
    read_version(http, validation=validation)
    body = read_as_anthropic(COMPLETE, read_object(http), validation=validation)
    stops = tuple(body.get("stop_sequences") or ())
    messages = tuple(_split_prompt(body["prompt"]))
    if validation is Validation.LIVE and any(not stop.strip() for stop in stops):
        raise refuse(BLANK_STOP)
    if validation is Validation.LIVE and _MESSAGES_MODEL.match(body["model"]):
        raise refuse(f'"{clip(body["model"])}" is not supported on this API. Please use the Messages API instead.')
    return Call(
        dialect=NAME,
        operation="completions",
        model=body["model"],
        http=http,
        meaning=find_meaning(body, NAME, "completions"),
        raw=body,
        messages=messages,
        stream=body.get("stream") is True,
        ids=IdShape("compl_01", 22, "base58"),
        options=Options(
            max_tokens=body.get("max_tokens_to_sample"),
            stop=stops,
            prefill=messages[-1].text if messages and messages[-1].role == "assistant" else "",
        ),
    )


def _split_prompt(prompt: str) -> Iterator[Message]:
    """Yield the turns of a prompt; text before the first is the system's, and the last may be empty."""
    before, *turns = _TURN.split(prompt)
    if before.strip():
        yield Message("system" if turns else "user", before.strip())
    for label, text in zip(turns[::2], turns[1::2], strict=True):
        if text.strip():
            yield Message(_ROLES[label], text.strip())


def _render(call: Call, outcome: Answer) -> Reply:
    if call.stream:
        headers = merge_headers(HeaderLines(EVENT_TYPE), outcome.headers)
        reply = Reply(200, headers, frames=stream_completion(outcome))
    else:
        reply = make_json_reply(200, make_completion(outcome), lines="", headers=outcome.headers, tokens=outcome.weight)
    return prepend_lines(reply, write_request_id(call.http, call))
