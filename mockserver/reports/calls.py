"""The calls that a test's server received: as values, as a line each, and as a snapshot for approval tests."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mockserver.config.nearest_names import NamesNearest
from mockserver.core.call import Call, Message, Tool
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, compact, map_texts
from mockserver.core.plan import Usage
from mockserver.core.row import COMPLETE, Row
from mockserver.core.sent_body import split_frames
from mockserver.core.text import count_noun, join_to_line, show_value, truncate
from mockserver.rules.load import Rule

if TYPE_CHECKING:
    from mockserver.cassettes.redaction.shown_secrets import Secrets

MAX_LISTED = 20  # calls
MAX_REJECTED = 5  # calls shown with the error they got
UNMATCHED = "unmatched"  # the source of an answer that neither rules nor a cassette gave
REJECTED = ("invalid", "limited")  # sources of answers to calls that never reached the rules
NO_CALLS = (
    "no calls received: the code made none, or its client does not use this server. Create the client in the test, or"
    " set mockserver_env = session in pytest's ini file; if it has its own base URL, let that be mockserver.base_url()"
)


class ReceivedCall(NamesNearest, Struct, frozen=True, eq=False):
    """A call that the server received: the request and its answer.

    `asked` is the parsed request, the same for every provider; None if it was rejected before, or is still arriving.
    `recalled` is one that continues a kept conversation, after what was said before.
    """

    row: Row
    asked: Call | None
    recalled: Call | None = None

    @property
    def unparsed(self) -> Call:
        """The request without what its body would say."""
        http = HttpRequest(
            self.method,
            self.path,
            query={},
            headers=tuple(self.row.headers),
            body=self.row.body,
            namespace=self.row.namespace,
        )
        return Call(self.dialect, self.operation, model="", http=http, meaning=())

    @property
    def number(self) -> int:
        """Its number, from 1, as in the header x-mockserver-call."""
        return self.row.seq

    @property
    def attempt(self) -> int:
        """Which attempt of the client it is, from 1: by its retry header, or else by counting equal requests."""
        return 1 if self.asked is None else self.asked.attempt

    @property
    def method(self) -> str:
        """GET, POST..."""
        return self.row.method

    @property
    def path(self) -> str:
        """The path of the request, without a namespace."""
        return self.row.path

    @property
    def dialect(self) -> str:
        """The provider's dialect."""
        return self.row.dialect

    @property
    def operation(self) -> str:
        """Such as chat, responses or models; empty for an unknown path."""
        return self.row.operation

    @property
    def model(self) -> str:
        """The requested model."""
        return self.row.model

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation, each message with role, text and tool calls."""
        return () if self.asked is None else self.asked.messages

    @property
    def last_user(self) -> str:
        """The text of the last user message."""
        return "" if self.asked is None else self.asked.last_user

    @property
    def system(self) -> str:
        """The instructions: the text of all system and developer messages."""
        return "" if self.asked is None else self.asked.system

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the request offers, each with `name`, `description` and `parameters`."""
        return () if self.asked is None else self.asked.tools

    @property
    def stream(self) -> bool:
        """Whether the request asks for a stream."""
        return self.asked is not None and self.asked.stream

    @property
    def websocket(self) -> bool:
        """Whether the request came over a WebSocket."""
        return self.row.is_socket

    @property
    def part_of(self) -> str:
        """Of a line of a batch, which one: `line 3 of batch_1, custom_id "a"`; empty for a request of its own."""
        return self.row.part_of

    @property
    def headers(self) -> Mapping[str, str]:
        """The request's headers, with names in lower case."""
        return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self.row.headers}

    @property
    def body(self) -> Any:
        """The request's body, parsed; None if it is not JSON."""
        if self.asked is not None:
            return self.asked.body
        try:
            return json.loads(self.row.body)
        except ValueError:
            return None

    @property
    def source(self) -> str:
        """What answered: `rule tests/test_app.py:12`, `cassette chat.yaml#3`, `generated`, `unmatched`, `invalid`..."""
        return self.row.source

    @property
    def modified_by(self) -> tuple[str, ...]:
        """The rules that only modified how the answer was sent."""
        return self.row.modified_by

    @property
    def faults(self) -> tuple[str, ...]:
        """The names of the faults in the answer."""
        return self.row.faults

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a live provider would not do, without credentials: give the rule's answer, or take the history."""
        return self._select_shown(self.row.remarks)

    @property
    def answer_remarks(self) -> tuple[str, ...]:
        """Why no model could give the rule's answer (`lint`); empty if one could."""
        return self._select_shown(self.row.plan.remarks)

    @property
    def history_remarks(self) -> tuple[str, ...]:
        """Why a live provider would refuse the history of the request (`replay`); empty if it would not."""
        return self._select_shown(self.row.plan.history_remarks)

    def _select_shown(self, remarks: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(self.secrets.mask_text, remarks)) if remarks else ()

    @property
    def status(self) -> int:
        """The status of the answer; 0 if there is none yet."""
        return self.row.status

    @property
    def reply(self) -> bytes:
        """The body of the answer as far as it was sent; at most 1 MB is kept."""
        return b"".join(data for _, data in self.row.sent)

    @property
    def frames(self) -> tuple[str, ...]:
        """The data of each event that was sent of a stream."""
        return tuple(frame.text for frame in split_frames(self.row.sent)) if self.row.streams else ()

    @property
    def error(self) -> str:
        """The provider's error message; empty if the answer is not an error."""
        return find_error_message(self.reply) if self.status >= _FIRST_ERROR else ""

    @property
    def defect(self) -> str:
        """What is wrong with the rule, or with mockserver itself, that failed on the call; empty if neither did."""
        return self.secrets.mask_text(self.row.defect) if self.row.defect else ""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that existed when it arrived."""
        return tuple(rule for rule in self.row.rules if isinstance(rule, Rule))

    @property
    def secrets(self) -> "Secrets":
        """Its credentials and those of the environment, which reports mask."""
        from mockserver.cassettes.redaction.credential_fields import (
            find_environment_secrets,  # slow: a hundred patterns
        )
        from mockserver.cassettes.redaction.shown_secrets import find_secrets

        return find_secrets(
            tuple(self.row.headers), self.row.query, body=self.row.body, more=find_environment_secrets(os.environ)
        )

    @property
    def usage(self) -> Usage | None:
        """The tokens of the answer, if it has any."""
        return self.row.usage

    @property
    def ended(self) -> str:
        """How the answer ended: complete, `client left after 3 frames`, cut short...; open while it is being sent."""
        return self.row.ending

    @property
    def subject(self) -> str:
        """What it is about, in one line: the user's message, or the tool that is called with its arguments."""
        if self.asked is not None and self.asked.mcp is not None:
            request = self.asked.mcp
            return mask_line(f"{request.target} {compact(request.arguments)}", self.secrets)
        return self.last_user and show_value(self.secrets.mask_text(self.last_user))

    def __repr__(self) -> str:
        return f"<{describe_call(self)}>"


