"""InvokeModel: bodies and answers in the format of the model's family."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import from_json, to_json

from mockserver.core.call import Call, IdShape, Message, Options
from mockserver.core.frames import Frame
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json, find_table
from mockserver.core.plan import Answer, Failure, Usage
from mockserver.core.validation import HistoryProblem, Validation
from mockserver.dialects._openai_api.chat import make_chat_call
from mockserver.dialects._openai_api.chat_bodies import CHAT
from mockserver.dialects._parse import Body, read_body, read_table
from mockserver.dialects._reply import make_answer_reply, make_json_reply, merge_headers
from mockserver.dialects.anthropic.answers import prepare_message
from mockserver.dialects.bedrock.claude import check_claude, is_completion, name_shortly, parse_claude
from mockserver.dialects.bedrock.embeddings import EMBEDDERS, parse_embeddings, render_embeddings
from mockserver.dialects.bedrock.errors import refuse, write_request_id
from mockserver.dialects.bedrock.formats import PROMPTED, Prompted, refuse_input
from mockserver.dialects.bedrock.guardrails import find_guardrail, replace_blocked, show_action, show_trace
from mockserver.dialects.bedrock.images import find_painter, parse_images, render_images
from mockserver.dialects.bedrock.models import CONVERSE, NAME, find_base_model, is_claude, is_profile
from mockserver.dialects.bedrock.replies import STREAM_TYPE
from mockserver.dialects.bedrock.request import FINISHES, make_converse_call, make_converse_options, read_model
from mockserver.dialects.bedrock.rerank import parse_ranking, reads_ranking, render_ranking
from mockserver.kinds.embeddings import Embeddings
from mockserver.kinds.images import Images
from mockserver.kinds.rerank import Ranking
from mockserver.wire.bedrock_families import (
    ChatChunkRenderer,
    ClaudeRenderer,
    CompletionRenderer,
    NovaRenderer,
    TextFormatRenderer,
)
from mockserver.wire.chat import ChatLayout
from mockserver.wire.renderer import Renderer


class Prepared(NamedTuple):
    """An answer as a renderer gets it, and the renderer's options."""

    answer: Answer
    options: Any = None


class Family(Struct, frozen=True, kw_only=True):
    """A family of models: how it reads a request, and renders an answer that `prepare(call, answer)` has changed."""

    parse: Callable[[HttpRequest, Body, Validation], Call]
    renderer: Renderer[Any]
    prepare: Callable[[Call, Answer], tuple[Answer, Any]] = lambda call, answer: Prepared(answer)


def parse_invoke(http: HttpRequest, validation: Validation) -> Call:
    """Return the Call of a request in the format of its model's family. Raises Failure."""
    model = read_model(http)
    if is_claude(model) and not is_profile(model):  # of a profile, only the body shows the model
        return parse_claude(http, validation)
    return parse_body(http, read_table(http.body), validation)


def parse_body(http: HttpRequest, body: Body, validation: Validation) -> Call:
    """Return the Call of a body in the format of its model's family. Raises Failure."""
    model = read_model(http)
    embedder = next((each for each in EMBEDDERS if each.reads(model, body)), None)
    painter = None if embedder is not None else find_painter(model, body)
    if http.path.endswith("-stream") and (embedder is not None or painter is not None):
        raise Failure("bad_parameter", "The model is unsupported for streaming.")
    if embedder is not None:
        return parse_embeddings(http, body, embedder=embedder, validation=validation)
    if painter is not None:
        return parse_images(http, body, painter, validation)
    if reads_ranking(model, body):
        return parse_ranking(http, body, validation)
    family = _find_family(model, body)
    if family is None:
        raise refuse_input("#: required key [messages] not found")
    call = family.parse(http, body, validation)
    stream = http.path.endswith("-stream")
    return call if call.stream == stream else replace(call, stream=stream)


def check_history(call: Call, validation: Validation) -> Iterable[HistoryProblem]:
    """Return the problems of the history in a request, which only families with chats have."""
    is_chat = call.operation == "chat" and _find_family(call.model, call.raw) is _CLAUDE
    return check_claude(call, validation) if is_chat else ()


def render_invoke(call: Call, outcome: Answer | Embeddings | Images | Ranking) -> Reply:
    """Return the reply in the format of the model's family."""
    if isinstance(outcome, Images):
        return render_images(call, outcome)
    if isinstance(outcome, Ranking):
        return render_ranking(call, outcome)
    if isinstance(outcome, Embeddings):
        return render_embeddings(call, outcome)
    family = _find_family(call.model, call.raw) or _CLAUDE
    lines = write_request_id(call.http, call) + (_STREAM_LINES if call.stream else _count_lines(outcome.usage))
    guardrail = find_guardrail(call.http)
    if guardrail is None:
        shown, options = family.prepare(call, outcome)
        return make_answer_reply(shown, family.renderer, options, lines, stream=call.stream, stream_lines="")
    shown, options = family.prepare(call, replace_blocked(outcome))
    action = show_action(outcome)
    trace = show_trace(guardrail, outcome)
    if call.stream:
        chunks = _add_keys(family.renderer.render_frames(shown, options), to_each=action, to_last=trace)
        return Reply(200, merge_headers(HeaderLines(lines), outcome.headers), frames=chunks)
    body = {**family.renderer.render_body(shown, options), **action, **trace}
    return make_json_reply(200, body, lines=lines, headers=outcome.headers, tokens=outcome.weight)


