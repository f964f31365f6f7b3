"""MCP over streamable HTTP: JSON-RPC messages to a named server, with and without a handshake.

Both versions of the protocol are served on one path: a message that names its revision in `_meta` needs no handshake
(2026-07-28); any other needs one. An answer with notifications is a stream of events, whose last one has the result.
"""

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.frames import Frame, write_retry
from mockserver.core.http import HeaderLines, Headers, HttpRequest, Reply
from mockserver.core.json import Json, find_in, try_parse
from mockserver.core.lazy import compile_lazily
from mockserver.core.mcp_server import (
    BATCHING,
    END_SESSION,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LEGACY,
    META,
    METHOD_NOT_FOUND,
    MODERN,
    OPEN_STREAM,
    PARSE_ERROR,
    REPLY,
    SERVER_ERROR,
    UNCACHED,
    UNMATCHED,
    McpDocument,
    McpEventId,
    McpExtras,
    McpPrompt,
    McpRequest,
    McpResource,
    McpSent,
    McpServer,
    McpState,
    McpStream,
    McpTool,
)
from mockserver.core.plan import REASONS, TOOL_ERROR, Answer, Failure, Item, Mcp, McpBatch, McpResumed, Outcome, Text
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._mcp.login import list_login_operations, list_well_known_operations, render_document
from mockserver.dialects._mcp.recorded import readdress
from mockserver.dialects._parse import read_bearer, read_json, refuse_other_media
from mockserver.dialects._reply import STREAM_LINES, make_data_reply, merge_headers
from mockserver.kinds.mcp import ANSWERED, SESSION, make_mcp_call, read_message, refuse_message

NAME = "mcp"
_SESSION_METHODS = frozenset(
    ("tools/list", "resources/list", "resources/templates/list", "prompts/list", "completion/complete")
)
_LEGACY_METHODS = frozenset(
    ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", *_SESSION_METHODS)
)
_MODERN_METHODS = frozenset(("server/discover", "subscriptions/listen", *_SESSION_METHODS))
MAX_IN_BATCH = 1000
Entry = TypeVar("Entry")


def _parse(http: HttpRequest, validation: Validation) -> Call:
    if validation is not Validation.OFF:
        refuse_other_media(http)
    try:
        body = read_json(http.body)
    except Failure as failure:
        raise refuse_message(f"Parse error: {failure.message}", PARSE_ERROR, status=400) from None
    if isinstance(body, list) and body and http.find_header("mcp-protocol-version") in (None, BATCHING):
        return _make_batch_call(http, body, validation)
    return make_mcp_call(_read_message(http, body, validation), http)


def _parse_bodiless(http: HttpRequest, validation: Validation, *, method: str) -> Call:
    version = http.find_header("mcp-protocol-version")
    is_modern = version is not None and version not in LEGACY
    return make_mcp_call(
        _fill_request(
            http, McpRequest("", method, params={}, id=None, version=version or BATCHING, is_modern=is_modern)
        ),
        http,
    )


def _make_batch_call(http: HttpRequest, messages: Sequence[Json], validation: Validation) -> Call:
    """Return the call of an array of messages: the first that rules can answer, with all of them."""
    if len(messages) > MAX_IN_BATCH:
        raise refuse_message(f"Invalid Request: more than {MAX_IN_BATCH} messages.", INVALID_REQUEST, status=400)
    parts: list[Call | Exception] = []
    for message in messages:
        try:
            parts.append(make_mcp_call(_read_message(http, message, validation), http))
        except Failure as failure:
            named = message.get("id") if isinstance(message, Mapping) else None
            parts.append(failure.replace(details={**failure.details, "id": named if _is_id(named) else None}))
    calls = [part for part in parts if isinstance(part, Call)]
    if not calls:
        raise refuse_message("Invalid Request: a JSON-RPC 2.0 object is expected.", INVALID_REQUEST, status=400)
    first = next((call for call in calls if call.operation != SESSION.name), calls[0])
    return replace(first, batch=tuple(parts))


