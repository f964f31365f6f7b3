"""Details of requests and answers that Google's documents state, and what the client's types demand."""

import json
from typing import Any

import pytest

from tests.kit.local import Answered, local

Json = Any
SERVER = local()
DEVELOPER, VERTEX = "/gemini/v1beta/models/", "/gemini/v1beta1/publishers/google/models/"
HI: Json = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}


def ask(config: Json = None, model: str = "gemini-2.5-flash", **more: Json) -> Answered:
    body = {**HI, **({"generationConfig": config} if config is not None else {}), **more}
    return SERVER.ask(f"{DEVELOPER}{model}:generateContent", body)


def answer(schema: Json, key: str = "responseSchema") -> Json:
    said = ask({"responseMimeType": "application/json", key: schema}).json
    return json.loads(said["candidates"][0]["content"]["parts"][0]["text"])


def message(answered: Answered, status: int = 400) -> str:
    assert answered.status == status
    return str(answered.json["error"]["message"])


def test_the_older_name_of_a_json_schema() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    assert isinstance(answer(schema, "_responseJsonSchema")["a"], int)
    both = {"_responseJsonSchema": schema, "responseSchema": {"type": "STRING"}, "responseMimeType": "application/json"}
    assert message(ask(both)) == "Only one of response_schema and response_json_schema may be set."


def test_schemas_refer_to_defs() -> None:
    node = {"type": "OBJECT", "properties": {"number": {"type": "INTEGER"}}, "required": ["number"]}
    found = answer({"type": "OBJECT", "properties": {"n": {"ref": "#/defs/Node"}}, "defs": {"Node": node}})
    assert isinstance(found["n"]["number"], int)


def test_values_of_enums_are_texts_of_numbers_too() -> None:
    assert answer({"type": "INTEGER", "format": "enum", "enum": ["101", "201"]}) in (101, 201)
    assert answer({"type": "NUMBER", "enum": ["1.5"]}) == 1.5
    assert isinstance(answer({"type": "STRING", "enum": []}), str)


@pytest.mark.parametrize("kind", ["INTEGER", "integer"])
def test_additional_properties_have_a_schema(kind: str) -> None:
    found = answer({"type": "OBJECT", "additionalProperties": {"type": kind}, "minProperties": 2})
    assert len(found) == 2
    assert all(isinstance(value, int) for value in found.values())


def test_a_refused_schema_is_not_in_the_words_of_others() -> None:
    refused = ask({"responseMimeType": "application/json", "responseSchema": {"type": "STRING", "pattern": "("}})
    assert message(refused) == 'The JSON schema is not valid: "(" is not a "regex" (at #/pattern).'


def test_a_cut_word_of_an_enum_has_no_quotes() -> None:
    schema = {"type": "STRING", "enum": ["red wine"]}
    config = {"responseMimeType": "text/x.enum", "responseSchema": schema}
    candidate = ask({**config, "maxOutputTokens": 1}).json["candidates"][0]
    assert (candidate["content"]["parts"][0]["text"], candidate["finishReason"]) == ("red", "MAX_TOKENS")


def test_the_tokens_of_an_enum_have_no_quotes() -> None:
    config = {"responseMimeType": "text/x.enum", "responseSchema": {"type": "STRING", "enum": ["red"]}}
    said = ask({**config, "responseLogprobs": True}).json
    assert [each["token"] for each in said["candidates"][0]["logprobsResult"]["chosenCandidates"]] == ["red"]
    assert said["usageMetadata"]["candidatesTokenCount"] == 1
    ruled = local('{"rules": [{"when": {"response_format": "enum"}, "then": {"text": "red"}}]}')
    answered = ruled.ask(f"{DEVELOPER}x:generateContent", {**HI, "generationConfig": config})
    assert (answered.json["candidates"][0]["content"]["parts"][0]["text"], answered.remarks) == ("red", ())


def test_only_the_input_has_a_limit() -> None:
    assert ask({"maxOutputTokens": 2**31 - 1}).status == 200


def test_an_empty_body_has_no_contents() -> None:
    answered = SERVER.ask(f"{DEVELOPER}gemini-2.5-flash:generateContent", b"")
    assert message(answered) == "* GenerateContentRequest.contents: contents is not specified\n"


@pytest.mark.parametrize(
    ("model", "budget", "status"),
    [
        ("gemini-2.5-pro", 0, 400),
        ("gemini-2.5-pro", 127, 400),
        ("gemini-2.5-pro", 128, 200),
        ("gemini-2.5-pro", -1, 200),
        ("gemini-2.5-flash", 0, 200),
        ("gemini-2.5-flash", 24_577, 400),
        ("gemini-2.5-flash-lite", 100, 400),
        ("gemini-2.5-flash-lite", 0, 200),
        ("my-model", 999_999, 200),
        ("my-model", -2, 400),
    ],
)
def test_budgets(model: str, budget: int, status: int) -> None:
    assert ask({"thinkingConfig": {"thinkingBudget": budget}}, model).status == status


