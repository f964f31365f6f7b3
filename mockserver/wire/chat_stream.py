"""ChatCompletionChunk: an Answer as the frames of a stream, in the style that `chat.py` defines.

Knows no pace and no terminator.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import repeat, zip_longest

from pydantic_core import to_json

from mockserver.core.http import Frame
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Choice, Part, Reasoning, Refusal, Text, ToolUse, tokens_of
from mockserver.core.tokens import Tokenizer, cut, weighed
from mockserver.wire.chat import (
    ChatLayout,
    ChatUsage,
    ChunkChoice,
    Extra,
    chat_usage,
    pick,
    pick_shown,
    placed_block,
    system_fingerprint,
    visible,
)
from mockserver.wire.content_filter import (
    Logprobs,
    chat_annotation,
    completion_filter,
    preamble,
    prompt_filter,
    spread_logprobs,
)
from mockserver.wire.logprobs import ContentLogprobs, ending_within, placed

Pieces = Iterable[tuple[str, int]]  # of a part, with the tokens that end within each


def chunks(answer: Answer, style: ChatLayout, extra: Extra | None = None, *, include_usage: bool) -> Iterator[Frame]:
    """The frames of a streamed answer (`wire/openai.md` section 4), without the terminator.

    Choices open in index order and then take turns, as the live API interleaves them.
    """
    mould = _Mould(answer, style, extra or {}, include_usage=include_usage)
    if style.prompt_apart:
        yield Frame(mould.prompt(), part="open")
    tracks = [_deltas(choice, style, answer.tokenizer) for choice in answer.choices]
    for turn in zip_longest(*tracks):
        for index, step in enumerate(turn):
            if step is not None:
                yield Frame(mould.cast(index, step), tokens=step.tokens, part=step.part)
    if include_usage:
        yield Frame(mould.usage(), part="usage")


@dataclass(frozen=True, slots=True)
class _Delta:
    """One increment of one choice, before it is bytes."""

    delta: Mapping[str, Json]
    part: str = "text"
    tokens: int = 0
    finish: str | None = None
    logprobs: Logprobs | ContentLogprobs | None = None
    opens: bool = False


def _deltas(choice: Choice, style: ChatLayout, tokenizer: Tokenizer) -> Iterator[_Delta]:
    hidden = 0 if "reasoning_content" in style.message else _thinking(choice, tokenizer)
    steps = _increments(choice, style, tokenizer)
    first, end = next(steps, None), _Delta({}, part="finish", finish=choice.finish)
    if first is not None:
        first = _after_thinking(first, hidden)
    else:
        end = _after_thinking(end, hidden)
    if style.opening is None:
        yield _Delta({}, part="open", opens=True)
        yield _with_role(first or _Delta({"content": ""}), {})
    elif first is not None and not first.delta.keys().isdisjoint(("tool_calls", "function_call")):
        yield _with_role(first, style.opening_of_call or {})
    else:
        yield _Delta(style.opening, part="open", opens=True)
        yield from () if first is None else (first,)
    yield from steps
    yield end


def _with_role(step: _Delta, beside: Mapping[str, Json]) -> _Delta:
    return replace(step, delta={"role": "assistant", **beside, **step.delta})


def _thinking(choice: Choice, tokenizer: Tokenizer) -> int:
    """How many tokens the reasoning has."""
    return sum(len(tokens_of(part, tokenizer)) for part in choice.parts if isinstance(part, Reasoning))


def _after_thinking(step: _Delta, hidden: int) -> _Delta:
    """The step, which waits for the tokens of reasoning that the provider keeps to itself."""
    return replace(step, tokens=step.tokens + hidden) if hidden else step


def _increments(choice: Choice, style: ChatLayout, tokenizer: Tokenizer) -> Iterator[_Delta]:
    parts = [(part, tokens_of(part, tokenizer)) for part in visible(choice.parts, style)]
    calls, logprobs = 0, _logprobs(parts, choice, style)
    for part, tokens in parts:
        pieces = weighed(tokens, part.chunks)
        match part:
            case Text():
                yield from _text_increments(part, pieces, logprobs, style)
            case Reasoning():
                yield from (_Delta({"reasoning_content": piece}, tokens=weight) for piece, weight in pieces)
            case Refusal():
                yield from (_Delta({"refusal": piece}, tokens=weight) for piece, weight in pieces)
            case ToolUse() if part.call.kind == "bare":
                yield from _bare_increments(part, pieces)
            case ToolUse():
                yield from _call_increments(part, pieces, calls)
                calls += 1


def _logprobs(
    parts: Iterable[tuple[Part, tuple[str, ...]]], choice: Choice, style: ChatLayout
) -> Iterator[Logprobs | ContentLogprobs | None]:
    """The log probabilities for each piece of the choice's texts, one after the other."""
    if choice.logprobs is None or "logprobs" in style.not_streamed:
        return repeat(None)
    pieces = [piece for part, tokens in parts if isinstance(part, Text) for piece in cut(tokens, part.chunks)]
    if style.placed_logprobs:
        return (placed_block(choice, tokens) for tokens in ending_within(pieces, placed(choice)))
    return spread_logprobs(pieces, choice.logprobs)


