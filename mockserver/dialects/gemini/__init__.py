"""Gemini (generativelanguage.googleapis.com), and the paths of Vertex AI that the same clients call.

Differences from OpenAI: the model is in the path, bodies are proto JSON, streams consist of whole responses, and errors
are `google.rpc.Status`.
"""

from typing import Any

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation
from mockserver.dialects.gemini.answers import fail, make_error_event, render, render_count, render_tokens, render_turn
from mockserver.dialects.gemini.batches import GeminiBatches
from mockserver.dialects.gemini.bodies import COUNT_TOKENS, GENERATE
from mockserver.dialects.gemini.cached_contents import make_cache_operations
from mockserver.dialects.gemini.embeddings import make_embedding_operations
from mockserver.dialects.gemini.errors import read_credential
from mockserver.dialects.gemini.file_search_stores import make_store_operations
from mockserver.dialects.gemini.files import make_file_operations
from mockserver.dialects.gemini.interactions import make_interaction_operations
from mockserver.dialects.gemini.live import make_token_operation, make_turn_operations
from mockserver.dialects.gemini.media import ask_for_media, find_operation
from mockserver.dialects.gemini.models import MODELS, USUAL_PARAMS, make_model_operations
from mockserver.dialects.gemini.replay import HISTORY
from mockserver.dialects.gemini.request import NAME, make_renamer, parse_count, parse_generate
from mockserver.dialects.gemini.videos import make_video_operations


def _parse(http: HttpRequest, validation: Validation) -> Call:
    call = parse_generate(http, validation)
    operation = find_operation(call.model, call.raw.get("generationConfig") or {})
    return call if operation == "chat" else ask_for_media(call, operation)


def _parse_tokens(http: HttpRequest, validation: Validation) -> Call:
    return replace(parse_count(http, validation), operation="tokenize")


def _ask(text: str) -> dict[str, Json]:
    return {"contents": [{"parts": [{"text": text}], "role": "user"}]}


def _make_generation(verb: str, **more: Any) -> Operation:
    more |= {"params": USUAL_PARAMS, "body": _ask}
    more |= {"unify": make_renamer(GENERATE), "history": HISTORY, "also": ("images", "speech")}
    return Operation("chat", "POST", f"{_MODEL}:{verb}", parse=_parse, render=render, shows_reasoning=True, **more)


_MODEL = "/{version:version}/{parent:models}/{model}"
_GENERATE = _make_generation("generateContent", streams=False)
_EMBEDDINGS = make_embedding_operations(_MODEL)
_MISSING = (
    *[f"/*/{name}" for name in ("agents", "corpora", "operations", "tunedModels", "voices", "webhooks")],
    "/*/files:register",
    *[f"/*/projects/*/locations/*/{name}" for name in ("batchPredictionJobs", "tuningJobs")],
)
DIALECT = Dialect(
    name=NAME,
    operations=(
        _GENERATE,
        _make_generation("streamGenerateContent", streams=True, query={"alt": "sse"}, error=make_error_event),
        Operation(
            "input_tokens",
            "POST",
            f"{_MODEL}:countTokens",
            parse=parse_count,
            render=render_count,
            params=USUAL_PARAMS,
            body=_ask,
            unify=make_renamer(COUNT_TOKENS),
        ),
        Operation(
            "tokenize",
            "POST",
            f"{_MODEL}:computeTokens",
            parse=_parse_tokens,
            render=render_tokens,
            params=USUAL_PARAMS,
            body=_ask,
            unify=make_renamer(COUNT_TOKENS),
        ),
        *_EMBEDDINGS,
        *make_model_operations(),
        *make_cache_operations(),
        *make_file_operations(),
        *make_turn_operations(render_turn, _GENERATE),
        make_token_operation(),
        *make_interaction_operations(),
        *make_store_operations(),
        *make_video_operations(_MODEL),
        *GeminiBatches(_GENERATE, _EMBEDDINGS[0], fail).make_operations(_MODEL),
    ),
    read_credential=read_credential,
    fail=fail,
    models=tuple(MODELS),
    own_features=frozenset({"content_filter", "filter_annotations", "refusal", "annotations", "items", "status"}),
    missing=dict.fromkeys(_MISSING, "{json: {}}"),
)
