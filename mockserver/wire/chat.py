"""ChatCompletion: an Answer as one body. `chat_stream.py` makes frames of it in the same style.

The objects hold every key of the family; a ChatStyle says which of them a provider shows, and in which order.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from mockserver.core.call import ToolCall
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Choice, Part, Reasoning, Refusal, Text, ToolUse, Usage
from mockserver.wire.content_filter import (
    CompletionFilterResults,
    Logprobs,
    PromptFilterResults,
    chat_annotation,
    completion_filter,
    logprobs_block,
    prompt_filter,
)
from mockserver.wire.logprobs import ContentLogprobs, LogprobsShape, Placed, content, placed


class FunctionCall(TypedDict):
    """The function of a tool call; arguments are a JSON string."""

    name: str
    arguments: str


class CustomCall(TypedDict):
    """A custom tool's name and free-text input."""

    name: str
    input: str


class ToolCallObject(TypedDict):
    """One tool call of a message."""

    id: str
    type: Literal["function", "custom"]
    function: NotRequired[FunctionCall]
    custom: NotRequired[CustomCall]


class ChatMessage(TypedDict):
    """The assistant's message."""

    role: Literal["assistant"]
    content: str | None
    reasoning_content: NotRequired[str]
    refusal: NotRequired[str | None]
    annotations: NotRequired[list[dict[str, Any]]]
    tool_calls: NotRequired[list[ToolCallObject]]
    function_call: NotRequired[FunctionCall]


class PromptTokensDetails(TypedDict):
    """Parts of the prompt tokens."""

    cached_tokens: int
    audio_tokens: int


class CompletionTokensDetails(TypedDict):
    """Parts of the completion tokens."""

    reasoning_tokens: int
    audio_tokens: int
    accepted_prediction_tokens: int
    rejected_prediction_tokens: int


class ChatUsage(TypedDict):
    """Token counts."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    completion_tokens_details: NotRequired[CompletionTokensDetails]
    prompt_tokens_details: NotRequired[PromptTokensDetails]


Finish = Literal["stop", "length", "tool_calls", "content_filter", "function_call"]


class ChatChoice(TypedDict):
    """One alternative."""

    index: int
    message: ChatMessage
    finish_reason: Finish
    logprobs: NotRequired[Logprobs | ContentLogprobs | None]
    content_filter_results: NotRequired[CompletionFilterResults]


class ChatCompletion(TypedDict):
    """The body of a plain answer."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChatChoice]
    usage: ChatUsage
    service_tier: NotRequired[str | None]
    system_fingerprint: NotRequired[str | None]
    prompt_filter_results: NotRequired[list[PromptFilterResults]]


class FunctionDelta(TypedDict):
    """The name comes once, with the first fragment of the arguments."""

    name: NotRequired[str]
    arguments: str


class CustomDelta(TypedDict):
    """The same for a custom tool."""

    name: NotRequired[str]
    input: str


class ToolCallDelta(TypedDict):
    """A fragment of a tool call; `id`, `type` and the name stand in the first only."""

    index: int
    id: NotRequired[str]
    type: NotRequired[Literal["function", "custom"]]
    function: NotRequired[FunctionDelta]
    custom: NotRequired[CustomDelta]


class Delta(TypedDict, total=False):
    """What a chunk adds to the message."""

    role: Literal["assistant"]
    content: str | None
    reasoning_content: str
    refusal: str | None
    annotations: list[dict[str, Any]]
    tool_calls: list[ToolCallDelta]
    function_call: FunctionDelta


class ChunkChoice(TypedDict):
    """One alternative's increment."""

    index: int
    delta: Delta
    finish_reason: Finish | None
    logprobs: NotRequired[Logprobs | ContentLogprobs | None]
    content_filter_results: NotRequired[CompletionFilterResults]


class ChatCompletionChunk(TypedDict):
    """One frame of a streamed answer."""

    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: NotRequired[ChatUsage | None]
    service_tier: NotRequired[str | None]
    system_fingerprint: NotRequired[str | None]
    prompt_filter_results: NotRequired[list[PromptFilterResults]]


@dataclass(frozen=True, slots=True)
class ChatLayout:
    """Which keys a provider shows and in which order, and the few habits of its streams."""

    completion: tuple[str, ...]
    choice: tuple[str, ...]
    message: tuple[str, ...]
    chunk: tuple[str, ...]
    chunk_choice: tuple[str, ...]
    usage: tuple[str, ...] = ("prompt_tokens", "completion_tokens", "total_tokens")
    # Keys of a choice or message that are left out while they are null or empty.
    optional: frozenset[str] = frozenset()
    system_fingerprint: bool = False  # False: null, where the key is shown at all
    # Keys of a choice or message that plain answers show and streams do not.
    not_streamed: frozenset[str] = frozenset()
    # The delta that opens a choice; None: an empty delta opens it, and the role rides on the first real one.
    opening: Mapping[str, Json] | None = None
    # What stands beside the role when a tool call opens the choice.
    opening_of_call: Mapping[str, Json] | None = None
    # Whether a stream tells of its prompt in a chunk of its own, without choices or head, before the first one.
    prompt_apart: bool = False
    # Where usage goes in a stream: a chunk without choices when asked for, else nowhere ("asked"), null in every
    # chunk besides ("null"), or on the chunk with the finish reason when it is not asked for ("finish").
    stream_usage: Literal["asked", "null", "finish"] = "asked"
    placed_logprobs: bool = False  # whether log probabilities also tell the number and the place of their tokens


