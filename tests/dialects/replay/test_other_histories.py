"""Histories of which the server issued nothing, as live providers and their clients have them: none gets a remark."""

import json
from time import process_time
from typing import Any

import pytest

from mockserver.wire.responses import OutputItemId
from mockserver.wire.thinking import sign
from tests.kit.local import local

Json = Any
MESSAGES, CHAT, RESPONSES = "/anthropic/v1/messages", "/v1/chat/completions", "/v1/responses"
SIGNED = "EqQBCgIYAhIMV1Vf9J8y0aWZ0uKxGgxq3m8cP5yq3fJqvEkiMDpQ1r0bS2yq0mV0cWb7m3e9p2nQk5aVd8u1hYx4z6tGfLw=="
SEALED = "gAAAAABpQ5xT3qk9h6mWv1Zr8Yc2bN4dF6gH8jK0lM2nP4qR6sT8uV0wX2yZ4aB6cD8eF0gH2iJ4kL6mN8oP0qR2sT4uV6w="
THOUGHT = {"type": "thinking", "thinking": "The user asks for the weather.", "signature": SIGNED}
HIDDEN = {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpP"}
USED = {"type": "tool_use", "id": "toolu_01A09q90qw90lq917835lq9", "name": "look", "input": {"city": "Oslo"}}
GIVEN = {"type": "tool_result", "tool_use_id": "toolu_01A09q90qw90lq917835lq9", "content": "Clear."}
TEXT = {"type": "text", "text": "Let me look."}


def turn(*content: Json) -> Json:
    return {"role": "assistant", "content": list(content)}


def user(*content: Json) -> Json:
    return {"role": "user", "content": list(content) if not isinstance(content[0], str) else content[0]}


def anthropic(*messages: Json, model: str = "claude-opus-4-8", **more: Json) -> tuple[str, Json]:
    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    given = {"model": model, "max_tokens": 2000, "tools": tools, "thinking": {"type": "adaptive"}}
    return MESSAGES, {**given, "messages": list(messages), **more}


def model(*parts: Json) -> Json:
    return {"role": "model", "parts": list(parts)}


def asked(*parts: Json) -> Json:
    return {"role": "user", "parts": list(parts)}


def call(city: str, signature: str | None = None, **more: Json) -> Json:
    signed = {} if signature is None else {"thoughtSignature": signature}
    return {"functionCall": {"name": "look", "args": {"city": city}, **more}, **signed}


def result(**more: Json) -> Json:
    return {"functionResponse": {"name": "look", "response": {"result": "Clear."}, **more}}


def gemini(*contents: Json, model: str = "gemini-3-pro-preview", front: str = "v1beta") -> tuple[str, Json]:
    return f"/gemini/{front}/models/{model}:generateContent", {"contents": list(contents)}


def responses(*items: Json, model: str = "gpt-5", **more: Json) -> tuple[str, Json]:
    return RESPONSES, {"model": model, "input": list(items), **more}


def chat(*messages: Json, **more: Json) -> tuple[str, Json]:
    return CHAT, {"model": "gpt-4o", "messages": list(messages), **more}


def called(*names: str) -> Json:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"type": "function", "id": each, "function": {"name": "f", "arguments": "{}"}} for each in names
        ],
    }


SIGNATURE = "CpcHAdHtim9ZxB7kYwq3Jr0vQ2sT4uW6yA8cE0gI2kM4oQ6sU8wY0aC2eG4iK6mO8qS0uW2yA4cE6gI8kM0oQ2sU4wY="
RS = {
    "id": "rs_0a18166210d72b5e0069fd938e69a08193a992a58d690a224b",
    "type": "reasoning",
    "summary": [],
    "encrypted_content": SEALED,
}
FC = {
    "id": "fc_0a18166210d72b5e0069fd9390c1b48193b1a1a8d7c9e0f123",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_VIp4nU7C4zGmRBMXVl5tJZLN",
    "name": "look",
    "arguments": '{"city":"Oslo"}',
}
OUT = {"type": "function_call_output", "call_id": "call_VIp4nU7C4zGmRBMXVl5tJZLN", "output": "Clear."}
MSG = {
    "id": "msg_0a18166210d72b5e0069fd939a41f88193bcd0a1e2f3041526",
    "type": "message",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Clear.", "annotations": [], "logprobs": []}],
}
HI = {"role": "user", "content": "Hi"}
ASK = {"text": "The weather in Oslo?"}