def test_a_refused_budget_says_which_there_are() -> None:
    too_large = ask({"thinkingConfig": {"thinkingBudget": 32_000}})
    assert message(too_large) == "The thinking budget 32000 is invalid. Please choose a value between 0 and 24576."
    none = ask({"thinkingConfig": {"thinkingBudget": 0}}, "gemini-2.5-pro")
    assert message(none) == "Budget 0 is invalid. This model only works in thinking mode."


NO_LEVEL = "Thinking level is not supported for this model."
NOT_MINIMAL = "Thinking level MINIMAL is not supported for this model."


@pytest.mark.parametrize(
    ("model", "thinking", "why"),
    [
        ("gemini-2.5-pro", {"thinkingLevel": "LOW"}, NO_LEVEL),
        ("gemini-3.1-pro-preview", {"thinkingLevel": "MINIMAL"}, NOT_MINIMAL),
        ("gemini-3.8-flash", {"thinkingLevel": "MINIMAL"}, NOT_MINIMAL),
        ("gemini-3.7-flash-lite", {"thinkingLevel": "MINIMAL"}, None),
        ("gemini-3-flash-preview", {"thinkingLevel": "MINIMAL"}, None),
        ("gemini-3.1-pro-preview", {"thinkingLevel": "LOW"}, None),
        (
            "gemini-3.1-pro-preview",
            {"thinkingBudget": 0},
            "Budget 0 is invalid. This model only works in thinking mode.",
        ),
        ("gemini-3-flash-preview", {"thinkingBudget": 0}, None),
        ("gemini-2.0-flash", {"thinkingBudget": 5}, "thinking_config is not supported."),
        ("gemini-2.0-flash-thinking-exp", {"thinkingBudget": 5}, None),
        ("gemini-2.0-flash", {}, None),
    ],
)
def test_thinking_that_only_the_live_service_refuses(model: str, thinking: Json, why: str | None) -> None:
    path, body = f"{DEVELOPER}{model}:generateContent", {**HI, "generationConfig": {"thinkingConfig": thinking}}
    assert SERVER.ask(path, body).status == 200
    answered = local(validation="live").ask(path, body)
    assert (message(answered) if why else answered.status) == (why or 200)


def turns(*stated: str) -> list[Json]:
    """Contents of roles and parts: `model f g` calls two functions, `user =f` has a result, `user Hi` a text."""
    made = []
    for role, *words in map(str.split, stated):
        parts: list[Json] = []
        for word in words:
            if word.startswith("="):
                parts.append({"functionResponse": {"name": word[1:], "response": {"result": 1}}})
            elif word.islower():
                parts.append({"functionCall": {"name": word, "args": {}}})
            else:
                parts.append({"text": word})
        made.append({"parts": parts, **({"role": role} if role != "-" else {})})
    return made


@pytest.mark.parametrize(
    "stated",
    [
        ["user Hi", "model f", "user =f"],
        ["user Hi", "model f", "model g", "user =f =g"],
        ["user Hi", "model f", "model g", "user =f", "user =g"],
        ["user Hi", "model f g", "function =f", "- =g", "user Thanks"],
        ["user Hi", "model Hm", "model f", "user =f", "model f", "user =f"],
        ["- Hi", "user Hi", "model f", "model Done", "user =f"],
        ["user Hi", "model f", "model g"],
    ],
)
def test_contents_of_one_role_in_a_row_are_one_turn(stated: list[str]) -> None:
    assert ask(contents=turns(*stated)).status == 200


ORDER = "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
NUMBER = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)
RESPONSE = "Please ensure that function response turn comes immediately after a function call turn."


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        (["user =f"], RESPONSE),
        (["user Hi", "model Hm", "user =f"], RESPONSE),
        (["user Hi", "model f", "user =f", "model Done", "function =f"], RESPONSE),
        (["model f", "user =f"], ORDER),
        (["model Hm", "model f", "user =f"], ORDER),
        (["user Hi", "model f", "model g", "user =f"], NUMBER),
        (["user Hi", "model f", "user =f", "user =f"], NUMBER),
        (["user Hi", "model f", "user Well?"], NUMBER),
    ],
)
def test_turns_that_are_refused(stated: list[str], why: str) -> None:
    assert message(ask(contents=turns(*stated))) == why


def test_a_result_names_its_function() -> None:
    returned = {"functionResponse": {"name": "", "response": {"a": 1}}}
    refused = ask(contents=[*turns("user Hi", "model f"), {"role": "user", "parts": [returned]}])
    place = "* GenerateContentRequest.contents[2].parts[0].function_response.name"
    assert message(refused) == f"{place}: Name cannot be empty.\n"


FUNCTIONS: Json = {"functionDeclarations": [{"name": "f"}]}
SEARCH: Json = {"googleSearch": {}}
INVOCATIONS: Json = {"includeServerSideToolInvocations": True}


def calling(**config: Json) -> Json:
    return {"toolConfig": {"functionCallingConfig": config}}