_STREAM_LINES = f"{STREAM_TYPE}x-amzn-bedrock-content-type: application/json\r\n"


def _count_lines(usage: Usage) -> str:
    cached = usage.cached + usage.cache_write
    lines = (
        f"x-amzn-bedrock-input-token-count: {max(usage.prompt - cached, 0)}\r\n"
        f"x-amzn-bedrock-output-token-count: {usage.completion}\r\n"
        "x-amzn-bedrock-invocation-latency: 0\r\n"
    )
    for name, count in (("read", usage.cached), ("write", usage.cache_write)) if cached else ():
        if count:
            lines += f"x-amzn-bedrock-cache-{name}-input-token-count: {count}\r\n"
    return lines


def _add_keys(chunks: Iterable[Frame], *, to_each: Body, to_last: Body) -> Iterator[Frame]:
    """Yield the chunks of a stream with more keys."""
    for chunk in chunks:
        more = {**to_each, **to_last} if chunk.part == "end" else to_each
        yield replace(chunk, data=to_json({**from_json(chunk.data), **more}))


def _parse_nova(http: HttpRequest, body: Body, validation: Validation) -> Call:
    """Return the Call of a request to Nova, which is almost Converse's."""
    limits = body.get("inferenceConfig")
    if isinstance(limits, Mapping) and "max_new_tokens" in limits:
        body = {**body, "inferenceConfig": {**limits, "maxTokens": limits["max_new_tokens"]}}
    read = read_body(CONVERSE, body, refuse=refuse, validation=validation).body
    call = make_converse_call(http, read, validation)
    # "invoked", as its answer is not the one of Converse.
    return replace(call, meaning={**_read_table(call.meaning), "invoked": True})


def _parse_chat(http: HttpRequest, body: Body, validation: Validation) -> Call:
    """Return the Call of a chat as OpenAI has it, which models of several vendors take."""
    asked = {"model": read_model(http), **body}
    read, chat = read_body(CHAT, asked, refuse=refuse, validation=validation)
    call = make_chat_call(http, read, chat, dialect=NAME)
    meaning = {**_read_table(call.meaning), "model": read_model(http)}
    return replace(call, model=read_model(http), finishes=FINISHES, meaning=meaning)


def _read_table(value: Json) -> Mapping[str, Json]:
    return value if type(value) is dict else {}


def _make_prompted(form: Prompted) -> Family:
    """Return the family of models that continue a prompt in this format."""

    def parse(http: HttpRequest, body: Body, validation: Validation) -> Call:
        read = form.read(body, validation)
        messages = form.list_messages(read)
        model = read_model(http)
        return Call(
            dialect=NAME,
            operation="chat",
            model=model,
            http=http,
            meaning={**read, "model": model},
            raw=read,
            messages=tuple(Message(role, text) for role, text in messages),
            ids=IdShape("", 32, "hex"),
            finishes=FINISHES,
            options=Options(max_tokens=form.find_limit(read), stop=form.list_stops(read), lenient_schema=True),
        )

    return Family(parse=parse, renderer=TextFormatRenderer(form.shown))


_CHAT_LAYOUT = ChatLayout(
    completion=("id", "object", "created", "model", "choices", "usage"),
    message=("role", "content", "reasoning_content", "tool_calls"),
    chunk=("id", "object", "created", "model", "choices"),
    usage=("prompt_tokens", "completion_tokens", "total_tokens"),
)
_CLAUDE = Family(
    parse=lambda http, body, validation: parse_claude(http, validation),
    renderer=ClaudeRenderer(),
    prepare=lambda call, answer: prepare_message(call, name_shortly(call, answer)),
)
_CLAUDE_TEXT = Family(
    parse=_CLAUDE.parse,
    renderer=CompletionRenderer(),
    prepare=lambda call, answer: Prepared(name_shortly(call, answer)),
)
_NOVA = Family(
    parse=_parse_nova,
    renderer=NovaRenderer(),
    prepare=lambda call, answer: Prepared(answer, make_converse_options(call)),
)
_CHAT = Family(
    parse=_parse_chat,
    renderer=ChatChunkRenderer(_CHAT_LAYOUT),
    prepare=lambda call, answer: Prepared(answer, call.options),
)
_PROMPTED = {name: _make_prompted(form) for name, form in PROMPTED.items()}


def _find_family(model: str, body: Body) -> Family | None:
    """Return the family of a model: by its vendor, else by the keys of the body; None if neither is known."""
    base = find_base_model(model)
    if is_claude(base) or "anthropic_version" in body:
        return _CLAUDE_TEXT if is_completion(body) else _CLAUDE
    found = next((name for name, form in PROMPTED.items() if form.reads(base, body)), None)
    if found is not None:
        return _PROMPTED[found]
    if "nova" in base or "schemaVersion" in body or _has_blocks(body):
        return _NOVA
    return _CHAT if "messages" in body else None


def _has_blocks(body: Body) -> bool:
    """Return whether the messages have lists of blocks with a single key each."""
    return len(find_table(body, "messages", 0, "content", 0)) == 1
