"""InvokeModel: a body in the format of the model's family, and an answer in the same."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache

from msgspec import Raw, Struct
from msgspec.json import decode, encode
from msgspec.structs import replace
from pydantic_core import from_json, to_json

from mockserver.core.call import Call, IdShape, Message, Options
from mockserver.core.http import Fields, Frame, HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Failure, Safety, Usage
from mockserver.core.validation import HistoryProblem, Validation
from mockserver.dialects import Operation, discover
from mockserver.dialects._openai_api.chat import make_chat_call
from mockserver.dialects._openai_api.chat_models import CHAT
from mockserver.dialects._parse import Body, object_of, read_body, read_fields
from mockserver.dialects._reply import data_reply, json_reply, merge_headers
from mockserver.dialects.bedrock.checks import check_converse
from mockserver.dialects.bedrock.embeddings import EMBEDDERS, parse_embeddings, render_embeddings
from mockserver.dialects.bedrock.errors import refuse, request_id_line
from mockserver.dialects.bedrock.formats import PROMPTED, Prompted, malformed
from mockserver.dialects.bedrock.models import CONVERSE, NAME, find_base_model, is_claude
from mockserver.dialects.bedrock.replies import STREAM_TYPE
from mockserver.dialects.bedrock.request import FINISHES, MESSAGE_IDS, converse_call, converse_options, model_of
from mockserver.dialects.bedrock.rerank import parse_ranking, reads_ranking, render_ranking
from mockserver.kinds.embeddings import Embeddings
from mockserver.kinds.rerank import Ranking
from mockserver.wire.bedrock import Guardrail, replace_filtered, write_guardrail_trace
from mockserver.wire.bedrock_families import (
    METRICS,
    make_metrics,
    make_nova_answer,
    make_text_answer,
    stream_nova_answer,
    stream_text_answer,
    wrap_events,
)
from mockserver.wire.chat import ChatLayout, ChatRenderer

Parse = Callable[[HttpRequest, Body, Validation], Call]


class Family(Struct, frozen=True):
    """The format of a family of models: how its requests are read and its answers written, whole and in chunks."""

    parse: Parse
    body: Callable[[Call, Answer], Mapping[str, Json]]
    stream: Callable[[Call, Answer], Iterable[Frame]]
    history: Callable[[Call, Validation], Iterable[HistoryProblem]] = lambda call, validation: ()


def parse_invoke(http: HttpRequest, validation: Validation) -> Call:
    if is_claude(model_of(http)) and (body := read_fields(http.body)) is not None:
        try:
            return _parse_claude(http, body, validation)
        except Failure:
            object_of(http.body)  # whose own words about JSON that is wrong come first
            raise
    return parse_body(http, object_of(http.body), validation)


def parse_body(http: HttpRequest, body: Body, validation: Validation) -> Call:
    """Return the Call of a body in the format of its model's family. Raises Failure."""
    model = model_of(http)
    embedder = next((each for each in EMBEDDERS if each.reads(model, body)), None)
    if embedder is not None:
        if http.path.endswith("-stream"):
            raise Failure("bad_parameter", "The model is unsupported for streaming.")
        return parse_embeddings(http, body, embedder, validation)
    if reads_ranking(model, body):
        return parse_ranking(http, body, validation)
    family = _find_family(model, body)
    if family is None:
        raise malformed("#: required key [messages] not found")
    call, stream = family.parse(http, body, validation), http.path.endswith("-stream")
    return call if call.stream == stream else replace(call, stream=stream)


def check_history(call: Call, validation: Validation) -> list[HistoryProblem]:
    family = _find_family(call.model, call.raw) if call.operation == "chat" else None
    return [] if family is None else [*family.history(call, validation)]


def render_invoke(call: Call, outcome: Answer | Embeddings | Ranking) -> Reply:
    if isinstance(outcome, Ranking):
        return render_ranking(call, outcome)
    if isinstance(outcome, Embeddings):
        return render_embeddings(call, outcome)
    family = _find_family(call.model, call.raw) or _CLAUDE
    own = request_id_line(call.http, call)
    guardrail = find_guardrail(call.http)
    if guardrail is not None:
        outcome = replace_filtered(outcome, replace(converse_options(call), guardrail=guardrail))
    if call.stream:
        frames = family.stream(call, outcome)
        if guardrail is not None:
            frames = _add_guardrail(frames, guardrail, outcome)
        lines = f"{own}{STREAM_TYPE}x-amzn-bedrock-content-type: application/json\r\n"
        return Reply(200, merge_headers(HeaderLines(lines), outcome.headers), frames=frames)
    own += _count_lines(outcome.usage)
    if family is _CLAUDE and guardrail is None:  # whose body is made already
        return data_reply(200, _write_claude_body(call, outcome), own, outcome.headers, tokens=outcome.weight)
    body = {**family.body(call, outcome), **({} if guardrail is None else _tell(guardrail, outcome, whole=True))}
    return json_reply(200, body, own, outcome.headers, tokens=outcome.weight)


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


