"""Requests for embeddings and moderations, as OpenAI reads them, beyond the tables of requests/."""

import pytest

from mockserver.core.call import Prompt
from mockserver.dialects._embeddings_moderations import (
    DEFAULT_MODERATION_MODEL,
    moderated_input_types,
    parse_embeddings,
    parse_moderations,
    too_long,
)
from mockserver.dialects._errors import refuse
from tests.kit.calls import call as some_call

HTTP = some_call().http


def parse(**body):
    return parse_embeddings(HTTP, {"model": "m", **body}, "openai", strict=False)


INPUTS = [
    ("a sea", ("a sea",), 2),
    (["a sea", "b"], ("a sea", "b"), 3),
    ([1, 2], ("<|1|><|2|>",), 2),
    ([[1, 2], [3]], ("<|1|><|2|>", "<|3|>"), 3),
]


@pytest.mark.parametrize(("given", "texts", "tokens"), INPUTS)
def test_inputs_of_every_kind(given, texts, tokens):
    call = parse(input=given, dimensions=8)
    assert tuple(prompt.text for prompt in call.prompts) == texts
    assert tuple(message.text for message in call.messages) == texts
    assert (call.operation, call.model, call.options.dimensions, call.prompt_tokens) == ("embeddings", "m", 8, tokens)


def test_an_input_that_only_the_live_service_refuses():
    call = parse(input=["a", "a " * 8192])
    failure = too_long(call)
    assert failure is not None
    assert (failure.reason, failure.param) == ("context_length", "input")
    assert failure.message is not None
    assert failure.message.startswith("This model's maximum context length is 8192 tokens, however you requested 8193")
    assert too_long(parse(input=["a"] * 9)) is None
    assert call.prompts[0] == Prompt("a")


IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
WORDS = {"type": "text", "text": "look"}


MODERATED = [
    ("a", ("a",), ("text",), 0),
    ("", ("",), ("text",), 0),
    (["a", "b"], ("a", "b"), ("text",), 0),
    ([WORDS, IMAGE], ("look",), ("text", "image"), 1),
    ([WORDS, WORDS], ("look\nlook",), ("text",), 0),
    ([IMAGE], ("",), ("image",), 1),
]


@pytest.mark.parametrize(("given", "texts", "kinds", "images"), MODERATED)
def test_moderated_inputs(given, texts, kinds, images):
    call = parse_moderations(HTTP, {"input": given}, dialect="openai", refuse=refuse)
    assert tuple(prompt.text for prompt in call.prompts) == texts
    assert moderated_input_types(call) == kinds
    assert sum(len(message.parts) for message in call.messages) == images
    assert (call.operation, call.model) == ("moderations", DEFAULT_MODERATION_MODEL)
