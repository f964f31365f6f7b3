"""OpenAI's chat request as a Call, for all dialects that resemble it.

Fields have the types of `chat_bodies.py`; `find_chat_conflicts` finds what types cannot express. `make_chat_call` also
reads the forms of parts that other dialects have.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec import UNSET, Raw, Struct, to_builtins
from msgspec.json import decode, encode
from msgspec.structs import replace

from mockserver.core.call import (
    SIZE_OF_TOOLS,
    Call,
    Grammar,
    Message,
    Options,
    PlainMessages,
    Tool,
    ToolCall,
    ToolChoice,
    Toolset,
    compute_digest,
)
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json, compact, encode_sorted
from mockserver.core.lazy import LazyValue, Memo
from mockserver.core.plan import Answer
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._fields import (
    TypedModel,
    list_of,
    optional,
    shape,
)
from mockserver.dialects._meaning import find_meaning
from mockserver.dialects._openai_api.chat_bodies import CHAT, LIVE_CHAT, MAX_CALL_ID, ChatBody, ChatTool
from mockserver.dialects._openai_api.data_urls import find_wrong_chat_file, find_wrong_chat_image
from mockserver.dialects._openai_api.lengths import LENGTHENING, read_least_length
from mockserver.dialects._openai_api.strict_schemas import find_refused_format, find_refused_function
from mockserver.dialects._parse import (
    LONG_BODY,
    Body,
    Complaint,
    Refuse,
    clip,
    complain,
    find_unknown_fields,
    find_unknown_keys,
    find_usual,
    is_deep,
    list_complaints,
    make_integers,
    read_body,
    read_object,
    read_plain_messages,
    refuse_first,
)
from mockserver.dialects._reply import RequestLines, make_answer_reply
from mockserver.kinds.audio import USUAL_VOICE
from mockserver.media.file_kinds import recognize
from mockserver.wire.chat import ChatLayout, ChatRenderer
from mockserver.wire.chat_audio import SAMPLES

FindMistakes = Callable[[HttpRequest, Body], Iterable[Complaint]]
_NOTHING: Body = {}


class ChatParser(Struct, frozen=True):
    """Reads the chats of a dialect; `refuse` makes the Failure of the first mistake in one.

    `find_live_mistakes` yields what only the live provider refuses, or raises its Failure; `read_url_fields` returns
    the fields of path and query.
    """

    dialect: str
    refuse: Refuse
    find_live_mistakes: FindMistakes = lambda http, body: ()
    read_url_fields: Callable[[HttpRequest], Body] = lambda http: {}

    def parse(self, http: HttpRequest, validation: Validation) -> Call:
        """Return the Call of a chat. Raises the Failure of its first mistake."""
        url_fields = self.read_url_fields(http)
        if validation is Validation.PUBLISHED and (call := _read_typed(http, self.dialect, url_fields)) is not None:
            return call
        body, chat = read_body(CHAT, {**read_object(http), **url_fields}, refuse=self.refuse, validation=validation)
        if validation is Validation.LIVE:
            refuse_first(self.find_live_mistakes(http, body), self.refuse)
        if validation is not Validation.OFF:
            refuse_first(find_chat_conflicts(chat), self.refuse)
        return make_chat_call(http, body, chat, dialect=self.dialect)


def make_chat_call(http: HttpRequest, body: Body, chat: Body, *, dialect: str) -> Call:
    """Return the Call of a chat body; `chat` is that body as its request model read it, with only known keys."""
    asked = _read_asked(chat, _read_tools(chat))
    messages = read_plain_messages(chat["messages"]) or tuple([_read_message(message) for message in chat["messages"]])
    options = asked.options
    return Call(
        dialect=dialect,
        operation="chat",
        model=chat.get("model") or "",
        http=http,
        meaning=find_chat_meaning(body, dialect),
        raw=body,
        messages=messages,
        tools=asked.tools,
        tool_choice=asked.tool_choice,
        stream=asked.stream,
        options=options if LENGTHENING.isdisjoint(body) else read_least_length(options, body, choices=options.n),
    )


def _read_typed(http: HttpRequest, dialect: str, url_fields: Body) -> Call | None:
    """Return the Call of a body that is certainly valid; else None."""
    body = http.body
    # jiter reads long texts faster
    if len(body) > LONG_BODY or http.header_values.get(b"content-type") != b"application/json":
        return None
    chat = _TYPED_CHAT.read(body)
    if chat is None:
        return None
    given = chat.messages
    messages = _read_messages(given)
    if messages is None:
        return None
    offered = chat.tools
    chat.messages = UNSET  # messages and tools, which are read on their own, are not to be converted again
    chat.tools = UNSET
    fields = to_builtins(chat)
    chat.messages = given
    chat.tools = offered
    if url_fields:
        fields.update(url_fields)
    if len(fields) == 1 and offered is UNSET:  # only the model
        fields["messages"] = given
        meaning = fields
        asked = _ASKED_NOTHING
        written = encode_sorted((dialect, "chat", meaning))
        left = 0
    else:
        offer = _read_offer(fields, offered)
        if offer is None:
            return None
        meaning = _reduce_to_meaning(fields, given, tools=offer.meaning, dialect=dialect)
        asked = _read_asked(fields, _read_tools(fields) if "functions" in fields else offer.tools)
        # Tools are written as they were before: this takes most of the time for them.
        canonical_meaning = {**meaning, "tools": offer.written} if offer.tools else meaning
        written = encode_sorted((dialect, "chat", canonical_meaning))
        left = len(fields) + 1 - len(meaning)
    if url_fields:  # it may be missing in the body
        is_whole = _TYPED_CHAT.is_whole(chat, body, encode(chat))
    else:
        is_whole = _TYPED_CHAT.is_whole(chat, body, written, left)
    if not is_whole:
        return None
    raw: Any = LazyValue(partial(_read_whole, url_fields=url_fields) if url_fields else _read_whole, body)
    call = Call(
        dialect=dialect,
        operation="chat",
        model=fields["model"],
        http=http,
        meaning=meaning,
        raw=raw,
        messages=messages,
        tools=asked.tools,
        tool_choice=asked.tool_choice,
        stream=asked.stream,
        options=asked.options,
        is_sound=type(messages) is PlainMessages or _are_answered(messages),
    )
    known = vars(call)
    known["fingerprint"] = compute_digest(written)
    if not url_fields:
        known["written"] = body
    return call


def _read_whole(body: bytes, url_fields: Body = _NOTHING) -> Body:
    return {**make_integers(decode(body)), **url_fields}  # it is sound: jiter and its checks would read the same


def _read_messages(given: list[Any]) -> tuple[Message, ...] | None:
    """Read typed messages, and replace their ids by ordinals; return None if a message may be invalid."""
    messages: list[Message] = []
    ordinals: dict[str, str] = {}
    is_plain = True
    for message in given:
        role = message.role
        content = message.content
        if role in _SPEAKING and type(content) is str and message.name is UNSET:
            messages.append(Message(role, content))
            continue
        is_plain = False
        if role == "tool" and type(content) is str:
            name = message.tool_call_id
            messages.append(Message(role, content, tool_call_id=name))
            message.tool_call_id = ordinals.setdefault(name, f"#{len(ordinals)}")
            continue
        if role == "assistant":
            calls = message.tool_calls
            if calls == [] or not (content or calls):
                return None
            if type(content) is not list and _besides_calls(message) == _ONLY_CALLS:
                messages.append(Message(role, content or "", tool_calls=_read_calls(calls, ordinals) if calls else ()))
                continue
        whole = to_builtins(message)
        given[len(messages)] = _number_ids_of_message(whole, ordinals)
        messages.append(_read_message(whole))
    return PlainMessages(messages) if is_plain else tuple(messages)


def _read_calls(given: Sequence[Any], ordinals: dict[str, str]) -> tuple[ToolCall, ...]:
    calls: list[ToolCall] = []
    for call in given:
        name = call.id
        if call.type == "function":
            calls.append(ToolCall(name, call.function.name, call.function.arguments))
        else:
            calls.append(ToolCall(name, call.custom.name, call.custom.input, kind=call.type))
        call.id = ordinals.setdefault(name, f"#{len(ordinals)}")
    return tuple(calls)


class _Offer(Struct, frozen=True, kw_only=True):
    """The contents of a list of tools, for all calls that offer these."""

    tools: tuple[Tool, ...] = ()
    fields: Json = None  # as they are written
    meaning: Json = None
    written: Raw = Raw(b"")  # the meaning in canonical JSON


class _Offers(Memo[bytes, _Offer | None]):
    """The tools of each list by its JSON, which clients send again with each call; None for one that may be invalid."""

    def __missing__(self, written: bytes) -> _Offer | None:
        body = b'{"tools":%b}' % written
        offered = _TYPED_TOOLS.read(body)
        if offered is None:
            return None
        fields = to_builtins(offered)
        if is_deep(fields) or not _TYPED_TOOLS.is_whole(offered, body, encode(offered)):
            return None
        meaning = _reduce_tools_to_meaning(fields["tools"])
        offer = _Offer(
            tools=Toolset(_read_tools(fields)),
            fields=fields["tools"],
            meaning=meaning,
            written=Raw(encode_sorted(meaning)),
        )
        return self.keep(written, offer, SIZE_OF_TOOLS * len(written))


def _read_offer(fields: dict[str, Json], offered: Any) -> _Offer | None:
    """Return the tools of a body with these other fields; None if one of the tools or fields may be invalid.

    It completes `fields`: whole numbers become ints, and `tools` are added as the client wrote them.
    """
    make_integers(fields)
    if is_deep(fields):
        return None
    if offered is UNSET:
        offer: _Offer | None = _NO_OFFER
    elif (offer := _OFFERS[bytes(offered)]) is not None:
        fields["tools"] = offer.fields
    is_doubtful = not _CONFLICTING.isdisjoint(fields) and any(_find_conflicts_of_fields(fields))
    return None if is_doubtful else offer


class _Asked(Struct, frozen=True):
    """What a chat asks for besides an answer to its messages."""

    tools: tuple[Tool, ...]
    tool_choice: ToolChoice
    stream: bool
    options: Options


def _read_asked(chat: Body, tools: tuple[Tool, ...]) -> _Asked:
    return _Asked(
        tools,
        tool_choice=_read_tool_choice(chat, tools) if tools or not _CHOICES.isdisjoint(chat) else _NONE,
        stream=chat.get("stream") is True,
        options=_USUAL if _ASKING.isdisjoint(chat) else _read_options(chat),
    )


def _read_options(chat: Body) -> Options:
    bare = bool(chat.get("functions")) and not chat.get("tools")
    stop = chat.get("stop")
    answer = chat.get("response_format") or {"type": "text"}
    form = answer.get("json_schema") or {}
    sound = _read_sound(chat)
    return Options(
        parallel_tool_calls=chat.get("parallel_tool_calls") is not False and not bare,
        bare_functions=bare,
        include_usage=bool((chat.get("stream_options") or {}).get("include_usage")),
        n=chat.get("n") or 1,
        max_tokens=read_max_tokens(chat),
        stop=() if stop is None else read_stop_sequences(stop),
        logprobs=(chat.get("top_logprobs") or 0) if chat.get("logprobs") else None,
        seed=chat.get("seed"),
        effort=chat.get("reasoning_effort"),
        verbosity=chat.get("verbosity"),
        response_format=answer["type"],
        schema=form.get("schema"),
        strict_schema=form.get("strict") is True,
        store=chat.get("store") is True,
        service_tier=chat.get("service_tier"),
        voice=None if sound is None else _name_voice(sound),
        sound_format="wav" if sound is None else sound.get("format") or "wav",
    )


def _read_sound(chat: Body) -> Body | None:
    """Return how an answer is to sound; None if it is written. Dialects without sound let anything stand there."""
    modalities = chat.get("modalities")
    if not isinstance(modalities, list) or "audio" not in modalities:
        return None
    stated = chat.get("audio")
    return stated if isinstance(stated, dict) else {}


def _name_voice(sound: Body) -> str:
    """Return the name of a voice, or the id of one that the user has made."""
    voice = sound.get("voice") or USUAL_VOICE
    name: str = voice["id"] if isinstance(voice, dict) else voice
    return name


_TYPED_CHAT = TypedModel(ChatBody, texts=("tools",))
_TYPED_TOOLS = TypedModel(shape(tools=optional(list_of(ChatTool))))
_NO_OFFER = _Offer()
_OFFERS = _Offers(most=1 << 24)
_SPEAKING = frozenset(("user", "system", "developer"))  # roles whose messages have only content and a name
_besides_calls = attrgetter("name", "function_call", "audio", "refusal")
_ONLY_CALLS = (UNSET,) * 4
_IDS = ("id", "tool_call_id")
_CHOICES = frozenset(("tool_choice", "function_call"))


def make_chat_operation(
    parse: Callable[[HttpRequest, Validation], Call], layout: ChatLayout, lines: RequestLines, model: str = ""
) -> Operation:
    """Return the chat operation of a dialect; `model` answers requests that name none."""

    renderer = ChatRenderer(layout)

    def render(call: Call, answer: Answer) -> Reply:
        answer = answer if answer.model or not model else replace(answer, model=model)
        return make_answer_reply(answer, renderer, call.options, lines(call.http, call), stream=call.stream)

    shown = layout.shows_reasoning
    return Operation("chat", "POST", "/chat/completions", parse=parse, render=render, shows_reasoning=shown)


def read_max_tokens(chat: Body) -> int | None:
    """Return how many tokens an answer may have, by the new name of the field or the old; None if it has no limit."""
    most = chat.get("max_completion_tokens")
    if most is None:
        most = chat.get("max_tokens")
    return None if most is None else max(most, 0)


def _read_message(message: Body) -> Message:
    role = message["role"]
    content = message.get("content")
    if isinstance(content, str) and role in ("user", "system", "developer"):
        return Message(role, content, name=message.get("name"))
    text: str | None = content
    parts: tuple[Body, ...] = ()
    if isinstance(content, list):
        text = "".join([_read_text(part) for part in content])
        parts = tuple([_simplify_image(part) for part in content if part["type"] not in _TEXTUAL])
    return Message(
        role,
        text or message.get("refusal") or "",
        parts=parts,
        tool_calls=() if _CALLING.isdisjoint(message) else _list_earlier_calls(message),
        tool_call_id=message.get("tool_call_id"),
        name=message.get("name"),
    )


def _read_text(part: Body) -> str:
    if part["type"] not in _TEXTUAL:
        return ""
    text: str = part.get("text") or part.get("refusal") or part.get("content") or ""
    return text


def _simplify_image(part: Body) -> Body:
    if "content" not in part:
        return part
    image = {"url": part["content"], "detail": part.get("detail")}
    return {"type": "image_url", "image_url": {key: value for key, value in image.items() if value is not None}}


def _list_earlier_calls(message: Body) -> tuple[ToolCall, ...]:
    calls = [_read_earlier_call(call) for call in message.get("tool_calls") or ()]
    if old := message.get("function_call"):
        calls.append(ToolCall("", old["name"], old["arguments"]))
    return tuple(calls)


def _read_earlier_call(call: Body) -> ToolCall:
    if call["type"] == "custom":
        return ToolCall(call["id"], call["custom"]["name"], call["custom"]["input"], kind="custom")
    function = call["function"]
    return ToolCall(call.get("id") or "", function["name"], function["arguments"])


def _read_tools(body: Body) -> tuple[Tool, ...]:
    offered = body.get("tools")
    functions = body.get("functions")
    if not offered and not functions:
        return ()
    tools = [make_tool(tool["type"], tool[tool["type"]]) for tool in offered or ()]
    return (*tools, *(make_tool("function", function) for function in functions or ()))


def make_tool(kind: str, tool: Body) -> Tool:
    """Return a tool that the client runs, function or custom; `tool` has its name, description and parameters."""
    about = tool.get("description")
    parameters = tool.get("parameters")
    return Tool(
        str(tool.get("name")),
        description=about if isinstance(about, str) else "",
        parameters=parameters if isinstance(parameters, dict) else None,
        kind=kind,
        strict=tool.get("strict") is True,
        grammar=_read_grammar(tool.get("format")),
    )


def _read_grammar(form: Json) -> Grammar | None:
    match form:
        case {"type": "grammar", "grammar": {"syntax": str(syntax), "definition": str(definition)}} | {
            "type": "grammar",
            "syntax": str(syntax),
            "definition": str(definition),
        }:
            return Grammar(syntax, definition)
    return None


def _read_tool_choice(body: Body, tools: tuple[Tool, ...]) -> ToolChoice:
    choice = body.get("tool_choice")
    if choice is None:
        choice = body.get("function_call")
    match choice:
        case None:
            return _AUTO if tools else _NONE
        case str():
            return ToolChoice(choice)
        case {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": names}}:
            return ToolChoice(mode, tuple(name for name in map(find_tool_name, names) if name))
        case _:
            return ToolChoice("named", (find_tool_name(choice),))


def find_tool_name(tool: Body) -> str:
    """Return the name of a tool, or of a choice of one, which may be in an object of its type; empty without one."""
    kind = tool.get("type")
    inner = tool.get(kind, tool) if isinstance(kind, str) else tool
    name = inner.get("name") if isinstance(inner, dict) else None
    return name if isinstance(name, str) else ""


def read_stop_sequences(stop: Json) -> tuple[str, ...]:
    """Return the texts of `stop`, which is a text, a list of texts or null."""
    return () if stop is None else (stop,) if isinstance(stop, str) else tuple(stop)


def find_chat_meaning(body: Body, dialect: str) -> dict[str, Json]:
    """Return the fields that could change the answer: no transport, no bookkeeping, no ids.

    JSON Schemas become text, as a model writes keys in their order.
    """
    tools = _reduce_tools_to_meaning(body.get("tools"))
    return _reduce_to_meaning(body, _number_ids(body["messages"]), tools=tools, dialect=dialect)


def _reduce_to_meaning(fields: Body, messages: list[Any], *, tools: Json, dialect: str) -> dict[str, Json]:
    kept = find_meaning(fields, dialect, "chat")
    kept["messages"] = messages
    if tools:
        kept["tools"] = tools
    if functions := kept.get("functions"):
        kept["functions"] = [write_schema(function, "parameters") for function in functions]
    answer = kept.get("response_format")
    if answer and answer.get("type") == "json_schema" and answer.get("json_schema"):
        kept["response_format"] = {**answer, "json_schema": write_schema(answer["json_schema"], "schema")}
    return kept


def _reduce_tools_to_meaning(tools: Sequence[Body] | None) -> list[Body]:
    return [
        {**tool, "function": write_schema(tool["function"], "parameters")} if tool["type"] == "function" else tool
        for tool in tools or ()
    ]


def write_schema(holder: Body, key: str) -> Body:
    """Return an object with the JSON Schema at this key as a text of JSON, if there is one."""
    return {**holder, key: encode(holder[key]).decode()} if holder.get(key) is not None else holder


def _number_ids(messages: Sequence[Body]) -> list[Body]:
    """Replace the ids of calls, which clients make up, by ordinals."""
    ordinals: dict[str, str] = {}
    return [
        message if _WITH_IDS.isdisjoint(message) else _number_ids_of_message(message, ordinals) for message in messages
    ]


def _number_ids_of_message(message: Body, ordinals: dict[str, str]) -> Body:
    renamed = replace_ids(message, ordinals)
    if isinstance(calls := message.get("tool_calls"), list):
        renamed["tool_calls"] = [replace_ids(call, ordinals) if isinstance(call, dict) else call for call in calls]
    if isinstance(audio := message.get("audio"), dict):
        renamed["audio"] = replace_ids(audio, ordinals)
    return renamed


def replace_ids(holder: Body, ordinals: dict[str, str], keys: Iterable[str] = _IDS) -> dict[str, Json]:
    """Return an object in which the ids at these keys are replaced by ordinals, in the order of their first use.

    `ordinals` has those of the ids that were seen before, and gets the new ones.
    """
    renamed = dict(holder)
    for key in keys:
        if isinstance(name := holder.get(key), str):
            renamed[key] = ordinals.setdefault(name, f"#{len(ordinals)}")
    return renamed


def find_chat_conflicts(body: Body) -> Iterator[Complaint]:
    """Yield fields that exclude or need each other, and messages without content."""
    if not _CONFLICTING.isdisjoint(body):
        yield from _find_conflicts_of_fields(body)
    yield from find_empty_messages(body["messages"])


def _find_conflicts_of_fields(body: Body) -> Iterator[Complaint]:
    yield from find_unmet_stream_options(body)
    if body.get("top_logprobs") is not None and not body.get("logprobs"):
        yield complain("'top_logprobs' is only allowed when 'logprobs' is true.", "top_logprobs")
    if body.get("max_completion_tokens") is not None and body.get("max_tokens") is not None:
        both = "'max_tokens' and 'max_completion_tokens'"
        yield complain(f"Setting {both} at the same time is not supported.", "max_tokens")
    yield from find_unmet_tool_choice(body)


def find_unmet_stream_options(body: Body) -> Iterator[Complaint]:
    """Yield a complaint if there are options of a stream, but no stream is asked for."""
    if body.get("stream_options") is not None and not body.get("stream"):
        message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        yield complain(message, "stream_options")


def find_unmet_tool_choice(body: Body) -> Iterator[Complaint]:
    """Yield complaints about `tool_choice` and `function_call` that need tools which the body does not offer."""
    choice = body.get("tool_choice")
    if choice is not None and choice not in ("none", "auto"):
        yield from _find_unmet_choice(body, "tool_choice", offers="tools", wanted=_list_chosen_names(choice))
    old = body.get("function_call")
    if isinstance(old, dict):
        yield from _find_unmet_choice(body, "function_call", offers="functions", wanted=(find_tool_name(old),))


def _list_chosen_names(choice: Json) -> tuple[str, ...]:
    if isinstance(choice, str):
        return ()
    if choice["type"] == "allowed_tools":
        return tuple(find_tool_name(tool) for tool in choice["allowed_tools"]["tools"])
    return (find_tool_name(choice),)


def _find_unmet_choice(body: Body, field: str, *, offers: str, wanted: Iterable[str] = ()) -> Iterator[Complaint]:
    """Yield a complaint if the body has no tools in the field `offers`, or they lack one of the `wanted` names."""
    why = f"'{field}' is only allowed when '{offers}' are specified." if not body.get(offers) else None
    names = {find_tool_name(tool) for tool in body.get(offers) or ()}
    for name in wanted:
        if why is None and name not in names:
            why = f"'{clip(name)}' is not found in the '{offers}' parameter."
    if why is not None:
        yield Complaint("conflict", (field,), got=body[field], message=f"Invalid value for '{field}': {why}")


def find_empty_messages(messages: Iterable[Body]) -> Iterator[Complaint]:
    """Yield messages of the assistant that have neither content nor calls."""
    for index, message in enumerate(messages):
        if message["role"] != "assistant" or message.get("content") is not None or message.get("tool_calls"):
            continue
        if not any(message.get(key) for key in _CONTENT_KEYS):
            yield Complaint(
                "conflict",
                ("messages", index, "content"),
                message="Invalid value for 'content': expected a string, got null.",
                param=f"messages.[{index}].content",
            )


def find_live_chat_mistakes(
    _: HttpRequest,
    body: Body,
    find_unknown: Callable[[Body, frozenset[str]], Iterable[Complaint]] = find_unknown_fields,
) -> Iterator[Complaint]:
    """Yield what OpenAI's live API refuses although its published schema allows it.

    `find_unknown` yields complaints about fields that are not among these.
    """
    yield from find_unknown(body, CHAT.fields)
    if not body["model"]:
        yield complain("you must provide a model parameter", "model")
    yield from list_complaints(LIVE_CHAT, body)
    if body.get("tool_choice") == "auto" and not body.get("tools"):
        yield from _find_unmet_choice(body, "tool_choice", offers="tools")
    if body.get("parallel_tool_calls") is not None and not body.get("tools"):
        yield from _find_unmet_choice(body, "parallel_tool_calls", offers="tools")
    if body.get("metadata") and body.get("store") is not True:
        yield complain("The 'metadata' parameter is only allowed when 'store' is enabled.", "metadata")
    for key in body.get("logit_bias") or ():
        if not key.isdecimal():
            message = f"Invalid key in 'logit_bias': {clip(key)}. You should only be submitting non-negative integers."
            yield complain(message, "logit_bias")
    yield from find_unanswered_calls(body["messages"])
    for at, tool in enumerate(body.get("tools") or ()):
        yield from find_refused_function(tool.get("function") or {}, "tools", at, "function")
    for at, function in enumerate(body.get("functions") or ()):
        yield from find_refused_function(function, "functions", at)
    yield from _find_media_mistakes(body)
    form = body.get("response_format") or {}
    yield from _find_unknown_of_format(form)
    yield from find_refused_format(form.get("json_schema") or {}, "response_format")
    yield from find_missing_word_json(form, body)


def _find_unknown_of_format(form: Body) -> Iterator[Complaint]:
    for key in find_unknown_keys(form, _FORMAT_KEYS):
        yield Complaint("unknown", ("response_format", key))
    for key in find_unknown_keys(form.get("json_schema") or {}, _JSON_SCHEMA_KEYS):
        yield Complaint("unknown", ("response_format", "json_schema", key))


def _find_media_mistakes(body: Body) -> Iterator[Complaint]:
    """Yield sounds and searches that OpenAI's own models do not take, images that are no pictures, speech in no format.

    Only samples can be streamed.
    """
    is_known = _OPENAI_MODEL.match(body["model"]) is not None
    if "audio" in (body.get("modalities") or ()):
        sound = body.get("audio")
        if sound is None:
            yield Complaint("missing", ("audio",))
        elif body.get("stream") and sound["format"] != SAMPLES:
            yield complain(_UNSTREAMED.format(sound["format"]), "audio", "format")
    if body.get("web_search_options") is not None and is_known and "search" not in body["model"]:
        yield complain("Web search options not supported with this model.", "web_search_options")
    for at, message in enumerate(body["messages"]):
        content = message.get("content")
        for index, part in enumerate(content if isinstance(content, list) else ()):
            kind = part["type"]
            path = ("messages", at, "content", index, kind)
            if kind == "input_audio" and is_known and "audio" not in body["model"]:
                yield Complaint("value", ("messages", at), message=_WITHOUT_SOUND.format(at))
            elif kind == "image_url":
                url = part["image_url"]["url"]
                yield from find_wrong_chat_image(url, (*path, "url"))
                if not _may_be_picture(url):
                    yield Complaint("image", (), message=_NO_PICTURE)
            elif kind == "file":
                yield from find_wrong_chat_file(part["file"].get("file_data"), (*path, "file_data"))


def _may_be_picture(url: str) -> bool:
    """Return whether a URL is not a data URL, or has data that begin like a picture that models take."""
    if not url.startswith("data:"):
        return True
    try:
        data = b64decode(url.partition(",")[2][:64])
    except ValueError:
        return False
    return recognize(data) in ("image/png", "image/jpeg", "image/gif", "image/webp")


_WITHOUT_JSON = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."


def find_missing_word_json(
    form: Body, body: Body, refusal: str = _WITHOUT_JSON, *, field: str = "messages"
) -> Iterator[Complaint]:
    """Yield a complaint about a conversation without the word "json", which the live API requires for `json_object`."""
    if form.get("type") == "json_object" and "json" not in compact(body.get(field)).lower():
        yield complain(refusal, field)


class ResultWords(NamedTuple):
    """What a provider says of a tool message without a call, and of calls (`{ids}`) without tool messages.

    `twice` is what it says of another result of a call (`{where}`); without it, that is accepted.
    """

    stray: str
    unanswered: str
    twice: str | None = None


def find_unanswered_calls(messages: Iterable[Body], words: ResultWords | None = None) -> Iterator[Complaint]:
    """Yield tool calls without a tool message right after them, and tool messages without a call or with another's.

    Without `words`, they are OpenAI's.
    """
    words = words or _RESULT_WORDS
    asked: Collection[str] = ()
    waiting: dict[str, int] = {}  # how many results these ids still need
    answered: dict[str, int] = {}  # the message that has the result of an id
    at = index = 0
    for index, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            name = message["tool_call_id"]
            if name not in asked:
                yield _complain_of_message(words.stray, index)
            elif name not in waiting:
                if words.twice is not None:
                    where = f"'{clip(name)}', in messages[{answered[name]}] and messages[{index}]"
                    yield _complain_of_message(words.twice.format(where=where), index, key="tool_call_id")
            elif waiting[name] == 1:
                del waiting[name]
            else:
                waiting[name] -= 1
            answered[name] = index
        elif waiting:
            break
        else:
            asked = ()
            answered.clear()
            at = index
            if role == "assistant" and (calls := message.get("tool_calls")):  # elsewhere, it is any field
                for call in calls:
                    waiting[call["id"]] = waiting.get(call["id"], 0) + 1
                asked = frozenset(waiting)
    if unanswered := [name for name, count in waiting.items() for _ in range(count)]:
        text = words.unanswered.format(ids=clip(", ".join(unanswered)))
        # OpenAI names the message that stands in place of a result, if there is one.
        yield Complaint("conflict", ("messages", at), message=text, param=f"messages.[{index}].role")


def _complain_of_message(message: str, index: int, key: str = "role") -> Complaint:
    return Complaint("conflict", ("messages", index), message=message, param=f"messages.[{index}].{key}")


def _are_answered(messages: Iterable[Message]) -> bool:
    """Return whether each call has a name, an id of a valid length, and exactly one result right after it."""
    waiting = set[str]()
    for message in messages:
        if message.role == "tool":
            if message.tool_call_id not in waiting:
                return False
            waiting.remove(message.tool_call_id)
        elif waiting:
            return False
        else:
            for call in message.tool_calls:
                if not call.name or len(call.id) > MAX_CALL_ID or call.id in waiting:
                    return False
                waiting.add(call.id)
    return not waiting


_USUAL, _ASKING = find_usual(_read_options)
_, _CONFLICTING = find_usual(lambda body: [*_find_conflicts_of_fields(body)])
_AUTO = ToolChoice("auto")
_NONE = ToolChoice("none")
_ASKED_NOTHING = _read_asked({}, ())
_TEXTUAL = frozenset({"text", "refusal"})
_CALLING = frozenset({"tool_calls", "function_call"})
_WITH_IDS = frozenset({"id", "tool_call_id", "tool_calls", "audio"})
_FORMAT_KEYS = frozenset({"type", "json_schema"})
_JSON_SCHEMA_KEYS = frozenset({"name", "description", "schema", "strict"})
_CONTENT_KEYS = ("function_call", "refusal", "audio")
_OPENAI_MODEL = re.compile(r"gpt-\d|chatgpt-|o\d")
_WITHOUT_SOUND = "Invalid 'messages[{}]'. Content blocks are expected to be either text or image_url type."
_NO_PICTURE = (
    "You uploaded an unsupported image. "
    "Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp']."
)
_UNSTREAMED = "'audio.format' does not support '{}' when stream=true. Supported values are: 'pcm16'."
_RESULT_WORDS = ResultWords(
    stray="Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    unanswered=(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The following tool_call_ids did not have response messages: {ids}"
    ),
    twice="Invalid parameter: Duplicate value for 'tool_call_id' of {where}.",
)