def _read_message(http: HttpRequest, body: Json, validation: Validation) -> McpRequest:
    """Return the message that a body is. Raises Failure if it is not a message.

    If a server may refuse the message whatever it offers, the reason is its `problem`.
    """
    if not isinstance(body, Mapping) or body.get("jsonrpc") != "2.0":
        raise refuse_message("Invalid Request: a JSON-RPC 2.0 object is expected.", INVALID_REQUEST, status=400)
    name = body.get("id")
    method = body.get("method")
    params = body.get("params", {})
    is_reply = "method" not in body and ("result" in body or "error" in body)
    if is_reply:
        method = REPLY
        name = None
    is_request = "id" in body and not is_reply
    if not isinstance(method, str) or (is_request and not _is_id(name)):
        raise refuse_message('Invalid Request: "method" or "id" is not valid.', INVALID_REQUEST, status=400)
    if not isinstance(params, Mapping):
        raise refuse_message("Invalid params: an object is expected.", INVALID_PARAMS, status=200)
    stated = find_in(params, "_meta", f"{META}protocolVersion")
    header = http.find_header("mcp-protocol-version")
    is_modern = stated is not None
    version = str(stated) if is_modern else header or BATCHING
    request = McpRequest(
        "",
        method,
        params=params,
        id=name,
        version=version,
        is_modern=is_modern,
        states_version=is_modern or header is not None,
    )
    problem = _find_problem(http, request, validation)
    return _fill_request(http, replace(request, problem=problem, reply=body if is_reply else {}))


def _fill_request(http: HttpRequest, request: McpRequest) -> McpRequest:
    """Return a request with the server, session and token that its path and headers name."""
    server = http.path_params.get("server", "")
    session = http.find_header("mcp-session-id")
    return replace(request, server=server, session=session, token=read_bearer(http))


def _find_problem(http: HttpRequest, request: McpRequest, validation: Validation) -> Failure | None:
    """Return why a server refuses a request, whatever it offers."""
    method = request.method
    known = _MODERN_METHODS if request.is_modern else _LEGACY_METHODS
    if validation is not Validation.OFF:
        mismatch = _check_headers(http, request)
        if mismatch is not None:
            return mismatch
    if request.id is not None and method not in known and method not in ANSWERED:
        return refuse_message(f"Method not found: {method}", METHOD_NOT_FOUND, status=404 if request.is_modern else 200)
    if method in _WITH_TARGET and not request.target:
        needed = "uri" if method.startswith("resources/") else "name"
        return refuse_message(f'Invalid params: "{needed}" is missing.', INVALID_PARAMS, status=200)
    if validation is not Validation.OFF and (why := _find_bad_param(request)) is not None:
        return refuse_message(f"Invalid params: {why}.", INVALID_PARAMS, status=200)
    if request.id is not None and not _takes_stream(http):
        if method == "subscriptions/listen":
            return refuse_message(_NOT_ACCEPTABLE, INVALID_REQUEST, status=406)
        if validation is not Validation.OFF and not _takes_json(http):
            return refuse_message(_NOTHING_ACCEPTABLE, INVALID_REQUEST, status=406)
    return None


def _find_bad_param(request: McpRequest) -> str | None:
    """Return what is wrong with the parameters of a method whose values have fixed types, or None."""
    for name, kind in _PARAMS.get(request.method, {}).items():
        value = request.params.get(name)
        if not isinstance(value, kind) and not (name == "arguments" and value is None):
            expected = "a text" if kind is str else "an object"
            return f'"{name}" is missing' if name not in request.params else f'"{name}" must be {expected}'
    if request.method == "prompts/get" and not all(isinstance(value, str) for value in request.arguments.values()):
        return "the arguments of a prompt must be texts"
    return None


_PARAMS: Mapping[str, Mapping[str, type]] = {
    "initialize": {"protocolVersion": str, "capabilities": Mapping, "clientInfo": Mapping},
    "tools/call": {"name": str, "arguments": Mapping},
    "prompts/get": {"name": str, "arguments": Mapping},
    "resources/read": {"uri": str},
    "completion/complete": {"ref": Mapping, "argument": Mapping},
}


