"""A validated chat body becomes a Call: messages, tools, choices and limits in no provider's shape.

Reads OpenAI's fields and the part forms of its look-alikes. Refuses nothing: that has happened before.
"""

from collections.abc import Iterable, Mapping, Sequence

from pydantic_core import to_json

from mockserver.core.call import Call, Json, Message, Tool, ToolCall, ToolChoice
from mockserver.core.http import HttpRequest

Body = Mapping[str, Json]


def chat_call(http: HttpRequest, body: Body, chat: Body, *, dialect: str) -> Call:
    """The Call that a chat body asks for; `chat` is that body as its request model read it, known keys only."""
    tools = _tools(chat)
    response_format, schema = _format(chat.get("response_format"))
    return Call(
        dialect=dialect,
        operation="chat",
        model=chat.get("model") or "",
        http=http,
        meaning=meaning(body),
        raw=body,
        messages=tuple(map(_message, chat["messages"])),
        tools=tools,
        tool_choice=_tool_choice(chat, tools),
        parallel_tool_calls=chat.get("parallel_tool_calls") is not False and not _bare(chat),
        bare_functions=_bare(chat),
        stream=chat.get("stream") is True,
        include_usage=bool((chat.get("stream_options") or {}).get("include_usage")),
        n=chat.get("n") or 1,
        max_tokens=_most(chat),
        stop=stops(chat.get("stop")),
        logprobs=(chat.get("top_logprobs") or 0) if chat.get("logprobs") else None,
        seed=chat.get("seed"),
        effort=chat.get("reasoning_effort"),
        verbosity=chat.get("verbosity"),
        response_format=response_format,
        schema=schema,
        store=chat.get("store") is True,
    )


def _most(chat: Body) -> int | None:
    """How many tokens the client allows, under either name."""
    most = chat.get("max_completion_tokens")
    if most is None:
        most = chat.get("max_tokens")
    return None if most is None else max(most, 0)


def meaning(body: Body) -> dict[str, Json]:
    """What would change the answer (product rules: determinism): no transport, no bookkeeping, no ids.

    JSON Schemas become text, as the order of their keys is the order in which a model writes.
    """
    kept = {key: value for key, value in body.items() if value is not None and key not in BOOKKEEPING}
    kept["messages"] = _without_ids(body["messages"])
    if tools := kept.get("tools"):
        kept["tools"] = [_tool_meaning(tool) for tool in tools]
    if functions := kept.get("functions"):
        kept["functions"] = [_schema_as_text(function, "parameters") for function in functions]
    answer = kept.get("response_format")
    if answer and answer["type"] == "json_schema" and answer.get("json_schema"):
        kept["response_format"] = {**answer, "json_schema": _schema_as_text(answer["json_schema"], "schema")}
    return kept


def _tool_meaning(tool: Body) -> Body:
    if tool["type"] != "function":
        return tool
    return {**tool, "function": _schema_as_text(tool["function"], "parameters")}


def _schema_as_text(holder: Body, key: str) -> Body:
    return {**holder, key: to_json(holder[key]).decode()} if holder.get(key) is not None else holder


def _without_ids(messages: Sequence[Body]) -> list[Body]:
    ordinals: dict[str, str] = {}
    return [message if _WITH_IDS.isdisjoint(message) else _renumbered(message, ordinals) for message in messages]


def _renumbered(message: Body, ordinals: dict[str, str]) -> Body:
    renamed = _with_ordinal(message, ordinals)
    if isinstance(calls := message.get("tool_calls"), list):
        renamed["tool_calls"] = [_with_ordinal(call, ordinals) if isinstance(call, dict) else call for call in calls]
    if isinstance(audio := message.get("audio"), dict):
        renamed["audio"] = _with_ordinal(audio, ordinals)
    return renamed


def _with_ordinal(holder: Body, ordinals: dict[str, str]) -> dict[str, Json]:
    """The same with each of its ids replaced by the place at which that id first occurred."""
    named = {key: holder[key] for key in ("id", "tool_call_id") if isinstance(holder.get(key), str)}
    return {**holder, **{key: ordinals.setdefault(name, f"#{len(ordinals)}") for key, name in named.items()}}


