"""Tools of MCP servers that the provider calls itself: a model's turns, with the calls of tools between them.

The servers are those of the rules files: nothing is fetched from the URLs of a request. Of other servers, rules may
call any tool that the request allows, and results are made up where no rule states them.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call, McpConnector, Message, Tool, ToolCall, ToolChoice, list_recent_approvals
from mockserver.core.episode import Recorded
from mockserver.core.hosted_tools import describe_error, make_item
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, compact, find_in, try_parse
from mockserver.core.lazy import compile_lazily
from mockserver.core.mcp_messages import find_response
from mockserver.core.mcp_server import VERSIONS, McpRequest, McpServer, McpTool
from mockserver.core.plan import (
    REASONS,
    SERVED_MCP,
    TOOL_ERROR,
    Answer,
    CarriedOut,
    Choice,
    Failure,
    Item,
    Outcome,
    Part,
    Plan,
    Reasoning,
    Text,
    ToolUse,
)
from mockserver.engine.answer import weigh_parts
from mockserver.engine.engine import CallContext, Engine
from mockserver.engine.offload import is_large
from mockserver.engine.overrides import NO_OVERRIDES
from mockserver.engine.unruled import generate
from mockserver.kinds.mcp import make_mcp_call

MAX_TURNS = 32  # of a model within one answer
VERSION = "2026-07-28"  # the revision that the provider speaks to the server


class HostedServer(Struct, frozen=True):
    """An MCP server that a request names, and what models may call of it, by name.

    One that is not `is_defined` may have any tools besides those.
    """

    connector: McpConnector
    server: McpServer
    tools: Mapping[str, McpTool]
    is_defined: bool = True

    @property
    def label(self) -> str:
        return self.connector.label

    @property
    def allowed_names(self) -> Sequence[str]:
        """The names of the tools that the request allows."""
        allowed = self.connector.allowed
        names = allowed.get("tool_names") if isinstance(allowed, Mapping) else allowed
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    def list_tools(self, used: Sequence[str] = ()) -> Item:
        """Return the item that lists its tools; if it is not defined, those that are `used`."""
        offered = self.tools if self.is_defined else {name: McpTool(name) for name in used}
        tools = [_describe_tool(name, tool) for name, tool in offered.items()]
        return make_item(_LIST, {"server_label": self.label, "tools": tools})

    def find_tool(self, name: str) -> McpTool | None:
        """Return the tool of a name that models may call, or None."""
        if self.is_defined:
            return self.tools.get(name)
        is_reading = find_in(self.connector.allowed, "read_only") is True
        tool = McpTool(name, annotations={"readOnlyHint": True} if is_reading else None)
        return tool if self.connector.allows(tool) else None


class ToolResult(Struct, frozen=True):
    """What a tool returned: `output` as a text or, if it failed, an `error` as OpenAI's API has it."""

    output: str | None = None
    error: Json = None

    @property
    def text(self) -> str:
        """The result as the model reads it."""
        return self.output if self.output is not None else describe_error(self.error)


def find_hosted_servers(
    connectors: Iterable[McpConnector], servers: Mapping[str, McpServer], tools: Iterable[Tool] = ()
) -> tuple[HostedServer, ...]:
    """Return the servers that a request names. Its own `tools` win over theirs of the same names.

    Rules files define a server by the name that the request gives it, or by the address that it names.
    """
    taken = {tool.name for tool in tools if tool.kind in ("function", "custom")}
    found: list[HostedServer] = []
    for connector in connectors:
        server = servers.get(connector.label) or servers.get(_find_name(connector.url))
        if server is None:
            found.append(HostedServer(connector, McpServer(connector.label), {}, is_defined=False))
        else:
            allowed = [tool for tool in server.tools if connector.allows(tool) and tool.name not in taken]
            taken |= {tool.name for tool in allowed}
            found.append(HostedServer(connector, server, {tool.name: tool for tool in allowed}))
    return tuple(found)


def _find_name(url: str) -> str:
    found = _MCP_PATH.search(url)
    return "" if found is None else unquote(found[1])


_MCP_PATH = compile_lazily(r"/mcp/([^/?#]+)/?$")


class ToolExchange(Struct, frozen=True):
    """A call of a tool, and its result."""

    made: ToolCall
    result: ToolResult


