"""What was asked, as a text that stays the same from run to run: for approval tests. Ids that vary are numbered."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from mockserver.core.call import Call, Json, Message, Tool


def snapshot(calls: Iterable[Call]) -> str:
    """Every call in a few lines: model, conversation, tools, then the other parameters by name."""
    names = _Names()
    told = (map(str.rstrip, _call(number, call, names)) for number, call in enumerate(calls, 1))
    return "\n".join("\n".join(lines) + "\n" for lines in told)


class _Names:
    """Ids by the order in which they come first: `id-1`, `id-2`..."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, id: str) -> str:
        """The name of an id."""
        return self._known.setdefault(id, f"id-{len(self._known) + 1}")


def _call(number: int, call: Call, names: _Names) -> Iterator[str]:
    yield f"call {number}: {call.dialect} {call.operation} {call.model}{', streamed' if call.stream else ''}"
    if call.previous is not None:
        yield f"  goes on from {names.of(call.previous)}"
    if (conversation := call.raw.get("conversation")) is not None:
        id = conversation.get("id") if isinstance(conversation, Mapping) else conversation
        yield f"  in the conversation {names.of(str(id))}"
    yield from (f"  {line}" for line in _said(call, names))
    for tool in call.tools:
        yield from (f"  {line}" for line in _tool(tool))
    for name in sorted(call.raw.keys() - _TOLD):
        yield f"  {name}: {_written(call.raw[name])}"


def _said(call: Call, names: _Names) -> Iterator[str]:
    """The conversation, or the prompts that are answered by themselves; with a picture among them they are messages."""
    if call.prompts and not any(message.parts for message in call.messages):
        for prompt in call.prompts:
            yield from _block("prompt", prompt.text)
    else:
        for message in call.messages:
            yield from _message(message, names)


def _message(message: Message, names: _Names) -> Iterator[str]:
    result = "" if message.tool_call_id is None else f" {names.of(message.tool_call_id)}"
    head = f"{message.role}{f' ({message.name})' if message.name else ''}{result}"
    if message.text or not (message.tool_calls or message.parts):
        yield from _block(head, message.text)
    for part in message.parts:
        yield f"{head}: {_written({**part, 'id': names.of(str(part['id']))} if 'id' in part else part)}"
    for used in message.tool_calls:
        yield f"{head} calls {used.name}({used.arguments}) as {names.of(used.id)}"


def _tool(tool: Tool) -> Iterator[str]:
    yield from _block(f"tool {tool.name}", tool.description)
    if tool.parameters is not None:
        yield f"  takes {_written(tool.parameters)}"


def _block(head: str, text: str) -> Iterator[str]:
    """A text beside its head, or below it where it has several lines."""
    if "\n" not in text:
        yield f"{head}: {text}".rstrip()
        return
    inset = " " * (len(head) - len(head.lstrip()) + 2)
    yield f"{head}:"
    yield from (f"{inset}{line}".rstrip() for line in text.split("\n"))


def _written(value: Json) -> str:
    """A value as JSON on one line, with bytes by their hash."""
    return json.dumps(_short(value), ensure_ascii=False, sort_keys=isinstance(value, Mapping))


def _short(value: Json) -> Json:
    match value:
        case str():
            return _DATA.sub(lambda found: f"{found[1]}sha256:{sha256(found[2].encode()).hexdigest()[:12]}", value)
        case Mapping():
            return {name: _short(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_short(inner) for inner in value]
    return value


# Base64, in a URL or (such as sound) bare.
_DATA = re.compile(r"^(data:[^,]{0,200};base64,(?=.{64})|(?=[\w+/=-]{256,}$))(.+)$", re.ASCII | re.DOTALL)
# What is told in words of its own; the rest of a body are its parameters.
_TOLD = frozenset(
    ("model", "messages", "input", "instructions", "prompt", "tools", "functions", "stream", "previous_response_id")
) | {"conversation"}
