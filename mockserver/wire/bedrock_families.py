"""The answers of InvokeModel, in which each family of models has a format of its own; streams hold them in chunks."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct
from pydantic_core import from_json, to_json

from mockserver.core.call import Options
from mockserver.core.http import Frame
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Refusal, Text, Usage, tokens_of
from mockserver.core.tokens import weigh_pieces
from mockserver.wire.anthropic import MessageOptions, MessageRenderer, make_completion, stream_completion
from mockserver.wire.bedrock import ConverseOptions, ConverseRenderer, make_converse_answer, stream_converse_events
from mockserver.wire.chat import DONE, ChatRenderer
from mockserver.wire.template import Renderer

METRICS = "amazon-bedrock-invocationMetrics"  # in the last chunk of a stream


def _add_metrics(body: bytes, usage: Usage) -> bytes:
    """Return the last object of a stream with what it tells of the invocation."""
    counts = {"inputTokenCount": usage.prompt, "outputTokenCount": usage.completion}
    told = to_json({METRICS: {**counts, "invocationLatency": 0, "firstByteLatency": 0}})
    return body[:-1] + b"," + told[1:]


def wrap_events(events: Iterable[Frame], usage: Usage) -> Iterator[Frame]:
    """Yield events as chunks, the last with metrics."""
    held: Frame | None = None
    for event in events:
        if held is not None:
            yield Frame(held.data, "chunk", held.tokens, "finish" if held.part == "end" else held.part, "chunk")
        held = event
    if held is not None:
        yield Frame(_add_metrics(held.data, usage), "chunk", held.tokens, "end", "chunk")


class ClaudeRenderer(MessageRenderer):
    """Renders the messages of Anthropic; their streams have no pings here."""

    seals = True

    def frames(self, answer: Answer, options: MessageOptions) -> Iterator[Frame]:
        events = super().frames(answer, options)
        return wrap_events((event for event in events if event.event != "ping"), answer.usage)


class CompletionRenderer(Renderer[None]):
    """Renders the text completions of Anthropic."""

    seals = True

    def body(self, answer: Answer, options: None) -> dict[str, Json]:
        return make_completion(answer)

    def frames(self, answer: Answer, options: None) -> Iterator[Frame]:
        return wrap_events(stream_completion(answer), answer.usage)


class ChatChunkRenderer(ChatRenderer):
    """Renders OpenAI's chats."""

    seals = True

    def frames(self, answer: Answer, options: Options) -> Iterator[Frame]:
        return wrap_events((chunk for chunk in super().frames(answer, options) if chunk is not DONE), answer.usage)


class NovaRenderer(ConverseRenderer):
    """Renders the answers of Nova models: those of Converse, with other names for what was cached.

    In a stream, each event is an object with its name.
    """

    def body(self, answer: Answer, options: ConverseOptions) -> dict[str, Json]:
        whole = make_converse_answer(answer, options)
        return {key: whole[key] for key in ("output", "stopReason")} | {"usage": _count(answer.usage)}

    def frames(self, answer: Answer, options: ConverseOptions) -> Iterator[Frame]:
        return wrap_events(_name_events(answer, options), answer.usage)


def _name_events(answer: Answer, options: ConverseOptions) -> Iterator[Frame]:
    for frame in stream_converse_events(answer, options):
        body: Json = from_json(frame.data)
        if frame.event == "metadata":
            body = {"usage": _count(answer.usage), "metrics": {}, "trace": {}}
        yield Frame(to_json({str(frame.event): body}), tokens=frame.tokens, part=frame.part)


def _count(usage: Usage) -> Mapping[str, Json]:
    return {
        "inputTokens": max(usage.prompt - usage.cached - usage.cache_write, 0),
        "outputTokens": usage.completion,
        "totalTokens": usage.total,
        "cacheReadInputTokenCount": usage.cached,
        "cacheWriteInputTokenCount": usage.cache_write,
    }


class TextFormat(Struct, frozen=True):
    """How models that only continue a prompt write an answer.

    `whole(text, answer)` returns the body, and `piece(text, answer, last)` the object of a piece of a stream.
    """

    whole: Callable[[str, Answer], dict[str, Json]]
    piece: Callable[[str, Answer, bool], dict[str, Json]]


class TextFormatRenderer(Renderer[None]):
    """Renders answers in such a format: in a stream, what comes last has no text, but says why it ends."""

    seals = True

    def __init__(self, form: TextFormat) -> None:
        super().__init__()
        self._form = form

    def body(self, answer: Answer, options: None) -> dict[str, Json]:
        return self._form.whole(join_texts(answer), answer)

    def frames(self, answer: Answer, options: None) -> Iterator[Frame]:
        return wrap_events(self._list_pieces(answer), answer.usage)

    def _list_pieces(self, answer: Answer) -> Iterator[Frame]:
        for part in answer.choices[0].parts:
            if isinstance(part, Text | Refusal):
                for piece, weight in weigh_pieces(tokens_of(part, answer.tokenizer), part.chunks):
                    yield Frame(to_json(self._form.piece(piece, answer, False)), tokens=weight)
        yield Frame(to_json(self._form.piece("", answer, True)))


def join_texts(answer: Answer) -> str:
    return "".join(part.text for part in answer.choices[0].parts if isinstance(part, Text | Refusal))


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
