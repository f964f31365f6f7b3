"""The bodies of InvokeModel, in which each family of models has a format of its own; streams hold them in chunks."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import from_json, to_json

from mockserver.core.http import Frame, FrameRun, Frames
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Refusal, Text, Usage, tokens_of
from mockserver.core.tokens import weigh_pieces
from mockserver.wire.bedrock import ConverseOptions, make_converse_answer, stream_converse_events

Body = Mapping[str, Json]
METRICS = "amazon-bedrock-invocationMetrics"


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
    whole = make_converse_answer(answer, options)
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
    for frame in stream_converse_events(answer, options):
        body: Json = from_json(frame.data)
        more: Body = {}
        if frame.event == "metadata":
            body = {"usage": _count(answer.usage), "metrics": {}, "trace": {}}
            more = {METRICS: make_metrics(answer.usage)}
        yield make_chunk({str(frame.event): body, **more}, frame.part, frame.tokens)


class TextFormat(Struct, frozen=True):
    """How models that only continue a prompt write an answer.

    `whole(text, answer)` returns the body, and `piece(text, answer, last)` the object of a piece of a stream.
    """

    whole: Callable[[str, Answer], dict[str, Json]]
    piece: Callable[[str, Answer, bool], dict[str, Json]]


def join_texts(answer: Answer) -> str:
    return "".join(part.text for part in answer.choices[0].parts if isinstance(part, Text | Refusal))


def make_text_answer(answer: Answer, form: TextFormat) -> dict[str, Json]:
    return form.whole(join_texts(answer), answer)


def stream_text_answer(answer: Answer, form: TextFormat) -> Iterator[Frame]:
    """Yield a chunk for each piece of the text, and a last one that says why it ends, with metrics."""
    for part in answer.choices[0].parts:
        if isinstance(part, Text | Refusal):
            for piece, weight in weigh_pieces(tokens_of(part, answer.tokenizer), part.chunks):
                yield make_chunk(form.piece(piece, answer, False), tokens=weight)
    yield make_chunk({**form.piece("", answer, True), METRICS: make_metrics(answer.usage)}, "end")


def _is_cut(answer: Answer) -> bool:
    return answer.choices[0].finish == "length"


def _titan_reason(answer: Answer) -> str:
    finish = answer.choices[0].finish
    return {"length": "LENGTH", "content_filter": "CONTENT_FILTERED"}.get(finish, "FINISH")


def _make_titan_result(text: str, answer: Answer) -> dict[str, Json]:
    result = {"tokenCount": answer.usage.completion, "outputText": text, "completionReason": _titan_reason(answer)}
    return {"inputTextTokenCount": answer.usage.prompt, "results": [result]}


def _make_titan_piece(text: str, answer: Answer, last: bool) -> dict[str, Json]:
    return {
        "outputText": text,
        "index": 0,
        "totalOutputTextTokenCount": answer.usage.completion if last else None,
        "completionReason": _titan_reason(answer) if last else None,
        "inputTextTokenCount": answer.usage.prompt,
    }


def _make_llama_answer(text: str, answer: Answer) -> dict[str, Json]:
    return _make_llama_piece(text, answer, True)


def _make_llama_piece(text: str, answer: Answer, last: bool) -> dict[str, Json]:
    return {
        "generation": text,
        "prompt_token_count": answer.usage.prompt if last else None,
        "generation_token_count": answer.usage.completion if last else None,
        "stop_reason": _find_stop(answer) if last else None,
    }


def _find_stop(answer: Answer) -> str:
    return "length" if _is_cut(answer) else "stop"


def _make_mistral_answer(text: str, answer: Answer) -> dict[str, Json]:
    return {"outputs": [{"text": text, "stop_reason": _find_stop(answer)}]}


def _make_mistral_piece(text: str, answer: Answer, last: bool) -> dict[str, Json]:
    return {"outputs": [{"text": text, "stop_reason": _find_stop(answer) if last else None}]}


def _make_deepseek_answer(text: str, answer: Answer) -> dict[str, Json]:
    return {"choices": [{"text": text, "stop_reason": _find_stop(answer)}]}


def _make_deepseek_piece(text: str, answer: Answer, last: bool) -> dict[str, Json]:
    return {"choices": [{"text": text, "stop_reason": _find_stop(answer) if last else None}]}


def _cohere_reason(answer: Answer) -> str:
    return "MAX_TOKENS" if _is_cut(answer) else "COMPLETE"


def _make_command_answer(text: str, answer: Answer) -> dict[str, Json]:
    generation = {"id": answer.id, "text": text, "finish_reason": _cohere_reason(answer)}
    return {"id": answer.id, "generations": [generation], "prompt": ""}


def _make_command_piece(text: str, answer: Answer, last: bool) -> dict[str, Json]:
    ended = {"finish_reason": _cohere_reason(answer)} if last else {}
    return {"text": text, "is_finished": last, **ended}


def _make_command_r_answer(text: str, answer: Answer) -> dict[str, Json]:
    return {
        "response_id": answer.id,
        "text": text,
        "generation_id": answer.id,
        "chat_history": [{"role": "CHATBOT", "message": text}],
        "finish_reason": _cohere_reason(answer),
    }


def _make_command_r_piece(text: str, answer: Answer, last: bool) -> dict[str, Json]:
    if not last:
        return {"event_type": "text-generation", "text": text, "is_finished": False}
    whole = _make_command_r_answer(join_texts(answer), answer)
    return {
        "event_type": "stream-end",
        "finish_reason": whole["finish_reason"],
        "is_finished": True,
        "response": whole,
    }


TITAN = TextFormat(_make_titan_result, _make_titan_piece)
LLAMA = TextFormat(_make_llama_answer, _make_llama_piece)
MISTRAL = TextFormat(_make_mistral_answer, _make_mistral_piece)
DEEPSEEK = TextFormat(_make_deepseek_answer, _make_deepseek_piece)
COMMAND = TextFormat(_make_command_answer, _make_command_piece)
COMMAND_R = TextFormat(_make_command_r_answer, _make_command_r_piece)