@pytest.mark.parametrize(
    "more",
    [
        {**calling(mode="ANY")},
        {"tools": [], **calling(mode="ANY", allowedFunctionNames=[])},
        {"tools": [SEARCH], **calling(mode="ANY", allowedFunctionNames=[])},
        {"tools": [SEARCH, {"urlContext": {}}], **calling(mode="VALIDATED")},
        {"tools": [{"codeExecution": {}}], **calling(mode="NONE")},
        {"tools": [{"computerUse": {}}], **calling(mode="ANY", allowedFunctionNames=["click_at"])},
        {"tools": [SEARCH, FUNCTIONS], **calling(mode="ANY", allowedFunctionNames=["f"])},
    ],
)
def test_a_mode_needs_no_functions(more: Json) -> None:
    assert ask(**more).status == 200
    assert message(ask(**calling(mode="ANY", allowedFunctionNames=["f"]))).endswith(
        "f is not one of the function declarations.\n"
    )


ALONE = "Function calling config is set without function_declarations."
TOGETHER = "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling."


@pytest.mark.parametrize(
    ("front", "model", "more", "why"),
    [
        (DEVELOPER, "gemini-2.5-flash", {"tools": [SEARCH], **calling(mode="ANY")}, ALONE),
        (DEVELOPER, "gemini-2.5-flash", {"tools": [FUNCTIONS], **calling(mode="ANY")}, None),
        (DEVELOPER, "gemini-3-pro-image-preview", {"tools": [SEARCH], **calling(mode="ANY")}, None),
        (VERTEX, "gemini-2.5-flash", {"tools": [SEARCH], **calling(mode="ANY")}, None),
        (DEVELOPER, "gemini-3-flash-preview", {"tools": [SEARCH, FUNCTIONS]}, TOGETHER),
        (DEVELOPER, "gemini-3-flash-preview", {"tools": [SEARCH, FUNCTIONS], "toolConfig": INVOCATIONS}, None),
        (VERTEX, "gemini-3-flash-preview", {"tools": [SEARCH, FUNCTIONS]}, None),
        (
            DEVELOPER,
            "gemini-2.5-flash",
            {"tools": [SEARCH, FUNCTIONS]},
            "Tool use with function calling is unsupported by the model.",
        ),
        (
            VERTEX,
            "gemini-2.5-flash",
            {"tools": [{**SEARCH, **FUNCTIONS}]},
            "Multiple tools are supported only when they are all search tools.",
        ),
        (DEVELOPER, "gemini-2.5-flash", {"tools": [SEARCH, {"urlContext": {}}]}, None),
    ],
)
def test_tools_that_only_the_live_service_refuses(front: str, model: str, more: Json, why: str | None) -> None:
    path, body = f"{front}{model}:generateContent", {**HI, **more}
    assert SERVER.ask(path, body).status == 200
    answered = local(validation="live").ask(path, body)
    assert (message(answered) if why else answered.status) == (why or 200)


def parameters(**properties: Json) -> Json:
    """Tools with a function `f` of these properties."""
    return {
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT", "properties": properties}}]}]
    }


def result(response: Json, *parts: Json) -> Json:
    """A conversation that ends with this result of a function."""
    returned = {"functionResponse": {"name": "f", "response": response, "parts": list(parts)}}
    return {"contents": [*turns("user Hi", "model f"), {"role": "user", "parts": [returned]}]}


VERTEX_FUNCTION = (
    "Unable to submit request because `f` functionDeclaration {} Learn more: "
    "https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling"
)
UNKNOWN_MEDIA = (
    "The referenced name `{}` in function_response.response does not match to a display_name in the "
    "function_response.parts."
)
PICTURE: Json = {"inlineData": {"mimeType": "image/png", "data": "AAAA", "displayName": "a.png"}}
BESIDE_REF = (
    "Schema.ref '#/defs/A' was set alongside unsupported fields.  If a schema node has Schema.ref set, then only "
    "description and default can be set alongside it; other fields they would be replaced by the expanded reference."
)


