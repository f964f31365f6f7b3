"""Which fields of a body mean something: neither bookkeeping, nor those that state what the provider defaults to."""

from collections.abc import Callable, Collection, Mapping

from mockserver.core.json import Json

Fields = Mapping[str, Json]
BOOKKEEPING = frozenset(
    (
        *("stream", "stream_options", "user", "safety_identifier", "metadata", "store", "service_tier"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"),
    )
)


def fields_with_meaning(
    body: Fields, dialect: str, operation: str, bookkeeping: Collection[str] = BOOKKEEPING
) -> dict[str, Json]:
    return _beyond_defaults(body, DEFAULTS.get((dialect, operation), {}), bookkeeping)


def _beyond_defaults(fields: Fields, defaults: Fields, bookkeeping: Collection[str] = ()) -> dict[str, Json]:
    kept = {key: value for key, value in fields.items() if value is not None and key not in bookkeeping}
    for key in defaults.keys() & kept.keys():
        value, default = kept[key], defaults[key]
        if callable(default):
            default = default(fields)
        if isinstance(value, dict) and isinstance(default, dict):
            value = kept[key] = _beyond_defaults(value, default)
            default = {}
        if value == default and isinstance(value, bool) == isinstance(default, bool):
            del kept[key]
    return kept


def _auto_with(offers: str) -> Callable[[Fields], str]:
    return lambda body: "auto" if body.get(offers) else "none"


_TEXT_FORMAT = {"type": "text", "json_schema": {"strict": False}}
_SAMPLING = {"temperature": 1, "top_p": 1, "n": 1, "frequency_penalty": 0, "presence_penalty": 0}
_TOOLS = {
    "tool_choice": _auto_with("tools"),
    "function_call": _auto_with("functions"),
    "parallel_tool_calls": True,
}
_CHAT = {
    **_SAMPLING,
    **_TOOLS,
    "logprobs": False,
    "response_format": _TEXT_FORMAT,
    "modalities": ["text"],
    "verbosity": "medium",
}
_COMPLETION = {**_SAMPLING, "best_of": 1, "echo": False, "max_tokens": 16}
_RESPONSES = {
    "temperature": 1,
    "top_p": 1,
    "top_logprobs": 0,
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "truncation": "disabled",
    "reasoning": {},
    "text": {"format": {"type": "text", "strict": False}, "verbosity": "medium"},
}
_FIREWORKS = {
    "n": 1,
    "logprobs": False,
    "echo": False,
    "ignore_eos": False,
    "context_length_exceeded_behavior": "truncate",
    "response_format": {"type": "text"},
    "prediction": {"type": "content"},
}
# The documented defaults by dialect and operation, with those of the keys of a table; of a field whose default depends
# on other fields, a function of the body.
DEFAULTS: Mapping[tuple[str, str], Fields] = {
    ("azure", "chat"): _CHAT,
    ("azure_openai", "chat"): _CHAT,
    ("azure_openai", "completions"): _COMPLETION,
    ("azure_openai", "responses"): _RESPONSES,
    ("crazyrouter", "chat"): _CHAT,
    ("fireworks", "chat"): {**_FIREWORKS, **_TOOLS},
    ("fireworks", "completions"): _FIREWORKS,
    ("openai", "chat"): _CHAT,
    ("openai", "completions"): _COMPLETION,
    ("openai", "responses"): _RESPONSES,
    ("skytells", "chat"): {**_CHAT, "temperature": 0.7, "top_p": 0.95, "max_tokens": 8192},
    ("tzafon", "chat"): {**_CHAT, "top_logprobs": 0, "ignore_eos": False},
    ("tzafon", "responses"): {**_RESPONSES, "skip_special_tokens": True, "include_stop_str_in_output": False},
}
