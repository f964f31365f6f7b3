"""What MCP servers answer without a rule: their lists, their resources, and results made for their tools."""

from collections.abc import Mapping

from mockserver.core.call import Call
from mockserver.core.draft import Draft, DraftChoice
from mockserver.core.mcp_server import INVALID_PARAMS, UNKNOWN_RESOURCE, McpRequest, McpServer
from mockserver.core.plan import TOOL_ERROR, Failure, Item, Text
from mockserver.core.seed import Seed
from mockserver.model import GENERATORS
from mockserver.rules.mcp_definitions import find_argument_mistake

Servers = Mapping[str, McpServer]


def check_mcp_call(servers: Servers, request: McpRequest) -> Draft | None:
    """Return what a server answers before any rule is asked: that a tool does not take its arguments; or None.

    Raises Failure for what the server does not have.
    """
    server = _find_server(servers, request.server)
    match request.method:
        case "tools/call":
            tool = server.find_tool(request.target)
            if tool is None:
                raise _refuse(f"Unknown tool: {request.target}", INVALID_PARAMS)
            why = find_argument_mistake(tool, request.params.get("arguments", {}))
            if why is not None:
                return _fail(f"Invalid arguments for tool {tool.name}: {why}")
        case "resources/read" if server.find_resource(request.target) is None:
            code = INVALID_PARAMS if request.is_modern else UNKNOWN_RESOURCE
            raise _refuse(f"Resource not found: {request.target}", code)
        case "prompts/get":
            prompt = server.find_prompt(request.target)
            if prompt is None:
                raise _refuse(f"Unknown prompt: {request.target}", INVALID_PARAMS)
            missing = sorted(prompt.required - request.arguments.keys())
            if missing:
                raise _refuse(f"Missing required arguments: {', '.join(missing)}", INVALID_PARAMS)
    return None


def find_mcp_answer(servers: Servers, request: McpRequest) -> McpServer | Draft | None:
    """Return what a server has for a request that no rule answers: itself for a list, or a resource; or None."""
    server = servers.get(request.server) or McpServer(request.server)  # one that is only recorded
    if request.method != "resources/read":
        return None if request.method in ("tools/call", "prompts/get") else server
    resource = server.find_resource(request.target)
    if resource is None or (resource.text is None and resource.blob is None):
        return None
    typed = {} if resource.mime is None else {"mimeType": resource.mime}
    content = {"text": resource.text} if resource.blob is None else {"blob": resource.blob}
    return Draft((DraftChoice((Item("resource", {**typed, **content}),)),))


def generate_mcp_result(servers: Servers, call: Call, seed: Seed) -> Draft:
    """Make a result: an instance of the tool's output schema, or a sentence."""
    assert call.mcp is not None  # noqa: S101  # it is a call of a server
    tool = servers[call.mcp.server].find_tool(call.mcp.target) if call.mcp.method == "tools/call" else None
    own = seed.branch("generate", call.content_fingerprint, "0")
    if tool is None or tool.output is None:
        return Draft((GENERATORS["prose"](call, own, {}),))
    return Draft((GENERATORS["schema"](call, own, {"schema": tool.output}),))


def _find_server(servers: Servers, name: str) -> McpServer:
    if name in servers:
        return servers[name]
    others = f"there are: {', '.join(sorted(servers))}" if servers else "there are none"
    message = f'There is no MCP server "{name}"; {others}. Define it under mcp: in a rules file, or record it.'
    raise Failure("not_found", message, status=404)


def _refuse(message: str, code: int) -> Failure:
    return Failure("bad_parameter", message, code=code, status=200)


def _fail(message: str) -> Draft:
    return Draft((DraftChoice((Text(message),), finish=TOOL_ERROR),))
