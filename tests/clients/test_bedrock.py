"""AWS's own client at Bedrock, and Anthropic's: answers, streams, tools, errors, tries, and recordings."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from anthropic import AnthropicBedrock, APIStatusError, RateLimitError
from botocore.config import Config
from botocore.eventstream import ChecksumMismatch
from botocore.exceptions import ClientError, EventStreamError

from mockserver.testing import MockServer
from tests.kit.served import Served, served

RULES = """
rules:
  - when: {last_user: {starts_with: hello}}
    then: {reasoning: They greet., text: "Hello! How can I help you today?"}
  - when: {last_user: weather, turn: 0}
    then: {tool_calls: [{name: get_weather, arguments: {city: Oslo}}]}
  - when: {tool_result: {name: get_weather}}
    then: {text: "It is {{ tool_result.json.sky }} in Oslo."}
  - when: {last_user: breaks}
    then: {text: One two three., faults: [{error_event: {after_tokens: 2, reason: rate_limit}}]}
  - when: {last_user: spoilt}
    then: {text: One two three., faults: [wrong_checksum]}
  - {when: {last_user: busy}, then: {error: rate_limit, retry_after: 10ms}}
  - {when: {last_user: flaky, attempt: {lt: 3}}, then: {error: 503}}
  - {when: {last_user: flaky}, then: {text: At last.}}
  - {when: {last_user: denied}, then: {error: 403}}
  - {when: {last_user: invalid}, then: {error: 400}}
  - {when: {last_user: gone}, then: {error: 404}}
  - {when: {last_user: down}, then: {error: 500}}