class HostedAnswer:
    """The answer to a request with such servers, which grows turn by turn.

    `plan_turn` plans a turn of the model; `plan_call` plans the call of a tool as if it had come by itself.
    """

    def __init__(
        self,
        context: CallContext,
        call: Call,
        *,
        plan_turn: Callable[[CallContext, Call], Awaitable[Plan]],
        plan_call: Callable[[Engine, Call], Awaitable[Plan]],
    ) -> None:
        self._context = context
        self._call = call
        self._plan_turn = plan_turn
        self._plan_call = plan_call
        self._hosted = find_hosted_servers(call.connectors, context.engine.servers, call.tools)
        self._parts: list[Part] = []
        self._carried: list[CarriedOut] = []
        self._made: set[tuple[str, str]] = set()  # names and arguments of calls that the model made
        self._used: dict[str, list[str]] = {}  # names of tools, by the labels of their servers
        self._own = {tool.name for tool in call.tools if tool.kind in ("function", "custom")}  # of the client

    async def plan(self) -> Plan:
        """Plan the answer: turns of the model until it waits for the client, or says something last."""
        turn = await self._carry_out_approved(_offer_tools(self._call, self._hosted))
        first: Answer | None = None
        spent = 0
        thought = 0
        turns = 0
        sources: list[str] = []
        while True:
            context = replace(self._context, original=turn) if turns else self._context  # recordings have the first one
            plan = await self._plan_turn(context, turn)
            turns += 1
            is_last = turns == MAX_TURNS or (isinstance(plan.outcome, Answer) and self._repeats(plan.outcome))
            if is_last:  # a rule that always asks for the same is done with that
                turn_of_text = replace(turn, tools=(), tool_choice=ToolChoice("none"))
                context = replace(self._context, large=is_large(turn_of_text))
                plan = await generate(context, turn_of_text, NO_OVERRIDES)
            if not isinstance(plan.outcome, Answer):
                return replace(plan, carried_out=tuple(self._carried))
            answer = plan.outcome
            first = first or answer
            spent += answer.usage.completion
            thought += answer.usage.reasoning
            following = await self._take_turn(turn, answer.choices[0])
            if not self._used and not any(each.is_defined for each in self._hosted):
                return plan  # the answer has nothing to do with a server
            if following is None:
                usage = replace(first.usage, completion=spent, reasoning=thought)
                return self._finish(plan, replace(answer, id=first.id, usage=usage), sources)
            turn = following
            sources.append(plan.source)

    def _finish(self, plan: Plan, answer: Answer, sources: Sequence[str]) -> Plan:
        """Return the plan of the whole answer; rules of earlier `sources` had a part in it."""
        listed = {part.body.get("server_label") for part in self._parts if type(part) is Item and part.kind == _LIST}
        lists = [item for item in self._list_tools() if item.body["server_label"] not in listed]
        parts = (*lists, *self._parts)
        last = answer.choices[0]
        waits = any(type(part) is ToolUse for part in parts)
        finish = "stop" if last.finish == "tool_calls" and not waits else last.finish
        choice = Choice(parts, finish, safety=last.safety, echo=last.echo, stop=last.stop)
        whole = replace(answer, choices=(choice,), written=weigh_parts(parts, answer.tokenizer))
        rules = tuple([source for source in sources if source.startswith("rule ")])
        return replace(plan, outcome=whole, modified_by=(*rules, *plan.modified_by), carried_out=tuple(self._carried))

    def _list_tools(self) -> Iterator[Item]:
        """Yield the lists of tools that the conversation does not have yet."""
        earlier = [part for message in self._call.messages for part in message.parts if part.get("type") == _LIST]
        known = {part.get("server_label") for part in earlier}
        for hosted in self._hosted:
            used = self._used.get(hosted.label, ())
            if hosted.label not in known and (hosted.is_defined or used):
                yield hosted.list_tools(used)

    async def _take_turn(self, turn: Call, choice: Choice) -> Call | None:
        """Add a turn to the answer, and carry out its calls; return the next turn, None if this is the last."""
        exchanged: list[ToolExchange] = []
        waits = False
        goes_on = False
        texts: list[str] = []
        for part in choice.parts:
            used = self._find_tool(part)
            if used is None:
                self._parts.append(part)
                waits = waits or type(part) is ToolUse
                goes_on = goes_on and type(part) is Reasoning
                texts += [part.text] if type(part) is Text else []
            elif type(part) is ToolUse:
                hosted = used
                made = part.call
                tool = hosted.find_tool(made.name)
                if tool is not None and hosted.connector.needs_approval(tool):
                    shown = {"server_label": hosted.label, "name": made.name, "arguments": made.arguments}
                    self._parts.append(make_item("mcp_approval_request", shown))
                    self._note_use(hosted, made)
                    waits = True
                elif self._has_calls_left():
                    self._made.add((made.name, made.arguments))
                    exchanged.append(ToolExchange(made, await self._carry_out(hosted, made)))
                    goes_on = True
            elif type(part) is Item and self._has_calls_left():  # a call that a rule states without its result
                name = str(part.body.get("name"))
                arguments = str(part.body.get("arguments"))
                await self._carry_out(used, ToolCall("", name, arguments))
                goes_on = False
        if waits or not goes_on or not exchanged:
            return None
        return _continue_turn(turn, "".join(texts), exchanged)

    def _find_tool(self, part: Part) -> HostedServer | None:
        """Return the server whose tool a part of an answer calls, or None."""
        if type(part) is ToolUse:
            made = part.call
            if made.kind != "function" or (not made.namespace and made.name in self._own):
                return None
            meant = [each for each in self._hosted if made.namespace in ("", each.label)]
            return _find_server(meant, made)
        if type(part) is Item and part.kind == _CALL and part.body.get("output") is None and not part.body.get("error"):
            label = part.body.get("server_label")
            return next((each for each in self._hosted if each.label == label), None)
        return None

    def _note_use(self, hosted: HostedServer, made: ToolCall) -> None:
        used = self._used.setdefault(hosted.label, [])
        if made.name not in used:
            used.append(made.name)

    def _has_calls_left(self) -> bool:
        most = self._call.options.max_tool_calls
        return most is None or sum(type(part) is Item and part.kind == _CALL for part in self._parts) < most

    def _repeats(self, answer: Answer) -> bool:
        """Return whether a turn only makes calls that were made before."""
        uses = [part.call for part in answer.choices[0].parts if type(part) is ToolUse]
        return bool(uses) and all((use.name, use.arguments) in self._made for use in uses)

    async def _carry_out_approved(self, turn: Call) -> Call:
        """Make the calls that the client has just approved."""
        exchanged: list[ToolExchange] = []
        for answered in list_recent_approvals(turn):
            made = answered.made
            hosted = _find_server(self._hosted, made)
            if hosted is not None and answered.approved:
                approved = ToolCall(f"{made.id}_call", made.name, made.arguments)
                self._made.add((made.name, made.arguments))
                exchanged.append(ToolExchange(approved, await self._carry_out(hosted, approved, approval=made.id)))
        if not exchanged:
            return turn
        tools = tuple(_mark_served(turn.tools, self._used))  # else the model would call them once more
        return _continue_turn(replace(turn, tools=tools), "", exchanged)

    async def _carry_out(self, hosted: HostedServer, made: ToolCall, approval: str | None = None) -> ToolResult:
        """Have a server answer a call, and add the call with its result to the answer."""
        self._note_use(hosted, made)
        call = _make_server_call(hosted, made, self._call)
        plan = await self._plan_call(_open_engine(self._context.engine, call, hosted), call)
        self._carried.append(CarriedOut(http=call.http, call=call, plan=plan))
        result = _read_result(plan.outcome)
        shown = {
            "server_label": hosted.label,
            "name": made.name,
            "arguments": made.arguments,
            "output": result.output,
            "error": result.error,
            "approval_request_id": approval,
        }
        self._parts.append(make_item(_CALL, shown))
        return result


