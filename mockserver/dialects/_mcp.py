"""MCP over streamable HTTP: JSON-RPC messages to a named server, with and without a handshake.

Both versions of the protocol are served on one path: a message that names its revision in `_meta` needs no handshake
(2026-07-28); any other needs one.
"""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json, try_parse
from mockserver.core.lazy import lazy_pattern
from mockserver.core.mcp_server import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LEGACY,
    META,
    METHOD_NOT_FOUND,
    MODERN,
    PARSE_ERROR,
    SERVER_ERROR,
    UNCACHED,
    UNMATCHED,
    UNSUPPORTED_VERSION,
    McpPrompt,
    McpRequest,
    McpResource,
    McpServer,
    McpTool,
)
from mockserver.core.plan import REASONS, TOOL_ERROR, Answer, Failure, Item, Text
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._mcp_recorded import readdress
from mockserver.dialects._parse import bearer, read_json
from mockserver.dialects._reply import data_reply
from mockserver.kinds.mcp import ANSWERED, make_mcp_call

NAME = "mcp"
_SESSION_METHODS = frozenset(
    ("tools/list", "resources/list", "resources/templates/list", "prompts/list", "completion/complete")
)
_LEGACY_METHODS = frozenset(
    ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", *_SESSION_METHODS)
)
_MODERN_METHODS = frozenset(("server/discover", *_SESSION_METHODS))
Entry = TypeVar("Entry")


def _parse(http: HttpRequest, validation: Validation) -> Call:
    request = _read_request(http, validation)
    return make_mcp_call(request, http, _find_message(http))


def _read_request(http: HttpRequest, validation: Validation) -> McpRequest:
    """Return the message of a request. Raises Failure."""
    try:
        body = read_json(http.body)
    except Failure as failure:
        raise _refuse(f"Parse error: {failure.message}", PARSE_ERROR, status=400) from None
    if not isinstance(body, Mapping) or body.get("jsonrpc") != "2.0":
        raise _refuse("Invalid Request: a JSON-RPC 2.0 object is expected.", INVALID_REQUEST, status=400)
    name, method, params = body.get("id"), body.get("method"), body.get("params", {})
    if "result" in body or "error" in body:  # the client's answer to a request of the server
        method, name = "response", None
    is_request = "id" in body and method != "response"
    if not isinstance(method, str) or (is_request and not _is_id(name)):
        raise _refuse('Invalid Request: "method" or "id" is not valid.', INVALID_REQUEST, status=400)
    if not isinstance(params, Mapping):
        raise _refuse("Invalid params: an object is expected.", INVALID_PARAMS, status=200)
    version, is_modern = _find_version(http, params)
    if is_modern and validation is not Validation.OFF:
        _check_headers(http, method, params, version)
    request = McpRequest(http.path_params.get("server", ""), method, params, name, version, is_modern)
    known = _MODERN_METHODS if is_modern else _LEGACY_METHODS
    if name is not None and method not in known and method not in ANSWERED:
        status = 404 if is_modern else 200
        raise _refuse(f"Method not found: {method}", METHOD_NOT_FOUND, status=status)
    if method in ANSWERED and not request.target:
        needed = "uri" if method == "resources/read" else "name"
        raise _refuse(f'Invalid params: "{needed}" is missing.', INVALID_PARAMS, status=200)
    return request


def _find_version(http: HttpRequest, params: Mapping[str, Json]) -> tuple[str, bool]:
    """Return the revision of a message, and whether it needs no handshake. Raises Failure if it is not known."""
    meta = params.get("_meta")
    stated = meta.get(f"{META}protocolVersion") if isinstance(meta, Mapping) else None
    if stated is not None:
        if stated not in MODERN:
            details = {"supported": [*MODERN, *LEGACY], "requested": stated}
            raise _refuse("Unsupported protocol version", UNSUPPORTED_VERSION, status=400, data=details)
        return str(stated), True
    header = http.header("mcp-protocol-version")
    if header is not None and header not in (*MODERN, *LEGACY):
        known = ", ".join((*MODERN, *LEGACY))
        raise _refuse(f"Unsupported protocol version: {header}. Known: {known}.", INVALID_REQUEST, status=400)
    return header or "2025-03-26", False


