"""The readable parts of a conversation that its provider would refuse, for compatible servers.

Roles can be any text, ids, types and names can be missing, and arguments can be objects. Anything without a text or a
name is left out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from mockserver.core.json import Json, compact

Body = Mapping[str, Json]


def read_messages(given: Json) -> list[dict[str, Json]]:
    """Return the messages of a chat."""
    found = (_read_message(each) for each in ([given] if isinstance(given, str) else read_list(given)))
    return [message for message in found if message is not None]


def _read_message(given: Json) -> dict[str, Json] | None:
    if isinstance(given, str):
        return {"role": "user", "content": given}
    if not isinstance(given, Mapping):
        return None
    role = read_role(given)
    content = read_content(given.get("content"), _read_part)
    calls = [made for each in read_list(given.get("tool_calls")) if (made := read_tool_call(each)) is not None]
    function = read_function(given.get("function_call"))
    if role is None and content is None and not calls:
        return None
    texts = {key: given[key] for key in ("name", "tool_call_id", "refusal") if isinstance(given.get(key), str)}
    made = {**({"tool_calls": calls} if calls else {}), **({"function_call": function} if function else {})}
    return {"role": role or "user", "content": content, **texts, **made}


def read_role(given: Body) -> str | None:
    """Return the role of a message, or of its author; None without either."""
    author = given.get("author")  # as Harmony, the format of gpt-oss, has it
    role = given.get("role", author.get("role") if isinstance(author, Mapping) else None)
    return role if isinstance(role, str) and role else None


def read_content(given: Json, read: Callable[[Json], Json]) -> Json:
    """Return a text, or the readable parts; None if there is neither."""
    if isinstance(given, str):
        return given
    parts = (read(each) for each in ([given] if isinstance(given, Mapping) else read_list(given)))
    return [part for part in parts if part is not None] or None


def _read_part(given: Json) -> Json:
    if isinstance(given, str):
        return {"type": "text", "text": given}
    match given:
        case {"type": "refusal", "refusal": str(text)}:
            return {"type": "refusal", "refusal": text}
        case {"image_url": str(url) | {"url": str(url)}}:
            return {"type": "image_url", "image_url": {"url": url}}
        case {"type": "input_audio" | "file" as kind} if isinstance(given.get(kind), Mapping):
            return given
        case {"text": str(text)}:
            return {"type": "text", "text": text}
    return None


def read_tool_call(given: Json) -> dict[str, Json] | None:
    """Return a tool call of a chat, with an empty id if it has none; None if its tool has no name."""
    if not isinstance(given, Mapping):
        return None
    name = given.get("id")
    identity = name if isinstance(name, str) else ""
    custom = given.get("custom")
    if isinstance(custom, Mapping) and isinstance(custom.get("name"), str):
        made = {"name": custom["name"], "input": _write_text(custom.get("input"))}
        return {"id": identity, "type": "custom", "custom": made}
    function = read_function(given.get("function", given))
    return function and {"id": identity, "type": "function", "function": function}


def read_function(given: Json) -> dict[str, Json] | None:
    """Return the name and arguments of a called function, as texts; None if it has no name."""
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        return None
    return {"name": given["name"], "arguments": _write_text(given.get("arguments"))}


def _write_text(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else compact(value)


def read_tools(given: Json) -> Json:
    """Return functions with their type and in their own table, as in chats, and other tools unchanged."""
    return [_read_tool(tool) for tool in read_list(given)]


def _read_tool(given: Json) -> Json:
    match given:
        case {"function": {"name": str()} as function}:
            return {"type": "function", "function": function}
        case {"name": str()} if given.get("type", "function") == "function":
            return {"type": "function", "function": {key: value for key, value in given.items() if key != "type"}}
    return given


def read_flat_tools(given: Json) -> Json:
    """Return functions as Responses have them, without the table that chats put them in; others unchanged."""
    return [
        {"type": "function", **tool["function"]}
        if isinstance(tool, Mapping) and isinstance(tool.get("function"), Mapping)
        else tool
        for tool in read_list(given)
    ]


def read_format(given: Json) -> Json:
    """Return a response format whose schema has a name and its own table."""
    if not isinstance(given, Mapping) or given.get("type") != "json_schema":
        return given
    stated = given["json_schema"] if isinstance(given.get("json_schema"), Mapping) else given
    name = stated.get("name")
    schema = stated.get("schema")
    if not isinstance(schema, Mapping):
        return given
    strict = stated.get("strict") is True
    return {
        "type": "json_schema",
        "json_schema": {"name": name if isinstance(name, str) else "answer", "schema": schema, "strict": strict},
    }


def read_items(given: Json) -> list[dict[str, Json]]:
    """Return the input items of a response."""
    return list(_read_each_item([given] if isinstance(given, str) else read_list(given)))


def _read_each_item(given: Iterable[Json]) -> Iterator[dict[str, Json]]:
    for each in given:
        if isinstance(each, str):
            yield {"type": "message", "role": "user", "content": each}
        elif isinstance(each, Mapping):
            kind = each.get("type")
            if isinstance(kind, str) and kind and kind != "message":
                yield dict(each)
            else:
                yield from _split_message(each)


def _split_message(given: Body) -> Iterator[dict[str, Json]]:
    """Yield a message; one of a chat with tool calls or results becomes the items of Responses for them."""
    message = _read_message(given)
    if message is None:
        if isinstance(given.get("id"), str):
            yield {"type": "item_reference", "id": given["id"]}
        return
    content = read_content(given.get("content"), _read_item_part)
    if message["role"] == "tool":
        yield {"type": "function_call_output", "call_id": message.get("tool_call_id", ""), "output": content}
        return
    if content is not None:
        yield {"type": "message", "role": message["role"], "content": content}
    for call in message.get("tool_calls", ()):
        made = call.get("function") or {"name": call["custom"]["name"], "arguments": call["custom"]["input"]}
        yield {"type": "function_call", "call_id": call["id"], **made}


def _read_item_part(given: Json) -> Json:
    match given:
        case {"type": "input_image" | "input_file" | "input_audio"}:
            return given
        case {"image_url": str(url) | {"url": str(url)}}:
            return {"type": "input_image", "image_url": url}
    part = _read_part(given)
    return {"type": "input_text", "text": part["text"]} if part and part["type"] == "text" else part


def read_list(given: Json) -> list[Json]:
    """Return a list; any other value is an empty one."""
    return given if isinstance(given, list) else []
