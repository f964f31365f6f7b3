"""Anthropic's messages where other providers serve them, too."""

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.frames import Frame
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer
from mockserver.core.validation import Validation
from mockserver.dialects import Operation, discover


def make_messages_operation(dialect: str, path: str) -> Operation:
    """Return the operation of a dialect that answers Anthropic's clients at a path."""

    def parse(http: HttpRequest, validation: Validation) -> Call:
        return replace(_find_messages().parse(http, validation), dialect=dialect)

    return Operation("chat", "POST", path, parse=parse, render=_render, error=_write_event, body=ask_claude)


def _find_messages() -> Operation:
    """Return Anthropic's own operation, which is imported when it is first asked for."""
    return next(each for each in discover()["anthropic"].operations if each.path == "/v1/messages")


def _render(call: Call, outcome: Answer) -> Reply:
    return _find_messages().render(call, outcome)


def _write_event(failed: Reply, last: bytes) -> Frame:
    return _find_messages().error(failed, last)


def ask_claude(text: str) -> dict[str, Json]:
    """Return the body of a request that says a text, without the model."""
    return {"max_tokens": 1024, "messages": [{"role": "user", "content": text}]}
