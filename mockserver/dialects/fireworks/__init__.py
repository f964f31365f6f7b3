"""Fireworks: text completions with their published schema, chat, embeddings, rerank (https://docs.fireworks.ai)."""

from collections.abc import Mapping
from functools import lru_cache, partial

from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Failure, Usage
from mockserver.core.rates import Standings
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._errors import (
    ErrorRow,
    ProviderError,
    make_error_rows,
    make_plain_errors,
    write_retry_lines,
)
from mockserver.dialects._messages import make_messages_operation
from mockserver.dialects._openai_api.audio import AudioApi, hide_usage
from mockserver.dialects._openai_api.embeddings import make_embeddings_reply, parse_embeddings
from mockserver.dialects._parse import read_bearer
from mockserver.dialects._reply import (
    make_answer_reply,
    make_json_reply,
    make_model_operations,
    make_request_hex,
    write_request_id,
)
from mockserver.dialects._rerank import list_ranked, parse_rerank, show_ranked
from mockserver.dialects.fireworks.bodies import RERANK
from mockserver.dialects.fireworks.request import (
    NAME,
    make_completion_options,
    make_value_detail,
    measure_speculation,
    measure_usual,
    parse_chat,
    parse_completion,
    refuse,
)
from mockserver.kinds.embeddings import Embeddings
from mockserver.kinds.rerank import Ranking
from mockserver.wire.chat import ChatLayout, ChatRenderer
from mockserver.wire.text import TextLayout, TextRenderer

USUAL_RERANKER = "accounts/fireworks/models/qwen3-reranker-8b"
TOKENS_OF_PROMPTS = 600_000  # in a minute
TOKENS_GENERATED = 120_000  # in a minute


def _render_completion(call: Call, outcome: Answer) -> Reply:
    lines = _write_answer_lines(call, outcome)
    options = make_completion_options(call, outcome)
    return make_answer_reply(outcome, _TEXT, options, lines, stream=call.stream)


def _render_chat(call: Call, outcome: Answer) -> Reply:
    return make_answer_reply(outcome, _CHAT, call.options, _write_answer_lines(call, outcome), stream=call.stream)


def _parse_embeddings(http: HttpRequest, validation: Validation) -> Call:
    return parse_embeddings(http, NAME, {}, validation=validation, is_open=True)


def _render_embeddings(call: Call, outcome: Embeddings) -> Reply:
    return make_embeddings_reply(outcome, call.raw.get("encoding_format"), write_request_id(call.http, call))


_parse_rerank = partial(parse_rerank, dialect=NAME, model=RERANK, refuse=refuse, usual_model=USUAL_RERANKER)


def _render_rerank(call: Call, outcome: Ranking) -> Reply:
    find_document = None if call.raw.get("return_documents") is False else call.documents.__getitem__
    body = {
        "object": "list",
        "model": outcome.model,
        "data": list_ranked(outcome, show_ranked, find_document),
        "usage": {"prompt_tokens": outcome.tokens, "total_tokens": outcome.tokens},
    }
    return make_json_reply(200, body, lines=write_request_id(call.http, call), headers=outcome.headers)


def _write_answer_lines(call: Call, answer: Answer) -> str:
    own = write_request_id(call.http, call) + _count_tokens_left(answer.usage.prompt, answer.usage.completion)
    if call.stream:
        return own
    body = call.raw
    speculated = _write_metric_lines(measure_speculation(body, answer))
    sampling = "{}" if _SAMPLING.isdisjoint(body) else _write_sampling(body)
    return f"{own}{_write_usual_metric_lines(answer.usage)}{speculated}fireworks-sampling-options: {sampling}\r\n"


def _write_sampling(body: Mapping[str, Json]) -> str:
    return to_json({name: body[name] for name in _SAMPLING if body.get(name) is not None}).decode()


@lru_cache(maxsize=4096)
def _write_usual_metric_lines(usage: Usage) -> str:
    return _write_metric_lines(measure_usual(usage))


def _write_metric_lines(metrics: Mapping[str, Json]) -> str:
    return "".join([f"fireworks-{name}: {value}\r\n" for name, value in metrics.items()])


@lru_cache(maxsize=4096)
def _count_tokens_left(prompt: int, generated: int) -> str:
    return _write_limits("prompt", TOKENS_OF_PROMPTS, left=max(TOKENS_OF_PROMPTS - prompt, 0)) + _write_limits(
        "generated", TOKENS_GENERATED, left=max(TOKENS_GENERATED - generated, 0)
    )


def _write_rate_limits(standings: Standings) -> HeaderLines:
    tokens = standings.tokens
    if tokens is None:
        return HeaderLines()
    kinds = ("prompt", "generated")
    return HeaderLines("".join([_write_limits(kind, tokens.limit, left=tokens.left) for kind in kinds]))


def _write_limits(kind: str, limit: int, *, left: int) -> str:
    names = ("prompt", "cache-adjusted-prompt") if kind == "prompt" else (kind,)
    lines = [
        f"x-ratelimit-limit-tokens-{name}: {limit}\r\nx-ratelimit-remaining-tokens-{name}: {left}\r\n" for name in names
    ]
    return "".join(lines)


