"""Every field, item, tool and part that the official client's types know is accepted."""

from typing import Any

import pytest
from openai.types import completion_create_params, embedding_create_params, moderation_create_params
from openai.types.chat import completion_create_params as chat_create_params
from openai.types.chat import completion_update_params
from openai.types.responses import input_token_count_params, response_compact_params, response_create_params

from tests.kit.client_types import smallest_bodies
from tests.kit.local import Local, local

ASKED = {"model": "m", "input": "Hi"}
REQUESTS: list[tuple[str, Any, dict[str, Any]]] = [
    ("/v1/chat/completions", chat_create_params.CompletionCreateParamsNonStreaming, {}),
    ("/v1/completions", completion_create_params.CompletionCreateParamsNonStreaming, {}),
    ("/v1/responses", response_create_params.ResponseCreateParamsNonStreaming, ASKED),
    ("/v1/responses/input_tokens", input_token_count_params.InputTokenCountParams, ASKED),
    ("/v1/responses/compact", response_compact_params.ResponseCompactParams, ASKED),
    ("/v1/embeddings", embedding_create_params.EmbeddingCreateParams, {}),
    ("/v1/moderations", moderation_create_params.ModerationCreateParams, {}),
]
VALUES = {"max_output_tokens": 16}  # the least
# What the types allow and the provider does not, as it depends on another field.
REFUSED = {
    "Invalid value for 'content': expected a string, got null.": "an assistant that says nothing has to call a tool",
    "The 'stream_options' parameter is only allowed when 'stream' is enabled.": "there is no stream",
    "'top_logprobs' is only allowed when 'logprobs' is true.": "there are no log probabilities",
    "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.": "there are no tools",
    "Invalid value for 'function_call': 'function_call' is only allowed when 'functions' are specified.": "likewise",
    "Missing required parameter: 'model'.": "null is no model that could compact",
}


@pytest.mark.parametrize(("path", "kind", "base"), REQUESTS)
def test_whatever_the_types_of_the_client_allow(path: str, kind: Any, base: dict[str, Any]) -> None:
    server = local()
    refused = {}
    for _, body in smallest_bodies(kind, VALUES):
        answered = server.ask(path, {**base, **body})
        if answered.status != 200 and answered.json["error"]["message"] not in REFUSED:
            refused[answered.json["error"]["message"]] = body
    assert refused == {}


@pytest.mark.parametrize(("path", "kind", "base"), REQUESTS)
def test_live_knows_the_same_fields_and_parts(path: str, kind: Any, base: dict[str, Any]) -> None:
    server = local(validation="live")
    for _, body in smallest_bodies(kind, VALUES):
        answered = server.ask(path, {**base, **body})
        error = {} if answered.status == 200 else answered.json["error"]
        known = error.get("code") in (None, "missing_required_parameter") or error["param"].endswith("].id")
        assert known, (error, body)


@pytest.mark.parametrize(
    ("path", "kind", "base"),
    [
        ("/v1/chat/completions", chat_create_params.CompletionCreateParamsStreaming, {}),
        ("/v1/completions", completion_create_params.CompletionCreateParamsStreaming, {}),
        ("/v1/responses", response_create_params.ResponseCreateParamsStreaming, ASKED),
    ],
)
def test_what_they_allow_of_a_stream(path: str, kind: Any, base: dict[str, Any]) -> None:
    server = local()
    for place, body in smallest_bodies(kind, VALUES):
        if ".stream" in place:
            assert server.ask(path, {**base, **body}).status == 200, body


def test_an_update_of_a_stored_chat() -> None:
    server = local()
    for _, body in smallest_bodies(completion_update_params.CompletionUpdateParams):
        assert server.ask(f"/v1/chat/completions/{_stored(server)}", body).status == 200


def _stored(server: Local) -> str:
    chat = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "store": True}
    return str(server.ask("/v1/chat/completions", chat).json["id"])
