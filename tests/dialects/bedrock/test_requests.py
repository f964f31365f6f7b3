"""Bedrock's requests: what they mean, what is refused and in which words, and which format a model has."""

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest
from mockserver.core.validation import Validation
from mockserver.dialects import discover
from mockserver.dialects.bedrock.models import find_base_model, find_vendor
from mockserver.dialects.bedrock.request import parse_converse
from tests.dialects.bedrock.features import STREAM_URL, URL, request
from tests.kit.local import local

Json = Any
HI = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
CLAUDE = "anthropic.claude-sonnet-4-5-20250929-v1:0"


def parsed(body: Json, model: str = CLAUDE, validation: Validation = Validation.PUBLISHED) -> Call:
    path = URL.format(model=model)
    return parse_converse(
        HttpRequest("POST", path, body=json.dumps(body).encode(), path_params={"model": model}), validation
    )


def with_tools(*turns: Json) -> Json:
    tool = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
    return {"messages": [*HI["messages"], *turns], "toolConfig": {"tools": [tool]}}


def used(*ids: str) -> Json:
    return {
        "role": "assistant",
        "content": [{"toolUse": {"toolUseId": name, "name": "f", "input": {}}} for name in ids],
    }


def told(*ids: str, **more: Json) -> Json:
    results = [{"toolResult": {"toolUseId": name, "content": [{"text": "ok"}], **more}} for name in ids]
    return {"role": "user", "content": results}


SAME: dict[str, tuple[Json, Json]] = {
    "nothing": (HI, {**HI, "system": [], "inferenceConfig": {}, "additionalModelRequestFields": {}}),
    "null": (HI, {**HI, "toolConfig": None, "inferenceConfig": {"maxTokens": None}}),
    "bookkeeping": (
        HI,
        {**HI, "requestMetadata": {"a": "b"}, "serviceTier": {"type": "flex"}, "performanceConfig": {}},
    ),
    "caching": (
        HI,
        {"messages": [{"role": "user", "content": [{"text": "Hi"}, {"cachePoint": {"type": "default"}}]}]},
    ),
    "ids": (with_tools(used("a"), told("a")), with_tools(used("b"), told("b"))),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME.keys())
def test_what_cannot_change_the_answer(one: Json, other: Json) -> None:
    assert parsed(one).fingerprint == parsed(other).fingerprint


def test_what_can_change_it() -> None:
    different = [HI, {**HI, "inferenceConfig": {"maxTokens": 9}}, {**HI, "system": [{"text": "a"}]}, with_tools()]
    prints = {parsed(body).fingerprint for body in different} | {parsed(HI, "amazon.nova-pro-v1:0").fingerprint}
    assert len(prints) == 5


def test_a_conversation() -> None:
    body = with_tools(used("a", "b"), told("a", "b"))
    body["system"] = [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}]
    body["messages"][0]["content"] += [
        {"image": {"format": "png", "source": {"bytes": "AAAA"}}},
        {"document": {"name": "d", "format": "txt", "source": {"text": "Sea."}}},
    ]
    call = parsed(body)
    assert [message.role for message in call.messages] == ["system", "user", "assistant", "tool", "tool"]
    assert [part["type"] for part in call.messages[1].parts] == ["image_url", "file"]
    assert [(each.id, each.name) for each in call.messages[2].tool_calls] == [("a", "f"), ("b", "f")]
    assert (call.messages[3].tool_call_id, call.messages[3].text) == ("a", "ok")