def _check_headers(http: HttpRequest, method: str, params: Mapping[str, Json], version: str) -> None:
    """Raise Failure if a message without a handshake has headers that contradict its body."""
    stated = {"mcp-protocol-version": version, "mcp-method": method}
    if method in ANSWERED:
        stated["mcp-name"] = str(params.get("uri" if method == "resources/read" else "name", ""))
    for name, value in stated.items():
        header = _decode_header(http.header(name) or "")
        if header != value:
            why = f"is {header!r}, but the body says {value!r}" if header else "is missing"
            raise _refuse(f"Header mismatch: {name} {why}.", HEADER_MISMATCH, status=400)


def _decode_header(value: str) -> str:
    """Return the text of a header, which may be base64: `=?base64?…?=`."""
    found = _CODED.fullmatch(value)
    if found is None:
        return value
    try:
        return b64decode(found[1], validate=True).decode()
    except ValueError:
        return value


_CODED = lazy_pattern(r"=\?base64\?(.*)\?=")


def _is_id(value: Json) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _refuse(message: str, code: int, *, status: int, data: Json = None) -> Failure:
    return Failure("bad_parameter", message, status=status, code=code, details={} if data is None else {"data": data})


def _render(call: Call, outcome: Answer | McpServer) -> Reply:
    request = call.mcp
    assert request is not None  # noqa: S101  # it was parsed here
    if request.id is None:
        return Reply(202, (("content-length", "0"),))
    if isinstance(outcome, McpServer):
        result = _describe_session(outcome, request)
    else:
        result = _RESULTS[request.method](outcome, request)
    if request.is_modern:
        result = {**result, "resultType": "complete"}
    body = to_json({"jsonrpc": "2.0", "id": request.id, "result": result})
    return data_reply(200, body, "", outcome.headers if isinstance(outcome, Answer) else ())


def _describe_session(server: McpServer, request: McpRequest) -> dict[str, Json]:
    match request.method:
        case "initialize":
            asked = request.params.get("protocolVersion")
            version = asked if asked in LEGACY else LEGACY[0]
            return {"protocolVersion": version, **_describe_server(server), "serverInfo": _name_server(server)}
        case "server/discover":
            named = {f"{META}serverInfo": _name_server(server)}
            return {"supportedVersions": [*MODERN], **_describe_server(server), **UNCACHED, "_meta": named}
        case "tools/list":
            return _page("tools", server.tools, _describe_tool, server, request)
        case "resources/list":
            return _page("resources", server.resources, _describe_resource, server, request)
        case "resources/templates/list":
            return {"resourceTemplates": [], **(UNCACHED if request.is_modern else {})}
        case "prompts/list":
            return _page("prompts", server.prompts, _describe_prompt, server, request)
        case "completion/complete":
            return {"completion": {"values": [], "total": 0, "hasMore": False}}
    return {}


def _describe_server(server: McpServer) -> dict[str, Json]:
    offered = {"tools": server.tools, "resources": server.resources, "prompts": server.prompts}
    capabilities: dict[str, Json] = {name: {} for name, entries in offered.items() if entries or name == "tools"}
    return {"capabilities": capabilities, **_leave_out_none(instructions=server.instructions)}


def _name_server(server: McpServer) -> dict[str, Json]:
    return {"name": server.name, **_leave_out_none(title=server.title), "version": server.version}


def _page(key: str, entries: Sequence[Entry], describe: Any, server: McpServer, request: McpRequest) -> dict[str, Json]:
    """Return a list, or the page of it that the cursor names. Raises Failure for an unknown cursor."""
    cursor = request.params.get("cursor")
    start = 0
    if cursor is not None:
        stated = str(cursor).removeprefix(_CURSOR)
        start = int(stated) if stated.isdecimal() and len(stated) < 9 else len(entries)
        if start >= len(entries) or server.page is None:
            raise _refuse(f"Invalid params: no page begins at cursor {cursor!r}.", INVALID_PARAMS, status=200)
    end = len(entries) if server.page is None else start + server.page
    more = {"nextCursor": f"{_CURSOR}{end}"} if end < len(entries) else {}
    return {key: [describe(entry) for entry in entries[start:end]], **more, **(UNCACHED if request.is_modern else {})}


_CURSOR = "page-"