"""
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
PROFILE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"
KEYS = {"aws_access_key_id": "AKIAIOSFODNN7ABCDEFG", "aws_secret_access_key": "wJalrXUtnFEMI"}
WEATHER = {
    "tools": [
        {
            "toolSpec": {
                "name": "get_weather",
                "inputSchema": {"json": {"type": "object", "properties": {"city": {"type": "string"}}}},
            }
        }
    ]
}
Json = Any


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


def connect(base: str, service: str = "bedrock-runtime", **keys: str) -> Any:
    config = Config(retries={"total_max_attempts": 3, "mode": "standard"}, proxies={})
    return boto3.client(service, endpoint_url=base, region_name="us-east-1", config=config, **{**KEYS, **keys})


@pytest.fixture(scope="module")
def client(server: Served) -> Any:
    return connect(f"{server.address}/bedrock")


def says(text: str) -> list[Json]:
    return [{"role": "user", "content": [{"text": text}]}]


def join(stream: Any) -> tuple[str, Json]:
    """The text of a stream, and its last event."""
    text, last = "", None
    for event in stream:
        last = event
        text += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
    return text, last


@pytest.mark.parametrize("model", [CLAUDE, PROFILE, "amazon.nova-pro-v1:0", "meta.llama3-3-70b-instruct-v1:0"])
def test_an_answer_and_its_stream(client: Any, model: str) -> None:
    answer = client.converse(modelId=model, messages=says("hello"))
    thought, said = answer["output"]["message"]["content"]
    assert thought["reasoningContent"]["reasoningText"]["text"] == "They greet."
    assert said == {"text": "Hello! How can I help you today?"}
    text, last = join(client.converse_stream(modelId=model, messages=says("hello"))["stream"])
    assert (text, last["metadata"]["usage"]) == (said["text"], answer["usage"])
    assert len(answer["ResponseMetadata"]["RequestId"]) == 36


def test_tools_to_the_end(client: Any) -> None:
    messages = says("weather")
    asked = client.converse(modelId=CLAUDE, messages=messages, toolConfig=WEATHER)
    assert asked["stopReason"] == "tool_use"
    (used,) = (block["toolUse"] for block in asked["output"]["message"]["content"])
    result = {"toolUseId": used["toolUseId"], "content": [{"json": {"sky": "clear"}}]}
    messages += [asked["output"]["message"], {"role": "user", "content": [{"toolResult": result}]}]
    text, _ = join(client.converse_stream(modelId=CLAUDE, messages=messages, toolConfig=WEATHER)["stream"])
    assert text == "It is clear in Oslo."
    with pytest.raises(client.exceptions.ValidationException, match=r"Expected toolResult blocks at messages\.2"):
        client.converse(modelId=CLAUDE, messages=[*messages[:2], *says("well?")], toolConfig=WEATHER)


@pytest.mark.parametrize(
    ("text", "kind", "status"),
    [
        ("busy", "ThrottlingException", 429),
        ("denied", "AccessDeniedException", 403),
        ("invalid", "ValidationException", 400),
        ("gone", "ResourceNotFoundException", 404),
        ("down", "InternalServerException", 500),
    ],
)
def test_errors_have_their_classes(client: Any, text: str, kind: str, status: int) -> None:
    for call in (client.converse, client.converse_stream):
        with pytest.raises(getattr(client.exceptions, kind)) as caught:
            call(modelId=CLAUDE, messages=says(text))
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == status
    body = json.dumps(
        {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": [USER | {"content": text}]}
    )
    with pytest.raises(getattr(client.exceptions, kind)):
        client.invoke_model(modelId=CLAUDE, body=body)


USER = {"role": "user"}


def test_the_client_says_which_attempt_it_makes(client: Any) -> None:
    answer = client.converse(modelId=CLAUDE, messages=says("flaky"))
    assert answer["output"]["message"]["content"] == [{"text": "At last."}]
    assert answer["ResponseMetadata"]["RetryAttempts"] == 2


def test_streams_break_off(client: Any) -> None:
    stream = client.converse_stream(modelId=CLAUDE, messages=says("breaks"))["stream"]
    with closing(stream), pytest.raises(EventStreamError, match=r"\(throttlingException\).*Too many requests"):
        join(stream)
    stream = client.converse_stream(modelId=CLAUDE, messages=says("spoilt"))["stream"]
    with closing(stream), pytest.raises(ChecksumMismatch):
        join(stream)


def test_embeddings_counts_and_lists(client: Any, server: Served) -> None:
    body = json.dumps({"inputText": "sea", "dimensions": 256})
    answer = client.invoke_model(modelId="amazon.titan-embed-text-v2:0", body=body)
    assert len(json.loads(answer["body"].read())["embedding"]) == 256
    body = json.dumps({"texts": ["sea", "land"], "input_type": "search_document"})
    answer = client.invoke_model(modelId="cohere.embed-english-v3", body=body)
    assert [len(each) for each in json.loads(answer["body"].read())["embeddings"]] == [1024, 1024]
    assert client.count_tokens(modelId=CLAUDE, input={"converse": {"messages": says("hello")}})["inputTokens"] > 0
    control = connect(f"{server.address}/bedrock", "bedrock")
    assert control.list_foundation_models(byProvider="Anthropic")["modelSummaries"]
    profile = control.get_inference_profile(inferenceProfileIdentifier=PROFILE)
    assert "anthropic.claude" in profile["models"][0]["modelArn"]


def test_anthropics_client(server: Served) -> None:
    client = AnthropicBedrock(
        base_url=f"{server.address}/bedrock",
        aws_access_key="AKIAIOSFODNN7ABCDEFG",
        aws_secret_key="secret",
        aws_region="us-east-1",
        max_retries=0,
        http_client=None,
    )
    asked: Json = {"model": CLAUDE, "max_tokens": 100}
    answer = client.messages.create(messages=[{"role": "user", "content": "hello"}], **asked)
    assert (answer.id[:12], answer.model) == ("msg_bdrk_01" + answer.id[11], "claude-sonnet-4-5-20250929")
    with client.messages.stream(messages=[{"role": "user", "content": "hello"}], **asked) as stream:
        assert [block.to_dict() for block in stream.get_final_message().content] == [
            block.to_dict() for block in answer.content
        ]
    with pytest.raises(RateLimitError):
        client.messages.create(messages=[{"role": "user", "content": "busy"}], **asked)
    with (
        pytest.raises(APIStatusError) as caught,
        client.messages.stream(messages=[{"role": "user", "content": "breaks"}], **asked) as stream,
    ):
        stream.get_final_message()
    assert caught.value.body == {
        "type": "error",
        "error": {"type": "throttlingException", "message": "Too many requests, please wait before trying again."},
    }


def test_keys_are_compared_but_no_signature() -> None:
    with MockServer(keys={KEYS["aws_access_key_id"]: {}, "bedrock-key": {}}) as server:
        server.on("hello").reply("Hi!")
        base = server.base_url("bedrock")
        known, unknown = connect(base), connect(base, aws_access_key_id="AKIAUNKNOWNUNKNOWN00")
        assert known.converse(modelId=CLAUDE, messages=says("hello"))["stopReason"] == "end_turn"
        with pytest.raises(ClientError, match=r"\(UnrecognizedClientException\).*security token"):
            unknown.converse(modelId=CLAUDE, messages=says("hello"))
        url, headers = f"{base}/model/{CLAUDE}/converse", {"authorization": "Bearer bedrock-key"}
        asked = {"json": {"messages": says("hello")}, "trust_env": False}
        assert httpx.post(url, headers=headers, **asked).status_code == 200
        refused = httpx.post(url, **asked)
        assert (refused.status_code, refused.json()) == (403, {"message": "Missing Authentication Token"})
        log = json.dumps([call.row.headers for call in server.calls], default=repr)
        shown = httpx.get(f"{server.url}/__mockserver__/api/calls/1", trust_env=False).text
    assert "Signature=" in log
    assert "AKIAIOSFODNN7" not in shown
    assert "Signature=" not in shown


def test_streams_are_recorded_and_replayed(tmp_path: Path) -> None:
    stated: Json = {"cassette": "sea", "cassettes": str(tmp_path)}
    body = json.dumps(
        {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 99, "messages": [USER | {"content": "Hi"}]}
    )

    def answers(server: MockServer) -> list[Json]:
        client = connect(server.base_url("bedrock"))
        plain = client.converse(modelId=CLAUDE, messages=says("Hi"))["output"]
        streamed = [*client.converse_stream(modelId=PROFILE, messages=says("Hi"))["stream"]]
        chunks = [*client.invoke_model_with_response_stream(modelId=CLAUDE, body=body)["body"]]
        return [plain, streamed, chunks, client.invoke_model(modelId=CLAUDE, body=body)["body"].read()]

    with (
        MockServer(unmatched="generate") as real,
        MockServer(record="all", upstream={"bedrock": real.base_url("bedrock")}, **stated) as server,
    ):
        first = answers(server)
    text = (tmp_path / "sea.yaml").read_text()
    assert text.count("operation: chat") == 4
    assert 'event: contentBlockDelta, payload: {"contentBlockIndex": 0, "delta": {"text": ' in text
    assert 'event: chunk, payload: {"type": "message_start"' in text
    assert "base64" not in text
    assert not any(secret in text for secret in (KEYS["aws_access_key_id"], "Signature"))
    with MockServer(**stated) as server:
        assert answers(server) == first