CONVERSE = "A conversation must "
REFUSED: dict[str, tuple[Json, str]] = {
    "no messages": ({}, f"{CONVERSE}start with a user message."),
    "an empty list": ({"messages": []}, f"{CONVERSE}start with a user message."),
    "no content": (
        {"messages": [{"role": "user", "content": []}]},
        "The content field in the Message object at messages.0 is empty.",
    ),
    "a blank text": (
        {"messages": [{"role": "user", "content": [{"text": ""}]}]},
        "The text field in the ContentBlock object at messages.0.content.0 is blank.",
    ),
    "an empty block": (
        {"messages": [{"role": "user", "content": [{}]}]},
        "ContentBlock object at messages.0.content.0 must set one of the following keys: text, image,",
    ),
    "two members": (
        {"messages": [{"role": "user", "content": [{"text": "a", "cachePoint": {"type": "default"}}]}]},
        "ContentBlock object at messages.0.content.0 must set only one of the following keys:",
    ),
    "a missing field": (
        {"messages": [{"content": [{"text": "a"}]}]},
        "1 validation error detected: Value null at 'messages.1.member.role' failed to satisfy constraint: "
        "Member must not be null",
    ),
    "another role": (
        {"messages": [{"role": "tool", "content": []}]},
        "Value 'tool' at 'messages.1.member.role' failed to satisfy constraint: "
        "Member must satisfy enum value set: [user, assistant, system]",
    ),
    "a limit": (
        {**HI, "inferenceConfig": {"maxTokens": 0}},
        "Value '0' at 'inferenceConfig.maxTokens' failed to satisfy constraint: "
        "Member must have value greater than or equal to 1",
    ),
    "another type": ({**HI, "system": "Be brief."}, "STRING_VALUE can not be converted to a List"),
    "a document with a file name": (
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"text": "Hi"},
                        {"document": {"name": "a.pdf", "format": "pdf", "source": {"bytes": "QQ=="}}},
                    ],
                }
            ]
        },
        "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, "
        "and square brackets. The name can't contain more than one consecutive whitespace character.",
    ),
    "no tools": ({**HI, "toolConfig": {"tools": []}}, "Member must have length greater than or equal to 1"),
    "an input that is no object": (
        {**HI, "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": "{}"}}}]}},
        "The format of the value at toolConfig.tools.0.toolSpec.inputSchema.json is invalid. Provide a json object for "
        "the field and try again.",
    ),
    "an input without a type": (
        {**HI, "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"oneOf": []}}}}]}},
        "The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object.",
    ),
    "unanswered calls": (
        with_tools(used("a", "b"), told("a")),
        "Expected toolResult blocks at messages.2.content for the following Ids: b",
    ),
    "calls without a turn after them": (
        with_tools(used("a")),
        "Expected toolResult blocks at messages.2.content for the following Ids: a",
    ),
    "too many results": (
        with_tools(used("a"), told("a", "b")),
        "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn.",
    ),
    "tools that are not offered": (
        {"messages": with_tools(used("a"), told("a"))["messages"]},
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
    ),
    "an empty failure": (
        with_tools(used("a"), told("a", content=[], status="error")),
        "The content field at messages.2.content.0.toolResult cannot be empty when status value is error.",
    ),
}


