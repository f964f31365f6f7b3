"""Ollama: its own API, whose streams are lines of JSON, and the APIs of others below `/v1` (https://docs.ollama.com)."""

from mockserver.core.call import Call
from mockserver.core.http import Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Models
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._parse import read_bearer
from mockserver.dialects._reply import make_answer_reply
from mockserver.dialects.ollama.compatible import make_compatible_operations
from mockserver.dialects.ollama.embeddings import make_embedding_operations
from mockserver.dialects.ollama.errors import JSON_TYPE, LINES_TYPE, fail, write_error_line
from mockserver.dialects.ollama.models import USUAL_MODELS, make_model_operations, make_reply
from mockserver.dialects.ollama.request import NAME, parse_chat, parse_generate
from mockserver.wire.ollama import LineOptions, LineRenderer
from mockserver.wire.parts import write_moment

_LINES = LineRenderer()


def _render_chat(call: Call, outcome: Answer | Models) -> Reply:
    return _render(call, outcome, LineOptions(thinks=call.raw.get("think") is not False))


def _render_generate(call: Call, outcome: Answer | Models) -> Reply:
    thinks = call.raw.get("think") is not False
    context = not call.raw.get("raw")
    return _render(call, outcome, LineOptions(generates=True, thinks=thinks, context=context))


def _render(call: Call, outcome: Answer | Models, options: LineOptions) -> Reply:
    if isinstance(outcome, Models):
        return make_reply(_describe_loading(call, outcome, options))
    return make_answer_reply(
        outcome, _LINES, options, "", stream=call.stream, stream_lines=LINES_TYPE, json_type=JSON_TYPE
    )


def _describe_loading(call: Call, outcome: Models, options: LineOptions) -> dict[str, Json]:
    """Return the answer to a request without a prompt: the model is in memory now, or no longer."""
    empty: dict[str, Json] = {"response": ""}
    if not options.generates:
        empty = {"message": {"role": "assistant", "content": ""}}
    ends = "unload" if call.raw.get("keep_alive") in _AT_ONCE else "load"
    head = {"model": call.model, "created_at": write_moment(outcome.created)}
    return {**head, **empty, "done": True, "done_reason": ends}


_AT_ONCE = (0, "0", "0s")


def _ask(text: str) -> dict[str, Json]:
    return {"messages": [{"role": "user", "content": text}], "stream": False}


def _ask_prompt(text: str) -> dict[str, Json]:
    return {"prompt": text, "stream": False}


DIALECT = Dialect(
    name=NAME,
    bare=("/api/",),
    operations=(
        Operation(
            "chat",
            "POST",
            "/api/chat",
            parse=parse_chat,
            render=_render_chat,
            error=write_error_line,
            body=_ask,
            shows_reasoning=True,
        ),
        Operation(
            "completions",
            "POST",
            "/api/generate",
            parse=parse_generate,
            render=_render_generate,
            error=write_error_line,
            body=_ask_prompt,
        ),
        *make_embedding_operations(),
        *make_model_operations(),
        *make_compatible_operations(),
    ),
    read_credential=read_bearer,
    fail=fail,
    models=USUAL_MODELS,
    own_features=frozenset({"items", "failed"}),  # of Responses
    missing=dict.fromkeys(("/api/status", "/api/me", "/api/signout", "/api/experimental", "/v1/audio"), "{json: {}}"),
)