def _find_server(servers: Sequence[HostedServer], made: ToolCall) -> HostedServer | None:
    """Return the server that has the tool of a call: a defined one, else one that may have it and lists it."""
    able = [each for each in servers if each.find_tool(made.name) is not None]
    return min(able, key=lambda each: (not each.is_defined, each.connector.allowed is None), default=None)


def _offer_tools(call: Call, hosted: Sequence[HostedServer]) -> Call:
    """Return the call as a model sees it: with the tools of servers as functions."""
    labels = {each.label for each in hosted if each.is_defined}
    offered = [Tool(name, tool.description or "", tool.input) for each in hosted for name, tool in each.tools.items()]
    choice = call.tool_choice
    if choice.names and (choice.servers or "mcp" in choice.names):
        chosen = [name for name in choice.names if name != "mcp"]
        wanted = {each.label: each.name for each in choice.servers}
        for each in hosted:
            tool = wanted.get(each.label)
            chosen += [] if tool is None else [name for name in each.tools if tool in ("", name)]
        choice = ToolChoice(choice.mode, tuple(chosen))
    connectors = tuple([replace(each, is_defined=each.label in labels) for each in call.connectors])
    return replace(call, tools=(*_mark_served(call.tools, labels), *offered), connectors=connectors, tool_choice=choice)


def _mark_served(tools: Iterable[Tool], labels: Collection[str]) -> Iterator[Tool]:
    """Yield the tools of a request; those that stand for these servers are marked as not for the model itself."""
    for tool in tools:
        is_served = tool.kind == "mcp" and tool.options.get("server_label") in labels
        yield replace(tool, kind=SERVED_MCP) if is_served else tool