@pytest.mark.parametrize(("body", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(body: Json, message: str) -> None:
    for url in (URL, STREAM_URL):
        answered = local().ask(url.format(model=CLAUDE), body)
        assert answered.status == 400
        assert message in answered.json["message"]


ACCEPTED: dict[str, Json] = {
    "an assistant who begins": {"messages": [{"role": "assistant", "content": [{"text": "a"}]}, *HI["messages"]]},
    "results beside text": with_tools(
        used("t1"), {"role": "user", "content": [*told("t1")["content"], {"text": "And now?"}]}
    ),
    "unknown fields": {**HI, "new": 1},
    "no sampling": {**HI, "inferenceConfig": {"temperature": 0, "topP": 1}},
    "two turns of one role": {"messages": HI["messages"] * 2},
    "a blank text beside others": {"messages": [{"role": "user", "content": [{"text": "\n"}, {"text": "Hi"}]}]},
    "the result of a tool of the provider beside its call": with_tools(
        {"role": "assistant", "content": [*used("s")["content"], *told("s")["content"], *used("a")["content"]]},
        told("a"),
    ),
    "a document": {
        "messages": [
            {
                "role": "user",
                "content": [
                    {"text": "Hi"},
                    {"document": {"name": "my_file (1)", "format": "pdf", "source": {"bytes": "QQ=="}}},
                ],
            }
        ]
    },
}


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_what_is_accepted(body: Json) -> None:
    assert local().ask(URL.format(model=CLAUDE), body).status == 200


def test_turns_of_one_role_get_a_remark() -> None:
    twice = {"messages": HI["messages"] * 2}
    (remark,) = local().ask(URL.format(model=CLAUDE), twice).remarks
    assert 'messages.1: the live provider refuses this history with 400 "A conversation must alternate' in remark
    for settings in ({"replay": "error"}, {"validation": "live"}):
        refused = local("", **settings).ask(URL.format(model=CLAUDE), twice)
        assert refused.json["message"].startswith("A conversation must alternate between user and assistant roles.")


def test_models_of_amazon_take_turns_of_one_role() -> None:
    twice = {"messages": HI["messages"] * 2}
    answered = local(validation="live").ask(URL.format(model=NOVA), twice)
    assert (answered.status, answered.remarks) == (200, ())


def test_claude_refuses_blanks_alone() -> None:
    blank = {"messages": [{"role": "user", "content": [{"text": " "}]}]}
    assert local().ask(URL.format(model=CLAUDE), blank).status == 200
    refused = local(validation="live").ask(URL.format(model=CLAUDE), blank)
    assert refused.json["message"] == f"{MODELS}messages: text content blocks must contain non-whitespace text"


def thinking(tokens: int, **more: Json) -> Json:
    return {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": tokens}, **more}}


SPOKEN, NOVA, LLAMA = {"text": "a"}, "us.amazon.nova-2-lite-v1:0", "us.meta.llama3-3-70b-instruct-v1:0"
MODELS = "The model returned the following errors: "
# What models refuse: the model, the request, and the message.
BY_MODEL: dict[str, tuple[str, Json, str]] = {
    "a prefill": (
        "us.anthropic.claude-opus-4-6-v1",
        {"messages": [*HI["messages"], {"role": "assistant", "content": [SPOKEN]}]},
        f"{MODELS}This model does not support assistant message prefill. "
        "The conversation must end with a user message.",
    ),
    "sampling": (
        "us.anthropic.claude-opus-4-7",
        {**HI, "inferenceConfig": {"temperature": 0.5}},
        f"{MODELS}`temperature` is deprecated for this model.",
    ),
    "two kinds of sampling": (
        CLAUDE,
        {**HI, "inferenceConfig": {"temperature": 0.5, "topP": 0.9}},
        f"{MODELS}`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
    ),
    "a field that Claude does not know": (
        CLAUDE,
        {**HI, "additionalModelRequestFields": {"reasoningConfig": {}}},
        f"{MODELS}reasoningConfig: Extra inputs are not permitted",
    ),
    "thinking and a forced tool": (
        CLAUDE,
        {
            **HI,
            **thinking(1024),
            "toolConfig": {**with_tools()["toolConfig"], "toolChoice": {"any": {}}},
        },
        f"{MODELS}Thinking may not be enabled when tool_choice forces tool use.",
    ),
    "thinking without its signature": (
        CLAUDE,
        {
            "messages": [
                *HI["messages"],
                {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "Hm"}}}, SPOKEN]},
                *HI["messages"],
            ]
        },
        f"{MODELS}messages.1.content.0.thinking.signature: Field required",
    ),
    "an open schema": (
        CLAUDE,
        {
            **HI,
            "outputConfig": {
                "textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": '{"type": "object"}'}}}
            },
        },
        f"{MODELS}output_config.format.schema: For 'object' type, "
        "'additionalProperties' must be explicitly set to false",
    ),
    "a long time to cache": (
        NOVA,
        {"messages": [{"role": "user", "content": [SPOKEN, {"cachePoint": {"type": "default", "ttl": "1h"}}]}]},
        "Extended TTL prompt caching is only supported for Anthropic models",
    ),
    "sampling of another vendor": (
        "global.moonshot.kimi-k2-thinking",
        {**HI, "inferenceConfig": {"temperature": 0.5}},
        "This model doesn't support the temperature field. Remove temperature and try again.",
    ),
    "a signature of another vendor": (
        NOVA,
        {
            "messages": [
                *HI["messages"],
                {
                    "role": "assistant",
                    "content": [{"reasoningContent": {"reasoningText": {"text": "Hm", "signature": "x"}}}, SPOKEN],
                },
                *HI["messages"],
            ]
        },
        "This model doesn't support the reasoningContent.reasoningText.signature field. "
        "Remove reasoningContent.reasoningText.signature and try again.",
    ),
    "tools": ("us.deepseek.r1-v1:0", with_tools(), "This model doesn't support tool use."),
    "a text beside a call": (
        LLAMA,
        with_tools({"role": "assistant", "content": [SPOKEN, *used("a")["content"]]}, told("a")),
        "messages.1.content: Conversation blocks and tool use blocks cannot be provided in the same turn.",
    ),
    "a text beside a result": (
        "mistral.mistral-large-2402-v1:0",
        with_tools(used("a"), {"role": "user", "content": [*told("a")["content"], SPOKEN]}),
        "messages.2.content: Conversation blocks and tool result blocks cannot be provided in the same turn.",
    ),
}