@pytest.mark.parametrize(
    ("front", "model", "more", "why"),
    [
        (
            DEVELOPER,
            "gemini-3-flash-preview",
            {"generationConfig": {"candidateCount": 2}},
            "Multiple candidates is not enabled for this model",
        ),
        (DEVELOPER, "gemini-2.5-flash", {"generationConfig": {"candidateCount": 2}}, None),
        (DEVELOPER, "gemini-2.5-flash", parameters(a={"ref": "#/defs/A", "type": "STRING"}), BESIDE_REF),
        (DEVELOPER, "gemini-2.5-flash", parameters(a={"ref": "#/defs/A", "description": "An A"}), None),
        (DEVELOPER, "gemini-3.5-flash", result({"a": [{"$ref": "#/$defs/A"}]}), UNKNOWN_MEDIA.format("#/$defs/A")),
        (DEVELOPER, "gemini-3.5-flash", result({"a": {"$ref": "a.png"}}, PICTURE), None),
        (DEVELOPER, "gemini-2.5-flash", result({"a": {"$ref": "#/$defs/A"}}), None),
        (
            DEVELOPER,
            "gemini-2.5-flash",
            {"contents": {"parts": {"inlineData": {"mimeType": "application/octet-stream", "data": "AAAA"}}}},
            "Unsupported MIME type: application/octet-stream",
        ),
        (
            VERTEX,
            "gemini-2.5-flash",
            parameters(a={"type": "ARRAY", "items": {"enum": ["b"]}}),
            VERTEX_FUNCTION.format("`parameters.a` schema didn't specify the schema type field."),
        ),
        (
            VERTEX,
            "gemini-2.5-flash",
            parameters(a={"type": "STRING", "anyOf": [{"type": "STRING"}]}),
            VERTEX_FUNCTION.format(
                "`parameters.a` schema specified other fields alongside any_of. When using any_of, it must be the only "
                "field set."
            ),
        ),
        (VERTEX, "gemini-2.5-flash", parameters(a={"anyOf": [{"type": "STRING"}], "description": "An A"}), None),
        (DEVELOPER, "gemini-2.5-flash", parameters(a={"type": "STRING", "anyOf": [{"type": "STRING"}]}), None),
        (DEVELOPER, "gemini-2.5-flash", parameters(a={"description": "An A"}), None),
    ],
)
def test_what_else_only_the_live_service_refuses(front: str, model: str, more: Json, why: str | None) -> None:
    path, body = f"{front}{model}:generateContent", {**HI, **more}
    answered = local(validation="live", replay="off").ask(path, body)
    assert (message(answered) if why else answered.status) == (why or 200)


def test_vertex_has_its_own_words_for_a_function_without_an_object() -> None:
    tools = [{"functionDeclarations": [{"name": "f", "parameters": {"type": "STRING"}}]}]
    answered = local(validation="live").ask(f"{VERTEX}gemini-2.5-flash:generateContent", {**HI, "tools": tools})
    assert message(answered) == VERTEX_FUNCTION.format("parameters schema should be of type OBJECT.")


@pytest.mark.parametrize(
    ("schema", "lines"),
    [
        (
            {"type": "STRING", "properties": {"b": {"type": "STRING"}}, "required": ["b"]},
            ["properties: only allowed for OBJECT type", "required: only allowed for OBJECT type"],
        ),
        ({"properties": {"b": {"type": "STRING"}}}, ["properties: only allowed for OBJECT type"]),
        (
            {"anyOf": [{"required": ["b"]}]},
            ["any_of[0].required: only allowed for OBJECT type", "any_of[0].required[0]: property is not defined"],
        ),
        ({"type": "ARRAY"}, ["items: missing field."]),
    ],
)
def test_keys_of_other_types_are_refused(schema: Json, lines: list[str]) -> None:
    function = "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[a]"
    assert message(ask(**parameters(a=schema))) == "".join(f"{function}.{line}\n" for line in lines)
    config = {"responseMimeType": "application/json", "responseSchema": {"type": "OBJECT", "properties": {"a": schema}}}
    of_answer = '* GenerateContentRequest.generation_config.response_schema.properties["a"]'
    assert message(ask(config)) == "".join(f"{of_answer}.{line}\n" for line in lines)


VIDEO: Json = {"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}}


@pytest.mark.parametrize(
    "part",
    [
        {"videoMetadata": {"startOffset": "2s", "endOffset": "10s"}},
        {"mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"}},
        {"mediaProcessing": "STATIC"},
        {"thought": True},
        {"thoughtSignature": "aGk="},
        {"partMetadata": {"a": 1}},
        {"audioMetadata": {}},
    ],
)
def test_a_part_may_say_something_of_the_one_before(part: Json) -> None:
    contents = [{"role": "user", "parts": [{"text": "Hi"}, VIDEO, part]}]
    assert ask(contents=contents).json["usageMetadata"]["promptTokenCount"] == 259
    for front in (DEVELOPER, VERTEX):
        assert SERVER.ask(f"{front}x:countTokens", {"contents": contents}).status == 200
        assert SERVER.ask(f"{front}x:embedContent", {"content": contents[0]}).status == 200
    assert SERVER.ask("/gemini/v1beta/cachedContents", {"model": "models/x", "contents": contents}).status == 200


GOOGLES: Json = {
    "type": "OBJECT",
    "properties": {
        "score": {"type": "INTEGER", "minimum": 1, "maximum": 5, "format": "int32"},
        "type": {"type": "STRING", "format": "enum", "enum": ["A", "B"]},
        "tags": {"type": "ARRAY", "items": {"type": "String"}, "minItems": "2", "maxItems": "2"},
        "left": {"$ref": "#/$defs/Node"},
        "either": {"anyOf": [{"type": "BOOLEAN"}, {"type": ["NUMBER"]}]},
        "none": {"type": "STRING", "nullable": True},
    },
    "$defs": {"Node": {"type": "Object", "properties": {"level": {"type": "INTEGER", "enum": ["1", "2"]}}}},
    "required": ["score", "type", "tags", "left", "either"],
    "propertyOrdering": ["type", "score"],
}


