"""OpenAI's chat request, for OpenAI and its look-alikes: the model, then what no type can say, then the Call."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from mockserver.core.call import Call, Json
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.dialects._chat.call import chat_call, named
from mockserver.dialects._chat.models import CHAT, CHAT_FIELDS
from mockserver.dialects._shared.parse import Complaint, clip, unknown_keys, validated

Body = Mapping[str, Json]
Refuse = Callable[[Complaint], Failure]


def parse_chat(http: HttpRequest, body: Body, *, dialect: str, refuse: Refuse) -> Call:
    """The Call of a chat body, or the Failure in which `refuse` words what is wrong with it."""
    chat = validated(CHAT, body, refuse)
    for found in conflicts(chat):
        raise refuse(found)
    return chat_call(http, body, chat, dialect=dialect)


def conflicts(body: Body) -> Iterator[Complaint]:
    """Fields that exclude or need each other."""
    yield from _lonely_options(body)
    if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
        both = "'max_tokens' and 'max_completion_tokens'"
        yield _conflict("max_tokens", f"Setting {both} at the same time is not supported.")
    yield from impossible_choice(body)
    yield from empty_messages(body["messages"])


def _lonely_options(body: Body) -> Iterator[Complaint]:
    if body.get("stream_options") is not None and not body.get("stream"):
        yield _conflict("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
    if body.get("top_logprobs") is not None and not body.get("logprobs"):
        yield _conflict("top_logprobs", "'top_logprobs' is only allowed when 'logprobs' is true.")


def impossible_choice(body: Body) -> Iterator[Complaint]:
    """A tool choice that needs tools which are not offered."""
    choice = body.get("tool_choice")
    if choice is not None and choice not in ("none", "auto"):
        yield from _unmet(body, "tool_choice", "tools", _wanted(choice))
    old = body.get("function_call")
    if isinstance(old, dict):
        yield from _unmet(body, "function_call", "functions", (named(old),))


def _wanted(choice: Json) -> tuple[str, ...]:
    if isinstance(choice, str):
        return ()
    if choice["type"] == "allowed_tools":
        return tuple(named(tool) for tool in choice["allowed_tools"]["tools"])
    return (named(choice),)


def _unmet(body: Body, field: str, offers: str, wanted: Iterable[str]) -> Iterator[Complaint]:
    """A choice without anything to choose from, or of a tool that is not among the offers."""
    why = f"'{field}' is only allowed when '{offers}' are specified." if not body.get(offers) else None
    names = {named(tool) for tool in body.get(offers) or ()}
    for name in wanted:
        if why is None and name not in names:
            why = f"'{clip(name)}' is not found in the '{offers}' parameter."
    if why is not None:
        yield Complaint("conflict", (field,), got=body[field], message=f"Invalid value for '{field}': {why}")


def empty_messages(messages: Iterable[Body]) -> Iterator[Complaint]:
    """Messages of the assistant that say nothing and call nothing."""
    for index, message in enumerate(messages):
        if message["role"] == "assistant" and message.get("content") is None and _SAYS.isdisjoint(_set(message)):
            yield Complaint(
                "conflict",
                ("messages", index, "content"),
                message="Invalid value for 'content': expected a string, got null.",
            )


def _set(message: Body) -> Iterator[str]:
    return (key for key, value in message.items() if value)


def _conflict(field: str, message: str) -> Complaint:
    return Complaint("conflict", (field,), message=message)


def live_only(body: Body) -> Iterator[Complaint]:
    """What the live API refuses beyond its published schema."""
    for key in unknown_keys(body, CHAT_FIELDS):
        yield Complaint("unknown", (key,))
    if not body["model"]:
        yield Complaint("conflict", ("model",), message="you must provide a model parameter")
    for field in ("max_tokens", "max_completion_tokens"):
        value = body.get(field)
        if value is not None and value < 1:
            yield Complaint("below", (field,), got=value, bound=1)
    if body.get("tool_choice") == "auto" and not body.get("tools"):
        yield from _unmet(body, "tool_choice", "tools", ())
    if len(body.get("tools") or ()) > 128:
        yield Complaint("long", ("tools",), got=body["tools"], bound=128)
    yield from _unanswered_calls(body["messages"])


def _unanswered_calls(messages: Iterable[Body]) -> Iterator[Complaint]:
    """Every tool call needs its tool message next, and every tool message a call before it."""
    open_ids: list[str] = []
    at = 0
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                yield _conflict_at(index, _STRAY_TOOL_MESSAGE)
            else:
                open_ids.remove(message["tool_call_id"])
        elif open_ids:
            break
        elif message["role"] == "assistant":
            open_ids = [call["id"] for call in message.get("tool_calls") or ()]
            at = index
    if open_ids:
        yield _conflict_at(at, f"{_UNANSWERED} {clip(', '.join(open_ids))}")


def _conflict_at(index: int, message: str) -> Complaint:
    return Complaint("conflict", ("messages", index), message=message)


_SAYS = frozenset({"tool_calls", "function_call", "refusal", "audio"})
_STRAY_TOOL_MESSAGE = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
)
_UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages:"
)
