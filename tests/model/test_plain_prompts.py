"""Prompts without a word that orders anything are answered without reading them for orders: with the same answer."""

from itertools import chain

import pytest

from mockserver.core.call import Call, Message
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Text
from mockserver.core.seed import Seed
from mockserver.core.tokens import count
from mockserver.model import auto
from mockserver.model.passages import write_plain_prose
from mockserver.model.vocabulary import pick, read_languages, read_word_lists
from tests.determinism.unruled import PROMPTS
from tests.model.test_more_phrasings import PHRASINGS as MORE
from tests.model.test_phrasings import PHRASINGS

PLAIN = (
    "tell me about tides", "What is the capital of Peru?", "the weather in Oslo, 12 km away", "Who are you?",
    "My name is Ann. I live in Rome.\n\nWhere do I live?", "explain Kelvin and ſome old letters", "how do magnets pull",
    "ı live in Rome. Where do I live?",  # a pattern that ignores case takes the first letter for an i
    "I have a boat: blue, old", "describe the 4-day week", "Erzähl mir von Brücken", "what happened in 1969", "wave",
)  # fmt: skip
ORDERS = (*chain.from_iterable((*PHRASINGS.values(), *MORE.values())),)
TEXTS = (*PLAIN, *PROMPTS.values(), *(order for order, _ in ORDERS))
SYSTEMS = ("You are a helpful assistant.", "You are Max, who helps people with boats and with tides at any hour.")


def said(*messages: Message) -> str:
    call = Call("openai", "chat", "m", HttpRequest("POST", "/"), {}, messages=messages)
    choice = auto.answer_as_model(call, Seed(7), {})
    text = "".join(part.text for part in choice.parts if isinstance(part, Text))
    assert choice.tokens in (None, count(text))
    return text


def answers(text: str) -> list[str]:
    user = Message("user", text)
    return [
        said(user),
        *(said(Message("system", system), user) for system in SYSTEMS),
        said(Message("system", text), Message("user", "tell me about tides")),
        said(user, Message("assistant", "I see."), Message("user", "tell me about tides")),
        said(Message("user", "I live in Rome."), Message("assistant", "I see."), user),
    ]


def mixed(number: int) -> list[str]:
    """Texts of words that matter and that do not, in several languages, with digits and signs between them."""
    formats, rng = read_word_lists("english")["formats"], Seed(1).stream("mixed")
    orders = [word for words in formats.values() for word in words.split()]
    foreign = [
        word
        for language in read_languages().values()
        for word in f"{language['names']} {language['stop_words']}".split()
    ]
    usual = [word for text in PLAIN for word in text.split()]
    signs = (*(" ",) * 12, ", ", ". ", "? ", "! ", ": ", " - ", "-", "'", "  ", "\n", " (", "/", " 5 ", "12")
    made = []
    for _ in range(number):
        pools = (*(usual,) * 8, *(orders,) * rng.randbelow(2), *(foreign,) * rng.randbelow(3))
        words = [pick(pick(pools, rng), rng) for _ in range(1 + rng.randbelow(9))]
        made.append("".join(word + pick(signs, rng) for word in words).strip() + pick(("", ".", "?", "!"), rng))
    return made


def test_what_orders_nothing_is_answered_as_if_it_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = (*TEXTS, *mixed(300))
    quick = [answers(text) for text in texts]
    monkeypatch.setattr(auto, "write_plain_prose", lambda call, seed: None)
    for text, found in zip(texts, quick, strict=True):
        assert found == answers(text), text


def is_plain(*messages: Message) -> bool:
    asked = Call("openai", "chat", "m", HttpRequest("POST", "/"), {}, messages=messages)
    return write_plain_prose(asked, Seed(1)) is not None


def test_prompts_that_are_not_read_for_orders() -> None:
    assert {text for text in PLAIN if is_plain(Message("user", text))} >= {"tell me about tides", "wave"}
    for text in ("was ist das", "what is the French word", "5 words", "say a, b", "x: y", "a - 1"):
        assert not is_plain(Message("user", text))
        assert not is_plain(Message("system", text), Message("user", "wave"))
    assert not is_plain(Message("user", "wave"), Message("assistant", "hi"))
    assert not is_plain(Message("system", "You are Max."))
    assert not is_plain()
    plain = [order for order, _ in ORDERS if " ¦ " not in order and is_plain(Message("user", order))]
    assert plain == []