_WITH_TARGET = frozenset((*ANSWERED, "resources/subscribe", "resources/unsubscribe"))
_NOT_ACCEPTABLE = "Not Acceptable: Client must accept text/event-stream"
_NOTHING_ACCEPTABLE = "Not Acceptable: Client must accept both application/json and text/event-stream"


def _takes_stream(http: HttpRequest) -> bool:
    """Return whether a client takes a stream of events; one without an Accept header does."""
    return _accepts(http, "text/event-stream", "text/*")


def _takes_json(http: HttpRequest) -> bool:
    return _accepts(http, "application/json", "application/*")


def _accepts(http: HttpRequest, *kinds: str) -> bool:
    accept = http.find_header("accept")
    return accept is None or any(kind in accept for kind in (*kinds, "*/*"))


def _check_headers(http: HttpRequest, request: McpRequest) -> Failure | None:
    """Return the refusal of a message whose headers contradict its body."""
    if not request.is_modern:
        if request.id is None or request.version not in MODERN:
            return None
        why = f"is {request.version!r}, but the body has no {META}protocolVersion in _meta"
        return refuse_message(f"Header mismatch: mcp-protocol-version {why}.", HEADER_MISMATCH, status=400)
    stated = {"mcp-protocol-version": request.version, "mcp-method": request.method}
    if request.method in ANSWERED:
        stated["mcp-name"] = request.target
    for name, value in stated.items():
        header = _decode_header(http.find_header(name) or "")
        if header != value:
            why = f"is {header!r}, but the body says {value!r}" if header else "is missing"
            return refuse_message(f"Header mismatch: {name} {why}.", HEADER_MISMATCH, status=400)
    return None


def _decode_header(value: str) -> str:
    """Return the text of a header, which may be base64: `=?base64?…?=`."""
    found = _CODED.fullmatch(value)
    if found is None:
        return value
    try:
        return b64decode(found[1], validate=True).decode()
    except ValueError:
        return value


_CODED = compile_lazily(r"=\?base64\?(.*)\?=")


def _is_id(value: Json) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _render(call: Call, outcome: Answer | Mcp) -> Reply:
    request = read_message(call)
    if isinstance(outcome, McpBatch):
        return _render_batch(outcome)
    if isinstance(outcome, McpDocument):
        return render_document(outcome)
    if isinstance(outcome, McpResumed):
        return _render_rest(outcome)
    if isinstance(outcome, McpStream):
        if not _takes_stream(call.http):
            return _fail(call.http, refuse_message(_NOT_ACCEPTABLE, INVALID_REQUEST, status=406), call)
        return Reply(200, HeaderLines(STREAM_LINES), script=_write_script(call, outcome))
    if request.id is None:
        return _ACCEPTED
    body = {"jsonrpc": "2.0", "id": request.id, "result": _write_result(outcome, request)}
    headers = outcome.headers if isinstance(outcome, Answer) else ()
    extras = outcome.mcp if isinstance(outcome, Answer) else McpExtras(sse=outcome.server.sse)
    session = outcome.session if isinstance(outcome, McpState) else None
    lines = "" if session is None else f"mcp-session-id: {session}\r\n"
    return _make_reply(call.http, body, status=200, extras=extras or McpExtras(), lines=lines, headers=headers)


_ACCEPTED = Reply(202, (("content-length", "0"),))


def _make_reply(
    http: HttpRequest, body: Mapping[str, Json], *, status: int, extras: McpExtras, lines: str, headers: Headers
) -> Reply:
    """Return a message as JSON, or as the last event of a stream that begins with notifications."""
    wants_stream = bool(extras.sse or extras.notices) or not _takes_json(http)
    is_stream = wants_stream and status == 200 and _takes_stream(http)
    if not is_stream:
        return make_data_reply(status, to_json(body), lines=lines, headers=headers)
    notices = [
        {"jsonrpc": "2.0", "method": f"notifications/{notice.kind}", "params": notice.params}
        for notice in extras.notices
    ]
    frames = [_make_frame(message) for message in (*notices, body)]
    times = [notice.at for notice in extras.notices]
    if extras.stream is not None:
        ids = [McpEventId(extras.stream, number) for number in range(len(frames) + 1)]
        frames = [replace(frame, id=str(each)) for frame, each in zip(frames, ids[1:], strict=True)]
        if _takes_beginning(http):
            frames = [_make_beginning(ids[0]), *frames]
            times = [0.0, *times]
    merged = merge_headers(HeaderLines(lines + STREAM_LINES), headers)
    return Reply(200, merged, frames=tuple(frames), frame_times=(*times, 0.0))


