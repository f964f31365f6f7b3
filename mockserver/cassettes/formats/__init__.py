"""The wire formats of recorded answers: how an answer is read, and how the last event of a stream is known.

A new format is a module here and a line of FORMATS. Which one an operation has, `kinds/wire_formats.py` tells.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from mockserver.cassettes.parsed_response import ParsedResponse
from mockserver.cassettes.stream_events import Event, parse_events
from mockserver.core.episode import Episode, Recorded
from mockserver.core.json import try_parse
from mockserver.core.lazy import LazyTable
from mockserver.core.mcp_messages import ResponseEvent
from mockserver.kinds.wire_formats import find_format

StreamEnd = re.Pattern[bytes] | ResponseEvent  # finds the last event of a stream


class AnswerFormat(Struct, frozen=True):
    """The functions that read the events of a stream, and a whole body; `end` finds the event that ends a stream.

    `reads_any`: a body may be another value than a table, or no JSON.
    """

    from_events: Callable[[Sequence[Event]], ParsedResponse] | None = None
    from_body: Callable[[Any], ParsedResponse] | None = None
    end: StreamEnd | None = None
    reads_any: bool = False


def find_answer_format(form: str) -> AnswerFormat:
    """Return how answers of a wire format are read; if no module here reads them, a format without functions."""
    try:
        return FORMATS[form]
    except KeyError:
        return AnswerFormat()


def parse_answer(episode: Episode) -> ParsedResponse:
    """Return the answer of an episode, read as `parse_response` does."""
    return parse_response(episode.reply, find_episode_format(episode))


def find_episode_format(episode: Episode) -> str:
    """Return the wire format of the answer of an episode."""
    return find_format(episode.dialect, episode.operation, episode.request.path)


def parse_response(reply: Recorded, form: str) -> ParsedResponse:
    """Return a recorded answer, or error, read by its wire format; of an unknown format only the status."""
    answers = find_answer_format(form)
    streamed = () if reply.frames is None else parse_events(reply.frames)
    if reply.status >= 400:
        if reply.frames is not None:
            text = "".join(event.text for event in streamed)
            return ParsedResponse(error=text, status=reply.status, body=text)
        text = reply.body.decode("utf-8", "replace")
        body = try_parse(text)
        whole = text if body is None else body
        error = whole.get("error") or whole if isinstance(whole, Mapping) else whole
        return ParsedResponse(error=error, status=reply.status, body=whole)
    body = try_parse(reply.body.decode("utf-8", "replace")) if reply.frames is None else None
    if reply.frames is not None:
        return ParsedResponse(status=reply.status) if answers.from_events is None else answers.from_events(streamed)
    if answers.from_body is not None and (answers.reads_any or isinstance(body, Mapping)):
        return answers.from_body(body)
    return ParsedResponse(status=reply.status)


LINE = rb"(?:\A|[\r\n])"  # begins here
DONE_LINE = LINE + rb"data: ?\[DONE\][ \t]*[\r\n]"
_ERROR_EVENT = rb"event: ?error[ \t]*[\r\n]"
_ERROR_DATA = rb'data: ?\{\s*"(?:error"\s*:\s*[{"]|type"\s*:\s*"error")'
ERROR = LINE + b"(?:" + _ERROR_EVENT + b"|" + _ERROR_DATA + b")"  # ends any stream

FORMATS: LazyTable[AnswerFormat] = LazyTable(
    {
        **dict.fromkeys(("chat", "completions"), f"{__name__}.openai_chats:CHATS"),
        "stored_chat": f"{__name__}.openai_chats:STORED_CHATS",
        **dict.fromkeys(("responses", "response"), f"{__name__}.openai_responses:RESPONSES"),
        "realtime": f"{__name__}.openai_responses:SPOKEN",
        "messages": f"{__name__}.anthropic_messages:MESSAGES",
        "contents": f"{__name__}.gemini_contents:CONTENTS",
        "lines": f"{__name__}.ollama_lines:LINES",
        "cohere_chat": f"{__name__}.cohere_chats:CHATS",
        "generations": f"{__name__}.cohere_chats:GENERATIONS",
        "converse": f"{__name__}.bedrock_answers:CONVERSE",
        "invoked": f"{__name__}.bedrock_answers:INVOKED",
        **dict.fromkeys(("mcp_call", "mcp_read", "mcp_prompt", "mcp_session"), f"{__name__}.mcp_results:RESULTS"),
    }
)