def describe_call(call: ReceivedCall) -> str:
    """Return a call in one line: `call 2: chat gpt-4o "hello" -> rule tests/test_app.py:12`.

    It also says how an answer ended early: `(cut short after 3 frames)`.
    """
    secrets = call.secrets
    request = mask_line(call.operation or f"{call.method} {call.path}".lstrip(), secrets)
    more = (mask_line(call.model, secrets), call.subject)
    source = f"{call.source} ({call.status})" if call.source in REJECTED or call.row.defect else call.source
    if call.row.ended not in ("", COMPLETE):
        source = f"{source} ({call.ended})"
    said = " ".join(filter(None, (request, *more)))
    return f"call {call.number}{_name_part(call)}: {said} -> {join_to_line(source) or 'open'}"


def name_call(call: ReceivedCall) -> str:
    """Return a call in a headline: `"hello" (call 2)`, or its path."""
    number = f"(call {call.number}{_name_part(call)})"
    if not call.last_user:
        return f"{mask_line(f'{call.method} {call.path}', call.secrets)} {number}"
    if call.asked is not None and call.asked.mcp is not None:
        return f"{call.subject} of {mask_line(call.model, call.secrets)} {number}"
    return f"{show_value(call.secrets.mask_text(call.last_user[:_MAX_SCANNED]), _MAX_NAME)} {number}"