def _make_frame(message: Mapping[str, Json]) -> Frame:
    return Frame(to_json(message), "message", part="finish" if "method" not in message else "text")


def _make_beginning(place: McpEventId) -> Frame:
    """Return the event without data from which a client resumes a stream that broke off, with the time to wait."""
    return Frame(write_retry(_RETRY), id=str(place), part="open")


_RETRY = 100  # milliseconds, so that tests need not wait


def _takes_beginning(http: HttpRequest) -> bool:
    """Return whether a client understands an event without data; older ones take it for a message that is not JSON."""
    return (http.find_header("mcp-protocol-version") or BATCHING) >= "2025-11-25"


def _render_rest(resumed: McpResumed) -> Reply:
    """Return the events of a stream that a client has not received."""
    reply = _render_outcome(resumed.call, resumed.outcome)
    if reply.frames is None:
        return reply
    events = [frame for frame in reply.frames if isinstance(frame, Frame) and frame.part != "open"]
    return Reply(200, HeaderLines(STREAM_LINES), frames=tuple(events[resumed.after.number :]))


def _write_script(call: Call, stream: McpStream) -> Iterator[Frame | float]:
    """Yield frames, and seconds to wait between them; the last message may be the outcome of the call."""
    if stream.begins_at is not None and _takes_beginning(call.http):
        yield _make_beginning(stream.begins_at)
    for each in stream.messages:
        if isinstance(each, float):
            yield each
        elif isinstance(each, McpSent):
            yield replace(_write_message(call, each.message), id=str(each.id))
        else:
            yield _write_message(call, each)


def _write_message(call: Call, message: object) -> Frame:
    if isinstance(message, Mapping):
        return _make_frame(message)
    return Frame(_render_outcome(call, message).body, "message", part="finish")


def _render_outcome(call: Call, outcome: Any) -> Reply:
    return _fail(call.http, outcome, call) if isinstance(outcome, Failure) else _render(call, outcome)


def _render_batch(batch: McpBatch) -> Reply:
    """Return the answers to an array of messages; 202 if none of them wants one."""
    bodies: list[bytes] = []
    for call, outcome in batch.results:
        if isinstance(outcome, Failure) and "id" in outcome.details:
            bodies.append(to_json({"jsonrpc": "2.0", "id": outcome.details["id"], "error": _write_error(outcome)}))
        else:
            reply = _render_alone(call, outcome)
            bodies += [reply.body] if reply.body else []
    return make_data_reply(200, b"[" + b",".join(bodies) + b"]", lines="") if bodies else _ACCEPTED


def _render_alone(call: Call, outcome: Outcome) -> Reply:
    """Return the answer to one of several messages, without notifications."""
    if isinstance(outcome, Answer):
        outcome = replace(outcome, mcp=None)
    elif isinstance(outcome, McpState):
        outcome = replace(outcome, server=replace(outcome.server, sse=None))
    elif isinstance(outcome, McpStream):
        refusal = refuse_message("Invalid Request: this cannot be asked in an array.", INVALID_REQUEST, status=200)
        return _write_failure(call, refusal)
    if isinstance(outcome, Failure):
        return _write_failure(call, outcome)
    return _render(call, outcome)  # type: ignore[arg-type]  # other outcomes are refused where rules are checked


def _write_failure(call: Call, failure: Failure) -> Reply:
    name = read_message(call).id
    if name is None:
        return _ACCEPTED
    return make_data_reply(200, to_json({"jsonrpc": "2.0", "id": name, "error": _write_error(failure)}), lines="")


