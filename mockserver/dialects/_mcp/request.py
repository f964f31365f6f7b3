"""Messages of MCP clients as Calls, and why a server refuses them whatever it offers."""

from base64 import b64decode
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.lazy import lazy_pattern
from mockserver.core.mcp_server import (
    BATCHING,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LEGACY,
    META,
    METHOD_NOT_FOUND,
    MODERN,
    PARSE_ERROR,
    REPLY,
    McpRequest,
)
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._parse import bearer, read_json, refuse_other_media
from mockserver.kinds.mcp import ANSWERED, SESSION, make_mcp_call, refuse_message

_SESSION_METHODS = frozenset(
    ("tools/list", "resources/list", "resources/templates/list", "prompts/list", "completion/complete")
)
_LEGACY_METHODS = frozenset(
    ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", *_SESSION_METHODS)
)
_MODERN_METHODS = frozenset(("server/discover", "subscriptions/listen", *_SESSION_METHODS))
MOST_IN_BATCH = 1000


def parse(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a message, or of an array of them. Raises Failure for what is neither."""
    if validation is not Validation.OFF:
        refuse_other_media(http)
    try:
        body = read_json(http.body)
    except Failure as failure:
        raise refuse_message(f"Parse error: {failure.message}", PARSE_ERROR, status=400) from None
    if isinstance(body, list) and body and http.header("mcp-protocol-version") in (None, BATCHING):
        return _make_batch_call(http, body, validation)
    return make_mcp_call(_read_message(http, body, validation), http)


def parse_bodiless(http: HttpRequest, validation: Validation, *, method: str) -> Call:
    """Return the Call of a request that is no message: it opens a stream, or ends a session."""
    version = http.header("mcp-protocol-version")
    is_modern = version is not None and version not in LEGACY
    return make_mcp_call(_fill_request(http, McpRequest("", method, {}, None, version or BATCHING, is_modern)), http)


def _make_batch_call(http: HttpRequest, messages: Sequence[Json], validation: Validation) -> Call:
    """Return the call of an array of messages: the first that rules can answer, with all of them."""
    if len(messages) > MOST_IN_BATCH:
        raise refuse_message(f"Invalid Request: more than {MOST_IN_BATCH} messages.", INVALID_REQUEST, status=400)
    parts: list[Call | Exception] = []
    for message in messages:
        try:
            parts.append(make_mcp_call(_read_message(http, message, validation), http))
        except Failure as failure:
            named = message.get("id") if isinstance(message, Mapping) else None
            parts.append(failure.changed(details={**failure.details, "id": named if is_id(named) else None}))
    calls = [part for part in parts if isinstance(part, Call)]
    if not calls:
        raise refuse_message("Invalid Request: a JSON-RPC 2.0 object is expected.", INVALID_REQUEST, status=400)
    first = next((call for call in calls if call.operation != SESSION.name), calls[0])
    return replace(first, batch=tuple(parts))


def _read_message(http: HttpRequest, body: Json, validation: Validation) -> McpRequest:
    """Return a message. Raises Failure for what is none; of what a server may refuse, it keeps the reason."""
    if not isinstance(body, Mapping) or body.get("jsonrpc") != "2.0":
        raise refuse_message("Invalid Request: a JSON-RPC 2.0 object is expected.", INVALID_REQUEST, status=400)
    name, method, params = body.get("id"), body.get("method"), body.get("params", {})
    is_reply = "method" not in body and ("result" in body or "error" in body)
    if is_reply:
        method, name = REPLY, None
    is_request = "id" in body and not is_reply
    if not isinstance(method, str) or (is_request and not is_id(name)):
        raise refuse_message('Invalid Request: "method" or "id" is not valid.', INVALID_REQUEST, status=400)
    if not isinstance(params, Mapping):
        raise refuse_message("Invalid params: an object is expected.", INVALID_PARAMS, status=200)
    meta = params.get("_meta")
    stated = meta.get(f"{META}protocolVersion") if isinstance(meta, Mapping) else None
    header = http.header("mcp-protocol-version")
    is_modern = stated is not None
    version = str(stated) if is_modern else header or BATCHING
    request = McpRequest("", method, params, name, version, is_modern, states_version=is_modern or header is not None)
    problem = _find_problem(http, request, validation)
    return _fill_request(http, replace(request, problem=problem, reply=body if is_reply else {}))


def _fill_request(http: HttpRequest, request: McpRequest) -> McpRequest:
    """Return a request with what its path and headers say."""
    server, session = http.path_params.get("server", ""), http.header("mcp-session-id")
    return replace(request, server=server, session=session, token=bearer(http))


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
    if request.id is not None and not takes_stream(http):
        if method == "subscriptions/listen":
            return refuse_message(NOT_ACCEPTABLE, INVALID_REQUEST, status=406)
        if validation is not Validation.OFF and not takes_json(http):
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
NOT_ACCEPTABLE = "Not Acceptable: Client must accept text/event-stream"
_NOTHING_ACCEPTABLE = "Not Acceptable: Client must accept both application/json and text/event-stream"


def takes_stream(http: HttpRequest) -> bool:
    """Return whether a client takes a stream of events; one that does not say what it takes does."""
    return _accepts(http, "text/event-stream", "text/*")


def takes_json(http: HttpRequest) -> bool:
    """Return whether a client takes JSON; one that does not say what it takes does."""
    return _accepts(http, "application/json", "application/*")


def _accepts(http: HttpRequest, *kinds: str) -> bool:
    accept = http.header("accept")
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
        header = _decode_header(http.header(name) or "")
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


_CODED = lazy_pattern(r"=\?base64\?(.*)\?=")


def is_id(value: Json) -> bool:
    """Return whether JSON-RPC allows a value as the id of a request."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)