Extra = Mapping[str, Json]  # keys of the completion that come from the request, such as service_tier


def completion(answer: Answer, style: ChatLayout, extra: Extra | None = None) -> Mapping[str, Json]:
    """The body of a plain answer (`wire/openai.md` section 3, in the style's keys and order)."""
    body: ChatCompletion = {
        "id": answer.id,
        "object": "chat.completion",
        "created": answer.created,
        "model": answer.model,
        "choices": [_choice(index, choice, style) for index, choice in enumerate(answer.choices)],
        "usage": chat_usage(answer.usage, style),
        "system_fingerprint": system_fingerprint(answer, style),
    }
    if "prompt_filter_results" in style.completion:
        body["prompt_filter_results"] = [prompt_filter(answer.prompt_safety)]
    return pick({**body, **(extra or {})}, style.completion)


def _choice(index: int, choice: Choice, style: ChatLayout) -> Any:
    full: ChatChoice = {
        "index": index,
        "message": _message(choice, style),
        "finish_reason": choice.finish,  # type: ignore[typeddict-item]  # the engine gives known words only
        "logprobs": _logprobs(choice, style),
    }
    if "content_filter_results" in style.choice:
        full["content_filter_results"] = completion_filter(choice.safety)
    return pick_shown(full, style.choice, style)


def _logprobs(choice: Choice, style: ChatLayout) -> Logprobs | ContentLogprobs | None:
    return placed_block(choice, placed(choice)) if style.placed_logprobs else logprobs_block(choice)


def placed_block(choice: Choice, tokens: Sequence[Placed]) -> ContentLogprobs | None:
    """Some of a choice's log probabilities with numbers and places, or None when they were not asked for."""
    if choice.logprobs is None:
        return None
    return content(tokens, LogprobsShape("content", max(len(logprob.top) for _, logprob in tokens) if tokens else 0))


def _message(choice: Choice, style: ChatLayout) -> Any:
    parts = visible(choice.parts, style)
    texts = [part.text for part in parts if isinstance(part, Text)]
    refusals = [part.text for part in parts if isinstance(part, Refusal)]
    full: ChatMessage = {
        "role": "assistant",
        "content": "".join(texts) if texts else None,
        "refusal": "".join(refusals) if refusals else None,
        "annotations": [chat_annotation(note) for part in parts if isinstance(part, Text) for note in part.annotations],
    }
    if reasoning := "".join(part.text for part in parts if isinstance(part, Reasoning)):
        full["reasoning_content"] = reasoning
    calls = [part.call for part in parts if isinstance(part, ToolUse)]
    if calls and calls[0].kind == "bare":
        function: FunctionCall = {"name": calls[0].name, "arguments": calls[0].arguments}
        return {**pick_shown(full, style.message, style), "function_call": function}
    if calls:
        full["tool_calls"] = [tool_call(call) for call in calls]
    return pick_shown(full, style.message, style)


def visible(parts: Iterable[Part], style: ChatLayout) -> list[Part]:
    """The parts that the provider shows: some keep their reasoning, some have no place for a refusal but the text."""
    shown: list[Part] = []
    for part in parts:
        if isinstance(part, Refusal) and "refusal" not in style.message:
            shown.append(Text(part.text, part.chunks))
        elif isinstance(part, Text | Refusal | ToolUse) or "reasoning_content" in style.message:
            shown.append(part)
    return shown


def tool_call(call: ToolCall) -> ToolCallObject:
    """A tool call as a message shows it."""
    if call.kind == "custom":
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def chat_usage(usage: Usage, style: ChatLayout) -> ChatUsage:
    """Token counts, with their details where the provider gives them."""
    full: ChatUsage = {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
    return pick(full, style.usage)  # type: ignore[return-value]  # some of the keys of a ChatUsage


def pick(full: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """The keys that stand in `full`, in the order of `keys`."""
    return {key: full[key] for key in keys if key in full}


def pick_shown(full: Mapping[str, Any], keys: Sequence[str], style: ChatLayout) -> dict[str, Any]:
    """The same, without the style's optional keys where they say nothing."""
    return {key: full[key] for key in keys if key in full and (full[key] or key not in style.optional)}


def system_fingerprint(answer: Answer, style: ChatLayout) -> str | None:
    """The fingerprint of the model's set-up, or None where the provider tells none."""
    return f"fp_{answer.system_fingerprint}" if style.system_fingerprint else None