def _write_result(outcome: Answer | McpState, request: McpRequest) -> dict[str, Json]:
    if isinstance(outcome, Answer) and outcome.mcp is not None and outcome.mcp.questions:
        asked = {each.name: {"method": each.method, "params": each.params} for each in outcome.mcp.questions}
        return {"resultType": "input_required", "inputRequests": asked, "requestState": outcome.mcp.request_state}
    if isinstance(outcome, McpState):
        result = _describe_session(outcome, request)
    else:
        result = _RESULTS[request.method](outcome, request)
    return {**result, "resultType": "complete"} if request.is_modern else result


def _describe_session(state: McpState, request: McpRequest) -> dict[str, Json]:
    server = state.server
    match request.method:
        case "initialize":
            asked = request.params.get("protocolVersion")
            known = [each for each in server.versions if each in LEGACY]
            version = asked if asked in known else known[0]
            return {"protocolVersion": version, **_describe_server(server), "serverInfo": _name_server(server)}
        case "server/discover":
            named = {f"{META}serverInfo": _name_server(server)}
            modern = [each for each in server.versions if each not in LEGACY]
            return {"supportedVersions": modern, **_describe_server(server), **UNCACHED, "_meta": named}
        case "tools/list":
            return _list_page("tools", server.tools, describe=_describe_tool, server=server, request=request)
        case "resources/list":
            return _list_page(
                "resources", server.resources, describe=_describe_resource, server=server, request=request
            )
        case "resources/templates/list":
            return {"resourceTemplates": [], **(UNCACHED if request.is_modern else {})}
        case "prompts/list":
            return _list_page("prompts", server.prompts, describe=_describe_prompt, server=server, request=request)
        case "completion/complete":
            values = state.values
            listed = [*values[:_MAX_COMPLETIONS]]
            return {"completion": {"values": listed, "total": len(values), "hasMore": len(values) > len(listed)}}
    return {}


_MAX_COMPLETIONS = 100  # in one answer


def _describe_server(server: McpServer) -> dict[str, Json]:
    offered = {"tools": server.tools, "resources": server.resources, "prompts": server.prompts}
    changes = {"listChanged": True} if server.notifies else {}
    capabilities: dict[str, Json] = {
        name: {**changes, **({"subscribe": True} if changes and name == "resources" else {})}
        for name, entries in offered.items()
        if entries or name == "tools" or server.changes
    }
    completes: dict[str, Json] = {"completions": {}} if any(prompt.values for prompt in server.prompts) else {}
    return {
        "capabilities": {"logging": {}, **completes, **capabilities},
        **_leave_out_none(instructions=server.instructions),
    }


def _name_server(server: McpServer) -> dict[str, Json]:
    return {"name": server.name, **_leave_out_none(title=server.title), "version": server.version}


def _list_page(
    key: str, entries: Sequence[Entry], *, describe: Any, server: McpServer, request: McpRequest
) -> dict[str, Json]:
    """Return a list, or the page of it that the cursor names. Raises Failure for an unknown cursor."""
    cursor = request.params.get("cursor")
    start = 0
    if cursor is not None:
        stated = str(cursor).removeprefix(_CURSOR)
        start = int(stated) if stated.isdecimal() and len(stated) < 9 else len(entries)
        if start >= len(entries) or server.page is None:
            raise refuse_message(f"Invalid params: no page begins at cursor {cursor!r}.", INVALID_PARAMS, status=200)
    end = len(entries) if server.page is None else start + server.page
    more = {"nextCursor": f"{_CURSOR}{end}"} if end < len(entries) else {}
    return {key: [describe(entry) for entry in entries[start:end]], **more, **(UNCACHED if request.is_modern else {})}


_CURSOR = "page-"


# Descriptions are optional, but most servers send them, and some clients cannot do without.
def _describe_tool(tool: McpTool) -> dict[str, Json]:
    return {
        "name": tool.name,
        **_leave_out_none(title=tool.title),
        "description": tool.description or "",
        "inputSchema": tool.input,
        **_leave_out_none(outputSchema=tool.output, annotations=tool.annotations),
    }


