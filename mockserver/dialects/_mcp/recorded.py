"""Recorded answers of MCP servers, addressed to another request.

A recording has the id, the progress token and the revision of the request that it answered. A replay has those of the
request at hand.
"""

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.frames import Frame, write_comment, write_event
from mockserver.core.http import Reply
from mockserver.core.json import Json, find_in
from mockserver.core.lazy import compile_lazily
from mockserver.core.mcp_messages import Message, is_response, read_message
from mockserver.core.mcp_server import HANDSHAKES, LEGACY, META, MODERN, UNCACHED, McpRequest
from mockserver.core.server_sent_events import find_data


def find_other_handshake(call: Call) -> Call | None:
    """Return a call with the handshake of the other era in place of its own; None if it is not a handshake."""
    if call.mcp is None or call.mcp.method not in HANDSHAKES or not isinstance(call.meaning, Mapping):
        return None
    other = next(method for method in HANDSHAKES if method != call.mcp.method)
    return replace(call, mcp=replace(call.mcp, method=other), meaning={**call.meaning, "method": other})


def readdress(call: Call, reply: Reply) -> Reply:
    """Return a recorded reply as an answer to this call."""
    request = call.mcp
    if request is None:
        return reply
    if reply.frames is not None:
        return replace(reply, frames=tuple([_readdress_event(event, request) for event in reply.frames]))
    message = read_message(reply.body)
    if message is None:
        return reply
    body = to_json(_readdress_message(message, request))
    headers = [(name, str(len(body)) if name == "content-length" else value) for name, value in reply.headers]
    return replace(reply, headers=tuple(headers), body=body)


def _readdress_event(event: Any, request: McpRequest) -> bytes:
    """Return an event with the message for this request; without an id, as there is no stream to resume."""
    message = read_message(find_data(event))
    if message is None:
        return _LAST_ID.sub(b"", event)
    addressed = _readdress_message(message, request)
    if addressed is None:
        return write_comment("a message that nobody asked for")
    return write_event(Frame(to_json(addressed), "message"))


def _readdress_message(message: Message, request: McpRequest) -> Message | None:
    if is_response(message):
        result = message.get("result")
        translated = {"result": _translate(result, request)} if isinstance(result, Mapping) else {}
        return {**message, "id": request.id, **translated}
    params = message.get("params")
    if message.get("method") == "notifications/progress" and isinstance(params, Mapping):
        token = find_in(request.params, "_meta", "progressToken")
        return None if token is None else {**message, "params": {**params, "progressToken": token}}
    return message


def _translate(result: Message, request: McpRequest) -> Message:
    """Return a result in the form of the request's era, whatever the era of the recording."""
    if request.method == "initialize":
        asked = request.params.get("protocolVersion")
        named = _read_table(result.get("_meta")).get(f"{META}serverInfo")
        version = asked if asked in LEGACY else result.get("protocolVersion", LEGACY[0])
        server = result.get("serverInfo", named or {"name": request.server, "version": "1.0.0"})
        return {"protocolVersion": version, **_leave_out(result, *_HANDSHAKE_KEYS), "serverInfo": server}
    if request.method == "server/discover":
        named = {f"{META}serverInfo": result["serverInfo"]} if "serverInfo" in result else {}
        meta = {**_read_table(result.get("_meta")), **named}
        kept = _leave_out(result, *_HANDSHAKE_KEYS)
        return {"supportedVersions": [*MODERN], **kept, **UNCACHED, "_meta": meta, "resultType": "complete"}
    if not request.is_modern:
        return _leave_out(result, "resultType", *UNCACHED)
    return {"resultType": "complete", **result, **(UNCACHED if request.method in _CACHEABLE else {})}


def _leave_out(result: Message, *names: str) -> Message:
    return {name: value for name, value in result.items() if name not in names}


def _read_table(value: Json) -> Message:
    return value if isinstance(value, Mapping) else {}


_HANDSHAKE_KEYS = ("protocolVersion", "serverInfo", "supportedVersions", "_meta", "resultType", *UNCACHED)
_CACHEABLE = frozenset(("tools/list", "resources/list", "resources/templates/list", "prompts/list", "resources/read"))
_LAST_ID = compile_lazily(rb"^id:.*\r?\n", re.MULTILINE)