@pytest.mark.parametrize("field", ["responseJsonSchema", "response_json_schema", "_responseJsonSchema"])
@pytest.mark.parametrize("front", [DEVELOPER, VERTEX])
def test_types_are_read_in_any_case(front: str, field: str) -> None:
    config = {"responseMimeType": "application/json", field: GOOGLES}
    said = SERVER.ask(f"{front}x:generateContent", {**HI, "generationConfig": config}).json
    found = json.loads(said["candidates"][0]["content"]["parts"][0]["text"])
    assert list(found)[:2] == ["type", "score"]
    assert found["score"] in range(1, 6)
    assert found["type"] in ("A", "B")
    assert [type(tag) for tag in found["tags"]] == [str, str]
    assert found["left"].get("level", 1) in (1, 2)
    assert isinstance(found["either"], bool | float)


def test_types_of_formats_and_arguments_too() -> None:
    form = {"text": {"mimeType": "application/json", "schema": GOOGLES}}
    said = ask({"responseFormat": form}).json["candidates"][0]["content"]["parts"][0]["text"]
    assert json.loads(said)["type"] in ("A", "B")
    function = {"name": "f", "parameters_json_schema": GOOGLES, "response_json_schema": GOOGLES}
    called = ask(tools=[{"functionDeclarations": [function]}], **calling(mode="ANY")).json
    arguments = called["candidates"][0]["content"]["parts"][0]["functionCall"]["args"]
    assert (arguments["score"] in range(1, 6), arguments["type"] in ("A", "B")) == (True, True)


def test_what_a_rule_answers_is_compared_with_such_a_schema() -> None:
    config = {"responseMimeType": "application/json", "responseJsonSchema": GOOGLES}
    fits = {"score": 3, "type": "A", "tags": ["a", "b"], "left": {"level": 2}, "either": 1.5, "none": None}
    for answer, remarks in ((fits, 0), ({**fits, "score": "3"}, 1), ({**fits, "none": 1}, 1)):
        server = local(json.dumps({"rules": [{"then": {"text": json.dumps(answer)}}]}))
        answered = server.ask(f"{DEVELOPER}x:generateContent", {**HI, "generationConfig": config})
        assert len(answered.remarks) == remarks, answered.remarks


def test_code_in_the_history_is_text() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
    printed = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    history = [*HI["contents"], {"role": "model", "parts": [code, printed]}, *HI["contents"]]
    (details,) = ask(contents=history).json["usageMetadata"]["promptTokensDetails"]
    assert details["modality"] == "TEXT"
    assert details["tokenCount"] < 100


def test_details_of_a_vertex_stream_grow() -> None:
    answered = SERVER.ask(f"{VERTEX}gemini-2.5-flash:streamGenerateContent?alt=sse", HI)
    events = [json.loads(event[6:]) for event in answered.body.split(b"\r\n\r\n")[:-1]]
    assert len(events) > 5
    for at, event in enumerate(events, 1):
        usage = event["usageMetadata"]
        assert usage["candidatesTokensDetails"] == [{"modality": "TEXT", "tokenCount": at}]
        assert usage["candidatesTokenCount"] == at


def test_vertex_says_what_traffic_it_was_after_the_total() -> None:
    usage = SERVER.ask(f"{VERTEX}gemini-2.5-flash:generateContent", HI).json["usageMetadata"]
    assert list(usage)[2:5] == ["totalTokenCount", "trafficType", "promptTokensDetails"]


@pytest.mark.parametrize("front", [DEVELOPER, VERTEX])
def test_no_stop_sequence_is_empty(front: str) -> None:
    body = {**HI, "generationConfig": {"stopSequences": ["a", ""]}}
    refused = message(SERVER.ask(f"{front}gemini-2.5-flash:generateContent", body))
    assert refused == "* GenerateContentRequest.generation_config.stop_sequences[1]: must not be empty.\n"


def test_cached_contents_count_what_they_hold() -> None:
    model = "models/gemini-2.5-flash"
    cache = SERVER.ask("/gemini/v1beta/cachedContents", {**HI, "model": model}).json
    total, named = cache["usageMetadata"]["totalTokenCount"], {"cachedContent": cache["name"]}
    usage = ask(**named).json["usageMetadata"]
    assert (usage["cachedContentTokenCount"], usage["cacheTokensDetails"][0]["tokenCount"]) == (total, total)
    asked = {"generateContentRequest": {"model": model, **HI, **named}}
    counted = SERVER.ask(f"/gemini/v1beta/{model}:countTokens", asked).json
    assert (counted["totalTokens"], counted["cachedContentTokenCount"]) == (usage["promptTokenCount"], total)


@pytest.mark.parametrize("contents", [{}, {"contents": []}])
def test_cached_contents_of_tools_alone_are_checked(contents: Json) -> None:
    asked = {"model": "models/gemini-2.0-flash-001", **contents}
    nameless = {"functionDeclarations": [{"description": "What the sea is like."}]}
    refused = SERVER.ask("/gemini/v1beta/cachedContents", {**asked, "tools": [nameless]})
    assert refused.status == 400
    assert "cached_content.tools[0].function_declarations[0].name" in refused.json["error"]["message"]
    named = {"functionDeclarations": [{"name": "look_at_sea"}]}
    assert SERVER.ask("/gemini/v1beta/cachedContents", {**asked, "tools": [named]}).status == 200


