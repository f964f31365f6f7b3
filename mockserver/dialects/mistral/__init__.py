"""Mistral: OpenAI's chat with names and shapes of its own, code completions, embeddings and moderations.

See https://docs.mistral.ai/api.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from mockserver.core.call import Call, IdShape, Message, Prompt
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Models, Usage
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._clients import CLIENT_CONFIGS
from mockserver.dialects._embeddings import embeddings, embeddings_call
from mockserver.dialects._fields import Model, integer, list_of, literal, optional, shape, text_or
from mockserver.dialects._parse import bearer, parse_models, read_request
from mockserver.dialects._reply import answer_reply, json_reply, request_hex
from mockserver.dialects.mistral.errors import fail, rate_limit_headers, refuse, write_lines
from mockserver.dialects.mistral.replay import HISTORY
from mockserver.dialects.mistral.request import NAME, list_texts, parse_agent_chat, parse_chat, parse_fim
from mockserver.kinds.embeddings import Embeddings
from mockserver.kinds.moderations import Judgement, Moderations
from mockserver.wire.chat import ChatLayout, ChatRenderer

WINDOW = 131_072  # tokens, of a model that the settings do not describe


def _count(usage: Usage) -> Mapping[str, Json]:
    return {
        "prompt_tokens": usage.prompt,
        "total_tokens": usage.total,
        "completion_tokens": usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


CHAT_LAYOUT = ChatLayout(
    completion=("id", "created", "model", "usage", "object", "choices"),
    choice=("index", "finish_reason", "message", "logprobs"),
    message=("role", "tool_calls", "content"),
    chunk=("id", "object", "created", "model", "choices", "usage"),
    chunk_choice=("index", "delta", "finish_reason", "logprobs"),
    optional=frozenset({"logprobs"}),
    finishes={"content_filter": "stop"},
    stream_usage="with_finish",
    empty_content="",
    unset={"tool_calls": None},
    whole_calls="last",
    call=("id", "function", "index"),
    ending={"content": ""},
    thinks_in_content=True,
    count=_count,
)
_CHATS = ChatRenderer(CHAT_LAYOUT)


def _render_chat(call: Call, outcome: Answer) -> Reply:
    lines = write_lines(call.http, call)
    return answer_reply(outcome, _CHATS, call.options, lines, stream=call.stream)


_Texts = text_or("<an array>", list_of(str, 1))
EMBED = Model(
    shape(
        model=str,
        input=_Texts,
        metadata=optional(Any),
        output_dimension=optional(integer(1, 4096)),
        output_dtype=optional(literal("float", "int8", "uint8", "binary", "ubinary")),
        encoding_format=optional(literal("float", "base64")),
    )
)
JUDGE = Model(shape(model=str, input=_Texts, metadata=optional(Any)))


def _parse_embeddings(http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read_request(EMBED, http, refuse, validation)
    asked = {**parsed, "dimensions": parsed.get("output_dimension")}
    return embeddings_call(http, body, asked, dialect=NAME, refuse=refuse)


def _render_embeddings(call: Call, outcome: Embeddings) -> Reply:
    encoding = call.raw.get("encoding_format") or "float"
    made = embeddings(outcome, encoding if encoding == "base64" else call.raw.get("output_dtype"))
    usage = {**made["usage"], "completion_tokens": 0, "prompt_audio_seconds": None}
    body = {"id": request_hex(call.http, call), **made, "usage": usage}
    return json_reply(200, body, write_lines(call.http, call), outcome.headers)


def _parse_moderations(http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read_request(JUDGE, http, refuse, validation)
    texts = list_texts(parsed["input"])
    return Call(
        dialect=NAME,
        operation="moderations",
        model=parsed["model"],
        http=http,
        meaning={"model": parsed["model"], "input": texts[0] if len(texts) == 1 else [*texts]},
        raw=body,
        messages=tuple([Message("user", text) for text in texts]),
        prompts=tuple(map(Prompt, texts)),
        ids=IdShape("", 32, "hex"),
    )


def _render_moderations(call: Call, outcome: Moderations) -> Reply:
    results = [_judge(result) for result in outcome.results]
    body = {"id": outcome.id, "model": outcome.model, "results": results}
    return json_reply(200, body, write_lines(call.http, call), outcome.headers)


def _judge(result: Judgement) -> dict[str, Json]:
    """Return a judgement in Mistral's categories, each of which has the highest score of those that it comprises."""
    scores = {
        name: max((result.scores.get(each, 0.0) for each in own), default=0.0) for name, own in _CATEGORIES.items()
    }
    flags = {name: not result.flagged.isdisjoint(own) for name, own in _CATEGORIES.items()}
    return {"categories": flags, "category_scores": scores}


_CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "sexual": ("sexual", "sexual/minors"),
    "hate_and_discrimination": ("hate", "hate/threatening", "harassment"),
    "violence_and_threats": ("violence", "violence/graphic", "harassment/threatening"),
    "dangerous_and_criminal_content": ("illicit", "illicit/violent"),
    "selfharm": ("self-harm", "self-harm/instructions", "self-harm/intent"),
    **dict.fromkeys(("health", "financial", "law", "pii"), ()),
}


def _render_models(call: Call, outcome: Models) -> Reply:
    known = zip(outcome.names, outcome.limits, strict=True)
    listed = [_describe(name, outcome.created, window) for name, (window, _) in known]
    body = listed[0] if call.operation == "model" else {"object": "list", "data": listed}
    return json_reply(200, body, write_lines(call.http, call))


def _describe(name: str, created: int, window: int | None) -> dict[str, Json]:
    chats = not any(word in name for word in ("embed", "moderation", "ocr"))
    return {
        "id": name,
        "object": "model",
        "created": created,
        "owned_by": "mistralai",
        "capabilities": {
            "completion_chat": chats,
            "completion_fim": name.startswith("codestral"),
            "function_calling": chats,
            "fine_tuning": False,
            "vision": chats and not name.startswith("codestral"),
            "classification": False,
        },
        "name": name,
        "description": f"{name}, as mockserver answers for it.",
        "max_context_length": window or WINDOW,
        "aliases": [],
        "deprecation": None,
        "default_model_temperature": 0.3,
        "type": "base",
    }


def _ask_prompt(text: str) -> dict[str, Json]:
    return {"prompt": text}


DIALECT = Dialect(
    name=NAME,
    mounts=CLIENT_CONFIGS[NAME].mounts,
    operations=(
        Operation("chat", "POST", "/chat/completions", parse_chat, _render_chat, history=HISTORY, shows_reasoning=True),
        Operation("chat", "POST", "/agents/completions", parse_agent_chat, _render_chat, history=HISTORY),
        Operation("completions", "POST", "/fim/completions", parse_fim, _render_chat, body=_ask_prompt),
        Operation("embeddings", "POST", "/embeddings", _parse_embeddings, _render_embeddings),
        Operation("moderations", "POST", "/moderations", _parse_moderations, _render_moderations),
        Operation("models", "GET", "/models", partial(parse_models, NAME), _render_models),
        Operation("model", "GET", "/models/{model:path}", partial(parse_models, NAME), _render_models),
    ),
    credential=bearer,
    fail=fail,
    rate_limit_headers=rate_limit_headers,
    models=(
        *("mistral-large-latest", "mistral-medium-latest", "mistral-small-latest", "magistral-medium-latest"),
        *("codestral-latest", "mistral-embed", "mistral-moderation-latest"),
    ),
    own_features=frozenset({"finish_error"}),
    missing={
        "/ocr": '{json: {pages: [{index: 0, markdown: "# Title", images: [], dimensions: null}], '
        "model: mistral-ocr-latest, usage_info: {pages_processed: 1}}}",
        **dict.fromkeys(
            (
                *("/conversations", "/files", "/fine_tuning", "/batch", "/audio", "/libraries"),
                *("/chat/moderations", "/classifications", "/chat/classifications", "/responses"),
            ),
            "{json: {}}",
        ),
    },
    variables=CLIENT_CONFIGS[NAME].variables,
)
