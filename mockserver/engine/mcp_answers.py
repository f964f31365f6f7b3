"""Answers of MCP servers without a rule: refusals, contents of resources, and results made up for tools."""

import json
from collections.abc import Mapping

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.draft import Draft, DraftChoice
from mockserver.core.mcp_server import INVALID_PARAMS, UNKNOWN_RESOURCE, McpRequest, McpServer
from mockserver.core.plan import TOOL_ERROR, Failure, Item, Text
from mockserver.core.seed import Seed
from mockserver.kinds.mcp import read_message, refuse_message
from mockserver.model import GENERATORS
from mockserver.rules.mcp_definitions import find_argument_mistake

Servers = Mapping[str, McpServer]
MAX_SHOWN = 500  # characters of the arguments


def name_only_server(servers: Servers, call: Call) -> Call:
    """Return a call that names no server as one of the only server that there is, if there is one."""
    request = call.mcp
    if request is None or request.server or not isinstance(call.meaning, Mapping):
        return call
    if len(servers) != 1:
        return call
    (name,) = servers
    batch = tuple([name_only_server(servers, each) if isinstance(each, Call) else each for each in call.batch])
    meaning = {**call.meaning, "server": name}
    return replace(call, model=name, meaning=meaning, mcp=replace(request, server=name), batch=batch)


def find_server(servers: Servers, name: str) -> McpServer:
    """Return the server of a name. Raises Failure."""
    if name in servers:
        return servers[name]
    others = f"there are: {', '.join(sorted(servers))}" if servers else "there are none"
    if name:
        message = f'There is no MCP server "{name}"; {others}. Define it under mcp: in a rules file,'
        message += " declare one of its tools in the test, or record it."
    else:
        message = f"This address names no MCP server; {others}. Its address is /mcp/NAME."
    raise Failure("not_found", message, status=404)


def check_mcp_call(server: McpServer, request: McpRequest) -> Draft | None:
    """Return the answer of a server before any rule is asked, that a tool does not take its arguments, or None.

    Raises Failure for a tool, a resource or a prompt that the server does not have.
    """
    match request.method:
        case "tools/call":
            tool = server.find_tool(request.target)
            if tool is None:
                raise refuse_message(f"Unknown tool: {request.target}", INVALID_PARAMS)
            why = find_argument_mistake(tool, request.params.get("arguments") or {})
            if why is not None:
                return fail_tool(f"Invalid arguments for tool {tool.name}: {why}")
        case "resources/read" | "resources/subscribe" if server.find_resource(request.target) is None:
            code = INVALID_PARAMS if request.is_modern else UNKNOWN_RESOURCE
            raise refuse_message(f"Resource not found: {request.target}", code)
        case "prompts/get":
            prompt = server.find_prompt(request.target)
            if prompt is None:
                raise refuse_message(f"Unknown prompt: {request.target}", INVALID_PARAMS)
            missing = sorted(prompt.required - request.arguments.keys())
            if missing:
                raise refuse_message(f"Missing required arguments: {', '.join(missing)}", INVALID_PARAMS)
    return None


def find_resource_draft(server: McpServer, request: McpRequest) -> Draft | None:
    """Return the content that the definition of a resource states, or None."""
    resource = server.find_resource(request.target) if request.method == "resources/read" else None
    if resource is None or (resource.text is None and resource.blob is None):
        return None
    typed = {} if resource.mime is None else {"mimeType": resource.mime}
    content = {"text": resource.text} if resource.blob is None else {"blob": resource.blob}
    return Draft((DraftChoice((Item("resource", {**typed, **content}),)),))


def generate_mcp_result(server: McpServer, call: Call, seed: Seed) -> Draft:
    """Make a result: an instance of the tool's output schema, or a text that says what was called."""
    request = read_message(call)
    tool = server.find_tool(request.target) if request.method == "tools/call" else None
    own = seed.branch("generate", call.content_fingerprint, "0")
    if tool is None:
        return Draft((GENERATORS["prose"](call, own, {}),))
    if tool.output is None:
        arguments = request.arguments.items()
        written = ", ".join([f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments])
        return Draft((DraftChoice((Text(f"made-up result of {tool.name}({written[:MAX_SHOWN]})"),)),))
    made = GENERATORS["schema"](call, own, {"schema": tool.output})
    parts = [replace(part, is_json=True) if isinstance(part, Text) else part for part in made.parts]
    return Draft((replace(made, parts=tuple(parts)),))


def find_completions(server: McpServer, request: McpRequest) -> tuple[str, ...]:
    """Return the values of a prompt's argument that begin with what a client has typed."""
    reference = request.params.get("ref")
    argument = request.params.get("argument")
    if not isinstance(reference, Mapping) or not isinstance(argument, Mapping):
        return ()
    prompt = server.find_prompt(str(reference.get("name", "")))
    values = () if prompt is None else prompt.values.get(str(argument.get("name", "")), ())
    return tuple([value for value in values if value.startswith(str(argument.get("value", "")))])


def fail_tool(message: str) -> Draft:
    """Return the result of a tool that failed."""
    return Draft((DraftChoice((Text(message),), finish=TOOL_ERROR),))
