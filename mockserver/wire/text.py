"""TextCompletion: an Answer as one body or as the frames of a stream.

The builders make every key of the family; a TextLayout says which of them a provider shows, and in which order.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, Literal

from msgspec import Struct, field
from pydantic_core import to_json

from mockserver.core.call import Prompt
from mockserver.core.frames import Frame
from mockserver.core.json import Json
from mockserver.core.lazy import map_lazily
from mockserver.core.plan import Answer, Choice, Text, find_tokens
from mockserver.core.tokens import find_token_id, slice_tokens, weigh_pieces
from mockserver.wire.chat import DONE, make_completion_filter, make_prompt_filter, make_prompt_filter_chunk, pick
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
    object: str = "text_completion"
    chunk_object: str = "text_completion"
    prompt_filter_first: bool = False  # whether a stream begins with a chunk of only the prompts' filter results
    # Where a stream has its usage. "requested": in a last chunk, if requested. "finish": with the last finish reason,
    # and null in the other chunks.
    stream_usage: Literal["requested", "finish"] = "requested"


class CompletionOptions(Struct, frozen=True):
    """The keys that the request wants beside the text, and the values of the request that the answer repeats."""

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

    def render_body(self, answer: Answer, options: CompletionOptions) -> dict[str, Json]:
        return _Completion(answer, self.layout, options).make_body()

    def render_frames(self, answer: Answer, options: CompletionOptions) -> Iterator[Frame]:
        yield from _Completion(answer, self.layout, options).stream_chunks()
        yield DONE

    def outline(self, answer: Answer, options: CompletionOptions) -> Outline | None:
        if options.token_ids or options.raw_output or options.perf_metrics is not None:
            return None
        return Outline((options.usage, len(options.prompts)), ())


class _Piece(Struct, frozen=True):
    """A piece of a choice; a body has the whole choice as one piece."""

    text: str
    tokens: int = 0
    logprobs: Sequence[OffsetLogprob] | None = None
    written: Sequence[str] | None = None  # generated tokens, for their ids
    begins: bool = False
    ends: bool = False


class _Completion:
    """An answer in one layout, as its request wants it."""

    def __init__(self, answer: Answer, layout: TextLayout, options: CompletionOptions) -> None:
        self._answer = answer
        self._layout = layout
        self._options = options
        self._head: dict[str, Json] = {
            "id": answer.id,
            "object": layout.object,
            "created": answer.created,
            "model": answer.model,
            "system_fingerprint": f"fp_{answer.system_fingerprint}",
        }
        self._unfinished = len(answer.choices)

    def make_body(self) -> dict[str, Json]:
        choices = map_lazily(
            lambda index: self._make_choice(index, self._join_pieces(index)), range(len(self._answer.choices))
        )
        more: dict[str, Json] = {**self._make_ending(), "prompt": []}
        if "prompt_filter_results" in self._layout.completion:
            more["prompt_filter_results"] = self._list_prompt_filters()
        return pick({**self._head, "choices": choices, **more}, self._layout.completion)

    def stream_chunks(self) -> Iterator[Frame]:
        """Yield the frames of a stream: an echoed prompt first, in one piece; the choices take turns."""
        if self._layout.prompt_filter_first:
            yield Frame(to_json(make_prompt_filter_chunk(self._list_prompt_filters())), part="open")
        template = ChunkTemplate(lambda index, text: self._make_chunk(index, _Piece(text)))
        for index, piece in take_turns([self._list_pieces(choice) for choice in self._answer.choices]):
            if piece.ends or piece.logprobs is not None or piece.written is not None:
                data = to_json(self._make_chunk(index, piece))
            else:
                data = template.fill(index, piece.text)
            yield Frame(data, tokens=piece.tokens, part="finish" if piece.ends else "text")
        if self._options.usage and self._layout.stream_usage == "requested":
            yield Frame(to_json(self._pick_chunk([], usage=self._make_usage())), part="usage")

    def _make_choice(self, index: int, piece: _Piece) -> Any:
        choice = self._answer.choices[index]
        layout = self._layout
        shaped = None
        if piece.logprobs is not None:
            shaped = shape_logprobs(piece.logprobs, self._options.logprobs, echoes=bool(choice.echo))
        shown: dict[str, Json] = {
            "index": index,
            "text": piece.text,
            "logprobs": shaped,
            "finish_reason": layout.finishes.get(choice.finish, choice.finish) if piece.ends else None,
        }
        if "content_filter_results" in layout.choice:
            seen = choice.safety if piece.ends else tuple(verdict for verdict in choice.safety if not verdict.filtered)
            shown["content_filter_results"] = make_completion_filter(seen)
        if piece.written is not None:
            shown["token_ids"] = _list_token_ids(piece.written)
            if piece.begins:
                shown["prompt_token_ids"] = _list_token_ids(
                    self._find_prompt(index).find_tokens(self._answer.tokenizer)
                )
        if piece.ends and self._options.raw_output:
            shown["raw_output"] = self._make_raw_output(index)
        return pick(shown, layout.choice)

    def _make_raw_output(self, index: int) -> dict[str, Json]:
        choice = self._answer.choices[index]
        options = self._options
        sent = self._find_prompt(index)
        prompt = sent.find_tokens(self._answer.tokenizer)
        logprobs = [(offset, token) for offset, token in add_offsets(choice) if offset >= len(choice.echo)]
        weighed = None if choice.logprobs is None else make_content_logprobs(logprobs, options.logprobs)
        return {
            "prompt_fragments": ["".join(prompt)] if sent.numbers is None else list(sent.numbers),
            "prompt_token_ids": _list_token_ids(prompt),
            "completion": _join_texts(choice),
            "completion_token_ids": _list_token_ids(self._list_tokens(choice)),
            "completion_logprobs": weighed,
            "images": list(self._find_value_of_prompt(options.images, index) or ()) or None,
            "videos": None,
            "grammar": options.grammar,
        }

    def _find_prompt(self, index: int) -> Prompt:
        return self._find_value_of_prompt(self._options.prompts, index) or Prompt("")

    def _find_value_of_prompt(self, values: Sequence[Any], index: int) -> Any:
        """Return the value of a choice's prompt; each prompt has equally many choices, in the order of the prompts."""
        return values[index * len(values) // len(self._answer.choices)] if values else None

    def _list_prompt_filters(self) -> list[dict[str, Json]]:
        return [
            make_prompt_filter(self._answer.prompt_safety, index) for index in range(len(self._options.prompts) or 1)
        ]

    def _list_tokens(self, choice: Choice) -> list[str]:
        tokenizer = self._answer.tokenizer
        return [token for part in choice.parts if isinstance(part, Text) for token in find_tokens(part, tokenizer)]

    def _make_usage(self) -> dict[str, Json]:
        usage = self._answer.usage
        full = {
            "prompt_tokens": usage.prompt,
            "completion_tokens": usage.completion,
            "total_tokens": usage.total,
            "prompt_tokens_details": {"cached_tokens": usage.cached},
        }
        return pick(full, self._layout.usage)

    def _make_ending(self) -> dict[str, Json]:
        metrics = self._options.perf_metrics
        return {"usage": self._make_usage(), **({} if metrics is None else {"perf_metrics": metrics})}

    def _join_pieces(self, index: int) -> _Piece:
        """Return all of a choice as one piece."""
        choice = self._answer.choices[index]
        return _Piece(
            choice.echo + _join_texts(choice),
            logprobs=None if choice.logprobs is None else list(add_offsets(choice)),
            written=self._list_tokens(choice) if self._options.token_ids else None,
            begins=True,
            ends=True,
        )

    def _list_pieces(self, choice: Choice) -> Iterator[_Piece]:
        parts = [(part, find_tokens(part, self._answer.tokenizer)) for part in choice.parts]
        pieces = [
            piece for part, tokens in parts if isinstance(part, Text) for piece in weigh_pieces(tokens, part.chunks)
        ]
        shown = [(choice.echo, 0), *pieces] if choice.echo else pieces
        texts = [text for text, _ in shown]
        has_ids = self._options.token_ids
        logprobs = repeat(None) if choice.logprobs is None else group_by_piece(texts, add_offsets(choice))
        written = _pick_written_tokens(choice, texts, self._list_tokens(choice)) if has_ids else repeat(None)
        # The first piece waits for parts that a text completion does not show, such as reasoning.
        wait = sum(len(tokens) for part, tokens in parts if not isinstance(part, Text))
        for at, ((piece, weight), own, tokens) in enumerate(zip(shown, logprobs, written, strict=False)):
            echoes = bool(choice.echo) and at == 0
            yield _Piece(piece, 0 if echoes else wait + weight, logprobs=own, written=tokens, begins=at == 0)
            wait = wait if echoes else 0
        yield _Piece("", wait, written=() if has_ids else None, begins=not shown, ends=True)

    def _make_chunk(self, index: int, piece: _Piece) -> dict[str, Any]:
        ending: dict[str, Json] = {}
        if piece.ends:
            self._unfinished -= 1
            if not self._unfinished and self._layout.stream_usage == "finish":
                ending = self._make_ending()
        return self._pick_chunk([self._make_choice(index, piece)], **ending)

    def _pick_chunk(self, choices: list[dict[str, Json]], **more: Json) -> dict[str, Json]:
        usage = {"usage": None} if self._options.usage or self._layout.stream_usage == "finish" else {}
        full = {**self._head, "object": self._layout.chunk_object, **usage, "choices": choices, **more}
        return pick(full, self._layout.completion)


def _join_texts(choice: Choice) -> str:
    return "".join(part.text for part in choice.parts if isinstance(part, Text))


def _list_token_ids(tokens: Sequence[str]) -> list[int]:
    return [find_token_id(token) for token in tokens]


def _pick_written_tokens(choice: Choice, shown: Sequence[str], tokens: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield for each piece the generated tokens that end within it: none for the echoed prompt."""
    if choice.echo:
        yield ()
    yield from (tokens[span] for span in slice_tokens(shown[1:] if choice.echo else shown, tokens))