def _continue_turn(turn: Call, text: str, exchanged: Sequence[ToolExchange]) -> Call:
    """Return the next turn of a model that said a text, and has got the results of its calls."""
    calls = tuple([each.made for each in exchanged])
    results = [Message("tool", each.result.text, tool_call_id=each.made.id) for each in exchanged]
    meanings = [[each.made.name, each.made.arguments, each.result.text] for each in exchanged]
    meaning = turn.meaning if isinstance(turn.meaning, Mapping) else {}
    before = meaning.get(_RESULTS)
    choice = turn.tool_choice
    return replace(
        turn,
        messages=(*turn.messages, Message("assistant", text, tool_calls=calls), *results),
        meaning={**meaning, _RESULTS: [*(before if isinstance(before, list) else ()), *meanings]},
        tool_choice=ToolChoice("auto", choice.names) if choice.mode in ("required", "named") else choice,
        is_sound=False,
    )


def _make_server_call(hosted: HostedServer, made: ToolCall, call: Call) -> Call:
    """Return the call of a tool as its server gets it from the provider."""
    arguments = try_parse(made.arguments)
    params = {"name": made.name, "arguments": arguments if isinstance(arguments, Mapping) else {}}
    http = HttpRequest(
        method="POST",
        path=f"/mcp/{hosted.server.name}",
        headers=hosted.connector.headers,
        body=compact({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode(),
        namespace=call.http.namespace,
        path_params={"server": hosted.server.name},
    )
    request = McpRequest(hosted.server.name, "tools/call", params=params, id=1, version=VERSION, is_modern=True)
    return make_mcp_call(request, http)


def _open_engine(engine: Engine, call: Call, hosted: HostedServer) -> Engine:
    """Return an engine whose server answers the call of a tool without a session, in any revision.

    For a server that is not defined, it makes up a result where no rule states one.
    """
    server = replace(hosted.server, sessions=False, versions=VERSIONS)
    if not hosted.is_defined and call.mcp is not None:
        server = replace(server, tools=(McpTool(call.mcp.target),))
        engine = replace(engine, policy=replace(engine.policy, unmatched="generate"))
    return replace(engine, servers={**engine.servers, server.name: server})


def _read_result(outcome: Outcome) -> ToolResult:
    """Return the result of a tool that a planned outcome is."""
    if isinstance(outcome, Answer):
        choice = outcome.choices[0]
        return _read_blocks([*_list_blocks(choice.parts)], failed=choice.finish == TOOL_ERROR)
    if isinstance(outcome, Failure):
        message = outcome.message or outcome.reason
        if isinstance(outcome.code, int) and outcome.code < 0:
            return ToolResult(error={"type": "mcp_protocol_error", "code": outcome.code, "message": message})
        status = outcome.status or REASONS[outcome.reason]
        return ToolResult(error={"type": "http_error", "code": status, "message": message})
    response = find_response(outcome) if isinstance(outcome, Recorded) else None
    result = None if response is None else response.get("result")
    if isinstance(result, Mapping) and isinstance(content := result.get("content"), list):
        return _read_blocks(content, failed=result.get("isError") is True)
    error = None if response is None else response.get("error")
    stated = error if isinstance(error, Mapping) else {"code": -32603, "message": "The server gave no result."}
    return ToolResult(
        error={"type": "mcp_protocol_error", "code": stated.get("code"), "message": stated.get("message")}
    )


def _list_blocks(parts: Iterable[Part]) -> Iterator[Mapping[str, Json]]:
    for part in parts:
        if type(part) is Text:
            yield {"type": "text", "text": part.text}
        elif type(part) is Item:
            yield {"type": part.kind, **part.body}


def _read_blocks(blocks: Sequence[Mapping[str, Json]], *, failed: bool) -> ToolResult:
    """Return the result that blocks of content are: their texts, or all of them as JSON if there are others."""
    if failed:
        return ToolResult(error={"type": "mcp_tool_execution_error", "content": list(blocks)})
    texts = [str(block.get("text")) for block in blocks if block.get("type") == "text"]
    return ToolResult("\n".join(texts) if len(texts) == len(blocks) else compact(list(blocks)))


def _describe_tool(name: str, tool: McpTool) -> Mapping[str, Json]:
    return {
        "name": name,
        "description": tool.description,
        "input_schema": tool.input,
        "annotations": tool.annotations,
    }


_LIST = "mcp_list_tools"
_CALL = "mcp_call"
_RESULTS = "mcp_results"  # of earlier turns, in the meaning of a call