# Guardrails, which headers name here.


def find_guardrail(http: HttpRequest) -> Guardrail | None:
    name = http.header("x-amzn-bedrock-guardrailidentifier")
    return Guardrail(name, (http.header("x-amzn-bedrock-trace") or "").upper().startswith("ENABLED")) if name else None


def _tell(guardrail: Guardrail, answer: Answer, *, whole: bool) -> Body:
    """Return what the guardrail did, and if it `traces`, what it found; that is known at the end."""
    safety: Safety = answer.choices[0].safety
    trips = answer.choices[0].finish == "content_filter"
    told: dict[str, Json] = {"amazon-bedrock-guardrailAction": "INTERVENED" if trips else "NONE"}
    if guardrail.traces and whole:
        found = write_guardrail_trace(guardrail, safety, answer.prompt_safety)
        outputs = {"outputs": [{guardrail.name: found["outputAssessments"][guardrail.name][0]}]} if safety else {}
        told["amazon-bedrock-trace"] = {"guardrail": {"input": found["inputAssessment"], **outputs}}
    return told


def _add_guardrail(frames: Iterable[Frame], guardrail: Guardrail, answer: Answer) -> Iterator[Frame]:
    for frame in frames:
        told = _tell(guardrail, answer, whole=METRICS.encode() in frame.data)
        yield replace(frame, data=to_json({**from_json(frame.data), **told}))


# Anthropic: the Messages API, whose own dialect reads the requests and writes the answers.


def _parse_claude(http: HttpRequest, body: Body, validation: Validation) -> Call:
    """Return the Call of a body, of which values may be Raw: Anthropic's own dialect reads all but Bedrock's fields."""
    if validation is not Validation.OFF:
        for key in ("model", "stream"):
            if key in body:
                raise Failure("bad_parameter", f"{key}: Extra inputs are not permitted")
        if "anthropic_version" not in body:
            raise Failure("bad_parameter", "anthropic_version: Field required")
    model = model_of(http)
    inner = {**body, "model": _shorten(model)}
    own: dict[str, Json] = {}
    for key in _OF_BEDROCK:
        if key in inner:
            value = inner.pop(key)
            own[key] = decode(value) if type(value) is Raw else value
    asked = replace(http, headers=_find_headers(http, own), body=encode(inner))
    call = _find_operation(body).parse(asked, validation)
    meaning, raw = {**_table(call.meaning), "model": model}, {**call.raw, **own}
    raw.pop("model", None)
    return replace(
        call,
        dialect=NAME,
        operation="chat",
        model=model,
        http=http,
        meaning=meaning,
        raw=raw,
        stream=http.path.endswith("-stream"),
        ids=MESSAGE_IDS,
        tool_call_ids=_CLAUDE_CALL_IDS,
    )


_CLAUDE_CALL_IDS = IdShape("toolu_bdrk_01", 22, "base58")


def _find_headers(http: HttpRequest, own: Body) -> Fields:
    """Return the headers of a request to Anthropic: of Bedrock's fields, the version of the API, and betas."""
    version, betas = own.get("anthropic_version"), own.get("anthropic_beta")
    if version == _USUAL_VERSION and betas is None and b"anthropic-beta" not in http.fields:
        return _USUAL_HEADERS
    named = _VERSION if version in (None, _USUAL_VERSION) else str(version)
    sent = [field for field in http.headers if field[0] == b"anthropic-beta"]
    listed = [str(beta) for beta in betas] if isinstance(betas, list) else ()
    return (
        _JSON,
        (b"anthropic-version", named.encode("latin-1", "replace")),
        *sent,
        *((b"anthropic-beta", beta.encode("latin-1", "replace")) for beta in listed),
    )


_USUAL_VERSION, _VERSION = (
    "bedrock-2023-05-31",
    "2023-06-01",
)  # the same, in the names of Bedrock and of Anthropic's API
_JSON = (b"content-type", b"application/json")
_USUAL_HEADERS = (_JSON, (b"anthropic-version", _VERSION.encode()))


def _find_operation(body: Body) -> Operation:
    """Return Anthropic's own operation for a body: messages, or the text completion from before them."""
    return _get_operation("completions" if "prompt" in body and "messages" not in body else "chat")


@cache
def _get_operation(name: str) -> Operation:
    return next(operation for operation in discover()["anthropic"].operations if operation.name == name)


@lru_cache(maxsize=256)
def _shorten(model: str) -> str:
    """Return the name of a model without its vendor: `claude-haiku-4-5-20251001`."""
    base = find_base_model(model)
    return base.partition(".")[2] or base


