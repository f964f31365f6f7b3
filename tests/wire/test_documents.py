from base64 import b64decode
from struct import unpack

import pytest

from mockserver.core.plan import Embeddings, Judgement, Moderations
from mockserver.wire.documents import ENCODINGS, embeddings, moderations

VECTOR = (0.5, -0.25, 0.0, 1.0, -1.0, 0.1, -0.1, 0.2, 0.3)
SHOWN = {
    "float": list(VECTOR),
    "int8": [64, -32, 0, 127, -127, 13, -13, 25, 38],
    "uint8": [192, 96, 128, 255, 1, 141, 115, 153, 166],
    "ubinary": [0b10010101, 0b10000000],
    "binary": [0b10010101 - 128, 0b10000000 - 128],
}


@pytest.mark.parametrize(("encoding", "shown"), SHOWN.items())
def test_encodings(encoding, shown):
    body = embeddings(Embeddings("m", (VECTOR,), 3), encoding)
    assert body["data"][0]["embedding"] == shown


def test_base64_is_of_little_endian_floats():
    (entry,) = embeddings(Embeddings("m", (VECTOR,), 3), "base64")["data"]
    assert unpack("<9f", b64decode(entry["embedding"])) == pytest.approx(VECTOR, rel=1e-7)


def test_every_encoding_is_tried():
    assert {*SHOWN, "base64"} == set(ENCODINGS)


def test_numbers_beyond_a_byte_are_the_last_that_fit():
    assert embeddings(Embeddings("m", ((9.0, -9.0),), 1), "int8")["data"][0]["embedding"] == [127, -128]
    assert embeddings(Embeddings("m", ((9.0, -9.0),), 1), "uint8")["data"][0]["embedding"] == [255, 0]


FOUND = Moderations("modr-1", "m", (Judgement({"hate": 0.7, "violence": 0.1}, frozenset({"hate"})), Judgement()))


def test_images_are_judged_in_some_categories():
    applied = moderations(FOUND, ("text", "image"))["results"][0]["category_applied_input_types"]
    assert applied["violence"] == ["text", "image"]
    assert applied["hate"] == ["text"]
    alone = moderations(FOUND, ("image",))["results"][0]["category_applied_input_types"]
    assert (alone["sexual"], alone["sexual/minors"]) == (["image"], [])
