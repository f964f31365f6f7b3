"""The bodies of InvokeModel, in which each family of models has a format of its own; streams hold them in chunks."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import from_json, to_json

from mockserver.core.http import Frame, FrameRun, Frames
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Usage
from mockserver.wire.bedrock import ConverseOptions, ConverseRenderer
from mockserver.wire.parts import join_spoken, list_spoken_pieces

Body = Mapping[str, Json]
METRICS = "amazon-bedrock-invocationMetrics"
_CONVERSE = ConverseRenderer()


def make_metrics(usage: Usage) -> Body:
    """Return what the last chunk of a stream tells of the invocation."""
    counts = {"inputTokenCount": usage.prompt, "outputTokenCount": usage.completion}
    return {**counts, "invocationLatency": 0, "firstByteLatency": 0}


def make_chunk(body: Body, part: str = "text", tokens: int = 0) -> Frame:
    return Frame(to_json(body), "chunk", tokens, part, "chunk")


def wrap_events(frames: Iterable[Frame | bytes], usage: Usage) -> Frames:
    """Return the events of Anthropic as chunks, without pings and with metrics in the last."""
    runs = frames.runs if isinstance(frames, Frames) else [frame for frame in frames if isinstance(frame, Frame)]
    return Frames([_wrap_event(run, usage) for run in runs if run.event != "ping"])


def _wrap_event(frame: Frame | FrameRun, usage: Usage) -> Frame | FrameRun:
    if type(frame) is FrameRun:
        return replace(frame, event="chunk", framing="chunk")
    if frame.event == "message_stop" or (frame.event, frame.part) == _ENDED:
        metrics = to_json({METRICS: make_metrics(usage)})
        return Frame(frame.data[:-1] + b"," + metrics[1:], "chunk", frame.tokens, "end", "chunk")
    return Frame(frame.data, "chunk", frame.tokens, frame.part, "chunk")


_ENDED = ("completion", "finish")  # the last event of a text completion


def make_nova_answer(answer: Answer, options: ConverseOptions) -> dict[str, Json]:
    """Return the answer of a Nova model: that of Converse, with other names for what was cached."""
    whole = _CONVERSE.body(answer, options)
    return {key: whole[key] for key in ("output", "stopReason")} | {"usage": _count(answer.usage)}


def _count(usage: Usage) -> Body:
    return {
        "inputTokens": max(usage.prompt - usage.cached - usage.cache_write, 0),
        "outputTokens": usage.completion,
        "totalTokens": usage.total,
        "cacheReadInputTokenCount": usage.cached,
        "cacheWriteInputTokenCount": usage.cache_write,
    }


def stream_nova_answer(answer: Answer, options: ConverseOptions) -> Iterator[Frame]:
    """Yield the chunks of a Nova model: Converse's events, each in an object with its name."""
    for frame in _CONVERSE.frames(answer, options):
        body: Json = from_json(frame.data)
        more: Body = {}
        if frame.event == "metadata":
            body = {"usage": _count(answer.usage), "metrics": {}, "trace": {}}
            more = {METRICS: make_metrics(answer.usage)}
        yield make_chunk({str(frame.event): body, **more}, frame.part, frame.tokens)


class TextFormat(Struct, frozen=True):
    """How models that only continue a prompt write an answer.

    `piece(text, answer, last)` returns the object of a piece of a stream, and `whole(text, answer)` the body, if that
    is not a last piece with the whole text.
    """

    piece: Callable[[str, Answer, bool], dict[str, Json]]
    whole: Callable[[str, Answer], dict[str, Json]] | None = None


def make_text_answer(answer: Answer, form: TextFormat) -> dict[str, Json]:
    text = join_spoken(answer.choices[0])
    return form.piece(text, answer, True) if form.whole is None else form.whole(text, answer)


def stream_text_answer(answer: Answer, form: TextFormat) -> Iterator[Frame]:
    """Yield a chunk for each piece of the text, and a last one that says why it ends, with metrics."""
    for piece, weight in list_spoken_pieces(answer.choices[0], answer.tokenizer):
        yield make_chunk(form.piece(piece, answer, False), tokens=weight)
    yield make_chunk({**form.piece("", answer, True), METRICS: make_metrics(answer.usage)}, "end")


def _make_titan_piece(text: str, answer: Answer, last: bool) -> dict[str, Json]:
    return {
        "outputText": text,
        "index": 0,
        "totalOutputTextTokenCount": answer.usage.completion if last else None,
        "completionReason": _find_titan_reason(answer) if last else None,
        "inputTextTokenCount": answer.usage.prompt,
    }


def _make_titan_answer(text: str, answer: Answer) -> dict[str, Json]:
    reason = _find_titan_reason(answer)
    result = {"tokenCount": answer.usage.completion, "outputText": text, "completionReason": reason}
    return {"inputTextTokenCount": answer.usage.prompt, "results": [result]}


def _find_titan_reason(answer: Answer) -> str:
    finish = answer.choices[0].finish
    return {"length": "LENGTH", "content_filter": "CONTENT_FILTERED"}.get(finish, "FINISH")


def _make_llama_piece(text: str, answer: Answer, last: bool) -> dict[str, Json]:
    return {
        "generation": text,
        "prompt_token_count": answer.usage.prompt if last else None,
        "generation_token_count": answer.usage.completion if last else None,
        "stop_reason": _find_stop(answer) if last else None,
    }


def _list_under(key: str) -> TextFormat:
    """Return the format of models whose only text is the first of several, under a key."""

    def make_piece(text: str, answer: Answer, last: bool) -> dict[str, Json]:
        return {key: [{"text": text, "stop_reason": _find_stop(answer) if last else None}]}

    return TextFormat(make_piece)


def _find_stop(answer: Answer) -> str:
    return "length" if answer.choices[0].finish == "length" else "stop"


def _make_command_piece(text: str, answer: Answer, last: bool) -> dict[str, Json]:
    ended = {"finish_reason": _find_cohere_reason(answer)} if last else {}
    return {"text": text, "is_finished": last, **ended}


def _make_command_answer(text: str, answer: Answer) -> dict[str, Json]:
    generation = {"id": answer.id, "text": text, "finish_reason": _find_cohere_reason(answer)}
    return {"id": answer.id, "generations": [generation], "prompt": ""}


def _make_command_r_piece(text: str, answer: Answer, last: bool) -> dict[str, Json]:
    if not last:
        return {"event_type": "text-generation", "text": text, "is_finished": False}
    whole = _make_command_r_answer(join_spoken(answer.choices[0]), answer)
    return {
        "event_type": "stream-end",
        "finish_reason": whole["finish_reason"],
        "is_finished": True,
        "response": whole,
    }


def _make_command_r_answer(text: str, answer: Answer) -> dict[str, Json]:
    return {
        "response_id": answer.id,
        "text": text,
        "generation_id": answer.id,
        "chat_history": [{"role": "CHATBOT", "message": text}],
        "finish_reason": _find_cohere_reason(answer),
    }


def _find_cohere_reason(answer: Answer) -> str:
    return "MAX_TOKENS" if answer.choices[0].finish == "length" else "COMPLETE"


TITAN = TextFormat(_make_titan_piece, _make_titan_answer)
LLAMA = TextFormat(_make_llama_piece)
MISTRAL, DEEPSEEK = _list_under("outputs"), _list_under("choices")
COMMAND = TextFormat(_make_command_piece, _make_command_answer)
COMMAND_R = TextFormat(_make_command_r_piece, _make_command_r_answer)
