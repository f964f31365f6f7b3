"""From a v2 chat to a Call: the conversation, the tools, and the requirements for the answer.

The documents of a request belong to the user's last message, as files whose sentences can be cited.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from mockserver.core.call import TOOL_NAME, Call, IdShape, Message, Options, ToolCall, ToolChoice
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, compact
from mockserver.core.tokens import APPROX, count_part_tokens
from mockserver.core.validation import Validation
from mockserver.dialects._openai_api.chat import find_chat_meaning, make_tool, write_schema
from mockserver.dialects._parse import (
    Body,
    Complaint,
    complain,
    list_unknown_fields,
    read_plain_messages,
    read_request,
    refuse_first,
)
from mockserver.dialects.cohere.bodies import CHAT, LIVE_CHAT, NAME
from mockserver.dialects.cohere.errors import EMPTY_MESSAGE, make_refuse

IDS = IdShape("", 32, "uuid")
TOOL_CALL_IDS = IdShape(f"{TOOL_NAME}_", 12, "hex")
FINISHES = frozenset(("COMPLETE", "STOP_SEQUENCE", "MAX_TOKENS", "TOOL_CALL", "ERROR", "TIMEOUT"))
_refuse = make_refuse("v2/reference/chat")


def parse_chat(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a chat. Raises Failure."""
    body, parsed = read_request(CHAT, http, refuse=_refuse, validation=validation, is_closed=True)
    if validation is not Validation.OFF and not (parsed["messages"] and _CONFLICTING.isdisjoint(parsed)):
        refuse_first(_find_conflicts(parsed), _refuse)
    if validation is Validation.LIVE:
        refuse_first(list_unknown_fields(LIVE_CHAT, body), _refuse)
    offered = parsed.get("tools")
    tools = (
        tuple([make_tool("function", tool["function"]) for tool in offered if "function" in tool]) if offered else ()
    )
    messages = read_plain_messages(parsed["messages"]) or tuple([_read_message(each) for each in parsed["messages"]])
    if parsed.get("documents"):
        mode = (parsed.get("citation_options") or {}).get("mode")
        messages = attach_documents(messages, _list_documents(parsed), is_citable=mode not in _UNCITING)
    return Call(
        dialect=NAME,
        operation="chat",
        model=parsed["model"],
        http=http,
        meaning=_find_meaning(body),
        raw=body,
        messages=messages,
        tools=tools,
        tool_choice=_CHOICES.get(parsed.get("tool_choice"), _AUTO) if tools else _NONE,
        stream=parsed.get("stream") is True,
        ids=IDS,
        tool_call_ids=TOOL_CALL_IDS,
        finishes=FINISHES,
        part_tokens=count_part,
        options=read_options(parsed),
    )


def _find_conflicts(body: Body) -> Iterator[Complaint]:
    if not body["messages"]:
        yield complain(EMPTY_MESSAGE, "messages")
    form = body.get("response_format") or {}
    if form.get("type") == "json_object":
        for key in ("tools", "documents"):
            if body.get(key):
                yield complain(f"cannot use response_format of type json_object with {key}.", key)
    if body.get("tool_choice") == "REQUIRED" and not body.get("tools"):
        yield complain("tool_choice can only be used when tools are provided.", "tool_choice")


def _read_message(message: Body) -> Message:
    content = message.get("content")
    text, parts = (content, ()) if isinstance(content, str) else read_content(content or ())
    return Message(
        message["role"],
        text or message.get("tool_plan") or "",
        parts=parts,
        tool_calls=tuple([_read_earlier_call(call) for call in message.get("tool_calls") or ()]),
        tool_call_id=message.get("tool_call_id"),
    )


def read_content(content: Sequence[Body]) -> tuple[str, tuple[Body, ...]]:
    """Return the text of parts, with that of documents, and the other parts. Thinking is not part of the text."""
    texts: list[str] = []
    others: list[Body] = []
    for part in content:
        match part["type"]:
            case "text":
                texts.append(part["text"])
            case "document":
                data = part["document"]["data"]
                texts.append(data if isinstance(data, str) else compact(data))
            case "thinking":
                pass
            case _:
                others.append(part)
    return "".join(texts), tuple(others)