@pytest.mark.parametrize(("model", "body", "message"), BY_MODEL.values(), ids=BY_MODEL.keys())
def test_what_only_the_live_models_refuse(model: str, body: Json, message: str) -> None:
    assert local().ask(URL.format(model=model), body).status == 200
    answered = local(validation="live").ask(URL.format(model=model), body)
    assert (answered.status, answered.json) == (400, {"message": message})


def test_some_models_use_no_tools_in_streams() -> None:
    server = local(validation="live")
    assert server.ask(URL.format(model=LLAMA), with_tools()).status == 200
    refused = server.ask(STREAM_URL.format(model=LLAMA), with_tools())
    assert refused.json == {"message": "This model doesn't support tool use in streaming mode."}


LIVE: dict[str, tuple[str, Json]] = {
    "Claude": (
        CLAUDE,
        {
            **with_tools(used("functions.f:0"), told("functions.f:0", content=[{"text": " "}])),
            **thinking(2000, top_p=0.95, anthropic_beta=["interleaved-thinking-2025-05-14"]),
            "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
            "inferenceConfig": {"maxTokens": 1000, "stopSequences": ["END"]},
        },
    ),
    "the first name of thinking": (
        "us.anthropic.claude-3-7-sonnet-20250219-v1:0",
        {**HI, "additionalModelRequestFields": {"reasoning_config": {"type": "enabled", "budget_tokens": 2000}}},
    ),
    "a field of a beta that nobody knows": (
        CLAUDE,
        {**HI, "additionalModelRequestFields": {"new": 1, "anthropic_beta": ["new-2030-01-01"]}},
    ),
    "a profile": (
        "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc",
        {**HI, "additionalModelRequestFields": {"new": 1}},
    ),
    "a text beside a result": (
        NOVA,
        with_tools(used("a"), {"role": "user", "content": [*told("a")["content"], SPOKEN]}),
    ),
    "caching": (NOVA, {"messages": [{"role": "user", "content": [SPOKEN, {"cachePoint": {"type": "default"}}]}]}),
}


@pytest.mark.parametrize(("model", "body"), LIVE.values(), ids=LIVE.keys())
def test_what_the_live_models_accept(model: str, body: Json) -> None:
    answered = local(validation="live", replay="off").ask(URL.format(model=model), body)
    assert answered.status == 200, answered.json


UNCHECKED: dict[str, Json] = {
    "chats": {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]},
    "a text": {"messages": "Hi"},
    "wrong values": {**HI, "inferenceConfig": {"maxTokens": "many"}, "toolConfig": 3},
    "unions": {"messages": [{"role": "user", "content": [{}, {"text": "Hi", "image": {}}]}]},
}


@pytest.mark.parametrize("body", UNCHECKED.values(), ids=UNCHECKED.keys())
def test_nothing_is_checked(body: Json) -> None:
    answered = local("", validation="off").ask(URL.format(model=CLAUDE), body)
    assert answered.status == 200
    assert answered.json["output"]["message"]["content"][0]["text"]