def test_cached_contents_of_a_project() -> None:
    caches = "/gemini/v1beta1/projects/p/locations/l/cachedContents"
    cache = SERVER.ask(caches, {**HI, "model": "projects/p/locations/l/publishers/google/models/x"}).json
    assert cache["name"].startswith("projects/p/locations/l/cachedContents/")
    assert SERVER.ask(f"/gemini/v1beta1/{cache['name']}", method="GET").json == cache
    assert cache in SERVER.ask(caches, method="GET").json["cachedContents"]
    usage = SERVER.ask(f"{VERTEX}x:generateContent", {**HI, "cachedContent": cache["name"]}).json["usageMetadata"]
    assert usage["cachedContentTokenCount"] == cache["usageMetadata"]["totalTokenCount"]
    assert SERVER.ask(f"/gemini/v1beta1/{cache['name']}", method="DELETE").json == {}


def test_tools_of_cached_contents_are_counted() -> None:
    model, tools = "models/gemini-2.5-flash", [{"functionDeclarations": [{"name": "get_weather"}]}]
    cache = SERVER.ask("/gemini/v1beta/cachedContents", {**HI, "model": model, "tools": tools}).json
    asked = {"generateContentRequest": {**HI, "model": model, "cachedContent": cache["name"]}}
    counted = SERVER.ask(f"/gemini/v1beta/{model}:countTokens", asked).json
    usage = ask(cachedContent=cache["name"]).json["usageMetadata"]
    assert counted["totalTokens"] == usage["promptTokenCount"] > 10
    assert counted["cachedContentTokenCount"] == cache["usageMetadata"]["totalTokenCount"]


def test_media_of_cached_contents() -> None:
    model, image = "models/gemini-2.5-flash", {"inlineData": {"mimeType": "image/png", "data": "eA=="}}
    pictured = {"contents": [{"role": "user", "parts": [{"text": "See"}, image]}]}
    named = {"cachedContent": SERVER.ask("/gemini/v1beta/cachedContents", {**pictured, "model": model}).json["name"]}
    asked = {"generateContentRequest": {"model": model, **pictured, **named}}
    counted = SERVER.ask(f"/gemini/v1beta/{model}:countTokens", asked).json
    for usage in (ask(**pictured, **named).json["usageMetadata"], counted):
        details = [dict(each.values() for each in usage[key]) for key in ("promptTokensDetails", "cacheTokensDetails")]
        assert [each["IMAGE"] for each in details] == [516, 258]
        assert sum(details[1].values()) == usage["cachedContentTokenCount"]


def test_the_newer_end_of_a_cached_content_holds() -> None:
    cache = SERVER.ask("/gemini/v1beta/cachedContents", {**HI, "model": "models/x", "ttl": "60s"}).json

    def changed(body: Json) -> str:
        return str(SERVER.ask(f"/gemini/v1beta/{cache['name']}", body, method="PATCH").json["expireTime"])

    assert changed({"expireTime": "2030-01-01T01:00:00.5+01:00"}) == "2030-01-01T00:00:00.5Z"
    assert changed({"ttl": "60s"}) == cache["expireTime"]


@pytest.mark.parametrize("moment", ["2030-99-99T00:00:00Z", "0000-01-01T00:00:00Z", "2030-01-01", 3, "x"])
def test_timestamps_are_dates(moment: Json) -> None:
    refused = SERVER.ask("/gemini/v1beta/cachedContents", {**HI, "model": "models/x", "expireTime": moment})
    assert message(refused).startswith("Invalid value at 'expire_time' (type.googleapis.com/google.protobuf.Timestamp)")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("pageToken=zzz", "Page token is not valid."),
        ("pageSize=x", "Invalid value at 'page_size' (TYPE_INT32), \"x\""),
    ],
)
def test_pages_that_are_refused(query: str, why: str) -> None:
    assert message(SERVER.ask(f"/gemini/v1beta/models?{query}", method="GET")) == why


def test_users_have_tuned_no_models() -> None:
    assert SERVER.ask("/gemini/v1beta/tunedModels", method="GET").json == {}
    assert SERVER.ask("/gemini/v1beta/tunedModels/x", method="GET").json["name"] == "tunedModels/x"
    whole = SERVER.ask("/gemini/v1/projects/p/locations/l/publishers/google/models/x", method="GET").json
    assert whole["name"] == "publishers/google/models/x"


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_cached_contents_that_nobody_made(method: str) -> None:
    found = SERVER.ask("/gemini/v1beta/cachedContents/x", {"ttl": "1s"} if method == "PATCH" else None, method=method)
    assert message(found, 403) == "CachedContent not found (or permission denied)"
    assert message(ask(cachedContent="cachedContents/x"), 403) == message(found, 403)
    asked = {"generateContentRequest": {**HI, "model": "models/x", "cachedContent": "cachedContents/x"}}
    assert message(SERVER.ask(f"{DEVELOPER}x:countTokens", asked), 403) == message(found, 403)


