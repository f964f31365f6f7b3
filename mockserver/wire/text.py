"""TextCompletion: an Answer as one body or as the frames of a stream.

The builders make every key of the family; a TextLayout says which of them a provider shows, and in which order.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, Literal

from msgspec import Struct, field
from pydantic_core import to_json

from mockserver.core.call import Prompt
from mockserver.core.http import Frame
from mockserver.core.json import Json
from mockserver.core.lazy import map_lazily
from mockserver.core.plan import Answer, Choice, Text, Usage, tokens_of
from mockserver.core.tokens import Tokenizer, spans, token_id, weigh_pieces
from mockserver.wire.chat import DONE, make_completion_filter, pick, prompt_filter, prompt_filter_chunk
from mockserver.wire.logprobs import (
    LogprobsShape,
    OffsetLogprob,
    add_offsets,
    group_by_piece,
    make_content_logprobs,
    shape_logprobs,
)
from mockserver.wire.parts import take_turns
from mockserver.wire.renderer import Outline, Renderer
from mockserver.wire.template import ChunkTemplate


class TextLayout(Struct, frozen=True):
    """Which keys a provider shows, in which order, and its finish reasons."""

    completion: tuple[str, ...]
    choice: tuple[str, ...]
    usage: tuple[str, ...]
    finishes: Mapping[str, str]  # finish reasons that the provider does not have -> those that it shows instead
    prompt_filter_first: bool = False  # whether a stream begins with a chunk of only the prompts' filter results
    # Where a stream has its usage. "requested": in a last chunk, if requested. "finish": with the last finish reason,
    # and null in the other chunks.
    stream_usage: Literal["requested", "finish"] = "requested"


class CompletionOptions(Struct, frozen=True):
    """What the request wants shown besides the text, and what of the request is repeated."""

    prompts: tuple[Prompt, ...] = ()
    logprobs: LogprobsShape = field(default_factory=LogprobsShape)
    token_ids: bool = False
    raw_output: bool = False
    usage: bool = False  # in a last chunk of a stream
    perf_metrics: Mapping[str, Json] | None = None
    images: tuple[tuple[str, ...], ...] = ()  # of each prompt
    grammar: str | None = None


class TextRenderer(Renderer[CompletionOptions]):
    """Renders text completions in one layout."""

    def __init__(self, layout: TextLayout) -> None:
        super().__init__()
        self.layout = layout

    def body(self, answer: Answer, options: CompletionOptions) -> dict[str, Json]:
        return make_text_completion(answer, self.layout, options)

    def frames(self, answer: Answer, options: CompletionOptions) -> Iterator[Frame]:
        yield from stream_text_chunks(answer, self.layout, options)
        yield DONE

    def outline(self, answer: Answer, options: CompletionOptions) -> Outline | None:
        if options.token_ids or options.raw_output or options.perf_metrics is not None:
            return None
        return Outline((options.usage, len(options.prompts)), ())


def make_text_completion(answer: Answer, layout: TextLayout, options: CompletionOptions) -> dict[str, Json]:
    body: dict[str, Json] = {
        "id": answer.id,
        "object": "text_completion",
        "created": answer.created,
        "model": answer.model,
        "choices": map_lazily(lambda index: _make_choice(answer, index, layout, options), range(len(answer.choices))),
        "usage": _make_usage(answer.usage, layout),
    }
    if "prompt_filter_results" in layout.completion:
        body["prompt_filter_results"] = _list_prompt_filters(answer, options)
    if options.perf_metrics is not None:
        body["perf_metrics"] = options.perf_metrics
    return pick(body, layout.completion)


def stream_text_chunks(answer: Answer, layout: TextLayout, options: CompletionOptions) -> Iterator[Frame]:
    """Yield the frames of a streamed answer: an echoed prompt first, in one piece; the choices take turns."""
    if layout.prompt_filter_first:
        yield Frame(to_json(prompt_filter_chunk(_list_prompt_filters(answer, options))), part="open")
    builder = _CompletionChunkBuilder(answer, layout, options)
    template = ChunkTemplate(lambda index, text: builder.chunk(index, _Piece(text)))
    for index, piece in take_turns([_list_pieces(choice, options, answer.tokenizer) for choice in answer.choices]):
        if piece.ends or piece.logprobs is not None or piece.written is not None:
            data = to_json(builder.chunk(index, piece))
        else:
            data = template.fill(index, piece.text)
        yield Frame(data, tokens=piece.tokens, part="finish" if piece.ends else "text")
    if options.usage and layout.stream_usage == "requested":
        yield Frame(to_json(builder.usage_chunk()), part="usage")


def _make_choice(answer: Answer, index: int, layout: TextLayout, options: CompletionOptions) -> Any:
    choice = answer.choices[index]
    full: dict[str, Json] = {
        "index": index,
        "text": choice.echo + _join_texts(choice),
        "logprobs": _shape_choice_logprobs(choice, list(add_offsets(choice)), options),
        "finish_reason": _finish(choice, layout),
    }
    if "content_filter_results" in layout.choice:
        full["content_filter_results"] = make_completion_filter(choice.safety)
    if options.raw_output:
        full["raw_output"] = _make_raw_output(answer, index, options)
    if options.token_ids:
        full["prompt_token_ids"] = _list_token_ids(_list_prompt_tokens(answer, index, options))
        full["token_ids"] = _list_token_ids(_list_tokens(choice, answer.tokenizer))
    return pick(full, layout.choice)


def _list_prompt_filters(answer: Answer, options: CompletionOptions) -> list[dict[str, Json]]:
    return [prompt_filter(answer.prompt_safety, index) for index in range(len(options.prompts) or 1)]


def _join_texts(choice: Choice) -> str:
    return "".join(part.text for part in choice.parts if isinstance(part, Text))


def _list_tokens(choice: Choice, tokenizer: Tokenizer) -> list[str]:
    return [token for part in choice.parts if isinstance(part, Text) for token in tokens_of(part, tokenizer)]


def _list_token_ids(tokens: Sequence[str]) -> list[int]:
    return [token_id(token) for token in tokens]


def _finish(choice: Choice, layout: TextLayout) -> str:
    return layout.finishes.get(choice.finish, choice.finish)


def _shape_choice_logprobs(choice: Choice, tokens: Sequence[OffsetLogprob], options: CompletionOptions) -> Any:
    return None if choice.logprobs is None else shape_logprobs(tokens, options.logprobs, echoes=bool(choice.echo))


def _make_raw_output(answer: Answer, index: int, options: CompletionOptions) -> dict[str, Json]:
    choice, prompt, sent = (
        answer.choices[index],
        _list_prompt_tokens(answer, index, options),
        _find_prompt(answer, index, options),
    )
    logprobs = [(offset, token) for offset, token in add_offsets(choice) if offset >= len(choice.echo)]
    images = list(_find_value_of_prompt(options.images, answer, index) or ())
    return {
        "prompt_fragments": ["".join(prompt)] if sent.numbers is None else list(sent.numbers),
        "prompt_token_ids": _list_token_ids(prompt),
        "completion": _join_texts(choice),
        "completion_token_ids": _list_token_ids(_list_tokens(choice, answer.tokenizer)),
        "completion_logprobs": None if choice.logprobs is None else make_content_logprobs(logprobs, options.logprobs),
        "images": images or None,
        "videos": None,
        "grammar": options.grammar,
    }


def _list_prompt_tokens(answer: Answer, index: int, options: CompletionOptions) -> Sequence[str]:
    return _find_prompt(answer, index, options).tokens(answer.tokenizer)


def _find_prompt(answer: Answer, index: int, options: CompletionOptions) -> Prompt:
    return _find_value_of_prompt(options.prompts, answer, index) or Prompt("")


def _find_value_of_prompt(values: Sequence[Any], answer: Answer, index: int) -> Any:
    """Return the value of a choice's prompt; each prompt has equally many choices, in the order of the prompts."""
    return values[index * len(values) // len(answer.choices)] if values else None


def _make_usage(usage: Usage, layout: TextLayout) -> dict[str, Json]:
    full = {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }
    return pick(full, layout.usage)


class _Piece(Struct, frozen=True):
    text: str
    tokens: int = 0
    logprobs: list[OffsetLogprob] | None = None
    written: Sequence[str] | None = None  # generated tokens, for their ids
    begins: bool = False
    ends: bool = False


def _list_pieces(choice: Choice, options: CompletionOptions, tokenizer: Tokenizer) -> Iterator[_Piece]:
    parts = [(part, tokens_of(part, tokenizer)) for part in choice.parts]
    pieces = [piece for part, tokens in parts if isinstance(part, Text) for piece in weigh_pieces(tokens, part.chunks)]
    shown = [(choice.echo, 0), *pieces] if choice.echo else pieces
    texts = [text for text, _ in shown]
    logprobs = repeat(None) if choice.logprobs is None else group_by_piece(texts, add_offsets(choice))
    written = (
        _pick_written_tokens(choice, texts, _list_tokens(choice, tokenizer)) if options.token_ids else repeat(None)
    )
    # The first piece waits for parts that a text completion does not show, such as reasoning.
    wait = sum(len(tokens) for part, tokens in parts if not isinstance(part, Text))
    for at, ((piece, weight), own, tokens) in enumerate(zip(shown, logprobs, written, strict=False)):
        echoes = bool(choice.echo) and at == 0
        yield _Piece(piece, 0 if echoes else wait + weight, own, tokens, begins=at == 0)
        wait = wait if echoes else 0
    yield _Piece("", wait, written=() if options.token_ids else None, begins=not shown, ends=True)


def _pick_written_tokens(choice: Choice, shown: Sequence[str], tokens: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield for each piece the generated tokens that end within it: none for the echoed prompt."""
    if choice.echo:
        yield ()
    yield from (tokens[span] for span in spans(shown[1:] if choice.echo else shown, tokens))


class _CompletionChunkBuilder:
    def __init__(self, answer: Answer, layout: TextLayout, options: CompletionOptions) -> None:
        self._answer, self._layout, self._options = answer, layout, options
        self._head: dict[str, Json] = {
            "id": answer.id,
            "object": "text_completion",
            "created": answer.created,
            "model": answer.model,
        }
        if options.usage or layout.stream_usage == "finish":
            self._head["usage"] = None
        self._unfinished = len(answer.choices)

    def chunk(self, index: int, piece: _Piece) -> dict[str, Any]:
        answer, options = self._answer, self._options
        choice = answer.choices[index]
        shown: dict[str, Json] = {
            "index": index,
            "text": piece.text,
            "logprobs": None if piece.logprobs is None else _shape_choice_logprobs(choice, piece.logprobs, options),
            "finish_reason": _finish(choice, self._layout) if piece.ends else None,
        }
        if "content_filter_results" in self._layout.choice:
            seen = choice.safety if piece.ends else tuple(verdict for verdict in choice.safety if not verdict.filtered)
            shown["content_filter_results"] = make_completion_filter(seen)
        if piece.written is not None:
            shown["token_ids"] = _list_token_ids(piece.written)
            if piece.begins:
                shown["prompt_token_ids"] = _list_token_ids(_list_prompt_tokens(answer, index, options))
        if piece.ends and options.raw_output:
            shown["raw_output"] = _make_raw_output(answer, index, options)
        return self._make_chunk([pick(shown, self._layout.choice)], **(self._make_ending() if piece.ends else {}))

    def usage_chunk(self) -> dict[str, Any]:
        return self._make_chunk([], usage=_make_usage(self._answer.usage, self._layout))

    def _make_ending(self) -> dict[str, Json]:
        self._unfinished -= 1
        if self._unfinished or self._layout.stream_usage != "finish":
            return {}
        metrics = self._options.perf_metrics
        ending: dict[str, Json] = {"usage": _make_usage(self._answer.usage, self._layout)}
        return ending if metrics is None else {**ending, "perf_metrics": metrics}

    def _make_chunk(self, choices: list[dict[str, Json]], **more: Json) -> dict[str, Json]:
        return pick({**self._head, "choices": choices, **more}, self._layout.completion)