MESSAGES = {
    "anthropic_version": "bedrock-2023-05-31",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hi"}],
}
BODIES: dict[str, tuple[str, Json, str]] = {
    "Claude": (CLAUDE, MESSAGES, "type"),
    "Claude in a profile": (
        "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc",
        MESSAGES,
        "type",
    ),
    "Claude's prompts": (
        "anthropic.claude-v2",
        {"anthropic_version": "bedrock-2023-05-31", "max_tokens_to_sample": 9, "prompt": "\n\nHuman: Hi\n\nAssistant:"},
        "completion",
    ),
    "Claude's prompts without a version": (
        "anthropic.claude-instant-v1",
        {"max_tokens_to_sample": 9, "prompt": "\n\nHuman: Hi\n\nAssistant:"},
        "completion",
    ),
    "Titan in a profile": (
        "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc",
        {"inputText": "Hi", "textGenerationConfig": {}},
        "results",
    ),
    "Nova": ("us.amazon.nova-lite-v1:0", {"schemaVersion": "messages-v1", **HI}, "output"),
    "Titan": ("amazon.titan-text-express-v1", {"inputText": "Hi"}, "results"),
    "Llama": ("us.meta.llama3-3-70b-instruct-v1:0", {"prompt": "Hi"}, "generation"),
    "Mistral": ("mistral.mistral-7b-instruct-v0:2", {"prompt": "Hi"}, "outputs"),
    "DeepSeek": ("us.deepseek.r1-v1:0", {"prompt": "Hi"}, "choices"),
    "Command": ("cohere.command-text-v14", {"prompt": "Hi"}, "generations"),
    "Command R": ("cohere.command-r-v1:0", {"message": "Hi", "chat_history": []}, "response_id"),
    "chats": ("openai.gpt-oss-120b-1:0", {"messages": [{"role": "user", "content": "Hi"}]}, "choices"),
}  # fmt: skip


@pytest.mark.parametrize(("model", "body", "key"), BODIES.values(), ids=BODIES.keys())
def test_each_family_has_its_format(model: str, body: Json, key: str) -> None:
    server = local("rules: [{when: {last_user: Hi}, then: {text: One two three.}}]", unmatched="error")
    plain = server.ask(f"/bedrock/model/{model}/invoke", body)
    assert plain.status == 200, plain.body
    assert key in plain.json
    assert "One two three." in plain.body.decode()
    assert plain.headers["x-amzn-bedrock-output-token-count"] == "4"
    streamed = server.ask(f"/bedrock/model/{model}/invoke-with-response-stream", body)
    assert streamed.headers["x-amzn-bedrock-content-type"] == "application/json"
    assert streamed.body.count(b"chunk") > 3
    counted = {"input": {"invokeModel": {"body": b64encode(json.dumps(body).encode()).decode()}}}
    assert server.ask(f"/bedrock/model/{model}/count-tokens", counted).json["inputTokens"] > 0


MALFORMED: dict[str, tuple[str, Json, str]] = {
    "no prompt": ("meta.llama3-70b-instruct-v1:0", {}, "#: required key [prompt] not found"),
    "another type": ("meta.llama3-70b-instruct-v1:0", {"prompt": 1}, "#/prompt: expected type: String, found: Integer"),
    "no texts": (
        "cohere.embed-english-v3",
        {"texts": [], "input_type": "search_query"},
        "#/texts: expected minimum item count: 1, found: 0",
    ),
    "no input type": ("cohere.embed-english-v3", {"texts": ["a"]}, "#: required key [input_type] not found"),
    "nothing known": ("acme.model", {}, "#: required key [messages] not found"),
}


