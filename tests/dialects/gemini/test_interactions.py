"""Interactions with odd bodies: each is answered or refused, in whatever words the client has."""

import json
from typing import Any

import pytest

from tests.kit.local import local

ODD: list[Any] = [None, 0, -1.5, "", "x", True, [], {}, [None], [[]], [{}], {"": None}, ["x"], [0], {"type": []}]
KEYS = (
    "model", "agent", "input", "stream", "store", "background", "previous_interaction_id", "system_instruction",
    "tools", "generation_config", "response_format", "response_mime_type", "response_modalities",
    "cached_content",
)  # fmt: skip
STEPS: list[Any] = [
    {"type": kind, **more}
    for kind in ("user_input", "model_output", "function_call", "function_result", "thought", "text", "image", "x", 1)
    for more in (
        {},
        {"content": "x"},
        {"content": [{"type": "text", "text": 1}]},
        {"id": 1, "name": 2, "arguments": "x"},
        {"call_id": 1, "result": 5},
        {"data": 1, "mime_type": 2},
        {"text": None},
    )
]
CONFIGS: list[Any] = [
    {key: value}
    for key in ("tool_choice", "thinking_level", "image_config", "speech_config", "seed", "stop_sequences")
    for value in ODD
]
FORMS: list[Any] = [
    {"type": kind, "schema": value} for kind in ("text", "image", "audio", 1) for value in (None, 1, {})
]
CALLED: Any = {"type": "function_call", "id": "a", "name": "look", "arguments": {}}
SCHEMA = {"type": "function", "name": "look", "parameters": {"type": "object"}}
BODIES: list[Any] = [
    *ODD,
    *[{"model": "m", "input": "x", key: value} for key in KEYS for value in ODD],
    *[{"model": "m", "input": step} for step in STEPS],
    *[{"model": "m", "input": [step, "x", CALLED]} for step in STEPS],
    *[{"model": "m", "input": "x", "generation_config": config} for config in CONFIGS],
    *[{"model": "m", "input": "x", "response_format": form} for form in FORMS],
    *[{"model": "m", "input": "x", "tools": [SCHEMA, {"type": "function", "name": value}]} for value in ODD],
    *[{"model": "m", "input": "x", "tools": [{**SCHEMA, "parameters": value}]} for value in ODD],
]


@pytest.mark.parametrize("validation", ["published", "live", "off"])
def test_odd_bodies_are_answered_or_refused(validation: str) -> None:
    server = local(f"settings: {{validation: {validation}}}\n")
    for body in BODIES:
        answered = server.ask("/gemini/v1beta/interactions", body)
        assert answered.status in (200, 400, 403, 404), (body, answered.body)
        if answered.status == 400:
            assert json.loads(answered.body)["error"]["status"] == "INVALID_ARGUMENT"


def test_instructions_are_a_text_or_an_object() -> None:
    body = {"model": "m", "input": "x", "system_instruction": [{"type": "text", "text": "Be brief"}]}
    answered = local("").ask("/gemini/v1beta/interactions", body)
    assert answered.status == 400
    assert json.loads(answered.body)["error"]["message"] == (
        "Invalid value at 'system_instruction': expected a string or an object."
    )


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3-pro-image-preview"])
def test_what_was_not_kept_is_not_found_if_unknown_ids_are_errors(model: str) -> None:
    server = local(
        "rules:\n"
        "- {when: {operation: chat}, then: {text: Hi}}\n"
        "- {when: {operation: images}, then: {image: {color: red}}}\n",
        unmatched="error",
    )
    path = "/gemini/v1beta/interactions"
    made = server.ask(path, {"model": model, "input": "x", "store": False}).json
    one = f"{path}/{made['id']}"
    for method, url in (("GET", one), ("POST", f"{one}/cancel"), ("DELETE", one)):
        assert server.ask(url, method=method).status == 404
    goes_on = {"model": model, "input": "x", "previous_interaction_id": made["id"]}
    assert server.ask(path, goes_on).status == 404


THOUGHT = {"type": "thought", "signature": "x"}
CALL = {"type": "function_call", "id": "1", "name": "find", "arguments": {"city": "Oslo"}}
RESULT = {"type": "function_result", "call_id": "1", "result": "rain"}


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([CALL, RESULT], id="steps"),
        pytest.param([CALL, {"type": "user_input", "content": [RESULT]}], id="content of the user's step"),
        pytest.param(
            [{"role": "model", "content": [THOUGHT, CALL]}, {"role": "user", "content": [RESULT]}], id="turns"
        ),
    ],
)
def test_results_of_functions_are_steps_or_contents(steps: list[Any]) -> None:
    server = local("rules: [{when: {tool_result: {name: find, text: '*rain*'}}, then: {text: Take a coat}}]\n")
    asked = {"type": "user_input", "content": [{"type": "text", "text": "How is it in Oslo?"}]}
    answered = server.ask("/gemini/v1beta/interactions", {"model": "m", "input": [asked, *steps]})
    assert answered.json["steps"][-1]["content"] == [{"type": "text", "text": "Take a coat"}]
