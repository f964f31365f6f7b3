"""ChatCompletion: an Answer as one body, or as the chunks of a stream, without pace.

The builders make every key of the family; a ChatLayout says which of them a provider shows, and in which order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, repeat
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Options, ToolCall
from mockserver.core.frames import Frame, write_comment
from mockserver.core.json import Json
from mockserver.core.lazy import map_lazily
from mockserver.core.plan import (
    DETECTIONS_OF_COMPLETION,
    DETECTIONS_OF_PROMPT,
    HARMS,
    Answer,
    Choice,
    Logprob,
    Part,
    Reasoning,
    Refusal,
    Safety,
    Text,
    ToolUse,
    Usage,
    find_tokens,
)
from mockserver.core.tokens import cut, weigh_pieces
from mockserver.wire.chat_audio import ChatAudio, count_audio, speak_choice
from mockserver.wire.logprobs import (
    Block,
    LogprobsShape,
    OffsetLogprob,
    add_offsets,
    encode_tokens,
    group_by_piece,
    make_content_logprobs,
    make_logprobs_block,
    spread_logprobs,
)
from mockserver.wire.parts import take_turns
from mockserver.wire.renderer import MAX_KEPT, Marks, Outline, Renderer, encode_texts
from mockserver.wire.template import HOLE, ChunkTemplate, CountedFrames, fill_token_counts


def _add_nothing(*_: Any) -> Mapping[str, Json]:
    return {}


class ChatExtras(Struct, frozen=True):
    """Keys of a provider's own, each made by a function: they are shown where the layout names them.

    `body` and `chunk` are those of a whole answer and of every chunk; `opening` and `ending` those that only the first
    chunk has, and the one with the last finish reason. `choice` are those of a choice, by its finish reason, which is
    None in chunks before the last.
    """

    body: Callable[[Answer], Mapping[str, Json]] = _add_nothing
    chunk: Callable[[Answer], Mapping[str, Json]] = _add_nothing
    opening: Callable[[Answer], Mapping[str, Json]] = _add_nothing
    ending: Callable[[Answer], Mapping[str, Json]] = _add_nothing
    choice: Callable[[str | None], Mapping[str, Json]] = _add_nothing


_NO_EXTRAS = ChatExtras()
THINK = ("<think>\n", "\n</think>\n\n")  # what surrounds reasoning within the content


class ChatLayout(Struct, frozen=True):
    """Which keys a provider shows, in which order, and how its streams differ."""

    completion: tuple[str, ...]
    message: tuple[str, ...]
    choice: tuple[str, ...] = ("index", "message", "logprobs", "finish_reason")
    chunk: tuple[str, ...] = ("id", "object", "created", "model", "choices", "usage")
    chunk_choice: tuple[str, ...] = ("index", "delta", "logprobs", "finish_reason")
    usage: tuple[str, ...] = ("prompt_tokens", "completion_tokens", "total_tokens")
    optional: frozenset[str] = frozenset()  # keys of a body, choice or message that are omitted while null or empty
    system_fingerprint: bool = False  # False: null, where the key is shown at all
    not_streamed: frozenset[str] = frozenset()  # keys of a choice or message that streams omit
    # The delta that opens a choice; None: an empty delta opens it, and the next one has the role.
    opening: Mapping[str, Json] | None = field(default_factory=lambda: {"role": "assistant", "content": ""})
    # Keys besides the role when a tool call opens the choice.
    opening_of_call: Mapping[str, Json] = field(default_factory=lambda: {"content": None})
    prompt_filter_first: bool = False  # whether a stream begins with a chunk of only the prompt's filter results
    # Where a stream has its usage. "requested": in a last chunk without choices, if requested. "null": the same, and
    # null in all other chunks. "finish": with the finish reason, unless requested. "with_finish": there in any case.
    # "last": in a last chunk, in any case. "last_choice": the same, and that chunk has a choice. "every": as it grows,
    # in each chunk. "every_requested": the same, and in a last chunk, if requested.
    stream_usage: Literal[
        "requested", "null", "finish", "with_finish", "last", "last_choice", "every", "every_requested"
    ] = "requested"
    # Finish reasons that the provider does not have -> those that it shows instead.
    finishes: Mapping[str, str] = field(default_factory=lambda: {"error": "stop"})
    content_logprobs: bool = False  # whether log probabilities have token ids and offsets
    # The key of reasoning, which is shown if `message` has it; "content": in the text, between tags.
    reasoning: str = "reasoning_content"
    # The `format` of the entries in which OpenRouter repeats reasoning (`reasoning_details`), by model; None: none.
    reasoning_format: Callable[[str], str] | None = None
    unset: Mapping[str, Json] = {}  # keys of a message, and their values if an answer does not set them
    beside: Mapping[str, Json] = {}  # keys of every delta, and their values if it does not set them
    call_index: bool = False  # whether tool calls of whole answers have an index, as those of streams
    # Whether a stream has whole tool calls: each in a chunk of its own, or all in the last one.
    whole_calls: Literal["", "apart", "last"] = ""
    call: tuple[str, ...] = ()  # the keys of a tool call; none: those of OpenAI
    empty_content: str | None = None  # the content of a message without text
    ending: Mapping[str, Json] = {}  # the delta of the last chunk of a choice
    thinks_in_content: bool = False  # whether reasoning is a part of the content, which is a list then
    comment: str = ""  # an SSE comment before the first chunk
    # The `object` of the last chunk, after which a stream just ends; empty: that of all chunks, before `[DONE]`.
    last_object: str = ""
    # The usage where it is not OpenAI's; else `usage` says which keys it has.
    count: Callable[[Usage], Mapping[str, Json]] | None = None
    extras: ChatExtras = _NO_EXTRAS
    reads_model: bool = False  # whether the name of the model decides about other keys

    @property
    def shows_reasoning(self) -> bool:
        return self.thinks_in_content or self.reasoning in self.message


Object = dict[str, Json]
DONE = Frame(b"[DONE]", part="end")
_UNASKED = ("last", "last_choice")  # usage is in a chunk of its own there, even if nobody asks for it
_GROWING = ("every", "every_requested")
_IN_A_CHUNK = ("requested", "null", "finish", "last", "last_choice", "every_requested")


class ChatRenderer(Renderer[Options]):
    """Renders chat answers in one layout."""

    def __init__(self, layout: ChatLayout) -> None:
        super().__init__()
        self.layout = layout
        self.reads_model = layout.reads_model
        self._write_usage = lru_cache(maxsize=1024)(lambda usage: to_json(make_chat_usage(usage, layout)))
        self._find_writer = lru_cache(maxsize=256)(self._make_writer)

    def render_body(self, answer: Answer, options: Options) -> Object:
        return _Completion(answer, self.layout, options).make_body()

    def render_frames(self, answer: Answer, options: Options) -> Iterator[Frame]:
        """Yield the frames, with a hole for the usage so far where it grows."""
        include_usage = options.include_usage or self.layout.stream_usage in _UNASKED
        if self.layout.comment:
            yield Frame(write_comment(self.layout.comment), part="open", framing="bare")
        completion = _Completion(answer, self.layout, options, include_usage=include_usage)
        yield from completion.stream_chunks()
        if not self.layout.last_object:
            yield DONE

    def stream(self, answer: Answer, options: Options) -> Iterable[Frame]:
        if self.layout.stream_usage not in _GROWING:
            return super().stream(answer, options)
        write = self._find_writer(replace(answer.usage, completion=0))
        filled = self.fill_frames(answer, options)
        if filled is None:
            return fill_token_counts(self.render_frames(answer, options), write)
        return CountedFrames(filled, lambda: map(write, accumulate(filled.weights)))

    def _make_writer(self, usage: Usage) -> Callable[[int], bytes]:
        """Return the function that writes this usage with a number of completion tokens."""
        return lru_cache(maxsize=1024)(
            lambda tokens: to_json(make_chat_usage(replace(usage, completion=tokens), self.layout))
        )

    def encode_logprobs(self, logprobs: Sequence[Logprob]) -> bytes | None:
        if "logprobs" not in self.layout.choice:
            return b""
        return None if self.layout.content_logprobs else encode_tokens(logprobs)

    def outline(self, answer: Answer, options: Options) -> Outline | None:
        tier = options.service_tier
        if options.voice is not None or (tier is not None and (type(tier) is not str or len(tier) > MAX_KEPT)):
            return None
        own = _outline_options(options.include_usage, tier)
        if self.layout.count is None:
            return own
        return Outline(own.form, (*own.values, self._write_usage(answer.usage)))  # the host counts in its own way

    def mark(self, options: Options, marks: Marks) -> Options:
        return replace(options, service_tier=marks.draw_text(find_served_tier(options.service_tier)))


class _Increment(Struct, frozen=True):
    delta: Mapping[str, Json]
    part: str = "text"
    tokens: int = 0
    finish: str | None = None
    logprobs: Block | None = None
    opens: bool = False


class _Completion:
    """A chat answer in one layout, spoken if the request wants that and the layout shows it."""

    def __init__(self, answer: Answer, layout: ChatLayout, options: Options, *, include_usage: bool = False) -> None:
        self._spoken: Sequence[ChatAudio | None] = [None] * len(answer.choices)
        if options.voice is not None and "audio" in layout.message:
            self._spoken = [speak_choice(answer, index, options) for index in range(len(answer.choices))]
            seconds = sum([spoken.seconds for spoken in self._spoken if spoken is not None])
            answer = replace(answer, usage=count_audio(answer.usage, seconds))
        self._answer = answer
        self._layout = layout
        self._include_usage = include_usage
        self._head: Object = {
            "id": answer.id,
            "object": "chat.completion",
            "created": answer.created,
            "model": answer.model,
            "service_tier": find_served_tier(options.service_tier),
            "system_fingerprint": find_system_fingerprint(answer, layout),
        }
        self._unfinished = len(answer.choices)

    def make_body(self) -> Object:
        answer = self._answer
        layout = self._layout
        body: Object = {
            **self._head,
            "choices": map_lazily(self._make_choice, range(len(answer.choices))),
            "usage": make_chat_usage(answer.usage, layout),
        }
        if "prompt_filter_results" in layout.completion:
            body["prompt_filter_results"] = [make_prompt_filter(answer.prompt_safety)]
        if layout.extras is not _NO_EXTRAS:
            body |= layout.extras.body(answer)
        return pick_shown(body, layout.completion, layout)

    def stream_chunks(self) -> Iterator[Frame]:
        """Yield the frames of a stream: choices open in index order, then take turns."""
        answer = self._answer
        layout = self._layout
        self._head |= {"object": "chat.completion.chunk"}
        if layout.stream_usage == "null" or (self._include_usage and layout.stream_usage == "requested"):
            self._head["usage"] = None
        if layout.extras is not _NO_EXTRAS:
            self._head |= layout.extras.chunk(answer)
        if layout.prompt_filter_first:
            yield Frame(to_json(make_prompt_filter_chunk([make_prompt_filter(answer.prompt_safety)])), part="open")
        template = ChunkTemplate(lambda index, delta: self._make_chunk(index, _Increment(delta)))
        grows = layout.stream_usage in _GROWING
        is_alike = _DELTA_KEYS.isdisjoint(layout.chunk_choice)
        for index, step in take_turns([self._list_increments(*each) for each in enumerate(answer.choices)]):
            if is_alike and step.finish is None and step.logprobs is None and not step.opens:
                data = template.fill(index, step.delta)
            else:
                data = to_json(self._make_chunk(index, step))
            if grows:
                data = data.replace(_SO_FAR_BYTES, HOLE)
            yield Frame(data, tokens=step.tokens, part=step.part)
        if self._include_usage and layout.stream_usage in _IN_A_CHUNK:
            yield Frame(to_json(self._make_usage_chunk()), part="usage")

    def _make_choice(self, index: int) -> Object:
        choice = self._answer.choices[index]
        layout = self._layout
        full: Object = {
            "index": index,
            "message": self._make_message(choice, self._spoken[index]),
            "finish_reason": self._find_finish(choice),
            "logprobs": (
                make_content_block(choice, list(add_offsets(choice)))
                if layout.content_logprobs
                else make_logprobs_block(choice)
            ),
        }
        if "content_filter_results" in layout.choice:
            full["content_filter_results"] = make_completion_filter(choice.safety)
        if layout.extras is not _NO_EXTRAS:
            full = {**layout.extras.choice(self._find_finish(choice)), **full}
        return pick_shown(full, layout.choice, layout)

    def _find_finish(self, choice: Choice) -> str:
        return self._layout.finishes.get(choice.finish, choice.finish)

    def _make_message(self, choice: Choice, spoken: ChatAudio | None = None) -> Object:
        layout = self._layout
        parts = self._list_visible_parts(choice.parts)
        if layout.reasoning == "content":
            texts = [
                part.text.join(THINK) if isinstance(part, Reasoning) else part.text
                for part in parts
                if isinstance(part, Text | Reasoning)
            ]
        else:
            texts = [part.text for part in parts if isinstance(part, Text)]
        refusals = [part.text for part in parts if isinstance(part, Refusal)]
        full: Object = {
            **layout.unset,
            "role": "assistant",
            "content": "".join(texts) if texts else layout.empty_content,
            "refusal": "".join(refusals) if refusals else None,
            "annotations": [
                make_annotation(note) for part in parts if isinstance(part, Text) for note in part.annotations
            ],
        }
        reasoning = "".join(part.text for part in parts if isinstance(part, Reasoning))
        if reasoning and layout.thinks_in_content:
            full["content"] = [
                _make_thinking(part.text) | {"closed": True} if isinstance(part, Reasoning) else _make_text(part.text)
                for part in parts
                if isinstance(part, Reasoning | Text)
            ]
        elif reasoning and layout.reasoning != "content":
            full[layout.reasoning] = reasoning
            if layout.reasoning_format is not None:
                full["reasoning_details"] = [_make_detail(reasoning, layout.reasoning_format(self._answer.model))]
        if spoken is not None:
            full |= {"content": None, "audio": spoken.write()}
        calls = [part.call for part in parts if isinstance(part, ToolUse)]
        if calls and calls[0].kind == "bare":
            function = {"name": calls[0].name, "arguments": calls[0].arguments}
            return {**pick_shown(full, layout.message, layout), "function_call": function}
        if calls:
            full["tool_calls"] = [_make_whole_call(call, at, layout) for at, call in enumerate(calls)]
        return pick_shown(full, layout.message, layout)

    def _list_visible_parts(self, parts: Iterable[Part]) -> list[Part]:
        """Return the parts that the provider shows; where it has no refusals, they become text."""
        shown: list[Part] = []
        for part in parts:
            if isinstance(part, Refusal) and "refusal" not in self._layout.message:
                shown.append(Text(part.text, part.chunks))
            elif isinstance(part, Text | Refusal | ToolUse) or self._layout.shows_reasoning:
                shown.append(part)
        return shown

    def _make_chunk(self, index: int, step: _Increment) -> dict[str, Json]:
        layout = self._layout
        answer = self._answer
        choice: dict[str, Json] = {
            "index": index,
            "delta": dict(step.delta),
            "finish_reason": step.finish,
            "logprobs": step.logprobs,
        }
        if "content_filter_results" in layout.chunk_choice:
            safety = answer.choices[index].safety
            seen = safety if step.finish else tuple(verdict for verdict in safety if not verdict.filtered)
            choice["content_filter_results"] = make_completion_filter(seen)
        more: dict[str, Json] = {}
        if step.opens and index == 0 and not layout.prompt_filter_first and "prompt_filter_results" in layout.chunk:
            more["prompt_filter_results"] = [make_prompt_filter(answer.prompt_safety)]
        if step.finish:
            self._unfinished -= 1
            if not self._unfinished and self._has_usage_at_finish:
                more["usage"] = make_chat_usage(answer.usage, layout)
            if not self._unfinished and layout.last_object:
                more["object"] = layout.last_object
        if layout.extras is not _NO_EXTRAS:
            choice = {**layout.extras.choice(step.finish), **choice}
            if step.opens and index == 0:
                more |= layout.extras.opening(answer)
            if step.finish and not self._unfinished:
                more |= layout.extras.ending(answer)
        if layout.stream_usage in _GROWING:
            more["usage"] = _SO_FAR if self._unfinished else make_chat_usage(answer.usage, layout)
        if not _DELTA_KEYS.isdisjoint(layout.chunk_choice):
            text = step.delta.get("content") or ""
            whole = self._make_message(answer.choices[index])["content"] if step.finish else ""
            choice |= {"text": text, "message": {"role": "assistant", "content": whole or ""}}
        return self._pick_chunk([pick_shown(choice, layout.chunk_choice, layout)], **more)

    @property
    def _has_usage_at_finish(self) -> bool:
        place = self._layout.stream_usage
        return place == "with_finish" or (place == "finish" and not self._include_usage)

    def _make_usage_chunk(self) -> dict[str, Json]:
        layout = self._layout
        choices = list[dict[str, Json]]()
        if layout.stream_usage == "last_choice":
            finish = self._answer.choices[-1].finish
            choice = {"index": 0, "delta": dict(layout.beside), "finish_reason": layout.finishes.get(finish, finish)}
            choices = [pick({"logprobs": None, **choice, **layout.extras.choice(finish)}, layout.chunk_choice)]
        return self._pick_chunk(choices, usage=make_chat_usage(self._answer.usage, layout))

    def _pick_chunk(self, choices: list[dict[str, Json]], **more: Json) -> dict[str, Json]:
        return pick({**self._head, "choices": choices, **more}, self._layout.chunk)

    def _list_increments(self, index: int, choice: Choice) -> Iterator[_Increment]:
        increments = self._list_own_increments(choice, self._spoken[index])
        if not self._layout.beside:
            return increments
        return (replace(step, delta=_add_beside(step.delta, self._layout.beside)) for step in increments)

    def _list_own_increments(self, choice: Choice, spoken: ChatAudio | None) -> Iterator[_Increment]:
        layout = self._layout
        end = _Increment(layout.ending, part="finish", finish=self._find_finish(choice))
        steps = self._list_part_increments(choice)
        opening = layout.opening
        if spoken is not None:
            steps = _speak_increments(steps, spoken)
            opening = {**(opening or {"role": "assistant"}), "content": None}
        if layout.whole_calls == "last":
            others = [*steps]
            calls = [step for step in others if "tool_calls" in step.delta]
            steps = iter([step for step in others if "tool_calls" not in step.delta])
            end = _add_calls(end, calls) if calls else end
        first = next(steps, None)
        if not layout.shows_reasoning:
            # The first increment waits for the reasoning that the provider does not show.
            hidden = sum(
                len(find_tokens(part, self._answer.tokenizer)) for part in choice.parts if isinstance(part, Reasoning)
            )
            if first is not None:
                first = replace(first, tokens=first.tokens + hidden) if hidden else first
            else:
                end = replace(end, tokens=end.tokens + hidden)
        if opening is None:
            yield _Increment({}, part="open", opens=True)
            yield _add_role(first or _Increment({"content": ""}), {})
        elif first is not None and not first.delta.keys().isdisjoint(("tool_calls", "function_call")):
            yield _add_role(first, layout.opening_of_call)
        else:
            yield _Increment(opening, part="open", opens=True)
            yield from () if first is None else (first,)
        yield from steps
        yield end

    def _list_part_increments(self, choice: Choice) -> Iterator[_Increment]:
        layout = self._layout
        tokenizer = self._answer.tokenizer
        parts = [(part, find_tokens(part, tokenizer)) for part in self._list_visible_parts(choice.parts)]
        calls = 0
        logprobs = self._find_logprobs(parts, choice)
        for part, tokens in parts:
            pieces = weigh_pieces(tokens, part.chunks)
            match part:
                case Text():
                    for (piece, weight), block in zip(pieces, logprobs, strict=False):
                        yield _Increment({"content": piece}, tokens=weight, logprobs=block)
                    if (
                        part.annotations
                        and "annotations" in layout.message
                        and "annotations" not in layout.not_streamed
                    ):
                        yield _Increment({"annotations": [make_annotation(note) for note in part.annotations]})
                case Reasoning():
                    for delta, weight in self._list_reasoning_deltas(pieces):
                        yield _Increment(delta, tokens=weight)
                case Refusal():
                    yield from (_Increment({"refusal": piece}, tokens=weight) for piece, weight in pieces)
                case ToolUse() if part.call.kind == "bare":
                    yield from _list_function_increments(part, pieces)
                case ToolUse() if layout.whole_calls:
                    call = _make_whole_call(part.call, calls, layout)
                    call = call if layout.call else {"index": calls, **call}
                    yield _Increment({"tool_calls": [call]}, part="arguments", tokens=len(tokens))
                    calls += 1
                case ToolUse():
                    yield from _list_call_increments(part, pieces, calls)
                    calls += 1

    def _list_reasoning_deltas(self, pieces: Iterable[tuple[str, int]]) -> Iterator[tuple[Mapping[str, Json], int]]:
        """Yield the deltas of reasoning, and the tokens of each."""
        layout = self._layout
        if layout.thinks_in_content:
            yield from (({"content": [_make_thinking(piece)]}, weight) for piece, weight in pieces)
        elif layout.reasoning == "content":
            before, after = THINK
            yield {"content": before}, 0
            yield from (({"content": piece}, weight) for piece, weight in pieces)
            yield {"content": after}, 0
        elif layout.reasoning_format is None:
            yield from (({layout.reasoning: piece}, weight) for piece, weight in pieces)
        else:
            form = layout.reasoning_format(self._answer.model)
            for piece, weight in pieces:
                yield {layout.reasoning: piece, "reasoning_details": [_make_detail(piece, form)]}, weight

    def _find_logprobs(self, parts: Iterable[tuple[Part, tuple[str, ...]]], choice: Choice) -> Iterator[Block | None]:
        if choice.logprobs is None or "logprobs" in self._layout.not_streamed:
            return repeat(None)
        pieces = [piece for part, tokens in parts if isinstance(part, Text) for piece in cut(tokens, part.chunks)]
        if self._layout.content_logprobs:
            return (make_content_block(choice, tokens) for tokens in group_by_piece(pieces, add_offsets(choice)))
        return spread_logprobs(pieces, choice.logprobs)


@lru_cache(maxsize=256)
def _outline_options(include_usage: bool, tier: str | None) -> Outline:  # by position, which is the faster key
    served = find_served_tier(tier)
    return Outline((include_usage, bool(served)), encode_texts((served,)))


def find_served_tier(requested: str | None) -> str:
    """Return the tier that served a request: the one it named, unless it left the choice open."""
    return "default" if requested in (None, "auto") else requested


def make_content_block(choice: Choice, tokens: Sequence[OffsetLogprob]) -> Object | None:
    """Return some of a choice's log probabilities with ids and offsets, or None when they were not requested."""
    if choice.logprobs is None:
        return None
    return make_content_logprobs(
        tokens, LogprobsShape("content", max((len(each.top) for _, each in tokens), default=0))
    )


