"""Amazon Bedrock: Converse, InvokeModel, and the operations beside them.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference

Differences from OpenAI: the model is in the path, streams consist of binary messages, and the format of InvokeModel's
bodies depends on the model.
"""

from base64 import b64decode
from typing import Any

from msgspec.structs import replace

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.validation import Validation
from mockserver.dialects import Dialect, Operation
from mockserver.dialects._messages import ask_claude
from mockserver.dialects._parse import read_request
from mockserver.dialects._reply import make_model_look_ups
from mockserver.dialects.bedrock import checks
from mockserver.dialects.bedrock.async_invoke import make_async_operations
from mockserver.dialects.bedrock.errors import make_exception, read_credential, refuse
from mockserver.dialects.bedrock.guardrails import make_guardrail_operation
from mockserver.dialects.bedrock.invoke import check_history, parse_invoke, render_invoke
from mockserver.dialects.bedrock.models import COUNT, COUNTED, NAME
from mockserver.dialects.bedrock.replay import HISTORY
from mockserver.dialects.bedrock.replies import make_fail, render_converse, render_count, render_models, render_profiles
from mockserver.dialects.bedrock.request import make_converse_call, parse_converse
from mockserver.dialects.bedrock.rerank import make_rerank_operation


def _parse_count(http: HttpRequest, validation: Validation) -> Call:
    body, _ = read_request(COUNT, http, refuse=refuse, validation=validation)
    asked = body["input"]
    if (chat := asked.get("converse")) is not None:
        chat = {key: chat[key] for key in COUNTED if key in chat}  # only these fields were checked
        call = make_converse_call(http, chat, validation)
    elif (invoked := asked.get("invokeModel")) is not None:
        try:
            data = b64decode(invoked["body"], validate=True)
        except ValueError:
            raise checks.refuse("The body of invokeModel is not valid base64.") from None
        call = replace(parse_invoke(replace(http, body=data), validation), http=http)
    else:
        raise checks.refuse("CountTokensInput object must set one of the following keys: invokeModel, converse.")
    return replace(call, operation="input_tokens", meaning=[call.meaning], raw=body, stream=False)


def _ask_converse(text: str) -> dict[str, Json]:
    return {"messages": [{"role": "user", "content": [{"text": text}]}]}


def _ask_claude(text: str) -> dict[str, Json]:
    return {"anthropic_version": "bedrock-2023-05-31", **ask_claude(text)}


def _ask_count(text: str) -> dict[str, Json]:
    return {"input": {"converse": _ask_converse(text)}}


def _make_chat_operation(verb: str, **more: Any) -> Operation:
    return Operation("chat", "POST", f"{_MODEL}/{verb}", shows_reasoning=True, **more)


_MODEL = "/model/{model:path}"
_CONVERSE: dict[str, Any] = {
    "parse": parse_converse,
    "render": render_converse,
    "body": _ask_converse,
    "history": HISTORY,
}
_INVOKE: dict[str, Any] = {
    "parse": parse_invoke,
    "render": render_invoke,
    "body": _ask_claude,
    "history": check_history,
}
_STREAM: dict[str, Any] = {"streams": True, "error": make_exception}
DIALECT = Dialect(
    name=NAME,
    operations=(
        _make_chat_operation("converse", streams=False, **_CONVERSE),
        _make_chat_operation("converse-stream", **_STREAM, **_CONVERSE),
        _make_chat_operation("invoke", streams=False, **_INVOKE),
        _make_chat_operation("invoke-with-response-stream", **_STREAM, **_INVOKE),
        Operation(
            "input_tokens", "POST", f"{_MODEL}/count-tokens", parse=_parse_count, render=render_count, body=_ask_count
        ),
        make_guardrail_operation(),
        make_rerank_operation(),
        *make_async_operations(),
        *make_model_look_ups(NAME, render_models, "/foundation-models"),
        *make_model_look_ups(NAME, render_profiles, "/inference-profiles"),
    ),
    read_credential=read_credential,
    fail=make_fail(
        {
            **dict.fromkeys(("converse", "converse-stream"), render_converse),
            **dict.fromkeys(("invoke", "invoke-with-response-stream"), render_invoke),
        }
    ),
    models=(
        "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "anthropic.claude-haiku-4-5-20251001-v1:0",
        "anthropic.claude-opus-4-8",
        "amazon.nova-pro-v1:0",
        "amazon.nova-lite-v1:0",
        "meta.llama3-3-70b-instruct-v1:0",
        "openai.gpt-oss-120b-1:0",
        "mistral.mistral-large-2407-v1:0",
        "amazon.titan-embed-text-v2:0",
        "cohere.embed-english-v3",
    ),
    own_features=frozenset({"content_filter", "refusal", "annotations", "call_pieces", "embedding", "status"}),
    missing=dict.fromkeys(("/guardrail-checks", "/guardrails"), "{json: {}}"),
)
