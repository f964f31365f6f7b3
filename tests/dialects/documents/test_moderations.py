"""Requests for moderations, as OpenAI reads them."""

import pytest

from mockserver.core.plan import Failure
from mockserver.dialects._documents import DEFAULT_MODEL, kinds_of_input, live_only, parse_moderations
from mockserver.dialects._shared.words import refuse
from tests.kit.calls import call as some_call

HTTP = some_call().http
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
WORDS = {"type": "text", "text": "look"}


def parse(**body):
    return parse_moderations(HTTP, body, dialect="openai", refuse=refuse)


INPUTS = [
    ("a", ("a",), ("text",), 0),
    ("", ("",), ("text",), 0),
    (["a", "b"], ("a", "b"), ("text",), 0),
    ([WORDS, IMAGE], ("look",), ("text", "image"), 1),
    ([WORDS, WORDS], ("look\nlook",), ("text",), 0),
    ([IMAGE], ("",), ("image",), 1),
]


@pytest.mark.parametrize(("given", "texts", "kinds", "images"), INPUTS)
def test_inputs_of_every_kind(given, texts, kinds, images):
    call = parse(input=given)
    assert tuple(prompt.text for prompt in call.prompts) == texts
    assert kinds_of_input(call) == kinds
    assert sum(len(message.parts) for message in call.messages) == images
    assert (call.operation, call.model) == ("moderations", DEFAULT_MODEL)


def test_the_meaning_is_the_model_and_the_input():
    assert parse(input="a").fingerprint == parse(input=["a"], model=DEFAULT_MODEL).fingerprint
    assert len({parse(input=given).fingerprint for given in ("a", ["a", "b"], [IMAGE], [WORDS, IMAGE])}) == 4
    assert parse(input="a", model="text-moderation-latest").fingerprint != parse(input="a").fingerprint


BAD = [
    ({}, "Missing required parameter: 'input'."),
    ({"input": 3}, "Invalid type for 'input': expected one of a string or array, but got an integer instead."),
    (
        {"input": []},
        "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    ),
    ({"input": [3]}, "Invalid type for 'input[0]': expected a string, but got an integer instead."),
    ({"input": [{"type": "x"}]}, "Invalid value: 'x'. Supported values are: 'text' and 'image_url'."),
    ({"input": [{"type": "text"}]}, "Missing required parameter: 'input[0].text'."),
    ({"input": "a", "model": 3}, "Invalid type for 'model': expected a string, but got an integer instead."),
]


@pytest.mark.parametrize(("body", "message"), BAD)
def test_what_is_refused(body, message):
    with pytest.raises(Failure) as caught:
        parse(**body)
    assert caught.value.message == message


def test_unknown_keys_wait_for_the_live_service():
    assert parse(input="a", x=1)
    assert [complaint.path for complaint in live_only({"input": "a", "x": 1})] == [("x",)]