def _make_detail(text: str, form: str) -> Object:
    """Return an entry of OpenRouter's `reasoning_details`."""
    return {"type": "reasoning.text", "text": text, "format": form, "index": 0}


def _make_thinking(text: str) -> Object:
    """Return reasoning as a part of the content."""
    return {"type": "thinking", "thinking": [_make_text(text)]}


def _make_text(text: str) -> Object:
    return {"type": "text", "text": text}


def _make_whole_call(call: ToolCall, at: int, layout: ChatLayout) -> Object:
    """Return a tool call with the keys of the layout."""
    made = _make_tool_call(call)
    if layout.call:
        return pick({**made, "index": at}, layout.call)
    return {"index": at, **made} if layout.call_index else made


def _make_tool_call(call: ToolCall) -> Object:
    kind, key = ("custom", "input") if call.kind == "custom" else ("function", "arguments")
    return {"id": call.id, "type": kind, kind: {"name": call.name, key: call.arguments}}


def make_annotation(note: Mapping[str, Json]) -> Object:
    """Return an annotation as chat shows it: a citation is nested under its type, unlike in Responses."""
    if note.get("type") != "url_citation" or "url_citation" in note:
        return dict(note)
    return {"type": "url_citation", "url_citation": {key: value for key, value in note.items() if key != "type"}}


