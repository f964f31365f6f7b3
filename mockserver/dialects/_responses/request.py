"""From a Responses body to a Call, and from an answer to the reply: shared by all who speak Responses.

A Manner holds what differs between their requests, a ResponseStyle what differs between their objects.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_json

from mockserver.core.call import Call, IdShape, Json, Message, Tool, ToolChoice
from mockserver.core.http import Frame, HttpRequest, Reply
from mockserver.core.plan import Answer, Failure
from mockserver.dialects._responses.echo import echo
from mockserver.dialects._responses.input import messages
from mockserver.dialects._responses.meaning import meaning
from mockserver.dialects._shared.parse import Complaint, validated
from mockserver.dialects._shared.reply import STREAM_HEADERS, json_reply, merged
from mockserver.formats.responses import Asked, ResponseStyle, response
from mockserver.formats.responses_stream import events

Body = Mapping[str, Json]
LOGPROBS = "message.output_text.logprobs"


@dataclass(frozen=True, slots=True)
class Manner:
    """How a dialect takes a Responses request: its model, what excludes what, its words, and the ids it gives."""

    dialect: str
    body: TypeAdapter[Any]
    conflicts: Callable[[Body], Iterator[Complaint]]
    refuse: Callable[[Complaint], Failure]
    ids: IdShape


def parse_responses(http: HttpRequest, body: Body, manner: Manner) -> Call:
    """The Call of a Responses body, or the Failure in which the dialect words what is wrong with it."""
    asked = validated(manner.body, body, manner.refuse)
    for found in manner.conflicts(asked):
        raise manner.refuse(found)
    return responses_call(http, body, asked, manner)


def responses_call(http: HttpRequest, body: Body, asked: Body, manner: Manner) -> Call:
    """The Call that a body asks for; `asked` is that body as its request model read it, known keys only."""
    tools = tuple(_tools(asked))
    form = (asked.get("text") or {}).get("format") or {"type": "text"}
    return Call(
        dialect=manner.dialect,
        operation="responses",
        model=asked.get("model") or "",
        http=http,
        meaning=meaning(body),
        raw=body,
        messages=(*_instructions(asked), *messages(asked.get("input"))),
        instructions=bool(asked.get("instructions")),
        tools=tools,
        tool_choice=_tool_choice(asked.get("tool_choice"), tools),
        parallel_tool_calls=asked.get("parallel_tool_calls") is not False,
        stream=asked.get("stream") is True,
        max_tokens=asked.get("max_output_tokens"),
        max_tool_calls=asked.get("max_tool_calls"),
        overflow="truncate" if asked.get("truncation") == "auto" else "error",
        logprobs=(asked.get("top_logprobs") or 0) if LOGPROBS in (asked.get("include") or ()) else None,
        effort=_effort(asked.get("reasoning") or {}),
        verbosity=(asked.get("text") or {}).get("verbosity"),
        response_format=form["type"],
        schema=form.get("schema"),
        ids=manner.ids,
        previous=asked.get("previous_response_id"),
        store=asked.get("store") is not False,
        background=asked.get("background") is True,
    )


def _effort(reasoning: Body) -> str | None:
    """How hard the model is to think: who wants to be told its thoughts wants it to have some."""
    told = reasoning.get("summary") or reasoning.get("generate_summary")
    return reasoning.get("effort") or ("medium" if told else None)


def _instructions(asked: Body) -> Iterator[Message]:
    if asked.get("instructions"):
        yield Message("system", asked["instructions"])


def _tools(asked: Body) -> Iterator[Tool]:
    """The tools that are offered: beside the input, and by items of it."""
    yield from map(_tool, asked.get("tools") or ())
    items = asked.get("input")
    for item in items if isinstance(items, list) else ():
        if item.get("type") == "additional_tools" and isinstance(item.get("tools"), list):
            yield from map(_tool, filter(_has_type, item["tools"]))


def _has_type(tool: Json) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("type"), str)


def _tool(tool: Body) -> Tool:
    """A tool by its name; one of the provider's own is named by its type."""
    kind = tool["type"]
    if kind not in ("function", "custom"):
        return Tool(kind, kind=kind, options=tool)
    description, strict = tool.get("description") or "", tool.get("strict") is True
    return Tool(str(tool.get("name")), description, tool.get("parameters"), kind, strict, _grammar(tool.get("format")))


def _grammar(form: Json) -> tuple[str, str] | None:
    """Syntax and definition of the grammar that a custom tool's text follows, if there is one."""
    match form:
        case {"type": "grammar", "syntax": str(syntax), "definition": str(definition)}:
            return syntax, definition
    return None


def _tool_choice(choice: Json, tools: tuple[Tool, ...]) -> ToolChoice:
    match choice:
        case None:
            return ToolChoice("auto" if tools else "none")
        case str():
            return ToolChoice(choice)
        case {"type": "allowed_tools", "mode": mode, "tools": allowed}:
            return ToolChoice(mode, tuple(_named(allowed)), tuple(_servers(allowed)))
    return ToolChoice("named", tuple(_named((choice,))), tuple(_servers((choice,))))


def _named(tools: Iterable[Body]) -> Iterator[str]:
    """The names of functions and custom tools, the types of others."""
    for tool in tools:
        kind = tool.get("type", "function")
        name = tool.get("name") if kind in ("function", "custom") else kind
        if isinstance(name, str):
            yield name


def _servers(tools: Iterable[Body]) -> Iterator[tuple[str, str]]:
    """The MCP servers by their labels, each with the tool that is meant, if it is one."""
    for tool in tools:
        if tool.get("type") == "mcp" and isinstance(label := tool.get("server_label"), str):
            name = tool.get("name")
            yield label, name if isinstance(name, str) else ""


def asked(call: Call, style: ResponseStyle) -> Asked:
    """What the object repeats of the call's request, and what the request wants shown beyond the common."""
    wanted = call.raw.get("include")
    reasoning = call.raw.get("reasoning") or {}
    told = any(reasoning.get(key) for key in ("summary", "generate_summary"))
    return Asked({**style.unset, **echo(call, style.response)}, frozenset(wanted or ()), summary=told)


def responses_reply(call: Call, answer: Answer, style: ResponseStyle, *, after: int = -1) -> Reply:
    """An answer as the call wants it: whole, or as the events that come after sequence number `after`."""
    answer = replace(answer, model=answer.model or style.unset["model"])
    wanted = asked(call, style)
    if call.stream:
        frames = _since(after, events(answer, style, wanted))
        return Reply(200, merged(STREAM_HEADERS, answer.headers), frames=frames)
    return json_reply(200, response(answer, style, wanted), answer.headers, tokens=answer.weight)


def _since(after: int, frames: Iterable[Frame]) -> Iterator[Frame]:
    """The frames whose sequence number, which is their place, is greater."""
    return (frame for number, frame in enumerate(frames) if number > after)


def error_event(failed: Reply, frames: int) -> Frame:
    """A failed reply as the last event of a stream, numbered after the others (`wire/openai.md` section 7)."""
    said = json.loads(failed.body)["error"]
    told = said if isinstance(said, dict) else {"message": said}
    code = told.get("code") or told.get("type")
    event = {"type": "error", "sequence_number": frames, "code": None if code is None else str(code)}
    rest = {"message": told.get("message"), "param": told.get("param")}
    return Frame(to_json({**event, **rest}), "error", part="finish")
