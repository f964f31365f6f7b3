"""ChatCompletion: an Answer as one body. `chat_stream.py` yields it as chunks.

The builders make every key of the family; a ChatLayout says which of them a provider shows, and in which order.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mockserver.core.call import ToolCall
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Choice, Part, Reasoning, Refusal, Text, ToolUse, Usage
from mockserver.wire.content_filter import completion_filter, prompt_filter
from mockserver.wire.logprobs import LogprobsShape, OffsetLogprob, content_logprobs, logprobs_block, offset_logprobs


@dataclass(frozen=True, slots=True)
class ChatLayout:
    """Which keys a provider shows, in which order, and how its streams differ."""

    completion: tuple[str, ...]
    message: tuple[str, ...]
    choice: tuple[str, ...] = ("index", "message", "logprobs", "finish_reason")
    chunk: tuple[str, ...] = ("id", "object", "created", "model", "choices", "usage")
    chunk_choice: tuple[str, ...] = ("index", "delta", "logprobs", "finish_reason")
    usage: tuple[str, ...] = ("prompt_tokens", "completion_tokens", "total_tokens")
    optional: frozenset[str] = frozenset()  # keys of a choice or message that are omitted while null or empty
    system_fingerprint: bool = False  # False: null, where the key is shown at all
    not_streamed: frozenset[str] = frozenset()  # keys of a choice or message that streams omit
    # The delta that opens a choice; None: an empty delta opens it, and the next one has the role.
    opening: Mapping[str, Json] | None = field(default_factory=lambda: {"role": "assistant", "content": ""})
    # Keys besides the role when a tool call opens the choice.
    opening_of_call: Mapping[str, Json] = field(default_factory=lambda: {"content": None})
    prompt_filter_first: bool = False  # whether a stream begins with a chunk of only the prompt's filter results
    # Where a stream has its usage. "requested": in a last chunk, if requested. "null": the same, and null in all other
    # chunks. "finish": with the finish reason, unless requested.
    stream_usage: Literal["requested", "null", "finish"] = "requested"
    content_logprobs: bool = False  # whether log probabilities have token ids and offsets


Extra = Mapping[str, Json]  # keys of the completion that come from the request, such as service_tier
Object = dict[str, Json]


def completion(answer: Answer, layout: ChatLayout, extra: Extra | None = None) -> Object:
    """Return the body of a plain answer (`wire/openai.md` section 3)."""
    body: Object = {
        "id": answer.id,
        "object": "chat.completion",
        "created": answer.created,
        "model": answer.model,
        "choices": [_choice(index, choice, layout) for index, choice in enumerate(answer.choices)],
        "usage": chat_usage(answer.usage, layout),
        "system_fingerprint": system_fingerprint(answer, layout),
    }
    if "prompt_filter_results" in layout.completion:
        body["prompt_filter_results"] = [prompt_filter(answer.prompt_safety)]
    return pick({**body, **(extra or {})}, layout.completion)


def _choice(index: int, choice: Choice, layout: ChatLayout) -> Object:
    full: Object = {
        "index": index,
        "message": _message(choice, layout),
        "finish_reason": choice.finish,
        "logprobs": (
            content_block(choice, offset_logprobs(choice)) if layout.content_logprobs else logprobs_block(choice)
        ),
    }
    if "content_filter_results" in layout.choice:
        full["content_filter_results"] = completion_filter(choice.safety)
    return pick_shown(full, layout.choice, layout)


def content_block(choice: Choice, tokens: Sequence[OffsetLogprob]) -> Object | None:
    """Return some of a choice's log probabilities with ids and offsets, or None when they were not requested."""
    if choice.logprobs is None:
        return None
    return content_logprobs(tokens, LogprobsShape("content", max((len(each.top) for _, each in tokens), default=0)))


def _message(choice: Choice, layout: ChatLayout) -> Object:
    parts = visible_parts(choice.parts, layout)
    texts = [part.text for part in parts if isinstance(part, Text)]
    refusals = [part.text for part in parts if isinstance(part, Refusal)]
    full: Object = {
        "role": "assistant",
        "content": "".join(texts) if texts else None,
        "refusal": "".join(refusals) if refusals else None,
        "annotations": [chat_annotation(note) for part in parts if isinstance(part, Text) for note in part.annotations],
    }
    if reasoning := "".join(part.text for part in parts if isinstance(part, Reasoning)):
        full["reasoning_content"] = reasoning
    calls = [part.call for part in parts if isinstance(part, ToolUse)]
    if calls and calls[0].kind == "bare":
        function = {"name": calls[0].name, "arguments": calls[0].arguments}
        return {**pick_shown(full, layout.message, layout), "function_call": function}
    if calls:
        full["tool_calls"] = [_tool_call(call) for call in calls]
    return pick_shown(full, layout.message, layout)


def visible_parts(parts: Iterable[Part], layout: ChatLayout) -> list[Part]:
    """Return the parts that the provider shows; where it has no refusals, they become text."""
    shown: list[Part] = []
    for part in parts:
        if isinstance(part, Refusal) and "refusal" not in layout.message:
            shown.append(Text(part.text, part.chunks))
        elif isinstance(part, Text | Refusal | ToolUse) or "reasoning_content" in layout.message:
            shown.append(part)
    return shown


def _tool_call(call: ToolCall) -> Object:
    kind, key = ("custom", "input") if call.kind == "custom" else ("function", "arguments")
    return {"id": call.id, "type": kind, kind: {"name": call.name, key: call.arguments}}


def chat_annotation(note: Mapping[str, Json]) -> Object:
    """Return an annotation as chat shows it: a citation is nested under its type, unlike in Responses."""
    if note.get("type") != "url_citation" or "url_citation" in note:
        return dict(note)
    return {"type": "url_citation", "url_citation": {key: value for key, value in note.items() if key != "type"}}


def chat_usage(usage: Usage, layout: ChatLayout) -> Object:
    """Return the token counts that the provider shows."""
    full: Object = {
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
    return pick(full, layout.usage)


def pick(full: Mapping[str, Json], keys: Sequence[str]) -> Object:
    """Return the keys that are in `full`, in the order of `keys`."""
    return {key: full[key] for key in keys if key in full}


def pick_shown(full: Mapping[str, Json], keys: Sequence[str], layout: ChatLayout) -> Object:
    """Return the same, without the layout's optional keys where they are empty."""
    return {key: full[key] for key in keys if key in full and (full[key] or key not in layout.optional)}


def system_fingerprint(answer: Answer, layout: ChatLayout) -> str | None:
    """Return the fingerprint as the provider shows it, or None."""
    return f"fp_{answer.system_fingerprint}" if layout.system_fingerprint else None
