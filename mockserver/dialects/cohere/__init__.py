"""Cohere: chat, embed and rerank, in v2 and v1 (https://docs.cohere.com/reference/about)."""

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.http import Reply
from mockserver.core.plan import Answer
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._openai_api.audio import AudioApi, hide_usage
from mockserver.dialects._parse import read_bearer
from mockserver.dialects._reply import EVENT_TYPE, make_answer_reply
from mockserver.dialects.cohere.bodies import NAME
from mockserver.dialects.cohere.embed import make_embed_operations
from mockserver.dialects.cohere.errors import fail, make_error_event, write_header_lines, write_rate_limits
from mockserver.dialects.cohere.models import make_model_operations
from mockserver.dialects.cohere.old_chat import LINES_TYPE, make_old_chat_operations
from mockserver.dialects.cohere.request import parse_chat
from mockserver.dialects.cohere.rerank import make_rerank_operations
from mockserver.dialects.cohere.tokens import make_token_operations
from mockserver.wire.cohere import CohereLineRenderer, CohereOptions, CohereRenderer

_RENDERER = CohereRenderer()
_LINE_RENDERER = CohereLineRenderer()


def _render_chat(call: Call, outcome: Answer) -> Reply:
    options = CohereOptions(thinking=call.options.effort is not None)
    own = write_header_lines(call.http, call)
    # LiteLLM takes no server-sent events: it reads a line of JSON for each event.
    if call.stream and call.http.header_values.get(b"accept") == b"application/json":
        return make_answer_reply(outcome, _LINE_RENDERER, options, own, stream=True, stream_lines=LINES_TYPE)
    return make_answer_reply(outcome, _RENDERER, options, own, stream=call.stream, stream_lines=EVENT_TYPE)


_AUDIO = AudioApi(NAME, write_header_lines, show=hide_usage)
_MODELS = (
    "command-a-03-2025", "command-a-reasoning-08-2025", "command-a-vision-07-2025", "command-r7b-12-2024",
    "embed-v4.0", "embed-english-v3.0", "embed-multilingual-v3.0", "rerank-v4.0-pro", "rerank-v3.5",
    "cohere-transcribe-03-2026",
)  # fmt: skip
DIALECT = Dialect(
    name=NAME,
    operations=(
        Operation(
            "chat",
            "POST",
            "/v2/chat",
            parse=parse_chat,
            render=_render_chat,
            error=make_error_event,
            shows_reasoning=True,
        ),
        *make_embed_operations(),
        *make_rerank_operations(),
        *make_old_chat_operations(),
        *make_token_operations(),
        replace(_AUDIO.make_transcription_operation(), path="/v2/audio/transcriptions"),
        *make_model_operations(),
    ),
    read_credential=read_bearer,
    fail=fail,
    rate_limit_headers=write_rate_limits,
    models=_MODELS,
    own_features=frozenset({"content_filter", "finish_error", "refusal", "annotations", "call_pieces"}),
    missing={
        **dict.fromkeys(("/v1/classify", "/v1/summarize", "/v1/embed-jobs", "/v1/datasets"), "{json: {}}"),
        **dict.fromkeys(("/v1/connectors", "/v1/finetuning", "/v2/batches", "/v2/parse"), "{json: {}}"),
    },
)