def _describe_tool(tool: McpTool) -> dict[str, Json]:
    return {
        "name": tool.name,
        **_leave_out_none(title=tool.title, description=tool.description),
        "inputSchema": tool.input,
        **_leave_out_none(outputSchema=tool.output, annotations=tool.annotations),
    }


def _describe_resource(resource: McpResource) -> dict[str, Json]:
    more = _leave_out_none(description=resource.description, mimeType=resource.mime)
    return {"uri": resource.uri, "name": resource.name, **more}


def _describe_prompt(prompt: McpPrompt) -> dict[str, Json]:
    arguments = [{"name": name, "required": name in prompt.required} for name in prompt.arguments]
    return {"name": prompt.name, **_leave_out_none(description=prompt.description), "arguments": arguments}


def _leave_out_none(**fields: Json) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if value is not None}


def _write_tool_result(answer: Answer, request: McpRequest) -> dict[str, Json]:
    choice = answer.choices[0]
    content: list[Json] = []
    structured: Json = None
    for part in choice.parts:
        if isinstance(part, Item):
            content.append({"type": part.kind, **part.body})
        elif isinstance(part, Text):
            content.append({"type": "text", "text": part.text})
            structured = try_parse(part.text) if structured is None else structured
    result: dict[str, Json] = {"content": content}
    if isinstance(structured, Mapping) or (request.is_modern and isinstance(structured, list)):
        result["structuredContent"] = structured
    return {**result, "isError": choice.finish == TOOL_ERROR}


def _write_resource(answer: Answer, request: McpRequest) -> dict[str, Json]:
    contents: list[Json] = []
    for part in answer.choices[0].parts:
        if isinstance(part, Item):
            contents.append({"uri": request.target, **part.body})
        elif isinstance(part, Text):
            contents.append({"uri": request.target, "text": part.text})
    return {"contents": contents, **(UNCACHED if request.is_modern else {})}


def _write_prompt(answer: Answer, request: McpRequest) -> dict[str, Json]:
    contents: list[Json] = []
    for part in answer.choices[0].parts:
        if isinstance(part, Item):
            contents.append({"type": part.kind, **part.body})
        elif isinstance(part, Text):
            contents.append({"type": "text", "text": part.text})
    return {"messages": [{"role": "user", "content": content} for content in contents]}


_RESULTS = {"tools/call": _write_tool_result, "resources/read": _write_resource, "prompts/get": _write_prompt}


def _fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    """Return a JSON-RPC error; if a rule states a status, it is the HTTP status, too."""
    sent = _find_message(http)
    if _is_notification(sent):
        return Reply(202, (("content-length", "0"),))
    is_ours = isinstance(failure.code, int) and failure.code < 0
    code = failure.code if is_ours else _CODES.get(failure.reason, SERVER_ERROR)
    status = failure.status or (200 if is_ours or failure.reason in _CODES else REASONS[failure.reason])
    message = failure.message or _MESSAGES.get(failure.reason, failure.reason.replace("_", " "))
    data = failure.details.get("data")
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    body = to_json({"jsonrpc": "2.0", "id": sent.get("id") if _is_id(sent.get("id")) else None, "error": error})
    wait = "" if failure.retry_after is None else f"retry-after: {failure.retry_after:g}\r\n"
    return data_reply(status, body, wait, failure.headers)


def _is_notification(sent: Mapping[str, Json]) -> bool:
    """Tell whether nobody waits for an answer to a message (JSON-RPC 2.0, section 4.1)."""
    return sent.get("jsonrpc") == "2.0" and isinstance(sent.get("method"), str) and "id" not in sent


def _find_message(http: HttpRequest) -> Mapping[str, Json]:
    """Return the object that a body holds; empty if it holds none."""
    try:
        body = read_json(http.body)
    except Failure:
        return {}
    return body if isinstance(body, Mapping) else {}


_CODES = {"unmatched": UNMATCHED}
_MESSAGES = {
    "missing_key": "Unauthorized: send a bearer token.",
    "invalid_key": "Unauthorized: this token is not accepted.",
    "rate_limit": "Too many requests.",
    "server_error": "Internal error",
}
DIALECT = Dialect(
    name=NAME,
    mounts=("/mcp",),
    operations=(Operation("mcp_call", "POST", "/{server}", _parse, _render, readdress=readdress),),
    credential=bearer,
    fail=_fail,
    models=(),
)
