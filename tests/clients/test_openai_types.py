"""Every field, item, tool and part that the official client's types know is accepted."""

import re
from functools import cache
from typing import Any, NamedTuple

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


class Excluded(NamedTuple):
    """What the types allow and the provider refuses: where it stands in a body, and the words of the refusal."""

    place: str
    words: str


PUBLISHED = {
    "an assistant that says nothing has to call a tool": Excluded(
        r"\.messages\[\]\.<ChatCompletionAssistantMessageParam>",
        "Invalid value for 'content': expected a string, got null.",
    ),
    "there is no stream": Excluded(
        r"\.stream_options\.", "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    ),
    "there are no log probabilities": Excluded(
        r"\.top_logprobs$", "'top_logprobs' is only allowed when 'logprobs' is true."
    ),
    "there are no tools to choose from": Excluded(
        r"\.tool_choice\b", "'tool_choice' is only allowed when 'tools' are specified."
    ),
    "there are no functions to choose from": Excluded(
        r"\.function_call\.", "'function_call' is only allowed when 'functions' are specified."
    ),
    "null is no model that could compact": Excluded(
        r"^\.<ResponseCompactParams>\.model=null$", "Missing required parameter: 'model'."
    ),
}
LIVE = {
    **PUBLISHED,
    "null is no model that could count": Excluded(
        r"^\.<InputTokenCountParams>\.model=null$", "Missing required parameter: 'model'."
    ),
    "there has to be something to count or compact": Excluded(
        r"\.input=null$", "Missing required parameter: provide one of 'input', 'prompt', 'previous_response_id'"
    ),
    "a chat's call has no result": Excluded(
        r"<ChatCompletionAssistantMessageParam>\.tool_calls", "must be followed by tool messages"
    ),
    "a chat's result has no call": Excluded(
        r"<ChatCompletionToolMessageParam>", "must be a response to a preceeding message with 'tool_calls'."
    ),
    "a call has no result": Excluded(r"\.input\[\]\.<\w+Call(Param)?>", "No tool output found for"),
    "a result has no call": Excluded(r"\.input\[\]\.<\w+Output(Param)?>", "No tool call found for"),
    "a result has to say which call it is of": Excluded(
        r"\.input\[\]\.<FunctionCallOutput>", "Missing required parameter: 'input[0].call_id'."
    ),
    "the id of an item says what it is": Excluded(r"\.input\[\]\.<\w+>", "Expected an ID that begins with"),
    "there are no tools that a chat could call in parallel": Excluded(
        r"\.parallel_tool_calls$", "is only allowed when 'tools' are specified."
    ),
    "some models have no chats": Excluded(
        r"\.model=(gpt-5\.1-codex|codex-mini-latest)$", "only supported in v1/responses"
    ),
    "a word is no picture": Excluded(r"\.<ChatCompletionContentPartImageParam>", "Invalid image URL:"),
    "a word is no file": Excluded(r"\.<FileFile>\.file_data$", "Invalid file data:"),
    "a word is no URL": Excluded(r"\.image_url$", "Expected a valid URL"),
    "nothing asks for JSON in words": Excluded(r"\.<ResponseFormatJSONObject>$", "must contain the word 'json'"),
    "a chat that speaks needs a voice": Excluded(r"\.modalities\[\]=audio$", "Missing required parameter: 'audio'."),
    "there are no tools that a response could choose": Excluded(
        r"\.tool_choice\b", "must be specified with 'tools' parameter."
    ),
}
MODES = {"published": PUBLISHED, "live": LIVE}


@cache
def refusals(mode: str) -> tuple[tuple[str, str], ...]:
    """The places of the bodies that are refused, each with the provider's words."""
    server, found = local(validation=mode), []
    for path, kind, base in REQUESTS:
        for place, body in smallest_bodies(kind, VALUES):
            answered = server.ask(path, {**base, **body})
            if answered.status != 200:
                found.append((place, answered.json["error"]["message"]))
    return tuple(found)


def reason(mode: str, place: str, words: str) -> str | None:
    return next(
        (why for why, each in MODES[mode].items() if re.search(each.place, place) and each.words in words), None
    )


@pytest.mark.parametrize("mode", MODES)
def test_whatever_the_types_of_the_client_allow(mode: str) -> None:
    assert [each for each in refusals(mode) if reason(mode, *each) is None] == []


@pytest.mark.parametrize("mode", MODES)
def test_every_reason_is_needed(mode: str) -> None:
    assert {reason(mode, *each) for each in refusals(mode)} - {None} == MODES[mode].keys()


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
