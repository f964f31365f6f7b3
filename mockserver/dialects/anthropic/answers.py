"""Answers of the Messages API: messages, whole and streamed, and token counts."""

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Choice, Failure, Stored, Usage
from mockserver.core.seed import Seed
from mockserver.dialects._errors import write_retry_lines
from mockserver.dialects._parse import Body
from mockserver.dialects._reply import EVENT_TYPE, make_answer_reply, make_json_reply
from mockserver.dialects.anthropic.errors import make_error_body, write_request_id
from mockserver.dialects.anthropic.replay import defer_prefix
from mockserver.wire.anthropic import MessageOptions, MessageRenderer, PreparedMessage, compact_answer

RENDERER = MessageRenderer()


def render_message(call: Call, outcome: Answer) -> Reply:
    """Return the reply with a message, or the stream of its events."""
    shown, options = prepare_message(call, outcome)
    own = write_request_id(call.http, call)
    return make_answer_reply(shown, RENDERER, options, own, stream=call.stream, stream_lines=EVENT_TYPE)


def prepare_message(call: Call, answer: Answer) -> PreparedMessage:
    """Return an answer as its message shows it, with the options of that message."""
    options = make_message_options(call)
    if call.raw.get("compaction") is None:
        return PreparedMessage(answer, options)
    return compact_answer(answer, options)


def make_message_options(call: Call) -> MessageOptions:
    """Return the fields of a request that its message depends on."""
    raw = call.raw
    prefix = defer_prefix(call)
    if _SHOWN.isdisjoint(raw):
        return MessageOptions(prefix=prefix)
    shown = (raw.get("thinking") or {}).get("display") != "omitted"
    usage = {key: raw[key] for key in ("inference_geo", "speed") if raw.get(key) is not None}
    extra: dict[str, Json] = {}
    if raw.get("diagnostics") is not None:
        extra["diagnostics"] = {"cache_miss_reason": None}
    if raw.get("container") is not None:
        extra["container"] = _render_container(raw["container"], call)
    if raw.get("context_management") is not None:
        extra["context_management"] = {"applied_edits": []}
    kinds = [str(tool.get("type")) for tool in raw.get("tools", ())]
    toolset = next((name for name in ("computer", "browser") for kind in kinds if f"{name}_toolset" in kind), "")
    if not toolset:
        return MessageOptions(thinking=shown, usage=usage, extra=extra, prefix=prefix)
    names = frozenset(str(tool.get("name")) for tool in raw["tools"])
    return MessageOptions(thinking=shown, usage=usage, extra=extra, toolset=toolset, tools=names, prefix=prefix)


# Fields that an answer depends on.
_SHOWN = frozenset(("thinking", "inference_geo", "speed", "diagnostics", "container", "context_management", "tools"))


def _render_container(stated: Json, call: Call) -> Body:
    table: Body = {"id": stated} if isinstance(stated, str) else stated
    made = f"container_01{Seed().draw_base58(22, 'container', call.fingerprint)}"
    skills = [{"version": "latest", **skill} for skill in table.get("skills") or ()] or None
    return {"id": table.get("id") or made, "expires_at": "2027-01-01T00:00:00Z", "skills": skills}


def render_count(call: Call, stored: Stored) -> Reply:
    """Return the reply with the tokens of a prompt."""
    counted = stored.answer.usage.prompt
    managed = {"context_management": {"original_input_tokens": counted}} if call.raw.get("context_management") else {}
    return make_json_reply(200, {"input_tokens": counted, **managed}, lines=write_request_id(call.http, call))


def fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    if call is not None and (answer := make_filtered_answer(failure, call)):
        return render_message(call, answer)
    status, body = make_error_body(http, failure, call)
    again = "x-should-retry: true\r\n" if status == 429 else ""
    own = write_request_id(http, call) + write_retry_lines(failure) + again
    return make_json_reply(status, body, lines=own, headers=failure.headers)


def make_filtered_answer(failure: Failure, call: Call) -> Answer | None:
    """Return the answer to a filtered prompt: not an error, but a message that ends before it begins."""
    if failure.reason != "content_filter" or failure.status is not None or call.operation != "chat":
        return None
    named = call.ids.prefix + Seed().draw_base58(call.ids.length, "refusal", call.fingerprint)
    choice = Choice((), "content_filter", safety=failure.details.get("safety", ()))
    return Answer(
        named, 0, model=call.model, choices=(choice,), usage=Usage(call.prompt_tokens), headers=failure.headers
    )
