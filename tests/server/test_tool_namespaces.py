"""Tools in namespaces, as coding agents offer them: matched, called, generated, and mapped back."""

from typing import Any

import pytest
from openai.types.responses import ResponseFunctionToolCall

from tests.kit.local import Local, local
from tests.kit.strict_responses import check_response

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"type": "function", "name": "get_weather", "description": "Weather of a city", "parameters": CITY}
NOTE = {"type": "custom", "name": "take_note", "description": "Takes a note"}
CRM = {"type": "namespace", "name": "crm", "description": "", "tools": [WEATHER, NOTE]}
MAPS = {"type": "namespace", "name": "maps", "description": "", "tools": [WEATHER]}
ASKED = {"role": "user", "content": "Call get_weather for Oslo"}


def offer(*tools: Any, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-5.2", "input": [ASKED], "tools": [*tools], **more}


def bring(kind: str, *tools: Any) -> dict[str, Any]:
    """The same tools in an item of the input."""
    item = {"type": kind, "role": "developer", "tools": [*tools]}
    return {"model": "gpt-5.2", "input": [item, ASKED]}


def call(server: Local, body: dict[str, Any]) -> Any:
    answered = server.ask("/v1/responses", body)
    assert answered.status == 200, answered.body
    (item,) = check_response(answered.body).output
    return item


@pytest.mark.parametrize("body", [offer(CRM), bring("additional_tools", CRM), bring("tool_search_output", CRM)])
@pytest.mark.parametrize("mode", ["published", "live", "off"])
def test_the_model_calls_them(body: dict[str, Any], mode: str) -> None:
    made = call(local(validation=mode), {**body, "tool_choice": {"type": "function", "name": "get_weather"}})
    assert isinstance(made, ResponseFunctionToolCall)
    assert (made.namespace, made.name, made.arguments) == ("crm", "get_weather", '{"city":"Oslo"}')


def test_a_namespace_is_allowed_as_a_whole() -> None:
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "namespace", "name": "maps"}]}
    assert call(local(), offer(CRM, MAPS, tool_choice=allowed)).namespace == "maps"


@pytest.mark.parametrize("name", ["get_weather", "crm.get_weather", "crm.*", "[get_weather, crm.take_note]"])
def test_rules_match_them_by_either_name(name: str) -> None:
    rules = f"rules: [{{when: {{tools: {{includes: {name}}}}}, then: {{text: Found}}}}]"
    server = local(rules, unmatched="error")
    assert server.ask("/v1/responses", offer(CRM)).status == 200
    assert server.ask("/v1/responses", offer(MAPS | {"tools": [NOTE]})).status == 404


CALLS = {
    "{tool_calls: [{name: get_weather}]}": "crm",
    "{tool_calls: [{name: crm.get_weather}]}": "crm",
    "{tool_calls: [{name: get_weather, namespace: crm, arguments: {city: Rome}}]}": "crm",
    "{tool_calls: [{name: get_weather, namespace: other}]}": "other",
    "{items: [{type: function_call, name: get_weather, namespace: crm}]}": "crm",
    "{tool_calls: [{name: take_note, input: Milk}]}": "crm",
    "{items: [{type: custom_tool_call, name: take_note, input: Milk, namespace: crm}]}": "crm",
    "{tool_calls: [{name: of_nobody}]}": None,
}


@pytest.mark.parametrize("then", CALLS)
def test_rules_call_them(then: str) -> None:
    server = local(f"rules: [{{then: {then}}}]", lint="warn")
    body = offer(CRM)
    assert call(server, body).namespace == CALLS[then]
    assert bool(server.ask("/v1/responses", body).remarks) is (CALLS[then] != "crm")
    items = [frame["item"] for frame in server.ask("/v1/responses", {**body, "stream": True}).frames if "item" in frame]
    assert [item.get("namespace") for item in items] == [CALLS[then]] * 2


def test_of_two_namespaces_a_rule_names_one() -> None:
    for stated, namespace in (("", None), (", namespace: maps", "maps")):
        server = local(f"rules: [{{then: {{tool_calls: [{{name: get_weather{stated}}}]}}}}]")
        made = call(server, offer(CRM, MAPS))
        assert (made.namespace, made.arguments) == (namespace, '{"city":"Oslo"}')


@pytest.mark.parametrize(
    ("tool", "remark"),
    [
        (
            "name: get_weather",
            'calls "get_weather", which several namespaces offer: "crm" and "maps"; add namespace',
        ),
        ("name: get_weather, namespace: erp", 'calls "erp.get_weather", a tool that the request does not offer'),
        ("name: maps.get_weather", ""),
    ],
)
def test_remarks_name_the_namespace(tool: str, remark: str) -> None:
    server = local(f"rules: [{{then: {{tool_calls: [{{{tool}, arguments: {{}}}}]}}}}]", lint="warn")
    assert remark in "".join(server.ask("/v1/responses", offer(CRM, MAPS)).remarks)


def test_results_belong_to_their_calls() -> None:
    rules = 'rules: [{when: {tool_result: {exists: true}}, then: {text: "{{ tool_result.name }}"}}]'
    made = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "namespace": "crm", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "call_1", "output": "7 degrees"}
    body = {**offer(CRM), "input": [ASKED, made, result]}
    assert call(local(rules, unmatched="error", validation="live"), body).content[0].text == "get_weather"


@pytest.mark.parametrize("tools", [5, [5], [{}], [{"type": "function"}], [{"type": "namespace"}], [CRM | {"tools": 5}]])
def test_tools_that_cannot_be_read_are_none(tools: Any) -> None:
    item = {"type": "additional_tools", "role": "developer", "tools": tools}
    assert call(local(), {"model": "gpt-5.2", "input": [item, ASKED]}).type == "message"
