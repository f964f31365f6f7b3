"""Chats of the hosts as Calls. Their schemas are OpenAI's with more values, and other keys are let through."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json, find_in, try_parse
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._fields import (
    BodyModel,
    Object,
    Schema,
    fields_of,
    integer,
    label_member,
    list_of,
    literal,
    mapping,
    not_null,
    nullable,
    number,
    open_shape,
    optional,
    shape,
    tag_union,
    text_or,
    union,
)
from mockserver.dialects._openai_api.chat import find_chat_conflicts, make_chat_call
from mockserver.dialects._openai_api.chat_bodies import (
    AudioId,
    ChatBody,
    ChatToolCall,
    ChatToolChoice,
    FunctionCall,
    RefusalPart,
    TextPart,
    make_chat_model,
)
from mockserver.dialects._openai_api.completions import CompletionBody
from mockserver.dialects._openai_api.completions import parse_completion as parse_openai_completion
from mockserver.dialects._openai_api.embeddings import parse_embeddings as parse_openai_embeddings
from mockserver.dialects._parse import Body, Complaint, complain, read_request, refuse_first
from mockserver.dialects._replay import History, refuse_history
from mockserver.dialects.compatible.checks import Chat
from mockserver.dialects.compatible.hosts import MAX_CHOICES, Host

NAME = "compatible"

# Parts that some of the hosts take: vLLM and OpenRouter have videos, OpenRouter marks parts for its cache.
_MEDIA = literal(
    "image_url",
    "input_audio",
    "file",
    "video_url",
    "audio_url",
    "input_video",
    "image_embeds",
    "file_url",
    "pdf_url",
)
UserPart = tag_union("type", TextPart, open_shape(type=_MEDIA))
AssistantPart = tag_union("type", TextPart, RefusalPart, open_shape(type=literal("thinking", "reasoning")))
UserContent = text_or("<an array of objects>", list_of(UserPart))
TextContent = text_or("<an array of objects>", list_of(TextPart))
AssistantContent = text_or("<an array of objects>", list_of(AssistantPart))
AssistantMessage = shape(
    role=literal("assistant"),
    content=optional(AssistantContent),
    refusal=optional(str),
    name=optional(str),
    audio=optional(AudioId),
    tool_calls=optional(list_of(ChatToolCall)),
    function_call=optional(FunctionCall),
    reasoning_content=optional(str),
    reasoning=optional(str),
)
RequestMessage = tag_union(
    "role",
    shape(role=literal("system", "developer"), content=TextContent, name=optional(str)),
    shape(role=literal("user"), content=UserContent, name=optional(str)),
    AssistantMessage,
    shape(role=literal("function"), content=nullable(str), name=str),
    shape(role=literal("tool"), content=UserContent, tool_call_id=str),
)
_OPENROUTER_TOOLS = [
    f"openrouter:{name}"
    for name in ("web_search", "web_fetch", "datetime", "image_generation", "apply_patch", "fusion", "advisor")
]
_FunctionDefinition = shape(name=str, description=optional(str), parameters=optional(Object), strict=optional(bool))
Tool = tag_union(
    "type",
    shape(type=literal("function"), function=_FunctionDefinition),
    shape(type=literal("custom"), custom=shape(name=str)),
    # those that the hosts run themselves
    open_shape(
        type=literal("mcp", "live_search", "web_search", "browser_search", "code_interpreter", *_OPENROUTER_TOOLS)
    ),
)
ResponseFormat = shape(
    type=literal("text", "json", "json_object", "json_schema", "structural_tag", "grammar", "regex"),
    json_schema=optional(shape(name=not_null(str), schema=optional(Object), strict=optional(bool))),
)
_OPENAI_FIELDS = (
    "max_tokens", "max_completion_tokens", "stream", "logprobs", "parallel_tool_calls", "temperature", "seed",
    "functions", "function_call", "frequency_penalty", "presence_penalty",
)  # fmt: skip
_CHAT_BODY = shape(
    messages=list_of(RequestMessage, 1),
    model=not_null(str),
    **fields_of(ChatBody, *_OPENAI_FIELDS),
    n=optional(integer(1, MAX_CHOICES)),
    top_p=optional(float),
    top_k=optional(float),
    top_logprobs=optional(integer(0, 20)),
    stop=optional(text_or("<an array of strings>", list_of(str))),
    stream_options=optional(shape(include_usage=optional(bool), continuous_usage_stats=optional(bool))),
    response_format=optional(ResponseFormat),
    tools=optional(list_of(Tool)),
    tool_choice=optional(ChatToolChoice),
    logit_bias=optional(mapping(float)),
    reasoning_effort=optional(str),
    verbosity=optional(str),
    service_tier=optional(str),
    reasoning=optional(Object),
    reasoning_format=optional(literal("parsed", "raw", "hidden")),
    include_reasoning=optional(bool),
    thinking=optional(Object),
    models=optional(list_of(str)),
    user=optional(str),
)
CHAT = make_chat_model(_CHAT_BODY)


def _make_own_model(**fields: Schema) -> BodyModel:
    """Return the model of a host whose chats have other types of these fields."""
    return make_chat_model({**_CHAT_BODY, "fields": {**_CHAT_BODY["fields"], **shape(**fields)["fields"]}})


# Models of chats where a host has other types of fields.
_OWN_MODELS: Mapping[str, BodyModel] = {
    # It reads how many alternatives to show: https://docs.together.ai/docs/inference/chat/logprobs
    "together": _make_own_model(
        logprobs=optional(union(label_member("<a boolean>", bool), label_member("<an integer>", integer(0, 20))))
    ),
    # They take any temperature from 0 on.
    **dict.fromkeys(("vllm", "lmstudio"), _make_own_model(temperature=optional(number(0)))),
    # It reads only text: https://api-docs.deepseek.com/api/create-chat-completion
    "deepseek": _make_own_model(
        messages=list_of(
            tag_union(
                "role",
                shape(role=literal("system", "user"), content=TextContent, name=optional(str)),
                AssistantMessage,
                shape(role=literal("tool"), content=TextContent, tool_call_id=str),
                shape(role=literal("latest_reminder"), content=TextContent),
            ),
            1,
        )
    ),
}


def make_parse_chat(host: Host, history: History | None) -> Callable[[HttpRequest, Validation], Call]:
    """Return the function that parses the chats of a host; its live service also refuses what `history` finds."""
    refuse = host.errors.refuse
    model = _OWN_MODELS.get(host.kin, CHAT)

    def parse(http: HttpRequest, validation: Validation) -> Call:
        body, chat = read_request(model, http, refuse=refuse, validation=validation)
        if type(most := chat.get("logprobs")) is int:
            chat = {**chat, "logprobs": most > 0, **({"top_logprobs": most} if most else {})}
        if validation is not Validation.OFF:
            is_live = validation is Validation.LIVE
            asked = Chat(body, model=_find_model(body), thinks=does_think(host.thinks, body), is_live=is_live)
            refuse_first(host.check(asked), refuse)
            # That both limits exclude each other is OpenAI's own rule.
            refuse_first(find_chat_conflicts({**chat, "max_tokens": None}), refuse)
            refuse_first(_find_own_conflicts(host, chat), refuse)
        restated = _restate_schema(body)
        known = {**chat, "model": _find_model(chat), **restated}
        if chat.get("tools"):
            known["tools"] = [tool for tool in chat["tools"] if tool["type"] in ("function", "custom")]
        call = make_chat_call(http, {**body, **restated} if restated else body, known, dialect=NAME)
        options = call.options
        effort = _find_effort(host, chat)
        if effort != options.effort or host.adapts or host.keeps_chats:
            store = options.store or host.keeps_chats
            options = replace(options, effort=effort, is_adapted=host.adapts, store=store)
        call = replace(
            call,
            host=host.name,
            raw=body,
            meaning=_place_meaning(call.meaning, host),
            options=options,
            ids=host.ids,
            tool_call_ids=host.call_ids,
        )
        if validation is Validation.LIVE and history is not None:
            refuse_history(history, call)
        return call

    return parse


def _find_own_conflicts(host: Host, chat: Body) -> Iterator[Complaint]:
    if not _find_model(chat):
        yield Complaint("missing", ("model",))
    if (chat.get("n") or 1) > host.most_choices:
        yield Complaint("above", ("n",), got=chat["n"], bound=host.most_choices)
    for key in host.unsupported:
        if chat.get(key):
            yield Complaint("unknown", (key,))
    if chat.get("reasoning_format") is not None and chat.get("include_reasoning") is not None:
        message = "cannot specify both `reasoning_format` and `include_reasoning`"
        yield complain(message, "reasoning_format")


def _find_model(chat: Body) -> str:
    """Return the model of a request; OpenRouter's may have only a list of them."""
    return chat.get("model") or next(iter(chat.get("models") or ()), "")


