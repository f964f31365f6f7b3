"""Crazyrouter: OpenAI's chat with the fewest fields, and with additions of the models behind the gateway."""

from collections.abc import Mapping

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.plan import Failure
from mockserver.dialects import Dialect
from mockserver.dialects._errors import (
    INVALID_REQUEST,
    PLAIN_MESSAGES,
    ErrorRow,
    make_gateway_rows,
    make_plain_errors,
    refuse_without_code,
    write_retry_lines,
)
from mockserver.dialects._openai_api.chat import ChatParser, make_chat_operation
from mockserver.dialects._parse import Complaint, read_bearer
from mockserver.dialects._reply import make_json_reply, make_model_operations, write_request_id
from mockserver.wire.chat import ChatLayout

NAME = "crazyrouter"


def _refuse(complaint: Complaint) -> Failure:
    """Return the failure for a bad parameter; its message names it, as the error body has no field for it."""
    failure = refuse_without_code(complaint)
    if failure.message is None or complaint.where in failure.message:
        return failure
    return Failure("bad_parameter", f"{failure.message} (parameter: '{complaint.where}')")


def _fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    resolved = ERRORS.resolve(failure, http, call)
    body = {"error": {"message": resolved.message, "type": resolved.kind, "code": resolved.code}}
    lines = write_request_id(http, call) + write_retry_lines(failure)
    return make_json_reply(resolved.status, body, lines=lines, headers=failure.headers)


CHAT_LAYOUT = ChatLayout(
    completion=("id", "object", "created", "model", "choices", "usage", "system_fingerprint"),
    message=("role", "content", "reasoning_content", "refusal", "annotations", "tool_calls"),
    optional=frozenset({"logprobs", "refusal", "annotations"}),
    system_fingerprint=True,
    opening_of_call={},
)

ROWS = make_gateway_rows(
    content_filter=ErrorRow(status=400, kind=INVALID_REQUEST, code="content_filter"),
    context_length=ErrorRow(status=400, kind=INVALID_REQUEST, code="context_length_exceeded"),
    billing=ErrorRow(status=402, kind="insufficient_quota", code="insufficient_quota"),
    forbidden=ErrorRow(status=403, kind="insufficient_quota", code="insufficient_quota"),
    model_not_found=ErrorRow(status=503, kind="server_error", code="model_not_found"),
    unknown_model=ErrorRow(status=404, kind=INVALID_REQUEST, code="model_not_found"),
    quota=ErrorRow(status=403, kind="insufficient_quota", code="insufficient_quota"),
    server_error=ErrorRow(status=500, kind="server_error", code="get_channel_failed"),
)
MESSAGES: Mapping[str, str] = {
    "model_not_found": "The model `{model}` does not exist or you do not have access to it: no channel serves it now.",
    "unknown_model": PLAIN_MESSAGES["unknown_model"],
}
ERRORS = make_plain_errors(ROWS, MESSAGES, read_credential=read_bearer)

DIALECT = Dialect(
    name=NAME,
    operations=(
        # Unknown fields go upstream, whatever the mode.
        make_chat_operation(ChatParser(NAME, _refuse).parse, CHAT_LAYOUT, write_request_id),
        *make_model_operations(NAME, write_request_id),
    ),
    read_credential=read_bearer,
    fail=_fail,
    models=("gpt-4o", "gpt-4o-mini", "claude-sonnet-4", "gemini-2.5-pro", "deepseek-r1"),
    own_features=frozenset({"content_filter", "refusal", "annotations", "custom_tools", "call_pieces"}),
    missing=dict.fromkeys(("/images", "/video", "/videos"), "{json: {}}"),
)
