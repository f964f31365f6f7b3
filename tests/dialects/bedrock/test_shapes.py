"""Every answer and event of Bedrock has the shape that the service's own model describes, and nothing else."""

import json
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator
from pydantic_core import from_json

from mockserver.core.event_stream import read_message, split_messages
from mockserver.core.frames import write_event
from mockserver.core.http import HttpRequest
from mockserver.core.plan import REASONS, Failure
from mockserver.dialects import discover
from mockserver.dialects.bedrock.errors import make_exception
from tests.dialects.bedrock.features import STREAM_URL, URL, names, request
from tests.dialects.features import rules
from tests.kit.local import Answered, local

Json = Any
MODEL = botocore.session.get_session().get_service_model("bedrock-runtime")
CONTROL = botocore.session.get_session().get_service_model("bedrock")
AGENTS = botocore.session.get_session().get_service_model("bedrock-agent-runtime")
SERVER = local(rules())


def check(value: Json, shape: Any) -> None:
    report = ParamValidator().validate(value, shape)
    assert not report.has_errors(), report.generate_report()


def events(answered: Answered) -> list[tuple[str, Json]]:
    """The name and the payload of each message."""
    found = [read_message(data) for data in split_messages(answered.body)]
    assert None not in found
    return [(message.name, json.loads(message.payload)) for message in found if message is not None]


def is_sorted(value: Json, *, within: bool = False) -> bool:
    """Whether the keys of all objects are sorted, but for the input of tools."""
    if isinstance(value, list):
        return all(map(is_sorted, value))
    if not isinstance(value, dict):
        return True
    inner = (is_sorted(each) for key, each in value.items() if key != "input")
    return list(value) == sorted(value) and all(inner)


@pytest.mark.parametrize("name", names())
def test_answers_have_the_shape_of_the_service(name: str) -> None:
    plain = SERVER.ask(URL.format(model=name), request(name))
    assert plain.status == 200, plain.body
    check(plain.json, MODEL.shape_for("ConverseResponse"))
    assert is_sorted(plain.json)
    streamed = events(SERVER.ask(STREAM_URL.format(model=name), request(name)))
    members = MODEL.shape_for("ConverseStreamOutput").members
    for event, payload in streamed:
        check(payload, members[event])
        assert is_sorted(payload)
    assert streamed[0] == ("messageStart", {"role": "assistant"})
    assert [event for event, _ in streamed[-2:]] == ["messageStop", "metadata"]
    said = plain.json
    assert streamed[-2][1]["stopReason"] == said["stopReason"]
    assert streamed[-1][1]["usage"] == said["usage"]
    assert join(streamed) == said["output"]["message"]["content"]


def join(streamed: list[tuple[str, Json]]) -> list[Json]:
    """The blocks of a stream; each must be stopped."""
    blocks: dict[int, Json] = {}
    stopped: list[int] = []
    for event, payload in streamed:
        at = payload.get("contentBlockIndex")
        match event:
            case "contentBlockStart":
                blocks[at] = {"toolUse": {"input": "", **payload["start"]["toolUse"]}}
            case "contentBlockStop":
                stopped.append(at)
                blocks.setdefault(at, {})
            case "contentBlockDelta":
                _add(blocks.setdefault(at, {}), payload["delta"])
    assert stopped == list(range(len(blocks)))
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = from_json(block["toolUse"]["input"] or "{}", allow_partial=True)  # of a limit
    return [blocks[at] for at in sorted(blocks)]


def _add(block: Json, delta: Json) -> None:
    match delta:
        case {"text": text} if "citationsContent" in block:
            block["citationsContent"]["content"][0]["text"] += text
        case {"text": text}:
            block["text"] = block.get("text", "") + text
        case {"toolUse": {"input": text}}:
            block["toolUse"]["input"] += text
        case {"citation": citation}:
            text = block.pop("text", "")
            cited = block.setdefault("citationsContent", {"citations": [], "content": [{"text": text}]})
            cited["citations"].append(citation)
        case {"reasoningContent": more}:
            thought = block.setdefault("reasoningContent", {"reasoningText": {"text": ""}})["reasoningText"]
            thought["text"] += more.get("text", "")
            thought |= {key: value for key, value in more.items() if key != "text"}


@pytest.mark.parametrize(
    ("model", "kind"), [("anthropic.claude-sonnet-4-6", "tool_use"), ("us.amazon.nova-lite-v1:0", None)]
)
def test_claude_says_that_a_call_is_for_the_client(model: str, kind: str | None) -> None:
    server = local(json.dumps({"rules": [{"then": {"tool_calls": [{"name": "f"}]}}]}))
    (block,) = server.ask(URL.format(model=model), request("text")).json["output"]["message"]["content"]
    assert block["toolUse"].get("type") == kind


ERRORS = {
    "invalid_key": (403, "UnrecognizedClientException"),
    "model_not_found": (400, "ValidationException"),
    "context_length": (400, "ValidationException"),
    "rate_limit": (429, "ThrottlingException"),
    "quota": (400, "ServiceQuotaExceededException"),
    "unprocessable": (400, "ValidationException"),
    "overloaded": (503, "ServiceUnavailableException"),
    "timeout": (408, "ModelTimeoutException"),
    "server_error": (500, "InternalServerException"),
    "forbidden": (403, "AccessDeniedException"),
    "bad_gateway": (502, None),
}