TRUE = {
    "anthropic: a call": anthropic(user("Hi"), turn(THOUGHT, TEXT, USED), user(GIVEN)),
    "anthropic: hidden and shown thoughts": anthropic(user("Hi"), turn(HIDDEN, THOUGHT, USED), user(GIVEN)),
    "anthropic: between calls": anthropic(
        user("Hi"), turn(THOUGHT, USED), user(GIVEN), turn({**THOUGHT, "thinking": ""}, TEXT), user("More?"),
        model="claude-sonnet-4-5",
        thinking={"type": "enabled", "budget_tokens": 1024},
    ),
    "anthropic: the same thought twice": anthropic(user("Hi"), turn(THOUGHT, THOUGHT, TEXT), user("More?")),
    "anthropic: earlier thoughts left out": anthropic(
        user("Hi"), turn(USED), user(GIVEN), turn(TEXT), user("More?"), turn(THOUGHT, TEXT), user("And?")
    ),
    "anthropic: bound thoughts": anthropic(
        user("Hi"), turn(THOUGHT, USED), user(GIVEN), model="claude-fable-5-2", system="Be kind."
    ),
    "anthropic: a signature without padding": anthropic(
        user("Hi"), turn({**THOUGHT, "signature": SIGNED.rstrip("=")}, TEXT), user("More?")
    ),
    "anthropic: tools that the provider runs": anthropic(
        user("Hi"),
        turn(
            THOUGHT,
            {"type": "server_tool_use", "id": "srvtoolu_01", "name": "web_search", "input": {"query": "Oslo"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_01", "content": []},
            TEXT,
        ),
        user("More?"),
    ),
    "gemini: a call": gemini(asked(ASK), model(call("Oslo", SIGNATURE)), asked(result())),
    "gemini: two calls, of which the first is signed": gemini(
        asked(ASK), model(call("Oslo", SIGNATURE, id="a1b2c3d4"), call("Rome", id="b2")), asked(result(), result())
    ),
    "gemini: calls of two steps": gemini(
        asked(ASK), model(call("Oslo", SIGNATURE)), asked(result()), model(call("Rome", SIGNATURE)), asked(result())
    ),
    "gemini: thoughts and texts around": gemini(
        asked(ASK),
        model({"text": "Hm.", "thought": True}, {"text": "I look."}, call("Oslo", SIGNATURE)),
        asked(result()),
        model({"text": "Clear."}, {"text": "", "thoughtSignature": SIGNATURE}),
        asked({"text": "Thanks."}),
    ),
    "gemini: calls of earlier turns unsigned": gemini(
        asked(ASK), model(call("Oslo")), asked(result()), model({"text": "Clear."}), asked({"text": "Thanks."})
    ),
    "gemini: asked by a picture": gemini(
        asked(ASK), model(call("Oslo")), asked(result()), model({"text": "Clear."}),
        asked({"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}),
    ),
    "gemini: the value that passes": gemini(
        asked(ASK), model(call("Oslo", "skip_thought_signature_validator")), asked(result())
    ),
    "gemini: the value that passes, as bytes": gemini(
        asked(ASK), model(call("Oslo", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")), asked(result())
    ),
    "gemini: in the alphabet of URLs, under its other name": gemini(
        asked(ASK),
        model({"function_call": {"name": "look", "args": {}}, "thought_signature": "_9j-" * 12}),
        asked(result()),
    ),
    "gemini: 2.5 signs, and needs no signature": gemini(
        asked(ASK), model(call("Oslo")), asked(result()), model="gemini-2.5-flash"
    ),
    "gemini: Vertex": gemini(
        asked(ASK),
        model(call("Oslo", SIGNATURE)),
        asked(result()),
        front="v1/projects/p/locations/global/publishers/google",
    ),
    "responses: reasoning, call, message": responses(HI, RS, FC, OUT, MSG, HI),
    "responses: nothing is stored": responses(HI, RS, FC, OUT, store=False, include=["reasoning.encrypted_content"]),
    "responses: no ids, as Codex sends it": responses(
        *({key: value for key, value in item.items() if key != "id"} for item in (HI, RS, FC, OUT, RS, MSG, HI)),
        store=False,
    ),
    "responses: two thoughts in a row": responses(HI, RS, {**RS, "id": "rs_2"}, MSG, HI),
    "responses: stored thoughts without content": responses(HI, {**RS, "encrypted_content": None}, FC, OUT),
    "responses: a call of a stored thought": responses(HI, FC, OUT),
    "responses: references": responses(
        HI, {"type": "item_reference", "id": RS["id"]}, {"type": "item_reference", "id": FC["id"]}, OUT
    ),
    "responses: a bare reference": responses(HI, {"id": FC["id"]}, OUT),
    "responses: what OpenAI keeps": responses(OUT, previous_response_id="resp_68af4030592c81938ec0a5fbab4a3e9f"),
    "responses: after a compaction": responses(
        {"id": "cmp_1", "type": "compaction", "encrypted_content": SEALED}, OUT, HI
    ),
    "responses: a search": responses(
        HI, RS, {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
        {**RS, "id": "rs_2"}, MSG, HI,
    ),
    "responses: items of no kind that is known": responses(HI, {"type": "novelty", "id": "n", "call_id": "x"}, MSG, HI),
    "responses: texts of an assistant": responses(HI, {"role": "assistant", "content": "Hello!"}, HI),
    "chat: two calls, answered in another order": chat(
        HI,
        called("call_abc123", "call_Zt5uHJ0y0aQk2n1uWq3xRb7L"),
        {"role": "tool", "tool_call_id": "call_Zt5uHJ0y0aQk2n1uWq3xRb7L", "content": "a"},
        {"role": "tool", "tool_call_id": "call_abc123", "content": "b"},
        {"role": "assistant", "content": "Clear."},
        HI,
    ),
    "chat: the same id in two turns": chat(
        HI, called("call_1"), {"role": "tool", "tool_call_id": "call_1", "content": "a"},
        called("call_1"), {"role": "tool", "tool_call_id": "call_1", "content": "b"},
    ),
    "chat: a function of old": chat(
        HI,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "a"},
    ),
    "chat: a custom tool": chat(
        HI,
        {"role": "assistant", "tool_calls": [{"type": "custom", "id": "c", "custom": {"name": "f", "input": "x"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "a"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("path", "body"), TRUE.values(), ids=TRUE.keys())
def test_no_remark(path: str, body: Json) -> None:
    answered = local(unmatched="generate").ask(path, body, headers={"anthropic-version": "2026-10-21"})
    assert (answered.status, answered.remarks) == (200, ()), answered.body
    azure = body if path in (CHAT, RESPONSES) else None
    if azure is not None:
        answered = local().ask(path.replace("/v1/", "/azure-openai/openai/v1/"), azure)
        assert (answered.status, answered.remarks) == (200, ()), answered.body


VLLM = "chatcmpl-tool-9d1c8a4be3f24c6f8f6e2d7a5b0c1e39"
COMPATIBLE = {
    "long ids of calls": chat(HI, called(VLLM), {"role": "tool", "tool_call_id": VLLM, "content": "a"}),
    "no calls": chat(HI, {"role": "assistant", "content": "a", "tool_calls": []}, HI),
    "made-up ids of items": responses(HI, {**FC, "id": "item_1"}, OUT, {**MSG, "id": "0192"}, HI),
    "long ids of items": responses(
        HI, {**FC, "id": "fc_" + "0" * 64, "call_id": VLLM * 2}, {**OUT, "call_id": VLLM * 2}
    ),
    "input texts of an assistant": responses(
        HI, {"role": "assistant", "content": [{"type": "input_text", "text": "Clear."}]}, HI
    ),
}


@pytest.mark.parametrize(("path", "body"), COMPATIBLE.values(), ids=COMPATIBLE.keys())
def test_compatible_servers_take_what_openai_refuses(path: str, body: Json) -> None:
    assert len(local().ask(path, body).remarks) == 1
    answered = local(validation="off", replay="error").ask(path, body)
    assert (answered.status, answered.remarks) == (200, ()), answered.body


UNSURE = {
    "ids of other characters": responses(HI, {**FC, "id": "fc_1.2"}, OUT),
    "an empty id": responses(HI, {**FC, "id": ""}, OUT),
    "other names of calls": responses(HI, {**FC, "name": "files.read"}, OUT),
    "a search with an id of its own": responses(
        HI, {"type": "web_search_call", "id": "search_1", "status": "completed", "action": {"type": "search"}}, MSG, HI
    ),
    "an image of an assistant": responses(
        HI, {"role": "assistant", "content": [{"type": "input_image", "image_url": "https://a.example/b.png"}]}, HI
    ),
}


@pytest.mark.parametrize(("path", "body"), UNSURE.values(), ids=UNSURE.keys())
def test_what_is_only_likely_is_left_to_validation(path: str, body: Json) -> None:
    answered = local(replay="error").ask(path, body)
    assert (answered.status, answered.remarks) == (200, ()), answered.body
    assert local(validation="live").ask(path, body).status == 400


# Bodies of which nothing is left out where nothing is checked, though they are not as their dialect asks, or not all.
UNCHECKED = {
    "a result without an id": chat(HI, called("call_1"), {"role": "tool", "content": "x"}),
    "a call without an id": chat(HI, {"role": "assistant", "tool_calls": [{"type": "function", "function": {}}]}, HI),
    "calls of a user": chat(
        HI, called("call_1"), {"role": "tool", "tool_call_id": "call_1", "content": "a"}, {**HI, "tool_calls": ["a"]}
    ),
    "calls of a user that are none": chat(HI, {**HI, "tool_calls": [{}]}, HI),
    "calls of a system message": chat({"role": "system", "content": "a", "tool_calls": True}, HI),
    "a result of Anthropic without an id": anthropic(user("Hi"), turn(USED), user({"type": "tool_result"})),
    "a call of Anthropic without an id": anthropic(user("Hi"), turn({"type": "tool_use", "name": "look"}), user("Hm")),
    "a message without content": anthropic(user("Hi"), turn(THOUGHT), {"role": "user"}, model="claude-fable-5-1"),
    "a call of Gemini without a name": gemini(asked(ASK), model({"functionCall": {}}), asked(result())),
    "a content without parts": gemini(asked(ASK), {"role": "model"}, model(call("Oslo", SIGNATURE)), asked(result())),
}


@pytest.mark.parametrize(("path", "body"), UNCHECKED.values(), ids=UNCHECKED.keys())
@pytest.mark.parametrize("mode", ["warn", "error"])
def test_unchecked_bodies(path: str, body: Json, mode: str) -> None:
    for validation in ("off", "published", "live"):
        assert local(validation=validation, replay=mode).ask(path, body).status in (200, 400), validation


def many(count: int) -> dict[str, tuple[str, Json]]:
    """Histories of this many calls or thoughts in one turn, answered in reverse."""
    names = [f"call_{at}" for at in range(count)]
    back = names[::-1]
    thoughts = [{**THOUGHT, "signature": sign(THOUGHT["thinking"], at, None)} for at in range(count)]
    stored = [OutputItemId(answer=at.to_bytes(9, "big"), place=1, reasoning=0, stored=True).text for at in range(count)]
    return {
        "chat": chat(HI, called(*names), *({"role": "tool", "tool_call_id": name, "content": "a"} for name in back)),
        "gemini": gemini(
            asked(ASK),
            model(*(call("Oslo", SIGNATURE, id=name, name=name) for name in names)),
            asked(*(result(id=name, name=name) for name in back)),
        ),
        "gemini: one name": gemini(
            asked(ASK),
            model(*(call("Oslo", SIGNATURE, id=name) for name in names)),
            asked(*(result(id=name) for name in back)),
        ),
        "gemini: a content for each": gemini(
            asked(ASK),
            *(model(call("Oslo", SIGNATURE, id=name)) for name in names),
            asked(*(result(id=each) for each in back)),
        ),
        "anthropic": anthropic(
            user("Hi"),
            turn(*({**USED, "id": name} for name in names)),
            user(*({**GIVEN, "tool_use_id": name} for name in back)),
        ),
        "anthropic: thoughts": anthropic(user("Hi"), turn(*thoughts, TEXT), user("More?")),
        "anthropic: bound thoughts": anthropic(
            user("Hi"), turn(*thoughts, TEXT), user("More?"), model="claude-fable-6"
        ),
        "responses": responses(
            HI,
            *({**FC, "id": f"fc_{at}", "call_id": name} for at, name in enumerate(names)),
            *({**OUT, "call_id": name} for name in back),
        ),
        "responses: calls of this server": responses(
            HI,
            *({**FC, "id": f"fc_{name}", "call_id": each} for name, each in zip(stored, names, strict=True)),
            *({**OUT, "call_id": name} for name in back),
        ),
    }


def took(path: str, body: Json) -> float:
    asked, sent = local("rules: [{then: {text: Sunny.}}]"), json.dumps(body).encode()
    began = process_time()
    assert asked.ask(path, sent, headers={"anthropic-version": "2026-10-21"}).status == 200
    return process_time() - began


@pytest.mark.parametrize("name", many(1))
def test_long_histories_take_time_in_proportion(name: str) -> None:
    """Eight times as many calls take eight times as long, and 64 times where each is compared with each.

    Whatever else the processor does may make one comparison look worse, but not three.
    """
    short, long = many(800)[name], many(6400)[name]
    took(*short)  # which imports what it needs
    assert any(took(*long) < 20 * took(*short) for _ in range(3))


def test_values_that_may_be_anything() -> None:
    """Items of Responses may hold any values where nothing is checked; none of them stops the server."""
    odd: list[Json] = [None, 5, "x", [], {}, [{}], {"type": 5}, True]
    for value in odd:
        items = [
            {"type": "reasoning", "id": value, "encrypted_content": value, "summary": value},
            {"type": "function_call", "id": value, "call_id": value, "name": value},
            {"type": "function_call_output", "call_id": value, "output": value},
            {"type": value, "id": value},
            {"role": "assistant", "content": value},
            value,
        ]
        for each in ([item] for item in items):
            body = {"model": "gpt-5", "input": each}
            for validation in ("published", "off"):
                answered = local(validation=validation).ask(RESPONSES, body)
                assert answered.status in (200, 400, 404), (json.dumps(body), answered.body)
        messages = [
            {"role": "assistant", "content": value, "tool_calls": value},
            {"role": "tool", "tool_call_id": value},
        ]
        for path in (CHAT, MESSAGES):
            body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}, *messages]}
            assert local(validation="off").ask(path, body).status in (200, 400)


def test_looser_validation_leaves_calls_without_results_to_replay() -> None:
    """What validation refuses already is no remark; with `off`, it is."""
    path, body = anthropic(user("Hi"), turn(USED), user("Well?"))
    assert local().ask(path, body).status == 400
    (remark,) = local(validation="off").ask(path, body).remarks
    assert remark.startswith('messages.1: the live provider refuses this history with 400 "messages.1: `tool_use` ids')
    path, body = chat(HI, called("call_1"), HI)
    assert local(validation="live").ask(path, body).status == 400
    (remark,) = local(validation="off").ask(path, body).remarks
    assert remark.startswith('messages[1]: the live provider refuses this history with 400 "An assistant message with')
