"""The text on what tools returned."""

import json
from typing import Any

import pytest

from mockserver.core.call import Call, Message, ToolCall
from mockserver.core.http import HttpRequest
from mockserver.model.prose.passages import result_texts, results_text

Result = tuple[str, dict[str, Any], str]


def conversation(*results: Result) -> Call:
    messages = [Message("user", "And now?")]
    for at, (name, arguments, text) in enumerate(results):
        messages.append(Message("assistant", tool_calls=(ToolCall(str(at), name, json.dumps(arguments)),)))
        messages.append(Message("tool", text, tool_call_id=str(at)))
    return Call("openai", "chat", "m", HttpRequest("POST", "/"), 0, messages=tuple(messages))


@pytest.mark.parametrize(
    ("results", "text"),
    [
        ([("get_weather", {"city": "Paris"}, '{"sky": "clear", "degrees": 21}')],
         "Weather (Paris): sky clear, degrees 21."),
        ([("get_weather", {"city": "Paris"}, "It is sunny!")], "Weather (Paris): It is sunny!"),
        ([("searchFlights", {"origin": "Rome", "to": "Oslo"}, '[{"id": 1, "price": 20.5}, {"id": 2}]')],
         "Flights (Rome, Oslo): (1) id 1, price 20.5, (2) id 2."),
        ([("is_open", {}, "true")], "Is open: yes."),
        ([("get_user", {"id": 7}, '{"name": {"first": "Ada"}, "tags": []}')],
         "User (7): name: first Ada, tags: none."),
        ([("read_file", {"path": "a.txt"}, "one\n" * 200)], "File (a.txt):\n\n" + ("one\n" * 200).strip()),
        ([("save", {}, "")], "Save: –."),
        ([("save", {}, ""), ("save", {}, "")], "Save: –."),
        ([("add", {"a": 2, "b": 3}, "5"), ("get_time", {}, "noon")], "Add (2, 3): 5. Time: noon."),
        ([("transfer_to_clerk", {}, "{}")], None),
        ([("transfer_to_clerk", {}, "{}"), ("transfer", {"to": "bob"}, "done")], "Transfer (bob): done."),
        ([], None),
    ],
)  # fmt: skip
def test_text(results: list[Result], text: str | None) -> None:
    assert results_text(conversation(*results)) == text


def test_earlier_results_are_left_out() -> None:
    earlier = conversation(("add", {}, "5"))
    later = Call("openai", "chat", "m", earlier.http, 0, messages=(*earlier.messages, Message("user", "Thanks")))
    assert results_text(later) is None
    assert result_texts(later) == ()
    assert result_texts(earlier) == ("5",)


def test_a_result_of_no_known_call() -> None:
    image = Message("tool", "", ({"type": "image_url"},))
    lone = (Message("tool", "5", name="add"), image)
    assert results_text(Call("openai", "chat", "m", HttpRequest("POST", "/"), 0, messages=lone)) == (
        "Add: 5. Result: an image."
    )


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
    assert len(results_text(conversation(("get", {"q": "x" * 10_000}, text))) or "") in range(1, 3000)


def test_many_results_are_bounded() -> None:
    assert (results_text(conversation(*[("add", {"a": i}, str(i)) for i in range(500)])) or "").endswith("(484 more)")