def make_chat_usage(usage: Usage, layout: ChatLayout) -> Object:
    """Return the `usage` of a chat, as the layout shows it."""
    if layout.count is not None:
        return dict(layout.count(usage))
    full: Object = {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": usage.prompt_audio},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": usage.completion_audio,
            "accepted_prediction_tokens": usage.accepted_prediction,
            "rejected_prediction_tokens": usage.rejected_prediction,
        },
    }
    return pick(full, layout.usage)


def pick(full: Mapping[str, Json], keys: Sequence[str]) -> Object:
    """Return the values of the keys, in their order."""
    return {key: full[key] for key in keys if key in full}


def pick_shown(full: Mapping[str, Json], keys: Sequence[str], layout: ChatLayout) -> Object:
    """Return the values of the keys, in their order, without the layout's optional keys that are empty."""
    return {key: full[key] for key in keys if key in full and (full[key] or key not in layout.optional)}


def find_system_fingerprint(answer: Answer, layout: ChatLayout) -> str | None:
    """Return the fingerprint that a rule states, else the one of the answer; None if the layout has none."""
    if answer.stated_fingerprint != "":
        return answer.stated_fingerprint
    return f"fp_{answer.system_fingerprint}" if layout.system_fingerprint else None


_DELTA_KEYS = frozenset({"text", "message"})  # keys of a chunk's choice that depend on its delta
_SO_FAR: Mapping[str, Json] = {"\0usage": 0}  # stands for the usage so far
_SO_FAR_BYTES = to_json(_SO_FAR)