def _name_part(call: ReceivedCall) -> str:
    """Say which part of a batch a call is."""
    return f", {mask_line(call.part_of, call.secrets)}" if call.part_of else ""


def mask_line(text: str, secrets: "Secrets") -> str:
    """Return a name or a path on one line, cut, without credentials."""
    return join_to_line(truncate(secrets.mask_text(text[:_MAX_SCANNED])))


def list_calls(calls: Sequence[ReceivedCall], among: Sequence[ReceivedCall] = ()) -> str:
    """Return how many calls there are, then a line for each, up to MAX_LISTED.

    Of an empty selection, those calls are shown `among` which it was made.
    """
    if not calls:
        return f"no call in this selection; {list_calls(among)}" if among else NO_CALLS
    more = [f"  ... and {len(calls) - MAX_LISTED} more"] if len(calls) > MAX_LISTED else []
    listed = [f"  {describe_call(call)}" for call in calls[:MAX_LISTED]]
    return "\n".join([f"{count_noun(len(calls), 'call')} received:", *listed, *more])


def list_sources(call: ReceivedCall) -> tuple[str, ...]:
    """Return what answered a call, and each of its prompts; rule names can contain commas, so the whole is included."""
    return (call.source, *call.source.split(", "))


def was_used(rule: Rule, call: ReceivedCall) -> bool:
    """Return whether a rule answered or modified a call, at least in part."""
    return rule.source in (*list_sources(call), *call.modified_by)


def list_requests(call: ReceivedCall) -> tuple[Call, ...]:
    """Return the request of a call, and those in an array of MCP; those of a batch are calls of their own."""
    asked = call.asked or call.unparsed
    return (asked, *(each for each in asked.batch if isinstance(each, Call) and each.mcp is not None))


def describe_rejected(calls: Sequence[ReceivedCall]) -> Iterator[str]:
    """Yield the calls that never reached the rules, each with its error."""
    found = [call for call in calls if call.source in REJECTED]
    for call in found[:MAX_REJECTED]:
        yield describe_call(call)
        yield from (f"  {call.secrets.mask_text(line)}" for line in explain_rejection(call.row))
    if len(found) > MAX_REJECTED:
        yield f"... and {len(found) - MAX_REJECTED} more rejected calls"


def explain_rejection(row: Row) -> Iterator[str]:
    """Yield the error that a request was rejected with, on one line, and what to set so that such requests are not."""
    error = find_error_message(b"".join(data for _, data in row.sent))
    yield join_to_line(error)[:_MAX_ERROR] or "rejected before any rule was tried"
    if row.cause is not None and row.dialect != "mcp":
        advice = row.cause.advice or _ADVICE.get(row.cause.reason)
        if advice:
            yield advice


def find_error_message(reply: bytes) -> str:
    try:
        body = json.loads(reply)
    except ValueError:
        return ""
    tables = (body, body.get("error")) if isinstance(body, dict) else ()
    messages = (table.get("message") for table in reversed(tables) if isinstance(table, dict))
    return next((message for message in messages if isinstance(message, str)), "") or _read_bare_error(body)


def _read_bare_error(body: Json) -> str:
    """Return an error that is only a text, as Ollama, Jina and Voyage send it."""
    errors = (body.get("error"), body.get("detail")) if isinstance(body, dict) else ()
    return next((error for error in errors if isinstance(error, str)), "")


def write_snapshot(calls: Iterable[Call]) -> str:
    """Return every request in a few lines: model, conversation, tools, then the other parameters by name."""
    ids = _Ids()
    blocks = (
        (line.rstrip().replace(f"{call.http.server_url}/", _SERVER) for line in _write_call(number, call, ids))
        for number, call in enumerate(calls, 1)
    )
    return "\n".join("\n".join(lines) + "\n" for lines in blocks)