def test_files_that_nobody_uploaded() -> None:
    server, path = local(), "/gemini/v1beta/files/x"
    assert server.ask(path, method="GET").json["name"] == "files/x"
    assert server.ask(path, method="DELETE").json == {}
    assert server.ask(path, method="GET").json["name"] == "files/x"
    refused = message(local(unmatched="error").ask(path, method="GET"), 403)
    assert refused == "You do not have permission to access the File x or it may not exist."


def test_a_stated_401_is_that_of_a_token() -> None:
    server = local('{"rules": [{"then": {"error": 401}}]}')
    error = server.ask(f"{DEVELOPER}x:generateContent", HI, headers={"x-goog-api-key": "k"}).json["error"]
    assert (error["status"], error["details"][0]["reason"]) == ("UNAUTHENTICATED", "ACCESS_TOKEN_TYPE_UNSUPPORTED")


def test_zeros_and_empty_lists_are_not_printed() -> None:
    note = {"startIndex": 0, "endIndex": 4, "uri": "https://example.com"}
    then = {"text": "Oslo", "annotations": [note], "usage": {"prompt_tokens": 0, "completion_tokens": 0}}
    said = local(json.dumps({"rules": [{"then": then}]})).ask(f"{DEVELOPER}x:generateContent", HI).json
    sources = said["candidates"][0]["citationMetadata"]["citationSources"]
    assert (sources, said["usageMetadata"]) == (
        [{"endIndex": 4, "uri": "https://example.com"}],
        {"serviceTier": "standard"},
    )


@pytest.mark.parametrize("upload", ["AHVrFx", "eyJkaXNwbGF5TmFtZSI6IHt9fQ", "W10"])
def test_an_upload_that_began_elsewhere_is_refused(upload: str) -> None:
    refused = SERVER.ask(f"/gemini/upload/v1beta/files?upload_id={upload}", b"The sea.")
    assert message(refused) == "Invalid upload id."
    assert SERVER.ask("/gemini/v1beta/files", method="GET").json == {}


def _begin_upload(server: Any) -> str:
    headers = {"x-goog-upload-command": "start", "x-goog-upload-header-content-type": "text/plain"}
    url: str = server.ask("/gemini/upload/v1beta/files", {"file": {}}, headers=headers).headers["x-goog-upload-url"]
    return "/gemini" + url.partition("/gemini")[2]


def _upload(server: Any, path: str, data: bytes, offset: object, *, last: bool = False) -> Any:
    command = "upload, finalize" if last else "upload"
    return server.ask(path, data, headers={"x-goog-upload-command": command, "x-goog-upload-offset": str(offset)})


def _download(server: Any, uploaded: Any) -> bytes:
    name = uploaded.json["file"]["name"]
    content: bytes = server.ask(f"/gemini/v1beta/{name}:download?alt=media", method="GET").body
    return content


def test_each_piece_of_an_upload_is_where_it_says() -> None:
    server = local()
    one, other = _begin_upload(server), _begin_upload(server)
    _upload(server, one, b"ab", 0)
    _upload(server, other, b"AB", 0)  # of a file that is described alike
    _upload(server, one, b"cd", 2)
    _upload(server, one, b"cd", 2)  # once more
    file = _upload(server, one, b"ef", 4, last=True)
    assert _download(server, file) == b"abcdef"
    assert file.json["file"]["sizeBytes"] == "6"  # though none was announced, as the client for Go does with a stream
    assert _download(server, _upload(server, other, b"CD", 2, last=True)) == b"ABCD"


@pytest.mark.parametrize("offset", [3, "x", -1, "9" * 5_000])
def test_a_piece_behind_what_was_received_is_refused(offset: object) -> None:
    server = local()
    path = _begin_upload(server)
    _upload(server, path, b"ab", 0)
    refused = _upload(server, path, b"cd", offset, last=True)
    assert message(refused).startswith("Invalid upload offset")
    assert message(refused).endswith("bytes have been received.")
    assert _download(server, _upload(server, path, b"cd", 2, last=True)) == b"abcd"


