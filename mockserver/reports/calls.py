"""Calls that came, as far as reports look at them, and how each is told in a line."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Protocol

from mockserver.cassettes.redaction.redact import Secrets
from mockserver.core.call import Call, Message, Tool
from mockserver.core.json import Json
from mockserver.core.plan import Usage
from mockserver.core.text import one_line, plural, shown, truncate
from mockserver.rules.load import Rule

MOST = 20  # calls that are listed
REFUSED = ("invalid", "limited")  # sources of answers to calls for which no rule was looked at
BRIEF = 40  # letters of what was said, where a line has much else to tell
MOST_REFUSED = 5  # calls that are told with what they got
NONE_CAME = (
    "no call came: does the client go to the server's address? One that was made at import may have been made too early"
    " (mockserver_env = session sets the environment before that)"
)


class Came(Protocol):
    """A call that came."""

    @property
    def number(self) -> int:
        """Its number."""

    @property
    def method(self) -> str:
        """GET, POST..."""

    @property
    def path(self) -> str:
        """Where it went."""

    @property
    def operation(self) -> str:
        """What was asked for."""

    @property
    def model(self) -> str:
        """The model that was asked."""

    @property
    def last_user(self) -> str:
        """The last thing that the user said."""

    @property
    def source(self) -> str:
        """What answered."""

    @property
    def status(self) -> int:
        """The status of the answer."""

    @property
    def error(self) -> str:
        """What the answer says that went wrong."""

    @property
    def usage(self) -> Usage | None:
        """The tokens of the answer, where it has such."""

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules that were tried."""

    @property
    def secrets(self) -> Secrets:
        """What of it may not be told."""

    @property
    def asked(self) -> Call | None:
        """The request as it was read."""


def line(call: Came) -> str:
    """A call in one line: `call 2: chat gpt-4o "hello" -> rule tests/test_app.py:12`."""
    secrets = call.secrets
    what = brief(call.operation or f"{call.method} {call.path}", secrets)
    said = (brief(call.model, secrets), call.last_user and shown(secrets.text(call.last_user)))
    source = f"{call.source} ({call.status})" if call.source in REFUSED else call.source
    return f"call {call.number}: {' '.join(filter(None, (what, *said)))} -> {one_line(source) or 'open'}"


def named(call: Came) -> str:
    """A call where there is little room: what was said, or else where it went."""
    if not call.last_user:
        return f"{brief(f'{call.method} {call.path}', call.secrets)} (call {call.number})"
    text = call.secrets.text(call.last_user[:_LONGEST])
    return f"{shown(text, BRIEF)} (call {call.number})"


def brief(text: str, secrets: Secrets) -> str:
    """A name, a path or other such on one line, without credentials, and only as much as is read."""
    text = secrets.text(text[:_LONGEST])
    return one_line(truncate(text))


def lines_of(calls: Sequence[Came]) -> Iterator[str]:
    """The calls, a line each, up to as many as are read."""
    yield from (f"  {line(call)}" for call in calls[:MOST])
    if len(calls) > MOST:
        yield f"  ... and {len(calls) - MOST} more"


def listed(calls: Sequence[Came]) -> str:
    """The calls, a line each, below how many there are."""
    return "\n".join([f"{plural(len(calls), 'call')} came:", *lines_of(calls)]) if calls else NONE_CAME


def sources(call: Came) -> tuple[str, ...]:
    """What answered a call, as a whole and each of its prompts; the name of a rule may have a comma too."""
    return (call.source, *call.source.split(", "))


def refused(calls: Sequence[Came]) -> Iterator[str]:
    """Calls that no rule was asked for, or whose rule failed by itself, and why."""
    found = [call for call in calls if call.source in REFUSED or (call.status == _FAILED and call.error)]
    for call in found[:MOST_REFUSED]:
        yield line(call) if call.source in REFUSED else f"{line(call)} ({call.status})"
        yield f"  {one_line(call.secrets.text(call.error)[:_TOLD])}"
    if len(found) > MOST_REFUSED:
        yield f"... and {len(found) - MOST_REFUSED} more that were refused"


def told_by(reply: bytes) -> str:
    """The message in the body of an error, whichever provider's shape it has."""
    try:
        body = json.loads(reply)
    except ValueError:
        return ""
    tables = (body, body.get("error")) if isinstance(body, dict) else ()
    messages = (table.get("message") for table in reversed(tables) if isinstance(table, dict))
    return next((message for message in messages if isinstance(message, str)), "")


_FAILED, _TOLD = 500, 500  # the status of a rule that fails, and letters of what an error says
_LONGEST = 2_000  # letters of a text that are looked at for credentials


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
    for name in sorted(call.raw.keys() - _SNAPSHOT_TOLD):
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
_SNAPSHOT_TOLD = frozenset(
    ("model", "messages", "input", "instructions", "prompt", "tools", "functions", "stream", "previous_response_id")
) | {"conversation"}
