"""Answers that the conversation holds: passages and results of tools."""

import json
from typing import Any

import pytest

from mockserver.core.call import Call, Message, ToolCall
from mockserver.core.http import HttpRequest
from mockserver.model.passages import describe_results, find_passage, list_result_texts
from mockserver.model.prose import read_topic

TOWER = "The tower of Pisa is 56 metres tall. It was begun in 1173. Tickets cost 20 euros."
SHOP = "You are the clerk of Brown's. Our shop opens at 9. Refunds take 14 days. Always greet Rome politely."
ROLES = {"S": "system", "U": "user", "A": "assistant", "T": "tool"}


def answer(*turns: str) -> str | None:
    messages = tuple(Message(ROLES[turn[0]], turn[2:]) for turn in turns)
    asked = next(message.text for message in reversed(messages) if message.role == "user")
    return find_passage(Call("openai", "chat", "m", HttpRequest("POST", "/"), 0, messages=messages), read_topic(asked))


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        ((f"U:Context: {TOWER}\n\nQuestion: How tall is the tower of Pisa?\nAnswer:",), TOWER[:36]),
        ((f"U:Context: {TOWER} Question: When was it begun?",), "It was begun in 1173."),
        ((f"U:What do tickets cost?\n\n<doc id='1'>\n{TOWER}\n</doc>",), "Tickets cost 20 euros."),
        ((f"S:{SHOP}", "U:How long do refunds take?"), "Refunds take 14 days."),
        ((f"S:{SHOP}", "U:When do you open?"), "Our shop opens at 9."),
        ((f"S:{SHOP}", "U:Do refunds take 14 days?"), "Yes. Refunds take 14 days."),
        (("S:Dogs are not allowed in the garden.", "U:Are dogs allowed in the garden?"),
         "No. Dogs are not allowed in the garden."),
        (("U:I live in Ghent and work in Bruges.", "A:I see.", "U:Where do I live?"),
         "You live in Ghent and work in Bruges."),
        (("U:My favourite tea is green.", "A:Nice.", "U:What's my favourite tea?"), "Your favourite tea is green."),
        (("U:Hi, I'm Zoe", "A:Hello Zoe!", "U:What is my name?"), "Your name is Zoe."),
        (("U:hi, my name is zoe", "A:Hello!", "U:Do you remember my name?"), "Your name is zoe."),
        (("U:Kontext: Der Turm ist 56 Meter hoch. Frage: Wie hoch ist der Turm?",), "Der Turm ist 56 Meter hoch."),
        (("U:文脈：塔の高さは56メートルです。質問：塔の高さは？",), "塔の高さは56メートルです。"),
    ],
)  # fmt: skip
def test_what_was_said_answers(turns: tuple[str, ...], said: str) -> None:
    assert answer(*turns) == said


@pytest.mark.parametrize(
    "turns",
    [
        ("U:What is the capital of France?",),
        ("U:Tell me about Paris.", "A:Paris is the capital of France.", "U:What is the capital of Spain?"),
        ("U:Tell me about Paris.", "A:Paris is the capital of France.", "U:And its population?"),
        ("S:You answer questions about the weather in Rome.", "U:What is the weather in Rome?"),
        (f"S:{SHOP}", "U:Who is polite in Rome?"),
        ("U:Where do I live?",),
        ("S:The name of the shop is Brown's.", "U:What is my name?"),
        (f"U:Write a poem about it. {TOWER}",),
        (f"S:{TOWER}", "U:Summarise the tower of Pisa"),
        ("S:If the user asks about prices, say you don't know.", "U:What is the meaning of life?"),
    ],
)
def test_what_was_not_said_does_not(turns: tuple[str, ...]) -> None:
    assert answer(*turns) is None


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("Use the context. If you don't know the answer, say that you don't know. Context: it rains.", "I don't know."),
        ('If the answer is not in the text, reply with exactly "NOT FOUND". Text: it rains.', "NOT FOUND"),
        ('Answer "don\'t know" if it is not present in the document. Document: it rains.', "don't know"),
    ],
)  # fmt: skip
def test_what_is_to_be_said_when_nothing_is_known(rules: str, said: str) -> None:
    assert answer(f"S:{rules}", "U:Who founded the company?") == said
    assert answer(f"S:{rules}", "U:Hello") is None


def test_a_megabyte_is_read_in_part() -> None:
    assert answer("U:" + "a. " * 300_000 + "What is a b?") is None
    assert answer(*["U:my cat is red"] * 3000, "U:" + "what is " * 20 + "my cat?") is not None


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
    assert describe_results(conversation(*results)) == text


def test_earlier_results_are_left_out() -> None:
    earlier = conversation(("add", {}, "5"))
    later = Call("openai", "chat", "m", earlier.http, 0, messages=(*earlier.messages, Message("user", "Thanks")))
    assert describe_results(later) is None
    assert list_result_texts(later) == ()
    assert list_result_texts(earlier) == ("5",)


def test_a_result_of_no_known_call() -> None:
    image = Message("tool", "", ({"type": "image_url"},))
    lone = (Message("tool", "5", name="add"), image)
    assert describe_results(Call("openai", "chat", "m", HttpRequest("POST", "/"), 0, messages=lone)) == (
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
    assert len(describe_results(conversation(("get", {"q": "x" * 10_000}, text))) or "") in range(1, 3000)


def test_many_results_are_bounded() -> None:
    assert (describe_results(conversation(*[("add", {"a": i}, str(i)) for i in range(500)])) or "").endswith(
        "(484 more)"
    )
