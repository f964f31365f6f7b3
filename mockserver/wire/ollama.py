"""Ollama's answers to chat and generate: one object, or the lines of a stream (https://docs.ollama.com/api).

Each line has a piece of a text, or a whole tool call; the last one says why the answer ended, and what it took.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct
from pydantic_core import to_json

from mockserver.core.frames import Frame
from mockserver.core.json import Json, compact, try_parse
from mockserver.core.plan import Answer, Item, Logprob, Part, Reasoning, Text, ToolUse, Usage, find_tokens
from mockserver.core.tokens import weigh_pieces
from mockserver.wire.logprobs import encode_tokens, make_logprobs_block, spread_logprobs
from mockserver.wire.parts import write_moment
from mockserver.wire.renderer import Outline, Renderer
from mockserver.wire.template import ChunkTemplate

Object = dict[str, Json]
# nanoseconds that a model takes for each
LOAD = 1_000_000
PROMPT_TOKEN = 1_000_000
TOKEN = 10_000_000


class LineOptions(Struct, frozen=True):
    """What the request contributes to its answer."""

    generates: bool = False  # generate: the text stands alone, and not in a message
    thinks: bool = True  # whether thinking is shown
    context: bool = False  # generate: whether the end has the ids of the conversation's tokens


class LineRenderer(Renderer[LineOptions]):
    """Renders answers of Ollama's own API."""

    def render_body(self, answer: Answer, options: LineOptions) -> Object:
        """Return an answer as one object."""
        choice = answer.choices[0]
        texts = {"content": "", "thinking": ""}
        calls: list[Object] = []
        for part in _list_visible_parts(choice.parts, options):
            if type(part) is ToolUse:
                calls.append(_make_call(part, len(calls)))
            elif type(part) is Reasoning:
                texts["thinking"] += part.text
            elif type(part) is not Item:
                texts["content"] += part.text
        content = _make_content(texts["content"], options, thinking=texts["thinking"], calls=calls)
        weighed = make_logprobs_block(choice)
        return _make_end(answer, options, content, logprobs=None if weighed is None else weighed["content"])

    def render_frames(self, answer: Answer, options: LineOptions) -> Iterator[Frame]:
        """Yield an answer as the lines of a stream."""
        choice = answer.choices[0]
        calls = 0
        waiting = 0
        template = ChunkTemplate(lambda kind, piece: _make_line(answer, _make_piece(piece, options, thinks=bool(kind))))
        for part in choice.parts:
            shown = next(iter(_list_visible_parts((part,), options)), None)
            tokens = find_tokens(part, answer.tokenizer)
            if shown is None:  # the next line waits for what is not shown
                waiting += len(tokens)
            elif type(shown) is ToolUse:
                line = _make_line(answer, _make_content("", options, calls=[_make_call(shown, calls)]))
                yield Frame(to_json(line) + b"\n", None, len(tokens) + waiting, "arguments", "bare")
                calls += 1
                waiting = 0
            elif type(shown) is not Item:
                thinks = type(shown) is Reasoning
                if shown is not part:  # a call that cannot be read
                    tokens = find_tokens(shown, answer.tokenizer)
                weighed = None if thinks else choice.logprobs
                for piece, weight, logprobs in _list_pieces(shown, tokens, weighed):
                    if logprobs is None:
                        data = template.fill(int(thinks), piece)
                    else:
                        line = _make_line(answer, _make_piece(piece, options, thinks=False))
                        data = to_json({**line, "logprobs": logprobs})
                    yield Frame(data + b"\n", None, weight + waiting, "text", "bare")
                    waiting = 0
        end = _make_end(answer, options, _make_content("", options))
        yield Frame(to_json(end) + b"\n", None, waiting, "finish", "bare")

    def encode_logprobs(self, logprobs: Sequence[Logprob]) -> bytes | None:
        return encode_tokens(logprobs)

    def outline(self, answer: Answer, options: LineOptions) -> Outline | None:
        values = [to_json(write_moment(answer.created))[1:-1]]
        values += [b"%d" % duration for duration in _make_durations(answer.usage).values()]
        for part in answer.choices[0].parts:
            if type(part) is ToolUse:
                arguments = _read_arguments(part.call.kind, part.call.arguments)
                if arguments is None or options.generates:
                    return None
                values.append(arguments)
        return Outline((options.generates, options.thinks, options.context), tuple(values))


