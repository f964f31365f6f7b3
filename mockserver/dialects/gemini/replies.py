"""Replies of Google's servers: the headers of each, and JSON that is spread over lines."""

from collections.abc import Callable
from typing import Any

from mockserver.core.call import Call
from mockserver.core.http import HeaderLines, Headers, HttpRequest, Reply
from mockserver.dialects._parse import Body
from mockserver.dialects._reply import json_reply, merge_headers
from mockserver.dialects.gemini.parse import is_vertex

_LINES = (
    "vary: Origin, X-Origin, Referer\r\n"
    "server: scaffolding on HTTPServer2\r\n"
    "x-xss-protection: 0\r\n"
    "x-frame-options: SAMEORIGIN\r\n"
    "x-content-type-options: nosniff\r\n"
    "server-timing: gfet4t7; dur=0\r\n"
)
JSON_TYPE = f"content-type: application/json; charset=UTF-8\r\n{_LINES}"
EVENT_TYPE = f"content-type: text/event-stream\r\ncontent-disposition: attachment\r\n{_LINES}"
_TIERED = f"{JSON_TYPE}x-gemini-service-tier: standard\r\n"


def pretty_reply(http: HttpRequest, body: Body, headers: Headers = (), *, status: int = 200, tokens: int = 0) -> Reply:
    """Return a JSON body over several lines, unless the query disables it."""
    own = merge_headers(HeaderLines(json_lines(http, status)), headers)
    return json_reply(status, body, "", (*own,), tokens=tokens, indent=indent_of(http))


def indent_of(http: HttpRequest) -> int | None:
    return None if http.query.get("prettyPrint") == "false" else 2


def json_lines(http: HttpRequest, status: int) -> str:
    return JSON_TYPE if is_vertex(http) or status not in (200, 429) else _TIERED


def render_with(body: Callable[[Call, Any], Body]) -> Callable[[Call, Any], Reply]:
    """Return the `render` of an operation; the function makes its body from a call and its outcome."""
    return lambda call, outcome: pretty_reply(call.http, body(call, outcome))
