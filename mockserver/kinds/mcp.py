"""Requests to MCP servers: for tools, resources and prompts, with handshakes, lists and notifications around them."""

from collections.abc import Mapping
from types import MappingProxyType

from mockserver.core.call import Call, Message
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, compact
from mockserver.core.mcp_server import SESSION_OPERATION, McpRequest
from mockserver.core.plan import Failure
from mockserver.kinds.kind import OperationKind

_WORDS_OF_MODELS = frozenset(
    (
        "refusal", "tool_calls", "items", "parts", "choices", "reasoning", "citations", "annotations", "logprobs",
        "finish", "failed", "usage", "model", "system_fingerprint", "content_filter", "annotate", "chunks",
        "steps",  # an MCP server has no turns
    )
)  # fmt: skip


class McpOperation(OperationKind, frozen=True, kw_only=True):
    """An operation of MCP; `is_session`: it only surrounds calls, and no rule answers it with a text."""

    is_session: bool = False
    names_model: bool = False
    withheld: frozenset[str] = _WORDS_OF_MODELS


TOOL_CALL = McpOperation(name="mcp_call")
RESOURCE_READ = McpOperation(name="mcp_read", withheld=_WORDS_OF_MODELS | {"tool_error"})
PROMPT_GET = McpOperation(name="mcp_prompt", withheld=_WORDS_OF_MODELS | {"tool_error"})
SESSION = McpOperation(name=SESSION_OPERATION, is_session=True, takes_text=False)
ANSWERED = {"tools/call": TOOL_CALL, "resources/read": RESOURCE_READ, "prompts/get": PROMPT_GET}  # by rules
OPERATIONS = (*ANSWERED.values(), SESSION)


def make_mcp_call(request: McpRequest, http: HttpRequest, sent: Mapping[str, Json] = MappingProxyType({})) -> Call:
    """Return the call of a message to an MCP server; `sent` is the JSON-RPC object as the client sent it."""
    kind = ANSWERED.get(request.method, SESSION)
    meaning: dict[str, Json] = {"server": request.server, "method": request.method, "target": request.target}
    if kind is SESSION and not request.is_handshake:  # which pages of which list
        listed = {name: value for name, value in request.params.items() if name != "_meta"}
        meaning |= {"params": listed} if listed else {}
    answers = request.params.get("inputResponses")
    return Call(
        dialect="mcp",
        operation=kind.name,
        model=request.server,
        http=http,
        meaning={**meaning, "arguments": request.arguments, **({} if answers is None else {"inputs": answers})},
        raw={"method": request.method, **sent, "params": request.params},
        messages=() if kind is SESSION else (Message("user", _describe_request(request)),),
        mcp=request,
    )


def read_message(call: Call) -> McpRequest:
    """Return the message that a call to an MCP server was made of."""
    assert call.mcp is not None  # its operation is one of these
    return call.mcp


def refuse_message(message: str, code: int, *, status: int = 200, data: Json = None) -> Failure:
    """Return the Failure that becomes an error of JSON-RPC with this code and `data`."""
    return Failure("bad_parameter", message, status=status, code=code, details={} if data is None else {"data": data})


def _describe_request(request: McpRequest) -> str:
    """Return the text that results are made of: the arguments, or the URI."""
    if request.method == "resources/read":
        return request.target
    stated = request.arguments.items()
    return "\n".join([f"{name}: {value if isinstance(value, str) else compact(value)}" for name, value in stated])