def _restate_schema(body: Body) -> Body:
    """Return OpenAI's `response_format` for a JSON Schema that a body has in another place; empty without one.

    Together and llama.cpp read `response_format.schema`, Hugging Face's servers `response_format.value`, vLLM
    `structured_outputs.json` (before 0.12: `guided_json`).
    """
    if _WITH_SCHEMAS.isdisjoint(body):
        return {}
    form = body.get("response_format")
    for given in (
        form.get("schema", form.get("value")) if isinstance(form, dict) and form.get("type") in _JSON_FORMATS else None,
        find_in(body, "structured_outputs", "json"),
        body.get("guided_json"),
    ):
        schema = try_parse(given) if isinstance(given, str) else given
        if isinstance(schema, dict):
            return {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}}
    return {}


_WITH_SCHEMAS = frozenset(("response_format", "structured_outputs", "guided_json"))
_JSON_FORMATS = ("json", "json_object", "json_schema")


def _find_effort(host: Host, chat: Body) -> str | None:
    """Return how much the model is to think; None if the request does not say, and the model does not think unasked."""
    if (effort := chat.get("reasoning_effort")) is not None:
        return str(effort)
    reasoning = chat.get("reasoning")
    if isinstance(reasoning, dict) and reasoning:
        if reasoning.get("enabled") is False:
            return "none"
        return effort if isinstance(effort := reasoning.get("effort"), str) else "medium"
    thinks = does_think(host.thinks, chat)
    return None if thinks is None else "medium" if thinks else "none"