def _text_increments(
    part: Text, pieces: Pieces, logprobs: Iterator[Logprobs | ContentLogprobs | None], style: ChatLayout
) -> Iterator[_Delta]:
    for (piece, weight), block in zip(pieces, logprobs, strict=False):
        yield _Delta({"content": piece}, tokens=weight, logprobs=block)
    if part.annotations and "annotations" in style.message and "annotations" not in style.not_streamed:
        yield _Delta({"annotations": [chat_annotation(note) for note in part.annotations]})


def _call_increments(part: ToolUse, pieces: Pieces, index: int) -> Iterator[_Delta]:
    """The first fragment names the call; the others carry only its index and more of the arguments."""
    call, custom = part.call, part.call.kind == "custom"
    kind, key = ("custom", "input") if custom else ("function", "arguments")
    first = {"index": index, "id": call.id, "type": kind, kind: {"name": call.name, key: ""}}
    yield _Delta({"tool_calls": [first]}, part="arguments")
    for piece, weight in pieces:
        fragment = {"index": index, kind: {key: piece}}
        yield _Delta({"tool_calls": [fragment]}, part="arguments", tokens=weight)


def _bare_increments(part: ToolUse, pieces: Pieces) -> Iterator[_Delta]:
    """The same for a function of the time before tools."""
    first = {"name": part.call.name, "arguments": ""}
    yield _Delta({"function_call": first}, part="arguments")
    for piece, weight in pieces:
        yield _Delta({"function_call": {"arguments": piece}}, part="arguments", tokens=weight)


class _Mould:
    """Casts chunks of one answer. What all its chunks share is serialised once: a text chunk costs half."""

    def __init__(self, answer: Answer, style: ChatLayout, extra: Extra, *, include_usage: bool) -> None:
        self._answer, self._style, self._asked = answer, style, include_usage
        self._common: dict[str, Json] = {
            "id": answer.id,
            "object": "chat.completion.chunk",
            "created": answer.created,
            "model": answer.model,
            "system_fingerprint": system_fingerprint(answer, style),
            **extra,
        }
        if style.stream_usage == "null" or (include_usage and style.stream_usage == "asked"):
            self._common["usage"] = None
        self._unfinished = len(answer.choices)
        self._around: dict[int, tuple[bytes, bytes]] = {}

    def cast(self, index: int, step: _Delta) -> bytes:
        """One chunk's JSON."""
        if step.finish is not None or step.logprobs is not None or step.opens:
            return to_json(self._chunk(index, step))
        around = self._around.get(index)
        if around is None:
            before, _, after = to_json(self._chunk(index, _Delta(_HOLE))).partition(_HOLE_BYTES)
            around = self._around[index] = (before, after)
        return around[0] + to_json(step.delta) + around[1]

    def prompt(self) -> bytes:
        """The chunk that tells only what the filter saw in the prompt."""
        return to_json(preamble([prompt_filter(self._answer.prompt_safety)]))

    def usage(self) -> bytes:
        """The chunk without choices that tells the usage."""
        return to_json(self._picked([], usage=self._usage()))

    def _usage(self) -> ChatUsage:
        return chat_usage(self._answer.usage, self._style)

    def _chunk(self, index: int, step: _Delta) -> dict[str, Json]:
        style, answer = self._style, self._answer
        choice: ChunkChoice = {
            "index": index,
            "delta": dict(step.delta),  # type: ignore[typeddict-item]
            "finish_reason": step.finish,  # type: ignore[typeddict-item]
            "logprobs": step.logprobs,
        }
        if "content_filter_results" in style.chunk_choice:
            safety = answer.choices[index].safety
            seen = safety if step.finish else tuple(verdict for verdict in safety if not verdict.filtered)
            choice["content_filter_results"] = completion_filter(seen)
        more: dict[str, Json] = {}
        if step.opens and index == 0 and not style.prompt_apart and "prompt_filter_results" in style.chunk:
            more["prompt_filter_results"] = [prompt_filter(answer.prompt_safety)]
        if step.finish:
            self._unfinished -= 1
            if style.stream_usage == "finish" and not self._asked and not self._unfinished:
                more["usage"] = self._usage()
        return self._picked([pick_shown(choice, style.chunk_choice, style)], **more)

    def _picked(self, choices: list[dict[str, Json]], **more: Json) -> dict[str, Json]:
        return pick({**self._common, "choices": choices, **more}, self._style.chunk)


_HOLE: Mapping[str, Json] = {"\0": 0}
_HOLE_BYTES = to_json(_HOLE)
