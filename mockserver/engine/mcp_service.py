"""Handles a message as an MCP server does: checks login and session, answers it, and tells clients what changes."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.draft import Draft
from mockserver.core.json import Json, try_parse
from mockserver.core.mcp_server import (
    BATCHING,
    END_SESSION,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LEGACY,
    MISSING_CAPABILITY,
    MODERN,
    OPEN_STREAM,
    REPLY,
    UNSUPPORTED_VERSION,
    McpDocument,
    McpEventId,
    McpExtras,
    McpNotice,
    McpQuestion,
    McpRequest,
    McpSent,
    McpServer,
    McpState,
    McpStream,
)
from mockserver.core.plan import SERVICE, TOOL_ERROR, Answer, Failure, McpBatch, McpResumed, Outcome, Plan, Text
from mockserver.core.seed import Seed
from mockserver.core.state import Counters
from mockserver.engine.mcp_answers import Servers, check_mcp_call, find_completions, find_server
from mockserver.engine.mcp_login import answer_login, check_login, is_login
from mockserver.engine.mcp_streams import (
    LISTS,
    LOOK,
    McpClient,
    McpEvent,
    McpStreams,
    ResumableAnswer,
    ResumableMessages,
)
from mockserver.kinds.mcp import ANSWERED, read_message, refuse_message
from mockserver.rules.mcp_definitions import find_output_mistake

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
SESSION_LOST = "session_lost"  # faults
BREAKS_SCHEMA = "breaks_schema"  # faults
NEWS = "news"  # the name of the stream that a client opens; those with answers have numbers
_META = "io.modelcontextprotocol/"
Result = TypeVar("Result")
# Answers a call of a server as it is now: by rules, or with the draft that is given.
Respond = Callable[[Call, McpServer, Draft | None], Awaitable[Plan]]


class McpService(Struct, frozen=True, kw_only=True):
    """The MCP servers of an engine. `lints`: their answers get remarks."""

    servers: Servers
    seed: Seed
    counters: Counters
    streams: McpStreams
    lints: bool

    async def plan(self, call: Call, respond: Respond) -> Plan:
        """Plan the answer to a message; `respond` answers calls of tools, resources and prompts."""
        if call.batch:
            return await self._plan_batch(call, respond)
        request = read_message(call)
        is_call = request.method in ANSWERED
        try:
            server = find_server(self.servers, request.server)
        except Failure as refusal:
            return Plan(refusal, f"{SERVICE}mcp" if is_login(request) else "invalid")
        try:
            if not is_login(request):
                check_login(server, call, self.seed)
                await self._check_session(server, call)
            if request.problem is not None:
                raise request.problem
            if not is_call:
                return Plan(await self._answer_session(server, call), f"{SERVICE}mcp {server.name}")
            return await self._plan_call(server, call, respond)
        except Failure as refusal:
            is_probe = not is_call and (request.method in _PROBES or is_login(request))
            return Plan(refusal, f"{SERVICE}mcp {server.name}" if is_probe else "invalid")

    async def _plan_batch(self, call: Call, respond: Respond) -> Plan:
        """Plan the answers to the messages of an array."""
        server = self.servers.get(call.model)
        if server is not None and BATCHING not in server.versions:
            return Plan(
                refuse_message("Invalid Request: one message is expected.", INVALID_REQUEST, status=400), "invalid"
            )
        results: list[tuple[Call, Outcome]] = []
        plans: list[Plan] = []
        for part in call.batch:
            if isinstance(part, Call):
                plan = await self.plan(part, respond)
                plans.append(plan)
                results.append((part, plan.outcome))
            elif isinstance(part, Failure):
                results.append((call, part))
        sources = [plan.source for plan in plans]
        source = next((source for source in sources if not source.startswith(SERVICE)), next(iter(sources), "invalid"))
        return Plan(McpBatch(tuple(results)), source)

    async def _check_session(self, server: McpServer, call: Call) -> None:
        """Raise Failure for a revision that the server does not know, or a session that does not exist."""
        request = read_message(call)
        if request.method == "initialize" and not any(version in LEGACY for version in server.versions):
            raise _refuse_version(server, str(request.params.get("protocolVersion")))
        is_stated = request.is_modern or (request.states_version and request.method != "initialize")
        if is_stated and request.version not in server.versions:
            raise _refuse_version(server, request.version)
        if request.is_modern or not server.sessions or request.method == "initialize":
            return
        if request.session is None:
            if request.method != "server/discover":
                raise refuse_message("Bad Request: Missing session ID", INVALID_REQUEST, status=400)
        elif not await self._knows_session(server, call):
            raise _lose_session()

    async def _knows_session(self, server: McpServer, call: Call) -> bool:
        """Return whether a session was begun, and not ended."""
        request = read_message(call)
        entries = await self.counters.list_entries(call.http.namespace)
        session = request.session or ""
        number = session.partition("-")[0]
        if not number.isdecimal() or len(number) > 8 or session != self._name_session(server, int(number)):
            return False
        is_begun = int(number) <= int(entries.get(_name_counter("sessions", server), 0))
        return is_begun and _name_counter("ended", server, session) not in entries

    def _name_session(self, server: McpServer, number: int) -> str:
        return f"{number}-{self.seed.draw_hex(32, 'mcp session', server.name, str(number))}"

    async def _begin_session(self, server: McpServer, call: Call) -> str | None:
        if not server.sessions:
            return None
        number = await self.counters.count(call.http.namespace, _name_counter("sessions", server))
        return self._name_session(server, number)

    async def _end_session(self, server: McpServer, call: Call) -> None:
        session = read_message(call).session
        if session is not None:
            await self.counters.count(call.http.namespace, _name_counter("ended", server, session))
            self.streams.close(call.http.namespace, session)

    async def _answer_session(self, server: McpServer, call: Call) -> Outcome:
        """Return the answer to a message other than a call, such as a handshake. Raises Failure."""
        request = read_message(call)
        client = _find_client(call)
        if is_login(request):
            return answer_login(server, call, self.seed)
        match request.method:
            case "initialize":
                session = await self._begin_session(server, call)
                self.streams.greet(replace(client, session=session))
                return McpState(await self._change(server, call), session)
            case "server/discover" if not any(version in MODERN for version in server.versions):
                raise _refuse_version(server, request.version)
            case str() as method if method == REPLY:
                self.streams.take_reply(client, request.reply)
            case str() as method if method == OPEN_STREAM:
                if request.is_modern or not server.notifies or call.http.method == "HEAD":
                    raise _refuse_method(server)
                last = call.http.find_header("last-event-id")
                if last is not None and client.session is not None:
                    return self._resume(client, last)
                return self._tell_news(client)
            case str() as method if method == END_SESSION:
                if request.is_modern or not server.sessions:
                    raise _refuse_method(server)
                await self._end_session(server, call)
                return McpDocument({})
            case "subscriptions/listen" if request.id is not None:
                return self._listen(server, call)
            case "logging/setLevel":
                level = request.params.get("level")
                if level not in LEVELS:
                    raise refuse_message(f"Invalid params: level must be one of {', '.join(LEVELS)}.", INVALID_PARAMS)
                self.streams.set_level(client, str(level))
            case "resources/subscribe":
                check_mcp_call(await self._change(server, call), request)
                self.streams.subscribe(client, request.target)
            case "resources/unsubscribe":
                self.streams.unsubscribe(client, request.target)
            case "completion/complete":
                changed = await self._change(server, call)
                return McpState(changed, values=find_completions(changed, request))
        return McpState(await self._change(server, call))

    def _tell_news(self, client: McpClient, after: int | None = None) -> McpStream:
        """Return the stream of events for a client; a session can take it up again."""
        events = self.streams.open(client, after=after)
        if client.session is None:
            return McpStream(_write_events(events))
        return McpStream(
            McpSent(McpEventId(NEWS, each.number), each.message) if isinstance(each, McpEvent) else each
            for each in events
        )

    def _resume(self, client: McpClient, last: str) -> Outcome:
        """Return the rest of a stream after the event that a client got last. Raises Failure if it is unknown."""
        stream, _, stated = last.rpartition("-")
        number = int(stated) if stated.isdecimal() and len(stated) < 10 else -1
        after = McpEventId(stream, number)
        answer = self.streams.find_answer(client, stream)
        if stream == NEWS and number >= 0:
            return self._tell_news(client, number)
        if answer is None or not 0 <= number <= _count_messages(answer.outcome):
            why = f"Bad Request: no stream can be resumed after event {last!r}"
            raise refuse_message(why, INVALID_REQUEST, status=400)
        rest = answer.outcome
        if isinstance(rest, ResumableMessages):
            rest = McpStream(rest.follow(after))
        return McpResumed(answer.call, rest, after)

    def _listen(self, server: McpServer, call: Call) -> McpStream:
        """Return the stream of the events that a client asks for (2026-07-28)."""
        request = read_message(call)
        wanted = request.params.get("notifications")
        if not isinstance(wanted, Mapping):
            raise refuse_message('Invalid params: "notifications" is missing.', INVALID_PARAMS)
        lists = [kind for kind in LISTS if wanted.get(f"{kind}ListChanged") is True and server.notifies]
        stated = wanted.get("resourceSubscriptions")
        uris = [uri for uri in stated if isinstance(uri, str)] if isinstance(stated, list) and server.notifies else []
        honoured: dict[str, Json] = {f"{kind}ListChanged": True for kind in lists}
        honoured |= {"resourceSubscriptions": uris} if uris else {}
        tag = {"_meta": {f"{_META}subscriptionId": request.id}}
        events = self.streams.open(
            _find_client(call), lambda event: event.uri in uris if event.uri is not None else event.kind in lists
        )

        def write() -> Iterator[object]:
            method = "notifications/subscriptions/acknowledged"
            yield {"jsonrpc": "2.0", "method": method, "params": {"notifications": honoured, **tag}}
            for each in _write_events(events):
                yield {**each, "params": {**each.get("params", {}), **tag}} if isinstance(each, dict) else each
            yield {"jsonrpc": "2.0", "id": request.id, "result": {"resultType": "complete", **tag}}

        return McpStream(write())

    async def _change(self, server: McpServer, call: Call) -> McpServer:
        """Return the server as it is after the calls so far."""
        if not server.changes:
            return server
        entries = await self.counters.list_entries(call.http.namespace)
        return server.change(int(entries.get(_name_counter("calls", server), 0)))

    async def _plan_call(self, server: McpServer, call: Call, respond: Respond) -> Plan:
        """Plan the answer of a tool, a resource or a prompt; tell clients that listen what changes after it."""
        number = 0
        now = server
        if server.changes:
            number = await self.counters.count(call.http.namespace, _name_counter("calls", server))
            now = server.change(number - 1)
            call = replace(call, mcp=replace(read_message(call), calls=number - 1))
        plan = await self._answer(now, call, respond)
        for change in server.changes:
            if change.after == number:
                for event in list_events(now, now.apply(change)):
                    self.streams.publish(call.http.namespace, server.name, event)
        return plan

    async def _answer(self, server: McpServer, call: Call, respond: Respond) -> Plan:
        request = read_message(call)
        plan = await respond(call, server, check_mcp_call(server, request))
        if any(fault.name == SESSION_LOST for fault in plan.faults):
            await self._end_session(server, call)
            others = tuple([fault for fault in plan.faults if fault.name != SESSION_LOST])
            return replace(plan, outcome=_lose_session(), faults=others)
        outcome = plan.outcome
        extras = _find_extras(outcome)
        if isinstance(outcome, Answer):
            plan = replace(plan, outcome=_mark_structured(outcome, server, request))
            if self.lints and (why := _find_output_remark(plan, server, request)):
                plan = replace(plan, remarks=(*plan.remarks, why))
        if extras is None and server.sse is None:
            return plan
        extras = extras or McpExtras()
        if extras.questions:
            self._check_capabilities(extras, request)
            if not request.is_modern:
                messages = self._ask(plan, extras, server=server, call=call, respond=respond)
                return replace(plan, outcome=self._make_stream(messages, server, call))
            state = self.seed.draw_hex(32, "mcp state", server.name, request.method, request.target)
            extras = replace(extras, request_state=state)
        notices = () if server.sse is False else self._select_notices(extras, call)
        extras = replace(extras, notices=notices, sse=server.sse)
        if _can_resume(server, call) and (notices or server.sse):
            client = _find_client(call)
            extras = replace(extras, stream=self.streams.name_answer(client))
            plan = _put_extras(plan, extras)
            self.streams.keep(client, str(extras.stream), ResumableAnswer(call, plan.outcome))
            return plan
        return _put_extras(plan, extras)

    def _make_stream(self, messages: Iterator[object], server: McpServer, call: Call) -> McpStream:
        """Return an answer that is a stream; a session can take it up again."""
        if not _can_resume(server, call):
            return McpStream(messages)
        client = _find_client(call)
        resumable = ResumableMessages(messages)
        begins_at = McpEventId(self.streams.name_answer(client), 0)
        self.streams.keep(client, begins_at.stream, ResumableAnswer(call, resumable))
        return McpStream(resumable.follow(begins_at), begins_at)

    def _check_capabilities(self, extras: McpExtras, request: McpRequest) -> None:
        """Raise Failure if a client that states what it can do cannot be asked."""
        stated = request.meta.get(f"{_META}clientCapabilities")
        able = stated if isinstance(stated, Mapping) else {}
        lacking = [each.needs for each in extras.questions if each.needs not in able]
        if request.is_modern and lacking:
            message = f"Missing required client capability: {', '.join(lacking)}"
            data: Json = {"requiredCapabilities": {name: {} for name in lacking}}
            raise refuse_message(message, MISSING_CAPABILITY, status=400, data=data)

    def _select_notices(self, extras: McpExtras, call: Call) -> tuple[McpNotice, ...]:
        """Return the notices that a client wants, in the order in which it gets them."""
        request = read_message(call)
        token = request.meta.get("progressToken")
        least = (
            request.meta.get(f"{_META}logLevel") if request.is_modern else self.streams.get_level(_find_client(call))
        )
        selected: list[McpNotice] = []
        for notice in sorted(extras.notices, key=lambda each: each.at):
            if notice.kind == "progress":
                if isinstance(token, str | int):
                    selected.append(replace(notice, params={"progressToken": token, **notice.params}))
            elif _reaches(str(notice.params["level"]), least, is_default=not request.is_modern):
                selected.append(notice)
        return tuple(selected)

    def _ask(
        self, plan: Plan, extras: McpExtras, *, server: McpServer, call: Call, respond: Respond
    ) -> Iterator[object]:
        """Yield the questions of a call as requests of the server, and its answer once the client has replied."""
        client = _find_client(call)
        replies = dict[str, Json]()
        for notice in self._select_notices(extras, call):
            yield {"jsonrpc": "2.0", "method": f"notifications/{notice.kind}", "params": notice.params}
        while extras.questions:
            for question in extras.questions:
                number = yield from _await(self.counters.count(call.http.namespace, _name_counter("asked", server)))
                pending = self.streams.await_reply(client, number)
                yield {"jsonrpc": "2.0", "id": number, **_write_question(question, call)}
                while pending.reply is None:
                    yield LOOK
                reply = pending.reply
                replies[question.name] = reply["result"] if "result" in reply else {"error": reply.get("error")}
            call = _add_replies(call, replies)
            plan = yield from _await(respond(call, server, None))
            outcome = plan.outcome
            found = _find_extras(outcome)
            if isinstance(outcome, Answer):
                plan = replace(plan, outcome=_mark_structured(outcome, server, read_message(call)))
            extras = found or McpExtras()
            if extras.questions and all(question.name in replies for question in extras.questions):
                break  # the rule asks again what was answered
        yield _put_extras(plan, McpExtras()).outcome


def _await(awaited: Awaitable[Result]) -> Generator[float, None, Result]:
    """Yield seconds to wait until something is done; return its result."""
    task = asyncio.ensure_future(awaited)
    try:
        while not task.done():
            yield _MOMENT
    finally:
        task.cancel()
    return task.result()


_MOMENT = 0.001  # seconds


def _write_events(events: Iterator[McpEvent | float]) -> Iterator[object]:
    for event in events:
        yield event.message if isinstance(event, McpEvent) else event


def _write_question(question: McpQuestion, call: Call) -> dict[str, Json]:
    return {"method": question.method, "params": question.params} if question.params else {"method": question.method}


def _add_replies(call: Call, replies: Mapping[str, Json]) -> Call:
    """Return the call as it would be if the client had sent these replies with it."""
    request = read_message(call)
    answered = replace(request, params={**request.params, "inputResponses": dict(replies)})
    return replace(call, mcp=answered, meaning={**call.meaning, "inputs": dict(replies)})


def _find_client(call: Call) -> McpClient:
    request = read_message(call)
    return McpClient(call.http.namespace, request.server, request.session)


def _count_messages(answer: Outcome | ResumableMessages) -> int:
    """Return how many messages of a stream have been sent, or would have been."""
    if isinstance(answer, ResumableMessages):
        return len(answer.sent)
    extras = _find_extras(answer)
    return 1 if extras is None else len(extras.notices) + 1


def _can_resume(server: McpServer, call: Call) -> bool:
    """Return whether the client can take up again a stream that has broken off."""
    return server.sessions and not read_message(call).is_modern


def _find_extras(outcome: Outcome) -> McpExtras | None:
    if isinstance(outcome, Answer):
        return outcome.mcp
    found = outcome.details.get("mcp") if isinstance(outcome, Failure) else None
    return found if isinstance(found, McpExtras) else None


def _put_extras(plan: Plan, extras: McpExtras) -> Plan:
    outcome = plan.outcome
    if isinstance(outcome, Answer):
        return replace(plan, outcome=replace(outcome, mcp=extras))
    if isinstance(outcome, Failure):
        return replace(plan, outcome=outcome.replace(details={**outcome.details, "mcp": extras}))
    return plan


def _mark_structured(answer: Answer, server: McpServer, request: McpRequest) -> Answer:
    """Return an answer whose text counts as a value if the output schema of its tool accepts it as one."""
    tool = server.find_tool(request.target) if request.method == "tools/call" else None
    choice = answer.choices[0] if answer.choices else None
    if tool is None or tool.output is None or choice is None or choice.finish == TOOL_ERROR:
        return answer
    if len(choice.parts) != 1 or not isinstance(part := choice.parts[0], Text) or part.is_json:
        return answer
    value = try_parse(part.text)
    if value is None or find_output_mistake(tool, value) is not None:
        return answer
    return replace(answer, choices=(replace(choice, parts=(replace(part, is_json=True),)),))


def _find_output_remark(plan: Plan, server: McpServer, request: McpRequest) -> str | None:
    """Return a remark on an answer that breaks the output schema of its tool, or None."""
    answer = plan.outcome
    tool = server.find_tool(request.target) if request.method == "tools/call" else None
    if tool is None or tool.output is None or not isinstance(answer, Answer) or not plan.source.startswith("rule "):
        return None
    choice = answer.choices[0]
    extras = answer.mcp
    is_meant = any(fault.name == BREAKS_SCHEMA for fault in plan.faults)
    if is_meant or choice.finish == TOOL_ERROR or (extras is not None and extras.questions):
        return None
    values = [try_parse(part.text) for part in choice.parts if isinstance(part, Text) and part.is_json]
    why = find_output_mistake(tool, values[0]) if values else "it is only a text"
    where = plan.source.removeprefix("rule ")
    return None if why is None else f"{where}: the answer breaks the output schema of {tool.name}: {why}"


def list_events(before: McpServer, after: McpServer) -> Iterator[McpEvent]:
    """Yield the events that tell clients of a change."""
    for kind in LISTS:
        entries = [getattr(server, kind) for server in (before, after)]
        if kind == "resources":
            texts = {each.uri: each for each in before.resources}
            yield from (
                McpEvent("resources", each.uri)
                for each in after.resources
                if each.uri in texts and texts[each.uri] != each
            )
            entries = [[each.uri for each in resources] for resources in entries]
        if entries[0] != entries[1]:
            yield McpEvent(kind)


def _reaches(level: str, least: Json, *, is_default: bool) -> bool:
    """Return whether a log line is at least of the level that a client wants; `is_default`: it states none."""
    if least is None:
        return is_default
    return least not in LEVELS or LEVELS.index(level) >= LEVELS.index(str(least))


def _name_counter(kind: str, server: McpServer, *more: str) -> str:
    return " ".join(("mcp", kind, server.name, *more))


def _refuse_version(server: McpServer, version: str) -> Failure:
    """Return the refusal of a revision that a server does not know, in the form of its own revisions."""
    if not any(known in MODERN for known in server.versions):
        known = ", ".join(server.versions)
        message = f"Bad Request: Unsupported protocol version: {version}. Supported versions: {known}"
        return refuse_message(message, INVALID_REQUEST, status=400)
    data = {"supported": list(server.versions), "requested": version}
    return refuse_message("Unsupported protocol version", UNSUPPORTED_VERSION, status=400, data=data)


def _refuse_method(server: McpServer) -> Failure:
    allowed = "GET, POST, DELETE" if server.sessions else "GET, POST" if server.notifies else "POST"
    return Failure("method_not_allowed", headers=(("allow", allowed),))


def _lose_session() -> Failure:
    return refuse_message("Session not found", INVALID_REQUEST, status=404)


_PROBES = frozenset(("server/discover", "initialize", "ping", OPEN_STREAM, END_SESSION))