@pytest.mark.parametrize(("short", "expected"), ERRORS.items(), ids=ERRORS.keys())
def test_errors_have_a_type_in_a_header(short: str, expected: tuple[int, str | None]) -> None:
    server = local(json.dumps({"rules": [{"then": {"error": short}}]}))
    for url in (URL, STREAM_URL):
        answered = server.ask(url.format(model="x"), request("text"))
        stated = answered.headers.get("x-amzn-errortype")
        assert (answered.status, stated and stated.partition(":")[0]) == expected
        assert list(answered.json) == ["message"]


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_is_an_exception_of_a_stream(reason: str) -> None:
    http = HttpRequest("POST", STREAM_URL.format(model="x"))
    frame = make_exception(discover()["bedrock"].fail(http, Failure(reason), None), b"")
    message = read_message(write_event(frame))
    assert message is not None
    if message.kind == "exception":
        assert (
            message.name in MODEL.shape_for("ConverseStreamOutput").members or message.name == "modelTimeoutException"
        )
        assert json.loads(message.payload)["message"]
    else:
        assert message.kind == "error"
        assert dict(message.headers)[":error-message"]


OTHERS: dict[str, tuple[str, str, Json, str]] = {
    "count": (
        "POST",
        "/bedrock/model/anthropic.claude-opus-4-8/count-tokens",
        {"input": {"converse": {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}}},
        "CountTokensResponse",
    ),
    "guardrail": (
        "POST",
        "/bedrock/guardrail/gr1/version/1/apply",
        {"source": "INPUT", "content": [{"text": {"text": "Hi"}}]},
        "ApplyGuardrailResponse",
    ),
    "rerank": (
        "POST",
        "/bedrock/rerank",
        {
            "queries": [{"type": "TEXT", "textQuery": {"text": "sea"}}],
            "sources": [
                {"type": "INLINE", "inlineDocumentSource": {"type": "TEXT", "textDocument": {"text": each}}}
                for each in ("land", "the sea")
            ],
            "rerankingConfiguration": {
                "type": "BEDROCK_RERANKING_MODEL",
                "bedrockRerankingConfiguration": {"numberOfResults": 2, "modelConfiguration": {"modelArn": "x"}},
            },
        },
        "RerankResponse",
    ),
    "models": ("GET", "/bedrock/foundation-models", None, "ListFoundationModelsResponse"),
    "model": ("GET", "/bedrock/foundation-models/amazon.nova-pro-v1:0", None, "GetFoundationModelResponse"),
    "profiles": ("GET", "/bedrock/inference-profiles", None, "ListInferenceProfilesResponse"),
    "profile": (
        "GET",
        "/bedrock/inference-profiles/arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc",
        None,
        "GetInferenceProfileResponse",
    ),
}


@pytest.mark.parametrize(("method", "path", "body", "shape"), OTHERS.values(), ids=OTHERS.keys())
def test_other_answers_have_the_shape_of_the_service(method: str, path: str, body: Json, shape: str) -> None:
    answered = SERVER.ask(path, body, method=method)
    assert answered.status == 200
    found = next(each for each in (MODEL, CONTROL, AGENTS) if shape in each.shape_names)
    check(answered.json, found.shape_for(shape))


def test_a_guardrail_finds_what_a_rule_says() -> None:
    server = local("rules: [{then: {moderation: [violence, harassment]}}]")
    answered = server.ask("/bedrock/guardrail/gr1/version/1/apply", OTHERS["guardrail"][2]).json
    check(answered, MODEL.shape_for("ApplyGuardrailResponse"))
    assert answered["action"] == "GUARDRAIL_INTERVENED"
    (assessment,) = answered["assessments"]
    assert [each["type"] for each in assessment["contentPolicy"]["filters"]] == ["INSULTS", "VIOLENCE"]


def test_documents_are_ranked() -> None:
    server = local("rules: [{when: {last_user: sea}, then: {rerank: [0.1, 0.9]}}]", unmatched="error")
    _, path, body, _ = OTHERS["rerank"]
    assert server.ask(path, body).json["results"][0] == {"index": 1, "relevanceScore": 0.9}
    invoked = server.ask(
        "/bedrock/model/cohere.rerank-v3-5:0/invoke",
        {"query": "sea", "documents": ["land", {"text": "the sea"}], "api_version": 2, "top_n": 1},
    )
    assert invoked.json == {"results": [{"index": 1, "relevance_score": 0.9}]}


@pytest.mark.parametrize("on", ["prompt", "completion"])
@pytest.mark.parametrize("named", [True, False], ids=["with a guardrail", "without"])
def test_filters_trip(on: str, named: bool) -> None:
    then = {"text": "One two three.", "content_filter": {"on": on, "category": "hate"}}
    if on == "prompt":
        then.pop("text")
    server = local(json.dumps({"rules": [{"then": then}]}))
    config = {"guardrailConfig": {"guardrailIdentifier": "gr1", "guardrailVersion": "1", "trace": "enabled"}}
    asked = {**request("text"), **(config if named else {})}
    plain = server.ask(URL.format(model="x"), asked).json
    check(plain, MODEL.shape_for("ConverseResponse"))
    streamed = events(server.ask(STREAM_URL.format(model="x"), asked))
    assert join(streamed) == plain["output"]["message"]["content"]
    assert plain["stopReason"] == ("guardrail_intervened" if named else "content_filtered")
    assert ("trace" in plain, "trace" in streamed[-1][1]) == (named, named)
