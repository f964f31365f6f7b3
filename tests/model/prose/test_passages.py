"""Answers that the conversation holds."""

import pytest

from mockserver.core.call import Call, Message
from mockserver.core.http import HttpRequest
from mockserver.model.prose.passages import passage
from mockserver.model.prose.topic import topic

TOWER = "The tower of Pisa is 56 metres tall. It was begun in 1173. Tickets cost 20 euros."
SHOP = "You are the clerk of Brown's. Our shop opens at 9. Refunds take 14 days. Always greet Rome politely."
ROLES = {"S": "system", "U": "user", "A": "assistant", "T": "tool"}


def answer(*turns: str) -> str | None:
    messages = tuple(Message(ROLES[turn[0]], turn[2:]) for turn in turns)
    asked = next(message.text for message in reversed(messages) if message.role == "user")
    return passage(Call("openai", "chat", "m", HttpRequest("POST", "/"), 0, messages=messages), topic(asked))


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
    ],
)  # fmt: skip
def test_what_is_to_be_said_when_nothing_is_known(rules: str, said: str) -> None:
    assert answer(f"S:{rules}", "U:Who founded the company?") == said
    assert answer(f"S:{rules}", "U:Hello") is None


def test_a_megabyte_is_read_in_part() -> None:
    assert answer("U:" + "a. " * 300_000 + "What is a b?") is None
    assert answer(*["U:my cat is red"] * 3000, "U:" + "what is " * 20 + "my cat?") is not None