def test_the_addresses_of_a_namespace() -> None:
    start = {"headers": {"host": "a:1", "x-goog-upload-command": "start"}, "namespace": "b c"}
    began = SERVER.ask("/gemini/upload/v1beta/files", {"file": {"mimeType": "text/plain"}}, **start)
    assert began.headers["x-goog-upload-url"].startswith("http://a:1/ns/b%20c/gemini/upload/v1beta/files?upload_id=")
    made = SERVER.ask("/gemini/v1beta/files", {"file": {"name": "x"}}, headers={"host": "a:1"}, namespace="b c")
    assert made.json["file"]["uri"] == "http://a:1/ns/b%20c/gemini/v1beta/files/x"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            b'{"contents": "',
            "Unexpected end of string. Closing quote expected in string.\n" + '{"contents": "\n' + " " * 14,
        ),
        (b"{", "Unexpected end of string. Expected an object key or }.\n{\n "),
        (b'{"contents":\n[{}}', 'Expected , or ] after array value.\n{"contents":\n[{}}\n' + " " * 16),
        (b'{"contents": [}', 'Expected a value.\n{"contents": [}\n' + " " * 14),
        (b"{} {}", "Unexpected token.\n{} {}\n   "),
    ],
)
def test_broken_json_is_shown(body: bytes, why: str) -> None:
    refused = SERVER.ask(f"{DEVELOPER}x:generateContent", body)
    assert message(refused) == f"Invalid JSON payload received. {why}^"
    assert refused.json["error"]["details"][0]["fieldViolations"] == [{"description": message(refused)}]


def test_a_body_is_a_message() -> None:
    refused = SERVER.ask(f"{DEVELOPER}x:generateContent", b"[]")
    assert message(refused) == 'Invalid JSON payload received. Unknown name "": Root element must be a message.'


@pytest.mark.parametrize(
    "part", [{"inlineData": {"mimeType": "image/png", "data": "eA=="}}, {"functionCall": {"name": "f"}}]
)
def test_instructions_are_texts(part: Json) -> None:
    refused = message(ask(systemInstruction={"parts": [{"text": "Be brief."}, part]}))
    assert refused.startswith("* GenerateContentRequest.system_instruction.parts[1].data: only text is supported")


def test_arguments_are_objects() -> None:
    functions = {"functionDeclarations": [{"name": "f", "parameters": {"type": "STRING"}}]}
    assert message(ask(tools=[functions])).endswith("[0].parameters: schema should be of type OBJECT.\n")


def test_bounds_at_vertex() -> None:
    body = {**HI, "generationConfig": {"topK": -1}}
    refused = message(SERVER.ask(f"{VERTEX}x:generateContent", body))
    assert refused == "* GenerateContentRequest.generation_config.top_k: top_k must be at least 0.\n"


def test_a_cached_content_ends_once() -> None:
    both = {"model": "models/x", "ttl": "1s", "expireTime": "2030-01-01T00:00:00Z"}
    refused = message(SERVER.ask("/gemini/v1beta/cachedContents", {**HI, **both}))
    assert refused == "Invalid value (oneof), oneof field 'expiration' is already set. Cannot set 'expireTime'"


def test_words_of_statuses() -> None:
    cancelled = local('{"rules": [{"then": {"error": 499}}]}').ask(f"{DEVELOPER}x:generateContent", HI)
    assert message(cancelled, 499) == "The operation was cancelled."
    late = local('{"rules": [{"then": {"error": "timeout"}}]}').ask(f"{DEVELOPER}x:generateContent", HI)
    assert message(late, 504) == "Deadline expired before operation could complete."


def test_a_request_that_is_counted_names_its_model() -> None:
    refused = SERVER.ask(f"{DEVELOPER}x:countTokens", {"generateContentRequest": HI})
    assert message(refused) == "* CountTokensRequest.generate_content_request.model: model is not specified\n"


def test_ratings_of_a_prompt() -> None:
    then = {"text": "One two.", "annotate": {"prompt": {"hate": "low"}}}
    server = local(json.dumps({"rules": [{"then": then}]}))
    ratings = [{"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "LOW"}]
    plain = server.ask(f"{DEVELOPER}x:generateContent", HI).json
    events = server.ask(f"{DEVELOPER}x:streamGenerateContent", HI).json
    assert plain["promptFeedback"] == events[-1]["promptFeedback"] == {"safetyRatings": ratings}
    assert "promptFeedback" not in events[0]


def test_the_newer_form_of_formats() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    for form in ([{"text": {"mimeType": "application/json", "schema": schema}}], {"text": {"schema": schema}}):
        said = ask({"responseFormat": form}).json["candidates"][0]["content"]["parts"][0]["text"]
        assert isinstance(json.loads(said)["n"], int)
    free = ask({"response_format": [{"text": {"mime_type": "application/json"}}]}).json
    assert isinstance(json.loads(free["candidates"][0]["content"]["parts"][0]["text"]), dict)


def test_no_more_properties_than_are_allowed() -> None:
    schema = {"type": "OBJECT", "properties": {name: {"type": "STRING"} for name in "abc"}, "maxProperties": "2"}
    assert list(answer(schema)) == ["a", "b"]


def test_service_tiers() -> None:
    assert ask(serviceTier="flex").status == 200
    assert message(ask(serviceTier="bogus")).startswith("Invalid value at 'service_tier'")


def test_labels_are_metadata() -> None:
    server = local('{"rules": [{"when": {"metadata.team": "a"}, "then": {"text": "Of a."}}]}')
    answered = server.ask(f"{VERTEX}x:generateContent", {**HI, "labels": {"team": "a"}})
    assert answered.json["candidates"][0]["content"]["parts"] == [{"text": "Of a."}]