def does_think(models: Sequence[str], chat: Body) -> bool | None:
    """Return whether DeepSeek's fields turn thinking on or off, or, without them, whether its model thinks unasked.

    The names of models that do begin like one of `models`; for others, return None.
    """
    thinking = chat.get("thinking")
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if kind in ("enabled", "disabled"):
        return bool(kind == "enabled")
    model = chat.get("model")
    return True if models and isinstance(model, str) and model.startswith(tuple(models)) else None


# Hosts take fractions where OpenAI takes whole numbers.
COMPLETION = BodyModel(shape(**{**CompletionBody["fields"], "logit_bias": optional(mapping(float))}))


def parse_completion(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a completion, without the rules of OpenAI's live service. Raises Failure."""
    return parse_openai_completion(http, NAME, {}, validation=_drop_live_rules(validation), model=COMPLETION)


def parse_embeddings(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of texts to embed. Raises Failure."""
    return parse_openai_embeddings(http, NAME, {}, validation=validation, is_open=True)


def _drop_live_rules(validation: Validation) -> Validation:
    return Validation.PUBLISHED if validation is Validation.LIVE else validation


def drop_openai_rules(usual: Operation) -> Operation:
    """Return an operation of OpenAI's without what only OpenAI has: rules of its live service, and codes of errors."""

    def parse(http: HttpRequest, validation: Validation) -> Call:
        try:
            return usual.parse(http, _drop_live_rules(validation))
        except Failure as failure:
            raise failure.replace(code=None) from None

    return replace(usual, parse=parse, over_socket="")


def place_operations(host: Host, operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """Return operations whose calls name this host: equal calls of other hosts get other answers."""

    def place(operation: Operation) -> Operation:
        def parse(http: HttpRequest, validation: Validation) -> Call:
            call = operation.parse(http, validation)
            return replace(call, host=host.name, meaning=_place_meaning(call.meaning, host))

        return replace(operation, parse=parse)

    return tuple(map(place, operations))


def _place_meaning(meaning: Json, host: Host) -> Body:
    return {"host": host.name, **(meaning if type(meaning) is dict else {"said": meaning})}