def _read_earlier_call(call: Body) -> ToolCall:
    function = call.get("function") or {}
    return ToolCall(call.get("id") or "", function.get("name") or "", function.get("arguments") or "")


def _list_documents(body: Body) -> Iterator[Body]:
    """Yield the documents, each as its source in a citation shows it."""
    for at, document in enumerate(body.get("documents") or ()):
        name = f"doc:{at}"
        if isinstance(document, str):
            yield {"id": name, "text": document}
            continue
        name = document.get("id") or name
        data = document["data"]
        yield {"id": name, "text": data} if isinstance(data, str) else {"id": name, **data}


def attach_documents(
    messages: Sequence[Message], documents: Iterable[Body], *, is_citable: bool = True
) -> tuple[Message, ...]:
    """Return the messages with documents as files of the user's last one; `is_citable`: with sentences to quote."""
    files = tuple([{"type": "file", "file": _make_file(document, is_citable=is_citable)} for document in documents])
    at = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "user"), None)
    if not files or at is None:
        return tuple(messages)
    last = messages[at]
    return (*messages[:at], replace(last, parts=(*last.parts, *files)), *messages[at + 1 :])


def _make_file(document: Body, *, is_citable: bool) -> Body:
    title = document.get("title")
    texts = [text for key, text in document.items() if key not in _UNCITED and isinstance(text, str)]
    sources = [{"type": "document", "id": document["id"], "document": document}]
    places = [{"cited_text": found[0], "sources": sources} for text in texts for found in _SENTENCE.finditer(text)]
    named = {"filename": title} if isinstance(title, str) else {}
    return {**named, "text": "\n".join(texts), **({"citable": tuple(places)} if is_citable else {})}


def count_part(part: Body) -> int:
    """Return the tokens of a part of a message that is not its text."""
    file = part.get("file")
    return APPROX.count(file["text"]) if isinstance(file, Mapping) and "text" in file else count_part_tokens(part)


def read_options(body: Body) -> Options:
    """Return the requirements for the answer, of a chat of v2 or v1."""
    if _ASKING.isdisjoint(body):
        return _USUAL
    form = body.get("response_format") or {}
    thinking = body.get("thinking") or {}
    schema = form.get("json_schema") or form.get("schema")
    is_json = form.get("type") == "json_object"
    return Options(
        max_tokens=body.get("max_tokens"),
        stop=tuple(body.get("stop_sequences") or ()),
        logprobs=0 if body.get("logprobs") else None,
        seed=body.get("seed"),
        effort="medium" if thinking.get("type") == "enabled" else None,
        response_format=("json_schema" if schema else "json_object") if is_json else "text",
        schema=schema if is_json else None,
        lenient_schema=True,
    )


def _find_meaning(body: Body) -> dict[str, Json]:
    if "priority" in body:  # only decides about the time of the answer
        body = {key: value for key, value in body.items() if key != "priority"}
    kept = find_chat_meaning(body, NAME)
    if isinstance(form := kept.get("response_format"), Mapping):
        kept["response_format"] = write_schema(write_schema(form, "json_schema"), "schema")
    return kept


_SENTENCE = re.compile(r"[^\s.!?][^.!?\n]{0,2000}[.!?]*")
_UNCITING = ("OFF", "DISABLED")
_UNCITED = ("id", "title", "url")
_AUTO = ToolChoice("auto")
_NONE = ToolChoice("none")
_CHOICES: Mapping[Json, ToolChoice] = {"REQUIRED": ToolChoice("required"), "NONE": _NONE}
_USUAL = Options(lenient_schema=True)
_CONFLICTING = frozenset(("response_format", "tool_choice"))
_ASKING = frozenset(  # fields that make options unusual
    ("max_tokens", "stop_sequences", "logprobs", "seed", "thinking", "response_format")
)
