"""Requests for embeddings, as OpenAI reads them."""

import pytest

from mockserver.core.call import Prompt
from mockserver.core.plan import Failure
from mockserver.dialects._documents import encoding, parse_embeddings, too_long
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
    assert (call.operation, call.model, call.dimensions, call.prompt_tokens) == ("embeddings", "m", 8, tokens)


def test_the_meaning_is_what_changes_the_vector():
    one = parse(input="a")
    same = (parse(input=["a"]), parse(input="a", user="u"), parse(input="a", encoding_format="base64"))
    assert {call.fingerprint for call in same} == {one.fingerprint}
    other = (parse(input="b"), parse(input="a", dimensions=3), parse(input="a", model="n"))
    assert one.fingerprint not in {call.fingerprint for call in other}


def test_how_vectors_are_written():
    assert encoding(parse(input="a")) == "float"
    assert encoding(parse(input="a", encoding_format=None)) == "float"
    assert encoding(parse(input="a", encoding_format="base64")) == "base64"


BAD = [
    ({"input": ""}, "Invalid 'input': input cannot be an empty string."),
    ({"input": ["a", ""]}, "Invalid 'input[1]': input cannot be an empty string."),
    (
        {"input": []},
        "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    ),
    (
        {"input": [[1], []]},
        "Invalid 'input[1]': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    ),
    (
        {"input": ["a"] * 2049},
        "Invalid 'input': array too long. Expected an array with maximum length 2048, but got an array with length "
        "2049 instead.",
    ),
    ({"input": 3}, "Invalid type for 'input': expected one of a string or array, but got an integer instead."),
    ({"input": ["a", 1]}, "Invalid type for 'input[1]': expected a string, but got an integer instead."),
    ({"input": [1, "a"]}, "Invalid type for 'input[1]': expected an integer, but got a string instead."),
    ({"input": [1.5]}, "Invalid type for 'input[0]': expected a string, but got a decimal instead."),
    ({"input": "a " * 300_001}, "Requested 300,004 tokens, max 300,000 tokens per request"),
    ({"input": "a", "x": 1}, "Unknown parameter: 'x'."),
    (
        {"input": "a", "encoding_format": "hex"},
        "Invalid value: 'hex'. Supported values are: 'float' and 'base64'.",
    ),
    (
        {"input": "a", "dimensions": 0},
        "Invalid 'dimensions': integer below minimum value. Expected a value >= 1, but got 0 instead.",
    ),
    (
        {"input": "a", "dimensions": 4097},
        "Invalid 'dimensions': integer above maximum value. Expected a value <= 4096, but got 4097 instead.",
    ),
    ({}, "Missing required parameter: 'input'."),
    ({"input": "a", "model": None}, "Invalid type for 'model': expected a string, but got null instead."),
]


@pytest.mark.parametrize(("body", "message"), BAD)
def test_what_is_refused(body, message):
    with pytest.raises(Failure) as caught:
        parse(**body)
    assert caught.value.message == message


def test_an_input_that_only_the_live_service_refuses():
    call = parse(input=["a", "a " * 8192])
    failure = too_long(call)
    assert failure is not None
    assert (failure.reason, failure.param) == ("context_length", "input")
    assert failure.message is not None
    assert failure.message.startswith("This model's maximum context length is 8192 tokens, however you requested 8193")
    assert too_long(parse(input=["a"] * 9)) is None
    assert call.prompts[0] == Prompt("a")
