"""What Gemini's requests mean: as a Call, as a fingerprint, and their schemas as JSON Schemas."""

from typing import Any

import pytest

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest
from mockserver.core.json import compact
from mockserver.dialects.gemini.request import parse_generate
from mockserver.dialects.gemini.schemas import make_json_schema, normalize_schema

Json = Any
HI = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}


def parsed(body: Json, model: str = "gemini-2.5-flash", verb: str = "generateContent") -> Call:
    params = {"version": "v1beta", "parent": "models", "model": model}
    path = f"/gemini/v1beta/models/{model}:{verb}"
    return parse_generate(HttpRequest("POST", path, body=compact(body).encode(), path_params=params), False)


CALL = {"functionCall": {"name": "f", "args": {"a": 1}}}
SAID = {"functionResponse": {"name": "f", "response": {"result": {"b": 2}}}}
TOLD = {"contents": [*HI["contents"], {"role": "model", "parts": [CALL]}, {"role": "user", "parts": [SAID]}]}
VIDEO = {"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}}
SAME: dict[str, tuple[Json, Json]] = {
    "defaults": (HI, {**HI, "generationConfig": {"temperature": 1, "candidateCount": 1, "topK": 64}, "tools": []}),
    "nothing": (HI, {**HI, "generationConfig": {}, "safetySettings": [], "toolConfig": {}}),
    "modalities": (HI, {**HI, "generationConfig": {"responseModalities": ["TEXT"], "responseMimeType": "text/plain"}}),
    "bookkeeping": (HI, {**HI, "labels": {"a": "b"}, "serviceTier": "flex", "store": True, "model": "models/x"}),
    "names": (
        {**HI, "generationConfig": {"maxOutputTokens": 5}},
        {"contents": {"parts": {"text": "Hi"}}, "generation_config": {"max_output_tokens": "5"}},
    ),
    "the role of instructions": (
        {**HI, "systemInstruction": {"parts": [{"text": "a"}]}},
        {**HI, "system_instruction": {"parts": [{"text": "a"}], "role": "user"}},
    ),
    "metadata of media": (
        {"contents": {"parts": [{"text": "Hi"}, {**VIDEO, "videoMetadata": {"fps": 2}}]}},
        {"contents": {"parts": [{"text": "Hi"}, VIDEO, {"thought": True}, {"videoMetadata": {"fps": 2}}]}},
    ),
    "ids and signatures": (
        TOLD,
        {
            "contents": [
                TOLD["contents"][0],
                {
                    "role": "model",
                    "parts": [{"functionCall": {**CALL["functionCall"], "id": "x"}, "thoughtSignature": "aGk="}],
                },
                {"role": "user", "parts": [{"functionResponse": {**SAID["functionResponse"], "id": "x"}}]},
            ]
        },
    ),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME.keys())
def test_the_same_meaning(one: Json, other: Json) -> None:
    assert parsed(one).fingerprint == parsed(other, verb="streamGenerateContent").fingerprint


@pytest.mark.parametrize(
    "config", [{"temperature": 0}, {"seed": 1}, {"responseMimeType": "application/json"}, {"stopSequences": ["a"]}]
)
def test_another_meaning(config: Json) -> None:
    assert parsed(HI).fingerprint != parsed({**HI, "generationConfig": config}).fingerprint


def test_the_order_of_a_schema_counts() -> None:
    several = [{"type": "OBJECT", "properties": {name: {"type": "STRING"} for name in names}} for names in ("ab", "ba")]
    configs = [{"responseMimeType": "application/json", "responseSchema": schema} for schema in several]
    one, other = (parsed({**HI, "generationConfig": config}).fingerprint for config in configs)
    assert one != other


def test_results_go_to_their_calls() -> None:
    first, second = ({"functionCall": {"name": "f", "args": {"at": at}}} for at in (1, 2))
    results = [{"functionResponse": {"name": "f", "response": {"output": text}}} for text in ("one", "two")]
    named = {"functionResponse": {"id": "mine", "name": "g", "response": {"error": "no"}}}
    asked = {"functionCall": {"id": "mine", "name": "g", "args": {}}}
    call = parsed(
        {
            "contents": [
                *HI["contents"],
                {"role": "model", "parts": [{"text": "Hm", "thought": True}, first, second, asked]},
                {"role": "user", "parts": [*results, named, {"text": "Now?"}]},
            ]
        }
    )
    user, assistant, *told, last = call.messages
    assert (user.text, assistant.text, last.role, last.text) == ("Hi", "", "user", "Now?")
    assert [made.arguments for made in assistant.tool_calls] == ['{"at":1}', '{"at":2}', "{}"]
    assert [each.tool_call_id for each in told] == [made.id for made in assistant.tool_calls]
    assert [each.text for each in told] == ["one", "two", '{"error":"no"}']


def test_results_go_to_the_calls_of_all_contents_of_a_turn() -> None:
    calls = [{"role": "model", "parts": [{"functionCall": {"name": name}}]} for name in "fg"]
    results = [{"functionResponse": {"name": name, "response": {}}} for name in "fg"]
    call = parsed({"contents": [*HI["contents"], *calls, {"role": "user", "parts": results}]})
    made = [made for message in call.messages for made in message.tool_calls]
    assert [message.tool_call_id for message in call.messages if message.role == "tool"] == [each.id for each in made]
    assert len({each.id for each in made}) == 2


CHOICES: dict[str, tuple[Json, tuple[str, tuple[str, ...]]]] = {
    "none": ({"mode": "NONE"}, ("none", ())),
    "auto": ({"mode": "AUTO"}, ("auto", ())),
    "any": ({"mode": "ANY"}, ("required", ("f", "g"))),
    "one": ({"mode": "ANY", "allowedFunctionNames": ["g"]}, ("named", ("g",))),
    "validated": ({"mode": "VALIDATED", "allowedFunctionNames": ["g"]}, ("auto", ("g",))),
    "unstated": ({}, ("auto", ())),
}


@pytest.mark.parametrize(("calling", "expected"), CHOICES.values(), ids=CHOICES.keys())
def test_the_tool_choice(calling: Json, expected: tuple[str, tuple[str, ...]]) -> None:
    tools = [{"functionDeclarations": [{"name": "f"}, {"name": "g"}]}]
    choice = parsed({**HI, "tools": tools, "toolConfig": {"functionCallingConfig": calling}}).tool_choice
    assert (choice.mode, choice.names) == expected


@pytest.mark.parametrize(
    ("thinking", "effort"),
    [
        ({}, None),
        ({"thinkingBudget": 0}, "none"),
        ({"thinkingBudget": -1}, "medium"),
        ({"thinkingBudget": 500}, "low"),
        ({"thinkingBudget": 20_000}, "high"),
        ({"thinkingLevel": "low"}, "low"),
        ({"includeThoughts": True}, "medium"),
    ],
)
def test_the_effort(thinking: Json, effort: str | None) -> None:
    assert parsed({**HI, "generationConfig": {"thinkingConfig": thinking}}).options.effort == effort


def test_media_are_as_rules_know_them() -> None:
    parts = [
        {"inlineData": {"mimeType": "image/png", "data": "_-8"}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://a/b"}},
        {"inline_data": {"mime_type": "audio/wav", "data": "aGk="}},
    ]
    image, video, audio = parsed({"contents": {"parts": parts}}).messages[0].parts
    assert image == {"type": "image_url", "image_url": {"url": "data:image/png;base64,/+8="}}
    assert video == {"type": "file", "file": {"file_data": "gs://a/b", "mime_type": "video/mp4"}}
    assert audio == {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}


def test_names_that_are_no_types_stay() -> None:
    schema = {"properties": {"type": {"const": "OBJECT"}}, "default": {"type": "OBJECT"}, "type": "ODD"}
    assert normalize_schema(schema) == schema
    assert normalize_schema(True) is True
    assert normalize_schema({"type": "TYPE_UNSPECIFIED"}) == {}
    assert normalize_schema({"anyOf": [{"type": "STRING"}], "nullable": True}) == {
        "anyOf": [{"type": "string"}, {"type": "null"}]
    }


def test_schemas() -> None:
    schema = {
        "type": "OBJECT",
        "properties": {
            "b": {"type": "ARRAY", "items": {"type": "INTEGER", "format": "int32"}, "minItems": 1},
            "a": {"type": "STRING", "enum": ["x"], "nullable": True},
            "c": {"anyOf": [{"type": "NUMBER"}], "nullable": True},
        },
        "propertyOrdering": ["a", "b"],
        "required": ["a"],
    }
    made = make_json_schema(schema)
    assert list(made["properties"]) == ["a", "b", "c"]
    assert made["properties"] == {
        "a": {"type": ["string", "null"], "enum": ["x", None]},
        "b": {"type": "array", "items": {"type": "integer", "format": "int32"}, "minItems": 1},
        "c": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    }
    stated = {"properties": {"b": {}, "a": {"properties": {"z": {}, "y": {}}, "propertyOrdering": ["y"]}}}
    ordered = normalize_schema({**stated, "propertyOrdering": ["a"]})
    assert ordered == stated | {"properties": {"a": {"properties": {"y": {}, "z": {}}}, "b": {}}}
    assert list(ordered["properties"]) == ["a", "b"]