def _answer_as_anthropic(call: Call, answer: Answer) -> Reply:
    shown = replace(answer, model=_shorten(call.model)) if answer.model == call.model else answer
    return _find_operation(call.raw).render(call, shown)


def _write_claude_body(call: Call, answer: Answer) -> bytes:
    reply = _answer_as_anthropic(call, answer)
    return reply.body if reply.pieces is None else b"".join(reply.pieces)


def _stream_claude(call: Call, answer: Answer) -> Iterable[Frame]:
    return wrap_events(_answer_as_anthropic(call, answer).frames or (), answer.usage)


def _check_claude(call: Call, validation: Validation) -> Iterable[HistoryProblem]:
    return _find_operation(call.raw).history(call, validation)


_OF_BEDROCK = ("anthropic_version", "anthropic_beta")
_CLAUDE = Family(
    _parse_claude,
    lambda call, answer: _table(from_json(_write_claude_body(call, answer))),
    _stream_claude,
    _check_claude,
)


# Nova: almost Converse.


def _parse_nova(http: HttpRequest, body: Body, validation: Validation) -> Call:
    limits = body.get("inferenceConfig")
    if isinstance(limits, Mapping) and "max_new_tokens" in limits:
        body = {**body, "inferenceConfig": {**limits, "maxTokens": limits["max_new_tokens"]}}
    read = read_body(CONVERSE, body, refuse, validation).body
    if validation is not Validation.OFF:
        check_converse(read, model=model_of(http), validation=validation)
    call = converse_call(http, read, model_of(http))
    return replace(call, meaning={**_table(call.meaning), "invoked": True})  # whose answer is not Converse's


_NOVA = Family(
    _parse_nova,
    lambda call, answer: make_nova_answer(answer, converse_options(call)),
    lambda call, answer: stream_nova_answer(answer, converse_options(call)),
)


# Models of several vendors: OpenAI's chats.


def _parse_chat(http: HttpRequest, body: Body, validation: Validation) -> Call:
    asked = {"model": model_of(http), **body}
    read, chat = read_body(CHAT, asked, refuse, validation)
    call = make_chat_call(http, read, chat, dialect=NAME)
    meaning = {**_table(call.meaning), "model": model_of(http)}
    return replace(call, model=model_of(http), finishes=FINISHES, meaning=meaning)


def _table(value: Json) -> Mapping[str, Json]:
    return value if type(value) is dict else {}


_LAYOUT = ChatLayout(
    completion=("id", "object", "created", "model", "choices", "usage"),
    message=("role", "content", "reasoning_content", "tool_calls"),
    chunk=("id", "object", "created", "model", "choices"),
    usage=("prompt_tokens", "completion_tokens", "total_tokens"),
)
_CHATS = ChatRenderer(_LAYOUT)


def _stream_chat(call: Call, answer: Answer) -> Iterator[Frame]:
    ends = [frame for frame in _CHATS.frames(answer, call.options) if frame.data != b"[DONE]"]
    for at, frame in enumerate(ends, start=1):
        data = frame.data
        if at == len(ends):
            data = to_json({**from_json(data), METRICS: make_metrics(answer.usage)})
        yield replace(frame, data=data, event="chunk", framing="chunk", part="end" if at == len(ends) else frame.part)


_CHAT = Family(_parse_chat, lambda call, answer: _CHATS.body(answer, call.options), _stream_chat)


# Models that continue a prompt.


def _make_prompted(form: Prompted) -> Family:
    def parse(http: HttpRequest, body: Body, validation: Validation) -> Call:
        read = form.read(body, validation)
        messages, model = form.list_messages(read), model_of(http)
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

    return Family(
        parse,
        lambda call, answer: make_text_answer(answer, form.shown),
        lambda call, answer: stream_text_answer(answer, form.shown),
    )


_PROMPTED = {name: _make_prompted(form) for name, form in PROMPTED.items()}


def _find_family(model: str, body: Body) -> Family | None:
    """Return the family of a model: by its vendor, else by the keys of the body; None if neither says it."""
    base = find_base_model(model)
    if is_claude(base) or "anthropic_version" in body:
        return _CLAUDE
    found = next((name for name, form in PROMPTED.items() if form.reads(base, body)), None)
    if found is not None:
        return _PROMPTED[found]
    if "nova" in base or "schemaVersion" in body or _has_blocks(body):
        return _NOVA
    return _CHAT if "messages" in body else None


def _has_blocks(body: Body) -> bool:
    """Return whether the messages have lists of blocks with a single key each."""
    turns = body.get("messages")
    first = turns[0] if isinstance(turns, list) and turns else None
    content = first.get("content") if isinstance(first, Mapping) else None
    block = content[0] if isinstance(content, list) and content else None
    return isinstance(block, Mapping) and len(block) == 1