class _Ids(dict[str, str]):
    def __missing__(self, id: str) -> str:
        return self.setdefault(id, f"id-{len(self) + 1}")


def _write_call(number: int, call: Call, ids: _Ids) -> Iterator[str]:
    yield f"call {number}: {call.dialect} {call.operation} {call.model}{', streamed' if call.stream else ''}"
    if call.previous_response_id is not None:
        yield f"  goes on from {ids[call.previous_response_id]}"
    if (conversation := call.body.get("conversation")) is not None:
        id = conversation.get("id") if isinstance(conversation, Mapping) else conversation
        yield f"  in the conversation {ids[str(id)]}"
    if call.prompts and not any(message.parts for message in call.messages):
        messages = (line for prompt in call.prompts for line in _write_block("prompt", prompt.text))
    else:  # prompts with images are messages
        messages = (line for message in call.messages for line in _write_message(message, ids))
    yield from (f"  {line}" for line in messages)
    for tool in call.tools:
        yield from (f"  {line}" for line in _write_block(f"tool {tool.name}", tool.description))
        if tool.parameters is not None:
            yield f"    takes {_write_json(tool.parameters)}"
    for name in sorted(call.body.keys() - _WITH_LINES_OF_THEIR_OWN):
        yield f"  {name}: {_write_json(call.body[name])}"


def _write_message(message: Message, ids: _Ids) -> Iterator[str]:
    result = "" if message.tool_call_id is None else f" {ids[message.tool_call_id]}"
    head = f"{message.role}{f' ({message.name})' if message.name else ''}{result}"
    if message.text or not (message.tool_calls or message.parts):
        yield from _write_block(head, message.text)
    for part in message.parts:
        yield f"{head}: {_write_json({**part, 'id': ids[str(part['id'])]} if 'id' in part else part)}"
    for used in message.tool_calls:
        yield f"{head} calls {used.name}({used.arguments}) as {ids[used.id]}"


def _write_block(head: str, text: str) -> Iterator[str]:
    if "\n" not in text:
        yield f"{head}: {text}".rstrip()
        return
    indent = " " * (len(head) - len(head.lstrip()) + 2)
    yield f"{head}:"
    yield from (f"{indent}{line}".rstrip() for line in text.split("\n"))


def _write_json(value: Json) -> str:
    hashed = map_texts(
        value,
        lambda text: _BASE64.sub(lambda found: f"{found[1]}sha256:{sha256(found[2].encode()).hexdigest()[:12]}", text),
    )
    return json.dumps(hashed, ensure_ascii=False, sort_keys=isinstance(value, Mapping))


# What to set so that requests are accepted which are rejected for these reasons.
_ADVICE = {
    "unknown_model": "to accept it, add the model to the setting models",
    "missing_key": "the setting keys lists the keys that are accepted",
    "invalid_key": "to accept it, add the key to the setting keys",
    "key_not_allowed": "to accept it, remove allowed: false from this key in the setting keys",
    "model_not_allowed": "to accept it, add the model to the models of this key in the setting keys",
    "context_length": "to accept it, raise context_window of this model in the setting models",
    "unsupported": "to accept it, say in the setting models what this model can do",
    **dict.fromkeys(("bad_parameter", "unprocessable"), "with the setting validation: off, less is checked"),
}
_SERVER = "http://mockserver/"  # in place of the address, whose port varies
_FIRST_ERROR = 400  # statuses
_MAX_NAME = 40  # characters
_MAX_ERROR = 500  # characters
_MAX_SCANNED = 2_000  # characters of a text that are searched for credentials
# In a URL, or (such as audio) bare.
_BASE64 = re.compile(r"^(data:[^,]{0,200};base64,(?=.{64})|(?=[\w+/=-]{256,}$))(.+)$", re.ASCII | re.DOTALL)
_WITH_LINES_OF_THEIR_OWN = frozenset(
    ("model", "messages", "input", "instructions", "prompt", "tools", "functions", "stream", "previous_response_id")
) | {"conversation", "contents", "systemInstruction"}