def _fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    resolved = ERRORS.resolve(failure, http, call)
    lines = write_request_id(http, call) + write_retry_lines(failure)
    if resolved.status == 429:
        used_up = "window" not in failure.details  # else the failure names the limit that was reached
        lines += _count_tokens_left(TOKENS_OF_PROMPTS * used_up, TOKENS_GENERATED * used_up)
    body = _render_error(resolved, failure, f"req_{make_request_hex(http, call)}")
    return make_json_reply(resolved.status, body, lines=lines, headers=failure.headers)


def _render_error(resolved: ProviderError, failure: Failure, request: str) -> Mapping[str, Json]:
    if failure.reason in ("route_not_found", "method_not_allowed"):
        return {"detail": resolved.message}
    if resolved.status == 422:
        return {"detail": failure.details.get("detail") or [make_value_detail(resolved.message, resolved.param)]}
    error = {"message": resolved.message, "param": resolved.param, "code": resolved.code, "type": resolved.kind}
    return {"error": error, "request_id": request}


_FILTERED = {"content_filter": "error"}
TEXT_LAYOUT = TextLayout(
    completion=("id", "object", "created", "model", "choices", "usage", "perf_metrics"),
    choice=("index", "text", "logprobs", "finish_reason", "raw_output", "prompt_token_ids", "token_ids"),
    usage=("prompt_tokens", "total_tokens", "completion_tokens", "prompt_tokens_details"),
    finishes={**_FILTERED, "tool_calls": "stop", "function_call": "stop"},
    stream_usage="finish",
)
CHAT_LAYOUT = ChatLayout(
    completion=("id", "object", "created", "model", "choices", "usage"),
    message=("role", "content", "reasoning_content", "tool_calls"),
    usage=("prompt_tokens", "total_tokens", "completion_tokens"),
    optional=frozenset({"logprobs"}),
    opening={"role": "assistant"},
    stream_usage="finish",
    content_logprobs=True,
    finishes=_FILTERED,
)
_CHAT = ChatRenderer(CHAT_LAYOUT)
_TEXT = TextRenderer(TEXT_LAYOUT)
_SAMPLING = dict.fromkeys(  # in this order
    ("max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "min_p", "n", "seed")
).keys()

_CODES: Mapping[int, str] = {
    401: "UNAUTHENTICATED",
    402: "PAYMENT_REQUIRED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    422: "value_error",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
ROWS = make_error_rows(
    lambda status: ErrorRow(status=status, kind="error", code=_CODES.get(status, "INVALID_ARGUMENT")),
    context_length=ErrorRow(status=400, kind="error", code="INVALID_ARGUMENT", param="messages"),
    model_not_found=ErrorRow(status=404, kind="error", code="NOT_FOUND", param="model"),
)
MESSAGES: Mapping[str, str] = {
    "billing": "Your account has no credit left. Please add a payment method.",
    "forbidden": "You do not have permission to do this.",
    "rate_limit": "Rate limit exceeded, please try again in {wait}.",
    "quota": "Rate limit exceeded: your quota of tokens is used up. Please try again in {wait}.",
    "server_error": "Internal server error.",
    "overloaded": "The model is temporarily overloaded, please try again later.",
    "invalid_key": "The API key you provided is invalid.",
    "missing_key": "You must provide an API key: Authorization: Bearer <API_KEY>.",
    "model_not_found": "Model not found, inaccessible, and/or not deployed: {model}",
    "route_not_found": "Not Found",
    "method_not_allowed": "Method Not Allowed",
}
ERRORS = make_plain_errors(ROWS, MESSAGES, read_credential=read_bearer)

DIALECT = Dialect(
    name=NAME,
    operations=(
        Operation("completions", "POST", "/completions", parse=parse_completion, render=_render_completion),
        Operation("chat", "POST", "/chat/completions", parse=parse_chat, render=_render_chat, shows_reasoning=True),
        make_messages_operation(NAME, "/messages"),
        Operation("embeddings", "POST", "/embeddings", parse=_parse_embeddings, render=_render_embeddings),
        Operation("rerank", "POST", "/rerank", parse=_parse_rerank, render=_render_rerank),
        *AudioApi(NAME, write_request_id, show=hide_usage).make_hearing_operations(),
        *make_model_operations(NAME, write_request_id),
    ),
    read_credential=read_bearer,
    fail=_fail,
    rate_limit_headers=_write_rate_limits,
    models=(
        "accounts/fireworks/models/kimi-k2-instruct-0905",
        "accounts/fireworks/models/deepseek-v3p1",
        "accounts/fireworks/models/gpt-oss-120b",
        "accounts/fireworks/models/qwen3-8b",
    ),
    own_features=frozenset({"custom_tools", "call_pieces", "finish_error"}),
    missing=dict.fromkeys(("/responses", "/accounts", "/workflows"), "{json: {}}"),
)
