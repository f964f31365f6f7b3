"""Anthropic: the Messages API, in both versions (https://platform.claude.com/docs/en/api)."""

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._messages import ask_claude
from mockserver.dialects._reply import make_model_look_ups
from mockserver.dialects.anthropic import batches, completions, files, skills
from mockserver.dialects.anthropic.answers import fail, render_count, render_message
from mockserver.dialects.anthropic.bodies import COUNT, NAME
from mockserver.dialects.anthropic.clouds import list_vertex_operations
from mockserver.dialects.anthropic.errors import make_error_event, read_credential, write_rate_limits
from mockserver.dialects.anthropic.models import render_models
from mockserver.dialects.anthropic.replay import HISTORY
from mockserver.dialects.anthropic.request import parse_messages


def _parse_count(http: HttpRequest, validation: Validation) -> Call:
    return replace(parse_messages(http, validation, COUNT), operation="input_tokens")


def _ask_count(text: str) -> dict[str, Json]:
    return {"messages": [{"role": "user", "content": text}]}


_MODELS = (
    "claude-fable-5-2", "claude-mythos-5-2", "claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5",
    "claude-opus-4-8", "claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5", "claude-sonnet-4-5",
)  # fmt: skip
_MISSING = (
    "agents", "compliance", "deployment_runs", "deployments", "dreams", "environments", "memory_stores",
    "organizations", "sessions", "tunnels", "user_profiles", "vaults",
)  # fmt: skip
DIALECT = Dialect(
    name=NAME,
    bare=("/v1/messages",),
    omissible="/v1",  # of the AI SDK, which puts /messages behind ANTHROPIC_BASE_URL
    operations=(
        Operation(
            "chat",
            "POST",
            "/v1/messages",
            parse=parse_messages,
            render=render_message,
            error=make_error_event,
            body=ask_claude,
            history=HISTORY,
            shows_reasoning=True,
        ),
        Operation(
            "input_tokens",
            "POST",
            "/v1/messages/count_tokens",
            parse=_parse_count,
            render=render_count,
            body=_ask_count,
        ),
        *batches.make_operations(),
        *files.make_operations(),
        *skills.make_operations(),
        completions.make_operation(),
        *make_model_look_ups(NAME, render_models, "/v1/models"),
        *list_vertex_operations(),
    ),
    read_credential=read_credential,
    fail=fail,
    rate_limit_headers=write_rate_limits,
    models=_MODELS,
    own_features=frozenset({"content_filter", "refusal", "annotations", "call_pieces", "items"}),
    missing=dict.fromkeys([f"/v1/{name}" for name in _MISSING], "{json: {}}"),
)