def _add_beside(delta: Mapping[str, Json], beside: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a delta with all keys that every delta has; a role comes first."""
    return (
        {**delta, **{key: beside[key] for key in beside if key not in delta}}
        if "role" in delta
        else {**beside, **delta}
    )


def _add_calls(end: _Increment, calls: Sequence[_Increment]) -> _Increment:
    """Return the last increment of a choice with these whole calls."""
    made = [call for step in calls for call in step.delta["tool_calls"]]
    tokens = sum([step.tokens for step in calls])
    return replace(end, delta={**end.delta, "tool_calls": made}, part="arguments", tokens=tokens)


def _speak_increments(steps: Iterable[_Increment], spoken: ChatAudio) -> Iterator[_Increment]:
    """Yield increments with their text as the transcript of what is spoken, then the sound."""
    name = {"id": spoken.id}  # only once, as clients join what comes twice
    for step in steps:
        if type(text := step.delta.get("content")) is str:
            step = replace(step, delta={"audio": {**name, "transcript": text}}, logprobs=None)
            name = {}
        yield step
    yield from map(_Increment, spoken.list_data_deltas())


def _add_role(step: _Increment, more: Mapping[str, Json]) -> _Increment:
    return replace(step, delta={"role": "assistant", **more, **step.delta})


def _list_call_increments(part: ToolUse, pieces: Iterable[tuple[str, int]], index: int) -> Iterator[_Increment]:
    """Yield the fragments of a tool call: the first has its name, the others only its index and arguments."""
    call = part.call
    custom = part.call.kind == "custom"
    kind, key = ("custom", "input") if custom else ("function", "arguments")
    first = {"index": index, "id": call.id, "type": kind, kind: {"name": call.name, key: ""}}
    yield _Increment({"tool_calls": [first]}, part="arguments")
    for piece, weight in pieces:
        fragment = {"index": index, kind: {key: piece}}
        yield _Increment({"tool_calls": [fragment]}, part="arguments", tokens=weight)


def _list_function_increments(part: ToolUse, pieces: Iterable[tuple[str, int]]) -> Iterator[_Increment]:
    first = {"name": part.call.name, "arguments": ""}
    yield _Increment({"function_call": first}, part="arguments")
    for piece, weight in pieces:
        yield _Increment({"function_call": {"arguments": piece}}, part="arguments", tokens=weight)


def make_completion_filter(safety: Safety) -> dict[str, Json]:
    """Return the `content_filter_results` of a choice, as Azure shows them."""
    return _make_results(safety, DETECTIONS_OF_COMPLETION)


def make_prompt_filter(safety: Safety, index: int = 0) -> dict[str, Json]:
    """Return an entry of `prompt_filter_results`, as Azure shows them; `index` is the place of the prompt."""
    return {"prompt_index": index, "content_filter_results": _make_results(safety, DETECTIONS_OF_PROMPT)}


def make_prompt_filter_chunk(results: list[dict[str, Json]]) -> dict[str, Json]:
    """Return the first chunk of a stream that shows the results of the prompts before the first choice."""
    return {"choices": [], "created": 0, "id": "", "model": "", "object": "", "prompt_filter_results": results}


def _make_results(safety: Safety, detections: Iterable[str]) -> dict[str, Json]:
    results: dict[str, Json] = {name: {"filtered": False, "severity": "safe"} for name in HARMS}
    results |= {name: {"detected": False, "filtered": False} for name in detections}
    for verdict in safety:
        if verdict.category in results:
            shown = results[verdict.category]
            results[verdict.category] = {key: getattr(verdict, key) for key in shown}
    return results