def _list_pieces(
    part: Part, tokens: tuple[str, ...], weighed: Sequence[Logprob] | None
) -> Iterator[tuple[str, int, Json]]:
    """Yield each piece of a text with its tokens, and with their log probabilities if there are any."""
    pieces = list(weigh_pieces(tokens, part.chunks))
    if weighed is None:
        yield from ((piece, weight, None) for piece, weight in pieces)
        return
    blocks = spread_logprobs([piece for piece, _ in pieces], weighed)
    for (piece, weight), block in zip(pieces, blocks, strict=False):
        yield piece, weight, block["content"]


def _list_visible_parts(parts: Iterable[Part], options: LineOptions) -> Iterator[Part]:
    """Yield the parts that are shown; a call whose arguments are not an object becomes text, as from a model."""
    for part in parts:
        if type(part) is Reasoning and not options.thinks:
            continue
        if type(part) is ToolUse and (
            options.generates or _read_arguments(part.call.kind, part.call.arguments) is None
        ):
            part = Text(f'{{"name": {compact(part.call.name)}, "arguments": {part.call.arguments}', part.chunks)
        yield part


def _make_call(part: ToolUse, index: int) -> Object:
    call = part.call
    arguments = {"input": call.arguments} if call.kind == "custom" else try_parse(call.arguments or "{}")
    named = {"id": call.id} if call.id else {}
    return {**named, "function": {"index": index, "name": call.name, "arguments": arguments}}


@lru_cache(maxsize=1024)
def _read_arguments(kind: str, text: str) -> bytes | None:
    """Return the JSON of the arguments of a call; None if they are not an object."""
    arguments = {"input": text} if kind == "custom" else try_parse(text or "{}")
    return to_json(arguments) if isinstance(arguments, dict) else None


def _make_piece(piece: Json, options: LineOptions, *, thinks: bool) -> Object:
    return _make_content("", options, thinking=piece) if thinks else _make_content(piece, options)


def _make_content(text: Json, options: LineOptions, *, thinking: Json = "", calls: Sequence[Object] = ()) -> Object:
    """Return the content of an answer or a line: a message, or the text itself. What is empty is left out."""
    more: Object = {"thinking": thinking} if thinking else {}
    if options.generates:
        return {"response": text, **more}
    if calls:
        more["tool_calls"] = [*calls]
    return {"message": {"role": "assistant", "content": text, **more}}


def _make_line(answer: Answer, content: Object) -> Object:
    return {"model": answer.model, "created_at": write_moment(answer.created), **content, "done": False}


def _make_end(answer: Answer, options: LineOptions, content: Object, *, logprobs: Json = None) -> Object:
    """Return a whole answer, or the last line of a stream: with its reason, its counts and its durations."""
    finish = answer.choices[0].finish
    made = {**_make_line(answer, content), "done": True, "done_reason": "length" if finish == "length" else "stop"}
    usage = _make_metrics(answer.usage)
    weighed = {} if logprobs is None else {"logprobs": logprobs}
    if not options.generates:
        return {**made, **weighed, **usage}
    return {**made, **({"context": CONTEXT} if options.context else {}), **usage, **weighed}


CONTEXT = [128006, 882, 128007]


def _make_metrics(usage: Usage) -> Object:
    durations = _make_durations(usage)
    made = {
        "total_duration": durations["total"],
        "load_duration": LOAD,
        "prompt_eval_count": usage.prompt,
        "prompt_eval_duration": durations["prompt"],
        "eval_count": usage.completion,
        "eval_duration": durations["answer"],
    }
    return {key: number for key, number in made.items() if number}


def _make_durations(usage: Usage) -> Mapping[str, int]:
    prompt = usage.prompt * PROMPT_TOKEN
    answer = usage.completion * TOKEN
    return {"total": LOAD + prompt + answer, "prompt": prompt, "answer": answer}
