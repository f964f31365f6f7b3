"""Text completions as the frames of a stream, in the style that `text.py` defines. Knows no pace and no terminator."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat, zip_longest
from typing import Any

from pydantic_core import to_json

from mockserver.core.http import Frame
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Choice, Text, tokens_of
from mockserver.core.tokens import Tokenizer, spans, weighed
from mockserver.wire.chat import pick
from mockserver.wire.extras import completion_filter, preamble
from mockserver.wire.logprobs import Placed, ending_within, placed
from mockserver.wire.text import (
    TextStyle,
    Wanted,
    finish_of,
    ids,
    logprobs_of,
    prompt_of,
    raw_output,
    seen_in_prompts,
    usage_block,
    written,
)


def text_chunks(answer: Answer, style: TextStyle, wanted: Wanted) -> Iterator[Frame]:
    """The frames of a streamed answer (`wire/openai.md` section 5), without the terminator.

    What is repeated of the prompt comes first, in one piece; the choices take turns.
    """
    if style.prompt_apart:
        yield Frame(to_json(preamble(seen_in_prompts(answer, wanted))), part="open")
    mould = _Mould(answer, style, wanted)
    tracks = [_steps(choice, wanted, answer.tokenizer) for choice in answer.choices]
    for turn in zip_longest(*tracks):
        for index, step in enumerate(turn):
            if step is not None:
                yield Frame(mould.cast(index, step), tokens=step.tokens, part="finish" if step.ends else "text")
    if wanted.usage and style.stream_usage == "asked":
        yield Frame(mould.usage(), part="usage")


@dataclass(frozen=True, slots=True)
class _Step:
    """One increment of one choice, before it is bytes: its text, and the tokens that end within it."""

    text: str
    tokens: int = 0
    weighed: list[Placed] | None = None
    written: Sequence[str] | None = None
    begins: bool = False
    ends: bool = False


def _steps(choice: Choice, wanted: Wanted, tokenizer: Tokenizer) -> Iterator[_Step]:
    parts = [(part, tokens_of(part, tokenizer)) for part in choice.parts]
    pieces = [piece for part, tokens in parts if isinstance(part, Text) for piece in weighed(tokens, part.chunks)]
    shown = [(choice.echo, 0), *pieces] if choice.echo else pieces
    texts = [text for text, _ in shown]
    logprobs = repeat(None) if choice.logprobs is None else ending_within(texts, placed(choice))
    ours = _ours(choice, texts, written(choice, tokenizer)) if wanted.token_ids else repeat(None)
    # The first piece waits for what has no place in a text, such as the reasoning.
    wait = sum(len(tokens) for part, tokens in parts if not isinstance(part, Text))
    for at, ((piece, weight), own, tokens) in enumerate(zip(shown, logprobs, ours, strict=False)):
        echoes = bool(choice.echo) and at == 0
        yield _Step(piece, 0 if echoes else wait + weight, own, tokens, begins=at == 0)
        wait = wait if echoes else 0
    yield _Step("", wait, written=() if wanted.token_ids else None, begins=not shown, ends=True)


def _ours(choice: Choice, shown: Sequence[str], tokens: Sequence[str]) -> Iterator[Sequence[str]]:
    """For each piece that is shown the tokens that the model wrote: none for what is repeated of the prompt."""
    if choice.echo:
        yield ()
    yield from (tokens[span] for span in spans(shown[1:] if choice.echo else shown, tokens))


class _Mould:
    """Casts chunks of one answer. What all its chunks share is serialised once."""

    def __init__(self, answer: Answer, style: TextStyle, wanted: Wanted) -> None:
        self._answer, self._style, self._wanted = answer, style, wanted
        self._common: dict[str, Json] = {
            "id": answer.id,
            "object": "text_completion",
            "created": answer.created,
            "model": answer.model,
        }
        if wanted.usage or style.stream_usage == "finish":
            self._common["usage"] = None
        self._unfinished = len(answer.choices)
        self._around: dict[int, tuple[bytes, bytes]] = {}

    def cast(self, index: int, step: _Step) -> bytes:
        """One chunk's JSON."""
        if step.ends or step.weighed is not None or step.written is not None:
            return to_json(self._chunk(index, step))
        around = self._around.get(index)
        if around is None:
            chunk = self._chunk(index, step)
            chunk["choices"][0]["text"] = _HOLE
            before, _, after = to_json(chunk).partition(_HOLE_BYTES)
            around = self._around[index] = (before, after)
        return around[0] + to_json(step.text) + around[1]

    def usage(self) -> bytes:
        """The chunk without choices that tells the usage."""
        return to_json(pick({**self._common, "choices": [], "usage": self._usage()}, self._style.completion))

    def _usage(self) -> Any:
        return usage_block(self._answer.usage, self._style)

    def _chunk(self, index: int, step: _Step) -> dict[str, Any]:
        choice, wanted = self._answer.choices[index], self._wanted
        shown: dict[str, Json] = {
            "index": index,
            "text": step.text,
            "logprobs": None if step.weighed is None else logprobs_of(choice, step.weighed, wanted),
            "finish_reason": finish_of(choice, self._style) if step.ends else None,
        }
        if "content_filter_results" in self._style.choice:
            seen = choice.safety if step.ends else tuple(v for v in choice.safety if not v.filtered)
            shown["content_filter_results"] = completion_filter(seen)
        if step.written is not None:
            shown["token_ids"] = ids(step.written)
            if step.begins:
                shown["prompt_token_ids"] = ids(prompt_of(self._answer, index, wanted).tokens(self._answer.tokenizer))
        if step.ends and wanted.raw_output:
            shown["raw_output"] = raw_output(self._answer, index, wanted)
        more = self._ending() if step.ends else {}
        return pick({**self._common, "choices": [pick(shown, self._style.choice)], **more}, self._style.completion)

    def _ending(self) -> dict[str, Json]:
        """What the chunk tells that ends the last choice."""
        self._unfinished -= 1
        if self._unfinished or self._style.stream_usage != "finish":
            return {}
        told: dict[str, Json] = {"usage": self._usage()}
        if self._wanted.perf_metrics is not None:
            told["perf_metrics"] = self._wanted.perf_metrics
        return told


_HOLE: Json = {"\0": 0}
_HOLE_BYTES = to_json(_HOLE)
