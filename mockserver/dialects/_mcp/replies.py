"""What an MCP server answers: results and errors, as JSON or as the last event of a stream."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.http import Frame, HeaderLines, Headers, HttpRequest, Reply
from mockserver.core.json import Json, try_parse
from mockserver.core.mcp_server import (
    BATCHING,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LEGACY,
    META,
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
from mockserver.dialects._mcp.login import render_document
from mockserver.dialects._mcp.request import NOT_ACCEPTABLE, is_id, takes_json, takes_stream
from mockserver.dialects._parse import read_json
from mockserver.dialects._reply import STREAM_LINES, data_reply, merge_headers
from mockserver.kinds.mcp import read_message, refuse_message

Entry = TypeVar("Entry")


def render(call: Call, outcome: Answer | Mcp) -> Reply:
    """Return the reply to a message: a result, a stream, a document about logins, or nothing."""
    request = read_message(call)
    if isinstance(outcome, McpBatch):
        return _render_batch(outcome)
    if isinstance(outcome, McpDocument):
        return render_document(outcome)
    if isinstance(outcome, McpResumed):
        return _resume(outcome)
    if isinstance(outcome, McpStream):
        if not takes_stream(call.http):
            return fail(call.http, refuse_message(NOT_ACCEPTABLE, INVALID_REQUEST, status=406), call)
        return Reply(200, HeaderLines(STREAM_LINES), script=_write_script(call, outcome))
    if request.id is None:
        return _ACCEPTED
    body = {"jsonrpc": "2.0", "id": request.id, "result": _write_result(outcome, request)}
    headers = outcome.headers if isinstance(outcome, Answer) else ()
    extras = outcome.mcp if isinstance(outcome, Answer) else McpExtras(sse=outcome.server.sse)
    session = outcome.session if isinstance(outcome, McpState) else None
    lines = "" if session is None else f"mcp-session-id: {session}\r\n"
    return _reply(call.http, body, 200, extras or McpExtras(), lines, headers)


_ACCEPTED = Reply(202, (("content-length", "0"),))


def _reply(
    http: HttpRequest, body: Mapping[str, Json], status: int, extras: McpExtras, lines: str, headers: Headers
) -> Reply:
    """Return a message as JSON, or as the last event of a stream with what is to be notified before it."""
    wants_stream = bool(extras.sse or extras.notices) or not takes_json(http)
    is_stream = wants_stream and status == 200 and takes_stream(http)
    if not is_stream:
        return data_reply(status, to_json(body), lines, headers)
    notices = [
        {"jsonrpc": "2.0", "method": f"notifications/{notice.kind}", "params": notice.params}
        for notice in extras.notices
    ]
    frames, beats = [_make_frame(message) for message in (*notices, body)], [notice.at for notice in extras.notices]
    if extras.stream is not None:
        ids = [McpEventId(extras.stream, number) for number in range(len(frames) + 1)]
        frames = [replace(frame, id=str(each)) for frame, each in zip(frames, ids[1:], strict=True)]
        if _takes_beginning(http):
            frames, beats = [_make_beginning(ids[0]), *frames], [0.0, *beats]
    merged = merge_headers(HeaderLines(lines + STREAM_LINES), headers)
    return Reply(200, merged, frames=tuple(frames), beats=(*beats, 0.0))


def _make_frame(message: Mapping[str, Json]) -> Frame:
    return Frame(to_json(message), "message", part="finish" if "method" not in message else "text")


def _make_beginning(place: McpEventId) -> Frame:
    """Return the event without data after which a client takes up a stream that broke off at once, and how soon."""
    return Frame(b"\nretry: %d" % _RETRY, id=str(place), part="open")


_RETRY = 100  # milliseconds: a test need not wait longer


def _takes_beginning(http: HttpRequest) -> bool:
    """Return whether a client understands an event without data; older ones take it for a message that is no JSON."""
    return (http.header("mcp-protocol-version") or BATCHING) >= "2025-11-25"


def _resume(resumed: McpResumed) -> Reply:
    """Return the rest of a stream."""
    reply = _render_outcome(resumed.call, resumed.outcome)
    if reply.frames is None:
        return reply
    events = [frame for frame in reply.frames if isinstance(frame, Frame) and frame.part != "open"]
    return Reply(200, HeaderLines(STREAM_LINES), frames=tuple(events[resumed.after.number :]))


def _write_script(call: Call, stream: McpStream) -> Iterator[Frame | float]:
    """Yield the frames of messages, of which the last may be an outcome, and seconds to wait."""
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
    return fail(call.http, outcome, call) if isinstance(outcome, Failure) else render(call, outcome)


def _render_batch(batch: McpBatch) -> Reply:
    """Return the answers to an array of messages; 202 if none of them wants one."""
    bodies: list[bytes] = []
    for call, outcome in batch.results:
        if isinstance(outcome, Failure) and "id" in outcome.details:
            bodies.append(to_json({"jsonrpc": "2.0", "id": outcome.details["id"], "error": _write_error(outcome)}))
        else:
            reply = _render_alone(call, outcome)
            bodies += [reply.body] if reply.body else []
    return data_reply(200, b"[" + b",".join(bodies) + b"]", "") if bodies else _ACCEPTED


def _render_alone(call: Call, outcome: Outcome) -> Reply:
    """Return the answer to one of several messages, without what would be notified before it."""
    if isinstance(outcome, Answer):
        outcome = replace(outcome, mcp=None)
    elif isinstance(outcome, McpState):
        outcome = replace(outcome, server=replace(outcome.server, sse=None))
    elif isinstance(outcome, McpStream):
        refusal = refuse_message("Invalid Request: this cannot be asked in an array.", INVALID_REQUEST, status=200)
        return _write_failure(call, refusal)
    if isinstance(outcome, Failure):
        return _write_failure(call, outcome)
    return render(call, outcome)  # type: ignore[arg-type]  # other outcomes are refused where rules are checked


def _write_failure(call: Call, failure: Failure) -> Reply:
    name = read_message(call).id
    if name is None:
        return _ACCEPTED
    return data_reply(200, to_json({"jsonrpc": "2.0", "id": name, "error": _write_error(failure)}), "")


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
            asked, known = request.params.get("protocolVersion"), [each for each in server.versions if each in LEGACY]
            version = asked if asked in known else known[0]
            return {"protocolVersion": version, **_describe_server(server), "serverInfo": _name_server(server)}
        case "server/discover":
            named = {f"{META}serverInfo": _name_server(server)}
            modern = [each for each in server.versions if each not in LEGACY]
            return {"supportedVersions": modern, **_describe_server(server), **UNCACHED, "_meta": named}
        case "tools/list":
            return _page("tools", server.tools, _describe_tool, server, request)
        case "resources/list":
            return _page("resources", server.resources, _describe_resource, server, request)
        case "resources/templates/list":
            return {"resourceTemplates": [], **(UNCACHED if request.is_modern else {})}
        case "prompts/list":
            return _page("prompts", server.prompts, _describe_prompt, server, request)
        case "completion/complete":
            values = state.values
            listed = [*values[:_MOST_COMPLETIONS]]
            return {"completion": {"values": listed, "total": len(values), "hasMore": len(values) > len(listed)}}
    return {}


_MOST_COMPLETIONS = 100  # in one answer


def _describe_server(server: McpServer) -> dict[str, Json]:
    offered = {"tools": server.tools, "resources": server.resources, "prompts": server.prompts}
    told = {"listChanged": True} if server.notifies else {}
    capabilities: dict[str, Json] = {
        name: {**told, **({"subscribe": True} if told and name == "resources" else {})}
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


def _page(key: str, entries: Sequence[Entry], describe: Any, server: McpServer, request: McpRequest) -> dict[str, Json]:
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


def fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    """Return a JSON-RPC error; if a rule states a status, it is the HTTP status, too."""
    sent = _find_message(http)
    is_protocol = _is_own(failure) or failure.reason in _CODES
    status = failure.status or (200 if is_protocol else REASONS[failure.reason])
    if _is_notification(sent) and status == 200:
        return _ACCEPTED
    error = _write_error(failure)
    body = {"jsonrpc": "2.0", "id": sent.get("id") if is_id(sent.get("id")) else None, "error": error}
    wait = "" if failure.retry_after is None else f"retry-after: {failure.retry_after:g}\r\n"
    extras = failure.details.get("mcp")
    return _reply(http, body, status, extras if isinstance(extras, McpExtras) else McpExtras(), wait, failure.headers)


def _write_error(failure: Failure) -> dict[str, Json]:
    code = failure.code if _is_own(failure) else _CODES.get(failure.reason, SERVER_ERROR)
    message = failure.message or _MESSAGES.get(failure.reason, failure.reason.replace("_", " "))
    data = failure.details.get("data")
    return {"code": code, "message": message, **({} if data is None else {"data": data})}


def _is_own(failure: Failure) -> bool:
    """Return whether a failure has a code of JSON-RPC, which need no HTTP status."""
    return isinstance(failure.code, int) and failure.code < 0


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
    "method_not_allowed": "Method not allowed.",
    "route_not_found": "There is nothing at this path. The address of an MCP server is /mcp/NAME.",
}
