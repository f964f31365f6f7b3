"""ChatCompletionChunk: an Answer as the frames of a stream, without pace and terminator."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import repeat, zip_longest

from pydantic_core import to_json

from mockserver.core.http import Frame
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Choice, Part, Reasoning, Refusal, Text, ToolUse, tokens_of
from mockserver.core.tokens import Tokenizer, cut, weighed
from mockserver.wire.chat import (
    ChatLayout,
    Extra,
    chat_annotation,
    chat_usage,
    content_block,
    pick,
    pick_shown,
    system_fingerprint,
    visible_parts,
)
from mockserver.wire.content_filter import completion_filter, prompt_filter, prompt_filter_chunk
from mockserver.wire.logprobs import Block, ending_within, offset_logprobs, spread_logprobs


def chunks(answer: Answer, layout: ChatLayout, extra: Extra | None = None, *, include_usage: bool) -> Iterator[Frame]:
    """Yield the frames of a streamed answer (`wire/openai.md` section 4), without the terminator.

    Choices open in index order and then take turns, as the live API interleaves them.
    """
    if layout.prompt_filter_first:
        yield Frame(to_json(prompt_filter_chunk([prompt_filter(answer.prompt_safety)])), part="open")
    builder = _ChunkBuilder(answer, layout, extra or {}, include_usage=include_usage)
    template = ChunkTemplate(lambda index, delta: builder.chunk(index, _Increment(delta)))
    turns = zip_longest(*(_increments(choice, layout, answer.tokenizer) for choice in answer.choices))
    for turn in turns:
        for index, step in enumerate(turn):
            if step is None:
                continue
            if step.finish is None and step.logprobs is None and not step.opens:
                data = template.fill(index, step.delta)
            else:
                data = to_json(builder.chunk(index, step))
            yield Frame(data, tokens=step.tokens, part=step.part)
    if include_usage:
        yield Frame(to_json(builder.usage_chunk()), part="usage")


class ChunkTemplate:
    """Serialises the chunks of one stream; what those of one choice share is serialised once, which halves the cost."""

    def __init__(self, chunk: Callable[[int, Json], Json]) -> None:
        """`chunk(index, value)` returns a whole chunk of the choice `index` that contains `value`."""
        self._chunk = chunk
        self._around: dict[int, tuple[bytes, bytes]] = {}

    def fill(self, index: int, value: Json) -> bytes:
        """Return the chunk of a choice with `value` in it."""
        around = self._around.get(index)
        if around is None:
            before, _, after = to_json(self._chunk(index, _PLACEHOLDER)).partition(_PLACEHOLDER_BYTES)
            around = self._around[index] = (before, after)
        return around[0] + to_json(value) + around[1]


_PLACEHOLDER: Mapping[str, Json] = {"\0": 0}
_PLACEHOLDER_BYTES = to_json(_PLACEHOLDER)


class _ChunkBuilder:
    def __init__(self, answer: Answer, layout: ChatLayout, extra: Extra, *, include_usage: bool) -> None:
        self._answer, self._layout, self._include_usage = answer, layout, include_usage
        self._head: dict[str, Json] = {
            "id": answer.id,
            "object": "chat.completion.chunk",
            "created": answer.created,
            "model": answer.model,
            "system_fingerprint": system_fingerprint(answer, layout),
            **extra,
        }
        if layout.stream_usage == "null" or (include_usage and layout.stream_usage == "requested"):
            self._head["usage"] = None
        self._unfinished = len(answer.choices)

    def chunk(self, index: int, step: "_Increment") -> dict[str, Json]:
        layout, answer = self._layout, self._answer
        choice: dict[str, Json] = {
            "index": index,
            "delta": dict(step.delta),
            "finish_reason": step.finish,
            "logprobs": step.logprobs,
        }
        if "content_filter_results" in layout.chunk_choice:
            safety = answer.choices[index].safety
            seen = safety if step.finish else tuple(verdict for verdict in safety if not verdict.filtered)
            choice["content_filter_results"] = completion_filter(seen)
        more: dict[str, Json] = {}
        if step.opens and index == 0 and not layout.prompt_filter_first and "prompt_filter_results" in layout.chunk:
            more["prompt_filter_results"] = [prompt_filter(answer.prompt_safety)]
        if step.finish:
            self._unfinished -= 1
            if layout.stream_usage == "finish" and not self._include_usage and not self._unfinished:
                more["usage"] = chat_usage(answer.usage, layout)
        return self._picked([pick_shown(choice, layout.chunk_choice, layout)], **more)

    def usage_chunk(self) -> dict[str, Json]:
        return self._picked([], usage=chat_usage(self._answer.usage, self._layout))

    def _picked(self, choices: list[dict[str, Json]], **more: Json) -> dict[str, Json]:
        return pick({**self._head, "choices": choices, **more}, self._layout.chunk)


@dataclass(frozen=True, slots=True)
class _Increment:
    delta: Mapping[str, Json]
    part: str = "text"
    tokens: int = 0
    finish: str | None = None
    logprobs: Block | None = None
    opens: bool = False


def _increments(choice: Choice, layout: ChatLayout, tokenizer: Tokenizer) -> Iterator[_Increment]:
    steps = _part_increments(choice, layout, tokenizer)
    first, end = next(steps, None), _Increment({}, part="finish", finish=choice.finish)
    if "reasoning_content" not in layout.message:
        # The first increment waits for the reasoning that the provider does not show.
        hidden = sum(len(tokens_of(part, tokenizer)) for part in choice.parts if isinstance(part, Reasoning))
        if first is not None:
            first = replace(first, tokens=first.tokens + hidden) if hidden else first
        else:
            end = replace(end, tokens=hidden)
    if layout.opening is None:
        yield _Increment({}, part="open", opens=True)
        yield _with_role(first or _Increment({"content": ""}), {})
    elif first is not None and not first.delta.keys().isdisjoint(("tool_calls", "function_call")):
        yield _with_role(first, layout.opening_of_call)
    else:
        yield _Increment(layout.opening, part="open", opens=True)
        yield from () if first is None else (first,)
    yield from steps
    yield end


def _with_role(step: _Increment, more: Mapping[str, Json]) -> _Increment:
    return replace(step, delta={"role": "assistant", **more, **step.delta})


def _part_increments(choice: Choice, layout: ChatLayout, tokenizer: Tokenizer) -> Iterator[_Increment]:
    parts = [(part, tokens_of(part, tokenizer)) for part in visible_parts(choice.parts, layout)]
    calls, logprobs = 0, _logprobs(parts, choice, layout)
    for part, tokens in parts:
        pieces = weighed(tokens, part.chunks)
        match part:
            case Text():
                for (piece, weight), block in zip(pieces, logprobs, strict=False):
                    yield _Increment({"content": piece}, tokens=weight, logprobs=block)
                if part.annotations and "annotations" in layout.message and "annotations" not in layout.not_streamed:
                    yield _Increment({"annotations": [chat_annotation(note) for note in part.annotations]})
            case Reasoning():
                yield from (_Increment({"reasoning_content": piece}, tokens=weight) for piece, weight in pieces)
            case Refusal():
                yield from (_Increment({"refusal": piece}, tokens=weight) for piece, weight in pieces)
            case ToolUse() if part.call.kind == "bare":
                yield from _function_increments(part, pieces)
            case ToolUse():
                yield from _call_increments(part, pieces, calls)
                calls += 1


def _logprobs(
    parts: Iterable[tuple[Part, tuple[str, ...]]], choice: Choice, layout: ChatLayout
) -> Iterator[Block | None]:
    if choice.logprobs is None or "logprobs" in layout.not_streamed:
        return repeat(None)
    pieces = [piece for part, tokens in parts if isinstance(part, Text) for piece in cut(tokens, part.chunks)]
    if layout.content_logprobs:
        return (content_block(choice, tokens) for tokens in ending_within(pieces, offset_logprobs(choice)))
    return spread_logprobs(pieces, choice.logprobs)


def _call_increments(part: ToolUse, pieces: Iterable[tuple[str, int]], index: int) -> Iterator[_Increment]:
    """Yield the fragments of a tool call: the first has its name, the others only its index and arguments."""
    call, custom = part.call, part.call.kind == "custom"
    kind, key = ("custom", "input") if custom else ("function", "arguments")
    first = {"index": index, "id": call.id, "type": kind, kind: {"name": call.name, key: ""}}
    yield _Increment({"tool_calls": [first]}, part="arguments")
    for piece, weight in pieces:
        fragment = {"index": index, kind: {key: piece}}
        yield _Increment({"tool_calls": [fragment]}, part="arguments", tokens=weight)


def _function_increments(part: ToolUse, pieces: Iterable[tuple[str, int]]) -> Iterator[_Increment]:
    first = {"name": part.call.name, "arguments": ""}
    yield _Increment({"function_call": first}, part="arguments")
    for piece, weight in pieces:
        yield _Increment({"function_call": {"arguments": piece}}, part="arguments", tokens=weight)
