"""The answers of InvokeModel, in which each family of models has a format of its own; streams hold them in chunks."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct
from pydantic_core import from_json, to_json

from mockserver.core.call import Options
from mockserver.core.frames import Frame
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Usage
from mockserver.wire.anthropic import MessageOptions, MessageRenderer, make_completion, stream_completion
from mockserver.wire.bedrock import ConverseOptions, ConverseRenderer
from mockserver.wire.chat import DONE, ChatRenderer
from mockserver.wire.parts import join_spoken, list_spoken_pieces
from mockserver.wire.renderer import Renderer

METRICS = "amazon-bedrock-invocationMetrics"  # in the last chunk of a stream


def _add_metrics(body: bytes, usage: Usage) -> bytes:
    """Return the last object of a stream with the metrics of the invocation."""
    counts = {"inputTokenCount": usage.prompt, "outputTokenCount": usage.completion}
    metrics = to_json({METRICS: {**counts, "invocationLatency": 0, "firstByteLatency": 0}})
    return body[:-1] + b"," + metrics[1:]


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

    def render_frames(self, answer: Answer, options: MessageOptions) -> Iterator[Frame]:
        events = super().render_frames(answer, options)
        return wrap_events((event for event in events if event.event != "ping"), answer.usage)


class CompletionRenderer(Renderer[None]):
    """Renders the text completions of Anthropic."""

    seals = True

    def render_body(self, answer: Answer, options: None) -> dict[str, Json]:
        return make_completion(answer)

    def render_frames(self, answer: Answer, options: None) -> Iterator[Frame]:
        return wrap_events(stream_completion(answer), answer.usage)


class ChatChunkRenderer(ChatRenderer):
    """Renders OpenAI's chats."""

    seals = True

    def render_frames(self, answer: Answer, options: Options) -> Iterator[Frame]:
        return wrap_events(
            (chunk for chunk in super().render_frames(answer, options) if chunk is not DONE), answer.usage
        )


class NovaRenderer(ConverseRenderer):
    """Renders the answers of Nova models: those of Converse, with other names for what was cached.

    In a stream, each event is an object with its name.
    """

    def render_body(self, answer: Answer, options: ConverseOptions) -> dict[str, Json]:
        whole = super().render_body(answer, options)
        return {key: whole[key] for key in ("output", "stopReason")} | {"usage": _make_nova_usage(answer.usage)}

    def render_frames(self, answer: Answer, options: ConverseOptions) -> Iterator[Frame]:
        return wrap_events(
            (_name_event(event, answer.usage) for event in super().render_frames(answer, options)), answer.usage
        )


def _name_event(frame: Frame, usage: Usage) -> Frame:
    body: Json = from_json(frame.data)
    if frame.event == "metadata":
        body = {"usage": _make_nova_usage(usage), "metrics": {}, "trace": {}}
    return Frame(to_json({str(frame.event): body}), tokens=frame.tokens, part=frame.part)


def _make_nova_usage(usage: Usage) -> Mapping[str, Json]:
    return {
        "inputTokens": max(usage.prompt - usage.cached - usage.cache_write, 0),
        "outputTokens": usage.completion,
        "totalTokens": usage.total,
        "cacheReadInputTokenCount": usage.cached,
        "cacheWriteInputTokenCount": usage.cache_write,
    }


class TextFormat(Struct, frozen=True):
    """How models that only continue a prompt write an answer.

    `piece(text, answer, last)` returns the object of a piece of a stream, and `whole(text, answer)` the body, if that
    is not a last piece with the whole text.
    """

    piece: Callable[[str, Answer, bool], dict[str, Json]]
    whole: Callable[[str, Answer], dict[str, Json]] | None = None


class TextFormatRenderer(Renderer[None]):
    """Renders answers in a TextFormat; the last chunk of a stream has no text, but the reason why it ends."""

    seals = True

    def __init__(self, form: TextFormat) -> None:
        super().__init__()
        self._form = form

    def render_body(self, answer: Answer, options: None) -> dict[str, Json]:
        form = self._form
        text = join_spoken(answer.choices[0])
        return form.piece(text, answer, True) if form.whole is None else form.whole(text, answer)

    def render_frames(self, answer: Answer, options: None) -> Iterator[Frame]:
        return wrap_events(self._list_pieces(answer), answer.usage)

    def _list_pieces(self, answer: Answer) -> Iterator[Frame]:
        for piece, weight in list_spoken_pieces(answer.choices[0], answer.tokenizer):
            yield Frame(to_json(self._form.piece(piece, answer, False)), tokens=weight)
        yield Frame(to_json(self._form.piece("", answer, True)))


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
MISTRAL = _list_under("outputs")
DEEPSEEK = _list_under("choices")
COMMAND = TextFormat(_make_command_piece, _make_command_answer)
COMMAND_R = TextFormat(_make_command_r_piece, _make_command_r_answer)
