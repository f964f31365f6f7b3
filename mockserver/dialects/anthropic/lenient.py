"""The readable parts of a Messages request that Anthropic would refuse: turns, blocks and tools in the format of chats.

Values in Anthropic's own format stay unchanged, for the request model to check.
"""

import re
from collections.abc import Iterator, Mapping

from mockserver.core.json import Json, compact, try_parse
from mockserver.dialects._openai_api.lenient import read_content, read_function, read_list, read_role, read_tool_call

Body = Mapping[str, Json]


def read_turns(given: Json) -> list[Body]:
    """Return the messages: those of tools become turns of the user, those of developers the system's."""
    found = (_turn(each) for each in ([given] if isinstance(given, str | Mapping) else read_list(given)))
    return [turn for turn in found if turn is not None]


def _turn(given: Json) -> Body | None:
    if isinstance(given, str):
        return {"role": "user", "content": given}
    if not isinstance(given, Mapping):
        return None
    role, content, calls = read_role(given), read_blocks(given.get("content")), list(_list_calls(given))
    if role is None and content is None and not calls:
        return None
    if role in ("tool", "function"):
        named = given.get("tool_call_id")
        result = {"type": "tool_result", "tool_use_id": named if isinstance(named, str) else "", "content": content}
        return {"role": "user", "content": [result]}
    if calls:
        said = [{"type": "text", "text": content}] if isinstance(content, str) and content else content or []
        content = [*said, *calls]
    turn = {**given, "role": _ROLES.get(role or "", "user")}
    if content is None and turn["role"] == "system":  # it may only configure
        return {key: value for key, value in turn.items() if key != "content"}
    return {**turn, "content": [] if content is None else content}


def _list_calls(given: Body) -> Iterator[Body]:
    """Yield the calls of a chat's message as blocks."""
    made = [read_tool_call(each) for each in read_list(given.get("tool_calls"))]
    for call in filter(None, made):
        custom = call.get("custom")
        called = {"name": custom["name"], "arguments": custom["input"]} if custom else call["function"]
        yield _make_tool_use(call["id"], called)
    if old := read_function(given.get("function_call")):
        yield _make_tool_use("", old)


def _make_tool_use(identity: str, called: Body) -> Body:
    return {"type": "tool_use", "id": identity, "name": called["name"], "input": _read_arguments(called["arguments"])}


def _read_arguments(given: Json) -> Body:
    """Return the arguments of a call, which may be JSON text; a value that is not an object is one argument."""
    value = try_parse(given, given) if isinstance(given, str) else given
    return value if isinstance(value, Mapping) else {} if value in (None, "") else {"input": value}


def read_blocks(given: Json) -> Json:
    """Return a text, or the readable blocks; None if there is neither."""
    return read_content(given, _block)


def _block(given: Json) -> Json:
    if isinstance(given, str):
        return {"type": "text", "text": given}
    match given:
        case {"type": "tool_use" | "server_tool_use"}:
            identity = given.get("id")
            return {
                **given,
                "id": identity if isinstance(identity, str) else "",
                "input": _read_arguments(given.get("input")),
            }
        case {"type": "tool_result"}:
            return _read_result(given)
        case {"image_url": str(url) | {"url": str(url)}}:
            return _make_image(url)
        case {"refusal": str(text)} | {"text": str(text)} if given.get("type") != "text":
            return {"type": "text", "text": text}
    return given if isinstance(given, Mapping) else None


def _read_result(given: Body) -> Body:
    """Return the result of a tool: an object that is not a block becomes text."""
    named, content = given.get("tool_use_id"), given.get("content")
    if isinstance(content, Mapping) and "type" not in content:
        content = compact(content)
    return {**given, "tool_use_id": named if isinstance(named, str) else "", "content": read_blocks(content)}


def _make_image(url: str) -> Body:
    found = _DATA_URL.fullmatch(url)
    if found is None:
        return {"type": "image", "source": {"type": "url", "url": url}}
    return {"type": "image", "source": {"type": "base64", "media_type": found["media"], "data": found["data"]}}


def read_offers(given: Json) -> Json:
    """Return the tools, with functions in Anthropic's format; other tools unchanged."""
    return [_read_offer(tool) for tool in read_list(given)]


def _read_offer(given: Json) -> Json:
    match given:
        case {"function": {"name": str()} as about}:
            pass
        case {"name": str()} as about if given.get("type", "custom") in (None, "custom", "function"):
            pass
        case _:
            return given
    schema = about.get("input_schema", about.get("parameters"))
    described = {key: value for key, value in about.items() if key not in ("type", "parameters")}
    return {**described, "input_schema": {**(schema if isinstance(schema, Mapping) else {}), "type": "object"}}


def read_choice(given: Json) -> Json:
    """Return the choice of tools, which chats state as a word or a function."""
    match given:
        case {"function": {"name": str(name)}}:
            return {"type": "tool", "name": name}
        case str():
            return {"type": "any" if given == "required" else given}
    return given


_ROLES = {"assistant": "assistant", "model": "assistant", "system": "system", "developer": "system"}
_DATA_URL = re.compile(r"data:(?P<media>[^;,]*);base64,(?P<data>.*)", re.DOTALL)
LENIENT = {"messages": read_turns, "system": read_blocks, "tools": read_offers, "tool_choice": read_choice}
