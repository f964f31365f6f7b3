"""Which fields of a body have a meaning: neither bookkeeping, nor equal to the provider's defaults."""

from collections.abc import Callable, Mapping, Set

from mockserver.core.json import Json

Body = Mapping[str, Json]
BOOKKEEPING = frozenset(
    (
        "stream", "stream_options", "user", "safety_identifier", "metadata", "store", "service_tier",
        "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
    )
)  # fmt: skip


def find_meaning(body: Body, dialect: str, operation: str, bookkeeping: Set[str] = BOOKKEEPING) -> dict[str, Json]:
    """Return the fields of a body that could change its answer: without bookkeeping, nulls and the defaults."""
    defaults = DEFAULTS.get((dialect, operation), {})
    if bookkeeping.isdisjoint(body) and defaults.keys().isdisjoint(body) and None not in body.values():
        return {**body}
    return drop_defaults(body, defaults, bookkeeping)


def drop_defaults(fields: Body, defaults: Body, bookkeeping: Set[str] = frozenset()) -> dict[str, Json]:
    """Return fields without bookkeeping, nulls and those that equal a default, also in the tables among them."""
    kept: dict[str, Json] = {}
    for key, value in fields.items():
        if value is None or key in bookkeeping:
            continue
        if key in defaults:
            default = defaults[key]
            if callable(default):
                default = default(fields)
            if isinstance(value, dict) and isinstance(default, dict):
                value = drop_defaults(value, default)
                default = {}
            if value == default and isinstance(value, bool) == isinstance(default, bool):
                continue
        kept[key] = value
    return kept


def _make_auto_default(offers: str) -> Callable[[Body], str]:
    return lambda body: "auto" if body.get(offers) else "none"


_SAMPLING = {"temperature": 1, "top_p": 1, "n": 1, "frequency_penalty": 0, "presence_penalty": 0}
_CHOICES = {"tool_choice": _make_auto_default("tools"), "function_call": _make_auto_default("functions")}
_TOOLS = {**_CHOICES, "parallel_tool_calls": True}
_CHAT = {
    **_SAMPLING,
    **_TOOLS,
    "logprobs": False,
    "modalities": ["text"],
    "verbosity": "medium",
    "response_format": {"type": "text", "json_schema": {"strict": False}},
}
_COMPLETION = {**_SAMPLING, "best_of": 1, "echo": False, "max_tokens": 16}
_RESPONSES = {
    "temperature": 1,
    "top_p": 1,
    "top_logprobs": 0,
    "truncation": "disabled",
    "reasoning": {},
    "tools": [],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "text": {"format": {"type": "text", "strict": False}, "verbosity": "medium"},
}
_FIREWORKS = {
    "n": 1,
    "logprobs": False,
    "echo": False,
    "ignore_eos": False,
    "prediction": {"type": "content"},
    "context_length_exceeded_behavior": "truncate",
    "response_format": {"type": "text"},
}
_GEMINI = {
    "generationConfig": {
        "temperature": 1,
        "topP": 0.95,
        "topK": 64,
        "candidateCount": 1,
        "presencePenalty": 0,
        "frequencyPenalty": 0,
        "responseMimeType": "text/plain",
        "responseModalities": ["TEXT"],
        "responseLogprobs": False,
        "thinkingConfig": {"includeThoughts": False, "thinkingBudget": -1},
    },
    "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    "tools": [],
    "safetySettings": [],
}
_OLLAMA = {
    "options": {
        "num_predict": -1,
        "temperature": 0.8,
        "top_k": 40,
        "top_p": 0.9,
        "typical_p": 1,
        "repeat_last_n": 64,
        "repeat_penalty": 1,
        "presence_penalty": 0,
        "frequency_penalty": 0,
        "seed": -1,
        "stop": [],
    },
    "tools": [],
    "format": "",
    "logprobs": False,
    "raw": False,
    "images": [],
    **dict.fromkeys(("suffix", "system", "template"), ""),
}
# The documented defaults by dialect and operation, with those of the keys of a table; of a field whose default depends
# on other fields, a function of the body.
DEFAULTS: Mapping[tuple[str, str], Body] = {
    **{(dialect, "chat"): _CHAT for dialect in ("azure", "azure_openai", "crazyrouter", "openai")},
    **{(dialect, "completions"): _COMPLETION for dialect in ("azure_openai", "openai")},
    **{(dialect, "responses"): _RESPONSES for dialect in ("azure_openai", "openai")},
    ("anthropic", "chat"): {
        "temperature": 1,
        "tools": [],
        "tool_choice": lambda body: {"type": "auto" if body.get("tools") else "none"},
        "thinking": {"type": "disabled"},
        "stop_sequences": [],
    },
    ("cohere", "chat"): {
        "temperature": 0.3,
        "frequency_penalty": 0,
        "presence_penalty": 0,
        "k": 0,
        "p": 0.75,
        "logprobs": False,
        "strict_tools": False,
        "raw_prompting": False,
        "safety_mode": "CONTEXTUAL",
        "response_format": {"type": "text"},
        "tools": [],
        "documents": [],
        "stop_sequences": [],
    },
    ("bedrock", "chat"): {"system": [], "inferenceConfig": {}, "additionalModelRequestFields": {}, "outputConfig": {}},
    ("fireworks", "chat"): {**_FIREWORKS, **_TOOLS},
    ("fireworks", "completions"): _FIREWORKS,
    ("gemini", "chat"): _GEMINI,
    ("mistral", "chat"): {**_CHAT, "temperature": 0.7, "safe_prompt": False},
    ("mistral", "completions"): {"top_p": 1},
    **{("ollama", operation): _OLLAMA for operation in ("chat", "completions")},
    ("skytells", "chat"): {**_CHAT, "temperature": 0.7, "top_p": 0.95, "max_tokens": 8192},
    ("tzafon", "chat"): {**_CHAT, "top_logprobs": 0, "ignore_eos": False},
    ("tzafon", "responses"): {**_RESPONSES, "skip_special_tokens": True, "include_stop_str_in_output": False},
}
