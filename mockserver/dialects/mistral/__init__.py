"""Mistral: OpenAI's chat with names and shapes of its own, code completions, embeddings,
moderations, classifications, OCR, files and batch jobs.

See https://docs.mistral.ai/api.
"""

from collections.abc import Mapping
from typing import Any

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Models, Usage
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._fields import BodyModel, integer, literal, optional, shape
from mockserver.dialects._openai_api.embeddings import make_bounded_embedding_call, render_embeddings
from mockserver.dialects._parse import read_bearer, read_request
from mockserver.dialects._reply import make_answer_reply, make_json_reply, make_model_look_ups, make_request_hex
from mockserver.dialects.mistral.batches import make_file_and_batch_operations
from mockserver.dialects.mistral.conversations import make_conversation_operations
from mockserver.dialects.mistral.errors import fail, refuse, write_header_lines, write_rate_limits
from mockserver.dialects.mistral.files import is_signed, refer_to_files
from mockserver.dialects.mistral.judging import TEXTS, make_judging_operations
from mockserver.dialects.mistral.ocr import parse_ocr, render_ocr
from mockserver.dialects.mistral.replay import HISTORY
from mockserver.dialects.mistral.request import NAME, parse_agent_chat, parse_chat, parse_fim
from mockserver.dialects.mistral.speech import make_speech_operation
from mockserver.dialects.mistral.transcriptions import make_transcription_operation
from mockserver.kinds.embeddings import Embeddings
from mockserver.wire.chat import ChatLayout, ChatRenderer

WINDOW = 131_072  # tokens, of a model that the settings do not describe


def _make_usage(usage: Usage) -> Mapping[str, Json]:
    return {
        "prompt_tokens": usage.prompt,
        "total_tokens": usage.total,
        "completion_tokens": usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "service_tier": "standard",
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
    call=("id", "type", "function", "index"),
    ending={"content": ""},
    thinks_in_content=True,
    count=_make_usage,
)
_CHATS = ChatRenderer(CHAT_LAYOUT)


def _render_chat(call: Call, outcome: Answer) -> Reply:
    lines = write_header_lines(call.http, call)
    return make_answer_reply(outcome, _CHATS, call.options, lines, stream=call.stream)


EMBED = BodyModel(
    shape(
        model=str,
        input=TEXTS,
        metadata=optional(Any),
        output_dimension=optional(integer(1, 4096)),
        output_dtype=optional(literal("float", "int8", "uint8", "binary", "ubinary")),
        encoding_format=optional(literal("float", "base64")),
    )
)


def _parse_embeddings(http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read_request(EMBED, http, refuse=refuse, validation=validation)
    asked = {**parsed, "dimensions": parsed.get("output_dimension")}
    return make_bounded_embedding_call(http, body, asked, dialect=NAME, refuse=refuse)


def _render_embeddings(call: Call, outcome: Embeddings) -> Reply:
    encoding = call.raw.get("encoding_format") or "float"
    made = render_embeddings(outcome, encoding if encoding == "base64" else call.raw.get("output_dtype"))
    usage = {**made["usage"], "completion_tokens": 0, **_UNCOUNTED}
    body = {"id": make_request_hex(call.http, call), **made, "usage": usage}
    return make_json_reply(200, body, lines=write_header_lines(call.http, call), headers=outcome.headers)


_UNCOUNTED = dict.fromkeys(
    (
        "prompt_audio_seconds",
        "request_count",
        "prompt_tokens_details",
        "completion_tokens_details",
        "service_tier",
        "prompt_token_details",
    )
)


def _render_models(call: Call, outcome: Models) -> Reply:
    known = zip(outcome.names, outcome.limits, strict=True)
    listed = [_describe(name, outcome.created, limits.context) for name, limits in known]
    body = listed[0] if call.operation == "model" else {"object": "list", "data": listed}
    return make_json_reply(200, body, lines=write_header_lines(call.http, call))


def _describe(name: str, created: int, window: int | None) -> dict[str, Json]:
    reads, speaks, hears = "ocr" in name, "tts" in name, "transcribe" in name
    moderates = "moderation" in name
    chats = not (reads or speaks or hears or moderates or "embed" in name)
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
            "ocr": reads,
            "classification": False,
            "moderation": moderates,
            "audio": chats and name.startswith("voxtral"),
            "audio_transcription": hears,
            "audio_transcription_realtime": hears and "realtime" in name,
            "audio_speech": speaks,
            "reasoning": chats and name.startswith("magistral"),
        },
        "name": name,
        "description": f"{name}, as mockserver answers for it.",
        "max_context_length": window or WINDOW,
        "aliases": [],
        "deprecation": None,
        "deprecation_replacement_model": None,
        "default_model_temperature": 0.3,
        "type": "base",
    }


def _ask_prompt(text: str) -> dict[str, Json]:
    return {"prompt": text}


_MODELS = (
    "mistral-large-latest", "mistral-medium-latest", "mistral-small-latest", "magistral-medium-latest",
    "codestral-latest", "mistral-embed", "mistral-moderation-latest", "mistral-ocr-latest",
)  # fmt: skip
_ANSWERING = (
    Operation(
        "chat",
        "POST",
        "/chat/completions",
        parse=refer_to_files(parse_chat),
        render=_render_chat,
        history=HISTORY,
        shows_reasoning=True,
    ),
    Operation(
        "chat",
        "POST",
        "/agents/completions",
        parse=refer_to_files(parse_agent_chat),
        render=_render_chat,
        history=HISTORY,
    ),
    *make_conversation_operations(),
    Operation("completions", "POST", "/fim/completions", parse=parse_fim, render=_render_chat, body=_ask_prompt),
    Operation("embeddings", "POST", "/embeddings", parse=_parse_embeddings, render=_render_embeddings),
    *make_judging_operations(),
    Operation("ocr", "POST", "/ocr", parse=parse_ocr, render=render_ocr),
)
_MISSING = (
    "/agents/*/aliases", "/agents/*/version", "/agents/*/versions", "/audio/agents", "/audio/sessions",
    "/audio/voices", "/client", "/connectors", "/context", "/conversations/*/restart", "/fine_tuning", "/libraries",
    "/observability", "/rag", "/responses", "/service-accounts", "/triggers", "/users", "/webhooks", "/whoami",
    "/workflows", "/v2/audio", "/v2/prompts", "/v2/skills",
)  # fmt: skip
DIALECT = Dialect(
    name=NAME,
    operations=(
        *_ANSWERING,
        *make_file_and_batch_operations(_ANSWERING),
        make_transcription_operation(),
        make_speech_operation(),
        *make_model_look_ups(NAME, _render_models),
    ),
    read_credential=read_bearer,
    is_signed=is_signed,
    fail=fail,
    rate_limit_headers=write_rate_limits,
    models=_MODELS,
    own_features=frozenset({"finish_error", "status"}),
    lists=frozenset({"sample_type", "source", "status"}),
    missing=dict.fromkeys(_MISSING, "{json: {}}"),
)
