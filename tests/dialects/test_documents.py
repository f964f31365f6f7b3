"""Embeddings and moderations beyond the tables of requests/: what OpenAI reads, and the bodies of answers."""

import json
from base64 import b64decode
from struct import unpack

import pytest
from msgspec.structs import replace
from pydantic_core import to_json

from mockserver.core.call import Prompt
from mockserver.core.lazy import FEW_ITEMS
from mockserver.core.validation import Validation
from mockserver.dialects._embeddings import ENCODINGS
from mockserver.dialects._openai_api.embeddings import (
    make_embeddings_reply,
    parse_embeddings,
    refuse_long_input,
)
from mockserver.dialects._openai_api.moderations import (
    USUAL_MODEL,
    list_input_types,
    parse_moderations,
    render_moderations,
)
from mockserver.kinds.embeddings import Embeddings
from mockserver.kinds.moderations import Judgement, Moderations
from tests.kit.calls import call as some_call

HTTP = some_call().http


def parse(**body):
    http = replace(HTTP, body=json.dumps({"model": "m", **body}).encode())
    return parse_embeddings(http, "openai", {}, validation=Validation.PUBLISHED)


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
    failure = refuse_long_input(call)
    assert failure is not None
    assert (failure.reason, failure.param) == ("context_length", "input")
    assert failure.message is not None
    assert failure.message.startswith("This model's maximum context length is 8192 tokens, however you requested 8193")
    assert refuse_long_input(parse(input=["a"] * 9)) is None
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
    http = replace(HTTP, body=json.dumps({"input": given}).encode())
    call = parse_moderations("openai", http, Validation.PUBLISHED)
    assert tuple(prompt.text for prompt in call.prompts) == texts
    assert list_input_types(call) == kinds
    assert sum(len(message.parts) for message in call.messages) == images
    assert (call.operation, call.model) == ("moderations", USUAL_MODEL)


VECTOR = (0.5, -0.25, 0.0, 1.0, -1.0, 0.1, -0.1, 0.2, 0.3)
SHOWN = {
    "float": list(VECTOR),
    "int8": [64, -32, 0, 127, -127, 13, -13, 25, 38],
    "uint8": [192, 96, 128, 255, 1, 141, 115, 153, 166],
    "ubinary": [0b10010101, 0b10000000],
    "binary": [0b10010101 - 128, 0b10000000 - 128],
}


def written(vector, encoding, count=1):
    reply = make_embeddings_reply(Embeddings("m", (vector,) * count, 3), encoding, "x-own: 1\r\n", "emb-1")
    body = json.loads(b"".join(reply.pieces) if reply.pieces else reply.body)
    first = body["data"][0]["embedding"]
    assert body == {
        "id": "emb-1",
        "object": "list",
        "data": [{"object": "embedding", "index": at, "embedding": first} for at in range(count)],
        "model": "m",
        "usage": {"prompt_tokens": 3, "total_tokens": 3},
    }
    return first


@pytest.mark.parametrize("count", [1, FEW_ITEMS, FEW_ITEMS + 1, 300])
@pytest.mark.parametrize(("encoding", "shown"), SHOWN.items())
def test_encodings(encoding, shown, count):
    assert written(VECTOR, encoding, count) == shown


@pytest.mark.parametrize("count", [1, FEW_ITEMS + 1])
def test_base64_is_of_little_endian_floats(count):
    shown = written(VECTOR, "base64", count)
    assert unpack("<9f", b64decode(shown)) == pytest.approx(VECTOR, rel=1e-7)


def test_large_numbers_are_written_as_in_other_bodies():
    reply = make_embeddings_reply(Embeddings("m", ((1e16, -1e-7),), 1), "float", "")
    assert b'"embedding":' + to_json([1e16, -1e-7]) in reply.body


def test_every_encoding_is_tried():
    assert {*SHOWN, "base64"} == set(ENCODINGS)


def test_numbers_beyond_a_byte_are_the_last_that_fit():
    assert written((9.0, -9.0), "int8") == [127, -128]
    assert written((9.0, -9.0), "uint8") == [255, 0]


FOUND = Moderations("modr-1", "m", (Judgement({"hate": 0.7, "violence": 0.1}, frozenset({"hate"})), Judgement()))


def test_images_are_judged_in_some_categories():
    applied = render_moderations(FOUND, ("text", "image"))["results"][0]["category_applied_input_types"]
    assert applied["violence"] == ["text", "image"]
    assert applied["hate"] == ["text"]
    alone = render_moderations(FOUND, ("image",))["results"][0]["category_applied_input_types"]
    assert (alone["sexual"], alone["sexual/minors"]) == (["image"], [])
