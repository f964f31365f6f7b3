"""What hosts refuse in chats besides mistakes of types, each in its own words.

Each function yields first what the host's documentation excludes, then, with `validation: live`, what users have
reported of the service. What depends on earlier turns is in `replay.py`.
"""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from mockserver.dialects._openai_api.chat import find_missing_word_json
from mockserver.dialects._parse import Body, Complaint, complain, find_unknown_fields


class Chat(Struct, frozen=True):
    """The body of a chat as it was sent, the model that is asked, and whether it thinks (None: unknown)."""

    body: Body
    model: str
    thinks: bool | None
    is_live: bool


Check = Callable[[Chat], Iterator[Complaint]]


def check_nothing(chat: Chat) -> Iterator[Complaint]:
    """Yield nothing, for a host that refuses mistakes of types only."""
    return iter(())


def check_deepseek(chat: Chat) -> Iterator[Complaint]:
    """Yield what DeepSeek refuses.

    https://api-docs.deepseek.com/api/create-chat-completion, https://api-docs.deepseek.com/guides/thinking_mode
    """
    body = chat.body
    for at, message in enumerate(body["messages"]):
        if message["role"] == "assistant" and message.get("content") is None and not message.get("tool_calls"):
            yield complain("Invalid assistant message: content or tool_calls must be set", "messages", at)
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        yield complain("This response_format type is unavailable now", "response_format")
    if chat.thinks and body.get("tool_choice") not in (None, "none", "auto"):
        yield complain("Thinking mode does not support this tool_choice", "tool_choice")
    if not chat.is_live:
        return
    yield from find_missing_word_json(form, body, _WITHOUT_JSON)
    most = _DEEPSEEK_LIMITS.get(chat.model, _DEEPSEEK_LIMIT)
    asked = body.get("max_tokens")
    if asked is not None and not 1 <= asked <= most:
        yield complain(f"Invalid max_tokens value, the valid range of max_tokens is [1, {most}]", "max_tokens")


_DEEPSEEK_LIMIT = 393_216  # tokens of an answer
_DEEPSEEK_LIMITS = {"deepseek-chat": 8192, "deepseek-reasoner": 65_536}
_WITHOUT_JSON = "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."


def check_groq(chat: Chat) -> Iterator[Complaint]:
    """Yield what Groq refuses.

    https://console.groq.com/docs/api-reference#chat-create, https://console.groq.com/docs/structured-outputs
    """
    if not chat.is_live:
        return
    body = chat.body
    yield from find_unknown_fields(body, _GROQ_FIELDS)
    for at, message in enumerate(body["messages"]):
        role = message["role"]
        for found in find_unknown_fields(message, _GROQ_MESSAGES[role]):
            loc = ("messages", at, role, *found.path)
            yield Complaint("unknown", ("messages", at, *found.path), got=found.got, loc=loc)
    form = body.get("response_format") or {}
    if form.get("type") == "json_object" and body.get("tools"):
        yield complain("json mode cannot be combined with tool/function calling", "response_format")
    yield from find_missing_word_json(form, body)
    is_llama = _LLAMA.search(chat.model) is not None
    if form.get("type") == "json_schema" and is_llama:
        message = (
            "This model does not support response format `json_schema`. See supported models at "
            "https://console.groq.com/docs/structured-outputs#supported-models"
        )
        yield Complaint("lacks", ("response_format",), message=message)
    for key in ("reasoning_effort", "reasoning_format"):
        if body.get(key) is not None and is_llama:
            yield Complaint("lacks", (key,), message=f"`{key}` is not supported with this model")
    if body.get("reasoning_effort") not in (None, "none", "default") and "qwen" in chat.model:
        yield complain("`reasoning_effort` must be one of `none` or `default`", "reasoning_effort")


# Fields of its client's types, and some that clients of OpenAI send and no report says are refused.
_GROQ_FIELDS = frozenset((
    "messages", "model", "citation_options", "compound_custom", "disable_tool_validation", "documents",
    "exclude_domains", "frequency_penalty", "function_call", "functions", "include_domains", "include_reasoning",
    "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "metadata", "n", "parallel_tool_calls",
    "presence_penalty", "reasoning_effort", "reasoning_format", "response_format", "search_settings", "seed",
    "service_tier", "stop", "store", "stream", "stream_options", "temperature", "tool_choice", "tools", "top_logprobs",
    "top_p", "user", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "verbosity",
))  # fmt: skip
_SPOKEN = frozenset(("role", "content", "name"))
# `reasoning_content` is left to the check of histories, which words it alike.
_GROQ_MESSAGES = {
    **dict.fromkeys(("system", "developer", "user", "function"), _SPOKEN),
    "assistant": _SPOKEN | {"tool_calls", "function_call", "reasoning", "reasoning_content"},
    "tool": _SPOKEN | {"tool_call_id"},
}
_LLAMA = re.compile("llama-?3")  # which neither thinks nor follows schemas


def check_xai(chat: Chat) -> Iterator[Complaint]:
    """Yield what xAI refuses, whose messages name fields in camelCase (https://docs.x.ai/docs/guides/reasoning)."""
    body = chat.body
    if not chat.is_live:
        return
    for key, models in _XAI_LACKS.items():
        if body.get(key) is not None and models.match(chat.model):
            yield complain(f"Model {chat.model} does not support parameter {_write_camel_case(key)}.", key)
    for at, message in enumerate(body["messages"]):
        if message.get("content") in (None, []) and not message.get("tool_calls"):
            words = "Invalid request content: Each message must have at least one content element."
            yield complain(words, "messages", at, "content")


def _write_camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


_PENALIZED = re.compile(r"grok-(?:3-mini|4|code|build)")
_XAI_LACKS = {
    "presence_penalty": _PENALIZED,
    "frequency_penalty": _PENALIZED,
    "stop": re.compile(r"grok-(?:3-mini|4(?!.*non-reasoning))"),
    "reasoning_effort": re.compile(r"grok-(?:3(?!-mini)|4-fast|4-1-fast|4\.20-(?!multi-agent)|code|build)"),
}


def check_cerebras(chat: Chat) -> Iterator[Complaint]:
    """Yield what Cerebras refuses (https://inference-docs.cerebras.ai/capabilities/structured-outputs)."""
    form = (chat.body.get("response_format") or {}).get("json_schema") or {}
    if chat.is_live and form.get("strict") is True and _is_open(form.get("schema")):
        message = "'additionalProperties' is required to be supplied and set to false."
        yield Complaint("schema", ("response_format",), message=message)


def _is_open(schema: object) -> bool:
    """Return whether an object somewhere in a JSON Schema may have more properties than it names."""
    if isinstance(schema, list):
        return any(map(_is_open, schema))
    if not isinstance(schema, dict):
        return False
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return True
    return any(map(_is_open, schema.values()))