def _describe_resource(resource: McpResource) -> dict[str, Json]:
    typed = _leave_out_none(mimeType=resource.mime)
    return {"uri": resource.uri, "name": resource.name, "description": resource.description or "", **typed}


def _describe_prompt(prompt: McpPrompt) -> dict[str, Json]:
    arguments = [{"name": name, "required": name in prompt.required} for name in prompt.arguments]
    return {"name": prompt.name, "description": prompt.description or "", "arguments": arguments}


def _leave_out_none(**fields: Json) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if value is not None}


def _write_tool_result(answer: Answer, request: McpRequest) -> dict[str, Json]:
    choice = answer.choices[0]
    values = [try_parse(part.text) for part in choice.parts if isinstance(part, Text) and part.is_json]
    result: dict[str, Json] = {"content": _list_content(answer)}
    if values and (request.is_modern or isinstance(values[0], Mapping)):  # before, it had to be an object
        result["structuredContent"] = values[0]
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
    return {"messages": [{"role": "user", "content": content} for content in _list_content(answer)]}


def _list_content(answer: Answer) -> list[Json]:
    """Return the content blocks of an answer."""
    content: list[Json] = []
    for part in answer.choices[0].parts:
        if isinstance(part, Item):
            content.append({"type": part.kind, **part.body})
        elif isinstance(part, Text):
            content.append({"type": "text", "text": part.text})
    return content


_RESULTS = {"tools/call": _write_tool_result, "resources/read": _write_resource, "prompts/get": _write_prompt}


def _fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    """Return a JSON-RPC error; if a rule states a status, it is the HTTP status, too."""
    sent = _find_message(http)
    is_protocol = _is_own(failure) or failure.reason in _CODES
    status = failure.status or (200 if is_protocol else REASONS[failure.reason])
    if _is_notification(sent) and status == 200:
        return _ACCEPTED
    error = _write_error(failure)
    body = {"jsonrpc": "2.0", "id": sent.get("id") if _is_id(sent.get("id")) else None, "error": error}
    wait = "" if failure.retry_after is None else f"retry-after: {failure.retry_after:g}\r\n"
    stated = failure.details.get("mcp")
    extras = stated if isinstance(stated, McpExtras) else McpExtras()
    return _make_reply(
        http,
        body,
        status=status,
        extras=extras,
        lines=wait,
        headers=failure.headers,
    )


def _write_error(failure: Failure) -> dict[str, Json]:
    code = failure.code if _is_own(failure) else _CODES.get(failure.reason, SERVER_ERROR)
    message = failure.message or _MESSAGES.get(failure.reason, failure.reason.replace("_", " "))
    data = failure.details.get("data")
    return {"code": code, "message": message, **({} if data is None else {"data": data})}


def _is_own(failure: Failure) -> bool:
    """Return whether a failure has a code of JSON-RPC, so that it needs no HTTP status."""
    return isinstance(failure.code, int) and failure.code < 0


def _is_notification(sent: Mapping[str, Json]) -> bool:
    """Return whether nobody waits for an answer to a message (JSON-RPC 2.0, section 4.1)."""
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
    "method_not_allowed": "Method not allowed.",
    "route_not_found": "There is nothing at this path. The address of an MCP server is /mcp/NAME.",
}


def _list_operations(path: str) -> Iterable[Operation]:
    yield Operation("mcp_call", "POST", path, parse=_parse, render=_render, readdress=readdress)
    yield Operation(SESSION.name, "GET", path, parse=partial(_parse_bodiless, method=OPEN_STREAM), render=_render)
    yield Operation(SESSION.name, "DELETE", path, parse=partial(_parse_bodiless, method=END_SESSION), render=_render)


DIALECT = Dialect(
    name=NAME,
    mounts=("/mcp",),
    operations=(*_list_operations("/{server}"), *_list_operations(""), *list_login_operations(NAME, _render)),
    unmounted=tuple(list_well_known_operations(NAME, _render)),
    read_credential=read_bearer,
    fail=_fail,
    models=(),
)
