"""Each field reads what it says, and None where the request has no such thing."""

from typing import Any

import pytest

from mockserver.core.call import Call, Message, ToolChoice
from mockserver.rules.match.fields import find_field, make_expression_field
from tests.kit.calls import Web, call, tool_result

IMAGE = {"type": "image_url", "image_url": {"url": "data:"}}
TALK = (
    Message("system", "Be brief."),
    Message("user", "Hi"),
    Message("assistant", "Hello"),
    Message("developer", "Be kind."),
    Message("user", "Bye", parts=(IMAGE, {"type": "input_audio"}, {"type": "input_image"})),
)
WEB = Web({"X-Id": "7", "Authorization": "bearer  sk-1"}, {"api-version": "1"}, "ns1")
RAW = {"user": "ann", "metadata": {"a.b": "c"}, "stop": ["x", {"y": 1}], "n": 0}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dialect", "openai"),
        ("operation", "chat"),
        ("path", "/chat/completions"),
        ("model", "gpt-4o"),
        ("stream", True),
        ("last_user", "Bye"),
        ("last_message", "Bye"),
        ("system", "Be brief.\nBe kind."),
        ("conversation", "Be brief.\nHi\nHello\nBe kind.\nBye"),
        ("turn", 1),
        ("tools", ("get_weather", "get_time")),
        ("tool_choice", "auto"),
        ("tool_result", None),
        ("response_format", "json_object"),
        ("images", 2),
        ("param.user", "ann"),
        ("param.stop.1.y", 1),
        ("param.stop.99999999999999999999", None),
        ("param.stop.1.y.z", None),
        ("header.x-id", "7"),
        ("header.absent", None),
        ("query.api-version", "1"),
        ("metadata.a.b", "c"),
        ("key", "sk-1"),
        ("attempt", 2),
        ("namespace", "ns1"),
        ("prompt_tokens", 992),
    ],
)
def test_field(name: str, value: Any) -> None:
    asked = call(
        *TALK,
        tools=("get_weather", "get_time"),
        web=WEB,
        raw=RAW,
        stream=True,
        attempt=2,
        tool_choice=ToolChoice("auto"),
        response_format="json_object",
    )
    field = find_field(name)
    assert field is not None
    assert field.read(asked) == value
    assert field.read(asked) == value, "reading keeps nothing that changes the value"


@pytest.mark.parametrize("name", ["last_user", "last_message", "system", "conversation", "tool_result", "key"])
def test_what_is_not_there_is_none(name: str) -> None:
    assert read(name, call()) is None


@pytest.mark.parametrize(
    ("choice", "value"),
    [
        (ToolChoice("named", ("get_weather",)), "get_weather"),
        (ToolChoice("named", ("a", "b")), "named"),
    ],
)
def test_tool_choice(choice: ToolChoice, value: str) -> None:
    assert read("tool_choice", call(tool_choice=choice)) == value


@pytest.mark.parametrize(
    ("headers", "value"),
    [
        ({"authorization": "Bearer a", "api-key": "b"}, "a"),
        ({"authorization": "Basic a", "api-key": "b", "x-api-key": "c"}, "b"),
        ({"authorization": "Basic a"}, None),
    ],
)
def test_key(headers: dict[str, str], value: str | None) -> None:
    assert read("key", call(web=Web(headers))) == value


@pytest.mark.parametrize(
    ("text", "parsed"),
    [('{"sky": "blue"}', {"sky": "blue"}), ("blue", None), ("[" * 100_000, None), ("9" * 5000, None)],
)
def test_tool_result(text: str, parsed: Any) -> None:
    assert read("tool_result", call(*tool_result(text))) == {"name": "get_weather", "text": text, "json": parsed}


@pytest.mark.parametrize(
    ("name", "family"), [("model", "model"), ("header.x.y", "header"), ("tool_result", "tool_result")]
)
def test_family(name: str, family: str) -> None:
    field = find_field(name)
    assert field is not None
    assert field.family == family


def test_the_family_of_expressions() -> None:
    assert make_expression_field("a.b").family == "body"


@pytest.mark.parametrize("name", ["", "nothing", "header", "header.", "body.x", "tools.x", ".x", "header.<name>"])
def test_unknown_names(name: str) -> None:
    assert find_field(name) is None


def test_a_header_that_cannot_be() -> None:
    with pytest.raises(ValueError, match='"ж" is not a valid header name'):
        find_field("header.ж")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("messages[0].content", "hi"),
        ("length(messages)", 1),
        ("absent", None),
        ("length(absent)", None),
    ],
)
def test_expression(text: str, value: Any) -> None:
    assert make_expression_field(text).read(call(raw={"messages": [{"content": "hi"}]})) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo[", "invalid JMESPath expression: Incomplete expression at column 4"),
        (
            "a b",
            "invalid JMESPath expression: Unexpected token: b: Parse error at column 2, "
            'token "b" (UNQUOTED_IDENTIFIER)',
        ),
        ("foo[*].size(@)", "invalid JMESPath expression: unknown function size()"),
        ("length()", "invalid JMESPath expression: length() takes 1 argument, not 0"),
        ("join(@)", "invalid JMESPath expression: join() takes 2 arguments, not 1"),
    ],
)
def test_an_expression_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="invalid JMESPath") as caught:
        make_expression_field(text)
    assert str(caught.value) == message


def read(name: str, asked: Call) -> Any:
    field = find_field(name)
    assert field is not None
    return field.read(asked)