def _message(message: Body) -> Message:
    role, content = message["role"], message.get("content")
    if isinstance(content, str) and role in ("user", "system", "developer"):
        return Message(role, content, name=message.get("name"))
    parts: Sequence[Body] = content if isinstance(content, list) else ()
    text = content if isinstance(content, str) else "".join(_text(part) for part in parts)
    return Message(
        role,
        text or message.get("refusal") or "",
        parts=tuple(_plain_image(part) for part in parts if part["type"] not in _TEXTUAL),
        tool_calls=tuple(_earlier_calls(message)),
        tool_call_id=message.get("tool_call_id"),
        name=message.get("name"),
    )


def _text(part: Body) -> str:
    if part["type"] not in _TEXTUAL:
        return ""
    text: str = part.get("text") or part.get("refusal") or part.get("content") or ""
    return text


def _plain_image(part: Body) -> Body:
    """An image in OpenAI's form, whichever form the client used."""
    if "content" not in part:
        return part
    image = {"url": part["content"], "detail": part.get("detail")}
    return {"type": "image_url", "image_url": {key: value for key, value in image.items() if value is not None}}


def _earlier_calls(message: Body) -> Iterable[ToolCall]:
    for call in message.get("tool_calls") or ():
        if call["type"] == "custom":
            yield ToolCall(call["id"], call["custom"]["name"], call["custom"]["input"], kind="custom")
        else:
            yield ToolCall(call.get("id") or "", call["function"]["name"], call["function"]["arguments"])
    if old := message.get("function_call"):
        yield ToolCall("", old["name"], old["arguments"])


def _tools(body: Body) -> tuple[Tool, ...]:
    offered, functions = body.get("tools"), body.get("functions")
    if not offered and not functions:
        return ()
    tools = [_tool(tool["type"], tool[tool["type"]]) for tool in offered or ()]
    return (*tools, *(_tool("function", function) for function in functions or ()))


def _bare(body: Body) -> bool:
    """Whether functions are offered in the way that was before tools, and no tools."""
    return bool(body.get("functions")) and not body.get("tools")


def _tool(kind: str, tool: Body) -> Tool:
    return Tool(
        tool["name"],
        description=tool.get("description") or "",
        parameters=tool.get("parameters"),
        kind=kind,
        strict=tool.get("strict") is True,
        grammar=_grammar(tool.get("format")),
    )


def _grammar(form: Json) -> tuple[str, str] | None:
    """Syntax and definition of the grammar that a custom tool's text follows, if there is one."""
    match form:
        case {"type": "grammar", "grammar": {"syntax": str(syntax), "definition": str(definition)}}:
            return syntax, definition
    return None


def _tool_choice(body: Body, tools: tuple[Tool, ...]) -> ToolChoice:
    choice = body.get("tool_choice")
    if choice is None:
        choice = body.get("function_call")
    match choice:
        case None:
            return _AUTO if tools else _NONE
        case str():
            return ToolChoice(choice)
        case {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": names}}:
            return ToolChoice(mode, tuple(name for name in map(named, names) if name))
        case _:
            return ToolChoice("named", (named(choice),))


def named(tool: Body) -> str:
    """The name in `{type, function: {name}}`, `{type, custom: {name}}` or `{name}`; empty if there is none."""
    kind = tool.get("type")
    inner = tool.get(kind, tool) if isinstance(kind, str) else tool
    name = inner.get("name") if isinstance(inner, dict) else None
    return name if isinstance(name, str) else ""


def stops(stop: Json) -> tuple[str, ...]:
    """The stop sequences of a body: one, several or none."""
    return () if stop is None else (stop,) if isinstance(stop, str) else tuple(stop)


def _format(answer: Body | None) -> tuple[str, Json]:
    if not answer:
        return "text", None
    return answer["type"], (answer.get("json_schema") or {}).get("schema")


_AUTO, _NONE = ToolChoice("auto"), ToolChoice("none")
_TEXTUAL = frozenset({"text", "refusal"})
_WITH_IDS = frozenset({"id", "tool_call_id", "tool_calls", "audio"})
BOOKKEEPING = frozenset(
    {
        "stream",
        "stream_options",
        "user",
        "safety_identifier",
        "metadata",
        "store",
        "service_tier",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
    }
)
