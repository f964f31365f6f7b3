"""What is said of what tools gave back."""

import json
from typing import Any

import pytest

from mockserver.core.call import Call, Message, ToolCall
from mockserver.core.http import HttpRequest
from mockserver.model.prose.results import result_texts, results_text

Result = tuple[str, dict[str, Any], str]


def conversation(*results: Result, said: str = "And now?") -> Call:
    messages = [Message("user", said)]
    for at, (name, arguments, text) in enumerate(results):
        messages.append(Message("assistant", tool_calls=(ToolCall(str(at), name, json.dumps(arguments)),)))
        messages.append(Message("tool", text, tool_call_id=str(at)))
    return Call("openai", "chat", "m", HttpRequest("POST", "/"), 0, messages=tuple(messages))


TOLD: list[tuple[Result, str]] = [
    (
        ("get_weather", {"city": "Paris"}, '{"sky": "clear", "temperature": 21, "city": "Paris"}'),
        "The weather in Paris: sky clear, temperature 21.",
    ),
    (
        ("get_weather", {"city": "Paris"}, '{"temperature": 21, "unit": "celsius"}'),
        "The weather in Paris: temperature 21 celsius.",
    ),
    (("get_weather", {"city": "Paris"}, "It is sunny!"), "The weather in Paris: It is sunny!"),
    (("add", {"a": 2, "b": 3}, "5"), "The result of add for 2 and 3: 5."),
    (
        ("searchFlights", {"origin": "Rome", "destination": "Oslo"}, '[{"id": 1, "price": 20.5}, {"id": 2}]'),
        "The flights from Rome to Oslo: (1) id 1, price 20.5, (2) id 2.",
    ),
    (("list_names", {}, '["Ada", "Bob"]'), "The names: Ada, Bob."),
    (("is_open", {}, "true"), "The result of is_open: yes."),
    (("get_user", {"id": 7}, '{"name": {"first": "Ada"}, "tags": []}'), "The user for 7: name: first Ada, tags: none."),
    (("read_file", {"path": "a.txt"}, "one\ntwo"), "The file a.txt:\n\none\ntwo"),
    (("get_weather", {}, "Error: no such city"), "get_weather failed: Error: no such city."),
    (("get_weather", {}, '{"error": {"message": "no such city"}}'), "get_weather failed: message no such city."),
    (("save", {}, '{"success": false, "reason": "full"}'), "save failed: success no, reason full."),
    (("send_email", {"to": "bob@example.com"}, '{"ok": true}'), "Done: send email to bob@example.com."),
    (("save", {"path": "a.txt"}, '{"status": "success"}'), "Done: save a.txt."),
    (("save", {}, '{"ok": true, "id": 7}'), "The result of save: ok yes, id 7."),
    (("search_web", {"query": "tea"}, '["green"]'), "The results for tea: green."),
    (("save", {}, ""), "save returned nothing."),
    (("save", {}, "null"), "save returned nothing."),
]


@pytest.mark.parametrize(("result", "text"), TOLD)
def test_told(result: Result, text: str) -> None:
    assert results_text(conversation(result)) == text


def test_what_several_results_say_alike_is_told_once() -> None:
    assert results_text(conversation(("save", {}, ""), ("save", {"a": 1}, ""))) == "save returned nothing."


def test_a_handover_is_nothing_to_tell() -> None:
    moved = ("transfer_to_clerk", {}, '{"assistant": "Clerk"}')
    assert results_text(conversation(moved)) is None
    assert results_text(conversation(moved, ("add", {}, "5"))) == "The result of add: 5."
    money = ("transfer", {"to": "bob"}, '{"id": 1}')
    assert results_text(conversation(money)) == "The result of transfer to bob: id 1."


def test_screens_are_seen() -> None:
    call = conversation()
    calls = (ToolCall("1", "computer_use_preview", "{}", "computer_call"), ToolCall("2", "plot", "{}"))
    seen = tuple(Message("tool", "", ({"type": "image_url"},), tool_call_id=made.id) for made in calls)
    messages = (*call.messages, Message("assistant", tool_calls=calls), *seen)
    made = results_text(Call("openai", "chat", "m", call.http, 0, messages=messages))
    assert made == "Done: I have gone through the steps on the screen. plot gave back an image."


def test_without_results_there_is_nothing_to_tell() -> None:
    assert results_text(conversation()) is None
    earlier = conversation(("add", {}, "5"))
    later = Call("openai", "chat", "m", earlier.http, 0, messages=(*earlier.messages, Message("user", "Thanks")))
    assert results_text(later) is None
    assert result_texts(later) == ()


def test_results_in_the_order_of_their_calls() -> None:
    made = results_text(conversation(("add", {"a": 1}, "5"), ("get_time", {"zone": "UTC"}, "noon")))
    assert made == "The result of add for 1: 5. The time for UTC: noon."


def test_a_result_of_no_known_call() -> None:
    lone = Call("openai", "chat", "m", HttpRequest("POST", "/"), 0, messages=(Message("tool", "5", name="add"),))
    assert results_text(lone) == "The result of add: 5."
    nameless = Call("openai", "chat", "m", HttpRequest("POST", "/"), 0, messages=(Message("tool", "5"),))
    assert results_text(nameless) == "The result of the tool: 5."


def test_no_english_where_the_user_speaks_none() -> None:
    made = results_text(conversation(("get_weather", {"city": "Paris"}, '{"sky": "klar"}'), said="Wie ist das Wetter?"))
    assert made == "get weather (Paris): sky klar."


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({f"key{i}": i for i in range(10_000)}),
        json.dumps([{"a": [[["deep"]]]}] * 5000),
        "x" * 1_000_000,
        "line\n" * 100_000,
        "[" * 100_000,
        " " * 1_000_000,
    ],
)
def test_huge_results_are_bounded(text: str) -> None:
    made = results_text(conversation(("get", {"q": "x" * 10_000}, text)))
    assert made is not None
    assert len(made) < 3000


def test_many_results_are_bounded() -> None:
    made = results_text(conversation(*[("add", {"a": i}, str(i)) for i in range(500)]))
    assert made is not None
    assert made.endswith("(484 more)")
