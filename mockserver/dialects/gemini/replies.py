"""Replies of Google's servers: the headers that each has, and JSON that is spread over lines."""

from collections.abc import Callable
from typing import Any

from mockserver.core.call import Call
from mockserver.core.http import Headers, HttpRequest, Reply
from mockserver.dialects._parse import Body
from mockserver.dialects._reply import json_reply, merge_headers
from mockserver.dialects.gemini.parse import is_vertex

HEADERS: Headers = (
    ("vary", "Origin, X-Origin, Referer"),
    ("server", "scaffolding on HTTPServer2"),
    ("x-xss-protection", "0"),
    ("x-frame-options", "SAMEORIGIN"),
    ("x-content-type-options", "nosniff"),
    ("server-timing", "gfet4t7; dur=0"),
)
JSON_TYPE: Headers = (("content-type", "application/json; charset=UTF-8"), *HEADERS)
EVENT_TYPE: Headers = (("content-type", "text/event-stream"), ("content-disposition", "attachment"), *HEADERS)
_TIERED: Headers = (*JSON_TYPE, ("x-gemini-service-tier", "standard"))


def pretty_reply(http: HttpRequest, body: Body, headers: Headers = (), *, status: int = 200, tokens: int = 0) -> Reply:
    """A JSON body over several lines, unless the query says otherwise."""
    own = merge_headers(json_headers(http, status), headers)
    return json_reply(status, body, (), own, tokens=tokens, indent=indent_of(http))


def indent_of(http: HttpRequest) -> int | None:
    return None if http.query.get("prettyPrint") == "false" else 2


def json_headers(http: HttpRequest, status: int) -> Headers:
    return JSON_TYPE if is_vertex(http) or status not in (200, 429) else _TIERED


def rendered(body: Callable[[Call, Any], Body]) -> Callable[[Call, Any], Reply]:
    """Return the `render` of an operation whose body this makes of a call and its outcome."""
    return lambda call, outcome: pretty_reply(call.http, body(call, outcome))
