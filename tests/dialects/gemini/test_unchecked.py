"""Requests to Gemini where nothing is checked: what can be read of them is answered."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.kit.local import Local, local

Json = Any
OFF = local(validation="off")
MODEL = "/gemini/v1beta/models/gemini-2.5-flash"
VERTEX = "/gemini/v1beta1/publishers/google/models/gemini-2.5-flash"
HI: Json = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
FUNCTION: Json = {"name": "f", "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}}

# What is refused where it is checked, and yields a call where it is not.
WRONG: dict[str, Json] = {
    "an unknown name": {"bogus": 1},
    "an unknown name inside": {"generationConfig": {"max_token": 1, "temperature": 1}},
    "wrong types": {"generationConfig": {"maxOutputTokens": "many", "stopSequences": [5, "x"]}, "tools": "all"},
    "unknown values": {"toolConfig": {"functionCallingConfig": {"mode": "auto"}}, "serviceTier": "bogus"},
    "out of bounds": {
        "generationConfig": {"temperature": 9, "candidateCount": 99, "logprobs": -1, "maxOutputTokens": 0, "topK": -1}
    },
    "a role": {"contents": [{"role": "assistant", "parts": [{"text": "Hi"}]}]},
    "an empty part": {"contents": [{"parts": [{}, {"inlineData": {}}, {"text": "Hi"}, {"video": 1}]}]},
    "two values for one": {"contents": [{"parts": [{"text": "Hi", "fileData": {"fileUri": "gs://a/b"}}]}]},
    "an empty turn": {"contents": [{"parts": []}, *HI["contents"]]},
    "no name": {
        "contents": [*HI["contents"], {"role": "model", "parts": [{"functionCall": {}}, {"text": "Hm"}]}],
        "tools": [{"functionDeclarations": [{"description": "d"}]}, {}],
    },
    "the same function twice": {"tools": [{"functionDeclarations": [FUNCTION, FUNCTION]}]},
    "a function that is not declared": {
        "tools": [{"functionDeclarations": [FUNCTION]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["g", "f"]}},
    },
    "results without calls": {
        "contents": [
            {"role": "model", "parts": [{"functionCall": {"name": "f"}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "g"}}, {"functionResponse": {"name": "f"}}]},
        ]
    },
    "a keyword of a schema": {
        "generationConfig": {
            "responseMimeType": "application/json",
            "responseSchema": {"type": "OBJECT", "oneOf": [], "properties": {"a": {"type": "odd", "const": 1}}},
        }
    },
    "a schema that is none": {
        "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": {"type": "bogus"}}
    },
    "two schemas": {"generationConfig": {"responseSchema": {"type": "STRING"}, "responseJsonSchema": {}}},
    "pictures for instructions": {"systemInstruction": {"parts": [{"fileData": {"fileUri": "gs://a/b"}}]}},
    "a cached content and tools": {"tools": [{"functionDeclarations": [FUNCTION]}], "cachedContent": 5},
}


@pytest.mark.parametrize("added", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("front", [MODEL, VERTEX])
def test_what_is_wrong_is_left_out(front: str, added: Json) -> None:
    body = {**HI, **added}
    assert local().ask(f"{front}:generateContent", body).status == 400
    assert OFF.ask(f"{front}:generateContent", body).json["candidates"]
    assert OFF.ask(f"{front}:streamGenerateContent?alt=sse", body).body.startswith(b'data: {"candidates"')
    assert OFF.ask(f"{front}:countTokens", body).json["totalTokens"] > 0
    asked = {"generateContentRequest": body, "contents": 5}
    assert OFF.ask(f"{front}:countTokens", asked).json["totalTokens"] > 0
    assert OFF.ask("/gemini/v1beta/cachedContents", {**body, "model": "models/x"}).json["name"]


@pytest.mark.parametrize(
    "body", [{}, {"contents": []}, {"contents": 5}, {"contents": [{"parts": [{"bogus": 1}]}]}, [], "x"]
)
def test_a_call_needs_contents(body: Json) -> None:
    for verb in ("generateContent", "countTokens", "embedContent", "batchEmbedContents"):
        assert OFF.ask(f"{MODEL}:{verb}", body).status == 400


EMBEDDING: Json = {
    "content": {"parts": [{"text": "sea"}, {}, {"bogus": 1}], "bogus": 1},
    "title": "t",
    "taskType": "ODD",
    "outputDimensionality": 99_999,
    "bogus": 1,
}


def test_embeddings() -> None:
    one = OFF.ask(f"{MODEL}:embedContent", EMBEDDING).json["embedding"]
    several = OFF.ask(f"{MODEL}:batchEmbedContents", {"requests": [EMBEDDING] * 101, "bogus": 1}).json["embeddings"]
    assert (len(one["values"]), len(several)) == (3072, 101)
    inner = {"content": EMBEDDING["content"], "embedContentConfig": {"outputDimensionality": "3", "bogus": 1}}
    assert len(OFF.ask(f"{VERTEX}:embedContent", inner).json["embedding"]["values"]) == 3
    asked = {"instances": [{"content": "sea", "title": "t", "bogus": 1}], "parameters": {"outputDimensionality": -1}}
    assert len(OFF.ask(f"{VERTEX}:predict", asked).json["predictions"]) == 1


def test_what_is_stored() -> None:
    both = {"model": "models/x", "ttl": "1s", "expireTime": "2030-01-01T00:00:00Z", "bogus": 1}
    cache = OFF.ask("/gemini/v1beta/cachedContents", {**HI, **both}).json
    changed = OFF.ask(f"/gemini/v1beta/{cache['name']}", {"ttl": "60s", "bogus": 1}, method="PATCH").json
    assert changed["name"] == cache["name"]
    assert changed["expireTime"] > cache["expireTime"]
    file = OFF.ask("/gemini/v1beta/files", {"file": {"name": "a", "sizeBytes": "many", "bogus": 1}}).json["file"]
    assert (file["name"], file["sizeBytes"]) == ("files/a", "0")


def test_roles_of_chats_are_those_of_gemini() -> None:
    rule = "rules: [{when: {system: Be brief., last_user: Hi, turn: 1}, then: {text: Seen.}}]"
    said = {"system": "Be brief.", "user": "Hello", "assistant": "Hm"}
    contents = [*({"role": role, "parts": [{"text": text}]} for role, text in said.items()), *HI["contents"]]
    answered = local(rule, validation="off").ask(f"{MODEL}:generateContent", {"contents": contents})
    assert answered.json["candidates"][0]["content"]["parts"] == [{"text": "Seen."}]


def test_rules_see_all_of_a_body_under_its_usual_names() -> None:
    rules = """
    rules:
      - when:
          param.generationConfig.plan: fast
          param.generationConfig.topK: 5
          body: contents[0].parts[1].clip.url
        then: {text: Seen.}
    """
    config = {"top_k": 5, "plan": "fast", "temperature": 9}
    body = {"contents": {"parts": [{"text": "Hi"}, {"clip": {"url": "x"}}]}, "generation_config": config}
    answered = local(rules, validation="off").ask(f"{MODEL}:generateContent", body)
    assert answered.json["candidates"][0]["content"]["parts"] == [{"text": "Seen."}]


def test_what_is_left_out_tells_requests_apart() -> None:
    answers = [OFF.ask(f"{MODEL}:generateContent", {**HI, "plan": plan}).json["responseId"] for plan in "ab"]
    assert answers[0] != answers[1]


@pytest.mark.parametrize(
    "body",
    [
        HI,
        {"contents": {"parts": {"text": "Hi"}}, "generation_config": {"max_output_tokens": "5", "top_k": 3}},
        {**HI, "tools": [{"function_declarations": [FUNCTION]}], "labels": {"a": "b"}},
    ],
)
def test_a_request_that_is_right_means_the_same_in_every_mode(body: Json) -> None:
    servers: list[Local] = [OFF, local(), local(validation="live")]
    assert len({server.ask(f"{MODEL}:generateContent", body).body for server in servers}) == 1


WHOLE: Json = {
    "contents": [
        {"role": "user", "parts": [{"text": "Hi"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}, "id": "x"}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"result": 1}}}]},
    ],
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "tools": [{"functionDeclarations": [{"name": "g", "parametersJsonSchema": {"type": "OBJECT"}}, FUNCTION]}, {}],
    "toolConfig": {"functionCallingConfig": {"mode": "VALIDATED", "allowedFunctionNames": ["f"]}},
    "generationConfig": {
        "candidateCount": 1,
        "stopSequences": ["x"],
        "responseLogprobs": True,
        "logprobs": 1,
        "thinkingConfig": {"thinkingBudget": 5},
        "responseMimeType": "application/json",
        "responseJsonSchema": {"type": "OBJECT", "properties": {"a": {"type": "INTEGER", "enum": ["1"]}}},
        "responseFormat": [{"text": {"schema": {"type": "object"}}}],
    },
}


def changed(value: Json, odd: Json) -> Iterator[Json]:
    """Yield the value with something odd in place of each that is in it."""
    places = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for place, inner in places:
        for other in (odd, *changed(inner, odd)):
            made = value.copy()
            made[place] = other
            yield made


@pytest.mark.parametrize("odd", [None, -1, 1.5, "", [[]], {"name": 5}, True], ids=str)
def test_nothing_is_too_odd(odd: Json) -> None:
    for body in changed(WHOLE, odd):
        answered = OFF.ask(f"{MODEL}:generateContent", body)
        assert answered.status == 200 or "contents is not specified" in answered.json["error"]["message"], body