@pytest.mark.parametrize(("model", "body", "why"), MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_bodies(model: str, body: Json, why: str) -> None:
    answered = local().ask(f"/bedrock/model/{model}/invoke", body)
    expected = f"Malformed input request: {why}, please reformat your input and try again."
    assert (answered.status, answered.json) == (400, {"message": expected})


def test_claude_refuses_in_anthropics_words() -> None:
    url = f"/bedrock/model/{CLAUDE}/invoke"
    asked = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}
    assert local().ask(url, asked).json == {"message": "anthropic_version: Field required"}
    versioned = {**asked, "anthropic_version": "bedrock-2023-05-31"}
    streamed = local().ask(url, {**versioned, "stream": True})
    assert streamed.json == {"message": "stream: Extra inputs are not permitted"}
    odd = local().ask(url, {**versioned, "messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]})
    assert odd.json == {"message": "messages: text content blocks must be non-empty"}
    assert local().ask(url, b"{").headers["x-amzn-errortype"].startswith("SerializationException:")


@pytest.mark.parametrize(
    ("name", "base", "vendor"),
    [
        ("us.anthropic.claude-opus-4-6-v1", "anthropic.claude-opus-4-6", "anthropic"),
        ("anthropic.claude-v2", "anthropic.claude-v2", "anthropic"),
        ("arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0",
         "anthropic.claude-3-haiku-20240307", "anthropic"),
        ("global.amazon.nova-2-lite-v1:0", "amazon.nova-2-lite", "amazon"),
        ("openai.gpt-oss-120b-1:0", "openai.gpt-oss-120b-1", "openai"),
        ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc", "abc", ""),
    ],
)  # fmt: skip
def test_ids_of_models(name: str, base: str, vendor: str) -> None:
    assert (find_base_model(name), find_vendor(name)) == (base, vendor)


@pytest.mark.parametrize("listed", ["us.anthropic.claude-opus-4-8", "anthropic.claude-opus-*", "claude-opus-4-8"])
def test_models_are_listed_by_their_ids_in_each_form(listed: str) -> None:
    server = local("", models=[listed])
    for name in ("us.anthropic.claude-opus-4-8", "arn:aws:bedrock:a:1:inference-profile/us.anthropic.claude-opus-4-8"):
        if listed.startswith("us.") and name.startswith("arn:"):
            continue
        assert server.ask(URL.format(model=name), HI).status == 200
    assert server.ask(URL.format(model="amazon.nova-pro-v1:0"), HI).status == 400


def test_credentials() -> None:
    find = discover()["bedrock"].read_credential
    signed = (
        b"AWS4-HMAC-SHA256 Credential=AKIA1/20261128/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=a"
    )

    def of(header: bytes) -> str | None:
        return find(HttpRequest("POST", "/", headers=((b"authorization", header),)))

    assert [of(signed), of(b"Bearer k"), of(b"Basic x"), of(b"")] == ["AKIA1", "k", None, None]


def test_calls_with_a_prompt_of_the_service_need_no_messages() -> None:
    arn = "arn:aws:bedrock:us-east-1:123456789012:prompt/ABCDEFGHIJ:1"
    assert local().ask(URL.format(model=arn), {"promptVariables": {"city": {"text": "Oslo"}}}).status == 200


def test_thinking_and_schemas_are_asked_for() -> None:
    more = {"additionalModelRequestFields": {"thinking": {"type": "enabled"}}}
    assert parsed({**HI, **more}).options.effort == "medium"
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    form = {"type": "json_schema", "structure": {"jsonSchema": {"schema": json.dumps(schema)}}}
    answered = local().ask(URL.format(model=CLAUDE), {**HI, "outputConfig": {"textFormat": form}})
    assert list(json.loads(answered.json["output"]["message"]["content"][0]["text"])) == ["a"]
    assert request("text")["messages"]


WHOLE: Json = {
    **with_tools(used("a"), told("a", status="success")),
    "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
    "inferenceConfig": {"maxTokens": 9, "temperature": 0.5, "stopSequences": ["x"]},
    "additionalModelRequestFields": {"thinking": {"type": "enabled"}, "output_config": {"format": {"schema": {}}}},
    "guardrailConfig": {"guardrailIdentifier": "g", "trace": "enabled"},
    "additionalModelResponseFieldPaths": ["/delta/stop_sequence"],
}
ODD: list[Json] = [None, True, -1, 1e300, "", "\ud800", [], {}, [None], [{}], {"text": None}, {"toolUseId": "t"}]


def _places(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        yield from _places(inner, (*path, key))


def _put(value: Json, path: tuple[Any, ...], odd: Json) -> Json:
    if not path:
        return odd
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _put(value[path[0]], path[1:], odd)
    return copy


@pytest.mark.parametrize("validation", ["published", "off"])
def test_no_value_breaks_the_server(validation: str) -> None:
    server = local(validation=validation)
    for body, path in ((WHOLE, URL), ({"input": {"converse": WHOLE}}, "/bedrock/model/{model}/count-tokens")):
        for place in _places(body):
            for odd in ODD:
                answered = server.ask(path.format(model=CLAUDE), _put(body, place, odd))
                assert answered.status in (200, 400), (place, odd, answered.body)
                assert answered.status == 200 or answered.json["message"]
